#!/usr/bin/env python3
"""Nodes whose clocks are an hour off: no node is lost, the worker that failed first is named, times are the head's."""
import os
import signal
import subprocess
import time
import unittest
from datetime import datetime

from harness import BIN
from poll import wait_for
from spread_test import SpreadCase

SHIFT_LIBRARY = os.environ["MILLRACE_CLOCK_SHIFT"]


class ClocksOff(SpreadCase):
    listen = "127.0.0.1"  # over TLS, because certificates have dates too
    shifts = {"node1": 3600, "node2": -3600}

    def agent(self, name):
        join = os.path.join(self.folder, "state", "millrace", "nodes.join")
        subprocess.run([os.path.join(BIN, "millraced"), "--slot", "--join", join, "--name", name, "--state-dir", os.path.join(self.folder, name)],
                       check=True, capture_output=True, timeout=60,
                       env={**os.environ, "LD_PRELOAD": SHIFT_LIBRARY, "MILLRACE_CLOCK_SHIFT_S": str(self.shifts[name])})

    def assert_off(self, node):
        """Checks the time in its agent's log, to see that the shift works."""
        with open(os.path.join(self.folder, node, "millraced.log"), encoding="utf-8") as file:
            told = datetime.fromisoformat(file.readline().split()[0].replace("Z", "+00:00")).timestamp()
        self.assertAlmostEqual(told - time.time(), self.shifts[node], delta=300)

    def test_ranks_and_data_workers_of_nodes_an_hour_off(self):
        for node in self.shifts:
            self.assert_off(node)
        spec = self.prepare(total=2000, more="resources: {data_workers: {min: 2, max: 2}, loader_threads: 1}\n")
        run = self.start(spec)
        began = time.time()
        os.kill(self.pid_of(1), signal.SIGKILL)
        wait_for("the next attempt", lambda: [line for line in self.told(1) if "begun" in line][1:])
        self.release()
        ended = self.assert_whole(run, spec, 2)
        history = self.history(run)
        self.assertIn("attempt 1 failed: rank1 was ended by SIGKILL", history)
        self.assertNotIn("is lost", history)
        self.assertEqual({one["name"]: one["state"] for one in self.json("nodes")["nodes"] if one["name"] in self.shifts},
                         {"node1": "attached", "node2": "attached"})
        for event in ended["events"]:
            at = datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
            self.assertTrue(began - 60 < at < time.time() + 60, event)
        self.assertIn("goes on again: noticed after", history)


if __name__ == "__main__":
    unittest.main()
