#!/usr/bin/env python3
"""Two hundred seeds of chaos_test.py, and the table of their results (docs/reliability.md).

    CHAOS_SEEDS=6-205 harness.py chaos_soak_test.py        these seeds; a seed takes about 20 s

ChaosSoakElsewhere: the same with a head that does not train. Both ranks are on nodes, one on each, which share no directory with the head.

ChaosSoakRoles: a hundred seeds of faults of four nodes, two at a time (chaos_roles_case.py).
"""
import collections
import os
import statistics
import sys
import unittest

import chaos_net
from chaos_case import ChaosCase, plan_faults
from chaos_roles_case import RolesCase, plan_pairs
from poll import wait_for


class SoakCase(ChaosCase):
    plan = staticmethod(plan_faults)
    seeds = "6-205"

    def run_seeds(self):
        first, last = map(int, os.environ.get("CHAOS_SEEDS", self.seeds).split("-"))
        whole = self.undisturbed()
        seconds, missed, attempts, failed = collections.defaultdict(list), 0, [], []
        for seed in range(first, last + 1):
            faults = self.plan(seed, len(whole[0]))
            told = "as undisturbed"
            try:
                ended = self.disturbed(faults, whole)
                attempts.append(ended["attempt"])
                told += f", attempt {ended['attempt']}{self.figures(ended)}"
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

    def figures(self, ended):
        """Words about a run that ended as the undisturbed one, for its line."""
        return ""


class ChaosSoak(SoakCase):
    def test_two_hundred_seeds_change_no_row_and_no_weight(self):
        self.run_seeds()


class ChaosSoakElsewhere(SoakCase):
    """Nodes hand over rank 0's checkpoints, and fetch one for each resume."""
    head_options = ("--no-train-here",)
    options = ("--set", "train.nodes=2")

    def test_two_hundred_seeds_change_no_row_and_no_weight(self):
        self.run_seeds()


class ChaosSoakRoles(RolesCase, SoakCase):
    plan = staticmethod(plan_pairs)
    seeds = "4-103"

    def test_a_hundred_seeds_change_no_row_and_no_weight(self):
        self.run_seeds()

    def figures(self, ended):
        workers = ended["receipt"]["data_workers"]
        return f", {workers['direct_bytes'] / 1e6:.1f} MB straight to the second rank, {workers['carried_bytes'] / 1e6:.1f} MB through the leading feed"


if __name__ == "__main__":
    chaos_net.enter_own_network()
    unittest.main()
