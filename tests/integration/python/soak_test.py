#!/usr/bin/env python3
"""Long tests: kills with twenty seeds, the example under torchrun."""
import os
import unittest

from example_test import Runs
from launch_test import Ranks


class KillsSoak(Ranks):
    def test_kill_of_a_rank_or_the_feed_at_twenty_seeds(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                self.kill_and_resume(seed)
                os.unlink(os.path.join(self.folder, "state"))


class ExampleSoak(Runs):
    def test_the_example_under_torchrun(self):
        self.run_example("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


if __name__ == "__main__":
    unittest.main()
