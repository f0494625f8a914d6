"""A test with a daemon of its own: in the test's directory, ended with it."""
import os
import signal
import subprocess

from harness import BIN, Case

# What the trainer's machine-independent baseline needs: a mean of each user, smoothed, in one epoch.
MEAN = """
model: {type: target_mean, keys: [user], smoothing: 5}
eval: {dataset: {where: "number % 5 = 0"}}
variations:
  - {name: small-batches, set: {batch.micro_rows: 8}}
  - {name: half, set: {dataset.where: "number % 2 = 0"}}
"""


class DaemonCase(Case):
    """See above. `self.spec(more=MEAN, epochs=1)` is one that it can train without torch."""

    def setUp(self):
        super().setUp()
        os.environ["XDG_STATE_HOME"] = os.path.join(self.folder, "state")
        os.environ.pop("MILLRACE_HOST", None)
        self.cli("up")
        self.addCleanup(self.end_daemon)

    def cli(self, *arguments, code=0):
        """stdout of `millrace ARGUMENTS`."""
        done = subprocess.run([os.path.join(BIN, "millrace"), *arguments], capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def end_daemon(self):
        """`down`, and what that leaves is killed."""
        subprocess.run([os.path.join(BIN, "millrace"), "down"], capture_output=True, timeout=120, check=False)
        for pid, _ in self.ours():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def ours(self):
        """Processes of our programs that have this test's directory in their environment: pid, command."""
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
