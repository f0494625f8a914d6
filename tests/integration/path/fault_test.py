#!/usr/bin/env python3
"""Faults of a machine during a run: a disk that fills up, processes that are killed, files that change.

    fault_test.py [-v] [FullDiskTest.test_name]        ctest runs every test on its own
"""
import contextlib
import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Place, command_of, edit, wait_for  # noqa: E402

MB = 1_000_000
DISK_MB = 120  # room for three checkpoints of 15 MB, one more on its way, and the store
# A trainer takes some 600 steps a second, an epoch has 158.
LONG = ("epochs: 3", "epochs: 40")


class FullDiskTest(unittest.TestCase):
    """The state directory is a small separate disk."""

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)
        self.disk = self.place.dir / "state"
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0700", "tmpfs", self.disk],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest("no small disk may be mounted here: " + mounted.stderr.strip())
        self.addCleanup(lambda: subprocess.run(["umount", "-l", self.disk], check=False))
        self.addCleanup(self.place.down)
        self.ballast = self.disk / "ballast"

    def fill(self, leave_mb=0):
        """Fills the disk except for `leave_mb`, and again after other programs free space."""
        with open(self.ballast, "ab", buffering=0) as f:
            for size in (MB, 4096, 1):
                while True:
                    free = os.statvfs(self.disk)
                    if leave_mb and free.f_bavail * free.f_bsize <= leave_mb * MB:
                        return
                    try:
                        f.write(b"\0" * size)
                    except OSError as e:
                        self.assertEqual(e.errno, errno.ENOSPC)
                        break

    @contextlib.contextmanager
    def kept_full(self):
        """Keeps the disk full: takes space as soon as it is freed, for example by old checkpoints that are removed."""
        ended = threading.Event()

        def keep():
            while not ended.wait(0.002):
                self.fill()
        thread = threading.Thread(target=keep)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def warnings(self):
        return self.place.json("up")["daemon"]["warnings"]

    def free(self):
        self.ballast.unlink()

    def finish(self, run, *how):
        """Waits for the run's end; resumes it if the full disk ended it."""
        ended = self.place.wait(run, "finished", "failed")
        if ended["state"] == "failed":
            self.assertRegex(ended["exit_reason"], r"/.*(disk is full|No space left)")
            self.assertNotIn("\n", ended["exit_reason"])
            self.place.cli("resume", run, *how)
            ended = self.place.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual([s for s, _ in self.place.losses(run)], list(range(1, ended["progress"]["step"] + 1)))
        return ended

    def test_a_run_outlives_a_disk_that_is_full_for_a_while(self):
        place = self.place.up()
        edit(place.spec, LONG)
        run = place.submit()[0]
        wait_for("a checkpoint", lambda: place.show(run)["checkpoints"])
        daemon = place.daemon_pid()
        step = place.show(run)["progress"]["step"]
        warned = wait_for("the daemon says what is wrong, or the run has ended with it",
                          lambda: self.fill() or self.warnings() or
                          place.show(run)["state"] not in ("running", "starting"), 60)
        for warning in warned if isinstance(warned, list) else []:
            self.assertRegex(warning, r"/.*sqlite.*disk is full")
        told = wait_for("the run itself says it, or it has ended with it",
                        lambda: self.fill() or (shown := place.show(run))["trouble"] or
                        (shown["state"] not in ("running", "starting") and "ended"), 60)
        if told != "ended":
            self.assertRegex(told, r"disk is full|No space left")
            self.assertRegex(place.cli("ls"), r"disk is full|No space left")
        self.assertGreaterEqual(place.show(run)["progress"]["step"], step)
        self.assertEqual(place.json("ls")["runs"][0]["id"], run)
        self.free()
        self.finish(run)
        self.assertEqual(place.daemon_pid(), daemon, "the same daemon all the time")
        place.down()
        wait_for("no process left", lambda: not place.processes(), 20)
        place.up()
        self.assertEqual(place.show(run)["state"], "finished")

    def test_a_checkpoint_that_does_not_fit_is_named_and_the_run_can_go_on_later(self):
        place = self.place.up()
        edit(place.spec, ("epochs: 3", "epochs: 1"), ("max_restarts: 3", "max_restarts: 0"))
        self.fill(leave_mb=8)
        run = place.submit()[0]
        ended = place.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "failed")
        self.assertRegex(ended["exit_reason"], r"rank0: .*/checkpoints/.*No space left")
        self.assertEqual(ended["checkpoints"], [])
        checkpoints = self.disk / "millrace" / "runs" / run / "checkpoints"
        self.assertEqual([name for name in os.listdir(checkpoints) if not name.startswith("scores-")], [], "nothing half written stays")
        self.free()
        self.place.cli("resume", run, code=1)
        self.assertRegex(self.place.err, "has no checkpoint.*--from-start")
        self.assertEqual(self.finish(run, "--from-start")["attempt"], 2)

    def test_an_attempt_waits_for_room_on_the_disk(self):
        place = self.place.up()
        edit(place.spec, LONG)
        run = place.submit()[0]
        wait_for("a checkpoint", lambda: place.show(run)["checkpoints"])
        self.fill()
        os.kill(wait_for("a trainer", lambda: place.worker("millrace-trainer")), signal.SIGKILL)
        wait_for("it says what it waits for", lambda: self.fill() or "No space left" in place.cli("ls") or "disk is full" in place.cli("ls"))
        self.free()
        ended = place.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual(ended["attempt"], 2)

    def test_a_start_that_finds_little_room_waits_for_more(self):
        place = self.place.up()
        few = ("--set", "train.max_steps=5", "--set", "train.max_restarts=0")
        place.wait(place.submit(*few)[0], "finished")  # the store and its journal have reached their sizes
        waited = []
        for left in (28, 52, 100):
            self.fill()
            os.truncate(self.ballast, os.path.getsize(self.ballast) - left * 1024)
            out = place.cli("run", place.spec, "--detach", "--json", *few, code=None)
            if not out:
                self.assertRegex(place.err, str(self.disk) + r"/.*(disk is full|No space left)")
                self.free()
                continue
            run = json.loads(out.splitlines()[0])["runs"][0]["id"]
            wait_for("it says what it waits for", lambda: (shown := place.show(run))["ended"] or re.search(
                str(self.disk) + r"/.*(disk is full|No space left)", shown["queued_reason"] or ""))
            self.free()
            ended = place.wait(run, "finished", "failed")
            self.assertEqual(ended["state"], "finished", (left, ended["exit_reason"]))
            waited.append(left)
        self.assertTrue(waited)

    def test_a_run_that_cannot_be_stored_or_started_says_so(self):
        place = self.place.up()
        edit(place.spec, LONG)
        first, second = place.submit()[0], place.submit("--set", "batch.epochs=1")[0]
        wait_for("20 steps", lambda: (place.show(first)["progress"]["step"] or 0) >= 20)
        wait_for("the store has no room", lambda: self.fill() or self.warnings())
        place.cli("run", place.spec, "--detach", code=1)
        self.assertRegex(place.err, r"disk is full|No space left")
        self.assertLess(len(place.err.splitlines()), 4, place.err)
        place.cli("stop", first, code=None)
        wait_for("the first has no worker any more", lambda: self.fill() or
                 not place.worker("millrace-trainer"), 60)
        self.assertEqual([r["id"] for r in place.json("ls")["runs"]], [second, first])
        self.free()
        place.wait(first, "cancelled", "failed", "finished")
        self.finish(second)

    def test_a_disk_that_is_full_to_the_end_of_the_run_costs_no_metric(self):
        place = self.place.up()
        edit(place.spec, ("epochs: 3", "epochs: 20"), ("max_restarts: 3", "max_restarts: 0"))
        run = place.submit()[0]
        wait_for("a checkpoint", lambda: place.show(run)["checkpoints"])
        with self.kept_full():
            wait_for("the trainer has come to its end", lambda: not place.worker("millrace-trainer"), 120)
            self.assertNotEqual(place.show(run)["state"], "finished")
        self.free()
        self.finish(run)


class KillTest(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def guardian_of(self, worker):
        for pid in self.place.processes():
            argv = command_of(pid)
            if argv[0].endswith("millrace-exec") and any(a.endswith("/" + worker) for a in argv):
                return pid
        return None

    def victim(self, name):
        return {"daemon": self.place.daemon_pid,
                "trainer": lambda: self.place.worker("millrace-trainer"),
                "feed": lambda: self.place.worker("millrace-loader"),
                "guardian of feed": lambda: self.guardian_of("feed"),
                "guardian of rank0": lambda: self.guardian_of("rank0")}[name]()

    def test_whatever_is_killed_the_run_ends_whole_and_nothing_is_left(self):
        place = self.place.up()
        edit(place.spec, ("epochs: 3", "epochs: 60"), ("max_restarts: 3", "max_restarts: 50"))
        run = place.submit()[0]
        chance = random.Random(7)
        rounds = ["daemon", "trainer", "feed", "guardian of feed", "guardian of rank0", "daemon"]
        chance.shuffle(rounds)
        for name in rounds:
            before = place.show(run)
            steps = chance.randint(10, 90)
            start = {"attempt": before["attempt"], "step": before["progress"]["step"] or 0}

            def has_got_on():
                now = place.show(run)
                self.assertNotIn(now["state"], ("finished", "failed", "cancelled"), (name, now["exit_reason"]))
                if now["attempt"] != start["attempt"]:  # resumes from an earlier checkpoint
                    start.update(attempt=now["attempt"], step=now["progress"]["step"] or 0)
                return now["state"] == "running" and (now["progress"]["step"] or 0) >= start["step"] + steps
            wait_for(f"{steps} steps before the {name} is killed", has_got_on)
            pid = wait_for(f"a {name}", lambda: self.victim(name))
            os.kill(pid, signal.SIGKILL)
            if name == "daemon":
                place.cli("up")
            else:
                wait_for(f"another attempt after the {name} was killed",
                         lambda: place.show(run)["attempt"] > before["attempt"])
        ended = place.wait(run, "finished", "failed", seconds=200)
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual(ended["restarts"], ended["attempt"] - 1)
        losses = place.losses(run)
        self.assertEqual([step for step, _ in losses], list(range(1, ended["progress"]["step"] + 1)))
        self.assertEqual(ended["receipt"]["rows_trained"], ended["receipt"]["rows_kept"])
        place.down()
        wait_for("no process left", lambda: not place.processes(), 20)


class ChangedDataTest(unittest.TestCase):
    """A file that changes while a run reads it stops the run, whose error names it; once it is restored, the run can be
    resumed."""

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)
        self.ratings = self.place.dir / "spec" / "ratings.csv"
        self.planned = self.ratings.read_bytes()
        middle = len(self.planned) // 2
        self.other = self.planned[:middle] + self.planned[middle:].replace(b",5.0,", b",0.5,")
        edit(self.place.spec, ("epochs: 3", "epochs: 200"))

    def run_into(self, change, what):
        place = self.place.up()
        run = place.submit()[0]
        wait_for("epoch 2", lambda: (place.show(run)["progress"].get("epoch") or 0) >= 1)
        change()
        ended = place.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "failed")
        self.assertIn(f"{self.ratings}: changed since the run was planned: ", ended["exit_reason"])
        self.assertRegex(ended["exit_reason"], what)
        return run, ended

    def write_in_place(self):
        with open(self.ratings, "r+b") as f:
            f.write(self.other)

    def test_a_file_written_to_in_place_in_epoch_2_stops_the_run_and_is_named(self):
        self.assertEqual(len(self.other), len(self.planned))
        run, ended = self.run_into(self.write_in_place, "it was written to at 2|its hash is")
        at = ended["progress"]["step"]
        self.ratings.write_bytes(self.planned)
        self.place.cli("resume", run)
        wait_for("steps after the resume", lambda: (self.place.show(run)["progress"]["step"] or 0) > at)

    def test_a_file_replaced_in_epoch_2_stops_the_run_and_is_named(self):
        new = self.ratings.with_suffix(".new")
        new.write_bytes(self.other)
        self.run_into(lambda: os.replace(new, self.ratings), "another file took its place|it was removed|its hash is")


class IdleTest(unittest.TestCase):
    def setUp(self):
        self.place = Place().up()
        self.addCleanup(self.place.close)

    def cpu_seconds(self, pid, thread=None):
        path = f"/proc/{pid}/stat" if thread is None else f"/proc/{pid}/task/{thread}/stat"
        with open(path) as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wakeups(self, pid, name):
        """How often the thread `name` of the process has gone to sleep."""
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/status") as f:
                status = dict(line.split(":", 1) for line in f)
            if status["Name"].strip() == name:
                return int(status["voluntary_ctxt_switches"])
        self.fail(f"no thread {name}")

    def pass_time(self, seconds):
        end = time.monotonic() + seconds
        wait_for("time to pass", lambda: time.monotonic() >= end, seconds + 10)

    def watch_until(self, pid, wakeups):
        """Requests samples of the machine until the daemon has taken `wakeups` of them."""
        def enough():
            self.place.json("top")
            return self.wakeups(pid, "telemetry") >= wakeups
        wait_for("samples while a client watches", enough)

    def quiet_seconds(self, pid, seconds):
        """Returns samples taken and CPU used (s per s) over `seconds` in which no client watches."""
        woken, cpu = self.wakeups(pid, "telemetry"), self.cpu_seconds(pid)
        self.pass_time(seconds)
        return self.wakeups(pid, "telemetry") - woken, (self.cpu_seconds(pid) - cpu) / seconds

    def test_a_daemon_that_nobody_watches_takes_next_to_nothing(self):
        pid = self.place.daemon_pid()
        self.watch_until(pid, self.wakeups(pid, "telemetry") + 3)
        # Other tests may keep the machine busy, so the quietest period counts.
        stretches = []
        while len(stretches) < 8 and not any(w <= 1 and c < 0.01 for w, c in stretches):
            stretches.append(self.quiet_seconds(pid, 4))
        self.assertTrue(any(w <= 1 and c < 0.01 for w, c in stretches),
                        f"(samples, CPU s per s) of stretches without a watcher: {stretches}")
        with open(f"/proc/{pid}/status") as f:
            rss_kb = int(next(line for line in f if line.startswith("VmRSS")).split()[1])
        self.assertLess(rss_kb * 1024, 60 * MB)


if __name__ == "__main__":
    unittest.main(verbosity=2)
