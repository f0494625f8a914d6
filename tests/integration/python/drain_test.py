#!/usr/bin/env python3
"""Nodes that are left: drained nodes, agents that end with their allocation, agents that no head admits."""
import contextlib
import os
import shutil
import signal
import subprocess
import unittest

from elsewhere_test import TWO_DATA, ElsewhereCase
from harness import BIN
from poll import wait_for
from run_harness import SCRIPT
from spread_test import NODES, SpreadCase

# Reports where the rank is at its end.
PLACE = "told(job=os.environ['MILLRACE_JOB'])\n"
BOUND = ("--bound", "--leave-grace", "20")


class LeaveCase(ElsewhereCase):
    def other(self, node):
        return next(one for one in NODES if one != node)

    def states(self):
        return {node["name"]: node["state"] for node in self.json("nodes")["nodes"]}

    def release_asked(self, run):
        """Lets the ranks go on once they are asked to stop."""
        wait_for("its ranks are asked to stop", lambda: "its ranks stop and resume on other nodes" in self.history(run), 60)
        self.release()

    def old_program(self):
        """Makes a copy of the agent that reports another build."""
        version = subprocess.run([os.path.join(BIN, "millraced"), "--version"], capture_output=True, text=True, check=True).stdout
        build = version.split("build ")[1].strip()
        os.makedirs(os.path.join(self.folder, "programs"))
        program = os.path.join(self.folder, "programs", "millraced")
        with open(os.path.join(BIN, "millraced"), "rb") as file:
            data = file.read()
        with open(program, "wb") as file:
            file.write(data.replace(build.encode(), build[::-1].encode()))
        os.chmod(program, 0o755)
        return program, build

    def upgrade(self, program):
        """Replaces the program by the present build."""
        shutil.copy(os.path.join(BIN, "millraced"), program + ".new")
        os.rename(program + ".new", program)

    def assert_ended_on(self, node):
        self.assertTrue(self.told(0)[-1]["job"].startswith(os.path.join(self.folder, node) + "/"), self.told(0)[-1])

    def assert_moved(self, run, spec, why):
        """Checks that the run resumed after the step at which it stopped, in another attempt that cost no restart."""
        ended = self.assert_whole(run, spec, 2)
        self.assertEqual(ended["restarts"], 0)
        self.assertIn(why, self.history(run))
        self.assertEqual(self.steps_told(0), list(range(1, ended["progress"]["step"] + 1)), "no step twice")


class Drain(LeaveCase):
    def test_ranks_of_a_drained_node_go_on_elsewhere(self):
        # Long enough for the ranks to find the next head before they finish.
        spec = self.prepare(SCRIPT + PLACE, total=60_000, every=50, train="max_restarts: 1")
        run = self.begin_one(spec)
        node = self.node_of(run, "feed")
        self.assertIn(f"node {node}: its work moves to other nodes", self.cli("nodes", "drain", node))
        self.assertEqual(self.states()[node], "draining")
        self.next_head()  # the next head knows of the drain too
        self.release_asked(run)
        self.assert_moved(run, spec, f"attempt 1 moves: node {node} is drained")
        self.assert_ended_on(self.other(node))
        self.cli("nodes", "drain", node, "--wait", timeout=60)
        self.assertEqual(self.states()[node], "drained")
        self.cli("nodes", "undrain", node)
        self.assertEqual(self.states()[node], "attached")

    def next_head(self):
        self.kill_head()
        self.head()
        wait_for("the nodes are back", lambda: all(self.states().get(node) in ("attached", "draining", "drained") for node in NODES), 60)

    def test_a_run_waits_where_every_node_is_drained(self):
        spec = self.prepare(total=500)
        self.assertEqual(self.json("nodes", "drain", *NODES), {"schema_version": 1, "drained": list(NODES), "draining": []})
        run = self.submit(spec)[0]
        wait_for(lambda: f"it says why: {self.show(run)}", lambda: "needs 1 node with 3 cores" in (self.show(run).get("queued_reason") or ""))
        self.cli("nodes", "undrain", *NODES)
        self.assert_whole(run, spec, 1)

    def test_a_run_that_waits_for_a_node_shows_no_worker(self):
        spec = self.prepare(total=2000, more=TWO_DATA)
        run = self.start(spec, 3)
        wait_for("its data workers are there", lambda: {w["node"] for w in self.show(run)["workers"] if w["name"].startswith("data")} == set(NODES))
        self.cli("nodes", "drain", "node2")
        self.release_asked(run)
        self.cli("nodes", "drain", "node2", "--wait", timeout=60)
        wait_for(lambda: f"it waits: {self.show(run)}", lambda: "cannot be started now" in (self.show(run)["queued_reason"] or ""), 30)
        self.assertEqual((self.show(run)["workers"], self.show(run)["ranks"]), ([], []), "none is left")
        self.cli("nodes", "undrain", "node2")
        self.assert_whole(run, spec, 2)

    def test_what_is_no_node_is_refused(self):
        self.assertEqual(self.cli("nodes", "drain", "nowhere", code=1), "")
        self.assertIn("unknown node 'nowhere'; 'millrace nodes' lists the nodes", self.err)
        self.cli("nodes", "drain", "node1", "nowhere", code=1)
        self.assertEqual(self.states()["node1"], "attached", "none is drained before all names are known")
        self.cli("nodes", "drain", code=2)
        self.cli("nodes", "drian", "node1", code=2)
        self.assertIn("'nodes drain' or 'nodes undrain' and one or more nodes", self.err)
        head = next(node["name"] for node in self.json("nodes")["nodes"] if node["head"])
        self.cli("nodes", "drain", "node1", head, code=1)
        self.assertIn("runs are kept off it, as the daemon was started with --no-train-here", self.err)
        self.assertEqual(self.states()["node1"], "attached")

    def waiting(self, node):
        """Starts `drain --wait` of a node whose ranks do not stop."""
        child = subprocess.Popen([os.path.join(BIN, "millrace"), "nodes", "drain", node, "--wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL, text=True)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), f"node {node}: its work moves to other nodes\n")
        return child

    def test_waiting_for_a_drained_node_ends_with_a_signal_and_with_the_node(self):
        node = self.node_of(self.begin_one(self.prepare(total=2000)), "feed")
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.waiting(node)
            child.send_signal(number)
            _, said = child.communicate(timeout=30)
            self.assertEqual(child.returncode, 3, said)
            self.assertIn(f"work is left on node {node} and goes on moving", said)
        self.assertEqual(self.json("nodes", "drain", node)["draining"], [node])
        child = self.waiting(node)
        self.cli("nodes", "forget", node)
        out, said = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0, said)
        self.assertRegex(out, f"node {node}: (lost|gone)")

    def test_a_head_that_cannot_read_its_nodes_does_not_start(self):
        self.cli("nodes", "drain", "node1")
        self.kill_head()
        for name, text in (("nodes.drained", "[\"node1"), ("nodes.tokens", "")):
            path = os.path.join(self.folder, "state", "millrace", name)
            with open(path, "r+" if os.path.exists(path) else "w+", encoding="utf-8") as file:
                whole = file.read()
                file.seek(0)
                file.truncate()
                file.write(text)
            started = subprocess.run([self.daemon, "--bin-dir", BIN, "--nodes-listen", self.listen, *self.options],
                                     capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(started.returncode, 1, started.stderr)
            self.assertIn(f"{path}: is damaged", started.stderr)
            self.assertNotIn("exception", started.stderr)
            with open(path, "w", encoding="utf-8") as file:
                file.write(whole or "{}")
        self.head()
        self.await_nodes("node1", state="drained")


class DrainData(LeaveCase):
    options = ()

    def test_data_workers_of_a_drained_node_are_had_elsewhere(self):
        spec = self.prepare(total=2000, more=TWO_DATA)
        self.hold(*range(1, 3))
        run = self.submit(spec)[0]
        self.at_step(3)
        wait_for("both are there", lambda: {w["node"] for w in self.show(run)["workers"] if w["name"].startswith("data")} == set(NODES))
        self.cli("nodes", "drain", "node1", "--wait", timeout=60)
        wait_for("both are elsewhere", lambda: [w["node"] for w in self.show(run)["workers"] if w["name"].startswith("data")] == ["node2", "node2"])
        self.release()
        self.assert_whole(run, spec, 1)


class Bound(LeaveCase):
    def begin(self):
        self.head()
        for node in NODES:
            self.agent(node, *BOUND)
        self.await_nodes(*NODES)

    def agent_pid(self, node):
        return self.pids("--slot", node)[0]

    def is_empty(self, node):
        return not self.pids("--slot", node) and not self.pids(f"/{node}/") and not self.pids_beneath(node)

    def test_what_an_agent_has_goes_on_elsewhere_before_it_ends(self):
        spec = self.prepare(SCRIPT + PLACE, total=2000, train="max_restarts: 1", more=TWO_DATA)
        run = self.begin_one(spec)
        node = self.node_of(run, "feed")
        os.kill(self.agent_pid(node), signal.SIGTERM)
        self.release_asked(run)
        wait_for("nothing is left there", lambda: self.is_empty(node), 60)
        self.assertFalse(os.path.exists(os.path.join(self.folder, node)), "its directory goes with it")
        self.assertNotIn(node, self.states())
        self.assert_moved(run, spec, f"attempt 1 moves: node {node} ends its agent")
        self.assert_ended_on(self.other(node))

    def test_no_worker_outlives_an_agent(self):
        spec = self.prepare(total=2000, train="max_restarts: 1", more=TWO_DATA)
        run = self.begin_one(spec)
        for attempt in (1, 2, 3):  # more moves than max_restarts permits restarts
            wait_for("it goes", lambda: self.show(run)["attempt"] == attempt and self.show(run)["state"] == "running")
            node = self.node_of(run, "feed")
            wait_for("the next step", lambda at=attempt: self.told(1)[-1:] != [] and sum("begun" in line for line in self.told(1)) == at)
            os.kill(self.agent_pid(node), signal.SIGKILL)
            wait_for("its workers end too", lambda: self.is_empty(node), 60)
            self.await_nodes(node, state="lost")
            self.agent(node, *BOUND)
            self.await_nodes(node)
        self.release()
        ended = self.assert_whole(run, spec)
        self.assertEqual(ended["restarts"], 0, self.history(run))

    def test_a_node_that_was_drained_and_left_is_not_drained_when_it_comes_again(self):
        node = NODES[0]
        self.cli("nodes", "drain", node)
        os.kill(self.agent_pid(node), signal.SIGTERM)
        wait_for("it is gone", lambda: node not in self.states())
        self.cli("nodes", "drain", node, code=1)
        self.agent(node, *BOUND)
        self.await_nodes(node)

    def test_a_second_signal_ends_it_at_once(self):
        node = NODES[0]
        spec = self.prepare(total=2000)
        run = self.begin_one(spec)
        node = self.node_of(run, "feed")
        agent = self.agent_pid(node)
        os.kill(agent, signal.SIGTERM)
        wait_for("the head knows", lambda: self.states().get(node) == "leaving")
        os.kill(agent, signal.SIGTERM)
        wait_for("nothing is left there", lambda: self.is_empty(node), 60)
        self.release()
        self.assert_whole(run, spec, 2)


class Lease(LeaveCase):
    def begin(self):
        self.head()
        self.agent(NODES[0], "--bound", "--lease", "2")
        self.await_nodes(NODES[0])

    def test_an_agent_without_a_head_ends_with_its_workers(self):
        self.begin_one(self.prepare(total=2000))
        self.kill_head()
        wait_for("nothing is left there", lambda: not self.pids("--slot", NODES[0]) and not self.pids_beneath(NODES[0]) and not self.pids(f"/{NODES[0]}/"), 60)
        with open(os.path.join(self.folder, NODES[0], "millraced.log"), encoding="utf-8") as log:
            self.assertIn("no head for 2 s (--lease)", log.read())


class Refused(LeaveCase):
    def begin(self):
        self.head()

    def foreground(self, name, *more):
        return subprocess.run(self.agent_command(name, "--foreground", *more), capture_output=True, text=True, timeout=60, check=False)

    def test_an_agent_that_is_never_taken_in_ends_with_the_reason(self):
        self.agent("node1")
        self.await_nodes("node1")
        taken = self.foreground("node1", "--state-dir", os.path.join(self.folder, "other"))
        self.assertEqual(taken.returncode, 4, taken.stderr)
        self.assertIn("an agent of this name is here", taken.stderr)
        join = os.path.join(self.folder, "state", "millrace", "nodes.join")
        with open(join, encoding="utf-8") as file:
            text = file.read()
        token = text.split('"token":')[1].split('"')[1]
        wrong = os.path.join(self.folder, "wrong.join")
        with open(os.open(wrong, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(text.replace(token, token[::-1]))
        refused = self.foreground("node2", "--join", wrong)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        self.assertIn("another token", refused.stderr)
        self.assertEqual([node["name"] for node in self.json("nodes")["nodes"] if not node["head"]], ["node1"])

    def test_an_agent_gives_what_it_is_told_to_give(self):
        self.agent("node1", "--cores", "7", "--memory-mb", "3072", "--gpus", "0", "--address", "127.0.0.0/8")
        self.await_nodes("node1")
        node = next(one for one in self.json("nodes")["nodes"] if one["name"] == "node1")
        self.assertEqual((node["cores"], node["memory_bytes"], node["gpus"]), (7, 3072 << 20, []))
        self.assertEqual(node["address"], "127.0.0.1")

    def group(self, microseconds):
        """Makes a control group below this process's group, with a limit of `microseconds` per 0.1 s; None: not permitted
        here."""
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            groups = [line.strip().split(":", 2)[1:] for line in file]
        for controllers, path in groups:
            if controllers and "cpu" not in controllers.split(","):
                continue
            folder = os.path.join("/sys/fs/cgroup", controllers, path.lstrip("/"), "millrace-" + os.path.basename(self.folder))
            with contextlib.suppress(OSError):
                os.mkdir(folder)
                for name, text in (("cpu.max", f"{microseconds} 100000"), ("cpu.cfs_quota_us", str(microseconds))):
                    if os.path.exists(os.path.join(folder, name)):
                        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                            file.write(text)
                        return folder
                os.rmdir(folder)
        return None

    def test_an_agent_gives_what_its_control_group_leaves(self):
        group = self.group(150_000)
        if group is None or os.cpu_count() < 2:
            self.skipTest("no control group that leaves fewer cores may be made here")
        enter = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group]
        subprocess.run([*enter, *self.agent_command("node1")], check=True, capture_output=True, timeout=60)
        self.agent("node2", "--cores", "7")
        self.await_nodes("node1", "node2")
        cores = {one["name"]: one["cores"] for one in self.json("nodes")["nodes"]}
        self.assertEqual((cores["node1"], cores["node2"]), (1, 7))
        self.cli("down")
        wait_for("it is empty", lambda: not self.processes())
        os.rmdir(group)

    def test_after_an_upgrade_the_installed_program_takes_the_agents_place(self):
        self.daemon, build = self.old_program()
        self.agent("node1")
        self.await_nodes("node1", state="refused")
        self.assertIn(f"came to build {build}", self.cli("nodes") + self.err)
        agent = self.pids("--slot", "node1")[0]
        self.upgrade(self.daemon)
        self.await_nodes("node1")
        self.assertEqual(self.pids("--slot", "node1"), [agent], "in the same process")

    def test_a_bound_agent_of_another_build_that_was_not_upgraded_ends(self):
        self.daemon, build = self.old_program()
        ended = subprocess.run(self.agent_command("node1", "--bound", "--foreground"), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 4, ended.stderr)
        self.assertIn(f"came to build {build}", ended.stderr)

    def started(self, text=None, mode=0o600):
        """Starts an agent in the background with this text as its join file."""
        path = os.path.join(self.folder, "some.join")
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, mode)
        command = [self.daemon, "--slot", "--join", path, "--name", "node9", "--state-dir", os.path.join(self.folder, "node9")]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn(path, ended.stderr)
        return ended.returncode, ended.stderr

    def test_what_is_wrong_with_a_join_file_is_told_at_once(self):
        with open(os.path.join(self.folder, "state", "millrace", "nodes.join"), encoding="utf-8") as file:
            text = file.read()
        code, said = self.started(text, 0o644)
        self.assertEqual(code, 4, said)
        self.assertIn("others may read it", said)
        code, said = self.started("no join file")
        self.assertEqual(code, 4, said)
        code, said = self.started(text.replace('"attempt": 0', '"attempt": 1'))
        self.assertEqual(code, 4, said)
        self.assertIn("is a feed's join file", said)
        os.unlink(os.path.join(self.folder, "some.join"))
        code, said = self.started()
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count("waits for the join file"), 1, said)
        self.cli("nodes", "invite", "node9", "-o", os.path.join(self.folder, "some.join"))
        self.await_nodes("node9")


class LateUpgrade(LeaveCase):
    """The head is upgraded, and its nodes follow much later."""

    def begin(self):
        self.daemon, _ = self.old_program()
        super().begin()

    def test_ranks_of_nodes_that_are_upgraded_later_go_on(self):
        spec = self.prepare(total=2000)
        run = self.begin_one(spec)
        node = self.node_of(run, "rank0")
        self.kill_head()
        old, self.daemon = self.daemon, os.path.join(BIN, "millraced")
        self.head()
        self.await_nodes(*NODES, state="refused")
        wait_for("the run says so", lambda: f"node {node} is away, its agent is refused" in (self.show(run)["trouble"] or ""), 30)

        def waits():
            with open(os.path.join(self.folder, node, "millraced.log"), encoding="utf-8") as file:
                return "waits for the head's build" in file.read()
        wait_for("its agent waits", waits, 40)  # for much longer than --node-away
        self.assertEqual(self.show(run)["attempt"], 1, self.history(run))
        self.assertIn(f"'millrace up --host ssh://{node} --install'", self.cli("nodes") + self.err)
        self.upgrade(old)
        self.await_nodes(*NODES)
        self.release()
        self.assert_whole(run, spec, 1)
        self.assertIn("no longer: node", self.history(run))


if __name__ == "__main__":
    unittest.main()
