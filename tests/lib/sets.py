# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the controllers of stateful sets and daemon sets, whose templates are kept as ControllerRevisions."""
import copy
import hashlib
import json

from controller import Controller
from kube import ApiError, controller_of, key_of, owner
from workloads import is_active, is_ready

REVISION_HASH = "controller-revision-hash"


class Revisioned(Controller):
    """One with pods of the revisions of its template."""

    kind = None

    def watches(self):
        self.sets = self.plane.informer("apps/v1", self.kind)
        self.pods = self.plane.informer("v1", "Pod")
        self.revisions = self.plane.informer("apps/v1", "ControllerRevision")
        self.sets.on_change(self.add)
        for informer in (self.pods, self.revisions):
            informer.on_change(self.add_owner)

    def add_owner(self, old, new):
        reference = controller_of(new or old)
        if reference and reference["kind"] == self.kind:
            self.queue.add((key_of(new or old)[0], reference["name"]))

    def owned(self, informer, one):
        return [t for t in informer.things() if (controller_of(t) or {}).get("uid") == one["metadata"]["uid"]]

    def revision(self, one):
        """The revision of the template as it is now: found, made, or made the newest again after a rollback."""
        data = json.dumps({"spec": {"template": {**one["spec"]["template"], "$patch": "replace"}}}, sort_keys=True)
        name = "%s-%s" % (one["metadata"]["name"], hashlib.sha256(data.encode()).hexdigest()[:10])
        revisions = self.owned(self.revisions, one)
        highest = max([r["revision"] for r in revisions] or [0])
        found = next((copy.deepcopy(r) for r in revisions if r["metadata"]["name"] == name), None)
        if not found:
            found = self.client.create({
                "apiVersion": "apps/v1", "kind": "ControllerRevision", "data": data.encode(), "revision": highest + 1,
                "metadata": {"name": name, "namespace": one["metadata"]["namespace"], "labels": one["spec"]["template"]["metadata"]["labels"],
                             "ownerReferences": [owner(one, controller=True, blockOwnerDeletion=True)]}})
        elif found["revision"] < highest:
            found["revision"] = highest + 1
            found = self.client.update(found)
        self.revisions.assume(found)
        return found["metadata"]["name"]

    def make_pod(self, one, revision, metadata, change):
        template = copy.deepcopy(one["spec"]["template"])
        labels = {**template["metadata"].get("labels", {}), REVISION_HASH: revision, **metadata.pop("labels", {})}
        change(template["spec"])
        made = self.client.create({
            "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {**template["metadata"], **metadata, "labels": labels, "namespace": one["metadata"]["namespace"],
                         "ownerReferences": [owner(one, controller=True, blockOwnerDeletion=True)]}})
        self.pods.assume(made)

    def remove_pod(self, pod):
        if "deletionTimestamp" not in pod["metadata"]:
            try:
                self.client.delete(pod, preconditions={"uid": pod["metadata"]["uid"]})
            except ApiError as e:
                if e.code not in (404, 409):
                    raise

    def write_status(self, one, status):
        status = {k: v for k, v in status.items() if v or k in ("replicas", "currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")}
        if status != one.get("status"):
            one["status"] = status
            self.sets.assume(self.client.update(one, "status"))


class StatefulSets(Revisioned):
    name, kind = "statefulset-controller", "StatefulSet"

    def sync(self, key):
        one = copy.deepcopy(self.sets.get(*key))
        if not one or "deletionTimestamp" in one["metadata"]:
            return
        revision, wanted = self.revision(one), one["spec"]["replicas"]
        pods = {int(p["metadata"]["name"].rpartition("-")[2]): p for p in self.owned(self.pods, one)}
        self._step(one, revision, wanted, pods)
        current = {p["metadata"]["labels"][REVISION_HASH] for p in pods.values()}
        fresh = [p for p in pods.values() if p["metadata"]["labels"][REVISION_HASH] == revision]
        ready = len([p for p in pods.values() if is_ready(p)])
        finished = len(fresh) == len(pods) == wanted == ready
        before = one.get("status", {}).get("currentRevision", revision)
        self.write_status(one, {
            "observedGeneration": one["metadata"]["generation"], "replicas": len(pods), "readyReplicas": ready, "availableReplicas": ready,
            "updatedReplicas": len(fresh), "currentReplicas": len(fresh) if finished or current <= {revision} else len(pods) - len(fresh),
            "currentRevision": revision if finished else before, "updateRevision": revision, "collisionCount": 0})

    def _step(self, one, revision, wanted, pods):
        """In order, one at a time: make those that are missing, then replace the oldest from the end."""
        for i in range(wanted):
            if i not in pods:
                self._make(one, revision, i)
                return
            if not is_ready(pods[i]):
                return
        for i in sorted(pods, reverse=True):
            if i >= wanted or pods[i]["metadata"]["labels"][REVISION_HASH] != revision:
                self.remove_pod(pods[i])
                return

    def _make(self, one, revision, i):
        name = "%s-%d" % (one["metadata"]["name"], i)
        volumes = []
        for claim in one["spec"].get("volumeClaimTemplates", []):
            claim_name = "%s-%s" % (claim["metadata"]["name"], name)
            volumes.append({"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim_name}})
            try:
                self.client.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": claim["spec"],
                                    "metadata": {"name": claim_name, "namespace": one["metadata"]["namespace"]}})
            except ApiError as e:
                if e.reason != "AlreadyExists":
                    raise

        def change(spec):
            spec.update(hostname=name, subdomain=one["spec"].get("serviceName", ""), volumes=spec.get("volumes", []) + volumes)
        labels = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(i)}
        self.make_pod(one, revision, {"name": name, "labels": labels}, change)


class DaemonSets(Revisioned):
    name, kind = "daemon-set-controller", "DaemonSet"

    def watches(self):
        super().watches()
        self.nodes = self.plane.informer("v1", "Node")
        self.nodes.on_change(lambda old, new: [self.queue.add(key_of(one)) for one in self.sets.things()])

    def sync(self, key):
        one = copy.deepcopy(self.sets.get(*key))
        if not one or "deletionTimestamp" in one["metadata"]:
            return
        full = self.revision(one)
        revision = full.rpartition("-")[2]
        pods = [p for p in self.owned(self.pods, one) if is_active(p)]
        wanted = {n["metadata"]["name"] for n in self.nodes.things()}
        have = {self._node_of(p): p for p in pods}
        for node in sorted(wanted - have.keys()):
            self._make(one, revision, node)
        old = [p for p in pods if p["metadata"]["labels"][REVISION_HASH] != revision]
        if old and all(is_ready(p) for p in pods):
            self.remove_pod(old[0])
        for node in have.keys() - wanted:
            self.remove_pod(have[node])
        ready = len([p for p in pods if is_ready(p)])
        self.write_status(one, {
            "observedGeneration": one["metadata"]["generation"], "currentNumberScheduled": len(have), "desiredNumberScheduled": len(wanted),
            "numberMisscheduled": 0, "numberReady": ready, "numberAvailable": ready, "numberUnavailable": len(wanted) - ready,
            "updatedNumberScheduled": len(pods) - len(old)})

    @staticmethod
    def _node_of(pod):
        terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        return terms[0]["matchFields"][0]["values"][0]

    def _make(self, one, revision, node):
        def change(spec):
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
            spec["tolerations"] = spec.get("tolerations", []) + [
                {"key": "node.kubernetes.io/" + k, "operator": "Exists", "effect": e} for k, e in (
                    ("not-ready", "NoExecute"), ("unreachable", "NoExecute"), ("unschedulable", "NoSchedule"))]
        self.make_pod(one, revision, {"generateName": one["metadata"]["name"] + "-"}, change)
