# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""All tests in stages, each with a budget of time. Called by tests/run; tests/README.md explains it."""
import argparse
import concurrent.futures
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import workspace as ws  # noqa: E402
from report import Report  # noqa: E402
from server import Server  # noqa: E402

GCC = ws.Tree("gcc", "--enable-werror")
ASAN = ws.Tree("asan", "--enable-werror", "--enable-sanitizers", "--enable-static-plugins", CC="clang", CXX="clang++", CFLAGS="-O1 -g", CXXFLAGS="-O1 -g")
TSAN = ws.Tree("tsan", "--enable-werror", "--enable-thread-sanitizer", CC="clang", CXX="clang++", CFLAGS="-O1 -g", CXXFLAGS="-O1 -g")
# What has threads that share something.
THREADED = re.compile(r"loop|allocate|cache|plugins|host|store|net-server|rbac|lua|daemon")


class Run:
    def __init__(self, options):
        self.options, self.report = options, Report()
        self.pattern = re.compile(options.pattern)
        self.built = {}

    def wanted(self, name):
        return bool(self.pattern.search(name))

    def step(self, name, status, output):
        """One step of a stage, not a test: only its failure counts."""
        if status:
            self.report.fail(name, output)
        return status == 0

    def tree(self, tree):
        """Builds it once."""
        if tree.name not in self.built:
            self.built[tree.name] = self.step("build " + tree.name, *tree.build())
        return self.built[tree.name]

    def check(self, tree, choose):
        """`make check` of the programs that are chosen; each test in them counts."""
        if not self.tree(tree):
            return
        status, output = tree.make("-k", "check", "TESTS=", timeout=900)
        self.step("build of the tests (%s)" % tree.name, status, output)
        status, output = ws.run(["make", "-s", "-f", "Makefile", "--eval", "ks-print-tests: ; @echo $(TESTS)", "ks-print-tests"], cwd=tree.path)
        names = [n for n in output.split() if choose(n) and self.wanted(n)]
        bases = {name: re.sub(r"\.(sh|py|lua)$", "", name) for name in names}
        for path in [os.path.join(tree.path, base + end) for base in bases.values() for end in (".log", ".trs")]:
            if os.path.exists(path):
                os.unlink(path)
        # Each log needs its own program alone: one that can't be built keeps no other from running.
        status, output = tree.make("-k", *[base + ".log" for base in bases.values()], timeout=900)
        logs = tree.logs()
        for name, base in bases.items():
            if base in logs:
                self.report.program(name, *logs[base])
            else:
                self.report.fail(name, output)

    def integration(self, tree, prefix, timeout=300, at_once=1):
        """The scripts tests/integration/PREFIX-*, each against servers of its own, some of them at once."""
        env = tree.env(KEELSON_ROOT=tree.root, KS_TOOLS=ws.TOOLS, KS_TREE=tree.path, KS_NIGHTLY="1" if self.options.nightly else "")
        found = sorted(glob.glob(os.path.join(ws.SOURCE, "tests", "integration", prefix + "-*")))
        paths = [path for path in found if os.access(path, os.X_OK) and self.wanted(os.path.basename(path))]
        limit = timeout * (4 if self.options.nightly else 1)
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for path, done in zip(paths, pool.map(lambda path: ws.run([path], limit, env=env), paths)):
                self.report.program(os.path.basename(path), *done)

    def golden(self, tree):
        os.environ["KEELSON_ROOT"] = tree.root
        try:
            with Server() as server:
                for player in ("run", "mutate"):
                    command = [os.path.join(ws.SOURCE, "tests", "golden", player), "--server", server.url, "--token", server.token,
                               "--cafile", server.cafile, "--jobs", "8"]
                    self.report_golden("golden/%s (%s)" % (player, tree.name), *ws.run(command, 600))
        except RuntimeError as e:
            self.report.fail("golden", str(e))
        finally:
            os.environ.pop("KEELSON_ROOT")

    def report_golden(self, name, status, output):
        print("".join("     " + line for line in output.splitlines(True)), flush=True)
        last = re.search(r"(\d+) passed, (\d+) failed\s*$", output)
        if not last:
            self.report.fail(name, "exit status %d" % status)
            return
        if int(last.group(1)):
            self.report.ok(name, int(last.group(1)))
        if int(last.group(2)):
            self.report.fail(name + ": what passed before", "", int(last.group(2)))

    # -- the stages --------------------------------------------------------------------------------------------------

    def packages(self):
        if self.step("packages", *ws.install_packages()) and self.step("npm packages", *ws.install_node_packages()):
            self.report.ok("packages")

    def build(self):
        if self.tree(GCC):
            self.report.ok("build with gcc, -Werror")

    def unit(self):
        self.check(GCC, lambda name: not os.path.basename(name).startswith("fuzz-"))

    def corpora(self):
        self.check(GCC, lambda name: os.path.basename(name).startswith("fuzz-"))

    def abi(self):
        if self.tree(GCC):
            self.integration(GCC, "abi")

    def golden_stage(self):
        if self.tree(GCC):
            self.golden(GCC)

    def clients(self):
        if self.tree(GCC):
            self.integration(GCC, "client", at_once=ws.CORES)
            self.integration(GCC, "server")

    def sanitize(self):
        self.check(ASAN, lambda name: not name.startswith("tests/check"))
        if self.tree(ASAN) and self.wanted("golden"):
            self.golden(ASAN)

    def threads(self):
        self.check(TSAN, lambda name: THREADED.search(name))

    def dist(self):
        if not self.tree(GCC):
            return
        self.integration(GCC, "sdk")
        if self.wanted("distcheck"):
            status, output = GCC.make("distcheck", "DISTCHECK_CONFIGURE_FLAGS=--enable-werror", "AM_DISTCHECK_CONFIGURE_FLAGS=", timeout=900)
            if self.step("distcheck", status, output):
                self.report.ok("distcheck")

    def crash(self):
        if self.tree(GCC):
            self.integration(GCC, "crash")

    def nightly(self):
        if not self.options.nightly or not self.wanted("go-types") or not self.tree(GCC):
            return
        status, output = GCC.make("nightly-objects")
        if self.step("build of nightly-objects", status, output):
            path = os.path.join(ws.SOURCE, "tests", "nightly", "go-types")
            self.report.program("go-types", *ws.run([path, os.path.join(GCC.path, "nightly-objects"), os.path.join(ws.BUILD, "go-types")], 1500))

    STAGES = [
        ("packages", 270, packages), ("build", 180, build), ("unit", 120, unit), ("corpora", 30, corpora), ("abi", 30, abi),
        ("golden", 150, golden_stage), ("clients", 240, clients), ("sanitize", 360, sanitize), ("threads", 160, threads),
        ("dist", 200, dist), ("crash", 60, crash), ("nightly", 600, nightly),
    ]

    def run(self):
        for name, budget, stage in self.STAGES:
            if self.options.stage and name not in self.options.stage:
                continue
            self.report.begin(name, budget)
            stage(self)
            self.report.end()
        return self.report.finish()


def main():
    names = [name for name, _, _ in Run.STAGES]
    p = argparse.ArgumentParser(prog="tests/run", description="Stages: " + ", ".join(names))
    p.add_argument("--stage", action="append", choices=names, help="only this one; may be given several times")
    p.add_argument("--nightly", action="store_true", help="longer runs: more seeds, more crashes, more data")
    p.add_argument("pattern", nargs="?", default="", help="only tests whose name matches (regular expression)")
    options = p.parse_args()
    if options.nightly:
        os.environ["KS_NIGHTLY"] = "1"
    sys.exit(Run(options).run())


if __name__ == "__main__":
    main()
