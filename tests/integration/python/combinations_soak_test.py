#!/usr/bin/env python3
"""Nine of the twelve runs of combinations_case.py; combinations_test.py has the others."""
import unittest

import chaos_net
from combinations_case import CombinationCase


class CombinationsSoak(CombinationCase):
    def test_4_is_as_on_one_node(self):
        self.check(4)

    def test_5_is_as_on_one_node(self):
        self.check(5)

    def test_6_is_as_on_one_node(self):
        self.check(6)

    def test_7_is_as_on_one_node(self):
        self.check(7)

    def test_8_is_as_on_one_node(self):
        self.check(8)

    def test_9_is_as_on_one_node(self):
        self.check(9)

    def test_10_is_as_on_one_node(self):
        self.check(10)

    def test_11_is_as_on_one_node(self):
        self.check(11)

    def test_12_is_as_on_one_node(self):
        self.check(12)


if __name__ == "__main__":
    chaos_net.enter_own_network()
    unittest.main()
