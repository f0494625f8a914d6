#!/usr/bin/env python3
"""Checkpoints of ranks on nodes without a directory shared with the head: nodes hand them over, and fetch one to resume."""
import glob
import os
import signal
import unittest

from drain_test import PLACE, LeaveCase
from elsewhere_test import TWO_DATA, ElsewhereCase
from poll import is_gone, wait_for
from run_harness import SCRIPT
from spread_test import NODES, SpreadCase

MB = 1_000_000
# A script that writes checkpoints of SIZE bytes.
LARGE = SCRIPT.replace('json.dumps({"total": total}).encode()', 'json.dumps({"total": total, "rest": "x" * SIZE}).encode()') + PLACE


class HandOverCase(LeaveCase):
    """Nodes that send one megabyte a second."""

    def agent(self, name, *more):
        super().agent(name, "--checkpoint-rate", "1", *more)

    def prepare_large(self, megabytes, **how):
        return self.prepare(LARGE.replace("SIZE", str(megabytes * MB)), total=2000, **how)

    def node_files(self, run, attempt=1):
        """Checkpoints on the nodes that rank 0 has written."""
        return sorted(os.path.basename(path) for node in NODES
                      for path in glob.glob(os.path.join(self.folder, node, "runs", run, f"a{attempt}", "checkpoints", "*.safetensors")))

    def head_files(self, run, pattern="*"):
        return glob.glob(os.path.join(self.folder, "state", "millrace", "runs", run, "checkpoints", f"step-*{pattern}"))

    def moving(self, run, step):
        """Waits until the checkpoint of that step is being transferred."""
        def look():
            found = self.show(run)["hand_over"]
            return found if found and found["step"] == step and 0 < found["sent"] < found["bytes"] else None
        return wait_for(f"the checkpoint of step {step} is on its way", look, 30, step=0.05)

    def await_next_attempt(self):
        wait_for("the next attempt", lambda: self.begun(0)[1:] and self.begun(1)[1:], 60)

    def assert_resumes(self, run, spec, step):
        """Checks that the next attempt begins after `step` on all ranks, and that the run finishes."""
        self.await_next_attempt()
        self.assertEqual((self.begun(0), self.begun(1)), ([0, step], [0, step]))
        self.release()
        self.assert_whole(run, spec, 2)

    def begun(self, rank=0):
        return [line["begun"] for line in self.told(rank) if "begun" in line]


class HandOver(HandOverCase):
    def test_one_counts_when_the_head_has_it_also_when_agent_and_head_are_killed_meanwhile(self):
        spec = self.prepare_large(6, more=TWO_DATA)
        run = self.begin_one(spec, 8)
        self.moving(run, 5)
        self.assertEqual(self.steps_kept(run), [])
        self.assertRegex(self.cli("show", run), r"hand-over +checkpoint of step 5 is on its way to the head: .* of 6\.")
        self.assertEqual(self.node_files(run), ["step-00000005.a1.safetensors"])
        node = self.node_of(run, "rank0")
        agent = self.pids("--slot", node)[0]
        os.kill(agent, signal.SIGKILL)
        wait_for("it is gone", lambda: is_gone(agent))
        begun = os.path.getsize(self.head_files(run, ".tmp-part")[0])
        self.assertGreater(begun, 0)
        self.agent(node)
        self.assertGreaterEqual(self.moving(run, 5)["sent"], begun, "it resumes where it was")
        self.kill_head()
        begun = os.path.getsize(self.head_files(run, ".tmp-part")[0])
        self.head()
        self.await_nodes(*NODES)
        self.await_kept(run, 5)
        self.assertEqual(self.head_files(run, ".tmp-part"), [])
        wait_for("its agent knows it", lambda: self.show(run)["hand_over"] is None)
        os.kill(self.pid_of(0), signal.SIGKILL)
        self.assert_resumes(run, spec, 5)
        wait_for("nothing of it is left on nodes", lambda: not any(os.path.exists(os.path.join(self.folder, one, "runs", run)) for one in NODES))

    def test_a_stop_waits_for_the_last_one_and_the_resume_begins_there(self):
        spec = self.prepare_large(3)
        run = self.begin_one(spec, 8)
        self.cli("stop", run)
        wait_for("the ranks know it", lambda: self.show(run)["state"] == "stopping")
        self.release()
        stopped = self.wait(run, "cancelled", "failed", "finished")
        self.assertEqual(stopped["state"], "cancelled", stopped["exit_reason"])
        last = stopped["progress"]["step"]
        self.assertIn(last, self.steps_kept(run))
        self.cli("resume", run)
        self.assert_whole(run, spec)
        self.assertEqual(self.begun(0), [0, last])

    def test_a_node_that_is_drained_hands_its_last_one_over_first(self):
        spec = self.prepare_large(3)
        run = self.begin_one(spec, 8)
        node = self.node_of(run, "rank0")
        self.cli("nodes", "drain", node)
        wait_for("its ranks are told", lambda: "its ranks stop and resume on other nodes" in self.history(run))
        self.release()
        self.await_next_attempt()
        last = next(line["ended"] for line in self.told(0) if "ended" in line)
        self.assertEqual((self.begun(0), self.begun(1)), ([0, last], [0, last]))
        self.assert_whole(run, spec, 2)
        self.assert_ended_on(self.other(node))

    def test_after_the_grace_of_a_stop_the_last_one_is_given_up(self):
        spec = self.prepare_large(40)
        run = self.begin_one(spec, 8)
        self.moving(run, 5)
        self.cli("stop", run, "--grace", "3")
        self.release()
        stopped = self.wait(run, "cancelled", "failed", "finished", seconds=30)
        self.assertEqual(stopped["state"], "cancelled", stopped["exit_reason"])
        self.assertRegex(self.history(run), "the checkpoint of step 5 did not come from node node. within the grace: given up")
        self.assertEqual(self.steps_kept(run), [])
        wait_for("nothing of it is left on nodes", lambda: not any(os.path.exists(os.path.join(self.folder, one, "runs", run)) for one in NODES))

    def test_a_failed_attempt_loses_none_that_its_node_still_has(self):
        spec = self.prepare_large(4)
        run = self.begin_one(spec, 8)
        self.moving(run, 5)
        os.kill(self.pid_of(1), signal.SIGKILL)
        self.assert_resumes(run, spec, 5)

    def test_with_a_lost_node_only_what_was_on_its_way_is_lost(self):
        spec = self.prepare_large(2)
        run = self.begin_one(spec, 8)
        self.await_kept(run, 5)
        for step in range(8, 12):
            self.touch(f"go{step}")
        self.moving(run, 10)
        node = self.node_of(run, "rank0")
        self.lose(node)
        self.assert_resumes(run, spec, 5)
        self.assertIsNone(self.show(run)["hand_over"])

    def test_ranks_of_all_nodes_fetch_it_for_a_resume(self):
        spec = self.prepare_large(2)
        run = self.start(spec, 8)
        self.await_kept(run, 5)
        os.kill(self.pid_of(0), signal.SIGKILL)
        self.assert_resumes(run, spec, 5)


class HandOverFullDisk(HandOverCase):
    def make_state(self):
        why = self.mount_state(48)
        if why:
            self.skipTest("no small disk may be mounted here: " + why)

    def test_a_full_disk_of_the_head_is_named_and_waited_for(self):
        spec = self.prepare_large(8)
        run = self.begin_one(spec, 5)
        state = os.path.join(self.folder, "state")
        ballast = os.path.join(state, "ballast")
        disk = os.statvfs(state)
        with open(ballast, "wb") as file:
            file.write(b"\0" * (disk.f_bavail * disk.f_bsize - 5 * MB))
        self.touch("go5")
        shown = wait_for("it says why", lambda: (s := self.show(run))["hand_over"] and s["hand_over"]["trouble"] and s, 30)
        self.assertIn("the disk is full", shown["hand_over"]["trouble"])
        self.assertIn("the disk is full", shown["trouble"])
        os.unlink(ballast)
        self.await_kept(run, 5)
        wait_for("all is well again", lambda: self.show(run)["trouble"] is None)
        self.release()
        self.assert_whole(run, spec, 1)


class HandOverBeside(SpreadCase):
    def test_a_node_fetches_what_rank_0_wrote_on_the_heads_machine(self):
        spec = self.prepare(total=2000)
        run = self.start(spec)
        self.await_kept(run, 10)
        os.kill(self.pid_of(1), signal.SIGKILL)
        wait_for("the next attempt", lambda: [line for line in self.told(1) if "begun" in line][1:], 60)
        self.assertEqual([line["begun"] for line in self.told(1) if "begun" in line], [0, 10])
        job = glob.glob(os.path.join(self.folder, "node?", "runs", run, "a2", "step-00000010.a1.safetensors"))
        self.assertEqual(len(job), 1)
        self.release()
        self.assert_whole(run, spec, 2)


class Shared(ElsewhereCase):
    @property
    def options(self):
        return ("--no-train-here", "--checkpoints", os.path.join(self.folder, "shared"))

    def test_a_directory_that_all_see_has_them_at_once(self):
        spec = self.prepare(total=2000)
        run = self.start(spec)
        self.await_kept(run, 10)
        place = glob.glob(os.path.join(self.folder, "shared", f"{run}-*"))[0]
        self.assertIn("step-00000010.a1.safetensors", os.listdir(place))
        self.assertEqual(glob.glob(os.path.join(self.folder, "node?", "runs", run, "a1", "checkpoints")), [])
        os.kill(self.pid_of(0), signal.SIGKILL)
        wait_for("the next attempt", lambda: [line for line in self.told(1) if "begun" in line][1:], 60)
        self.assertEqual([line["begun"] for line in self.told(1) if "begun" in line], [0, 10])
        self.release()
        self.assert_whole(run, spec, 2)
        self.cli("rm", "--purge", "--yes", run)
        self.assertFalse(os.path.exists(place))


if __name__ == "__main__":
    unittest.main()
