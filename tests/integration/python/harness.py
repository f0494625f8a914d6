#!/usr/bin/env python3
"""Shared by the tests of `import millrace`: their environment, a small dataset, child processes, a check that nothing is left behind.

    harness.py FILE [SUITE.TEST]

runs a file of tests in an environment with the module, NumPy, pyarrow and torch; only gpu_test.py sees CUDA.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
DEPS = os.environ.get("MILLRACE_DEPS_DIR", os.path.join(ROOT, ".deps"))
BIN = os.environ.get("MILLRACE_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
LIBRARY = os.environ.get("MILLRACE_FEED_LIBRARY", os.path.join(ROOT, "build/release/lib/libmillrace_feed.so"))
FRAMEWORKS = os.path.join(DEPS, "framework-wheels")  # of packaging/framework-deps.lock; environment() leaves it out
MOVIELENS = os.path.join(ROOT, "resources/examples/movielens/movielens.yaml")
sys.path.insert(0, os.path.join(ROOT, "tests/support"))


def environment(**more):
    """The environment variables of the tests and their child processes."""
    wheels = os.path.join(DEPS, "python-wheels")
    libraries = sorted(glob.glob(os.path.join(wheels, "nvidia/*/lib")))
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("TORCHELASTIC_", "MILLRACE_", "MASTER_")) and name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return {**kept, "MILLRACE_BIN_DIR": BIN, "MILLRACE_FEED_LIBRARY": LIBRARY, "MILLRACE_DEPS_DIR": DEPS,
            "MILLRACE_CLOCK_SHIFT": os.environ.get("MILLRACE_CLOCK_SHIFT", os.path.join(BIN, "../tests/integration/python/libclock_shift.so")),
            "PYTHONPATH": os.pathsep.join([os.path.join(ROOT, "app/python"), HERE, os.path.join(ROOT, "tests/support"),
                                           wheels, os.path.join(DEPS, "wheels")]),
            "LD_LIBRARY_PATH": os.pathsep.join(libraries), "PYTHONDONTWRITEBYTECODE": "",
            "OMP_NUM_THREADS": "1", **more}


SPEC = """
name: small
dataset: {path: rows.csv, csv_split_rows: %(split)d}
recipe:
  - filter: x is not null
labels: {liked: "y > 0"}
features:
  dense: [x]
  ids: [user]
  lists: [tags]
  carry: [number, word]
embeddings: {user: {rows: 1024}, tags: {rows: 256}}
batch: {rows: %(rows)d, micro_rows: %(micro)d, epochs: %(epochs)d, seed: 3, shuffle: rows}
"""


def write_dataset(folder, total=1000, rows=64, micro=16, epochs=2, split=100, more=""):
    """Writes rows.csv with `total` rows, which `number` counts, and spec.yaml; returns the spec's path."""
    with open(os.path.join(folder, "rows.csv"), "w", encoding="utf-8") as file:
        file.write("number,user,x,y,tags,word\n")
        for n in range(total):
            tags = "|".join(str((n * 7 + k) % 200) for k in range(n % 4))
            file.write(f"{n},{n * 31 % 997},{n / 8},{n % 3 - 1},{tags},w{n}\n")
    path = os.path.join(folder, "spec.yaml")
    text = SPEC % {"split": split, "rows": rows, "micro": micro, "epochs": epochs}
    text = text.replace("  - filter: x is not null\n", "  - filter: x is not null\n  - derive: {tags: \"split(tags, '|')\"}\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + more)
    return path


class Case(unittest.TestCase):
    """A test with its own directory, which also has the feeds' sockets."""

    def setUp(self):
        # Short: a socket's path has 108 bytes.
        self.folder = tempfile.mkdtemp(prefix="mr-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.sockets = os.path.join(self.folder, "run")
        os.mkdir(self.sockets, 0o700)
        os.environ["XDG_RUNTIME_DIR"] = self.sockets
        os.environ["XDG_CACHE_HOME"] = os.path.join(self.folder, "cache")

    def spec(self, **how):
        """A dataset's spec in this test's directory."""
        return write_dataset(self.folder, **how)

    def left_behind(self):
        """Millrace processes with this test's directory in their command line, and files beside the sockets."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if any(self.folder.encode() in word for word in words) and b"millrace" in words[0]:
                found.append(b" ".join(words).decode(errors="replace"))
        for base in glob.glob(os.path.join(self.sockets, "millrace-*")):
            found += [os.path.join(base, name) for name in os.listdir(base)]
        return found

    def assert_nothing_left(self, seconds=2):
        """Waits until nothing is left, not even files of a killed process."""
        from poll import wait_for
        wait_for(lambda: f"nothing is left, but there is {self.left_behind()}", lambda: not self.left_behind(), seconds)

    def script(self, text, name="script.py"):
        """A script in this test's directory."""
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return path

    def run_script(self, text, *arguments, timeout=120, **more):
        """Runs a script to its end; returns the completed process with its output."""
        return subprocess.run([sys.executable, self.script(text), *arguments], capture_output=True, text=True,
                              timeout=timeout, check=False, env={**os.environ, **more})


def streamed(spec, *options):
    """The JSON that `millrace-loader stream` prints for a spec."""
    done = subprocess.run([os.path.join(BIN, "millrace-loader"), "stream", spec, "--json", *options],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main():
    """Runs the tests of a file in the environment that they need."""
    arguments = [sys.executable, os.path.join(HERE, sys.argv[1]), *sys.argv[2:]]
    shown = {"CUDA_VISIBLE_DEVICES": ""}
    if sys.argv[1] == "gpu_test.py":
        shown = {name: os.environ[name] for name in shown if name in os.environ}
    os.execve(sys.executable, arguments, environment(**shown))


if __name__ == "__main__":
    main()
