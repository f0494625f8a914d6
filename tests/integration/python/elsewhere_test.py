#!/usr/bin/env python3
"""A head that does not train: feed, ranks and data workers are on nodes, with faults of all of them."""
import os
import signal
import unittest

from poll import wait_for
from run_harness import SCRIPT
from spread_test import NODES, TWO, SpreadCase

TWO_DATA = "resources: {data_workers: {min: 2, max: 2}, loader_threads: 1}\n"
ONE_THREAD = "resources: {loader_threads: 1}\n"


class ElsewhereCase(SpreadCase):
    nodes = NODES
    options = ("--no-train-here",)

    def prepare(self, script=SCRIPT, more=ONE_THREAD, **how):
        return super().prepare(script, more=more, **how)

    def begin_one(self, spec, step=13):
        """Starts a run with all its ranks on one node; it waits after `step`."""
        self.hold(*range(1, step))
        run = self.submit(spec)[0]
        self.at_step(step)
        return run

    def assert_elsewhere(self, run):
        """Checks that no worker is on the daemon's machine."""
        nodes = {worker["name"]: worker["node"] for worker in self.show(run)["workers"]}
        self.assertTrue(nodes)
        self.assertEqual([name for name, node in nodes.items() if node not in self.nodes], [], nodes)
        beside = [self.command_of(pid) for pid in self.pids("/state/millrace/runs")]
        self.assertEqual([argv for argv in map(" ".join, beside) if " feed " in argv or " data " in argv], [])
        return nodes

    def lose(self, node):
        """Simulates a power cut of the node: kills all of its processes."""
        for pid in [*self.pids("--slot", node), *self.pids(f"/{node}/"), *self.pids_beneath(node)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def pids_beneath(self, node):
        """The ranks of a node, found by the path of their job file."""
        found = []
        for pid in self.processes():
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"MILLRACE_JOB={self.folder}/{node}/".encode() in file.read():
                        found.append(pid)
            except OSError:
                pass
        return found


class Elsewhere(ElsewhereCase):
    def test_a_run_without_a_dataset_has_its_ranks_on_a_node(self):
        spec = os.path.join(self.folder, "spec.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write("command: [python3, script.py]\nparams: {steps: 4}\ntrain: {ranks: 2}\n")
        self.script("""
            import os
            import millrace, poll

            for step in range(1, millrace.params.steps + 1):
                millrace.log(loss=step / 7, step=step)
                while os.path.exists("hold") and step == 3:
                    poll.pause(0.005)
            print("place", os.environ["RANK"], os.environ["WORLD_SIZE"], flush=True)
            """)
        self.hold()
        run = self.submit(spec)[0]
        wait_for("both ranks are at work", lambda: (self.show(run)["progress"] or {}).get("step") == 3 and len(self.show(run)["workers"]) == 2)
        self.assertEqual(set(self.assert_elsewhere(run)), {"rank0", "rank1"})
        self.release()
        ended = self.wait(run, "finished", "failed", "cancelled")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual(self.losses(run), [(step, step / 7) for step in range(1, 5)])
        for rank in (0, 1):
            self.assertIn(f"place {rank} 2", self.log(run))

    def test_two_ranks_with_two_data_workers_read_one_stream(self):
        spec = self.prepare(total=2000, more=TWO_DATA)
        run = self.begin_one(spec, 3)
        wait_for("the data workers are there", lambda: {"data0", "data1"} <= {w["name"] for w in self.show(run)["workers"]})
        nodes = self.assert_elsewhere(run)
        self.assertEqual(nodes["feed"], nodes["rank0"])
        self.assertEqual(nodes["rank0"], nodes["rank1"])
        self.release()
        self.assert_whole(run, spec, 1)
        self.assertEqual(self.show(run)["host"], nodes["rank0"], "also when it has ended")
        self.cli("logs", run, "--worker", "feed")
        wait_for("its files are gone", lambda: not any(os.path.exists(os.path.join(self.folder, node, "runs", run)) for node in NODES))
        self.cli("down")
        wait_for(lambda: f"nothing is left: {[self.command_of(pid) for pid in self.processes()]}", lambda: not self.processes())

    def test_a_running_head_is_not_given_other_settings(self):
        self.cli("up", "--no-train-here")
        self.cli("up", "--nodes-listen", "gpu1", "--state-dir", "elsewhere", code=1)
        self.assertIn(f"--state-dir {self.folder}/elsewhere (it has {self.folder}/state/millrace), --nodes-listen gpu1 (it has unix)", self.err)
        self.assertEqual({node["name"]: node["trains"] for node in self.json("nodes")["nodes"] if not node["trains"]}.keys(),
                         {node["name"] for node in self.json("nodes")["nodes"] if node["head"]})

    def test_two_ranks_on_two_nodes_read_one_stream(self):
        spec = self.prepare(total=2000, more=TWO_DATA)
        run = self.start(spec, 3)
        nodes = self.assert_elsewhere(run)
        self.assertEqual(nodes["feed"], nodes["rank0"])
        self.assertEqual(nodes["feed1"], nodes["rank1"])
        self.assertNotEqual(nodes["rank0"], nodes["rank1"])
        self.release()
        self.assert_whole(run, spec, 1)

    def test_a_killed_rank_starts_the_gang_again(self):
        for more, worlds in ((ONE_THREAD, ()), (TWO_DATA, TWO)):
            with self.subTest(worlds):
                spec = self.prepare(total=2000, more=more)
                self.hold(*range(1, 13))
                run = self.submit(spec, *worlds)[0]
                self.at_step(13)
                os.kill(self.pid_of(0), signal.SIGKILL)
                wait_for("the next attempt", lambda: self.show(run)["attempt"] == 2)
                self.release()
                self.assert_whole(run, spec, 2)
                self.assertIn("attempt 1 failed: rank0 was ended by SIGKILL", self.history(run))
                for rank in (0, 1):
                    os.remove(os.path.join(self.folder, f"rank{rank}.jsonl"))

    def test_a_killed_feed_is_replaced_for_the_ranks_of_both_nodes(self):
        spec = self.prepare(total=2000, more=TWO_DATA)
        run = self.start(spec)
        killed = self.relay(self.node_of(run, "feed"))
        os.kill(killed, signal.SIGKILL)
        self.release()
        self.assert_whole(run, spec, 1)

    def test_agents_and_head_may_be_killed(self):
        spec = self.prepare(total=2000, more=TWO_DATA)
        run = self.start(spec)
        for node in NODES:
            os.kill(self.pids("--slot", node)[0], signal.SIGKILL)
            self.await_nodes(node, state="away")
            self.agent(node)
            self.await_nodes(node)
        self.next_head()
        wait_for("it is seen again", lambda: any(w["name"] == "rank0" and w["state"] == "running" for w in self.show(run)["workers"]))
        nodes = self.assert_elsewhere(run)
        self.release()
        self.assert_whole(run, spec, 1)
        for part, rank in ((0, "rank0"), (1, "rank1")):
            told = f"part {part} of its ranks is placed on node {nodes[rank]}"
            self.assertEqual(self.history(run).count(told), 1, self.history(run))

    def test_the_power_of_the_leading_node_is_cut(self):
        spec = self.prepare(total=2000)
        run = self.begin_one(spec)
        node = self.node_of(run, "feed")
        self.lose(node)
        wait_for("the next attempt", lambda: [line for line in self.told(1) if "begun" in line][1:], 60)
        self.assertEqual(self.node_of(run, "feed"), next(one for one in NODES if one != node))
        self.release()
        self.assert_whole(run, spec, 2)
        self.assertIn(f"node {node} with feed and its ranks is lost", self.history(run))

    def test_it_stops_with_a_checkpoint_and_goes_on(self):
        spec = self.prepare(total=2000)
        run = self.begin_one(spec)
        self.cli("stop", run)
        wait_for("the ranks know it", lambda: self.show(run)["state"] == "stopping")
        self.release()
        stopped = self.wait(run, "cancelled", "failed", "finished")
        self.assertEqual(stopped["state"], "cancelled", stopped["exit_reason"])
        self.cli("resume", run)
        self.assert_whole(run, spec)


class ElsewhereAway(ElsewhereCase):
    options = ("--no-train-here", "--node-away", "60")

    def test_a_head_that_comes_before_its_nodes_waits_for_them(self):
        spec = self.prepare(total=2000)
        run = self.begin_one(spec)
        node = self.node_of(run, "feed")
        os.kill(self.pids("--slot", node)[0], signal.SIGKILL)
        self.kill_head()
        self.head()
        wait_for(lambda: f"it says why: {self.show(run)}", lambda: f"node {node}, where its feed is, is away" in (self.show(run).get("queued_reason") or ""))
        self.agent(node)
        wait_for("it is seen again", lambda: any(w["name"] == "rank0" and w["state"] == "running" for w in self.show(run)["workers"]))
        self.release()
        self.assert_whole(run, spec, 1)


class ElsewhereAlone(ElsewhereCase):
    def begin(self):
        self.head()

    def test_a_run_waits_for_a_node(self):
        spec = self.prepare(total=500)
        run = self.submit(spec)[0]
        wait_for(lambda: f"it says why: {self.show(run)}", lambda: "needs 1 node with 3 cores" in (self.show(run).get("queued_reason") or ""))
        self.agent(NODES[0])
        self.assert_whole(run, spec, 1)


class ElsewhereTls(ElsewhereCase):
    listen = "127.0.0.1"

    def test_over_tls(self):
        spec = self.prepare(total=2000, more=TWO_DATA)
        run = self.start(spec, 3)
        self.assert_elsewhere(run)
        self.release()
        self.assert_whole(run, spec, 1)


if __name__ == "__main__":
    unittest.main()
