# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for controllers of kube-controller-manager: they make the same requests, in protobuf, and as much of the same decisions as tests need."""
import copy
import hashlib
import json
import math

from controller import Controller, now
from kube import ApiError, controller_of, key_of, matches, owner

REVISION = "deployment.kubernetes.io/revision"
HASH = "pod-template-hash"


def condition(type_, status, reason, message, old=()):
    """With the time of the change kept when nothing changed."""
    before = next((c for c in old if c["type"] == type_), {})
    kept = before.get("lastTransitionTime") if before.get("status") == status else None
    return {"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": kept or now()}


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", []))


def is_active(pod):
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]


def share(value, total, up):
    """Of maxSurge and maxUnavailable: a number or a percentage."""
    if isinstance(value, str):
        return (math.ceil if up else math.floor)(int(value.rstrip("%")) * total / 100)
    return value


class ServiceAccounts(Controller):
    """A service account `default` in each namespace, and the certificate authority in a ConfigMap."""

    name = "service-account-controller"

    def watches(self):
        self.namespaces = self.plane.informer("v1", "Namespace")
        self.accounts = self.plane.informer("v1", "ServiceAccount")
        self.maps = self.plane.informer("v1", "ConfigMap")
        self.publisher = self.plane.client("root-ca-cert-publisher", as_user="system:serviceaccount:kube-system:root-ca-cert-publisher")
        with open(self.plane.server.cafile) as f:
            self.authority = f.read()
        self.namespaces.on_change(lambda old, new: self.queue.add(key_of(new or old)[1]))
        for informer in (self.accounts, self.maps):
            informer.on_change(lambda old, new: new or self.queue.add(key_of(old)[0]))

    def sync(self, name):
        namespace = self.namespaces.get("", name)
        if not namespace or "deletionTimestamp" in namespace["metadata"]:
            return
        if not self.accounts.get(name, "default"):
            self._make(self.client, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}})
        if not self.maps.get(name, "kube-root-ca.crt"):
            self._make(self.publisher, {
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": self.authority},
                "metadata": {"name": "kube-root-ca.crt", "namespace": name, "annotations": {"kubernetes.io/description": "Contains a CA bundle"}}})

    def _make(self, client, thing):
        try:
            client.create(thing)
        except ApiError as e:
            if e.reason != "AlreadyExists":
                raise


class Deployments(Controller):
    name = "deployment-controller"

    def watches(self):
        self.deployments = self.plane.informer("apps/v1", "Deployment")
        self.sets = self.plane.informer("apps/v1", "ReplicaSet")
        self.deployments.on_change(self.add)
        self.sets.on_change(self.add_owner)

    def add_owner(self, old, new):
        reference = controller_of(new or old)
        if reference:
            self.queue.add((key_of(new or old)[0], reference["name"]))

    def sync(self, key):
        deployment = copy.deepcopy(self.deployments.get(*key))
        if not deployment:
            return
        self._adopt(deployment)
        owned = [copy.deepcopy(s) for s in self.sets.things() if (controller_of(s) or {}).get("uid") == deployment["metadata"]["uid"]]
        owned.sort(key=lambda s: int(s["metadata"].get("annotations", {}).get(REVISION, 0)))
        if "deletionTimestamp" in deployment["metadata"]:
            self._status(deployment, owned, None)
            return
        new = next((s for s in owned if self._template(s) == self._template(deployment)), None)
        old = [s for s in owned if s is not new]
        if not deployment["spec"].get("paused"):
            new = self._new_set(deployment, new, old)
            self._roll(deployment, new, old)
            self._forget(deployment, old)
        elif new:
            self._scale(deployment, new, deployment["spec"]["replicas"])
        self._status(deployment, old + ([new] if new else []), new)

    def _template(self, thing):
        template = copy.deepcopy(thing["spec"]["template"])
        template["metadata"].get("labels", {}).pop(HASH, None)
        return template

    def _adopt(self, deployment):
        """Sets that lost their owner, as `delete --cascade=orphan` leaves them."""
        for one in self.sets.things():
            if one["metadata"]["namespace"] != deployment["metadata"]["namespace"] or controller_of(one) or "deletionTimestamp" in one["metadata"]:
                continue
            if "deletionTimestamp" not in deployment["metadata"] and matches(deployment["spec"]["selector"], one["metadata"].get("labels", {})):
                reference = owner(deployment, controller=True, blockOwnerDeletion=True)
                self.sets.assume(self.client.patch(one, {"metadata": {"ownerReferences": [reference], "uid": one["metadata"]["uid"]}}))

    def _new_set(self, deployment, new, old):
        highest = max([int(s["metadata"].get("annotations", {}).get(REVISION, 0)) for s in old] or [0])
        if not new:
            new = self._create(deployment, str(highest + 1), old)
        elif int(new["metadata"].get("annotations", {}).get(REVISION, 0)) <= highest:
            new["metadata"].setdefault("annotations", {})[REVISION] = str(highest + 1)  # a rollback
            new = self.client.update(new)
            self.sets.assume(new)
        revision = new["metadata"]["annotations"][REVISION]
        if deployment["metadata"].get("annotations", {}).get(REVISION) != revision:
            deployment["metadata"].setdefault("annotations", {})[REVISION] = revision
            deployment.update(self.client.update(deployment))
        return new

    def _create(self, deployment, revision, old):
        template = self._template(deployment)
        digest = hashlib.sha256(json.dumps(template, sort_keys=True, default=str).encode()).hexdigest()[:10]
        labels = {**template["metadata"].get("labels", {}), HASH: digest}
        template["metadata"]["labels"] = labels
        made = self.client.create({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": "%s-%s" % (deployment["metadata"]["name"], digest), "namespace": deployment["metadata"]["namespace"], "labels": labels,
                "annotations": {REVISION: revision, "deployment.kubernetes.io/desired-replicas": str(deployment["spec"]["replicas"])},
                "ownerReferences": [owner(deployment, controller=True, blockOwnerDeletion=True)]},
            "spec": {"replicas": self._room(deployment, old, 0), "template": template,
                     "selector": {"matchLabels": {**deployment["spec"]["selector"]["matchLabels"], HASH: digest}}}})
        self.sets.assume(made)
        self.tell(deployment, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d" % (made["metadata"]["name"], made["spec"]["replicas"]))
        return made

    def _limits(self, deployment):
        """(most replicas, fewest available ones)"""
        total, how = deployment["spec"]["replicas"], deployment["spec"]["strategy"].get("rollingUpdate")
        if how is None:
            return total, 0
        surge, missing = share(how["maxSurge"], total, True), share(how["maxUnavailable"], total, False)
        return total + surge, total - (missing or (0 if surge else 1))

    def _room(self, deployment, old, current):
        total = deployment["spec"]["replicas"]
        if deployment["spec"]["strategy"]["type"] == "Recreate":
            return total if not any(s.get("status", {}).get("replicas", 0) or s["spec"]["replicas"] for s in old) else current
        most, _ = self._limits(deployment)
        return min(total, max(current, most - sum(s["spec"]["replicas"] for s in old)))

    def _roll(self, deployment, new, old):
        if new["spec"]["replicas"] > deployment["spec"]["replicas"]:
            self._scale(deployment, new, deployment["spec"]["replicas"])
        else:
            self._scale(deployment, new, self._room(deployment, old, new["spec"]["replicas"]))
        _, fewest = self._limits(deployment)
        available = {id(s): s.get("status", {}).get("availableReplicas", 0) for s in old + [new]}
        spare = sum(available.values()) - fewest
        for one in old:
            unhealthy = one["spec"]["replicas"] - available[id(one)]
            fewer = min(one["spec"]["replicas"], unhealthy + max(0, min(spare, available[id(one)])))
            spare -= max(0, fewer - unhealthy)
            self._scale(deployment, one, one["spec"]["replicas"] - fewer)

    def _scale(self, deployment, one, replicas):
        before = one["spec"]["replicas"]
        if before == replicas:
            return
        one["spec"]["replicas"] = replicas
        one.update(self.client.update(one))
        self.sets.assume(copy.deepcopy(one))
        self.tell(deployment, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d" % (
            "up" if replicas > before else "down", one["metadata"]["name"], before, replicas))

    def _forget(self, deployment, old):
        gone = [s for s in old if not s["spec"]["replicas"] and not s.get("status", {}).get("replicas") and "deletionTimestamp" not in s["metadata"]]
        for one in gone[:max(0, len(gone) - deployment["spec"]["revisionHistoryLimit"])]:
            self.client.delete(one)

    def _status(self, deployment, owned, new):
        def count(what, sets):
            return sum(s.get("status", {}).get(what, 0) for s in sets)
        fresh, total, before = [new] if new else [], deployment["spec"]["replicas"], deployment.get("status", {})
        status = {"observedGeneration": deployment["metadata"]["generation"], "replicas": count("replicas", owned), "updatedReplicas": count("replicas", fresh),
                  "readyReplicas": count("readyReplicas", owned), "availableReplicas": count("availableReplicas", owned)}
        status["unavailableReplicas"] = max(0, sum(s["spec"]["replicas"] for s in owned) - status["availableReplicas"])
        status = {k: v for k, v in status.items() if v}
        enough = status.get("availableReplicas", 0) >= self._limits(deployment)[1]
        finished = new and status.get("updatedReplicas", 0) == status.get("replicas", 0) == status.get("availableReplicas", 0) == total
        old = before.get("conditions", [])
        status["conditions"] = [
            condition("Progressing", "True", "NewReplicaSetAvailable" if finished else "ReplicaSetUpdated", "it goes on", old),
            condition("Available", str(enough), "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable", "by what is there", old)]
        for one in status["conditions"]:
            one["lastUpdateTime"] = one["lastTransitionTime"]
        if status != before:
            deployment["status"] = status
            self.deployments.assume(self.client.update(deployment, "status"))


class ReplicaSets(Controller):
    name = "replicaset-controller"

    def watches(self):
        self.sets = self.plane.informer("apps/v1", "ReplicaSet")
        self.pods = self.plane.informer("v1", "Pod")
        self.going = set()
        self.sets.on_change(self.add)
        self.pods.on_change(self.add_owner)

    def add_owner(self, old, new):
        for pod in [p for p in (old, new) if p]:
            reference = controller_of(pod)
            if reference:
                self.queue.add((key_of(pod)[0], reference["name"]))
            elif new:
                for one in self.sets.things():
                    if one["metadata"]["namespace"] == key_of(pod)[0]:
                        self.queue.add(key_of(one))

    def sync(self, key):
        one = copy.deepcopy(self.sets.get(*key))
        if not one:
            return
        alive = [p for p in self.pods.things() if p["metadata"]["namespace"] == key[0] and is_active(p) and p["metadata"]["uid"] not in self.going]
        ending = "deletionTimestamp" in one["metadata"]
        pods = [p for p in alive if self._claims(one, p, ending)]
        if not ending:
            self._create(one, one["spec"]["replicas"] - len(pods))
            self._remove(one, pods, len(pods) - one["spec"]["replicas"])
        self._status(one)

    def _claims(self, one, pod, ending):
        reference = controller_of(pod)
        if reference:
            return reference["uid"] == one["metadata"]["uid"]
        if ending or not matches(one["spec"]["selector"], pod["metadata"].get("labels", {})):
            return False
        reference = owner(one, controller=True, blockOwnerDeletion=True)
        self.pods.assume(self.client.patch(pod, {"metadata": {"ownerReferences": [reference], "uid": pod["metadata"]["uid"]}}))
        return True

    def _create(self, one, n):
        for _ in range(n):
            template = one["spec"]["template"]
            made = self.client.create({
                "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
                "metadata": {**template["metadata"], "generateName": one["metadata"]["name"] + "-", "namespace": one["metadata"]["namespace"],
                             "ownerReferences": [owner(one, controller=True, blockOwnerDeletion=True)]}})
            self.pods.assume(made)
            self.tell(one, "SuccessfulCreate", "Created pod: " + made["metadata"]["name"])

    def _remove(self, one, pods, n):
        pods.sort(key=lambda p: (bool(p["spec"].get("nodeName")), is_ready(p), p["metadata"]["creationTimestamp"]))
        for pod in pods[:max(n, 0)]:
            try:
                self.client.delete(pod)
            except ApiError as e:
                if e.code != 404:
                    raise
            self.going.add(pod["metadata"]["uid"])
            self.tell(one, "SuccessfulDelete", "Deleted pod: " + pod["metadata"]["name"])

    def _status(self, one):
        pods = [p for p in self.pods.things() if is_active(p) and (controller_of(p) or {}).get("uid") == one["metadata"]["uid"]]
        ready = len([p for p in pods if is_ready(p)])
        status = {"replicas": len(pods), "fullyLabeledReplicas": len(pods), "readyReplicas": ready, "availableReplicas": ready,
                  "observedGeneration": one["metadata"]["generation"]}
        status = {k: v for k, v in status.items() if v or k == "replicas"}
        if status != one.get("status"):
            one["status"] = status
            self.sets.assume(self.client.update(one, "status"))


class EndpointSlices(Controller):
    name = "endpointslice-controller"

    def watches(self):
        self.services = self.plane.informer("v1", "Service", classic=True)
        self.pods = self.plane.informer("v1", "Pod")
        self.slices = self.plane.informer("discovery.k8s.io/v1", "EndpointSlice", classic=True)
        self.services.on_change(self.add)
        self.slices.on_change(lambda old, new: self._service_of(new or old))
        self.pods.on_change(self.add_services)

    def _service_of(self, one):
        name = one["metadata"].get("labels", {}).get("kubernetes.io/service-name")
        if name:
            self.queue.add((one["metadata"]["namespace"], name))

    def add_services(self, old, new):
        pod = new or old
        for service in self.services.things():
            if service["metadata"]["namespace"] == pod["metadata"]["namespace"] and matches(service["spec"].get("selector"), pod["metadata"].get("labels", {})):
                self.queue.add(key_of(service))

    def sync(self, key):
        service = self.services.get(*key)
        if not service or not service["spec"].get("selector") or "deletionTimestamp" in service["metadata"]:
            return
        wanted = {"addressType": "IPv4", "endpoints": self._endpoints(service), "ports": [
            {"name": p.get("name", ""), "port": int(p["targetPort"]), "protocol": p["protocol"]} for p in service["spec"].get("ports", [])]}
        old = next((copy.deepcopy(s) for s in self.slices.things() if s["metadata"]["namespace"] == key[0] and
                    s["metadata"].get("labels", {}).get("kubernetes.io/service-name") == key[1]), None)
        if not old:
            self.slices.assume(self.client.create({**wanted, "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {
                "generateName": key[1] + "-", "namespace": key[0], "ownerReferences": [owner(service, controller=True, blockOwnerDeletion=True)],
                "labels": {"kubernetes.io/service-name": key[1], "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}}}))
        elif any(old.get(k, []) != v for k, v in wanted.items()):
            self.slices.assume(self.client.update({**old, **wanted}))

    def _endpoints(self, service):
        found = []
        for pod in sorted(self.pods.things(), key=key_of):
            if pod["metadata"]["namespace"] != service["metadata"]["namespace"] or not pod.get("status", {}).get("podIP") or not is_active(pod):
                continue
            if matches(service["spec"]["selector"], pod["metadata"].get("labels", {})):
                found.append({
                    "addresses": [pod["status"]["podIP"]], "conditions": {"ready": is_ready(pod), "serving": is_ready(pod), "terminating": False},
                    "nodeName": pod["spec"]["nodeName"], "targetRef": {
                        "kind": "Pod", "namespace": pod["metadata"]["namespace"], "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}})
        return found


class Disruptions(Controller):
    """How many pods of a PodDisruptionBudget may go now."""

    name = "disruption-controller"

    def watches(self):
        self.budgets = self.plane.informer("policy/v1", "PodDisruptionBudget")
        self.pods = self.plane.informer("v1", "Pod")
        self.budgets.on_change(self.add)
        self.pods.on_change(self.add_budgets)

    def add_budgets(self, old, new):
        for budget in self.budgets.things():
            if budget["metadata"]["namespace"] == key_of(new or old)[0]:
                self.queue.add(key_of(budget))

    def sync(self, key):
        budget = copy.deepcopy(self.budgets.get(*key))
        if not budget:
            return
        pods = [p for p in self.pods.things() if p["metadata"]["namespace"] == key[0] and is_active(p) and
                matches(budget["spec"].get("selector"), p["metadata"].get("labels", {}))]
        leaving = {name: since for name, since in budget.get("status", {}).get("disruptedPods", {}).items() if any(p["metadata"]["name"] == name for p in pods)}
        healthy = len([p for p in pods if is_ready(p) and p["metadata"]["name"] not in leaving])
        if "maxUnavailable" in budget["spec"]:
            wanted = len(pods) - share(budget["spec"]["maxUnavailable"], len(pods), True)
        else:
            wanted = share(budget["spec"].get("minAvailable", 0), len(pods), True)
        allowed = max(0, healthy - max(0, wanted))
        reason, old = ("SufficientPods", budget.get("status", {}).get("conditions", []))
        status = {"currentHealthy": healthy, "desiredHealthy": max(0, wanted), "disruptionsAllowed": allowed, "expectedPods": len(pods),
                  "observedGeneration": budget["metadata"]["generation"],
                  "conditions": [{**condition("DisruptionAllowed", str(allowed > 0), reason if allowed else "InsufficientPods", "", old),
                                  "observedGeneration": budget["metadata"]["generation"]}]}
        if leaving:
            status["disruptedPods"] = leaving
        if status != budget.get("status"):
            budget["status"] = status
            self.budgets.assume(self.client.update(budget, "status"))
