#!/usr/bin/env python3
"""Ranks on several nodes: a real head and agents on this machine, scripts without torch, and faults of all of them."""
import collections
import contextlib
import os
import signal
import subprocess
import unittest

from harness import BIN, streamed
from poll import is_gone, wait_for
from run_harness import SCRIPT, RunCase

NODES = ("node1", "node2")
# A tenth of the default limits, or as near to that as a busy machine with two cores allows.
LIMITS = ("--silent-after", "5", "--node-away", "2", "--crew-pace", "0.5")
TWO = ("--set", "train.nodes=2")

# Keeps rank 0 busy at its end.
LATE = """
while os.environ["RANK"] == "0" and os.path.exists(os.path.join(HERE, "late")):
    poll.pause(0.005)
"""


class SpreadCase(RunCase):
    listen = "unix"
    options = ()  # of the head
    daemon = os.path.join(BIN, "millraced")  # of head and agents

    def begin(self):
        self.head()
        for node in NODES:
            self.agent(node)
        self.await_nodes(*NODES)

    def head(self):
        subprocess.run([self.daemon, "--bin-dir", BIN, "--nodes-listen", self.listen, *LIMITS, *self.options], check=True, capture_output=True, timeout=60)

    def agent_command(self, name, *more):
        join = os.path.join(self.folder, "state", "millrace", "nodes.join")
        return [*self.prefix(), self.daemon, "--slot", "--bin-dir", BIN, "--join", join, "--name", name, "--state-dir",
                os.path.join(self.folder, name), *more]

    def agent(self, name, *more):
        subprocess.run(self.agent_command(name, *more), check=True, capture_output=True, timeout=60)

    def kill_head(self):
        head = self.pids("--nodes-listen")[0]
        os.kill(head, signal.SIGKILL)
        wait_for("it is gone", lambda: is_gone(head))

    def next_head(self):
        self.kill_head()
        self.head()
        self.await_nodes(*NODES)

    def prefix(self):
        """Words before an agent's command."""
        return []

    def await_nodes(self, *names, state="attached"):
        def states():
            return {node["name"]: node["state"] for node in self.json("nodes")["nodes"]}
        wait_for(lambda: f"{names} {state}: {states()}", lambda: all(states().get(name) == state for name in names), 60)

    def command_of(self, pid):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return [word.decode(errors="replace") for word in file.read().split(b"\0")[:-1]]
        return []

    def pids(self, *words):
        """Pids of this test's processes whose command has all these words."""
        return [pid for pid in self.processes() if all(word in self.command_of(pid) for word in words)]

    def relay(self, node):
        """The relay on a node: itself, not its guardian."""
        return next(pid for pid in self.processes() if (argv := self.command_of(pid))[1:2] == ["feed"] and f"/{node}/" in argv[3])

    def node_of(self, run, worker="rank1"):
        return next(w["node"] for w in self.show(run)["workers"] if w["name"] == worker)

    def at_step(self, step):
        wait_for(lambda: f"both ranks are at step {step}: {self.told(0)[-1:]} {self.told(1)[-1:]}",
                 lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [step], 60)

    def start(self, spec, step=13):
        """Starts a run on two nodes; it waits after `step`."""
        self.hold(*range(1, step))
        run = self.submit(spec, *TWO)[0]
        self.at_step(step)
        return run

    def steps_kept(self, run):
        return sorted(one["step"] for one in self.show(run)["checkpoints"])

    def await_kept(self, run, step, seconds=60):
        wait_for(lambda: f"step {step} is kept: {self.steps_kept(run)} {self.show(run)['hand_over']}", lambda: step in self.steps_kept(run), seconds)

    def assert_whole(self, run, spec, attempt=None):
        ended = self.wait(run, "finished", "failed", "cancelled", seconds=90)
        self.assertEqual(ended["state"], "finished", (ended["exit_reason"], [e["text"] for e in ended["events"]]))
        expected = streamed(spec, "--last", "drop")
        self.assertEqual(ended["receipt"]["order_hash"], expected["order_hash"])
        self.assertEqual(ended["receipt"]["rows_trained"], expected["rows_delivered"])
        steps = ended["progress"]["step"]
        self.assertEqual(self.losses(run), [(step, step / 7) for step in range(1, steps + 1)])
        if attempt is not None:
            self.assertEqual(ended["attempt"], attempt, [e["text"] for e in ended["events"]])
        return ended

    def history(self, run):
        return "\n".join(event["text"] for event in self.show(run)["events"])


class Spread(SpreadCase):
    def test_two_ranks_on_two_nodes_read_one_stream(self):
        spec = self.prepare(SCRIPT + "told(environment=dict(os.environ), lengths=[len(stream), stream.step])\n", total=2000)
        run = self.start(spec, 3)
        node = self.node_of(run)
        self.assertIn(node, NODES)
        self.assertEqual(self.node_of(run, "feed1"), node)
        self.assertNotIn(self.node_of(run, "rank0"), NODES)
        self.release()
        costs = {one["role"]: one for one in self.assert_whole(run, spec, 1)["receipt"]["costs"]}
        self.assertEqual(sorted(costs), ["feed", "ranks", "relays"])
        for role, cost in costs.items():
            self.assertGreater(cost["cpu_seconds"], 0.01, role)
            self.assertGreater(cost["peak_memory_bytes"], 5_000_000, role)
        self.assertRegex(self.cli("show", run), r"CPU +feed .*, ranks .*, relays .*; largest process")
        for rank in (0, 1):
            self.assertEqual(*self.told(rank)[-1]["lengths"])
        first, second = (self.told(rank)[-1]["environment"] for rank in (0, 1))
        self.assertEqual([one["RANK"] for one in (first, second)], ["0", "1"])
        self.assertEqual([one["LOCAL_RANK"] for one in (first, second)], ["0", "0"])
        self.assertEqual([one["GROUP_RANK"] for one in (first, second)], ["0", "1"])
        for name, value in (("WORLD_SIZE", "2"), ("LOCAL_WORLD_SIZE", "1"), ("GROUP_WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1")):
            self.assertEqual((first[name], second[name]), (value, value), name)
        self.assertEqual(first["MASTER_PORT"], second["MASTER_PORT"])
        self.assertTrue(second["MILLRACE_JOB"].startswith(os.path.join(self.folder, node)))
        self.cli("logs", run, "--worker", "feed1")
        wait_for("its files are gone", lambda: not os.path.exists(os.path.join(self.folder, node, "runs", run)))
        self.cli("down")
        wait_for(lambda: f"nothing is left: {[self.command_of(pid) for pid in self.processes()]}", lambda: not self.processes())

    def test_with_data_workers_on_the_other_nodes_and_counted_values(self):
        spec = self.prepare(SCRIPT.replace("told(step=stream.step,", "told(step=stream.step, users=batch['user'].tolist(),"), total=2000,
                            more="resources: {data_workers: {min: 2, max: 2}, loader_threads: 1}\n")
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text.replace("{user: {rows: 1024}", "{user: {vocabulary: auto}"))
        run = self.start(spec, 3)
        self.release()
        self.assert_whole(run, spec, 1)
        counts = collections.Counter(n * 31 % 997 for n in range(2000))
        ids = {user: 1 + place for place, user in enumerate(sorted(counts, key=lambda user: (-counts[user], user)))}
        for step in (line for rank in (0, 1) for line in self.told(rank) if "users" in line):
            self.assertEqual(step["users"], [ids[n * 31 % 997] for n in step["numbers"]])

    def test_a_killed_rank_of_another_node_starts_the_gang_again(self):
        spec = self.prepare(total=2000)
        run = self.start(spec)
        os.kill(self.pid_of(1), signal.SIGKILL)
        wait_for("the next attempt", lambda: [line for line in self.told(1) if "begun" in line][1:])
        self.release()
        ended = self.assert_whole(run, spec, 2)
        self.assertEqual([line["begun"] for line in self.told(1) if "begun" in line], [0, 10])
        self.assertIn("attempt 1 failed: rank1 was ended by SIGKILL", "\n".join(e["text"] for e in ended["events"]))

    def test_a_killed_rank_of_the_head_ends_the_part_too(self):
        spec = self.prepare(total=2000)
        run = self.start(spec)
        os.kill(self.pid_of(0), signal.SIGKILL)
        wait_for("the next attempt", lambda: [line for line in self.told(1) if "begun" in line][1:])
        self.release()
        ended = self.assert_whole(run, spec, 2)
        self.assertIn("attempt 1 failed: rank0 was ended by SIGKILL", "\n".join(e["text"] for e in ended["events"]))

    def test_a_killed_relay_is_replaced(self):
        spec = self.prepare(total=2000)
        run = self.start(spec)
        killed = self.relay(self.node_of(run))
        os.kill(killed, signal.SIGKILL)
        wait_for("another one", lambda: [pid for node in NODES for pid in self.processes()
                                         if self.command_of(pid)[1:2] == ["feed"] and f"/{node}/" in self.command_of(pid)[3] and pid != killed])
        self.release()
        self.assert_whole(run, spec, 1)

    def test_the_agent_and_the_head_may_be_killed(self):
        spec = self.prepare(total=2000)
        run = self.start(spec)
        node = self.node_of(run)
        os.kill(self.pids("--slot", node)[0], signal.SIGKILL)
        self.await_nodes(node, state="away")
        self.agent(node)
        self.await_nodes(node)
        self.next_head()
        wait_for("it is seen again", lambda: any(w["name"] == "rank1" and w["state"] == "running" for w in self.show(run)["workers"]))
        self.release()
        self.assert_whole(run, spec, 1)

    def await_part_ended(self, run, attempt=1):
        """Waits until the node's engine has nothing left of the part."""
        mark = f"{run}.a{attempt}.p1"
        wait_for("the part has ended", lambda: not any(os.path.exists(os.path.join(self.folder, node, "runs", ".gangs", mark)) for node in NODES))

    def begun(self, rank):
        return [line["begun"] for line in self.told(rank) if "begun" in line]

    def test_a_part_that_is_done_is_not_begun_again_by_the_next_head(self):
        spec = self.prepare(SCRIPT + LATE, total=500)
        self.touch("late")
        run = self.submit(spec, *TWO)[0]
        wait_for(lambda: f"both are through: {self.told(0)[-1:]} {self.told(1)[-1:]}", lambda: all("ended" in (self.told(rank) or [{}])[-1] for rank in (0, 1)))
        self.await_part_ended(run)
        for _ in range(2):
            self.next_head()
            wait_for("it is seen again", lambda: any(w["name"] == "rank0" and w["state"] == "running" for w in self.show(run)["workers"]))
        os.remove(os.path.join(self.folder, "late"))
        self.assert_whole(run, spec, 1)
        self.assertEqual([self.begun(rank) for rank in (0, 1)], [[0], [0]])

    def test_a_part_that_failed_unheard_is_heard_by_the_next_head(self):
        spec = self.prepare(total=2000)
        run = self.start(spec)
        wait_for("the checkpoint counts: both ranks have ended its step", lambda: [one for one in self.show(run)["checkpoints"] if one["step"] == 10])
        os.kill(self.pids("--nodes-listen")[0], signal.SIGSTOP)
        os.kill(self.pid_of(1), signal.SIGKILL)
        self.await_part_ended(run)
        self.next_head()
        wait_for("the next attempt", lambda: self.begun(1)[1:])
        self.release()
        ended = self.assert_whole(run, spec, 2)
        self.assertEqual(self.begun(1), [0, 10])
        self.assertIn("attempt 1 failed: rank1 was ended by SIGKILL", "\n".join(e["text"] for e in ended["events"]))

    def test_a_node_that_stands_still_is_lost_and_another_one_taken(self):
        spec = self.prepare(total=2000)
        run = self.start(spec)
        node = self.node_of(run)
        theirs = [*self.pids("--slot", node), self.relay(node), self.pid_of(1)]
        for pid in theirs:
            os.kill(pid, signal.SIGSTOP)
        wait_for("the next attempt", lambda: [line for line in self.told(1) if "begun" in line][1:], 60)
        other = next(one for one in NODES if one != node)
        self.assertEqual(self.node_of(run), other)
        self.release()
        ended = self.assert_whole(run, spec, 2)
        self.assertIn(f"node {node} with feed1 and its ranks is lost", "\n".join(e["text"] for e in ended["events"]))
        for pid in theirs:
            os.kill(pid, signal.SIGCONT)
        wait_for("what was there is ended", lambda: is_gone(theirs[-1]), 30)

    def test_it_stops_and_goes_on_on_one_node(self):
        spec = self.prepare(rows=64, micro=8, total=4000)
        run = self.start(spec)
        self.cli("stop", run)
        wait_for("the ranks know it", lambda: self.show(run)["state"] == "stopping")
        self.release()
        stopped = self.wait(run, "cancelled", "failed", "finished")
        self.assertEqual(stopped["state"], "cancelled", stopped["exit_reason"])
        ends = [self.told(rank)[-1] for rank in (0, 1)]
        self.assertEqual(ends[0]["ended"], ends[1]["ended"])
        self.assertEqual(stopped["checkpoints"][-1]["step"], ends[0]["ended"])
        self.cli("resume", run, "--nodes", "1")
        self.assert_whole(run, spec)
        history = self.history(run)
        self.assertIn("goes on with 1 node; before: 2", history)
        self.assertEqual(history.count("is placed on node"), 1, history)

    def test_a_run_waits_for_its_nodes_and_others_pass(self):
        spec = self.prepare(total=500)
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text.replace("ranks: 2", "ranks: 4"))
        run = self.submit(spec, "--set", "train.nodes=4")[0]
        wait_for(lambda: f"it says why: {self.show(run)}",
                 lambda: "needs 3 nodes beside the head's" in (self.show(run).get("queued_reason") or ""))
        alone = self.submit(spec)[0]
        self.assertEqual(self.wait(alone, "finished", "failed")["state"], "finished")
        self.assertEqual(self.show(run)["state"], "queued")
        self.agent("node3")
        self.assert_whole(run, spec, 1)


class SpreadUnseen(SpreadCase):
    @property
    def options(self):
        return ("--checkpoints", self.shared)

    def make_state(self):
        self.shared = os.path.join(self.folder, "shared")
        os.mkdir(self.shared)

    def prefix(self):
        inside = ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs tmpfs {self.shared} && exec \"$@\"", "sh"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this machine permits no mounts")
        return inside

    def test_a_node_that_does_not_see_the_shared_checkpoints_fails_the_run_by_name(self):
        spec = self.prepare(total=500)
        run = self.submit(spec, *TWO)[0]
        ended = self.wait(run, "failed", "finished")
        self.assertEqual((ended["state"], ended["attempt"]), ("failed", 1), ended["exit_reason"])
        self.assertRegex(ended["exit_reason"], r"^node node\d: does not see the run's checkpoints: .*/shared/r-.* is to name a directory that all nodes mount")
        self.assertEqual(self.told(1), [], "nothing was started there")


class SpreadTls(SpreadCase):
    listen = "127.0.0.1"

    def test_two_ranks_on_two_nodes_over_tls(self):
        spec = self.prepare(total=2000)
        run = self.start(spec, 3)
        self.assertIn(self.node_of(run), NODES)
        self.release()
        self.assert_whole(run, spec, 1)

    def test_show_has_bytes_by_node_and_the_share_of_the_lead(self):
        spec = self.prepare(total=2000, more="resources: {data_workers: {min: 2, max: 2}, loader_threads: 1}\n")
        run = self.start(spec, 3)
        relay, feed = self.node_of(run), self.node_of(run, "rank0")
        live = wait_for("its traffic", lambda: self.show(run)["traffic"])
        self.assertLessEqual({one["node"] for one in live["nodes"]}, {feed, *NODES})
        self.release()
        traffic = self.assert_whole(run, spec, 1)["traffic"]
        nodes = {one["node"]: one for one in traffic["nodes"]}
        self.assertEqual(nodes[relay]["received"]["raw_bytes"], traffic["direct_bytes"] + traffic["carried_bytes"])
        self.assertEqual(nodes[feed]["sent"]["raw_bytes"], traffic["carried_bytes"])
        for way in ("bytes", "raw_bytes"):
            self.assertEqual(sum(one["sent"][way] for one in nodes.values()), sum(one["received"][way] for one in nodes.values()))
        self.assertGreater(sum(nodes[node]["sent"]["bytes"] for node in NODES), 0)
        receipt = self.show(run)["receipt"]["data_workers"]
        for key in ("direct_bytes", "carried_bytes", "lead_share"):
            self.assertEqual(traffic[key], receipt[key])
        self.assertIn("Frames between nodes", self.cli("show", run))


if __name__ == "__main__":
    unittest.main()
