#!/usr/bin/env python3
"""Faults of a run's processes, disk and nodes do not change its rows, weights and hash.

Runs five seeds; CHAOS_SEED=N runs another one. chaos_soak_test.py runs two hundred.
"""
import os
import unittest

import chaos_net
from chaos_case import ChaosCase, plan_faults
from poll import wait_for


class Chaos(ChaosCase):
    def test_five_seeds_change_no_row_and_no_weight(self):
        whole = self.undisturbed()
        wish = os.environ.get("CHAOS_SEED")
        for seed in [int(wish)] if wish else range(1, 6):
            faults = plan_faults(seed, len(whole[0]))
            with self.subTest(seed=seed, faults="; ".join(map(str, faults))):
                self.disturbed(faults, whole)
        self.cli("down")
        wait_for(lambda: f"no process is left, but {self.processes()}", lambda: not self.processes(), 20)


class ChaosOfNodes(ChaosCase):
    """The second rank is on another node; in the undisturbed run it is on the head's machine."""
    options = ("--set", "train.nodes=2")

    def test_three_seeds_change_no_row_and_no_weight(self):
        whole = self.undisturbed()
        wish = os.environ.get("CHAOS_SEED")
        for seed in [int(wish)] if wish else range(1, 4):
            faults = plan_faults(seed, len(whole[0]))
            with self.subTest(seed=seed, faults="; ".join(map(str, faults))):
                self.disturbed(faults, whole)
        self.cli("down")
        wait_for(lambda: f"no process is left, but {self.processes()}", lambda: not self.processes(), 20)


if __name__ == "__main__":
    chaos_net.enter_own_network()
    unittest.main()
