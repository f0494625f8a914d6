#!/usr/bin/env python3
"""A thousand random endings of runs."""
import unittest

from endings_case import EndingsCase, seeds_of


class EndingsSoak(EndingsCase):
    def test_a_thousand_endings(self):
        self.need_frameworks()
        self.search(seeds_of(seeds=range(1, 1001)))


if __name__ == "__main__":
    unittest.main()
