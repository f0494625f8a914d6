#!/usr/bin/env python3
"""Values that expressions make count against resources.memory_limit_mb: rows are computed in pieces that fit, the limit that
an error names is enough, and the loader names a row that does not fit alone."""
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from loader_case import LOADER, LoaderCase  # noqa: E402
try:
    import pyarrow as pa
    import pyarrow.parquet as pq
    MISSING = ""
except ImportError as error:
    MISSING = f"packaging/setup --tests was not run: {error}"
ROWS = 1000


@unittest.skipIf(MISSING, MISSING)
class TextsThatGrow(LoaderCase):
    def write(self, text):
        pq.write_table(pa.table({"k": range(ROWS), "s": [text(i) for i in range(ROWS)]}), self.place / "f.parquet",
                       compression="zstd")

    def run_loader(self, recipe, limit, *more, threads=1, question="stream"):
        (self.place / "s.yaml").write_text(json.dumps({
            "dataset": {"path": "f.parquet"}, "label": "k % 2 = 1", "recipe": recipe, "features": {"dense": ["z"]},
            "batch": {"rows": 8}, "command": ["true"], "resources": {"memory_limit_mb": limit, "loader_threads": threads}}))
        # Through a shell: the kernel would count the memory of this process, which has loaded pyarrow, as the peak of its
        # own child.
        command = ["sh", "-c", '"$0" "$@"; exit $?', LOADER, question, "s.yaml", *more]
        return subprocess.run(command, cwd=self.place, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.place / "cache")})

    def report(self, *arguments, **more):
        done = self.run_loader(*arguments, "--json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def least(self, recipe, **more):
        """The limit that the error names as enough."""
        done = self.run_loader(recipe, 64, **more)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        return int(re.search(r"too little; (\d+) are enough", done.stderr)[1])

    def test_the_least_is_enough_for_any_growth(self):
        self.write(lambda i: "%05d" % i * 1000)
        for copies in (1, 16, 64):
            recipe = [{"derive": {"t": f"concat({', '.join(['s'] * copies)})"}}, {"derive": {"z": "length(t)"}}]
            for threads in (1, 3):
                least = self.least(recipe, threads=threads)
                report = self.report(recipe, least, threads=threads)
                self.assertLess(report["peak_rss_mb"], least, (copies, threads))
                same = self.report([{"derive": {"z": f"{copies} * length(s)"}}], 1000)
                for what in ("rows_delivered", "order_hash", "checksum"):
                    self.assertEqual(report[what], same[what], (copies, threads, what))

    def test_texts_that_double_and_double(self):
        self.write(lambda i: "%05d" % i)
        for steps in (16, 18):
            recipe = [{"derive": {"s": "s || s"}}] * steps + [{"derive": {"z": "length(s)"}}]
            report = self.report(recipe, 200)
            self.assertLess(report["peak_rss_mb"], 200)
            same = self.report([{"derive": {"z": f"{2**steps} * length(s)"}}], 1000)
            self.assertEqual(report["checksum"], same["checksum"], steps)
        recipe.insert(-1, {"filter": "k < 10 and length(s) > 0"})
        done = self.run_loader(recipe, 200, "--json", question="count")
        self.assertEqual(json.loads(done.stdout)["rows"], 10, done.stderr)
        report = self.report(recipe, 250, "--rows", "--sink", "arrow", "--output", "out")
        self.assertEqual(report["rows_kept"], 10)
        self.assertLess(report["peak_rss_mb"], 250)

    def test_one_row_that_does_not_fit_is_named(self):
        self.write(lambda i: "x" * (20_000 if i == 723 else 5))
        recipe = [{"derive": {"s": "s || s"}}] * 14 + [{"derive": {"z": "length(s)"}}]
        done = self.run_loader(recipe, 200)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertRegex(done.stderr, r"f\.parquet: row 723: recipe\.derive\.s: .*; it needs a limit that is at least [0-9.]+ MB higher")


if __name__ == "__main__":
    unittest.main()
