#!/usr/bin/env python3
"""Whatever happens to a run's processes, disk and nodes: the rows, weights and hash are those of the undisturbed run.

Five seeds; CHAOS_SEED=N is another one. chaos_soak_test.py has two hundred.
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
    """The second rank is on one of the other nodes, which the undisturbed run's is not."""
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
