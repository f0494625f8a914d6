"""A test with its own daemon, in the test's directory; the daemon ends with the test."""
import os
import signal
import subprocess

from harness import BIN, Case

# A spec's sections for target_mean, which trains without torch: a smoothed mean of each user, in one epoch.
MEAN = """
model: {type: target_mean, keys: [user], smoothing: 5}
eval: {dataset: {where: "number % 5 = 0"}}
variations:
  - {name: small-batches, set: {batch.micro_rows: 8}}
  - {name: half, set: {dataset.where: "number % 2 = 0"}}
"""


class DaemonCase(Case):
    """A test with its own daemon. `self.spec(more=MEAN, epochs=1)` makes a spec that it can train without torch."""

    def setUp(self):
        super().setUp()
        os.environ["XDG_STATE_HOME"] = os.path.join(self.folder, "state")
        os.environ.pop("MILLRACE_HOST", None)
        self.cli("up")
        self.addCleanup(self.end_daemon)

    def cli(self, *arguments, code=0):
        """Runs `millrace ARGUMENTS` and returns its stdout."""
        done = subprocess.run([os.path.join(BIN, "millrace"), *arguments], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def end_daemon(self):
        """Runs `down`, and kills the processes that are left."""
        subprocess.run([os.path.join(BIN, "millrace"), "down"], capture_output=True, timeout=120, check=False)
        for pid, _ in self.ours():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def ours(self):
        """Pid and command of each Millrace process with this test's directory in its environment."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{name}/environ", "rb") as file:
                    variables = file.read()
            except OSError:
                continue
            if b"millrace" in os.path.basename(words[0]) and self.folder.encode() in variables:
                yield int(name), b" ".join(words).decode(errors="replace")
