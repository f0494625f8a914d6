#!/usr/bin/env python3
"""The reference page equals the docstrings, every public name has one, and the module is typed."""
import inspect
import os
import subprocess
import sys
import unittest

from harness import ROOT

import millrace


class Reference(unittest.TestCase):
    def test_the_page_is_made_of_the_docstrings(self):
        made = subprocess.run([sys.executable, os.path.join(ROOT, "app/python/reference.py")], capture_output=True,
                              text=True, check=True).stdout
        with open(os.path.join(ROOT, "docs/reference/python.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), made, "run app/python/reference.py > docs/reference/python.md")

    def test_every_public_name_says_what_it_is(self):
        for name in millrace.__all__:
            value = getattr(millrace, name)
            if not name.startswith("_"):
                self.assertTrue(inspect.getdoc(value), name)

    def test_every_public_function_is_typed(self):
        for name in millrace.__all__:
            value = getattr(millrace, name)
            functions = [value] if inspect.isfunction(value) else \
                [one for key, one in vars(value).items() if inspect.isfunction(one) and not key.startswith("_")] \
                if inspect.isclass(value) else []
            for function in functions:
                signature = inspect.signature(function)
                untyped = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
                self.assertEqual((untyped, signature.return_annotation is inspect.Signature.empty), ([], False),
                                 function.__qualname__)


if __name__ == "__main__":
    unittest.main()
