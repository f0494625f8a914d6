#!/usr/bin/env python3
"""Where the time of a run went: the clock of a script, and a script's run over a restart of the daemon. No torch."""
import json
import os
import random
import signal
import threading
import unittest

from poll import wait_for
from run_harness import RunCase

from millrace._link import Link
from millrace._phases import Phases

PARTS = ("busy_ms", "stall_ms", "evaluate_ms", "checkpoint_ms", "start_ms", "ending_ms")


class Clock:
    """A clock that the test moves."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class ScriptsClock(unittest.TestCase):
    def test_no_part_ever_falls_and_all_are_the_time_that_passed(self):
        for seed in range(20):
            draw, clock = random.Random(seed), Clock()
            phases = Phases(clock)
            before, expected = phases.told(), dict.fromkeys(PARTS, 0.0)

            def passes(part, draw=draw, clock=clock, phases=phases, expected=expected, seed=seed):
                nonlocal before
                seconds = draw.random()
                clock.now += seconds
                expected[f"{part}_ms"] += 1e3 * seconds
                told = phases.told()
                for name in PARTS:
                    self.assertGreaterEqual(told[name], before[name], f"{name}, seed {seed}")
                self.assertAlmostEqual(sum(told.values()), 1e3 * (clock.now - 1000.0), 4)
                before = told

            passes("start")
            with phases.waiting():
                passes("start")  # the first batch ends the phase "start"
            for _ in range(100):
                passes("busy")
                kind = draw.choice(("stall", "evaluate", "checkpoint"))
                if kind == "stall":
                    with phases.waiting():
                        passes("stall")
                elif kind == "checkpoint":
                    with phases.during("checkpoint"):
                        passes("checkpoint")
                else:
                    entered = phases.enter("evaluate")
                    passes("evaluate")
                    if draw.random() < 0.5:  # otherwise the evaluation is left in the middle, and the loop continues
                        phases.enter(entered)
                    else:
                        with phases.waiting():
                            passes("stall")
            phases.enter("ending")
            passes("ending")
            for name in PARTS:
                self.assertAlmostEqual(before[name], expected[name], 4, f"{name}, seed {seed}")

    def test_an_open_wait_counts_at_once(self):
        clock = Clock()
        phases = Phases(clock)
        with phases.waiting():
            pass
        with phases.waiting():
            clock.now += 2.5
            self.assertEqual(phases.told()["stall_ms"], 2500)
            self.assertEqual(phases.told()["busy_ms"], 0)

    def test_the_points_of_the_stall_weighted_by_time_make_the_counters_share(self):
        clock = Clock()
        link = object.__new__(Link)  # without a daemon
        link.phases, link.run, link._values, link._lock = Phases(clock), None, {}, threading.RLock()
        link._step_seconds, link._has_told_step, link._stalled = 0.0, False, (0.0, 0.0)
        clock.now += 9  # the share does not count the start
        with link.phases.waiting():
            clock.now += 1
        weighted, since = 0.0, clock.now
        for step in range(1, 400):  # steps of a millisecond: only some are reported, and none of those waits
            with link.phases.waiting():
                waited = 0.02 * (step % 8 == 3)
                clock.now += waited
            clock.now += 0.001
            link.step = step
            link._measure(waited + 0.001, waited)
            if "input_stall_percent" in link._values:
                weighted += link._values.pop("input_stall_percent") / 100 * (clock.now - since)
                since = clock.now
                self.assertAlmostEqual(weighted, link.phases.told()["stall_ms"] / 1e3, 9, step)
        self.assertGreater(weighted, 0.9)


# An evaluation takes half a second, by the call and by an own loop in turn; a step takes 30 ms.
SCRIPT = """
import json, os
import millrace
import numpy
import poll

HERE = os.path.dirname(os.path.abspath(__file__))
resumed = millrace.resume()
stream = millrace.stream(os.path.join(HERE, "spec.yaml"), as_numpy=True)

def predict(batch):
    poll.pause(0.25)
    return numpy.full(batch.rows, 0.5)

for batch in stream:
    poll.pause(0.03)
    millrace.log(loss=1.0 / stream.step)
    if stream.step == 10:
        millrace.evaluate(predict)
    if stream.step == 20:
        for rows in stream.evaluation():
            predict(rows)
    if stream.checkpoint_due:
        millrace.checkpoint(b"x")
    if stream.step == 25 and resumed is None:
        with open(os.path.join(HERE, "rank0.jsonl"), "w") as file:
            file.write(json.dumps({"begun": 0, "pid": os.getpid()}) + "\\n")
        poll.pause(60)
"""


# The loop ends soon; the process ends two seconds later, one second of which is an exit handler of the interpreter.
LEAVING = """
import atexit, os
import poll

atexit.register(poll.pause, 1)
import millrace
for batch in millrace.stream(os.environ["MILLRACE_SPEC"], as_numpy=True):
    pass
poll.pause(1)
"""


class Times(RunCase):
    def test_what_follows_the_last_step_is_the_ending(self):
        run = self.wait(self.submit(self.prepare(LEAVING, ranks=1))[0], "finished", "failed")
        told = run["progress"]
        self.assertGreater(told["ending_ms"], 1900, told)
        self.assertLess(told["start_ms"] + told["busy_ms"], 1900, told)
        wall = self.seconds(run["ended"]) - self.seconds(run["started"])
        self.assertAlmostEqual(sum(told[part] for part in PARTS) / 1e3, wall, delta=0.1)
        self.assertRegex(self.cli("show", run["id"]), r"time .*, 2\.\d s ending")

    def test_of_a_script_they_never_fall_and_sum_to_the_time_of_the_run_over_a_restart(self):
        spec = self.prepare(SCRIPT, ranks=1, total=200, rows=5, micro=5,
                            more='eval: {dataset: {where: "number % 20 = 0"}}\n')
        run = self.submit(spec)[0]
        before = dict.fromkeys(PARTS, 0.0)

        def look(shown=None):
            told = (shown or self.show(run))["progress"]
            for part in PARTS:
                self.assertGreaterEqual(told.get(part) or 0, before[part] - 60, part)  # no part falls by more than the delay of a report
                before[part] = told.get(part) or 0
            return told
        wait_for("step 25", lambda: look() and self.told(0))
        self.assertGreater(look().get("evaluate_ms") or 0, 2 * 450)
        os.kill(self.pid_of(0), signal.SIGKILL)

        def has_ended():
            shown = self.show(run)
            look(shown)
            return shown["state"] in ("finished", "failed")
        wait_for("the end", has_ended, 60)
        ended = self.show(run)
        self.assertEqual((ended["state"], ended["attempt"]), ("finished", 2), ended["exit_reason"])
        told = look(ended)
        wall = self.seconds(ended["ended"]) - self.seconds(ended["started"])
        self.assertAlmostEqual(sum(told[part] for part in PARTS) / 1e3, wall, delta=0.02 * wall)
        self.assertGreater(told["checkpoint_ms"], 0)
        self.assertGreater(told["start_ms"], 0)
        self.assertGreater(told["busy_ms"], 30 * ended["progress"]["step"] * 0.9)
        self.assertIsNone(told["stall_percent_now"], "it has ended")
        share = 100 * told["stall_ms"] / sum(told[part] for part in PARTS)
        self.assertAlmostEqual(told["stall_percent"], share, 6)
        # The metrics from which a console draws its strip agree, up to their last point.
        names = [f"system.time.{part}" for part in PARTS]
        series = {one["name"]: one["points"] for one in
                  self.json("metrics", run, *[word for name in names for word in ("--name", name)])["series"]}
        for part, name in zip(PARTS, names):
            values = [point["value"] for point in series[name]]
            self.assertEqual(values, sorted(values), name)
            self.assertLessEqual(values[-1], told[part] + 60)
        self.assertIn("input stall", self.cli("show", run))
        self.assertIn("evaluating", self.cli("show", run))

    @staticmethod
    def seconds(time):
        clock = time.split("T")[1].rstrip("Z").split(":")
        return 3600 * int(clock[0]) + 60 * int(clock[1]) + float(clock[2])


if __name__ == "__main__":
    unittest.main()
