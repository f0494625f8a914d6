#!/usr/bin/env python3
"""A node's link is cut for longer than the relay waits, while ranks meet at each step as under DDP. Needs root, for a
network namespace."""
import glob
import os
import subprocess
import unittest

import chaos_net
from harness import BIN, streamed
from poll import wait_for
from run_harness import RunCase

NODE = "node1"
STEPS = 500
CUT_AT = 40
# Ranks wait for each other before each step ends, as in an all-reduce. A rank's ring has room for some 150 steps.
SCRIPT = """
import mmap, os
import numpy as np
import millrace
import poll

HERE = os.path.dirname(os.path.abspath(__file__))
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
resumed = millrace.resume()
stream = millrace.stream(os.path.join(HERE, "spec.yaml"), as_numpy=True)
with open(os.path.join(HERE, "meet" + os.environ["MR_ATTEMPT"]), "ab") as file:
    file.truncate(8 * WORLD)
with open(file.name, "r+b") as file:
    steps = np.frombuffer(mmap.mmap(file.fileno(), 8 * WORLD), dtype=np.int64)
with open(os.path.join(HERE, f"rows{RANK}.a" + os.environ["MR_ATTEMPT"]), "a", buffering=1) as told:
    for batch in stream:
        steps[RANK] = stream.step
        while steps.min() < stream.step:
            poll.pause(0.001)
        told.write(f"{stream.step} {' '.join(map(str, batch.carry['number']))}\\n")
        millrace.log(loss=1 / stream.step)
        if stream.checkpoint_due:
            millrace.checkpoint(b"weights", stream.step)
        poll.pause(0.02)
"""
SPEC = f"""
dataset: {{path: rows.csv, csv_split_rows: 256}}
labels: {{l: "x > 1"}}
features: {{dense: [x], carry: [number, pad]}}
batch: {{rows: 64, micro_rows: 16, epochs: 1, seed: 3, shuffle: rows, segment_splits: 2}}
resources: {{memory_limit_mb: 256, loader_threads: 1}}
command: [python3, script.py]
train: {{ranks: 2, nodes: 2, checkpoint: {{every_steps: 100}}}}
"""


@unittest.skipUnless("CHAOS_NETWORK" in os.environ, "needs root and the right to make network namespaces")
class LinkCut(RunCase):
    def make_state(self):
        self.network = chaos_net.Network([NODE])
        self.addCleanup(self.network.close)

    def begin(self):
        # The cut is shorter than the limits of silence, so it must cost only time.
        head = [os.path.join(BIN, "millraced"), "--nodes-listen", chaos_net.HEAD, "--silent-after", "90", "--node-away", "90"]
        subprocess.run(head, check=True, capture_output=True, timeout=60)
        join = os.path.join(self.folder, "state", "millrace", "nodes.join")
        agent = [os.path.join(BIN, "millraced"), "--slot", "--join", join, "--name", NODE, "--state-dir", os.path.join(self.folder, NODE)]
        subprocess.run([*self.network.prefix(NODE), *agent], check=True, capture_output=True, timeout=60)
        wait_for("the node is there", lambda: any(node["state"] == "attached" and node["name"] == NODE for node in self.json("nodes")["nodes"]), 60)

    def make_run(self):
        with open(os.path.join(self.folder, "rows.csv"), "w", encoding="utf-8") as file:
            file.write("number,x,pad\n")
            for n in range(64 * STEPS):
                file.write(f"{n},{n % 3},p{n:01500}\n")
        spec = os.path.join(self.folder, "spec.yaml")
        with open(spec, "w", encoding="utf-8") as file:
            file.write(SPEC)
        self.script(SCRIPT)
        return spec

    def steps(self, rank):
        path = os.path.join(self.folder, f"rows{rank}.a1")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return [[int(word) for word in line.split()] for line in file if line.endswith("\n")]

    def relay_has_hung_up(self):
        for path in glob.glob(os.path.join(self.folder, NODE, "**", "*log*"), recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    if b"hangs up on a rank" in file.read():
                        return True
        return False

    def test_ranks_that_meet_each_step_go_on_after_a_cut_that_ends_the_relays_connection(self):
        spec = self.make_run()
        run = self.submit(spec)[0]
        wait_for("the ranks are at work", lambda: len(self.steps(0)) > CUT_AT, 60)
        self.network.cut(NODE)
        wait_for("the relay gave the link up", self.relay_has_hung_up, 60)
        self.network.mend(NODE)
        ended = self.wait(run, "finished", "failed", "cancelled", seconds=90)
        self.assertEqual((ended["state"], ended["attempt"]), ("finished", 1), (ended["exit_reason"], self.log(run)))
        self.assertEqual(ended["receipt"]["order_hash"], streamed(spec, "--last", "drop")["order_hash"])
        given = [self.steps(rank) for rank in (0, 1)]
        self.assertEqual([[line[0] for line in lines] for lines in given], [list(range(1, STEPS + 1))] * 2)
        self.assertEqual(sorted(row for lines in given for line in lines for row in line[1:]), list(range(64 * STEPS)))


if __name__ == "__main__":
    chaos_net.enter_own_network()
    unittest.main()
