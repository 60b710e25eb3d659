# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the garbage collector and the controller of namespaces: they know resources from discovery and objects by their metadata."""
import copy
import json
import urllib.parse

from controller import Controller
from kube import ApiError, Informer, JSON, MERGE, STRATEGIC, as_metadata, key_of, path_of
from wire import PROTOBUF
from workloads import condition

DISCOVERY = ",".join("application/json;g=apidiscovery.k8s.io;v=%s;as=APIGroupDiscoveryList" % v for v in ("v2", "v2beta1")) + ",application/json"
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
EITHER = PROTOBUF + "," + JSON


def discover(client):
    """[(apiVersion, resource, kind, namespaced, verbs)] of the preferred version of each resource."""
    found = {}
    for path in ("/api", "/apis"):
        for group in client.call("GET", path, accept=DISCOVERY)["items"]:
            name = group["metadata"].get("name", "")
            for version in group["versions"]:
                for one in version["resources"]:
                    api_version = "/".join(p for p in (name, version["version"]) if p)
                    what = (api_version, one["resource"], one["responseKind"]["kind"], one["scope"] == "Namespaced", one["verbs"])
                    found.setdefault((name, one["resource"]), what)
    return list(found.values())


class GarbageCollector(Controller):
    """Owners and dependents by uid, over every resource that can be watched and deleted."""

    name = "generic-garbage-collector"
    IGNORED = {("v1", "events"), ("events.k8s.io/v1", "events")}

    def watches(self):
        self.monitors, self.kinds, self.absent = {}, {}, set()
        for api_version, resource, kind, namespaced, verbs in discover(self.client):
            if {"delete", "list", "watch"} <= set(verbs) and (api_version, resource) not in self.IGNORED:
                self.kinds[(api_version, kind)] = (resource, namespaced)
                informer = Informer(self.plane.manager, api_version, kind, path=path_of(api_version, resource), metadata=True).start()
                self.monitors[(api_version, kind)] = informer
        for informer in self.monitors.values():
            informer.on_change(self._changed)

    def _changed(self, old, new):
        thing = new or old
        if new is None:
            self.absent.add(old["metadata"]["uid"])
            for one in self._dependents(old["metadata"]["uid"]):
                self._enqueue(one)
            for reference in old["metadata"].get("ownerReferences", []):
                self._enqueue_owner(reference, old["metadata"].get("namespace", ""))
        elif thing["metadata"].get("ownerReferences") or "deletionTimestamp" in thing["metadata"]:
            self._enqueue(thing)
            for reference in thing["metadata"].get("ownerReferences", []):
                if "deletionTimestamp" in thing["metadata"] or old:
                    self._enqueue_owner(reference, thing["metadata"].get("namespace", ""))

    def _enqueue(self, thing):
        self.queue.add((thing["apiVersion"], thing["kind"], key_of(thing)))

    def _enqueue_owner(self, reference, namespace):
        found = self._known(reference, namespace)
        if found:
            self._enqueue(found)

    def _known(self, reference, namespace):
        kind = (reference["apiVersion"], reference["kind"])
        if kind not in self.monitors:
            return None
        found = self.monitors[kind].get(namespace if self.kinds[kind][1] else "", reference["name"])
        return found if found and found["metadata"]["uid"] == reference["uid"] else None

    def _dependents(self, uid):
        return [one for informer in self.monitors.values() for one in informer.things()
                if any(o["uid"] == uid for o in one["metadata"].get("ownerReferences", []))]

    def sync(self, item):
        api_version, kind, key = item
        thing = self.monitors[(api_version, kind)].wait().get(*key)
        if not thing:
            return
        try:
            if "deletionTimestamp" in thing["metadata"]:
                self._ending(thing)
            else:
                self._judge(thing)
        except ApiError as e:
            if e.code != 404:
                raise

    # -- what ends ---------------------------------------------------------------------------------------------------

    def _ending(self, thing):
        finalizers = thing["metadata"].get("finalizers", [])
        if ORPHAN in finalizers:
            for one in self._dependents(thing["metadata"]["uid"]):
                self._orphan(one, thing["metadata"]["uid"])
            self._without_finalizer(thing, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = [one for one in self._dependents(thing["metadata"]["uid"]) if self._blocks(one, thing)]
            if not blocking:
                self._without_finalizer(thing, FOREGROUND)
            for one in self._dependents(thing["metadata"]["uid"]):
                if "deletionTimestamp" not in one["metadata"]:
                    self._enqueue(one)

    @staticmethod
    def _blocks(one, thing):
        return any(o["uid"] == thing["metadata"]["uid"] and o.get("blockOwnerDeletion") for o in one["metadata"]["ownerReferences"])

    def _orphan(self, one, uid):
        try:
            self._forget(one, [uid])
        except ApiError as e:
            if e.code not in (404, 422):
                raise

    def _without_finalizer(self, thing, name):
        fresh = self._live(thing)
        rest = [f for f in fresh["metadata"].get("finalizers", []) if f != name]
        self._patch(fresh, {"metadata": {"resourceVersion": fresh["metadata"]["resourceVersion"], "finalizers": rest}}, MERGE)

    # -- what may have lost its owners -----------------------------------------------------------------------------------

    def _judge(self, thing):
        references = thing["metadata"].get("ownerReferences", [])
        states = [self._state(o, thing["metadata"].get("namespace", "")) for o in references]
        if not states or "there" in states:
            gone = [o["uid"] for o, s in zip(references, states) if s != "there"]
            if gone:
                self._forget(thing, gone)
            return
        waiting = "waiting" in states
        policy = "Foreground" if waiting and self._dependents(thing["metadata"]["uid"]) else "Background"
        self._remove(thing, policy)

    def _state(self, reference, namespace):
        """there, gone, or waiting: it ends after its dependents."""
        if reference["uid"] in self.absent:
            return "gone"
        found = self._known(reference, namespace)
        if not found:
            kind = (reference["apiVersion"], reference["kind"])
            if kind not in self.kinds:
                return "there"  # nothing is known of it
            resource, namespaced = self.kinds[kind]
            try:
                path = path_of(reference["apiVersion"], resource, namespace if namespaced else None, reference["name"])
                found = self.client.call("GET", path, accept=as_metadata())
            except ApiError as e:
                if e.code != 404:
                    raise
        if not found or found["metadata"]["uid"] != reference["uid"]:
            self.absent.add(reference["uid"])
            return "gone"
        waits = "deletionTimestamp" in found["metadata"] and FOREGROUND in found["metadata"].get("finalizers", [])
        return "waiting" if waits else "there"

    # -- requests ------------------------------------------------------------------------------------------------------

    def _path(self, thing):
        resource, namespaced = self.kinds[(thing["apiVersion"], thing["kind"])]
        return path_of(thing["apiVersion"], resource, thing["metadata"]["namespace"] if namespaced else None, thing["metadata"]["name"])

    def _live(self, thing):
        found = self.client.call("GET", self._path(thing), accept=as_metadata())
        found.update(apiVersion=thing["apiVersion"], kind=thing["kind"])
        return found

    def _forget(self, thing, owners):
        """Takes the references to these owners out."""
        references = [{"$patch": "delete", "uid": uid} for uid in owners]
        self._patch(thing, {"metadata": {"ownerReferences": references, "uid": thing["metadata"]["uid"]}}, STRATEGIC)

    def _patch(self, thing, patch, how):
        self.client.call("PATCH", self._path(thing), patch, as_metadata(), how)

    def _remove(self, thing, policy):
        fresh = self._live(thing)
        if fresh["metadata"]["uid"] != thing["metadata"]["uid"]:
            return
        preconditions = {"uid": fresh["metadata"]["uid"], "resourceVersion": fresh["metadata"]["resourceVersion"]}
        if "deletionTimestamp" not in fresh["metadata"]:
            body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions, "propagationPolicy": policy}
            self.client.call("DELETE", self._path(thing), body, EITHER, JSON)


class Namespaces(Controller):
    """Empties a namespace that ends, and then lets it go."""

    name = "namespace-controller"

    def watches(self):
        self.namespaces = self.plane.informer("v1", "Namespace")
        self.namespaces.on_change(self.add)

    def sync(self, key):
        namespace = self.namespaces.get(*key)
        if not namespace or "deletionTimestamp" not in namespace["metadata"]:
            return
        fresh = self.client.exists("v1", "Namespace", None, key[1])
        if fresh is None or "kubernetes" not in fresh["spec"].get("finalizers", []):
            return
        fresh = self._terminating(fresh)
        left = self._empty(key[1])
        if left:
            self._conditions(fresh, left)
            self.queue.add(key, 0.2)
            return
        finalized = copy.deepcopy(fresh)
        finalized["spec"]["finalizers"] = [f for f in finalized["spec"]["finalizers"] if f != "kubernetes"]
        self.client.update(finalized, "finalize")

    def _terminating(self, namespace):
        if namespace["status"].get("phase") == "Terminating":
            return namespace
        namespace["status"]["phase"] = "Terminating"
        return self.client.update(namespace, "status")

    def _empty(self, name):
        """How many objects are left; pods go first."""
        resources = [r for r in discover(self.client) if r[3] and {"deletecollection", "list"} <= set(r[4])]
        resources.sort(key=lambda r: r[1] != "pods")
        left = 0
        for api_version, resource, _, _, _ in resources:
            path = path_of(api_version, resource, name)
            body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
            self.client.call("DELETE", path, body, EITHER, JSON)
            answer = self.client.call("GET", path + "?" + urllib.parse.urlencode({"limit": 500}), accept=as_metadata("PartialObjectMetadataList"))
            left += len(answer.get("items", []))
            if left and resource == "pods":
                break
        return left

    def _conditions(self, namespace, left):
        old = namespace["status"].get("conditions", [])
        new = [condition("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered", old),
               condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", "%d are left" % left, old)]
        if json.dumps(new) != json.dumps(old):
            namespace["status"]["conditions"] = new
            self.client.update(namespace, "status")
