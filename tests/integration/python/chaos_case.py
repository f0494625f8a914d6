"""A run of the PyTorch example with data workers on other nodes and with seeded faults, compared with an undisturbed run.

Each rank writes down the rows of every step that it has taken. Only the steps of the run's final line count: an attempt that resumes
from step s replaces everything that was written down for later steps.
"""
import collections
import concurrent.futures
import contextlib
import errno
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time

import chaos_net
from harness import BIN, ROOT, streamed
from poll import pause, wait_for
from run_harness import RunCase

EXAMPLE = os.path.join(ROOT, "resources/examples/pytorch")
STATE_MB = 200  # of the small disk that holds the daemon's state

# Inserted into the example's script: writes the rows of each step once it is taken, and the weights at the end.
ROWS = """        optimizer.step()
        with open(f"ROWS/{os.environ['MR_ATTEMPT']}.rank{rank}", "a") as told:
            told.write(f"{stream.step} {batch['userId'].tolist()} {batch['movieId'].tolist()}\\n")
"""
BEGUN = """    stream = millrace.stream(SPEC)
    with open(f"ROWS/{os.environ['MR_ATTEMPT']}.rank{rank}", "a") as told:
        told.write(f"begun {resumed.step if resumed else 0}\\n")
"""
WEIGHTS = """        model.eval()
        with open(f"ROWS/weights.rank{rank}", "w") as told:
            import hashlib
            for tensors in (model.parameters(), model.buffers() if rank == 0 else []):  # a rank's own buffers are rank 0's one step before
                told.write(hashlib.sha256(b"".join(t.detach().numpy().tobytes() for t in tensors)).hexdigest() + "\\n")
"""
NODES = ("node1", "node2")
# Limits of the head, a tenth of the usual ones or as near as a busy machine of two cores allows.
LIMITS = ("--silent-after", "4", "--node-away", "2", "--crew-pace", "0.5")
STOPPABLE = ("feed", "rank0", "rank1", "data0", "data1", "daemon", *NODES)
KILLABLE = (*STOPPABLE, "guardian of feed", "guardian of rank1", "guardian of data0")


class Fault:
    """One thing that happens once the run has taken `step` steps."""

    def __init__(self, kind, who, step, seconds):
        self.kind, self.who, self.step, self.seconds = kind, who, step, seconds
        self.recovered = None  # seconds from the fault until the run has passed its earlier step; None: it has not

    def __str__(self):
        return f"{self.kind} {self.who}".strip() + f" at step {self.step}"


def plan_faults(seed, steps, count=3):
    """The faults of a run of `steps` steps: kinds, victims and moments drawn from the seed."""
    chance = random.Random(seed)
    at = sorted(chance.sample(range(steps // 10, steps * 8 // 10), count))
    faults = []
    for step in at:
        kind = chance.choices(("kill", "stop", "cut", "slow", "disk"), (6, 3, 2, 1, 1))[0]
        who = {"kill": chance.choice(KILLABLE), "stop": chance.choice(STOPPABLE), "cut": chance.choice(NODES),
               "slow": chance.choice(NODES), "disk": ""}[kind]
        faults.append(Fault(kind, who, step, chance.uniform(0.3, 4.0)))
    return faults


class ChaosCase(RunCase):
    nodes = NODES
    options = ()  # of the runs with faults
    head_options = ()
    changes = ()  # of the example's spec: pairs of a text and another one

    def make_state(self):
        self.starting = threading.Lock()
        self.has_small_disk = not self.mount_state(STATE_MB)
        self.network = None
        if "CHAOS_NETWORK" in os.environ:
            self.network = chaos_net.Network(self.nodes)
            self.addCleanup(self.network.close)

    def begin(self):
        """Starts the daemon and the agents that do not run yet."""
        with self.starting:
            if self.victim("daemon") is None:
                where = chaos_net.HEAD if self.network else "unix"
                subprocess.run([os.path.join(BIN, "millraced"), "--nodes-listen", where, *LIMITS, *self.head_options],
                               check=True, capture_output=True, timeout=60)
            for node in self.nodes:
                if self.victim(node) is None:
                    self.start_agent(node)
        wait_for("all nodes are there", self.has_all_nodes, 60)

    def has_all_nodes(self):
        with contextlib.suppress(json.JSONDecodeError):  # the daemon may be killed at any time
            return sum(node["state"] == "attached" for node in self.json("nodes", code=None)["nodes"]) > len(self.nodes)

    def start_agent(self, node):
        state = os.path.join(self.folder, "state", "millrace")
        subprocess.run([*(self.network.prefix(node) if self.network else []), os.path.join(BIN, "millraced"), "--slot",
                        "--join", os.path.join(state, "nodes.join"), "--name", node, "--state-dir", os.path.join(self.folder, node)],
                       check=True, capture_output=True, timeout=60)

    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.join(ROOT, "resources/examples/movielens"), os.path.join(self.folder, "movielens"))
        self.rows = os.path.join(self.folder, "rows")
        work = os.path.join(self.folder, "pytorch")
        os.makedirs(work)
        self.spec_file = os.path.join(work, "script.yaml")
        with open(os.path.join(EXAMPLE, "script.py"), encoding="utf-8") as file:
            script = file.read()
        for old, new in (("        optimizer.step()\n", ROWS), ("    stream = millrace.stream(SPEC)\n", BEGUN), ("        model.eval()\n", WEIGHTS)):
            self.assertIn(old, script)
            script = script.replace(old, new.replace("ROWS/", self.rows + "/"))
        with open(os.path.join(work, "script.py"), "w", encoding="utf-8") as file:
            file.write(script)
        with open(os.path.join(EXAMPLE, "script.yaml"), encoding="utf-8") as file:
            text = file.read()
        for old, new in (("every_steps: 100", "every_steps: 15"), ("epochs: 3", "epochs: 2"), ("max_restarts: 3", "max_restarts: 50"),
                         ("memory_limit_mb: 1024", "memory_limit_mb: 512, data_workers: {min: 2, max: 2}, loader_threads: 1"), *self.changes):
            self.assertIn(old, text)
            text = text.replace(old, new)
        with open(self.spec_file, "w", encoding="utf-8") as file:
            file.write(text)

    def rows_of_the_final_line(self):
        """Step to rank to (users, films): the rows of all steps that count."""
        steps = collections.defaultdict(dict)
        attempts = sorted({int(name.split(".")[0]) for name in os.listdir(self.rows) if name[0].isdigit()})
        for attempt in attempts:
            for rank in (0, 1):
                with contextlib.suppress(FileNotFoundError), open(os.path.join(self.rows, f"{attempt}.rank{rank}"), encoding="utf-8") as file:
                    for line in file:
                        if not line.endswith("\n"):
                            continue  # its process was killed while it wrote
                        first, rest = line.rstrip("\n").split(" ", 1)
                        if first == "begun":
                            for step in [s for s in steps if s > int(rest)]:
                                steps[step].pop(rank, None)
                        else:
                            steps[int(first)][rank] = rest
        return {step: ranks for step, ranks in steps.items() if ranks}

    def last_taken(self):
        """The last step that a rank of any attempt reported as taken; 0: none."""
        last = 0
        for name in filter(lambda name: name[0].isdigit(), os.listdir(self.rows)):
            with open(os.path.join(self.rows, name), encoding="utf-8") as file:
                last = max([last, *(int(line.split(" ", 1)[0]) for line in file if line[0].isdigit() and line.endswith("\n"))])
        return last

    def weights(self):
        texts = []
        for rank in (0, 1):
            with open(os.path.join(self.rows, f"weights.rank{rank}"), encoding="utf-8") as file:
                texts.append(file.read().splitlines())
        self.assertEqual(texts[0][0], texts[1][0], "both ranks have the same weights")
        return texts[0]

    def undisturbed(self):
        """Runs without faults; returns (rows of each step, weights, order hash)."""
        shutil.rmtree(self.rows, True)
        os.mkdir(self.rows)
        run = self.submit(self.spec_file)[0]
        ended = self.wait(run, "finished", "failed", seconds=150)
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual(ended["receipt"]["order_hash"], streamed(self.spec_file, "--last", "drop")["order_hash"])
        rows = self.rows_of_the_final_line()
        self.assertEqual(sorted(rows), list(range(1, ended["progress"]["step"] + 1)))
        return rows, self.weights(), ended["receipt"]["order_hash"]

    def victim(self, who):
        """Pid of a worker, of its guardian, of the daemon or of a node's agent; None if it does not run."""
        for pid in self.processes():
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
                program = os.path.basename(words[0])
                if program == "millraced" and who == ("daemon" if "--slot" not in words else words[words.index("--name") + 1]):
                    return pid
                if program == "millrace-exec" and any(word.endswith("/" + who.removeprefix("guardian of ")) for word in words):
                    if who.startswith("guardian of "):
                        return pid
                    with open(f"/proc/{pid}/task/{pid}/children", "rb") as children:
                        ours = children.read().split()
                    return int(ours[0]) if ours else None
        return None

    def strike(self, fault):
        """Applies a fault, and later undoes it if possible (a stop, a cut, a full disk). False: it cannot be applied (any
        more)."""
        if fault.kind == "disk":
            if self.has_small_disk:
                self.fill_the_disk(fault)
            return self.has_small_disk
        if fault.kind in ("cut", "slow"):
            if self.network:
                self.disturb_cable(fault)
            return self.network is not None
        try:
            pid = wait_for(f"there is a {fault.who}", lambda: self.victim(fault.who), 3)
        except AssertionError:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL if fault.kind == "kill" else signal.SIGSTOP)
        if fault.kind == "stop":
            pause(fault.seconds)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        else:
            wait_for(f"{fault.who} is gone", lambda: not self.is_there(pid), 20)
            if fault.who in ("daemon", *self.nodes):
                self.begin()
        return True

    @staticmethod
    def is_there(pid):
        """Whether the process exists and is not a zombie."""
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read() != b""
        return False

    def disturb_cable(self, fault):
        begin, end = (self.network.cut, self.network.mend) if fault.kind == "cut" else (self.network.slow, self.network.hasten)
        begin(fault.who)
        pause(fault.seconds)
        end(fault.who)

    def fill_the_disk(self, fault):
        ballast = os.path.join(self.folder, "state", "ballast")
        end = time.monotonic() + fault.seconds
        with open(ballast, "ab", buffering=0) as file:
            while time.monotonic() < end:
                try:
                    file.write(b"\0" * 65536)
                except OSError as error:
                    self.assertEqual(error.errno, errno.ENOSPC)
                    pause(0.05)
        os.unlink(ballast)

    def progress(self, run):
        """(attempt, step, state) of a run; fails if the run has failed or was cancelled."""
        shown = self.show(run)
        self.assertNotIn(shown["state"], ("failed", "cancelled"), (shown["exit_reason"], self.log(run)))
        return shown["attempt"], shown["progress"]["step"] or 0, shown["state"]

    def let_happen(self, faults, run):
        """Applies the faults at their steps; those of the same step at the same time."""
        for step, same in itertools.groupby(faults, lambda fault: fault.step):
            wait_for(f"step {step}", lambda at=step: self.is_beyond(run, at - 1), 120, step=0.05)
            _, before, state = self.progress(run)
            if state == "finished":
                return
            began = time.monotonic()
            same = list(same)
            with concurrent.futures.ThreadPoolExecutor(len(same)) as pool:
                struck = [fault for fault, is_struck in zip(same, pool.map(self.strike, same)) if is_struck]
            if struck:
                # A report about the step under way may arrive after the fault; only a later step proves recovery.
                before = max(before, self.last_taken() + 1)
                wait_for(f"the run gets on after: {'; '.join(map(str, struck))}", lambda at=before: self.is_beyond(run, at), 90, step=0.05)
                for fault in struck:
                    fault.recovered = time.monotonic() - began

    def is_beyond(self, run, step):
        _, now, state = self.progress(run)
        return now > step or state == "finished"

    def disturbed(self, faults, undisturbed):
        """Runs with all faults, and compares rows, weights and hash with those of the undisturbed run."""
        rows, weights, order = undisturbed
        shutil.rmtree(self.rows, True)
        os.mkdir(self.rows)
        run = self.submit(self.spec_file, *self.options)[0]
        try:
            self.let_happen(faults, run)
            ended = self.wait(run, "finished", "failed", seconds=150)
        except AssertionError:
            self.cli("stop", run, "--grace", 1, "--wait", code=None)  # so that it does not delay the next seed's run
            raise
        self.assertEqual(ended["state"], "finished", (ended["exit_reason"], [event["text"] for event in ended["events"]]))
        mine = self.rows_of_the_final_line()
        self.assertEqual(sorted(mine), sorted(rows), "every step once")
        for step in rows:
            self.assertEqual(mine[step], rows[step], f"rows of step {step}")
        self.assertEqual(self.weights(), weights, "the weights of the undisturbed run")
        self.assertEqual(ended["receipt"]["order_hash"], order)
        self.assertEqual(ended["receipt"]["rows_trained"], sum(len(re.findall(r"\d+", users_and_films)) // 2
                                                               for ranks in mine.values() for users_and_films in ranks.values()))
        self.cli("rm", "--purge", "--yes", run)  # so that its checkpoints leave room for those of two hundred other runs
        return ended
