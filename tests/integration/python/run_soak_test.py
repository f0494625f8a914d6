#!/usr/bin/env python3
"""Long tests of runs of scripts: stops and kills at random instants; results are compared with undisturbed runs."""
import os
import random
import shutil
import signal
import unittest

from harness import ROOT, streamed
from poll import is_gone, pause, wait_for
from run_harness import SCRIPT, RunCase

EXAMPLE = os.path.join(ROOT, "resources/examples/pytorch")


class StopsSoak(RunCase):
    def test_fifty_stops_at_random_instants_end_all_ranks_with_the_same_step(self):
        chance = random.Random(16)
        script = SCRIPT.replace("    if stream.checkpoint_due:", "    poll.pause(0.002 * (1 + int(os.environ['RANK'])))\n"
                                                                 "    if stream.checkpoint_due:")
        spec = self.prepare(script, total=20000, epochs=50, every=40, rows=64, micro=16)
        run = self.submit(spec)[0]
        steps = []
        for round_ in range(50):
            wait_for("both ranks go", lambda: all("step" in (self.told(rank) or [{}])[-1] for rank in (0, 1)))
            pause(chance.random() * 0.4)
            self.cli("stop", run, "--wait")
            self.assertEqual(self.show(run)["state"], "cancelled")
            ends = [self.told(rank)[-1] for rank in (0, 1)]
            self.assertEqual(ends[0]["ended"], ends[1]["ended"], f"round {round_}")
            self.assertEqual(ends[0]["hash"], ends[1]["hash"], f"round {round_}")
            self.assertEqual([end["stopped"] for end in ends], [True, True])
            self.assertEqual(self.show(run)["checkpoints"][-1]["step"], ends[0]["ended"])
            steps.append(ends[0]["ended"])
            self.cli("resume", run)
        self.assertEqual(steps, sorted(steps))
        print("stopped behind steps", steps)
        wait_for("it goes on", lambda: "step" in self.told(0)[-1])
        self.cli("stop", run, "--wait")
        told = self.losses(run)
        self.assertEqual([step for step, _ in told], list(range(1, len(told) + 1)), "each step once")


class StarvedSoak(RunCase):
    def test_a_loader_that_stands_for_seventy_seconds_is_named_and_nothing_is_restarted(self):
        spec = self.prepare(total=20000, epochs=10, every=1000, rows=64, micro=16)
        run = self.submit(spec)[0]
        wait_for("both ranks go", lambda: all("step" in (self.told(rank) or [{}])[-1] for rank in (0, 1)))
        ranks = [self.pid_of(rank) for rank in (0, 1)]
        feeds = []
        for pid in self.processes():
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if words[0].endswith(b"millrace-loader"):
                feeds.append(pid)
        self.assertEqual(len(feeds), 1, feeds)
        os.kill(feeds[0], signal.SIGSTOP)
        try:
            said = wait_for("it is said", lambda: self.show(run).get("trouble"), 60)
            steps = self.show(run)["progress"]["step"]
            for _ in range(70):
                pause(1)
                self.assertEqual(self.show(run)["state"], "running")
        finally:
            os.kill(feeds[0], signal.SIGCONT)
        print("said:", said)
        wait_for("it goes on", lambda: self.show(run)["progress"]["step"] > steps)
        self.assertEqual([self.pid_of(rank) for rank in (0, 1)], ranks)
        self.assertEqual(self.show(run)["attempt"], 1)
        ended = self.wait(run, "finished", "failed", seconds=300)
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual(ended["receipt"]["order_hash"], streamed(spec, "--last", "drop")["order_hash"])


class KillsSoak(RunCase):
    SEEDS = 20

    def test_kills_of_every_process_change_nothing(self):
        shutil.copytree(os.path.join(ROOT, "resources/examples/movielens"), os.path.join(self.folder, "movielens"))
        work = os.path.join(self.folder, "pytorch")
        os.makedirs(work)
        shutil.copy(os.path.join(EXAMPLE, "script.py"), work)
        spec = os.path.join(work, "script.yaml")
        with open(os.path.join(EXAMPLE, "script.yaml"), encoding="utf-8") as file:
            text = file.read()
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text.replace("every_steps: 100", "every_steps: 20").replace("max_restarts: 3", "max_restarts: 9")
                       .replace("epochs: 3", "epochs: 1"))
        first = self.submit(spec)[0]
        calm = self.wait(first, "finished", "failed", seconds=120)
        self.assertEqual(calm["state"], "finished", calm["exit_reason"])
        losses = self.losses(first)
        self.assertEqual(calm["receipt"]["order_hash"], streamed(spec, "--last", "drop")["order_hash"])
        for seed in range(self.SEEDS):
            self.one(spec, seed, calm, losses)

    def one(self, spec, seed, calm, losses):
        chance = random.Random(seed)
        run = self.submit(spec)[0]
        victims = [chance.choice(["rank0", "rank1", "feed", "daemon", "guardian"]) for _ in range(2)]
        for victim in victims:
            step = int(self.show(run)["progress"]["step"] or 0)
            wait_for("it gets on", lambda: (shown := self.show(run))["state"] not in ("queued", "starting")
                     and ((shown["progress"]["step"] or 0) > step + 3 or shown["state"] != "running"), 60, step=0.05)
            pause(chance.random())
            self.kill(run, victim, chance)
        ended = self.wait(run, "finished", "failed", seconds=150)
        about = f"seed {seed}, {victims}: {ended['exit_reason']}, {[event['text'] for event in ended['events']]}"
        self.assertEqual(ended["state"], "finished", about)
        self.assertEqual(ended["receipt"]["order_hash"], calm["receipt"]["order_hash"], about)
        self.assertEqual(ended["receipt"]["rows_trained"], calm["receipt"]["rows_trained"], about)
        self.assertEqual(self.losses(run), losses, about)
        wait_for(lambda: f"nothing is left of it, but {self.left(run)}", lambda: not self.left(run), 10)
        print(f"seed {seed}: {', '.join(victims)}: attempt {ended['attempt']}", flush=True)

    def kill(self, run, victim, chance):
        if victim == "daemon":
            daemon = self.json("up")["daemon"]["pid"]
            os.kill(daemon, signal.SIGKILL)
            wait_for("it is gone", lambda: is_gone(daemon))
            self.cli("up")
            return
        workers = {worker["name"]: worker["pid"] for worker in self.show(run)["workers"] if worker["state"] != "ended"}
        name = chance.choice(["rank0", "rank1", "feed"]) if victim == "guardian" else victim
        pid = workers.get(name)
        if pid and victim == "guardian":
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                pid = int(file.read().rsplit(")", 1)[1].split()[1])
        if pid and pid > 1:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def left(self, run):
        """Processes that are left of a run that has ended."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"MR_KEY={run}.".encode() in file.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found


if __name__ == "__main__":
    unittest.main()
