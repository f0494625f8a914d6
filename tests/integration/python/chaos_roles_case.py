"""Faults of four nodes: two of them have a rank each, and data workers are on others, so that frames go straight to the second rank's node.

Faults name roles, not nodes, and happen to the node or process that has the role at that time. Some cuts block one direction between
two nodes, and two faults may happen at the same time.
"""
import contextlib
import json
import os
import random
import signal
import unittest

from chaos_case import ChaosCase, Fault
from poll import pause, wait_for

FOUR = ("node1", "node2", "node3", "node4")
# Sender and receiver of what a cut drops, with the weight of the draw. The relay is on the node of rank 1; it gets frames from workers.
ONE_WAY = {("worker", "relay"): 4, ("relay", "worker"): 2, ("worker", "lead"): 2, ("lead", "worker"): 1, ("lead", "relay"): 1,
           ("relay", "lead"): 1, ("head", "relay"): 1, ("relay", "head"): 1, ("head", "lead"): 1, ("worker", "head"): 1}
STOPPABLE = ("feed", "feed1", "rank0", "rank1", "worker", "worker", "daemon", *FOUR)
KILLABLE = (*STOPPABLE, "worker", "guardian of feed1", "guardian of rank1")
KINDS = {"kill": 5, "stop": 3, "one way": 5, "slow": 2, "cut": 1, "preempt": 3}
LONG_CUT = 25  # seconds; longer than a broken link between a worker and a relay remains unnoticed
# Small segments, so that the leading feed computes a small part of the rows; and rows of 500 bytes more, so that rings (8 MB) hold a small
# part of the stream and ranks need the links until its end.
MORE_COLUMNS = "".join(f"      more{n}: timestamp * {n + 3} + userId\n" for n in range(64))
WIDE = (("csv_split_rows: 8192", "csv_split_rows: 1024"), ("segment_splits: 4", "segment_splits: 2"),
        ("      is_new: year >= 2000\n", "      is_new: year >= 2000\n" + MORE_COLUMNS), ("carry: [timestamp]", "carry: [timestamp, \"more*\"]"),
        ("data_workers: {min: 2, max: 2}", "data_workers: {min: 3, max: 3}"))


def plan_pairs(seed, steps, count=3):
    """Faults at `count` moments, at each moment one or two."""
    chance = random.Random(seed)
    faults = []
    for step in sorted(chance.sample(range(steps // 10, steps * 8 // 10), count)):
        for _ in range(chance.choice((1, 2))):
            kind = chance.choices(tuple(KINDS), KINDS.values())[0]
            who = {"kill": chance.choice(KILLABLE), "stop": chance.choice(STOPPABLE), "slow": chance.choice(("worker", "relay", "lead")),
                   "one way": " to ".join(chance.choices(tuple(ONE_WAY), ONE_WAY.values())[0]), "cut": chance.choice(("worker", "relay")),
                   "preempt": "worker"}[kind]
            seconds = LONG_CUT if kind == "one way" and chance.random() < 0.15 else chance.uniform(0.3, 4.0)
            faults.append(Fault(kind, who, step, seconds))
    return faults


@unittest.skipUnless("CHAOS_NETWORK" in os.environ, "needs root and the right to make network namespaces")
class RolesCase(ChaosCase):
    nodes = FOUR
    head_options = ("--no-train-here",)
    options = ("--set", "train.nodes=2")
    changes = WIDE

    def disturbed(self, faults, undisturbed):
        self.cables = set()
        ended = super().disturbed(faults, undisturbed)
        if not any(fault.kind == "kill" and fault.who == "feed" for fault in faults):  # a killed feed's counts are lost with it
            self.assertGreater(ended["receipt"]["data_workers"]["direct_bytes"], 0, "frames went straight to the second rank's node")
        self.assertEqual(self.cables, set())
        wait_for(lambda: f"no process of the run is left, but {self.left_of_run()}", lambda: not self.left_of_run(), 30)
        return ended

    def left_of_run(self):
        """Processes with the run's id in their command or environment."""
        found = []
        for pid in self.processes():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as command, open(f"/proc/{pid}/environ", "rb") as environment:
                words = command.read()
                if self.present[0].encode() in words + environment.read():
                    found.append(words.replace(b"\0", b" ").decode(errors="replace"))
        return found

    def submit(self, *arguments, **how):
        self.present = super().submit(*arguments, **how)
        return self.present

    def workers(self):
        """Name to node of the present run's processes, data workers included."""
        shown = wait_for("the daemon answers", lambda: self.cli("show", self.present[0], "--json", code=None), 60)
        return {worker["name"]: worker["node"] for worker in json.loads(shown)["run"]["workers"] if worker["state"] == "running"}

    def node_of(self, role, other=None):
        """The node that has the role now; for a worker one that is not on node `other`. None: no node has it."""
        if role == "head":
            return "head"
        if role == "worker":
            nodes = [node for name, node in sorted(self.workers().items()) if name.startswith("data") and node != other]
            return nodes[-1] if nodes else None
        return self.workers().get({"lead": "rank0", "relay": "rank1"}[role])

    def victim(self, who):
        if who == "worker":
            names = sorted(name for name in self.workers() if name.startswith("data"))
            return super().victim(names[-1]) if names else None
        return super().victim(who)

    def strike(self, fault):
        if fault.kind == "one way":
            return self.block_one_way(fault)
        if fault.kind in ("cut", "slow"):
            return self.disturb_node(fault)
        if fault.kind == "preempt":
            return self.preempt()
        return super().strike(fault)

    def preempt(self):
        """Asks a data worker to end, as a machine does that is taken away."""
        pid = self.victim("worker")
        if pid is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        wait_for("the worker has left", lambda: not self.is_there(pid), 60)
        return True

    def block_one_way(self, fault):
        from_role, to_role = fault.who.split(" to ")
        if from_role == "worker":
            receiver = self.node_of(to_role)
            sender = self.node_of(from_role, receiver)
        else:
            sender = self.node_of(from_role)
            receiver = self.node_of(to_role, sender)
        if None in (sender, receiver) or sender == receiver or not self.begin_with((sender, receiver)):
            return False
        self.network.block(sender, receiver)
        pause(fault.seconds)
        self.network.unblock(sender, receiver)
        self.cables.remove((sender, receiver))
        return True

    def disturb_node(self, fault):
        node = self.node_of(fault.who)
        if node is None or not self.begin_with((fault.kind, node)):
            return False
        begin, end = (self.network.cut, self.network.mend) if fault.kind == "cut" else (self.network.slow, self.network.hasten)
        begin(node)
        pause(fault.seconds)
        end(node)
        self.cables.remove((fault.kind, node))
        return True

    def begin_with(self, disturbance):
        """False if the same thing is disturbed by the other fault of this moment."""
        with self.starting:
            is_new = disturbance not in self.cables
            self.cables.add(disturbance)
            return is_new
