#!/usr/bin/env python3
"""A head with 256 real agents on this machine: its cost at rest, and how soon all agents are back after the head was killed."""
import os
import signal
import subprocess
import time
import unittest

from harness import BIN
from poll import is_gone, pause, wait_for
from spread_test import SpreadCase

AGENTS = 256
REST_SECONDS = 30
TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class ManyNodes(SpreadCase):
    listen = "127.0.0.1"

    def begin(self):
        self.head()
        join = os.path.join(self.folder, "state", "millrace", "nodes.join")
        for number in range(AGENTS):
            name = f"node{number}"
            agent = subprocess.Popen([os.path.join(BIN, "millraced"), "--slot", "--foreground", "--join", join, "--name", name, "--state-dir",
                                      os.path.join(self.folder, name)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)

    def num_attached(self):
        return sum(node["state"] == "attached" for node in self.json("nodes")["nodes"] if node["name"].startswith("node"))

    def test_256_agents_cost_the_head_little_and_are_back_within_ten_seconds(self):
        began = time.monotonic()
        wait_for("all have come", lambda: self.num_attached() == AGENTS, 300)
        print(f"{AGENTS} agents came within {time.monotonic() - began:.1f} s of the last one's start")
        head = self.pids("--nodes-listen")[0]
        before = processor_seconds(head)
        pause(REST_SECONDS)
        share = (processor_seconds(head) - before) / REST_SECONDS
        print(f"at rest the head takes {100 * share:.1f} % of a core")
        self.assertEqual(self.num_attached(), AGENTS)
        self.assertLess(share, 0.2)
        os.kill(head, signal.SIGKILL)
        wait_for("it is gone", lambda: is_gone(head))
        self.head()
        began = time.monotonic()
        wait_for("all are back", lambda: self.num_attached() == AGENTS, 60)
        seconds = time.monotonic() - began
        print(f"after a restart of the head all are attached within {seconds:.1f} s")
        self.assertLess(seconds, 10)


if __name__ == "__main__":
    unittest.main()
