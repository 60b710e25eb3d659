# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for kube-scheduler, for a kubelet without containers, and for the controller of nodes' taints."""
import copy
import itertools
import uuid

from controller import Controller, now
from kube import ApiError, Informer, key_of
from workloads import condition

NOT_READY = "node.kubernetes.io/not-ready"
numbers, addresses = itertools.count(1), {}


def address_of(pod):
    """A pod keeps its address, whether the answer to its status came or not."""
    uid = pod["metadata"]["uid"]
    if uid not in addresses:
        addresses[uid] = "10.244.%d.%d" % divmod(next(numbers), 250)
    return addresses[uid]


def conditions_patch(old, new):
    """What a two-way strategic merge patch says of conditions: those that changed, and the order of all."""
    return {"$setElementOrder/conditions": [{"type": c["type"]} for c in new], "conditions": [c for c in new if c not in old]}


class Scheduler(Controller):
    """Binds each pod to the node with the fewest."""

    name = "default-scheduler"

    def own_client(self):
        return self.plane.client("kube-scheduler", certificate=self.plane.certificate("system:kube-scheduler"))

    def watches(self):
        pods = dict(field_selector="status.phase!=Succeeded,status.phase!=Failed")
        self.pods = Informer(self.client, "v1", "Pod", **pods).start()
        self.nodes = Informer(self.client, "v1", "Node").start()
        self.pods.on_change(lambda old, new: new and not new["spec"].get("nodeName") and self.queue.add(key_of(new)))
        self.nodes.on_change(lambda old, new: [self.queue.add(key_of(p)) for p in self.pods.things() if not p["spec"].get("nodeName")])

    def sync(self, key):
        pod = self.pods.get(*key)
        if not pod or pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"] or pod["spec"].get("schedulingGates"):
            return
        nodes = [n for n in self.nodes.wait().things() if self._fits(pod, n)]
        if not nodes:
            self._unschedulable(pod)
            return
        used = [p["spec"].get("nodeName") for p in self.pods.things()]
        node = min(nodes, key=lambda n: (used.count(n["metadata"]["name"]), n["metadata"]["name"]))
        metadata = {k: pod["metadata"][k] for k in ("name", "namespace", "uid")}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": node["metadata"]["name"]}}
        self.client.call("POST", self.client.path("v1", "Pod", key[0], key[1], "binding"), binding)
        bound = copy.deepcopy(pod)
        bound["spec"]["nodeName"] = node["metadata"]["name"]
        self._event(bound, "Scheduled", "Binding", "Normal", "Successfully assigned %s/%s to %s" % (key + (node["metadata"]["name"],)))

    def _fits(self, pod, node):
        labels = node["metadata"].get("labels", {})
        if node["spec"].get("unschedulable") or any(v != labels.get(k) for k, v in pod["spec"].get("nodeSelector", {}).items()):
            return False
        if not self._has_fields(pod, node):
            return False
        taints = [t for t in node["spec"].get("taints", []) if t["effect"] != "PreferNoSchedule"]
        return all(any(self._tolerates(t, taint) for t in pod["spec"].get("tolerations", [])) for taint in taints)

    @staticmethod
    def _has_fields(pod, node):
        """As the pods of a daemon set ask for their node."""
        terms = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
        return not terms or any(node["metadata"]["name"] in f["values"] for t in terms for f in t.get("matchFields", []))

    @staticmethod
    def _tolerates(toleration, taint):
        if toleration.get("key", "") not in ("", taint["key"]) or toleration.get("effect", "") not in ("", taint["effect"]):
            return False
        return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")

    def _unschedulable(self, pod):
        old = pod.get("status", {}).get("conditions", [])
        one = condition("PodScheduled", "False", "Unschedulable", "no node fits", old)
        if one not in old:
            new = [c for c in old if c["type"] != "PodScheduled"] + [one]
            self.client.patch(pod, {"status": conditions_patch(old, new)}, sub="status")
            self._event(pod, "FailedScheduling", "Scheduling", "Warning", "no node fits")

    def _event(self, pod, reason, action, type_, note):
        """As the recorder of events.k8s.io/v1 writes it."""
        metadata = pod["metadata"]
        regarding = {"kind": "Pod", "apiVersion": "v1", **{k: metadata[k] for k in ("name", "namespace", "uid", "resourceVersion")}}
        self.client.create({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "eventTime": now(micro=True), "reportingController": "default-scheduler",
            "reportingInstance": "default-scheduler-test", "action": action, "reason": reason, "regarding": regarding, "note": note, "type": type_,
            "metadata": {"name": "%s.%s" % (metadata["name"], uuid.uuid4().hex[:16]), "namespace": metadata["namespace"]}})


class Taints(Controller):
    """Takes the taint away from nodes that are ready, and puts it on those that aren't."""

    name = "node-controller"

    def watches(self):
        self.nodes = self.plane.informer("v1", "Node")
        self.nodes.on_change(self.add)

    def sync(self, key):
        node = self.nodes.get(*key)
        if not node:
            return
        ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node.get("status", {}).get("conditions", []))
        taints = node["spec"].get("taints", [])
        if ready == (NOT_READY in [t["key"] for t in taints]):
            node = self.client.get("v1", "Node", None, key[1], resourceVersion=0)
            others = [t for t in node["spec"].get("taints", []) if t["key"] != NOT_READY]
            wanted = others if ready else others + [{"key": NOT_READY, "effect": "NoSchedule"}]
            revision = node["metadata"]["resourceVersion"]
            self.nodes.assume(self.client.patch(node, {"metadata": {"resourceVersion": revision}, "spec": {"taints": wanted or None}}))


class Kubelet(Controller):
    """A node whose pods run as soon as they are bound to it."""

    name = "hollow-kubelet"

    def __init__(self, plane, node):
        self.node_name, self.uid, self.heartbeats = node, None, 0
        super().__init__(plane)

    def own_client(self):
        return self.plane.client(self.name)

    def watches(self):
        self.pods = Informer(self.client, "v1", "Pod", field_selector="spec.nodeName=" + self.node_name).start()
        self.pods.on_change(self.add)
        self.queue.add("node")

    def sync(self, key):
        if key == "node":
            self._register()
            self._heartbeat()
            self.queue.add(key, 1)
            return
        pod = self.pods.get(*key)
        if not pod:
            return
        if "deletionTimestamp" in pod["metadata"]:
            self._end(pod)
        elif pod.get("status", {}).get("phase") in (None, "Pending"):
            self._run(pod)
        elif pod["status"]["phase"] == "Running" and pod["spec"]["restartPolicy"] != "Always":
            self._complete(pod)

    # -- the node ------------------------------------------------------------------------------------------------------

    def _register(self):
        node = self.client.exists("v1", "Node", None, self.node_name)
        if node is None:
            node = self.client.create({
                "apiVersion": "v1", "kind": "Node", "spec": {},
                "metadata": {"name": self.node_name, "labels": {"kubernetes.io/hostname": self.node_name, "kubernetes.io/os": "linux"}},
                "status": {"capacity": {"cpu": "8", "memory": "16Gi", "pods": "110"}, "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"},
                           "nodeInfo": {"kubeletVersion": "v1.36.0", "operatingSystem": "linux", "architecture": "amd64"}}})
        self.uid = node["metadata"]["uid"]
        old = node.get("status", {}).get("conditions", [])
        if not any(c["type"] == "Ready" and c["status"] == "True" for c in old):
            new = [{**condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", old), "lastHeartbeatTime": now()}]
            self.client.patch(node, {"status": {**conditions_patch(old, new), "addresses": [{"type": "InternalIP", "address": "192.0.2.77"}]}},
                              sub="status", timeout="10s")

    def _heartbeat(self):
        """Renews the node's lease."""
        lease = self.client.exists("coordination.k8s.io/v1", "Lease", "kube-node-lease", self.node_name)
        if lease is None:
            reference = {"apiVersion": "v1", "kind": "Node", "name": self.node_name, "uid": self.uid}
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": self.node_name, "leaseDurationSeconds": 40},
                     "metadata": {"name": self.node_name, "namespace": "kube-node-lease", "ownerReferences": [reference]}}
        lease["spec"]["renewTime"] = now(micro=True)
        (self.client.update if "uid" in lease["metadata"] else self.client.create)(lease, timeout="10s")
        self.heartbeats += 1

    # -- its pods ------------------------------------------------------------------------------------------------------

    def _run(self, pod):
        pod = self.client.get("v1", "Pod", *key_of(pod))
        old, stamp = pod.get("status", {}).get("conditions", []), now()
        new = [c for c in old if c["type"] == "PodScheduled"]
        new += [condition(t, "True", "", "", old) for t in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")]
        address = address_of(pod)
        containers = [{
            "name": c["name"], "image": c["image"], "imageID": "", "ready": True, "restartCount": 0, "started": True,
            "containerID": "hollow://" + uuid.uuid4().hex, "state": {"running": {"startedAt": stamp}}} for c in pod["spec"]["containers"]]
        self._status(pod, {**conditions_patch(old, new), "phase": "Running", "hostIP": "192.0.2.77", "podIP": address, "podIPs": [{"ip": address}],
                           "startTime": stamp, "containerStatuses": containers})

    def _status(self, pod, status):
        patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        self.pods.assume(self.client.patch(pod, patch, sub="status"))

    def _complete(self, pod):
        """What runs once has ended; the command `false` has failed."""
        stamp, failed, old = now(), pod["spec"]["containers"][0].get("command") == ["false"], pod["status"].get("conditions", [])
        new = [c for c in old if c["type"] not in ("Ready", "ContainersReady")]
        new += [condition(t, "False", "PodFailed" if failed else "PodCompleted", "", old) for t in ("Ready", "ContainersReady")]
        ended = [{"name": c["name"], "ready": False, "started": False, "state": {"running": None, "terminated": {
            "exitCode": int(failed), "reason": "Error" if failed else "Completed", "startedAt": stamp, "finishedAt": stamp}}}
            for c in pod["status"]["containerStatuses"]]
        self._status(pod, {**conditions_patch(old, new), "phase": "Failed" if failed else "Succeeded", "containerStatuses": ended})

    def _end(self, pod):
        stamp, uid = now(), pod["metadata"]["uid"]
        ended = [{"name": c["name"], "ready": False, "started": False, "state": {"running": None, "terminated": {
            "exitCode": 0, "reason": "Completed", "startedAt": stamp, "finishedAt": stamp}}} for c in pod.get("status", {}).get("containerStatuses", [])]
        try:
            if pod["status"].get("phase") == "Running" and any("running" in c.get("state", {}) for c in pod.get("status", {}).get("containerStatuses", [])):
                self._status(pod, {"containerStatuses": ended})
            self.client.delete(pod, gracePeriodSeconds=0, preconditions={"uid": uid})
        except ApiError as e:
            if e.code not in (404, 409):  # another pod of that name is there
                raise
