# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""What client-go is to a controller: a client that speaks protobuf, and informers.

    client = Client(server, "deployment-controller", as_user="system:serviceaccount:kube-system:deployment-controller")
    client.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", ...})
    pods = Informer(client, "v1", "Pod").start()
"""
import http.client
import json
import random
import ssl
import threading
import urllib.parse

import wire
from proto import Schema
from wire import PROTOBUF

ANYTHING = PROTOBUF + ", */*"
JSON = "application/json"
STRATEGIC, MERGE = "application/strategic-merge-patch+json", "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
BROKEN = (OSError, http.client.HTTPException, ValueError)


def as_metadata(kind="PartialObjectMetadata"):
    form = ";as=%s;g=meta.k8s.io;v=v1" % kind
    return "%s%s,%s%s,%s" % (PROTOBUF, form, JSON, form, JSON)


class ApiError(Exception):
    def __init__(self, code, status):
        super().__init__("%d %s: %s" % (code, status.get("reason"), status.get("message")))
        self.code, self.status, self.reason = code, status, status.get("reason")

    @property
    def ending(self):
        """Nothing is made in a namespace that ends."""
        return any(c["reason"] == "NamespaceTerminating" for c in self.status.get("details", {}).get("causes", []))


def key_of(thing):
    metadata = thing["metadata"]
    return (metadata.get("namespace", ""), metadata["name"])


def controller_of(thing):
    return next((o for o in thing["metadata"].get("ownerReferences", []) if o.get("controller")), None)


def owner(thing, **more):
    return {"apiVersion": thing["apiVersion"], "kind": thing["kind"], "name": thing["metadata"]["name"], "uid": thing["metadata"]["uid"], **more}


def matches(selector, labels):
    """A label selector with matchLabels, or a plain map."""
    wanted = selector.get("matchLabels", selector) if selector else {}
    return bool(wanted) and all(labels.get(k) == v for k, v in wanted.items())


def path_of(api_version, resource, namespace=None, name=None, sub=None):
    parts = [("/apis/" if "/" in api_version else "/api/") + api_version]
    parts += ["namespaces", namespace] if namespace else []
    return "/".join(parts + [resource] + [p for p in (name, sub) if p])


class Client:
    """One component with its user: the admin's rights, those of another user, or those of a certificate (file, key file)."""

    def __init__(self, server, agent, as_user=None, certificate=None):
        self.server, self.local, self.schema = server, threading.local(), Schema.load()
        self.headers = {"User-Agent": agent}
        if certificate is None:
            self.headers["Authorization"] = "Bearer " + server.token
        if as_user:
            self.headers["Impersonate-User"] = as_user
        self.context = ssl.create_default_context(cafile=server.cafile)
        if certificate:
            self.context.load_cert_chain(*certificate)

    def connect(self, timeout=30):
        return http.client.HTTPSConnection("127.0.0.1", self.server.port, timeout=timeout, context=self.context)

    def send(self, connection, method, path, data, headers):
        connection.request(method, path, data, {**self.headers, **headers})
        return connection.getresponse()

    def call(self, method, path, body=None, accept=ANYTHING, content=PROTOBUF):
        """The answer as a dictionary; ApiError when the server says no."""
        used = getattr(self.local, "connection", None)
        connection, self.local.connection = used or self.connect(), None
        headers = {"Accept": accept, **({"Content-Type": content} if body is not None else {})}
        data = None if body is None else self.schema.encode(body) if content == PROTOBUF else json.dumps(body).encode()
        try:
            answer = self.send(connection, method, path, data, headers)
        except BROKEN:
            if not used or method != "GET":
                raise
            return self.call(method, path, body, accept, content)  # the connection had been closed meanwhile
        text = answer.read()
        self.local.connection = connection
        thing = self.read(answer, text)
        if answer.status >= 400:
            raise ApiError(answer.status, thing)
        return thing

    def read(self, answer, text):
        type_ = answer.headers.get("Content-Type") or ""
        if type_.startswith(PROTOBUF):
            return self.schema.decode(text)
        return json.loads(text) if type_.startswith(JSON) else {"message": text.decode("utf-8", "replace")}

    def path(self, api_version, kind, namespace=None, name=None, sub=None, **query):
        resource, _ = self.schema.resources[(api_version, kind)]
        path = path_of(api_version, resource, namespace, name, sub)
        return path + ("?" + urllib.parse.urlencode(query) if query else "")

    def _own_path(self, thing, name, sub, query):
        return self.path(thing["apiVersion"], thing["kind"], thing["metadata"].get("namespace"), name, sub, **query)

    def get(self, api_version, kind, namespace, name, accept=ANYTHING, **query):
        return self.call("GET", self.path(api_version, kind, namespace, name, **query), accept=accept)

    def create(self, thing, **query):
        return self.call("POST", self._own_path(thing, None, None, query), thing)

    def update(self, thing, sub=None, **query):
        return self.call("PUT", self._own_path(thing, thing["metadata"]["name"], sub, query), thing)

    def patch(self, thing, patch, how=STRATEGIC, sub=None, accept=ANYTHING, **query):
        return self.call("PATCH", self._own_path(thing, thing["metadata"]["name"], sub, query), patch, accept, how)

    def delete(self, thing, **options):
        return self.call("DELETE", self._own_path(thing, thing["metadata"]["name"], None, {}),
                         {"apiVersion": "v1", "kind": "DeleteOptions", **options})

    def exists(self, api_version, kind, namespace, name):
        """The object, or None."""
        try:
            return self.get(api_version, kind, namespace, name)
        except ApiError as e:
            if e.code == 404:
                return None
            raise


class Informer(threading.Thread):
    """A copy of a collection: `store`, kept by a watch that begins again from where it was. `streams` counts the watches.

    The first state comes as events of the watch; with `classic` by a list and a watch from its revision.
    """

    def __init__(self, client, api_version, kind, namespace=None, field_selector=None, path=None, metadata=False, classic=False):
        super().__init__(daemon=True)
        self.client, self.api_version, self.kind, self.metadata, self.classic = client, api_version, kind, metadata, classic
        self.base = path or client.path(api_version, kind, namespace)
        self.query = {"fieldSelector": field_selector} if field_selector else {}
        self.accept = as_metadata() if metadata else ANYTHING
        self.store, self.handlers, self.revision = {}, [], None
        self.synced, self.stopped, self.lock = threading.Event(), threading.Event(), threading.Lock()
        self.streams, self.bookmarks, self.complaint = 0, 0, None

    def start(self):
        super().start()
        return self

    def wait(self, seconds=30):
        if not self.synced.wait(seconds):
            raise RuntimeError("the informer of %s has nothing: %s" % (self.base, self.complaint))
        return self

    def on_change(self, handler):
        """handler(old, new), either may be None; what is there already is told now."""
        with self.lock:
            self.handlers.append(handler)
            things = list(self.store.values())
        for thing in things:
            handler(None, thing)

    def things(self):
        with self.lock:
            return list(self.store.values())

    def get(self, namespace, name):
        return self.store.get((namespace, name))

    def assume(self, thing):
        """What this component has just written, before the watch tells of it."""
        self._put(thing, only_newer=True)

    def run(self):
        while not self.stopped.is_set():
            try:
                if self.revision is None and self.classic:
                    self._list()
                self._watch()
            except ApiError as e:
                self.complaint = e
                if e.code == 410:
                    self.revision = None
            except BROKEN as e:
                self.complaint = e
            self.stopped.wait(0.05)

    def _list(self):
        query = urllib.parse.urlencode({"limit": 500, "resourceVersion": 0, **self.query})
        answer = self.client.call("GET", self.base + "?" + query, accept=self.accept)
        found = {}
        for thing in answer.get("items", []):
            thing.update(apiVersion=self.api_version, kind=self.kind)
            found[key_of(thing)] = thing
        self._replace(found)
        self.revision = answer["metadata"]["resourceVersion"]

    def _watch(self):
        seconds = random.randint(300, 600)
        query = {"allowWatchBookmarks": "true", **self.query, "timeout": "%dm%ds" % divmod(seconds, 60), "timeoutSeconds": seconds, "watch": "true"}
        if self.revision is None:
            query.update(resourceVersionMatch="NotOlderThan", sendInitialEvents="true")
        else:
            query["resourceVersion"] = self.revision
        path, connection = self.base + "?" + urllib.parse.urlencode(sorted(query.items())), self.client.connect(timeout=None)
        try:
            answer = self.client.send(connection, "GET", path, None, {"Accept": self.accept})
            if answer.status != 200:
                raise ApiError(answer.status, self.client.read(answer, answer.read()))
            self.streams += 1
            self._follow(answer, {} if self.revision is None else None)
        finally:
            connection.close()

    def _follow(self, stream, first):
        """Events until the stream ends; while `first` is a dictionary, they are the state at the beginning."""
        frame = wire.read_frame(stream)
        while frame and not self.stopped.is_set():
            event, thing = frame[0], self.client.schema.decode(frame[1])
            if event == "ERROR":
                raise ApiError(thing.get("code", 500), thing)
            revision = thing["metadata"]["resourceVersion"]
            if event == "BOOKMARK":
                self.bookmarks += 1
                if first is not None and thing["metadata"].get("annotations", {}).get(INITIAL_EVENTS_END) == "true":
                    self._replace(first)
                    first = None
            elif first is not None:
                first[key_of(thing)] = self._named(thing)
            if first is None:
                self.revision = revision
            if first is None and event != "BOOKMARK":
                self._apply(event, self._named(thing))
            frame = wire.read_frame(stream)

    def _named(self, thing):
        """Metadata alone comes as PartialObjectMetadata; its kind is that of the collection."""
        thing.update(apiVersion=self.api_version, kind=self.kind)
        return thing

    def _apply(self, event, thing):
        if event != "DELETED":
            self._put(thing)
            return
        with self.lock:
            old = self.store.pop(key_of(thing), None)
        self._tell(old or thing, None)

    def _put(self, thing, only_newer=False):
        with self.lock:
            old, revision = self.store.get(key_of(thing)), int(thing["metadata"]["resourceVersion"])
            if only_newer and (int(self.revision or 0) >= revision or old and int(old["metadata"]["resourceVersion"]) >= revision):
                return
            self.store[key_of(thing)] = thing
        self._tell(old, thing)

    def _replace(self, found):
        with self.lock:
            old, self.store = self.store, found
        for key in old.keys() - found.keys():
            self._tell(old[key], None)
        for key, thing in found.items():
            self._tell(old.get(key), thing)
        self.synced.set()

    def _tell(self, old, new):
        for handler in list(self.handlers):
            handler(old, new)
