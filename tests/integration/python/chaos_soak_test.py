#!/usr/bin/env python3
"""Two hundred seeds of chaos_test.py, and the table of their results (docs/reliability.md).

    CHAOS_SEEDS=6-205 harness.py chaos_soak_test.py        these seeds; a seed takes about 20 s

ChaosSoakElsewhere: the same with a head that does not train. Both ranks are on nodes, one on each, which share no directory with the head.
"""
import collections
import os
import statistics
import sys
import unittest

import chaos_net
from chaos_case import ChaosCase, plan_faults
from poll import wait_for


class ChaosSoak(ChaosCase):
    def test_two_hundred_seeds_change_no_row_and_no_weight(self):
        first, last = map(int, os.environ.get("CHAOS_SEEDS", "6-205").split("-"))
        whole = self.undisturbed()
        seconds, missed, attempts, failed = collections.defaultdict(list), 0, [], []
        for seed in range(first, last + 1):
            faults = plan_faults(seed, len(whole[0]))
            told = "as undisturbed"
            try:
                attempts.append(self.disturbed(faults, whole)["attempt"])
            except AssertionError as error:
                failed.append(seed)
                told = f"FAILED: {error}"
            for fault in faults:
                if fault.recovered is None:
                    missed += 1
                else:
                    seconds[fault.kind, fault.who].append(fault.recovered)
            print(f"seed {seed}: {'; '.join(map(str, faults))}: {told}", file=sys.stderr, flush=True)
        print("| what | times | the run gets on after, s: median | worst |\n|---|---|---|---|")
        for (kind, who), took in sorted(seconds.items()):
            print(f"| {kind} {who} | {len(took)} | {statistics.median(took):.1f} | {max(took):.1f} |")
        print(f"\nseeds {first} to {last}, failed: {failed or 'none'}; attempts a run: {statistics.mean(attempts):.1f}; "
              f"without effect (the run had ended, or there was no such process): {missed}", flush=True)
        self.assertEqual(failed, [])
        self.cli("down")
        wait_for(lambda: f"no process is left, but {self.processes()}", lambda: not self.processes(), 20)


class ChaosSoakElsewhere(ChaosSoak):
    """Nodes hand over rank 0's checkpoints, and fetch one for each resume."""
    head_options = ("--no-train-here",)
    options = ("--set", "train.nodes=2")

    def test_two_hundred_seeds_change_no_row_and_no_weight(self):  # CMake lists the tests that a class defines itself
        super().test_two_hundred_seeds_change_no_row_and_no_weight()


if __name__ == "__main__":
    chaos_net.enter_own_network()
    unittest.main()
