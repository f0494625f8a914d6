#!/usr/bin/env python3
"""Scores of evaluations on nodes: `compare` finds them at the head, like those of runs on its own machine."""
import glob
import os
import shutil
import signal
import unittest

import numpy
from elsewhere_test import ElsewhereCase
from harness import MOVIELENS
from poll import is_gone, wait_for
from spread_test import NODES, SpreadCase

# Writes scores of ROWS generated rows at its end, where millrace.evaluate() keeps them. Each row's label follows from its
# key.
KEEPS = """
import json, os
import millrace
import numpy
from millrace import _scores

HERE = os.path.dirname(os.path.abspath(__file__))
stream = millrace.stream(os.path.join(HERE, "spec.yaml"), as_numpy=True)
for batch in stream:
    pass
if os.environ["RANK"] == "0":
    with open(os.environ["MILLRACE_JOB"]) as file:
        job = json.load(file)
    keys = numpy.random.default_rng(1).integers(0, 2**64, ROWS, dtype=numpy.uint64)
    scores = numpy.random.default_rng(SEED).random(ROWS, dtype=numpy.float32)
    _scores.write(job["checkpoint_dir"], job["attempt"], stream.step, "0" * 32, keys, {"liked": (scores, (keys % 2).astype(numpy.float32))})
"""


def mean_loss(rows, seed):
    """The log loss of the scores that KEEPS writes."""
    keys = numpy.random.default_rng(1).integers(0, 2**64, rows, dtype=numpy.uint64)
    scores = numpy.clip(numpy.random.default_rng(seed).random(rows, dtype=numpy.float32).astype(numpy.float64), 1e-12, 1 - 1e-12)
    return -numpy.log(numpy.where(keys % 2, scores, 1 - scores)).mean()


class ScoresCase(ElsewhereCase):
    """Nodes that send one megabyte a second, and that may be away for longer than a new agent takes to start."""
    options = ("--no-train-here", "--node-away", "20")

    def agent(self, name, *more):
        super().agent(name, "--checkpoint-rate", "1", *more)

    def keep(self, rows, seed):
        """A run that keeps scores."""
        return self.submit(self.prepare(KEEPS.replace("ROWS", str(rows)).replace("SEED", str(seed)), ranks=1, every=0))[0]

    def moving(self, run):
        """Waits until the scores are being transferred."""
        def look():
            found = self.show(run)["hand_over"]
            return found if found and found["what"] == "scores" and 0 < found["sent"] < found["bytes"] else None
        return wait_for(lambda: f"its scores are on their way: {self.show(run)}", look, 60, step=0.05)

    def finished(self, run):
        ended = self.wait(run, "finished", "failed", "cancelled", seconds=120)
        self.assertEqual(ended["state"], "finished", (ended["exit_reason"], [e["text"] for e in ended["events"]]))
        return ended

    def pair(self, first, second):
        return self.json("compare", first, second)["paired"]["runs"][second]

    def at_head(self, run, pattern="scores-*.zst"):
        return glob.glob(os.path.join(self.folder, "state", "millrace", "runs", run, "checkpoints", pattern))


class Scores(ScoresCase):
    def test_a_run_ends_with_its_scores_at_the_head_also_when_agent_and_head_are_killed_meanwhile(self):
        rows = 500_000
        run = self.keep(rows, 2)
        self.moving(run)
        self.assertRegex(self.cli("show", run), r"hand-over +scores of step \d+ are on their way to the head: .* of ")
        node = self.node_of(run, "rank0")
        agent = self.pids("--slot", node)[0]
        os.kill(agent, signal.SIGKILL)
        wait_for("it is gone", lambda: is_gone(agent))
        begun = os.path.getsize(self.at_head(run, "scores-*.tmp-part")[0])
        self.agent(node)
        self.assertGreaterEqual(self.moving(run)["sent"], begun, "it resumes where it was")
        self.kill_head()
        self.assertEqual(self.at_head(run), [])
        self.head()
        self.finished(run)
        self.assertEqual(len(self.at_head(run)), 1)
        self.assertEqual(self.at_head(run, "*.tmp-part"), [])
        other = self.keep(rows, 3)
        self.finished(other)
        pair = self.pair(run, other)
        liked = pair["heads"]["liked"]
        self.assertEqual((pair["rows"], pair["share"], pair["is_sample"]), (rows, 1, False))
        self.assertAlmostEqual(liked["log_loss_of_first"], mean_loss(rows, 2), places=9)
        self.assertAlmostEqual(liked["log_loss"], mean_loss(rows, 3), places=9)
        wait_for("nothing of it is left on nodes", lambda: not any(os.path.exists(os.path.join(self.folder, one, "runs", run)) for one in NODES))
        self.cli("rm", "--purge", "--yes", run)
        self.assertEqual(self.at_head(run), [])

    def test_after_the_grace_of_a_stop_they_are_given_up(self):
        run = self.keep(4_000_000, 2)
        self.moving(run)
        self.cli("stop", run, "--grace", "3")
        self.wait(run, "cancelled", "failed", "finished", seconds=30)
        self.assertRegex(self.history(run), r"the scores of step \d+ did not come from node node. within the grace: given up")
        self.assertEqual(self.at_head(run), [])


class SharedScores(ScoresCase):
    @property
    def options(self):
        return ("--no-train-here", "--checkpoints", os.path.join(self.folder, "shared"))

    def test_a_directory_that_all_see_has_them_at_once(self):
        run, other = self.keep(1_000, 2), self.keep(1_000, 3)
        self.finished(run)
        self.finished(other)
        place = glob.glob(os.path.join(self.folder, "shared", f"{run}-*"))[0]
        self.assertEqual(len(glob.glob(os.path.join(place, "scores-*.zst"))), 1)
        self.assertEqual(self.pair(run, other)["rows"], 1_000)
        self.cli("rm", "--purge", "--yes", run)
        self.assertFalse(os.path.exists(place))


class AsLocal(SpreadCase):
    """Starts with a daemon alone, then compares with the same runs of a head with nodes."""

    def begin(self):
        folder = os.path.join(self.folder, "movielens")
        shutil.copytree(os.path.dirname(MOVIELENS), folder)
        self.path = os.path.join(folder, "movielens.yaml")
        self.cli("up")

    def trained(self):
        runs = {}
        for run in self.submit(self.path, "--variation", "movie-mean", "--variation", "movie-user-mean"):
            runs[self.wait(run, "finished", "failed", "cancelled", seconds=120)["variation"]] = run
        return runs["movie-mean"], runs["movie-user-mean"]

    def compared(self, first, second):
        return self.json("compare", first, second)["paired"]["runs"][second]

    def test_compare_says_of_runs_on_nodes_what_it_says_of_local_ones(self):
        local = self.trained()
        self.cli("down")
        self.options = ("--no-train-here",)
        super().begin()
        away = self.trained()
        here, there = self.compared(*local), self.compared(*away)
        self.assertEqual(here["rows"], 20133)
        self.assertEqual(there, here)
        self.assertEqual(self.compared(local[0], away[0])["heads"]["liked"]["log_loss_difference"], 0)


if __name__ == "__main__":
    unittest.main()
