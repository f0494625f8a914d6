#!/usr/bin/env python3
"""The example: its result, and how little it differs from plain PyTorch."""
import os
import re
import subprocess
import sys
import unittest

from harness import ROOT, Case, MOVIELENS, streamed

EXAMPLE = os.path.join(ROOT, "resources/examples/pytorch")


class Runs(Case):
    def run_example(self, *launcher):
        path = os.path.join(self.folder, "model.pt")
        done = subprocess.run([sys.executable, *launcher, os.path.join(EXAMPLE, "train.py"), "--checkpoint", path],
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = dict(re.findall(r"^(order hash|AUC) (\S+)$", done.stdout, re.M))
        self.assertEqual(said["order hash"], streamed(MOVIELENS, "--last", "drop")["order_hash"])
        self.assertGreaterEqual(float(said["AUC"]), 0.79)
        # Its last checkpoint is at step 400 of 471; a run from there ends with the same order hash.
        again = subprocess.run([sys.executable, *launcher, os.path.join(EXAMPLE, "train.py"), "--checkpoint", path],
                               capture_output=True, text=True, timeout=600, check=False)
        self.assertIn(f"order hash {said['order hash']}", again.stdout, again.stderr)
        self.assert_nothing_left(5)


class Example(Runs):
    def test_the_example_trains(self):
        self.run_example()

    def test_it_differs_from_plain_pytorch_in_few_lines(self):
        done = subprocess.run(["git", "diff", "--no-index", "--numstat", "train_plain.py", "train.py"], cwd=EXAMPLE,
                              capture_output=True, text=True, check=False)
        added, removed = map(int, done.stdout.split()[:2])
        self.assertTrue(0 < added <= 15 and 0 < removed <= 15, done.stdout)


if __name__ == "__main__":
    unittest.main()
