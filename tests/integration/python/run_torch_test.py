#!/usr/bin/env python3
"""The example script as runs: two ranks of DDP, variations, stops, kills; compared with the same file under torchrun."""
import os
import re
import signal
import subprocess
import sys
import unittest

from harness import streamed
from poll import wait_for
from run_harness import RunCase


class ScriptRuns(RunCase):
    def setUp(self):
        super().setUp()
        self.spec_file = self.copy_example()

    def edited(self, *changes):
        with open(self.spec_file, encoding="utf-8") as file:
            text = file.read()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        with open(self.spec_file, "w", encoding="utf-8") as file:
            file.write(text)
        return self.spec_file

    def test_the_example_finishes_with_its_variations_as_under_torchrun(self):
        runs = self.submit(self.spec_file, "--all-variations")
        self.assertEqual(len(runs), 3)
        ends = [self.wait(run, "finished", "failed", seconds=150) for run in runs]
        self.assertEqual([end["state"] for end in ends], 3 * ["finished"], [end["exit_reason"] for end in ends])
        for end, options in zip(ends, ([], ["--variation", "keep-30"], ["--variation", "since-1990"])):
            self.assertEqual(end["receipt"]["order_hash"],
                             streamed(self.spec_file, "--last", "drop", *options)["order_hash"])
        self.assertEqual(len({end["receipt"]["eval_order_hash"] for end in ends}), 1)
        compared = self.json("compare", *runs)
        self.assertTrue(compared["same_evaluation_rows"], compared.keys())
        for run in runs[1:]:  # the pairing compares row by row
            pair = compared["paired"]["runs"][run]
            self.assertEqual((pair["share"], pair["is_sample"]), (1, False), pair)
            self.assertAlmostEqual(pair["heads"]["liked"]["log_loss_difference"],
                                   next(end for end in ends if end["id"] == run)["metrics"]["eval.log_loss"]
                                   - ends[0]["metrics"]["eval.log_loss"], 5)
        auc = ends[0]["metrics"]["eval.auc"]
        self.assertGreaterEqual(auc, 0.78)
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone",
                               os.path.join(self.folder, "pytorch", "script.py")], capture_output=True, text=True,
                              timeout=150, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        said = dict(re.findall(r"^(order hash|AUC) (\S+)$", done.stdout, re.M))
        self.assertEqual(said["order hash"], ends[0]["receipt"]["order_hash"])
        self.assertAlmostEqual(float(said["AUC"]), auc, 3, "the same weights")

    def test_a_stop_a_resume_with_other_ranks_and_a_kill_lose_no_step(self):
        spec = self.edited(("every_steps: 100", "every_steps: 20"), ("epochs: 3", "epochs: 1"))
        run = self.submit(spec, "--set", "batch.micro_rows=64")[0]
        undisturbed = streamed(spec, "--last", "drop", "--set", "batch.micro_rows=64")
        wait_for("a checkpoint", lambda: self.show(run)["checkpoints"], step=0.1)
        self.cli("stop", run, "--wait")
        stopped = self.show(run)
        self.assertEqual(stopped["state"], "cancelled", stopped["exit_reason"])
        step = stopped["checkpoints"][-1]["step"]
        self.assertEqual(step, stopped["progress"]["step"], "the stop itself saved the step")
        self.cli("resume", run, "--ranks", "4")
        wait_for("it goes on", lambda: self.show(run)["checkpoints"][-1]["step"] > step, step=0.1)
        rank = next(worker["pid"] for worker in self.show(run)["workers"] if worker["name"] == "rank2")
        os.kill(rank, signal.SIGKILL)
        ended = self.wait(run, "finished", "failed", seconds=150)
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual(ended["receipt"]["order_hash"], undisturbed["order_hash"])
        self.assertEqual(ended["receipt"]["rows_trained"], undisturbed["rows_delivered"])
        self.assertEqual([step for step, _ in self.losses(run)], list(range(1, ended["progress"]["step"] + 1)))
        self.assertIn("goes on with 4 ranks; before: 2", [event["text"] for event in ended["events"]])
        self.assertEqual(ended["attempt"], 3)


if __name__ == "__main__":
    unittest.main()
