# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Plays a recorded conversation: fills in what differs from run to run, asks the server, and normalises its answers.

A case: {"id", "area", "note", "needs": [...], "steps": [STEP, ...]}. A step: {"name", "method", "path", "headers", "body",
"wait" (seconds before it), "setup" (its answer is not compared), "expect": {"code", "warnings", "body", "events"}}.
{ns} is a namespace made for the case; {X.uid}, {X.rv}, {X.name} and {X.continue} are from the answer to the step named X.
Placeholders in expected answers keep equality: the same uid gets the same placeholder within a case.
"""
import http.client
import json
import re
import ssl
import time
import urllib.parse

UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
ACCESS = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")
TIME = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
REFERENCE = re.compile(r"\{([\w-]+\.(?:uid|rv|name|continue))\}")


class Client:
    """One connection, opened again when it was lost."""

    def __init__(self, server, token, cafile=None, timeout=15):
        url = urllib.parse.urlparse(server)
        self.host, self.port, self.token, self.timeout = url.hostname, url.port, token, timeout
        self.context = ssl.create_default_context(cafile=cafile)
        if not cafile:
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE
        self.connection = None

    def send(self, method, path, headers, data):
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=self.timeout)
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def call(self, method, path, headers, body):
        sent = {"Authorization": "Bearer " + self.token, "Accept": "application/json", "User-Agent": "replay/1"}  # as the recorder called itself: it is in managedFields
        sent.update(headers)
        if sent["Authorization"] == "":
            del sent["Authorization"]
        data = None
        if body is not None:
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        for attempt in (1, 2):
            try:
                return self.send(method, path, sent, data)
            except (http.client.HTTPException, OSError):
                self.connection = None
                if attempt == 2:
                    raise


class Scope:
    """What one case has seen so far, and the placeholders given to it."""

    def __init__(self, ns):
        self.ns, self.seen, self.values, self.generated = ns, {}, {}, {}

    def placeholder(self, kind, value):
        known = self.seen.setdefault(kind, {})
        return known.setdefault(value, "<%s%d>" % (kind, len(known) + 1))

    def fill(self, value):
        if isinstance(value, str):
            return REFERENCE.sub(lambda m: self.values.get(m.group(1), m.group(0)), value.replace("{ns}", self.ns))
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        if isinstance(value, dict):
            return {self.fill(k): self.fill(v) for k, v in sorted(value.items())}
        return value

    def learn(self, name, body):
        if not isinstance(body, dict):
            return
        meta = body.get("metadata")
        meta = meta if isinstance(meta, dict) else {}
        base, made = meta.get("generateName"), meta.get("name")
        if isinstance(base, str) and isinstance(made, str) and base and made.startswith(base):
            self.generated[made] = base + "<random>"
        for key, field in (("uid", "uid"), ("rv", "resourceVersion"), ("name", "name"), ("continue", "continue")):
            if name and isinstance(meta.get(field), str):
                self.values["%s.%s" % (name, key)] = meta[field]

    def text(self, s):
        for made, shown in self.generated.items():
            s = s.replace(made, shown)
        s = ACCESS.sub("kube-api-access-<random>", s.replace(self.ns, "<ns>"))
        return TIME.sub("<time>", UID.sub(lambda m: self.placeholder("uid", m.group(0)), s))

    def normal_string(self, value, path):
        key = path[-1] if path else ""
        if key == "resourceVersion" and value.isdigit() and value != "0":
            return "<rv>"
        if key == "continue" and value:
            return "<continue>"
        if key == "clusterIP" and value not in ("", "None") or len(path) > 1 and path[-2] == "clusterIPs" and value != "None":
            return "<ip>"
        out = self.text(value)
        if key == "message":
            for rv, shown in self.seen.get("rv", {}).items():
                if len(rv) > 2:
                    out = re.sub(r"\b%s\b" % rv, shown, out)
        return out

    def normal(self, value, path=()):
        if isinstance(value, dict):
            # An object's own revision keeps its equality, a list's or a bookmark's does not.
            own = "uid" in value
            return {
                self.text(k): self.placeholder("rv", v) if own and k == "resourceVersion" and isinstance(v, str) else self.normal(v, path + (k,))
                for k, v in sorted(value.items())
            }
        if isinstance(value, list):
            return [self.normal(v, path + ("[]",)) for v in value]
        if isinstance(value, str):
            return self.normal_string(value, path)
        if path and path[-1] in ("nodePort", "healthCheckNodePort") and isinstance(value, int) and value:
            return "<port>"
        return value


def decode(headers, raw):
    kind = (headers.get("Content-Type") or "").split(";")[0]
    if kind in ("application/json", "") and raw:
        try:
            return json.loads(raw)
        except ValueError:
            pass
    return raw.decode("utf-8", "replace")


def run_step(client, scope, step):
    if step.get("wait"):
        time.sleep(step["wait"])
    path = scope.fill(step["path"])
    code, headers, raw = client.call(step["method"], path, scope.fill(step.get("headers", {})), scope.fill(step.get("body")))
    got = {"code": code}
    warnings = [re.sub(r'^299 - "(.*)"$', r"\1", w) for w in headers.get_all("Warning") or []]
    if warnings:
        got["warnings"] = [scope.text(w) for w in warnings]
    if "watch=" in path and code == 200:
        got["events"] = [scope.normal(json.loads(line)) for line in raw.decode().splitlines() if line.strip()]
    else:
        answer = decode(headers, raw)
        scope.learn(step.get("name"), answer)
        got["body"] = scope.normal(answer)
    return got
