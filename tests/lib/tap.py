# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Lines "ok NAME" and "not ok NAME", as tests/lib/report.py reads them."""
import sys
import traceback


class Tap:
    def __init__(self):
        self.failed = 0

    def ok(self, name, good, why=""):
        print("%s %s" % ("ok" if good else "not ok", name), flush=True)
        if not good:
            self.failed += 1
            for line in str(why).splitlines()[:20]:
                print("  " + line)
        return good

    def same(self, name, got, want):
        return self.ok(name, got == want, "%r instead of %r" % (got, want))

    def run(self, name, work):
        """A piece of a test; what it raises is a failure of its own, and the next piece runs."""
        try:
            return work()
        except Exception:
            self.ok(name, False, traceback.format_exc())

    def done(self):
        """Within the server's block: a failure shows the log."""
        if self.failed:
            raise RuntimeError("%d failed" % self.failed)


def quiet_exit(kind, value, trace):
    """The failures have been shown already."""
    if kind is RuntimeError:
        print(value)
    else:
        sys.__excepthook__(kind, value, trace)


sys.excepthook = quiet_exit
