# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""What controllers have in common: shared informers, a queue of keys, retries, events, and the election of a leader."""
import collections
import datetime
import heapq
import os
import subprocess
import threading
import time
import traceback
import uuid

from kube import ApiError, BROKEN, Client, Informer, key_of, owner


def now(micro=False):
    text = datetime.datetime.utcnow().strftime("%Y-%m-%dT%H:%M:%S.%f" if micro else "%Y-%m-%dT%H:%M:%S")
    return text + "Z"


class Queue:
    """Keys, each once, some of them later."""

    def __init__(self):
        self.ready, self.later, self.condition, self.closed = collections.OrderedDict(), [], threading.Condition(), False

    def add(self, key, delay=0):
        with self.condition:
            if delay:
                heapq.heappush(self.later, (time.monotonic() + delay, key))
            else:
                self.ready[key] = None
            self.condition.notify()

    def take(self):
        """Waits for one; None when the queue is closed."""
        with self.condition:
            while not self.closed:
                while self.later and self.later[0][0] <= time.monotonic():
                    self.ready[heapq.heappop(self.later)[1]] = None
                if self.ready:
                    return self.ready.popitem(last=False)[0]
                self.condition.wait(self.later[0][0] - time.monotonic() if self.later else None)
            return None

    def close(self):
        with self.condition:
            self.closed = True
            self.condition.notify_all()


class Controller(threading.Thread):
    """sync(key) is called for each key that was added, again after an error that may pass. `answers` counts what went wrong, by code."""

    name = None  # of its service account

    def __init__(self, plane):
        super().__init__(daemon=True)
        self.plane, self.queue, self.failures = plane, Queue(), collections.Counter()
        self.answers, self.bugs = collections.Counter(), []
        self.client = self.own_client()
        self.watches()

    def own_client(self):
        """With the rights of its service account."""
        return self.plane.client(self.name, as_user="system:serviceaccount:kube-system:" + self.name)

    def watches(self):
        """Takes the informers that it needs and says what puts a key into the queue."""
        raise NotImplementedError

    def add(self, old, new):
        self.queue.add(key_of(new or old))

    def run(self):
        for informer in self.plane.informers.values():
            informer.wait()
        key = self.queue.take()
        while key is not None:
            self._try(key)
            key = self.queue.take()

    def _try(self, key):
        try:
            self.sync(key)
            self.failures.pop(key, None)
            return
        except ApiError as e:
            self.answers[e.code] += 1
            if e.ending:
                return
            self.plane.complaints.append("%s: %s: %s" % (self.name, key, e))
        except BROKEN:
            self.answers["broken"] += 1
        except Exception:
            self.bugs.append(traceback.format_exc())
        self.failures[key] += 1
        self.queue.add(key, min(0.01 * 2 ** self.failures[key], 1))

    def tell(self, thing, reason, message, type_="Normal"):
        """An event, as the recorder of core/v1 writes it."""
        stamp, about = now(), thing["metadata"]
        reference = owner(thing, namespace=about.get("namespace", ""), resourceVersion=about["resourceVersion"])
        try:
            self.client.create({
                "apiVersion": "v1", "kind": "Event", "involvedObject": reference,
                "metadata": {"name": "%s.%s" % (about["name"], uuid.uuid4().hex[:16]), "namespace": about.get("namespace") or "default"},
                 "reason": reason, "message": message, "type": type_, "firstTimestamp": stamp, "lastTimestamp": stamp,
                "count": 1, "source": {"component": self.name}, "reportingComponent": self.name})
        except ApiError as e:
            if e.code not in (403, 404):  # the namespace ends
                raise


class Elector(threading.Thread):
    """Renews a Lease as one of several candidates. `leading` is set while it holds it; losing a race of writes is no error."""

    def __init__(self, client, name, identity, seconds=15, period=2.0):
        super().__init__(daemon=True)
        self.client, self.lease_name, self.identity, self.seconds, self.period = client, name, identity, seconds, period
        self.leading, self.stopped, self.seen, self.conflicts, self.renewals = threading.Event(), threading.Event(), None, 0, 0

    def run(self):
        while not self.stopped.is_set():
            try:
                (self.leading.set if self.attempt() else self.leading.clear)()
            except BROKEN:
                pass
            self.stopped.wait(self.period)
        if self.leading.is_set():
            self.release()

    def attempt(self):
        """Whether this candidate holds the lease now."""
        lease = self.client.exists("coordination.k8s.io/v1", "Lease", "kube-system", self.lease_name)
        try:
            if lease is None:
                self.client.create(self._held({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                               "metadata": {"name": self.lease_name, "namespace": "kube-system"}, "spec": {}}), timeout="5s")
            elif self._mine_or_old(lease["spec"]):
                self.client.update(self._held(lease), timeout="5s")
            else:
                return False
        except ApiError as e:
            if e.code != 409:
                raise
            self.conflicts += 1
            return False
        self.renewals += 1
        return True

    def _mine_or_old(self, spec):
        if (spec.get("holderIdentity"), spec.get("renewTime")) != (self.seen or [None])[0]:
            self.seen = ((spec.get("holderIdentity"), spec.get("renewTime")), time.monotonic())
        return spec.get("holderIdentity", "") in ("", self.identity) or time.monotonic() - self.seen[1] > spec["leaseDurationSeconds"]

    def _held(self, lease):
        spec, moment = lease["spec"], now(micro=True)
        if spec.get("holderIdentity") != self.identity:
            spec.update(acquireTime=moment, leaseTransitions=spec.get("leaseTransitions", 0) + (1 if "holderIdentity" in spec else 0))
        spec.update(holderIdentity=self.identity, leaseDurationSeconds=self.seconds, renewTime=moment)
        return lease

    def release(self):
        lease = self.client.get("coordination.k8s.io/v1", "Lease", "kube-system", self.lease_name)
        lease["spec"].update(holderIdentity="", leaseDurationSeconds=1, renewTime=now(micro=True))
        self.client.update(lease, timeout="5s")
        self.leading.clear()


class Plane:
    """The controllers of a cluster, with the users and certificates that they have there."""

    def __init__(self, server):
        self.server, self.informers, self.running, self.complaints = server, {}, [], collections.deque(maxlen=200)
        self.manager = self.client("kube-controller-manager", certificate=self.certificate("system:kube-controller-manager"))

    def certificate(self, user):
        """(certificate, key) of a user, signed by the server's authority."""
        folder = os.path.join(self.server.state, "pki")
        base, key = os.path.join(folder, user.replace(":", "-")), "ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
        for command in ("openssl req -new -newkey %s -keyout %s.key -out %s.csr -subj /CN=%s" % (key, base, base, user),
                        "openssl x509 -req -in %s.csr -CA ca.crt -CAkey ca.key -days 2 -out %s.crt" % (base, base)):
            subprocess.run(command.split(), cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return base + ".crt", base + ".key"

    def client(self, agent, **how):
        return Client(self.server, agent, **how)

    def informer(self, api_version, kind, **how):
        """One of each for all controllers."""
        if (api_version, kind) not in self.informers:
            self.informers[(api_version, kind)] = Informer(self.manager, api_version, kind, **how).start()
        return self.informers[(api_version, kind)]

    def start(self, *controllers):
        self.running += controllers
        for controller in controllers:
            controller.start()

    def stop(self):
        for informer in self.informers.values():
            informer.stopped.set()
        for one in self.running:
            one.queue.close() if isinstance(one, Controller) else one.stopped.set()

    @property
    def bugs(self):
        return [bug for one in self.running for bug in getattr(one, "bugs", [])]
