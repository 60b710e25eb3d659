# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Counts what passed and failed, and shows the output of what failed."""
import re
import sys
import time

TAP = re.compile(r"^(not ok|ok)\b[ \d]*-?\s*(.*)$")
SKIP = re.compile(r"#\s*skip\b(.*)", re.I)


class Report:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.failures, self.stages = [], []
        self.stage, self.begun, self.budget = None, 0, 0

    def begin(self, name, budget):
        self.stage, self.budget, self.begun = name, budget, time.monotonic()
        print("== %s (at most %d s)" % (name, budget), flush=True)

    def end(self):
        used = time.monotonic() - self.begun
        late = "  OVER ITS BUDGET" if used > self.budget else ""
        print("== %s: %.0f of %d s%s" % (self.stage, used, self.budget, late), flush=True)
        self.stages.append((self.stage, used, self.budget))

    def ok(self, name, n=1):
        self.passed += n
        print("ok   %s%s" % (name, " (%d)" % n if n > 1 else ""), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print("skip %s: %s" % (name, why.strip()), flush=True)

    def fail(self, name, output="", n=1):
        self.failed += n
        self.failures.append("%s: %s" % (self.stage, name))
        print("FAIL %s%s" % (name, " (%d)" % n if n > 1 else ""), flush=True)
        lines = output.rstrip().splitlines()
        if len(lines) > 120:
            lines = lines[:20] + ["... %d lines ..." % (len(lines) - 100)] + lines[-80:]
        for line in lines:
            print("     | " + line)
        sys.stdout.flush()

    def program(self, name, status, output):
        """What a test program said: lines "ok NAME" and "not ok NAME" count each; without any its exit status counts as one. 77: skipped."""
        if status == 77:
            return self.skip(name, output.strip().splitlines()[-1] if output.strip() else "it says so")
        lines = [TAP.match(line) for line in output.splitlines()]
        good = sum(1 for m in lines if m and m.group(1) == "ok" and not SKIP.search(m.group(2)))
        bad = [m.group(2) for m in lines if m and m.group(1) == "not ok"]
        for m in lines:
            if m and m.group(1) == "ok" and SKIP.search(m.group(2)):
                self.skip("%s: %s" % (name, SKIP.sub("", m.group(2)).strip()), SKIP.search(m.group(2)).group(1))
        if good:
            self.ok(name, good)
        elif status == 0 and not bad:
            self.ok(name)
        if bad or status != 0:
            self.fail("%s: %s" % (name, "; ".join(bad) or "exit status %d" % status), output, max(1, len(bad)))

    def finish(self):
        print()
        for name, used, budget in self.stages:
            print("%-12s %5.0f s of %5d s" % (name, used, budget))
        for failure in self.failures:
            print("failed: " + failure)
        if self.skipped:
            print("%d skipped" % self.skipped)
        print("%d passed, %d failed" % (self.passed, self.failed))
        return 1 if self.failed or not self.passed else 0
