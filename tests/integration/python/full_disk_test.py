#!/usr/bin/env python3
"""A disk that fills up during a script's start: the run waits for room, however its workers ended."""
import os
import subprocess
import time
import unittest

from harness import BIN
from poll import wait_for
from run_harness import RunCase

BLOCK = 1 << 20
STARTS = 1250 * 1024  # bytes that suffice for a start to begin


class FullDisk(RunCase):
    def make_state(self):
        why = self.mount_state(24)
        if why:
            self.skipTest("no small disk may be mounted here: " + why)
        self.disk = os.path.join(self.folder, "state")
        self.ballast = os.path.join(self.disk, "ballast")

    def fill(self, left):
        """Fills the disk except for about `left` bytes."""
        with open(self.ballast, "ab", buffering=0) as file:
            while (more := os.statvfs(self.disk).f_bavail * os.statvfs(self.disk).f_bsize - left) > 4095:
                try:
                    file.write(b"\0" * min(more, BLOCK))
                except OSError:
                    return

    def start(self, spec, worker, seconds):
        """Starts a run and fills the disk for `seconds` once this worker is there; returns how the run ended."""
        runs = os.path.join(self.disk, "millrace", "runs")
        known = set(os.listdir(runs))
        self.fill(STARTS)
        with subprocess.Popen([os.path.join(BIN, "millrace"), "run", spec, "--detach"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, cwd=self.folder) as submit:
            run = wait_for("its directory", lambda: next(iter(set(os.listdir(runs)) - known), None), step=0.001)
            guardian = os.path.join(runs, run, "a1", worker, "guardian.json")
            wait_for("a part of the gang", lambda: os.path.exists(guardian) or self.show(run)["ended"], step=0.001)
            self.fill(0)
            end = time.monotonic() + seconds
            wait_for("the disk has been full for a while", lambda: time.monotonic() > end)
            os.truncate(self.ballast, 0)
        return self.wait(run, "finished", "failed")

    def test_a_run_whose_start_meets_it_at_any_point_waits_for_room(self):
        spec = self.prepare(total=600, train="max_restarts: 0")
        self.wait(self.submit(spec)[0], "finished")  # the store and its journal have reached their sizes
        for worker, seconds in (("rank0", 3), ("rank0", 1), ("rank1", 0.5), ("rank1", 0.6), ("rank1", 0.7), ("rank1", 1)):
            ended = self.start(spec, worker, seconds)
            self.assertEqual(ended["state"], "finished",
                             (worker, seconds, ended["exit_reason"], [event["text"] for event in ended["events"]]))


if __name__ == "__main__":
    unittest.main()
