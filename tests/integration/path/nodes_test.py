#!/usr/bin/env python3
"""Several nodes on one machine: a real head and real agents, with kills, stops and cut connections.

    nodes_test.py [-v] [NodesTest.test_name]        ctest runs every test on its own
"""
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Place, command_of, edit, wait_for  # noqa: E402
from poll import is_gone  # noqa: E402

LONG = ("epochs: 3", "epochs: 12")
ENDLESS = ("epochs: 3", "epochs: 400")
TWO = ("--set", "resources.data_workers={min: 2, max: 2}", "--set", "resources.loader_threads=1")


class NodesTest(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)
        self.state = self.place.dir / "state" / "millrace"

    def head(self, *options, listen="unix"):
        """Starts a head with a tenth of the default time limits."""
        subprocess.run([BIN / "millraced", "--nodes-listen", listen, "--node-away", "2", "--crew-pace", "0.5", *options],
                       env=self.place.env, check=True, timeout=60)

    def agent(self, name):
        subprocess.run([BIN / "millraced", "--slot", "--join", self.state / "nodes.join", "--name", name,
                        "--state-dir", self.state / "nodes" / name], env=self.place.env, check=True, timeout=60)

    def nodes(self):
        return {n["name"]: n for n in self.place.json("nodes")["nodes"]}

    def await_nodes(self, *names, state="attached"):
        wait_for(f"{names} {state}", lambda: all(self.nodes().get(n, {}).get("state") == state for n in names))

    def pid_of(self, name):
        """The pid of the head (None) or of an agent."""
        for pid in self.place.processes():
            argv = command_of(pid)
            is_slot = "--slot" in argv
            if argv[0].endswith("millraced") and (name in argv if name else not is_slot):
                return pid
        return None

    def data_workers(self):
        """(pid, node) of each running data worker by its name, from /proc."""
        found = {}
        for pid in self.place.processes():
            argv = command_of(pid)
            if argv[1:3] == ["data", "--join"]:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    env = dict(e.split(b"=", 1) for e in f.read().split(b"\0") if b"=" in e)
                where = argv[3].split("/nodes/")
                node = where[1].split("/")[0] if len(where) > 1 else "own"
                found[env[b"MR_WORKER"].decode()] = (pid, node)
        return found

    def joined(self, run):
        told = self.place.cli("metrics", run, "--name", "loader.data_workers", "--points", "100000", "--json", code=None)
        return [p["value"] for p in json.loads(told)["series"][0]["points"]] if told else []

    def start(self, *arguments, epochs=LONG):
        edit(self.place.spec, epochs)
        run = self.place.submit(*(arguments or TWO))[0]
        wait_for("two data workers", lambda: 2 in self.joined(run))
        return run

    def finish(self, run):
        ended = self.place.wait(run, "finished", "failed")
        self.assertEqual((ended["state"], ended["attempt"], ended["restarts"]), ("finished", 1, 0), ended["exit_reason"])
        return ended

    def nothing_is_left(self):
        self.place.down()
        wait_for("no process left", lambda: not self.place.processes(), 30)

    def history(self, run):
        return "\n".join(e["text"] for e in self.place.show(run)["events"])

    def test_nodes_come_are_watched_and_go_with_the_head(self):
        self.place.cli("up", "--nodes", "3")
        nodes = self.nodes()
        own = next(n for n, node in nodes.items() if node["head"])
        self.assertEqual(set(nodes), {own, "node1", "node2"})
        self.assertEqual({n["state"] for n in nodes.values()}, {"attached"})
        self.assertTrue(all(n["sample"]["memory_used_bytes"] > 0 for n in nodes.values()), nodes)
        self.place.cli("up", "--nodes", "3")  # all nodes are there, so nothing is started
        self.assertIn("3 nodes: the daemon's own and 2 agents\n", self.place.cli("up", "--nodes", "2"), "it counts all nodes")
        self.assertEqual(len([p for p in self.place.processes() if "--slot" in command_of(p)]), 2)
        self.nothing_is_left()
        self.assertFalse((self.state / "nodes.join").exists())

    def test_up_counts_agents_that_outlived_the_head(self):
        self.place.cli("up", "--nodes", "3", "--no-train-here")
        agents = [self.pid_of("node1"), self.pid_of("node2")]
        head = self.pid_of(None)
        os.kill(head, signal.SIGKILL)
        wait_for("the head is gone", lambda: is_gone(head))
        self.assertIn("3 nodes: the daemon's own and 2 agents\n", self.place.cli("up", "--nodes", "3", "--no-train-here"))
        self.assertEqual([self.pid_of("node1"), self.pid_of("node2")], agents)
        self.nothing_is_left()

    def test_data_workers_are_spread_over_nodes_and_change_nothing(self):
        self.place.cli("up", "--nodes", "3")
        edit(self.place.spec, LONG)
        alone = self.place.wait(self.place.submit()[0], "finished", "failed")
        run = self.place.submit(*TWO, "--set", "eval.every_steps=1000000")[0]
        wait_for("two data workers", lambda: 2 in self.joined(run))
        shown = {w["name"]: w["node"] for w in self.place.show(run)["workers"]}
        self.assertEqual({shown["data0"], shown["data1"]}, {"node1", "node2"})
        self.assertNotIn(shown["rank0"], ("node1", "node2"))
        self.assertEqual({node for _, node in self.data_workers().values()}, {"node1", "node2"})
        ended = self.finish(run)
        self.assertEqual(ended["receipt"]["order_hash"], alone["receipt"]["order_hash"])
        self.assertEqual(ended["weights_hash"], alone["weights_hash"])
        told = json.loads(self.place.cli("metrics", run, "--name", "loader.rows_read_per_second", "--points", "100000", "--json"))
        rates = [point["value"] for series in told["series"] for point in series["points"]]
        self.assertGreater(sum(rates), ended["receipt"]["rows_scanned"] / 2, "of the workers, once a second")
        log = self.place.cli("logs", run, "--worker", "data1")
        self.assertIn("data: joined", log)
        self.assertRegex(log, "data: computed.*segments")
        self.nothing_is_left()

    def test_the_trainers_ranks_on_two_nodes_read_the_order_of_one(self):
        self.place.cli("up", "--nodes", "3")
        edit(self.place.spec, LONG)
        alone = self.place.wait(self.place.submit()[0], "finished", "failed")
        run = self.place.submit("--set", "train.ranks=2", "--set", "train.nodes=2", *TWO)[0]
        wait_for("both ranks train", lambda: len([r for r in self.place.show(run)["ranks"] if r["step"]]) == 2)
        shown = {w["name"]: w["node"] for w in self.place.show(run)["workers"]}
        self.assertIn(shown["rank1"], ("node1", "node2"))
        self.assertEqual(shown["feed1"], shown["rank1"])
        self.assertNotIn(shown["rank0"], ("node1", "node2"))
        ended = self.finish(run)
        self.assertEqual(ended["receipt"]["order_hash"], alone["receipt"]["order_hash"])
        self.assertEqual(ended["receipt"]["rows_trained"], alone["receipt"]["rows_trained"])
        self.nothing_is_left()

    def test_a_killed_rank_of_the_trainer_on_another_node_is_the_attempts_end(self):
        self.place.cli("up", "--nodes", "2")
        run = self.place.submit("--set", "train.ranks=2", "--set", "train.nodes=2", "--set", "train.checkpoint.every_steps=5")[0]
        wait_for("a checkpoint", lambda: self.place.show(run)["checkpoints"])
        pid = next(w["pid"] for w in self.place.show(run)["workers"] if w["name"] == "rank1")
        os.kill(pid, signal.SIGKILL)
        ended = self.place.wait(run, "finished", "failed")
        self.assertEqual((ended["state"], ended["attempt"]), ("finished", 2), ended["exit_reason"])
        self.assertIn("rank1 was ended by SIGKILL", self.history(run))
        self.nothing_is_left()

    def test_the_trainer_stops_on_two_nodes_and_goes_on_on_one(self):
        self.place.cli("up", "--nodes", "2")
        alone = self.place.wait(self.place.submit()[0], "finished", "failed")
        run = self.place.submit("--set", "train.ranks=2", "--set", "train.nodes=2")[0]
        wait_for("it trains", lambda: (self.place.show(run)["progress"]["step"] or 0) > 20)
        self.place.cli("stop", run)
        self.assertEqual(self.place.wait(run, "cancelled", "failed", "finished")["state"], "cancelled")
        self.place.cli("resume", run, "--nodes", "1")
        ended = self.place.wait(run, "finished", "failed")
        self.assertEqual(ended["receipt"]["order_hash"], alone["receipt"]["order_hash"], ended["exit_reason"])
        self.assertIn("goes on with 1 node; before: 2", self.history(run))
        self.nothing_is_left()

    def test_over_tls_and_a_worker_that_is_killed_is_had_again(self):
        self.head(listen="127.0.0.1")
        for name in ("node1", "node2"):
            self.agent(name)
        self.await_nodes("node1", "node2")
        run = self.start(epochs=ENDLESS)
        pid, node = self.data_workers()["data0"]
        os.kill(pid, signal.SIGKILL)
        again = wait_for("another in its place", lambda: (w := self.data_workers()).get("data0", (pid,))[0] != pid and w)
        self.assertEqual(again["data0"][1], node)
        join = self.state / "nodes" / node / "runs" / run / "a1" / "data.join"
        self.assertTrue(json.loads(join.read_text())["address"].startswith("127.0.0.1:"))
        self.assertEqual(join.stat().st_mode & 0o777, 0o600)
        self.place.cli("stop", run)
        self.place.wait(run, "cancelled")
        self.nothing_is_left()

    def test_workers_outlive_their_agent_and_the_head(self):
        self.head("--node-away", "60")
        for name in ("node1", "node2"):
            self.agent(name)
        self.await_nodes("node1", "node2")
        run = self.start(epochs=ENDLESS)
        before = self.data_workers()
        os.kill(self.pid_of("node1"), signal.SIGKILL)
        self.await_nodes("node1", state="away")
        self.agent("node1")
        self.await_nodes("node1")
        os.kill(self.pid_of(None), signal.SIGKILL)
        self.place.cli("up")  # the new head listens where the earlier one did
        self.await_nodes("node1", "node2")
        wait_for("both are shown again", lambda: {w["name"]: w["pid"] for w in self.place.show(run)["workers"]
                                                  if w["state"] == "running" and w["name"].startswith("data")} ==
                 {name: pid for name, (pid, _) in before.items()})
        self.assertEqual(self.data_workers(), before)
        self.assertEqual(self.place.show(run)["attempt"], 1)
        self.place.cli("stop", run)
        self.place.wait(run, "cancelled")
        self.nothing_is_left()

    def test_workers_of_a_node_that_stands_still_are_had_elsewhere(self):
        self.head()
        for name in ("node1", "node2"):
            self.agent(name)
        self.await_nodes("node1", "node2")
        run = self.start(epochs=ENDLESS)
        name, (pid, node) = next(iter(self.data_workers().items()))
        other = {"node1": "node2", "node2": "node1"}[node]
        agent = self.pid_of(node)
        os.kill(agent, signal.SIGSTOP)
        new = wait_for("another one elsewhere", lambda: self.data_workers().get("data2"))
        self.assertEqual(new[1], other)
        self.assertEqual(self.nodes()[node]["state"], "lost")
        self.assertIn(f"node {node} is lost: {name} starts elsewhere", self.history(run))
        os.kill(agent, signal.SIGCONT)
        wait_for("the old one ends", lambda: name not in self.data_workers())
        self.await_nodes(node)
        self.assertEqual(self.place.show(run)["attempt"], 1)
        self.place.cli("stop", run)
        self.place.wait(run, "cancelled")
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
