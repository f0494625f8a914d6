"""Runs over network namespaces, compared with one process and with the same ranks on one node.

COMBINATIONS is a table of twelve runs. Each pair of values of two factors occurs in it (combinations_test.py checks this). Each run has
a head that does not train, a node for each group of ranks, two data workers, and links over TLS.
"""
import hashlib
import itertools
import os
import re
import subprocess
import typing
import unittest

import chaos_net
from harness import BIN, streamed
from poll import wait_for
from run_harness import RunCase


class Combination(typing.NamedTuple):
    """`resumed`: the number of nodes on which the run continues after a stop; 0: it is not stopped."""
    nodes: int
    ranks_per_node: int
    taken: str     # "trainer": the built-in one, by micro-batches; "steps", "micro": a script, by whole steps or micro-batches
    workers: str   # "apart": on nodes of their own; "beside": on the ranks' nodes
    link: str      # "slow": 20 Mbit/s, for which the feed codes columns; "fast": not limited, where it codes fewer or none
    lists: str     # "row": in each row; "request": once for each request
    epochs: int
    evaluates: bool
    resumed: int

    def factors(self):
        """The values that count for pairs: of the resume only whether the run resumes on another number of nodes."""
        return (*self[:-1], self.resumed > 0)


COMBINATIONS = (
    Combination(2, 1, "trainer", "beside", "slow", "row", 1, False, 0),
    Combination(4, 1, "steps", "apart", "fast", "row", 3, False, 0),
    Combination(8, 1, "micro", "beside", "slow", "row", 3, True, 4),
    Combination(2, 3, "micro", "apart", "slow", "request", 3, False, 0),
    Combination(4, 1, "steps", "apart", "slow", "request", 3, True, 2),
    Combination(4, 2, "micro", "beside", "fast", "request", 3, False, 0),
    Combination(4, 3, "trainer", "beside", "fast", "request", 1, True, 2),
    Combination(2, 2, "steps", "beside", "slow", "request", 3, True, 4),
    Combination(8, 2, "trainer", "apart", "fast", "request", 1, True, 4),
    Combination(8, 3, "steps", "apart", "fast", "row", 1, False, 0),
    Combination(2, 1, "trainer", "beside", "fast", "request", 3, False, 1),
    Combination(2, 2, "micro", "beside", "slow", "row", 1, True, 0),
)
ROWS = 20_000
MICRO_BATCHES = 48  # of a step: each number of ranks in the table divides it
HELD_STEP = 20      # at which the ranks of a script wait for the stop

SPEC = """
dataset: {path: rows.csv, where: "number %% 10 <> 3", csv_split_rows: 1000}
recipe:
  - filter: x is not null
  - derive: {tags: "split(tags, '|')"}
labels: {liked: "y > 0"}
features: {dense: [x], ids: [user], lists: [tags], carry: [number]%(request)s}
embeddings: {user: {rows: 1024}, tags: {rows: 256}}
batch: {rows: 192, micro_rows: 4, epochs: %(epochs)d, seed: 3, segment_splits: 1}
resources: {memory_limit_mb: 1024, loader_threads: 1}
train: {ranks: %(ranks)d, checkpoint: {every_steps: 1000000}%(device)s}
%(model)s
%(eval)s
"""
OTHER = "command: [sleep, infinity]\ntrain: {threads: 64}\n"
MODEL = "model: {type: dlrm, embedding_dim: 4, bottom: [8, 4], top: [8, 1]}"
EVAL = "eval: {dataset: {where: \"number % 10 = 3\"}}"

# Each rank hashes its batches, each hash over the one before: an order-sensitive result of all values that the rank got.
SCRIPT = """
import hashlib, os
import numpy
import millrace
import poll

HERE, RANK = os.path.dirname(os.path.abspath(__file__)), os.environ["RANK"]
JOINS = %(joins)r

def digest_of(digest, batch):
    content = hashlib.sha256(digest.encode())
    for name in sorted(batch.keys()):
        value = batch[name]
        rows = [value.expand().values, value.expand().offsets] if hasattr(value, "expand") else [value]
        for array in rows:
            content.update(name.encode() + numpy.ascontiguousarray(array).tobytes())
    return content.hexdigest()

def place(step):
    return os.path.join(HERE, f"digest.{RANK}.{step}")

resumed = millrace.resume()
digest = ""
if resumed:
    with open(place(resumed.step)) as file:
        digest = file.read()
stream = millrace.stream(os.path.join(HERE, "spec.yaml"), as_numpy=True, join=JOINS)
for batch in stream:
    digest = digest_of(digest, batch)
    millrace.log(loss=stream.step / 7)
    if stream.step == %(held)d and os.path.exists(os.path.join(HERE, "hold")):
        with open(os.path.join(HERE, f"held.{RANK}"), "w"):
            pass
        while os.path.exists(os.path.join(HERE, "hold")):
            poll.pause(0.005)
if stream.stopped:
    with open(place(stream.step), "w") as file:
        file.write(digest)
    millrace.checkpoint(b"its digests are in files", stream.step)
else:
    for batch in stream.evaluation() if %(evaluates)r else []:
        digest = digest_of(digest, batch)
    with open(place("end"), "w") as file:
        file.write(digest)
"""


@unittest.skipUnless("CHAOS_NETWORK" in os.environ, "needs root and the right to make network namespaces")
class CombinationCase(RunCase):
    def begin(self):
        """Each combination starts its own daemon."""

    def check(self, number):
        """Runs combination `number`, counted from 1."""
        self.row = COMBINATIONS[number - 1]
        self.ranks = self.row.nodes * self.row.ranks_per_node
        self.ranks_nodes = [f"node{n}" for n in range(max(self.row.nodes, self.row.resumed))]
        self.workers_nodes = ["work0", "work1"] if self.row.workers == "apart" else []
        self.network = chaos_net.Network([*self.ranks_nodes, *self.workers_nodes])
        self.addCleanup(self.network.close)
        self.addCleanup(self.end_all)  # before the network is gone
        self.write()
        whole = streamed(self.spec_file, "--last", "keep" if self.row.taken == "trainer" else "drop")
        subprocess.run([os.path.join(BIN, "millraced"), "--nodes-listen", chaos_net.HEAD, "--no-train-here"], check=True, capture_output=True,
                       timeout=60)
        self.start_agents(self.workers_nodes)
        self.occupy_workers_nodes()
        self.start_agents(self.ranks_nodes[:self.row.nodes])
        one_node = self.results(self.finish(self.submit(self.spec_file)[0]))
        if self.row.link == "slow":
            for node in self.network.holders:
                self.network.slow(node)
        spread = self.run_spread()
        self.assertEqual(self.results(spread), one_node, "as the same ranks on one node")
        for name in ("order_hash", "rows_delivered"):
            self.assertEqual(one_node[name], whole[name], "as one process")
        self.check_frames(spread)
        self.cli("down")
        wait_for(lambda: f"no process is left, but {self.processes()}", lambda: not self.processes(), 20)

    def write(self):
        with open(os.path.join(self.folder, "rows.csv"), "w", encoding="utf-8") as file:
            file.write("number,request,user,x,y,tags\n")
            for n in range(ROWS):
                request = n // 8
                tags = "|".join(str((request * 7 + k * 13) % 200) for k in range(20 + request % 40))
                file.write(f"{n},{request},{n * 31 % 997},{n / 8},{n % 3 - 1},{tags}\n")
        is_trainer = self.row.taken == "trainer"
        self.spec_file = os.path.join(self.folder, "spec.yaml")
        with open(self.spec_file, "w", encoding="utf-8") as file:
            file.write(SPEC % {"request": ", request: request, dedup: required" if self.row.lists == "request" else "", "epochs": self.row.epochs,
                               "ranks": self.ranks, "device": ", device: cpu" if is_trainer else "", "model": MODEL if is_trainer else "command: [python3, script.py]",
                               "eval": EVAL if self.row.evaluates else ""})
        self.script(SCRIPT % {"joins": self.row.taken == "steps", "held": HELD_STEP, "evaluates": self.row.evaluates})

    def start_agents(self, names):
        for name in names:
            # Data workers go to the nodes with the fewest processes for each core.
            cores = "64" if name in self.workers_nodes else "16"
            state = os.path.join(self.folder, "state", "millrace")
            subprocess.run([*self.network.prefix(name), os.path.join(BIN, "millraced"), "--slot", "--join", os.path.join(state, "nodes.join"),
                            "--name", name, "--cores", cores, "--state-dir", os.path.join(self.folder, name)],
                           check=True, capture_output=True, timeout=60)
        wait_for("all nodes are there", lambda: {node["name"] for node in self.json("nodes")["nodes"] if node["state"] == "attached"} >= set(names))

    def occupy_workers_nodes(self):
        """Reserves all cores of these nodes for other runs, so that no rank is placed there."""
        other = os.path.join(self.folder, "other.yaml")
        with open(other, "w", encoding="utf-8") as file:
            file.write(OTHER)
        for run in [self.submit(other)[0] for _ in self.workers_nodes]:
            self.wait(run, "running")

    def run_spread(self):
        if self.row.resumed and self.row.taken != "trainer":
            self.touch("hold")
        run = self.submit(self.spec_file, "--set", f"train.nodes={self.row.nodes}", "--set", "resources.data_workers={min: 2, max: 2, beside_ranks: 0}")[0]
        if self.row.resumed:
            self.stop_midway(run)
            self.start_agents(self.ranks_nodes[self.row.nodes:])
            self.cli("resume", run, "--nodes", self.row.resumed)
        ended = self.finish(run)
        self.check_places(ended)
        return ended

    def stop_midway(self, run):
        """Stops the run at a step behind its first one."""
        if self.row.taken == "trainer":
            wait_for("it trains", lambda: (self.show(run)["progress"]["step"] or 0) > 0, step=0.01)
            self.cli("stop", run)
        else:
            wait_for("all ranks wait", lambda: all(os.path.exists(os.path.join(self.folder, f"held.{rank}")) for rank in range(self.ranks)))
            self.cli("stop", run)
            wait_for("the ranks know it", lambda: self.show(run)["state"] == "stopping")
            self.release()
        stopped = self.wait(run, "cancelled", "failed", "finished")
        self.assertEqual(stopped["state"], "cancelled", stopped["exit_reason"])
        self.assertEqual(stopped["checkpoints"][-1]["step"], stopped["progress"]["step"])

    def finish(self, run):
        ended = self.wait(run, "finished", "failed", "cancelled", seconds=150)
        self.assertEqual(ended["state"], "finished", (ended["exit_reason"], [event["text"] for event in ended["events"]], self.log(run)))
        return ended

    def results(self, ended):
        """Everything that must not depend on nodes and workers."""
        receipt = ended["receipt"]
        weights = ended["weights_hash"]
        if self.row.taken != "trainer":
            weights = hashlib.sha256()
            for rank in range(self.ranks):
                path = os.path.join(self.folder, f"digest.{rank}.end")
                with open(path, "rb") as file:
                    weights.update(file.read())
                os.unlink(path)
            weights = weights.hexdigest()
        self.assertTrue(weights)
        figures = {name: value for name, value in ended["metrics"].items() if name.startswith("eval.")}
        self.assertEqual(bool(receipt["eval_order_hash"] or figures), self.row.evaluates and self.row.taken == "trainer", figures)
        return {"order_hash": receipt["order_hash"], "rows_delivered": receipt["rows_trained"], "weights": weights,
                "evaluation": (receipt["eval_order_hash"], figures), "steps": ended["progress"]["step"]}

    def check_places(self, ended):
        """Checks that ranks and data workers of the first attempt were on the nodes that the row asks for."""
        history = "\n".join(event["text"] for event in ended["events"])
        placed = re.findall(r"part \d+ of its ranks is placed on node (\w+)", history)[:self.row.nodes]
        workers = re.findall(r"data\d+ is placed on node (\w+)", history)[:2]
        self.assertEqual(len(set(placed)), self.row.nodes, history)
        self.assertEqual(len(workers), 2, history)
        self.assertEqual({node in placed for node in workers}, {self.row.workers == "beside"}, history)

    def check_frames(self, ended):
        """Checks that frames of ranks on other nodes came from the data workers, and coded over slow links."""
        workers = ended["receipt"]["data_workers"]
        codecs = {column["codec"] for column in workers["codecs"]}
        print(f"{self.row}: {workers['direct_bytes'] / 1e6:.1f} MB from workers to other nodes, {workers['carried_bytes'] / 1e6:.1f} MB through "
              f"the leading feed; codecs {sorted(codecs)}; {workers['segments']} segments; attempt {ended['attempt']}", flush=True)
        self.assertGreater(workers["direct_bytes"], workers["carried_bytes"])
        if self.row.link == "slow":
            self.assertTrue(codecs - {"none"}, workers)


def missing_pairs(combinations):
    """Pairs of values of two factors that occur in no combination, among all values that occur."""
    rows = [combination.factors() for combination in combinations]
    missing = []
    for one, other in itertools.combinations(range(len(rows[0])), 2):
        seen = {(row[one], row[other]) for row in rows}
        missing += [(one, a, other, b) for a in {row[one] for row in rows} for b in {row[other] for row in rows} if (a, b) not in seen]
    return missing
