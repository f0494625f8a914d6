#!/usr/bin/env python3
"""The example script with its ranks on two nodes of one machine: DDP and evaluation over both, a stop, and one node again."""
import unittest

from harness import streamed
from poll import wait_for
from spread_test import NODES, TWO, SpreadCase


class SpreadTorch(SpreadCase):
    listen = "127.0.0.1"

    def setUp(self):
        super().setUp()
        self.spec_file = self.copy_example()

    def start_example(self, *more):
        return self.submit(self.spec_file, *TWO, "--set", "resources.loader_threads=1", *more)[0]

    def finish(self, run):
        ended = self.wait(run, "finished", "failed", "cancelled", seconds=150)
        self.assertEqual(ended["state"], "finished", (ended["exit_reason"], [event["text"] for event in ended["events"]]))
        self.assertEqual(ended["receipt"]["order_hash"], streamed(self.spec_file, "--last", "drop")["order_hash"])
        return ended

    def test_two_nodes_train_and_evaluate_as_one_and_with_data_workers(self):
        run = self.start_example("--set", "resources.data_workers={min: 2, max: 2}")
        wait_for("it trains", lambda: self.show(run)["progress"]["step"] > 0, 90)
        self.assertIn(self.node_of(run), NODES)
        ended = self.finish(run)
        self.assertEqual(ended["attempt"], 1, [event["text"] for event in ended["events"]])
        self.assertGreaterEqual(ended["metrics"]["eval.auc"], 0.78)

    def test_it_stops_on_two_nodes_and_goes_on_on_one(self):
        run = self.start_example()
        wait_for("it trains", lambda: self.show(run)["progress"]["step"] > 20, 90)
        self.cli("stop", run)
        stopped = self.wait(run, "cancelled", "failed", "finished", seconds=60)
        self.assertEqual(stopped["state"], "cancelled", (stopped["exit_reason"], [event["text"] for event in stopped["events"]]))
        self.assertEqual(stopped["checkpoints"][-1]["step"], stopped["progress"]["step"])
        self.cli("resume", run, "--nodes", "1")
        self.finish(run)


if __name__ == "__main__":
    unittest.main()
