#!/usr/bin/env python3
"""Three of the twelve runs of combinations_case.py, and the check that the twelve cover all pairs. combinations_soak_test.py has the others."""
import unittest

import chaos_net
from combinations_case import COMBINATIONS, CombinationCase, missing_pairs


class CombinationTable(unittest.TestCase):
    def test_each_pair_of_values_occurs(self):
        self.assertEqual(len(COMBINATIONS), 12)
        self.assertEqual(missing_pairs(COMBINATIONS), [])
        wanted = ({2, 4, 8}, {1, 2, 3}, {"trainer", "steps", "micro"}, {"apart", "beside"}, {"slow", "fast"}, {"row", "request"}, {1, 3},
                  {False, True}, {False, True})
        self.assertEqual(tuple(set(values) for values in zip(*(one.factors() for one in COMBINATIONS))), wanted)
        self.assertTrue(missing_pairs(COMBINATIONS[1:]), "no row is superfluous")


class Combinations(CombinationCase):
    def test_1_is_as_on_one_node(self):
        self.check(1)

    def test_2_is_as_on_one_node(self):
        self.check(2)

    def test_3_is_as_on_one_node(self):
        self.check(3)


if __name__ == "__main__":
    chaos_net.enter_own_network()
    unittest.main()
