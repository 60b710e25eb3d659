# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""kubectl (or helm) as a person uses it, for tests in Python."""
import os
import re
import subprocess
import time

from server import SOURCE


def eventually(what, seconds=20):
    """Waits until what() is true, and says whether it became so."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Kubectl:
    def __init__(self, server, tap, namespace="default", program="kubectl"):
        tools = os.environ.get("KS_TOOLS", os.path.join(SOURCE, "build", "tools"))
        self.tap, self.namespace, self.program = tap, namespace, program
        env = dict(os.environ, KUBECONFIG=server.kubeconfig, HOME=server.state, PATH=os.path.join(tools, "bin") + ":" + os.environ["PATH"])
        self.how = dict(env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def command(self, line):
        return [self.program, "--namespace", self.namespace] + (line.split() if isinstance(line, str) else list(line))

    def __call__(self, line, given=None, timeout=60):
        """(exit status, output)"""
        done = subprocess.run(self.command(line), input=given, timeout=timeout, **self.how)
        return done.returncode, done.stdout

    def start(self, line):
        return subprocess.Popen(self.command(line), stdin=subprocess.DEVNULL, **self.how)

    def says(self, name, pattern, line, given=None, status=0):
        """A check: it ends with that status and prints something that matches."""
        found, output = self(line, given)
        return self.tap.ok(name, (found != 0) == (status != 0) and re.search(pattern, output, re.M), "exit status %d:\n%s" % (found, output))

    def refused(self, name, pattern, line, given=None):
        return self.says(name, pattern, line, given, 1)

    def field(self, thing, path):
        """By jsonpath, without the braces."""
        return self(["get", *thing.split(), "-o", "jsonpath={%s}" % path])[1]
