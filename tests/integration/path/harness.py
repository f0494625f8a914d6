"""A test's own daemon and the `millrace` that talks to it: temporary directories, unix socket."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import poll  # noqa: E402

BIN = pathlib.Path(os.environ.get("MILLRACE_BIN_DIR", ROOT / "build/release/bin"))
EXAMPLE = ROOT / "resources/examples/movielens"


class Failed(AssertionError):
    pass


def wait_for(what, condition, seconds=60):
    """Polls until condition() is true and returns its value; fails with `what` after `seconds`."""
    return poll.wait_for(what, condition, seconds, failure=Failed)


class Place:
    """Directories, environment and daemon of one test; close() ends all of it."""

    def __init__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="millrace-path-"))
        for name in ("run", "state", "cache", "spec"):
            (self.dir / name).mkdir(mode=0o700)
        self.marker = f"MILLRACE_TEST_PLACE={self.dir.name}"
        name, value = self.marker.split("=")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
        self.env.update(XDG_RUNTIME_DIR=str(self.dir / "run"), XDG_STATE_HOME=str(self.dir / "state"),
                        XDG_CACHE_HOME=str(self.dir / "cache"), HOME=str(self.dir), NO_COLOR="1",
                        LC_ALL="C.UTF-8", **{name: value})
        for file in EXAMPLE.iterdir():
            shutil.copy(file, self.dir / "spec")
        self.spec = self.dir / "spec" / "movielens.yaml"

    def cli(self, *arguments, code=0, timeout=240):
        """Runs `millrace ARGUMENTS` and returns its stdout; fails unless it exits with `code` (None: any code)."""
        p = subprocess.run([BIN / "millrace", *map(str, arguments)], env=self.env, capture_output=True,
                           text=True, timeout=timeout, stdin=subprocess.DEVNULL)
        if code is not None and p.returncode != code:
            raise Failed(f"millrace {' '.join(map(str, arguments))}: exit {p.returncode}, wanted {code}\n"
                         f"{p.stdout[-3000:]}\n{p.stderr[-3000:]}")
        self.err = p.stderr
        return p.stdout

    def json(self, *arguments, **kw):
        return json.loads(self.cli(*arguments, "--json", **kw))

    def start(self, *arguments):
        return subprocess.Popen([BIN / "millrace", *map(str, arguments)], env=self.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def up(self):
        self.cli("up")
        return self

    def daemon_pid(self):
        return next(p for p in self.processes() if "millraced" in command_of(p)[0])

    def submit(self, *arguments):
        """Ids of the runs that `run SPEC --detach` queued."""
        lines = self.cli("run", self.spec, "--detach", "--json", *arguments).splitlines()
        event = json.loads(lines[0])
        return [run["id"] for run in event["runs"]]

    def show(self, run):
        return self.json("show", run)["run"]

    def wait(self, run, *states, seconds=120):
        return wait_for(f"{run} in {states}", lambda: (r := self.show(run))["state"] in states and r, seconds)

    def processes(self):
        """Every process that carries this place's marker."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) != os.getpid():
                try:
                    with open(f"/proc/{entry}/environ", "rb") as f:
                        if self.marker.encode() in f.read().split(b"\0"):
                            found.append(int(entry))
                except OSError:
                    pass
        return found

    def worker(self, program):
        """Pid of the one running process whose command is `program` (not the shim before it)."""
        for pid in self.processes():
            argv = command_of(pid)
            if argv and argv[0].endswith("/" + program) or argv and argv[0] == program:
                return pid
        return None

    def losses(self, run):
        series = self.json("metrics", run, "--name", "loss", "--points", "1000000")["series"]
        return [(p["step"], p["value"]) for p in series[0]["points"]] if series else []

    def down(self):
        self.cli("down", code=None)

    def close(self):
        try:
            self.down()
        finally:
            for pid in self.processes():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return [a.decode(errors="replace") for a in f.read().split(b"\0")[:-1]] or [""]
    except OSError:
        return [""]


def edit(path, *changes):
    text = path.read_text()
    for old, new in changes:
        if old not in text:
            raise Failed(f"{path.name} has no {old!r}")
        text = text.replace(old, new)
    path.write_text(text)
