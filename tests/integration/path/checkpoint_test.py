#!/usr/bin/env python3
"""Which step a run resumes from after something went wrong with its checkpoints; daemon, trainer and files are real.

    checkpoint_test.py [-v] [CheckpointTest.test_name]        ctest runs every test on its own
"""
import json
import os
import pathlib
import re
import signal
import socket
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Failed, Place, edit, wait_for  # noqa: E402

NAME = re.compile(r"step-(\d{8,})(?:\.a(\d+))?\.safetensors$")


def is_stopped(pid):
    """Whether every thread is stopped: a signal takes time, and a thread may be writing a checkpoint."""
    states = [stat.read_text().rpartition(")")[2].split()[0] for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    return set(states) == {"T"}


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def start(self, epochs=40, every=100, keep=3, restarts=20):
        self.place.up()  # a trainer takes some 600 steps a second, an epoch has 158
        edit(self.place.spec, ("epochs: 3", f"epochs: {epochs}"), ("max_restarts: 3", f"max_restarts: {restarts}"),
             ("every_steps: 100, keep: 3", f"every_steps: {every}, keep: {keep}"))
        return self.place.submit()[0]

    def folder(self, run):
        return self.place.dir / "state" / "millrace" / "runs" / run / "checkpoints"

    def steps(self, run):
        """Steps of the checkpoint files in the folder, whether the store lists them or not."""
        folder = self.folder(run)
        names = os.listdir(folder) if folder.is_dir() else []
        return sorted({int(m[1]) for m in map(NAME.match, names) if m})

    def file_of(self, run, step):
        return next(self.folder(run) / n for n in sorted(os.listdir(self.folder(run)), reverse=True)
                    if (m := NAME.match(n)) and int(m[1]) == step)

    def history(self, run):
        path = self.folder(run).parent / "events.jsonl"
        return [json.loads(line)["text"] for line in path.read_text().splitlines()]

    def started_from(self, run, attempt):
        """The step from which an attempt started; None if it has not started."""
        for text in self.history(run):
            if m := re.fullmatch(rf"attempt {attempt} starts(?: from step (\d+))?", text):
                return int(m[1] or 0)
        return None

    def kill_daemon(self):
        os.kill(self.place.daemon_pid(), signal.SIGKILL)

    def trainer(self):
        return wait_for("a trainer", lambda: self.place.worker("millrace-trainer"))

    def ends_whole(self, run, seconds=200):
        ended = self.place.wait(run, "finished", "failed", seconds=seconds)
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual([s for s, _ in self.place.losses(run)], list(range(1, ended["progress"]["step"] + 1)))
        self.assertEqual(ended["receipt"]["rows_trained"], ended["receipt"]["rows_kept"])
        return ended

    def test_a_long_time_without_a_daemon_costs_no_more_than_the_way_since_the_newest_file(self):
        run = self.start()
        known = wait_for("three checkpoints", lambda: (c := self.place.show(run)["checkpoints"]) and len(c) >= 3 and c)
        self.kill_daemon()
        last = known[-1]["step"]
        wait_for("five more files of which nobody was told", lambda: len([s for s in self.steps(run) if s > last]) >= 5)
        self.assertTrue(all(c["step"] in self.steps(run) for c in known[-2:]), "nothing was removed without a daemon")
        os.kill(self.trainer(), signal.SIGKILL)
        newest = self.steps(run)[-1]
        self.place.cli("up")
        wait_for("another attempt", lambda: self.started_from(run, 2) is not None)
        self.assertGreaterEqual(self.started_from(run, 2), newest)
        self.assertTrue(any("was found in its directory" in t for t in self.history(run)))
        self.ends_whole(run)
        wait_for("three files are left", lambda: len(self.steps(run)) == 3, 20)

    def test_with_one_kept_a_kill_at_any_moment_goes_on_from_a_checkpoint(self):
        run = self.start(every=50, keep=1, restarts=50)
        wait_for("a first file", lambda: self.steps(run))
        for attempt in range(1, 6):
            before = self.steps(run)[-1]
            wait_for("a new file", lambda: self.steps(run)[-1:] > [before])
            os.kill(self.trainer(), signal.SIGKILL)
            wait_for("the next attempt", lambda: self.started_from(run, attempt + 1) is not None)
            self.assertGreater(self.started_from(run, attempt + 1), before, self.history(run))
            wait_for("it trains", lambda: self.place.show(run)["state"] == "running")
        self.ends_whole(run)

    def stop_between_checkpoints(self, run, trainer):
        """Stops the trainer while the daemon knows its newest checkpoint; returns the steps of its files. If the trainer was
        stopped after it wrote a file and before it reported it, it continues for a moment."""
        for _ in range(20):
            os.kill(trainer, signal.SIGSTOP)
            wait_for("a stopped trainer", lambda: is_stopped(trainer))
            try:
                return wait_for("nothing on its way", lambda: (s := self.steps(run)) and s[-1] in
                                [c["step"] for c in self.place.show(run)["checkpoints"]] and s, seconds=3)
            except Failed:
                os.kill(trainer, signal.SIGCONT)
        self.fail("each time a checkpoint was on its way")

    def test_a_damaged_newest_checkpoint_means_the_one_before(self):
        run = self.start()
        wait_for("two checkpoints", lambda: len(self.place.show(run)["checkpoints"]) >= 2)
        trainer = self.trainer()
        steps = self.stop_between_checkpoints(run, trainer)
        with open(self.file_of(run, steps[-1]), "r+b") as f:
            f.seek(5000)
            byte = f.read(1)
            f.seek(5000)
            f.write(bytes([byte[0] ^ 1]))
        os.kill(trainer, signal.SIGKILL)
        wait_for("another attempt", lambda: self.started_from(run, 2) is not None)
        self.assertEqual(self.started_from(run, 2), steps[-2])
        self.assertTrue(any(n.endswith(".damaged") for n in os.listdir(self.folder(run))))
        self.assertTrue(any(".damaged" in t and "checksum" in t for t in self.history(run)))
        self.ends_whole(run)

    def test_checkpoints_that_cannot_be_read_stop_the_run_and_cut_nothing(self):
        run = self.start()
        wait_for("a checkpoint", lambda: self.place.show(run)["checkpoints"])
        trainer = self.trainer()
        os.kill(trainer, signal.SIGSTOP)
        folder = self.folder(run)
        folder.rename(folder.with_name("away"))
        folder.write_text("in the way")
        os.kill(trainer, signal.SIGKILL)
        failed = self.place.wait(run, "failed")
        self.assertIn("cannot be read", failed["exit_reason"])
        self.assertIn("nothing was cut", failed["exit_reason"])
        self.assertEqual(failed["attempt"], 1)
        self.assertGreaterEqual([s for s, _ in self.place.losses(run)][-1], failed["progress"]["step"])
        folder.unlink()
        folder.with_name("away").rename(folder)
        newest = self.steps(run)[-1]
        self.place.cli("resume", run)
        self.ends_whole(run)
        self.assertEqual(self.started_from(run, 2), newest)

    def test_a_run_whose_checkpoints_are_gone_does_not_begin_again_by_itself(self):
        run = self.start()
        wait_for("a checkpoint", lambda: self.place.show(run)["checkpoints"])
        trainer = self.trainer()
        os.kill(trainer, signal.SIGSTOP)
        wait_for("a stopped trainer", lambda: is_stopped(trainer))
        for name in os.listdir(self.folder(run)):
            (self.folder(run) / name).unlink()
        os.kill(trainer, signal.SIGKILL)
        failed = self.place.wait(run, "failed")
        self.assertIn("no checkpoint is left", failed["exit_reason"])
        self.assertIn("--from-start", failed["exit_reason"])
        losses = self.place.losses(run)
        self.assertTrue(losses)
        self.place.cli("resume", run, code=1)
        self.assertRegex(self.place.err, "has no checkpoint.*--from-start")
        self.assertEqual(self.place.losses(run), losses)
        self.place.cli("resume", run, "--from-start")
        self.ends_whole(run)
        self.assertEqual(self.started_from(run, 2), 0)

    def test_a_rewind_whose_daemon_dies_keeps_to_its_course(self):
        run = self.start(epochs=20, keep=50)
        first = self.ends_whole(run)
        steps = [c["step"] for c in first["checkpoints"]]
        middle = steps[len(steps) // 2]
        self.place.cli("resume", run, "--step", middle)
        wait_for("the attempt works", lambda: (self.place.show(run)["progress"]["step"] or 0) < steps[-1])
        self.kill_daemon()
        if pid := self.place.worker("millrace-trainer"):
            os.kill(pid, signal.SIGKILL)
        self.place.cli("up")
        ended = self.ends_whole(run)
        self.assertEqual(ended["weights_hash"], first["weights_hash"])
        self.assertLess(self.started_from(run, ended["attempt"]), steps[-1])
        self.assertTrue(any(n.endswith(".void") for n in os.listdir(self.folder(run))))

    def test_a_worker_cannot_have_other_files_removed(self):
        run = self.start(every=0, keep=1)
        wait_for("it runs", lambda: self.place.show(run)["state"] == "running")
        mine = self.place.dir / "step-00000001.ckpt"
        mine.write_text("mine")
        door = socket.socket(socket.AF_UNIX)
        self.addCleanup(door.close)
        door.connect(str(self.folder(run).parent / "a1" / "rank.sock"))
        lines = [{"type": "hello", "run": run, "attempt": 1, "role": "rank", "rank": 7, "pid": 1}]
        for seq in range(1, 6):
            lines.append({"type": "checkpoint", "seq": seq, "step": seq, "path": str(mine), "bytes": 4, "hash": "h"})
        door.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        answer = b""
        while b'"ack":5' not in answer.replace(b" ", b""):
            piece = door.recv(4096)
            self.assertTrue(piece, answer)
            answer += piece
        self.assertEqual(mine.read_text(), "mine")
        door.sendall(json.dumps({"type": "checkpoint", "seq": 6, "step": 6, "name": "../events.jsonl", "bytes": 4,
                                 "hash": "h"}).encode() + b"\n")
        self.assertIn(b'"ack":6', door.recv(4096).replace(b" ", b""), "a name with a directory in it is dropped, not tried for ever")
        self.assertTrue((self.folder(run).parent / "events.jsonl").exists())

    def test_a_gang_that_cannot_be_read_is_not_taken_for_ended(self):
        run = self.start()
        wait_for("a checkpoint", lambda: self.place.show(run)["checkpoints"])
        trainer = self.trainer()
        record = self.folder(run).parent / "a1" / "gang.json"
        self.kill_daemon()
        text = record.read_text()
        record.write_text("")
        self.place.cli("up")
        wait_for("it says what it does not know",
                 lambda: any("cannot be asked for" in t for t in self.history(run)))
        self.assertEqual(self.place.show(run)["state"], "running")
        self.assertEqual(self.place.worker("millrace-trainer"), trainer)
        step = self.place.show(run)["progress"]["step"]
        wait_for("its lines are taken", lambda: self.place.show(run)["progress"]["step"] > step)
        record.write_text(text)
        wait_for("it is adopted", lambda: any("adopted" in t for t in self.history(run)))
        self.assertEqual(self.ends_whole(run)["attempt"], 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
