# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a test in JavaScript against a server of its own, which it can ask to be restarted or killed."""
import os
import subprocess

from server import SOURCE, Server


def run(script):
    tools = os.environ.get("KS_TOOLS", os.path.join(SOURCE, "build", "tools"))
    with Server() as server:
        env = dict(os.environ, KUBECONFIG=server.kubeconfig, KS_TOOLS=tools)
        node = subprocess.Popen(["node", script], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            status = follow(node, {"restart": server.restart, "kill": lambda: (server.kill(), server.start())})
        finally:
            node.kill()
        if status:
            raise RuntimeError("node: exit status %d" % status)


def follow(node, wishes):
    """What it prints, until it ends; a line "please WISH" is done and answered."""
    for line in node.stdout:
        if line.startswith("please "):
            wishes[line.split()[1]]()
            node.stdin.write("done\n")
            node.stdin.flush()
        else:
            print(line, end="", flush=True)
    return node.wait(10)
