"""Tests of millrace-loader in a directory of their own. Import it before the wheels of packaging/setup --tests, which it puts
on the path."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPS = Path(os.environ.get("MILLRACE_DEPS_DIR", ROOT / ".deps"))
for wheels in ("test-wheels", "wheels"):
    sys.path.append(str(DEPS / wheels))

LOADER = Path(os.environ.get("MILLRACE_BIN_DIR", ROOT / "build/release/bin")) / "millrace-loader"


class LoaderCase(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def run_loader(self, *words, code=0, stdin=None):
        """`code`: the exit code that it must have; None: any."""
        done = subprocess.run([LOADER, *words], cwd=self.place, capture_output=True, text=True, timeout=60, input=stdin,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.place / "cache")})
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        return done

    def stream(self, spec, *more, code=0):
        """Streams a spec of which only the parts that matter are given."""
        stub = {"label": "k % 2 = 1", "command": ["x"], "batch": {"rows": 8, "micro_rows": 4, "shuffle": "none", "order": "as_is"}}
        (self.place / "s.yaml").write_text(json.dumps({**stub, **spec}))
        return self.run_loader("stream", "s.yaml", *more, code=code)


def put_rows(client, path, key, first):
    """600 rows from number `first` on, as object `key` of the bucket "lake"; `path`: where the file is made."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    rows = range(first, first + 600)
    table = pa.table({"user": pa.array([r % 37 for r in rows], pa.int64()),
                      "value": pa.array([r / 3 for r in rows], pa.float64()),
                      "label": pa.array([r % 2 for r in rows], pa.int32())})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=200)
    client.upload_file(str(path), "lake", key, ExtraArgs={"ACL": "public-read"})
