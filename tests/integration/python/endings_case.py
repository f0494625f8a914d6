"""Runs with random endings: many on one daemon, each compared with its ledger."""
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from endings_draw import Case, write_data
from endings_oracle import Judge, Ledger, Outcome, Reference
from harness import BIN, FRAMEWORKS, HERE
from poll import pause, wait_for
from run_harness import RunCase

SEEDS = range(1492, 1552)  # the seeds of tests/run: every kind of ending, few cases that import torch
ENDED = ("finished", "failed", "cancelled")


def seeds_of(*kinds, seeds=SEEDS):
    """Seeds whose case has one of these kinds, or any kind if there are none; ENDINGS_SEEDS=7,9-12 replaces them."""
    said = os.environ.get("ENDINGS_SEEDS", "")
    if said:
        ends = [part.split("-") for part in said.split(",")]
        return [seed for part in ends for seed in range(int(part[0]), int(part[-1]) + 1)]
    return [seed for seed in seeds if not kinds or Case(seed).kind in kinds]


class Ending:
    """One case during its run."""

    def __init__(self, case, folder, run, reference):
        self.case, self.folder, self.run, self.reference = case, folder, run, reference
        self.number = 0  # of the phase that is due
        self.is_struck = self.was_killed = self.is_over = False
        self.problems = []

    @property
    def phase(self):
        return self.case.phases[min(self.number, len(self.case.phases) - 1)]


class EndingsCase(RunCase):
    """A test of endings; `search()` does the work."""

    def setUp(self):
        if os.path.isdir(FRAMEWORKS):
            os.environ["PYTHONPATH"] += os.pathsep + FRAMEWORKS
        super().setUp()
        self.data = os.path.join(self.folder, "data")
        write_data(self.data)

    def need_frameworks(self):
        """Decorator: skips the test if Lightning or Accelerate is missing."""
        if not os.path.isdir(os.path.join(FRAMEWORKS, "lightning")):
            self.skipTest(f"Lightning and Accelerate are not in {FRAMEWORKS}: packaging/setup --tests brings them")

    def search(self, seeds, at_once=60):
        """Runs the endings of these seeds and fails with their differences from the ledgers."""
        problems, begun = [], time.monotonic()
        for first in range(0, len(seeds), at_once):
            endings, over = [], threading.Event()
            with ThreadPoolExecutor(1) as beside:
                watch = beside.submit(self.watch, endings, over)
                try:
                    for seed in seeds[first:first + at_once]:
                        endings.append(self.start(Case(seed)))
                    self.follow(endings)
                finally:
                    over.set()
                watch.result()
            problems += [self.told(ending) for ending in endings if ending.problems]
        print(f"{len(seeds)} endings in {time.monotonic() - begun:.0f} s, {len(problems)} of them wrong", flush=True)
        if problems:
            self.fail("\n\n".join([f"{len(problems)} of {len(seeds)} endings differ from their ledgers", *problems]))

    def told(self, ending):
        """A failure as printed text."""
        test = ".".join(self.id().split(".")[-2:])
        alone = f"ENDINGS_SEEDS={ending.case.seed} python3 {os.path.join(HERE, 'harness.py')} {os.path.basename(sys.argv[0])} {test}"
        return "\n".join([str(ending.case), *(f"    {problem}" for problem in ending.problems), f"    alone: {alone}"])

    def start(self, case):
        folder = os.path.join(self.folder, case.name())
        os.mkdir(folder)
        spec = os.path.join(folder, "spec.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(case.spec(os.path.join(HERE, "endings_script.py"), self.data))
        if not case.is_built_in:
            with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
                json.dump({"stop": [os.path.join(BIN, "millrace"), "stop", "--host", "unix:" + self.socket()],
                           **{name: getattr(case, name) for name in
                              ("kind", "phases", "meets", "lag", "take", "last", "logs_every", "logs_nan", "has_torch", "has_evaluation",
                               "evaluates_every")}}, file)
        run = self.submit(spec, cwd=folder)[0]
        return Ending(case, folder, run, Reference(case, spec))

    def socket(self):
        if not hasattr(self, "_socket"):
            self._socket = self.json("socket-path")["socket"]
        return self._socket

    def follow(self, endings):
        """Waits until all runs are over; resumes those that were stopped."""
        def left():
            states = {run["id"]: run["state"] for run in self.json("ls", "-n", 10000)["runs"]}
            for ending in endings:
                if not ending.is_over and states[ending.run] in ENDED:
                    self.judge(ending)
            return [ending for ending in endings if not ending.is_over]
        wait_for(lambda: f"these end: {[f'{ending.case} ({ending.run}, {self.show(ending.run)})' for ending in left()]}",
                 lambda: not left(), 200 + 10 * len(endings), step=0.5)

    def watch(self, endings, over):
        """Stops or kills built-in trainers, which cannot do it themselves."""
        while not over.is_set():
            for ending in list(endings):
                if ending.case.is_built_in and not ending.is_struck and ending.phase["end"] in ("stop", "kill"):
                    self.strike(ending)
            pause(0.01)

    def strike(self, ending):
        """Stops or kills a built-in trainer once it has a checkpoint of the step."""
        folder = os.path.join(self.folder, "state", "millrace", "runs", ending.run, "checkpoints")
        if not os.path.isdir(folder):
            return
        steps = [int(name[5:13]) for name in os.listdir(folder) if name.startswith("step-")]
        if max(steps, default=0) < ending.phase["step"]:
            return
        ending.is_struck = True
        if ending.phase["end"] == "stop":
            subprocess.run([os.path.join(BIN, "millrace"), "stop", ending.run], capture_output=True, check=False, timeout=60)
        else:
            ending.was_killed = self.kill(ending.run, ending.phase["rank"])

    def kill(self, run, rank):
        """Kills a rank of the built-in trainer; returns False if it has ended."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
                if words[0].endswith("millrace-trainer") and words[-2] == str(rank) and any(f"/{run}/" in word for word in words):
                    os.kill(int(pid), signal.SIGKILL)
                    return True
            except OSError:
                continue
        return False

    def judge(self, ending):
        """Judges an ended run; resumes a stopped one."""
        case, shown = ending.case, self.show(ending.run)
        series = self.json("metrics", ending.run, "--points", 1000000)["series"]
        ledger, how = Ledger(ending.folder), ending.phase
        if case.is_built_in:
            how = self.phase_of_built_in(ending, shown)
        elif ledger.attempts:
            ending.number = max(ledger.attempts) - 1
            how = ledger.phase(ending.phase)
            if ending.number + 1 < len(case.phases) and how["end"] not in ("stop", "whole"):
                ending.problems.append(f"attempt {ending.number + 1} was the last, though another was to follow it")
        problems = Judge(case, ending.reference, ledger, Outcome(shown, series), how).judge()
        if problems:
            at = f" behind {how['end']}" if len(case.phases) > 1 else ""
            ending.problems += [f"{ending.run}{at}: {problem}" for problem in problems]
            ending.problems.append(f"{ending.run}{at}: {shown['state']}, {shown['exit_reason']}; ledger: {str(ledger) or 'none'}; history: "
                                   f"{[event['text'] for event in shown['events']]}")
        ending.is_over = how["end"] != "stop" or shown["state"] != "cancelled"
        if not ending.is_over:
            self.cli("resume", ending.run, "--ranks", ending.phase["ranks"])
            ending.number += 1

    @staticmethod
    def phase_of_built_in(ending, shown):
        """What happened to the built-in trainer: the test stops or kills it at an uncertain moment."""
        end = ending.phase["end"]
        is_through = end == "stop" and shown["state"] == "finished"
        goes_on = end == "kill" and (ending.case.max_restarts > 0 or not ending.was_killed)
        return {"end": "whole"} if is_through or goes_on else ending.phase
