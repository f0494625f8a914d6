"""millrace-trainer with a real feed; this test plays the daemon on the rank socket."""
import copy
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

BIN = os.environ.get("MILLRACE_BIN_DIR", "build/release/bin")
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
EXAMPLE = os.path.join(ROOT, "resources", "examples", "movielens")
LIMIT_S = 120


def resolve(variations, text=None, base_dir=EXAMPLE):
    sets = []
    if text is None:
        with open(os.path.join(EXAMPLE, "movielens.yaml"), encoding="utf-8") as f:
            text = f.read()
        sets = ["batch.rows=512", "train.checkpoint.every_steps=40"]
    request = {"op": "resolve", "text": text, "file_name": "spec.yaml", "base_dir": base_dir,
               "variations": variations, "sets": sets}
    out = subprocess.run([f"{BIN}/millrace-loader", "inspect"], input=json.dumps(request),
                         capture_output=True, text=True, timeout=LIMIT_S, check=True)
    answer = json.loads(out.stdout)
    assert answer["ok"], answer
    runs = answer["runs"]
    for run in runs:
        if isinstance(run["plan"], int):  # the index of an earlier run with the same plan
            run["plan"] = runs[run["plan"]]["plan"]
    return {run["variation"]: run for run in runs}


class Job:
    """One attempt: its folder, its rank socket (it acknowledges every line), its two workers."""

    def __init__(self, folder, run, attempt=1, resume=None, init_from=None):
        self.attempt = attempt
        self.dir = os.path.join(folder, f"a{attempt}")
        os.makedirs(self.dir)
        self.job = os.path.join(self.dir, "job.json")
        self.lines, self.changed = [], threading.Condition()
        with open(self.job, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "run": "r-test1", "attempt": attempt, "resume": resume,
                       "init_from": init_from, "checkpoint_dir": os.path.join(folder, "checkpoints"),
                       "rank_socket": os.path.join(self.dir, "rank.sock"),
                       "feed_socket": os.path.join(self.dir, "feed.sock"),
                       **{k: run[k] for k in ("spec", "spec_hash", "stream_hash", "plan", "plan_hash")}},
                      f)
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(os.path.join(self.dir, "rank.sock"))
        self.server.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()
        self.start_feed()
        self.log = open(os.path.join(self.dir, "trainer.log"), "w", encoding="utf-8")
        self.trainer = subprocess.Popen(
            [f"{BIN}/millrace-trainer", "--job", self.job, "--rank", "0"], stderr=self.log)

    def start_feed(self):
        self.feed = subprocess.Popen([f"{BIN}/millrace-loader", "feed", "--job", self.job],
                                     stderr=subprocess.DEVNULL)

    def accept(self):
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("r") as reader:
            try:
                self.acknowledge(connection, reader)
            except OSError:
                pass  # a killed worker

    def acknowledge(self, connection, reader):
        role = ""
        for text in reader:
            line = json.loads(text)
            if line["type"] == "hello":
                role = line["role"]
                continue
            if line["type"] == "alive":  # has no number: nothing is acknowledged
                continue
            with self.changed:
                self.lines.append((role, line))
                self.changed.notify_all()
            ack = {"ack": line["seq"]}
            if "attempt" in line:
                ack["attempt"] = line["attempt"]
            connection.sendall((json.dumps(ack) + "\n").encode())

    def of_type(self, name):
        with self.changed:
            return [line for role, line in self.lines if role == "rank" and line["type"] == name]

    def losses(self):
        """Losses of this attempt by step. Lines that an earlier attempt could not deliver come again, with that attempt's number."""
        return {m["step"]: m["values"]["loss"] for m in self.of_type("metrics")
                if "loss" in m["values"] and m.get("attempt", self.attempt) == self.attempt}

    def wait_for_step(self, step, kind="metrics"):
        """Waits until a line of this kind for the step came; training goes on while a checkpoint is written."""
        def reached():
            return any(r == "rank" and m["type"] == kind and m["step"] >= step
                       for r, m in self.lines)
        with self.changed:
            assert self.changed.wait_for(reached, LIMIT_S), "no such step in time"

    def wait(self):
        code = self.trainer.wait(LIMIT_S)
        self.close()
        return code

    def close(self):
        for process in (self.trainer, self.feed):
            if process.poll() is None:
                process.kill()
            process.wait()
        self.log.close()
        try:
            self.server.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.server.close()

    def done(self):
        lines = self.of_type("done")
        return lines[0] if lines else None


class Trainer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = resolve("all")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="millrace-trainer-")
        self.jobs = []
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.addCleanup(lambda: [job.close() for job in self.jobs])

    def start(self, run=None, name="run", **options):
        job = Job(os.path.join(self.folder, name), run or self.runs[""], **options)
        self.jobs.append(job)
        return job

    def finished(self, **options):
        job = self.start(**options)
        self.assertEqual(job.wait(), 0)
        self.assertIsNotNone(job.done())
        return job

    def checkpoint(self, name="run", index=-1):
        folder = os.path.join(self.folder, name, "checkpoints")
        files = sorted(f for f in os.listdir(folder) if f.endswith(".safetensors"))
        return os.path.join(folder, files[index])

    def assert_same_end(self, job, whole):
        self.assertEqual(job.done()["params"], whole.done()["params"])
        self.assertEqual(job.done()["metrics"], whole.done()["metrics"])
        self.assertEqual(job.done()["state"], whole.done()["state"])
        for step, loss in job.losses().items():
            self.assertEqual(loss, whole.losses()[step], step)

    def test_trains_the_example_well_and_reports_every_step(self):
        job = self.finished()
        done = job.done()
        self.assertGreaterEqual(done["metrics"]["eval.auc"], 0.797)
        self.assertEqual(sorted(job.losses()), list(range(1, done["step"] + 1)))
        self.assertEqual(len(done["params"]["eval_order_hash"]), 32)
        names = sorted(line["name"] for line in job.of_type("checkpoint"))
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "run", "checkpoints"))), ["scores-474.a1.zst", *names],
                         "the trainer removes none")

    def test_trains_twice_to_the_same_bits(self):
        self.assert_same_end(self.finished(name="b"), self.finished(name="a"))

    def test_resumes_bit_for_bit_after_kill_9(self):
        whole = self.finished(name="whole")
        job = self.start()
        job.wait_for_step(40, "checkpoint")
        job.trainer.kill()
        job.wait()
        resumed = self.finished(attempt=2, resume=self.checkpoint())
        self.assertGreaterEqual(min(resumed.losses()), 41)
        self.assert_same_end(resumed, whole)

    def test_stops_on_sigterm_with_a_checkpoint_and_exit_3(self):
        whole = self.finished(name="whole")
        job = self.start()
        job.wait_for_step(25)
        job.trainer.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(), 3)
        self.assertIsNone(job.done())
        step = job.of_type("checkpoint")[-1]["step"]
        self.assertEqual(step, max(job.losses()))
        resumed = self.finished(attempt=2, resume=self.checkpoint())
        self.assertIn(step + 1, resumed.losses())
        self.assert_same_end(resumed, whole)

    def test_goes_on_when_the_feed_is_killed_and_replaced(self):
        whole = self.finished(name="whole")
        job = self.start()
        job.wait_for_step(45)
        job.feed.kill()
        job.feed.wait()
        job.start_feed()
        self.assertEqual(job.wait(), 0)
        self.assert_same_end(job, whole)

    def test_trains_the_baselines_in_one_epoch_on_the_same_evaluation_rows(self):
        both = self.finished(run=self.runs["movie-user-mean"], name="both").done()
        film = self.finished(run=self.runs["movie-mean"], name="film").done()
        self.assertTrue(0.67 < film["metrics"]["eval.auc"] < 0.71, film)
        self.assertTrue(0.76 < both["metrics"]["eval.auc"] < 0.79, both)
        self.assertEqual(film["params"]["eval_order_hash"], both["params"]["eval_order_hash"])

    def test_starts_from_another_runs_weights(self):
        first = self.finished(name="first")
        second = self.finished(name="second", init_from=self.checkpoint("first"))
        self.assertLess(second.losses()[1], first.losses()[1])

    def test_starts_fresh_where_another_runs_tensors_do_not_fit(self):
        self.finished(name="first")
        run = copy.deepcopy(self.runs[""])
        spec = run["spec"] if isinstance(run["spec"], dict) else json.loads(run["spec"])
        spec["model"]["top"] = [24, 1]
        run["spec"] = spec
        self.finished(run=run, name="second", init_from=self.checkpoint("first"))
        with open(os.path.join(self.folder, "second", "a1", "trainer.log"), encoding="utf-8") as log:
            fresh = [line for line in log if "begins fresh" in line]
        self.assertTrue(any("top.0.weight" in line for line in fresh), fresh)
        self.assertFalse(any("embedding" in line or "bottom" in line for line in fresh), fresh)

    def test_names_a_damaged_checkpoint_and_exits_4(self):
        self.finished(name="first")
        path = self.checkpoint("first")
        with open(path, "r+b") as f:
            f.seek(5000)
            f.write(b"x" * 16)
        job = self.start(attempt=2, resume=path)
        self.assertEqual(job.wait(), 4)
        self.assertIn(path, job.of_type("error")[0]["message"])

    def test_names_a_key_that_the_model_cannot_use_and_exits_4(self):
        run = copy.deepcopy(self.runs[""])
        run["spec"]["model"]["bottom"] = [32, 15]
        job = self.start(run=run)
        self.assertEqual(job.wait(), 4)
        self.assertIn("model.bottom", job.of_type("error")[0]["message"])

    def small(self, features, embeddings):
        """A run over 600 rows whose label depends on `kind` and on the items seen before."""
        kinds = ["red", "green", "blue"]
        with open(os.path.join(self.folder, "rows.csv"), "w", encoding="utf-8") as f:
            f.write("kind,seen,seen_at,at,label\n")
            for row in range(600):
                kind, item = kinds[row * 7 % 3], row * 5 % 4
                f.write(f"{kind},{item}|{item},2024-01-01 00:00:00|2024-01-09 00:00:00,"
                        f"2024-01-05 00:00:00,{int(kind == 'red' or item == 2)}\n")
        with open(os.path.join(self.folder, "kinds.csv"), "w", encoding="utf-8") as f:
            f.write("kind\n" + "\n".join(kinds) + "\n")
        text = f"""name: small
dataset: {{path: rows.csv, where: "hash01(kind, seen, at) >= 0"}}
recipe: [{{derive: {{items: "cast(split(seen, '|') as bigint[])",
                    times: "cast(split(seen_at, '|') as timestamp[])"}}}}]
labels: {{label: label}}
features: {features}
embeddings: {embeddings}
model: {{type: mlp, hidden: [8], embedding_dim: 4}}
batch: {{rows: 32, epochs: 4, seed: 1}}
train: {{learning_rate: 0.05}}
eval: {{dataset: {{path: rows.csv}}}}
"""
        return resolve([], text, self.folder)[""]

    def test_a_vocabulary_trains_with_a_row_for_each_value_and_one_for_the_unknown(self):
        run = self.small("{ids: [kind]}", "{kind: {vocabulary: {table: kinds.csv, column: kind}}}")
        self.assertEqual(run["spec"]["embeddings"]["kind"]["rows"], 4)
        done = self.finished(run=run).done()
        self.assertGreater(done["metrics"]["eval.auc"], 0.75)

    def test_a_sequence_enters_as_the_mean_of_its_ids_vectors(self):
        run = self.small("{ids: [kind], sequences: {seen: {columns: [items, times], before: at}}}",
                         "{kind: {rows: 16}, items: {rows: 16}}")
        done = self.finished(run=run).done()
        self.assertGreater(done["metrics"]["eval.auc"], 0.95)

    def test_names_its_figures_alike_for_any_number_of_heads(self):
        done = self.finished(run=self.small("{ids: [kind]}", "{kind: {rows: 16}}")).done()
        self.assertEqual(done["metrics"]["eval.auc"], done["metrics"]["eval.label.auc"])

    def test_tables_larger_than_the_machine_are_an_error_before_they_are_made(self):
        run = copy.deepcopy(self.runs[""])
        run["spec"]["embeddings"]["userId"]["rows"] = 10 ** 12
        job = self.start(run=run)
        self.assertEqual(job.wait(), 4)
        self.assertIn("embeddings.userId.rows: the tables need", job.of_type("error")[0]["message"])

    def test_threads_that_wait_sleep_whoever_started_the_trainer(self):
        run = copy.deepcopy(self.runs[""])
        run["spec"]["train"]["threads"] = 2
        job = self.start(run=run)
        job.wait_for_step(1)
        with open(f"/proc/{job.trainer.pid}/environ", "rb") as f:
            self.assertIn(b"OMP_WAIT_POLICY=PASSIVE", f.read().split(b"\0"))

    def test_says_what_is_missing_on_its_command_line(self):
        out = subprocess.run([f"{BIN}/millrace-trainer"], capture_output=True, text=True,
                             timeout=LIMIT_S, check=False)
        self.assertEqual(out.returncode, 2)
        self.assertIn("usage", out.stderr)
        out = subprocess.run([f"{BIN}/millrace-trainer", "--job", "/no/job.json", "--rank", "0"],
                             capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(out.returncode, 4)
        self.assertIn("/no/job.json", out.stderr)


if __name__ == "__main__":
    unittest.main()
