#!/usr/bin/env python3
"""A head that does not train, with three nodes: killed at random moments, and each node's power cut once."""
import os
import random
import unittest

from elsewhere_test import TWO_DATA, ElsewhereCase
from poll import pause, wait_for
from run_harness import SCRIPT
from spread_test import NODES

THIRD = "node3"
ALL = (*NODES, THIRD)
KILLS = 20
# About a minute, which is longer than all kills take.
SLOW = SCRIPT.replace("    if stream.checkpoint_due:", "    poll.pause(0.1)\n    if stream.checkpoint_due:")


class ElsewhereSoak(ElsewhereCase):
    nodes = ALL

    def begin(self):
        self.head()
        for node in ALL:
            self.agent(node)
        self.await_nodes(*ALL)

    def start_slow(self, *more):
        spec = self.prepare(SLOW, total=20000, more=TWO_DATA, every=40)
        run = self.submit(spec, *more)[0]
        wait_for("it trains", lambda: (self.show(run)["progress"]["step"] or 0) > 0, 60)
        self.assert_elsewhere(run)
        return spec, run

    def test_the_head_is_killed_at_20_random_moments(self):
        chance = random.Random(38)
        spec, run = self.start_slow()
        for _ in range(KILLS):
            pause(chance.random() * 1.5)
            self.kill_head()
            pause(chance.random() * 0.5)
            self.head()
        step = self.steps_told(0)[-1]
        ended = self.assert_whole(run, spec, 1)
        self.assertLess(step, ended["progress"]["step"])
        print(f"{KILLS} kills by step {step} of {ended['progress']['step']}")

    def test_each_nodes_power_is_cut_once(self):
        spec, run = self.start_slow("--set", "train.nodes=2")
        for node in ALL:
            before = self.show(run)["progress"]["step"]
            self.lose(node)
            self.await_nodes(node, state="lost")
            wait_for("it trains on", lambda step=before: (self.show(run)["progress"]["step"] or 0) > step + 20, 60)
            self.agent(node)
            self.await_nodes(node)
        ended = self.assert_whole(run, spec)
        print(f"attempt {ended['attempt']}, {ended['restarts']} restarts")
        self.assertEqual(ended["restarts"], 0, self.history(run))


if __name__ == "__main__":
    unittest.main()
