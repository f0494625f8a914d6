#!/usr/bin/env python3
"""Nodes with separate join files: real processes over TLS on loopback; one node is forgotten while it trains."""
import os
import subprocess
import unittest

from harness import BIN
from poll import is_gone, wait_for
from spread_test import NODES, SpreadCase


class Invited(SpreadCase):
    listen = "127.0.0.1"

    def begin(self):
        self.head()
        for node in NODES:
            self.invite(node)
            self.agent(node)
        self.await_nodes(*NODES)

    def join_file(self, node):
        return os.path.join(self.folder, node + ".join")

    def invite(self, node):
        self.cli("nodes", "invite", node, "-o", self.join_file(node), "--force")

    def agent_command(self, name, *more):
        return [os.path.join(BIN, "millraced"), "--slot", "--join", self.join_file(name), "--state-dir", os.path.join(self.folder, name), *more]

    def refusal(self, *arguments):
        ended = subprocess.run([*self.agent_command(*arguments), "--foreground"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 4, ended.stderr)
        return ended.stderr

    def test_a_join_file_is_a_secret_without_the_heads_key(self):
        self.assertEqual(os.stat(self.join_file("node1")).st_mode & 0o777, 0o600)
        for path in (self.join_file("node1"), os.path.join(self.folder, "state/millrace/nodes.join")):
            with open(path, encoding="utf-8") as file:
                self.assertNotIn("PRIVATE KEY", file.read())
        printed = self.json("nodes", "invite", "node9")
        self.assertEqual(printed["node"], "node9")
        self.assertIn('"token"', printed["join_file"])

    def test_the_heads_own_name_is_no_other_nodes(self):
        own = next(node["name"] for node in self.json("nodes")["nodes"] if node["head"])
        for command in ("invite", "forget"):
            self.cli("nodes", command, own, code=1)
            self.assertIn(f"node {own} is the head's own", self.err)

    def test_a_file_lets_in_under_its_own_name_only(self):
        self.invite("node9")
        self.assertIn("'node8'", self.refusal("node9", "--name", "node8"))

    def test_a_damaged_certificate_is_named_once(self):
        self.invite("node9")
        with open(self.join_file("node9"), "r+", encoding="utf-8") as file:
            text = file.read().replace("MII", "!!!")
            file.seek(0)
            file.write(text)
        started = subprocess.run(self.agent_command("node9"), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(started.returncode, 4, started.stderr)
        self.assertIn(f"{self.join_file('node9')}: its certificate is damaged", started.stderr)
        self.assertLess(self.refusal("node9").count("\n"), 10)

    def test_a_forgotten_nodes_work_starts_elsewhere_and_it_comes_in_no_more(self):
        spec = self.prepare(total=2000)
        run = self.start(spec, 13)
        node = self.node_of(run)
        agent = self.pids("--slot", self.join_file(node))[0]
        self.cli("nodes", "forget", node)
        wait_for("its agent ends", lambda: is_gone(agent), 30)
        wait_for("its name goes", lambda: node not in [one["name"] for one in self.json("nodes")["nodes"]], 30)
        self.assertEqual(self.pids(f"{self.folder}/{node}/"), [], "nothing of it is left")
        self.cli("nodes", "drain", node, "--wait", code=1)
        self.assertIn(f"unknown node '{node}'", self.err)
        self.assertIn("token", self.refusal(node))
        self.release()
        ended = self.assert_whole(run, spec, 2)
        self.assertEqual(ended["restarts"], 0)
        self.invite(node)
        self.agent(node)
        self.await_nodes(node)


if __name__ == "__main__":
    unittest.main()
