#!/usr/bin/env python3
"""Data workers beside ranks: nodes on a network, whose relays fetch frames from the worker on their own machine."""
import os
import signal
import unittest

from poll import wait_for
from spread_test import TWO, SpreadCase

CORES = 4
MORE = "resources: {loader_threads: 1, memory_limit_mb: 256}\n"


class BesideCase(SpreadCase):
    listen = "127.0.0.1"

    def agent(self, name, *more):
        super().agent(name, "--cores", str(CORES), "--memory-mb", "2048", *more)

    def workers(self, run):
        """The node of each data worker."""
        return {one["name"]: one["node"] for one in self.show(run)["workers"] if one["name"].startswith("data")}

    def worker_command(self):
        """The data worker itself, not its guardian."""
        found = [argv for pid in self.processes() if (argv := self.command_of(pid))[1:2] == ["data"]]
        return found[0] if found else []

    def run_with(self, *sets, between=lambda run: None):
        """Holds the ranks at step 3, calls `between`, then lets the run end. Returns it, and the command of its data worker."""
        spec = self.prepare(total=20000, more=MORE)
        for rank in (0, 1):
            if os.path.exists(path := os.path.join(self.folder, f"rank{rank}.jsonl")):
                os.unlink(path)
        self.hold(*range(1, 3))
        run = self.submit(spec, *TWO, *sets)[0]
        self.at_step(3)
        between(run)
        command = self.worker_command()
        self.release()
        return self.assert_whole(run, spec, 1), command

    def joined(self, run):
        wait_for(lambda: f"a worker beside rank 1: {self.workers(run)}, {self.node_of(run)}",
                 lambda: list(self.workers(run).values()) == [self.node_of(run)])
        wait_for("the feed has it", lambda: "worker joined" in self.cli("logs", run, "--worker", "feed"))


class Beside(BesideCase):
    def test_a_node_with_ranks_has_a_worker_on_its_spare_cores(self):
        ended, command = self.run_with(between=self.joined)
        self.assertEqual(command[-2:], ["--threads", str(CORES - 1)], "rank 1 has the other core")
        told = ended["receipt"]["data_workers"]
        self.assertGreater(told["segments"], 0)
        self.assertGreater(told["direct_bytes"], 0, "the relay fetched frames from it")
        self.assertRegex(self.history(ended["id"]), r"data0 is placed on node node\d, beside its ranks, with 3 threads")
        without, command = self.run_with("--set", "resources.data_workers.beside_ranks=0", between=lambda run: self.assertEqual(self.workers(run), {}))
        self.assertEqual(command, [])
        self.assertIsNone(without["receipt"]["data_workers"])
        self.assertEqual(without["receipt"]["order_hash"], ended["receipt"]["order_hash"])

    def test_a_number_of_threads_is_reserved_and_a_lost_worker_starts_again(self):
        def kill(run):
            self.joined(run)
            before = self.pids("data", "--join")
            for pid in before:
                if self.command_of(pid)[1:2] == ["data"]:
                    os.kill(pid, signal.SIGKILL)
            wait_for("another one", lambda: any(self.command_of(pid)[1:2] == ["data"] for pid in self.pids("data", "--join") if pid not in before))
        ended, command = self.run_with("--set", "resources.data_workers.beside_ranks=2", between=kill)
        self.assertEqual(command[-2:], ["--threads", "2"])
        self.assertGreater(ended["receipt"]["data_workers"]["direct_bytes"], 0)


class BesideOthers(BesideCase):
    options = ("--no-train-here",)

    def test_another_run_takes_cores_that_a_worker_has_not_reserved(self):
        def another(run):
            self.joined(run)
            node, other = self.node_of(run), self.node_of(run, "rank0")
            second.extend(self.submit(os.path.join(self.folder, "spec.yaml"), *TWO))
            wait_for(lambda: f"the worker leaves and has a smaller successor: {self.history(run)}",
                     lambda: f"data1 is placed on node {node}, beside its ranks, with 1 thread" in self.history(run))
            self.assertIn(f"data0 leaves: other runs have reserved resources that it uses on node {node}", self.history(run))
            wait_for(lambda: f"it has a worker of its own: {self.history(second[0])}",
                     lambda: f"data0 is placed on node {other}, beside its ranks, with 1 thread" in self.history(second[0]))
        second = []
        self.run_with(between=another)
        self.wait(second[0], "finished")


if __name__ == "__main__":
    unittest.main()
