"""A test's own daemon, and scripts that it runs as the ranks of runs."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys

from harness import BIN, ROOT, Case
from poll import wait_for

SCRIPT = """
import json, os, sys
import millrace
import poll

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = os.path.join(HERE, f"rank{os.environ['RANK']}.jsonl")

def told(**what):
    with open(MARK, "a") as file:
        file.write(json.dumps(what) + "\\n")

resumed = millrace.resume()
total = json.loads(resumed.read())["total"] if resumed else 0
told(begun=resumed.step if resumed else 0, pid=os.getpid())
stream = millrace.stream(os.path.join(HERE, "spec.yaml"), as_numpy=True)
for batch in stream:
    numbers = batch.carry["number"]
    total += int(numbers.sum())
    told(step=stream.step, numbers=[int(n) for n in numbers])
    millrace.log(loss=float(stream.step) / 7, total=total)
    while os.path.exists(os.path.join(HERE, "hold")) and not os.path.exists(os.path.join(HERE, f"go{stream.step}")):
        poll.pause(0.005)
    if stream.checkpoint_due:
        millrace.checkpoint(json.dumps({"total": total}).encode(), stream.step)
if stream.stopped:
    millrace.checkpoint(json.dumps({"total": total}).encode())
told(ended=stream.step, stopped=stream.stopped, hash=stream.order_hash, rows=stream.rows_delivered)
"""

RUN = """
command: [python3, script.py]
train: {ranks: %(ranks)d, checkpoint: {every_steps: %(every)d}%(train)s}
"""


class RunCase(Case):
    """A test with its own daemon, which ends with all that it started."""

    def setUp(self):
        super().setUp()
        os.environ["XDG_STATE_HOME"] = os.path.join(self.folder, "state")
        os.environ["NO_COLOR"] = "1"
        self.marker = f"MILLRACE_TEST_RUNS={os.path.basename(self.folder)}"
        os.environ["MILLRACE_TEST_RUNS"] = os.path.basename(self.folder)
        self.addCleanup(self.end_all)
        self.make_state()
        self.begin()

    def copy_example(self):
        """Copies the PyTorch example and its data below the test's folder; returns the spec's path."""
        examples = os.path.join(ROOT, "resources/examples")
        shutil.copytree(os.path.join(examples, "movielens"), os.path.join(self.folder, "movielens"))
        work = os.path.join(self.folder, "pytorch")
        os.makedirs(work)
        for name in ("script.py", "script.yaml"):
            shutil.copy(os.path.join(examples, "pytorch", name), work)
        return os.path.join(work, "script.yaml")

    def make_state(self):
        """Overridden by tests with another state directory."""

    def mount_state(self, megabytes):
        """Mounts a small disk as the state directory until the test's end. Returns "", or why there is none."""
        state = os.path.join(self.folder, "state")
        os.mkdir(state, 0o700)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", state],
                              capture_output=True, text=True, check=False)
        if made.returncode == 0:
            self.addCleanup(subprocess.run, ["umount", "-l", state], check=False)
        return made.stderr.strip() if made.returncode else ""

    def begin(self):
        """Starts the daemon unless it runs already."""
        self.cli("up")

    def end_all(self):
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            self.cli("down", code=None, timeout=60)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.environ.pop("MILLRACE_TEST_RUNS", None)

    def processes(self):
        """The daemon, the command line, and the guardians and feeds of this test."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/environ", "rb") as file:
                    marked = self.marker.encode() in file.read().split(b"\0")
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    marked = marked or self.folder.encode() in file.read()
                if marked and int(pid) != os.getpid():
                    found.append(int(pid))
        return found

    def cli(self, *arguments, code=0, timeout=120, cwd=None):
        """Runs `millrace ARGUMENTS` and returns its stdout; `self.err` is its stderr."""
        done = subprocess.run([os.path.join(BIN, "millrace"), *map(str, arguments)], capture_output=True, text=True,
                              timeout=timeout, check=False, stdin=subprocess.DEVNULL, cwd=cwd or self.folder)
        self.err = done.stderr
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return done.stdout

    def json(self, *arguments, **how):
        return json.loads(self.cli(*arguments, "--json", **how))

    def prepare(self, script=SCRIPT, ranks=2, every=5, train="", **how):
        """Writes a dataset, a script, and the spec that runs it; returns the spec's path."""
        more = RUN % {"ranks": ranks, "every": every, "train": f", {train}" if train else ""}
        path = self.spec(more=more + how.pop("more", ""), **how)
        self.script(script)
        return path

    def submit(self, spec, *arguments, cwd=None):
        out = self.cli("run", spec, "--detach", "--json", *arguments, cwd=cwd)
        return [run["id"] for run in json.loads(out.splitlines()[0])["runs"]]

    def show(self, run):
        return self.json("show", run)["run"]

    def wait(self, run, *states, seconds=60):
        shown = {}

        def ended():
            shown.update(self.show(run))
            return shown["state"] in states
        wait_for(lambda: f"{run} is {shown['state']}: {shown.get('exit_reason')} "
                         f"{[event['text'] for event in shown.get('events', [])]}, log {self.log(run)}", ended, seconds, step=0.1)
        return dict(shown)

    def log(self, run):
        return self.cli("logs", run, code=None)[-3000:]

    def losses(self, run, name="loss"):
        series = self.json("metrics", run, "--name", name, "--points", "1000000")["series"]
        return [(point["step"], point["value"]) for point in series[0]["points"]] if series else []

    def told(self, rank):
        """The lines that a rank's process wrote."""
        path = os.path.join(self.folder, f"rank{rank}.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def steps_told(self, rank):
        return [line["step"] for line in self.told(rank) if "step" in line]

    def pid_of(self, rank):
        return [line["pid"] for line in self.told(rank) if "begun" in line][-1]

    def hold(self, *steps):
        """Makes ranks wait at each step except `steps`, until there is a file `goN`."""
        self.touch("hold")
        for step in steps:
            self.touch(f"go{step}")

    def touch(self, name):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8"):
            pass

    def release(self):
        os.unlink(os.path.join(self.folder, "hold"))


PYTHON = sys.executable
