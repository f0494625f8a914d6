#!/usr/bin/env python3
"""Faults of a run's processes, disk and nodes do not change its rows, weights and hash.

CHAOS_SEED=N runs another seed. chaos_soak_test.py runs hundreds.
"""
import os
import unittest

import chaos_net
from chaos_case import ChaosCase, plan_faults
from chaos_roles_case import RolesCase, plan_pairs
from poll import wait_for


class ChaosOf(ChaosCase):
    def run_seeds(self, seeds, plan):
        whole = self.undisturbed()
        wish = os.environ.get("CHAOS_SEED")
        for seed in [int(wish)] if wish else seeds:
            faults = plan(seed, len(whole[0]))
            with self.subTest(seed=seed, faults="; ".join(map(str, faults))):
                self.disturbed(faults, whole)
        self.cli("down")
        wait_for(lambda: f"no process is left, but {self.processes()}", lambda: not self.processes(), 20)


class Chaos(ChaosOf):
    def test_two_seeds_change_no_row_and_no_weight(self):
        self.run_seeds(range(1, 3), plan_faults)


class ChaosOfNodes(ChaosOf):
    """The second rank is on another node; in the undisturbed run it is on the head's machine."""
    options = ("--set", "train.nodes=2")

    def test_a_seed_changes_no_row_and_no_weight(self):
        self.run_seeds([1], plan_faults)


class ChaosOfRoles(RolesCase, ChaosOf):
    """Four nodes, cuts of one direction, and two faults at a time."""

    def test_three_seeds_change_no_row_and_no_weight(self):
        self.run_seeds(range(1, 4), plan_pairs)


if __name__ == "__main__":
    chaos_net.enter_own_network()
    unittest.main()
