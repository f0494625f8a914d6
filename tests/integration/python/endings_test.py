#!/usr/bin/env python3
"""Sixty random endings of runs: the daemon shows of each run what its ranks' ledger has.

    ENDINGS_SEEDS=17,20-25 python3 tests/integration/python/harness.py endings_test.py Endings

runs others than those below, whichever test is named.
"""
import unittest

from endings_case import EndingsCase, seeds_of


class Endings(EndingsCase):
    def test_of_the_built_in_trainer(self):
        self.search(seeds_of("built-in"))

    def test_of_plain_scripts(self):
        self.search(seeds_of("script"))

    def test_of_lightning_and_accelerate(self):
        self.need_frameworks()
        self.search(seeds_of("lightning", "accelerate"))


if __name__ == "__main__":
    unittest.main()
