# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""A real server with a state directory of its own, started by etc/quickstart on a free port.

    with Server() as server:
        server.request("GET", "/api/v1/namespaces")

KEELSON_ROOT says where the server is installed. The log is shown when the test ends with an exception.
"""
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def is_alive(pid):
    """One that has ended but was not waited for has no program any more."""
    try:
        os.readlink("/proc/%d/exe" % pid)
        return True
    except OSError:
        return False


class Server:
    def __init__(self, config=None, state=None, wrapper=()):
        self.state = state or tempfile.mkdtemp(prefix="keelson-test-")
        self.own_state, self.config, self.port, self.wrapper = state is None, config, 0, list(wrapper)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, value, trace):
        self.stop()
        if kind and not issubclass(kind, SystemExit):
            print("the server's log (its end):")
            print("".join("  " + line for line in self.log().splitlines(True)[-60:]))
        if self.own_state:
            shutil.rmtree(self.state, ignore_errors=True)

    def quickstart(self, *arguments, check=True):
        command = self.wrapper + [os.path.join(SOURCE, "etc", "quickstart"), "--state", self.state] + list(arguments)
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if check and result.returncode:
            raise RuntimeError("quickstart %s: %s\n%s" % (" ".join(arguments), result.stdout, self.log()))
        return result

    def start(self):
        """On the same port as before, when it ran before."""
        more = ["--config", self.config] if self.config else []
        self.quickstart("--detach", "--port", str(self.port), *more)
        with open(self.kubeconfig) as f:
            self.port = int(re.search(r"server: https://127\.0\.0\.1:(\d+)", f.read()).group(1))
        with open(os.path.join(self.state, "admin.token")) as f:
            self.token = f.read().strip()

    def stop(self):
        self.quickstart("--stop", check=False)

    def kill(self):
        """As a crash: kill -9, and waits until the process is gone."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        while is_alive(pid):
            os.sched_yield()

    def restart(self):
        self.stop()
        self.start()

    @property
    def pid(self):
        with open(os.path.join(self.state, "keelson.pid")) as f:
            return int(f.read())

    @property
    def url(self):
        return "https://127.0.0.1:%d" % self.port

    @property
    def kubeconfig(self):
        return os.path.join(self.state, "admin.kubeconfig")

    @property
    def cafile(self):
        return os.path.join(self.state, "pki", "ca.crt")

    def log(self):
        try:
            with open(os.path.join(self.state, "keelson.log"), errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def resident_kib(self):
        with open("/proc/%d/status" % self.pid) as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def connect(self, timeout=30):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=ssl.create_default_context(cafile=self.cafile))

    def request(self, method, path, body=None, headers=None, connection=None, raw=False):
        """(status, answer): the answer decoded from JSON, or bytes."""
        own = connection or self.connect()
        sent = {"Authorization": "Bearer " + self.token}
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        own.request(method, path, data, sent)
        answer = own.getresponse()
        text = answer.read()
        if connection is None:
            own.close()
        if raw or not (answer.headers.get("Content-Type") or "").startswith("application/json"):
            return answer.status, text
        return answer.status, json.loads(text)
