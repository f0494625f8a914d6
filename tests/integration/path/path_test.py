#!/usr/bin/env python3
"""The whole path with real processes: daemon, feed, trainer, store, command line.

    path_test.py [-v] [PathTest.test_name]        ctest runs every test on its own
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Place, command_of, edit, wait_for  # noqa: E402

# Slow enough to be stopped in the middle, small enough to end in seconds.
LONG = ("epochs: 3", "epochs: 24")
FREQUENT = ("every_steps: 100, keep: 3", "every_steps: 40, keep: 100")


class PathTest(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def nothing_is_left(self):
        self.place.down()
        wait_for(f"no process left: {self.place.processes()}", lambda: not self.place.processes(), 20)

    def assert_the_feed_ended_by_itself(self, run):
        """The feed ended before the daemon's limit."""
        ended = self.place.dir / "state" / "millrace" / "runs" / run / "a1" / "feed" / "exit.json"
        self.assertEqual(json.loads(ended.read_text())["code"], 0)

    def assert_same_weights(self, a, b):
        self.assertRegex(a["weights_hash"] or "none", "^[0-9a-f]{32}$")
        self.assertEqual(a["weights_hash"], b["weights_hash"])

    def assert_whole(self, losses):
        self.assertEqual([step for step, _ in losses], list(range(1, len(losses) + 1)))

    def test_base_run_reaches_the_known_auc_and_repeats_to_the_last_bit(self):
        place = self.place.up()
        a, b = place.submit()[0], place.submit()[0]
        first, second = place.wait(a, "finished", "failed"), place.wait(b, "finished", "failed")
        self.assertEqual((first["state"], second["state"]), ("finished", "finished"))
        self.assertGreaterEqual(first["metrics"]["eval.auc"], 0.797)
        self.assertEqual(first["receipt"]["order_hash"], second["receipt"]["order_hash"])
        self.assertEqual(first["receipt"]["rows_trained"], first["receipt"]["rows_kept"])
        self.assert_same_weights(first, second)
        self.assertEqual(place.losses(a), place.losses(b))
        self.assert_whole(place.losses(a))
        self.assert_the_feed_ended_by_itself(a)

    def test_the_baselines_are_where_they_are_known_to_be(self):
        place = self.place.up()
        movie, both = place.submit("--variation", "movie-mean", "--variation", "movie-user-mean")
        movie, both = place.wait(movie, "finished", "failed"), place.wait(both, "finished", "failed")
        self.assertTrue(0.68 < movie["metrics"]["eval.auc"] < 0.71, movie["metrics"])
        self.assertTrue(0.76 < both["metrics"]["eval.auc"] < 0.79, both["metrics"])
        self.assertEqual(movie["eval_order_hash"], both["eval_order_hash"])
        self.assert_the_feed_ended_by_itself(movie["id"])  # it trains on one of three epochs

    def test_lists_stored_once_a_request_train_as_lists_of_every_row(self):
        place = self.place.up()
        # The ratings are sorted by user, so a user's rows form a request, and this list belongs to the user.
        edit(place.spec, ("is_new: year >= 2000", "is_new: year >= 2000\n"
                          "      digits: \"split(cast(userId as varchar), '0')\""),
             ("lists: [genres]", "lists: [genres, digits]\n  request: userId"),
             ("genres: {rows: 1024}", "genres: {rows: 1024}\n  digits: {rows: 512}"))
        once, each = place.submit("--set", "batch.epochs=1")[0], place.submit(
            "--set", "batch.epochs=1", "--set", "features.dedup=off")[0]
        once, each = place.wait(once, "finished", "failed"), place.wait(each, "finished", "failed")
        self.assertEqual((once["state"], each["state"]), ("finished", "finished"),
                         (once["exit_reason"], each["exit_reason"]))
        self.assertEqual(once["receipt"]["order_hash"], each["receipt"]["order_hash"])
        self.assertAlmostEqual(once["metrics"]["eval.auc"], each["metrics"]["eval.auc"], places=3)

    def test_a_stopped_run_resumes_to_the_same_weights(self):
        place = self.place.up()
        edit(place.spec, LONG, FREQUENT)
        whole = place.wait(place.submit()[0], "finished")
        stopped = place.submit()[0]
        wait_for("40 steps", lambda: (place.show(stopped)["progress"]["step"] or 0) >= 40)
        place.cli("stop", stopped)
        self.assertEqual(place.wait(stopped, "cancelled", "finished")["state"], "cancelled")
        place.cli("resume", stopped)
        resumed = place.wait(stopped, "finished", "failed")
        self.assertEqual(resumed["state"], "finished", resumed["exit_reason"])
        self.assert_same_weights(resumed, whole)
        self.assertEqual(resumed["receipt"]["order_hash"], whole["receipt"]["order_hash"])
        self.assertEqual(resumed["receipt"]["steps"], whole["receipt"]["steps"])
        self.assertEqual(resumed["receipt"]["vocabularies"], whole["receipt"]["vocabularies"])
        self.assertEqual(place.losses(stopped), place.losses(whole["id"]))

    def test_two_ranks_stop_and_go_on_as_one(self):
        place = self.place.up()
        edit(place.spec, ("epochs: 3", "epochs: 5"), FREQUENT)
        whole = place.wait(place.submit()[0], "finished")
        both = place.submit("--set", "train.ranks=2")[0]
        wait_for("40 steps", lambda: (place.show(both)["progress"]["step"] or 0) >= 40)
        place.cli("stop", both)
        self.assertEqual(place.wait(both, "cancelled", "finished")["state"], "cancelled")
        place.cli("resume", both, "--ranks", "1")
        ended = place.wait(both, "finished", "failed")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        for fact in ("order_hash", "steps", "vocabularies"):
            self.assertEqual(ended["receipt"][fact], whole["receipt"][fact], fact)
        for (step, loss), (wanted, want) in zip(place.losses(both), place.losses(whole["id"]), strict=True):
            self.assertEqual(step, wanted)
            self.assertAlmostEqual(loss, want, delta=1e-3 * want)

    def test_a_finished_run_repeated_from_a_middle_checkpoint_ends_the_same(self):
        place = self.place.up()
        edit(place.spec, FREQUENT)
        run = place.submit()[0]
        first = place.wait(run, "finished", "failed")
        losses = place.losses(run)
        steps = [c["step"] for c in first["checkpoints"]]
        middle = steps[len(steps) // 2]
        self.assertTrue(0 < middle < first["progress"]["step"], steps)
        place.cli("resume", run, code=1)
        self.assertIn("--step", place.err)
        place.cli("resume", run, "--step", middle + 1, code=1)
        self.assertIn(f"no checkpoint of step {middle + 1}", place.err)
        place.cli("resume", run, "--step", middle)
        second = place.wait(run, "finished", "failed")
        self.assertEqual(second["state"], "finished", second["exit_reason"])
        self.assertEqual((second["attempt"], second["restarts"]), (2, 0))
        self.assert_same_weights(second, first)
        self.assertEqual(second["receipt"]["order_hash"], first["receipt"]["order_hash"])
        self.assertEqual(second["receipt"]["steps"], first["receipt"]["steps"])
        self.assertEqual(second["metrics"]["eval.auc"], first["metrics"]["eval.auc"])
        self.assertEqual(place.losses(run), losses)

    def test_a_run_says_what_it_ran_with_and_lists_what_it_read(self):
        place = self.place.up()
        run = place.submit("--set", "batch.epochs=1")[0]
        shown = place.wait(run, "finished", "failed")
        self.assertEqual(sorted(shown["packages"]), ["arrow", "millrace", "torch"])
        self.assertTrue(all(shown["packages"].values()), shown["packages"])
        self.assertGreaterEqual(shown["hardware"]["cores"], 1)
        self.assertGreater(shown["hardware"]["memory_bytes"], 10**8)
        self.assertEqual(shown["hardware"]["gpus"] is not None, True)
        listed = place.json("ls")["runs"][0]
        self.assertEqual(listed["model"], "dlrm")
        self.assertIn("ratings.csv", listed["dataset"])
        self.assertEqual(listed["rows_read"], 100836)
        self.assertEqual(listed["rows_kept"], shown["receipt"]["rows_kept"])
        self.assertEqual(listed["order_hash"], shown["receipt"]["order_hash"])
        self.assertEqual(listed["eval_order_hash"], shown["eval_order_hash"])

    def test_a_killed_daemon_adopts_its_workers_and_no_metric_is_lost(self):
        place = self.place.up()
        edit(place.spec, LONG)
        run = place.submit()[0]
        wait_for("20 steps", lambda: (place.show(run)["progress"]["step"] or 0) >= 20)
        os.kill(place.daemon_pid(), signal.SIGKILL)
        trainer = place.worker("millrace-trainer")
        self.assertIsNotNone(trainer, "the trainer goes on without its daemon")
        place.cli("up")
        ended = place.wait(run, "finished", "failed", "cancelled")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual(ended["attempt"], 1)
        losses = place.losses(run)
        self.assert_whole(losses)
        self.assertEqual(len(losses), ended["progress"]["step"])
        self.nothing_is_left()

    def test_a_killed_trainer_goes_back_to_its_checkpoint(self):
        place = self.place.up()
        edit(place.spec, LONG, FREQUENT)
        whole = place.wait(place.submit()[0], "finished")
        run = place.submit()[0]
        wait_for("a checkpoint", lambda: place.show(run)["checkpoints"])
        os.kill(place.worker("millrace-trainer"), signal.SIGKILL)
        ended = place.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual((ended["attempt"], ended["restarts"]), (2, 1))
        self.assert_same_weights(ended, whole)
        self.assertEqual(place.losses(run), place.losses(whole["id"]))
        self.nothing_is_left()

    def test_a_killed_trainer_without_restarts_fails_with_the_reason(self):
        place = self.place.up()
        edit(place.spec, LONG, ("max_restarts: 3", "max_restarts: 0"))
        run = place.submit()[0]
        wait_for("20 steps", lambda: (place.show(run)["progress"]["step"] or 0) >= 20)
        os.kill(place.worker("millrace-trainer"), signal.SIGKILL)
        ended = place.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "failed")
        self.assertIn("SIGKILL", ended["exit_reason"])
        self.nothing_is_left()

    def test_a_killed_feed_is_survived(self):
        place = self.place.up()
        edit(place.spec, LONG, FREQUENT)
        run = place.submit()[0]
        wait_for("a checkpoint", lambda: place.show(run)["checkpoints"])
        os.kill(place.worker("millrace-loader"), signal.SIGKILL)
        ended = place.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assert_whole(place.losses(run))
        self.nothing_is_left()

    def test_down_checkpoints_and_ends_everything(self):
        place = self.place.up()
        edit(place.spec, LONG)
        run = place.submit()[0]
        wait_for("20 steps", lambda: (place.show(run)["progress"]["step"] or 0) >= 20)
        place.cli("down")
        wait_for("no process left", lambda: not place.processes(), 20)
        place.cli("up")
        ended = place.show(run)
        self.assertIn(ended["state"], ("cancelled", "queued", "running", "starting"))
        self.assertTrue(ended["checkpoints"])

    def test_stream_gives_one_order_for_any_threads_and_another_for_another_seed(self):
        place = self.place
        runs = [place.json("stream", place.spec, "--epochs", "1", "--threads", n) for n in (1, 2, 4)]
        self.assertEqual(len({r["order_hash"] for r in runs}), 1)
        self.assertEqual(len({r["checksum"] for r in runs}), 1)
        other = place.json("stream", place.spec, "--epochs", "1", "--set", "batch.seed=8")
        self.assertNotEqual(other["order_hash"], runs[0]["order_hash"])
        for key in ("rows_scanned", "rows_kept", "seconds", "cpu_seconds", "peak_rss_mb",
                    "first_batch_seconds", "checksum", "order_hash"):
            self.assertIn(key, runs[0])
        self.assertEqual(runs[0]["rows_scanned"], 100836)

    def test_a_run_and_a_stream_of_one_spec_have_one_order_hash(self):
        place = self.place.up()
        run = place.wait(place.submit()[0], "finished", "failed")
        stream = place.json("stream", place.spec, "--epochs", "3")
        self.assertEqual(run["receipt"]["order_hash"], stream["order_hash"])

    def test_data_workers_of_a_run_change_nothing_and_a_lost_one_is_started_again(self):
        place = self.place.up()
        edit(place.spec, LONG)
        alone = place.wait(place.submit()[0], "finished", "failed")
        run = place.submit("--set", "resources.data_workers={min: 2, max: 2}", "--set", "resources.loader_threads=1")[0]

        def workers():
            return [pid for pid in place.processes() if command_of(pid)[1:3] == ["data", "--join"]]

        def joined():
            told = place.cli("metrics", run, "--name", "loader.data_workers", "--points", "100000", "--json", code=None)
            return [p["value"] for p in json.loads(told)["series"][0]["points"]] if told else []  # no points yet: an error

        wait_for("two data workers", lambda: 2 in joined())
        self.assertEqual([w["name"] for w in place.show(run)["workers"]], ["feed", "rank0", "data0", "data1"])
        lost = workers()[0]
        os.kill(lost, signal.SIGKILL)
        wait_for("another in its place", lambda: lost not in workers() and len(workers()) == 2)
        ended = place.wait(run, "finished", "failed")
        self.assertEqual((ended["state"], ended["attempt"], ended["restarts"]), ("finished", 1, 0), ended["exit_reason"])
        self.assertEqual(ended["receipt"]["order_hash"], alone["receipt"]["order_hash"])
        self.assert_same_weights(ended, alone)
        self.assertEqual(place.losses(run), place.losses(alone["id"]))
        self.nothing_is_left()

    def test_variations_are_compared_on_the_same_rows(self):
        place = self.place.up()
        runs = place.submit("--all-variations", "--set", "batch.epochs=1")
        ended = [place.wait(r, "finished", "failed") for r in runs]
        self.assertEqual({r["state"] for r in ended}, {"finished"}, [r["exit_reason"] for r in ended])
        self.assertEqual(len({r["eval_order_hash"] for r in ended}), 1)
        by_name = {r["variation"] or "base": r for r in ended}
        kept = {n: r["receipt"]["rows_kept"] for n, r in by_name.items()}
        self.assertLess(kept["keep-10"], kept["keep-30"])
        self.assertLess(kept["keep-30"], kept["base"])
        self.assertEqual(kept["liked-3.5"], kept["base"])
        table = place.cli("compare", *runs)
        self.assertIn("All were evaluated on the same rows", table)
        self.assertIn("recipe.negatives.keep=0.3", table)


class BadInputTest(unittest.TestCase):
    """Each bad input gives one clear error, and the daemon stays up."""

    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    NO_CSV = ("  csv_split_rows: 8192\n", "")  # a key that Parquet files refuse

    def refused(self, *changes, code=1, via="check"):
        edit(self.place.spec, *changes)
        self.place.cli(via, self.place.spec, *(["--detach"] if via == "run" else []), code=code)
        return self.place.err

    def test_unknown_key_with_line_column_and_the_nearest(self):
        self.assertRegex(self.refused(("learning_rate:", "learnig_rate:")),
                         r"movielens\.yaml:\d+:\d+: .*learnig_rate.*learning_rate")

    def test_wrong_type(self):
        self.assertRegex(self.refused(("epochs: 3", "epochs: many")), r":\d+:\d+: .*epochs")

    def test_unknown_column_with_the_nearest(self):
        self.assertRegex(self.refused(("rating is not null", "raitng is not null")), r"raitng.*rating")

    def test_type_error_inside_an_expression(self):
        self.assertRegex(self.refused(("year >= 2000", "genres >= 2000")), r":\d+:\d+: ")

    def test_missing_file(self):
        self.assertRegex(self.refused(("path: ratings.csv", "path: nothing.csv")), r"nothing\.csv")

    def test_empty_glob(self):
        self.assertRegex(self.refused(("path: ratings.csv", "path: 'part-*.parquet'"), self.NO_CSV), r"part-\*\.parquet")

    def test_csv_with_a_broken_row_names_file_and_line(self):
        ratings = self.place.dir / "spec" / "ratings.csv"
        lines = ratings.read_text().splitlines()
        lines[500] = lines[500] + ",5"
        ratings.write_text("\n".join(lines) + "\n")
        self.place.cli("check", self.place.spec, code=1)
        self.assertRegex(self.place.err, r"ratings\.csv.*501")

    def test_truncated_parquet(self):
        (self.place.dir / "spec" / "part.parquet").write_bytes(b"PAR1" + b"\0" * 100)
        self.assertRegex(self.refused(("path: ratings.csv", "path: part.parquet"), self.NO_CSV), r"part\.parquet")

    def test_label_of_one_class(self):
        self.assertRegex(self.refused(("rating >= 4.0\"}", "rating >= 0.0\"}")), r"liked")

    def test_ranks_that_do_not_divide(self):
        self.assertRegex(self.refused(("max_restarts: 3", "max_restarts: 3\n  ranks: 3")), r"ranks.*1 (and |or )?2|ranks.*1, 2")

    def test_a_spec_of_ten_megabytes(self):
        self.place.up()
        self.place.spec.write_text("# " + "x" * 10_000_000 + "\n" + self.place.spec.read_text())
        self.place.cli("run", self.place.spec, "--detach", code=1)
        self.assertLess(len(self.place.err), 2000)
        self.assertIn("MB", self.place.err)
        self.place.cli("ls")

    def test_the_daemon_is_not_running(self):
        self.place.cli("ls", code=6)
        self.assertIn("millrace up", self.place.err)

    def test_garbage_on_the_socket_leaves_the_daemon_up(self):
        import socket
        self.place.up()
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(self.place.dir / "run" / "millrace" / "millraced.sock"))
            s.sendall(b"\xff\x00GET / HTTP/1.1\r\n\r\n" * 2000)
        self.place.cli("ls")

    def test_a_second_daemon_is_refused(self):
        import subprocess
        from harness import BIN
        self.place.up()
        p = subprocess.run([BIN / "millraced", "--foreground"], env=self.place.env, capture_output=True, text=True,
                           timeout=20)
        self.assertEqual(p.returncode, 1)
        self.assertRegex(p.stderr, r"already")
        self.place.cli("ls")

    def test_errors_of_a_submit_are_those_of_check(self):
        self.place.up()
        self.assertRegex(self.refused(("learning_rate:", "learnig_rate:"), via="run"),
                         r"movielens\.yaml:\d+:\d+: .*learnig_rate")
        self.assertEqual(self.place.json("ls")["runs"], [])

    def test_what_this_version_cannot_do_is_refused_by_check_and_by_run_alike(self):
        self.place.cli("check", self.place.spec, "--set", "train.init_from=nobody")
        self.assertIn("train.init_from: run 'nobody' was not looked for", self.place.err)
        self.place.up()
        for key, words in (("train.tf32=true", "on a GPU"), ("resources.gpus_per_rank=2", "on one GPU"),
                           ("resources.memory_limit_mb=64", "64 MB are too little"),
                           ("embeddings.userId.rows=900000000000", "the tables need"),
                           ("eval.dataset.where=userId < 0", "there is nothing to evaluate"),
                           ("eval.dataset.where=rating >= 4", "needs both classes"),
                           ("labels.liked=rating", "it must be a number from 0 to 1")):
            self.place.cli("check", self.place.spec, "--set", key, code=1)
            self.assertIn(words, self.place.err, key)
            self.place.cli("run", self.place.spec, "--detach", "--set", key, code=1)
            self.assertIn(words, self.place.err, key)
        for command in (["check", self.place.spec], ["run", self.place.spec, "--detach"]):
            self.place.cli(*command, "--set", "train.init_from=nobody", code=1)
            self.assertIn("train.init_from", self.place.err)
            self.assertIn("nobody", self.place.err)
        self.assertEqual(self.place.json("ls")["runs"], [])

    def test_an_evaluation_set_of_one_class_is_not_streamed(self):
        self.place.cli("stream", self.place.spec, "--data", "eval", "--set", "eval.dataset.where=rating >= 4",
                       code=None)
        self.assertIn("an evaluation needs both classes", self.place.err)

    def test_segments_of_few_users_are_told_by_check(self):
        self.place.cli("check", self.place.spec)
        self.assertNotIn("different values of 'userId'", self.place.err)
        self.place.cli("check", self.place.spec, "--set", "batch.segment_splits=1")
        self.assertIn("different values of 'userId'", self.place.err)


class Examples(unittest.TestCase):
    def with_data(self, spec, place):
        """The spec itself, or, if its example has a generator, a copy with some thousand generated rows."""
        if not (spec.parent / "generate.py").exists():
            return spec
        folder = place.dir / spec.parent.name
        shutil.copytree(spec.parent, folder, ignore=shutil.ignore_patterns("data"))
        wheels = os.path.join(os.environ.get("MILLRACE_DEPS_DIR", ROOT / ".deps"), "wheels")
        subprocess.run([sys.executable, folder / "generate.py", "--rows", "20000"], check=True, env={**os.environ, "PYTHONPATH": wheels})
        return folder / spec.name

    def test_every_shipped_example_runs_to_its_end(self):
        place = Place().up()
        self.addCleanup(place.close)
        specs = sorted((ROOT / "resources" / "examples").glob("*/*.yaml"))
        self.assertGreater(len(specs), 1)
        for spec in specs:
            if "\ncommand:" in spec.read_text(encoding="utf-8"):
                continue  # needs torch: run_torch_test.py runs it
            spec = self.with_data(spec, place)
            place.cli("check", spec)
            event = json.loads(place.cli("run", spec, "--detach", "--json").splitlines()[0])
            run = place.wait(event["runs"][0]["id"], "finished", "failed")
            self.assertEqual(run["state"], "finished", (spec.name, run["exit_reason"]))
            self.assertGreater(run["progress"]["step"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
