#!/usr/bin/env python3
"""How a script ends: what its receipt has, and how long its interpreter takes. No torch."""
import os
import subprocess
import unittest

from harness import BIN
from poll import wait_for
from run_harness import RunCase

# The script's first argument is the way in which it ends, the second the step.
SCRIPT = """
import os, sys
import millrace

way, last = sys.argv[1], int(sys.argv[2])
stream = millrace.stream(os.environ["MILLRACE_SPEC"], as_numpy=True)
loop = iter(stream)
for _ in range(len(stream) if way == "counted" else 10**9):
    batch = next(loop, None)
    if batch is None:
        break
    millrace.log(loss=float(stream.step) / 7)
    if stream.step == last:
        if way == "raise":
            raise ValueError("enough")
        if way == "exit":
            sys.exit(0)
        if way == "break":
            break
"""

# Its exit handler was registered before this module's, so it runs after that one.
SLOW = """
import atexit, ctypes, os, sys
import poll

HERE = os.path.dirname(os.path.abspath(__file__))

def leave():
    if sys.argv[1] == "hold":
        ctypes.PyDLL(None).poll(None, 0, 13000)  # keeps the interpreter's lock
    while sys.argv[1] == "wait":
        poll.pause(0.05)
    millrace.log(late=7)

atexit.register(leave)
import millrace
stream = millrace.stream(os.environ["MILLRACE_SPEC"], as_numpy=True)
loop = iter(stream)
for _ in range(len(stream)):
    next(loop)
"""


# Ranks that do not meet: the last rank leaves its loop early.
UNEVEN = """
import os, sys
import millrace

stream = millrace.stream(os.environ["MILLRACE_SPEC"], as_numpy=True)
for batch in stream:
    if int(os.environ["RANK"]) == 1 and stream.step == int(sys.argv[1]):
        break
"""


class Leaving(RunCase):
    def begin(self):
        subprocess.run([os.path.join(BIN, "millraced"), "--silent-after", "1"], check=True, capture_output=True, timeout=60)

    def prepare_way(self, *words, script=SCRIPT, **how):
        spec = self.prepare(script, **how)
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text.replace("script.py]", ", ".join(["script.py", *map(str, words)]) + "]"))
        return spec

    def ended(self, *words, **how):
        return self.wait(self.submit(self.prepare_way(*words, **how))[0], "finished", "failed", "cancelled")

    # 1,000 rows in one segment. A step takes 64 rows, and the last 40 rows of an epoch are left out.
    def check(self, run, step, rows, scanned, ends_inside, state="finished"):
        self.assertEqual(run["state"], state, run["exit_reason"])
        progress, receipt = run["progress"], run["receipt"]
        self.assertEqual((progress["step"], run["rows_trained"]), (step, rows))
        self.assertEqual([point[0] for point in self.losses(run["id"])], list(range(1, step + 1)))
        if receipt is not None:
            self.assertEqual((receipt["rows_trained"], receipt["rows_scanned"], receipt["rows_kept"]), (rows, scanned, scanned))
            self.assertEqual({one["rows_out"] for one in receipt["steps"]}, {scanned})
            self.assertEqual(receipt["ends_inside_segment"], ends_inside)
            self.assertEqual(receipt["open_segment_counted"], ends_inside)
        return run

    def test_a_loop_that_counts_its_steps_is_at_the_streams_end(self):
        run = self.check(self.ended("counted", 0), 30, 30 * 64, 2000, False)
        self.assertNotIn("whole segments", self.cli("show", run["id"]))

    def test_rows_are_counted_to_the_step_that_the_script_left_at(self):
        for way, ranks in (("break", 2), ("exit", 1)):
            run = self.check(self.ended(way, 7, ranks=ranks), 7, 7 * 64, 1000, True)
            self.assertIn("also of the last one, inside which the run ended", self.cli("show", run["id"]))
        self.check(self.ended("break", 20), 20, 20 * 64, 2000, True)
        self.check(self.ended("no", 0, train="max_steps: 5", ranks=1), 5, 5 * 64, 1000, True)

    def test_a_rank_that_leaves_early_ends_the_run_of_one_that_reads_on(self):
        run = self.ended(3, script=UNEVEN, total=300_000, train="max_restarts: 2")
        self.assertEqual((run["state"], run["attempt"]), ("failed", 1), run["events"])
        self.assertRegex(run["exit_reason"], r"^rank1 left the stream after step 3, so rank0 gets no data after step \d+; all ranks of a "
                                             r"run have to leave it after the same step \(no restart: it would end the same way\)$")

    def test_of_ranks_that_leave_at_different_steps_only_what_all_read_counts(self):
        run = self.ended(3, script=UNEVEN)
        self.assertEqual((run["state"], run["exit_reason"]),
                         ("finished", "rank1 left the stream after step 3, rank0 after step 30; the receipt ends at step 3"))
        self.assertEqual(run["receipt"]["rows_trained"], 3 * 64)

    def test_a_script_that_fails_stands_at_its_last_step_with_the_rows_of_those_before(self):
        run = self.ended("raise", 11, ranks=1, every=0, train="max_restarts: 0")
        self.check(run, 11, 10 * 64, 1000, True, state="failed")

    def test_a_script_that_takes_long_to_leave_is_ending_and_is_waited_for(self):
        run = self.submit(self.prepare_way("hold", script=SLOW, ranks=1))[0]
        shown = []

        def is_ending():
            shown.append(self.show(run))
            return shown[-1]["progress"]["phase"] == "ending" and shown[-1]["progress"]["step"] == 30
        wait_for(lambda: f"it is ending: {shown[-1]['progress']}", is_ending)
        self.assertEqual(shown[-1]["state"], "running")
        ended = self.wait(run, "finished", "failed", "cancelled")
        self.assertEqual((ended["state"], ended["attempt"], ended["rows_trained"]), ("finished", 1, 30 * 64), ended["events"])
        self.assertFalse([event for event in ended["events"] if "stands still" in event["text"]], ended["events"])
        self.assertEqual(self.losses(run, "late"), [(30, 7)])

    def test_a_stop_ends_a_script_that_does_not_leave_and_the_run_is_finished(self):
        run = self.submit(self.prepare_way("wait", script=SLOW, ranks=2))[0]
        wait_for("both ranks are ending", lambda: [rank["phase"] for rank in self.show(run)["ranks"] or []] == 2 * ["ending"])
        self.cli("stop", run, "--grace", "3")
        ended = self.wait(run, "finished", "failed", "cancelled")
        self.assertEqual((ended["state"], ended["rows_trained"]), ("finished", 30 * 64), ended["events"])
        self.assertIn("done, and still leaving after the grace: ended", [event["text"] for event in ended["events"]])


if __name__ == "__main__":
    unittest.main()
