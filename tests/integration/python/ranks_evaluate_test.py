#!/usr/bin/env python3
"""millrace.evaluate() in several ranks under torchrun gives the figures of one rank, to the last digit."""
import json
import os
import subprocess
import sys
import unittest

import torch
from harness import MOVIELENS, Case

import millrace

SCRIPT = """
    import json, os, sys
    import torch, torch.distributed as dist
    import millrace
    spec, out, how = sys.argv[1:4]
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    if how != "no-group":
        dist.init_process_group("gloo")

    def predict(batch):
        if how == "fails" and rank == 1:
            raise ValueError("no such layer")
        return torch.sigmoid((batch["dense"].double().nan_to_num() * torch.tensor([1e-3, -2e-2, 0.3])).sum(1))

    try:
        figures = millrace.evaluate(predict, spec)
        said = [dict(figures), figures.hash, figures.rows]
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    with open(f"{out}.{rank}", "w") as file:
        json.dump(said, file)
    if how != "no-group":
        dist.destroy_process_group()
"""


class Ranks(Case):
    def said(self, world, how=""):
        """What each rank wrote."""
        out = os.path.join(self.folder, "out")
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world),
                               self.script(SCRIPT), MOVIELENS, out, how], capture_output=True, text=True, timeout=150, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = []
        for rank in range(world):
            with open(f"{out}.{rank}", encoding="utf-8") as file:
                said.append(json.load(file))
        self.assert_nothing_left(5)
        return said

    def test_two_ranks_say_what_one_says(self):
        def predict(batch):
            self.assertFalse(torch.is_grad_enabled())
            return torch.sigmoid((batch["dense"].double().nan_to_num() * torch.tensor([1e-3, -2e-2, 0.3])).sum(1))

        alone = millrace.evaluate(predict, MOVIELENS)
        self.assertTrue(0.3 < alone["eval.auc"] < 0.7, alone)
        self.assertEqual(self.said(2), [[dict(alone), alone.hash, alone.rows]] * 2)

    def test_a_rank_that_fails_is_named_to_the_others(self):
        self.assertEqual(self.said(2, "fails"), ["MillraceError: the evaluation failed in rank 1: ValueError: no such layer",
                                                 "ValueError: no such layer"])

    def test_without_a_process_group_it_says_what_to_call(self):
        for said in self.said(2, "no-group"):
            self.assertIn("call init_process_group before evaluate()", said)


if __name__ == "__main__":
    unittest.main()
