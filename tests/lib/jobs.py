# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the controller of jobs: it counts pods that have ended by their finalizer, so that none is counted twice or lost."""
import copy

from controller import Controller, now
from kube import ApiError, controller_of, key_of, owner
from workloads import is_active, is_ready

TRACKING = "batch.kubernetes.io/job-tracking"


def job_condition(type_, reason, message=""):
    stamp = now()
    return {"type": type_, "status": "True", "reason": reason, "message": message, "lastProbeTime": stamp, "lastTransitionTime": stamp}


class Jobs(Controller):
    name = "job-controller"

    def watches(self):
        self.jobs = self.plane.informer("batch/v1", "Job")
        self.pods = self.plane.informer("v1", "Pod")
        self.jobs.on_change(self.add)
        self.pods.on_change(self.add_owner)

    def add_owner(self, old, new):
        reference = controller_of(new or old)
        if reference and reference["kind"] == "Job":
            self.queue.add((key_of(new or old)[0], reference["name"]))

    def sync(self, key):
        job = copy.deepcopy(self.jobs.get(*key))
        if not job or "deletionTimestamp" in job["metadata"] or self._has(job, "Complete", "Failed"):
            return
        status = job.setdefault("status", {})
        if not status.get("startTime") and not job["spec"].get("suspend"):
            status["startTime"] = now()
            job = self._write(job)
        pods = [p for p in self.pods.things() if (controller_of(p) or {}).get("uid") == job["metadata"]["uid"]]
        job = self._count(job, pods)
        active = [p for p in pods if is_active(p)]
        self._finish(job, active)
        if not self._has(job, "SuccessCriteriaMet", "FailureTarget"):
            self._make(job, active)
        self._observe(job, active)

    @staticmethod
    def _has(job, *types):
        return any(c["type"] in types and c["status"] == "True" for c in job.get("status", {}).get("conditions", []))

    def _write(self, job):
        written = self.client.update(job, "status")
        self.jobs.assume(written)
        return copy.deepcopy(written)

    def _count(self, job, pods):
        """Notes the uids of those that ended, takes their finalizers away, and counts them only then."""
        ended = [p for p in pods if p.get("status", {}).get("phase") in ("Succeeded", "Failed") and TRACKING in p["metadata"].get("finalizers", [])]
        if not ended:
            return job
        noted = {"succeeded": [], "failed": []}
        for pod in ended:
            noted[pod["status"]["phase"].lower()].append(pod["metadata"]["uid"])
        job["status"]["uncountedTerminatedPods"] = {k: v for k, v in noted.items() if v}
        job = self._write(job)
        for pod in ended:
            self._release(pod)
        for result, uids in noted.items():
            if uids:
                job["status"][result] = job["status"].get(result, 0) + len(uids)
        job["status"]["uncountedTerminatedPods"] = {}
        return self._write(job)

    def _release(self, pod):
        patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING], "uid": pod["metadata"]["uid"]}}
        try:
            self.pods.assume(self.client.patch(pod, patch))
        except ApiError as e:
            if e.code != 404:
                raise

    def _make(self, job, active):
        left = job["spec"].get("completions", 1) - job["status"].get("succeeded", 0)
        wanted = 0 if job["spec"].get("suspend") else min(job["spec"].get("parallelism", 1), left)
        template, about = job["spec"]["template"], job["metadata"]
        for _ in range(wanted - len(active)):
            made = self.client.create({
                "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
                "metadata": {**template["metadata"], "generateName": about["name"] + "-", "namespace": about["namespace"], "finalizers": [TRACKING],
                             "ownerReferences": [owner(job, controller=True, blockOwnerDeletion=True)]}})
            self.pods.assume(made)
            active.append(made)
            self.tell(job, "SuccessfulCreate", "Created pod: " + made["metadata"]["name"])

    def _finish(self, job, active):
        """The condition that says how it will end comes first; the last one when no pod runs any more."""
        status, conditions = job["status"], job["status"].setdefault("conditions", [])
        reached = status.get("succeeded", 0) >= job["spec"].get("completions", 1)
        if reached and not self._has(job, "SuccessCriteriaMet"):
            conditions.append(job_condition("SuccessCriteriaMet", "CompletionsReached"))
        elif status.get("failed", 0) > job["spec"]["backoffLimit"] and not self._has(job, "FailureTarget"):
            conditions.append(job_condition("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit"))
        if not active and self._has(job, "SuccessCriteriaMet"):
            conditions.append(job_condition("Complete", "CompletionsReached"))
            status["completionTime"] = now()
            self.tell(job, "Completed", "Job completed")
        elif not active and self._has(job, "FailureTarget"):
            conditions.append(job_condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"))

    def _observe(self, job, active):
        status = job["status"]
        counts = {"active": len(active), "ready": len([p for p in active if is_ready(p)]), "terminating": 0}
        for name, n in counts.items():
            status[name] = n
        if not status["active"]:
            del status["active"]
        if not status["conditions"]:
            del status["conditions"]
        if status != self.jobs.get(*key_of(job)).get("status"):
            self._write(job)
