#!/usr/bin/env python3
"""Ranks of a script that do not meet at each step, and scripts without a stream. No torch."""
import os
import signal
import unittest

from harness import streamed
from poll import wait_for
from run_harness import SCRIPT, RunCase

# Each rank waits for its own files, so one rank can be steps ahead of another.
APART = SCRIPT.replace('os.path.join(HERE, "hold")', 'os.path.join(HERE, f"hold{os.environ[\'RANK\']}")')

IDLE_WHEN_RESUMED = """
import os
import millrace
resumed = millrace.resume()
stream = millrace.stream(os.environ["MILLRACE_SPEC"], as_numpy=True)
for batch in [] if resumed else stream:
    millrace.log(loss=1.0)
    if stream.step == 3:
        millrace.checkpoint(b"it says that training is over")
        os.kill(os.getpid(), 9)
"""


class Apart(RunCase):
    def test_a_rank_that_is_killed_far_behind_loses_no_row(self):
        spec = self.prepare(APART, total=2000, epochs=1)
        self.touch("hold1")
        for step in range(1, 8):
            self.touch(f"go{step}")
        run = self.submit(spec)[0]
        wait_for("rank 0 is at its end, rank 1 at step 8",
                 lambda: "ended" in (self.told(0) or [{}])[-1] and self.steps_told(1)[-1:] == [8])
        shown = wait_for("the checkpoint that both have passed", lambda: (s := self.show(run))["checkpoints"] and s)
        self.assertEqual([one["step"] for one in shown["checkpoints"]], [5], "the later ones wait for rank 1")
        os.kill(self.pid_of(1), signal.SIGKILL)
        os.unlink(os.path.join(self.folder, "hold1"))
        ended = self.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual([line["begun"] for line in self.told(1) if "begun" in line], [0, 5])
        numbers = []
        for rank in (0, 1):
            told = self.told(rank)
            second = [at for at, line in enumerate(told) if "begun" in line][1]
            kept = [line for line in told[:second] if line.get("step", 6) <= 5] + told[second:]
            numbers += [number for line in kept for number in line.get("numbers", [])]
        self.assertEqual(len(numbers), ended["receipt"]["rows_trained"])
        self.assertEqual(len(set(numbers)), len(numbers), "each row once")
        self.assertEqual(ended["receipt"]["order_hash"], streamed(spec, "--last", "drop")["order_hash"])

    def test_a_resumed_script_that_reads_nothing_has_failed(self):
        spec = self.prepare(IDLE_WHEN_RESUMED, ranks=1)
        ended = self.wait(self.submit(spec)[0], "finished", "failed")
        self.assertEqual((ended["state"], ended["attempt"]), ("failed", 2))
        self.assertIn("had read no batch behind step 3", ended["exit_reason"])

    def test_a_rank_that_reads_nothing_fails_the_run(self):
        script = "import os, sys\nif os.environ['RANK'] == '1':\n    sys.exit(0)\n" + SCRIPT
        ended = self.wait(self.submit(self.prepare(script))[0], "finished", "failed")
        self.assertEqual((ended["state"], ended["attempt"]), ("failed", 1))
        self.assertIn("the script of rank1 ended and had not read the run's stream", ended["exit_reason"])


if __name__ == "__main__":
    unittest.main()
