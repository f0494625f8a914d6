#!/usr/bin/env python3
"""millrace.Client() with a real daemon: launch, wait, stop, resume, list, compare, plot."""
import json
import os
import signal
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

from daemon_case import MEAN, DaemonCase
from poll import wait_for

import millrace

# With this many epochs the run trains until it is stopped.
LONG = {"batch.epochs": 100000, "model": {"type": "dlrm", "embedding_dim": 4, "bottom": [4, 4], "top": [4, 1]},
        "train.checkpoint.every_steps": 100}

WAITING = """
    import sys, millrace
    print("waits", flush=True)
    try:
        millrace.Client().wait(sys.argv[1])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


class Clients(DaemonCase):
    def setUp(self):
        super().setUp()
        self.path = self.spec(total=2000, epochs=1, more=MEAN)
        self.client = millrace.Client()

    def test_runs_are_launched_waited_for_and_looked_at(self):
        runs = self.client.launch(self.path, all_variations=True, name="trial of 3", tags={"team": "ads"}, note="first",
                                  project="trial")
        self.assertEqual([run.variation for run in runs], [None, "small-batches", "half"])
        self.assertEqual({run.name for run in runs}, {"trial of 3"})
        ended = self.client.wait(runs)
        self.assertEqual([run.id for run in ended], [run.id for run in runs])
        self.assertEqual({run.state for run in ended}, {"finished"})
        base = ended[0]
        self.assertTrue(base.has_ended and base.created < base.ended)
        self.assertGreater(base.samples_per_second or 1, 0)  # None: the run ended before there was a mean
        self.assertEqual((base.tags, base.rows_trained, base.progress.rows), ({"team": "ads"}, 2000, 2000))
        self.assertTrue(0 < base.metrics["eval.auc"] <= 1)
        self.assertEqual(base.best["eval.auc"].value, base.metrics["eval.auc"])
        listed = self.client.list("tags.team = 'ads'", order_by="start_time")
        self.assertEqual({run.id for run in listed}, {run.id for run in runs})
        self.assertEqual(self.client.list("tags.team = 'x'"), [])
        shown = self.client.show(base)
        self.assertEqual(shown.id, self.client.show(base.id[:-1]).id)
        self.assertEqual((shown.spec["batch"]["epochs"], shown.receipt["rows_trained"]), (1, 2000))
        self.assertTrue(shown.events and shown.checkpoints and os.path.exists(shown.directory))
        self.assertIn("loss", shown.metric_names)
        self.assertIn(base.id, ended._repr_html_())
        self.assertEqual(str(ended).splitlines()[:2], [f"{base.id}  trial of 3  finished",
                                                       f"{ended[1].id}  trial of 3 / small-batches  finished"])

    def test_series_are_columns_and_a_picture(self):
        runs = self.client.wait(self.client.launch(self.path, ["small-batches", "half"]))
        metrics = self.client.metrics(runs, names="loss")
        told = json.loads(self.cli("metrics", runs[0].id, "--name", "loss", "--json"))["series"][0]["points"]
        series = metrics.get_series("loss", runs[0])
        self.assertEqual((series.steps, series.values), ([p["step"] for p in told], [p["value"] for p in told]))
        self.assertEqual(list(metrics), ["run", "metric", "step", "time", "value"])
        self.assertEqual(len(metrics["value"]), sum(len(one.steps) for one in metrics.series))
        self.assertEqual(set(metrics["run"]), {run.id for run in runs})
        self.assertIn("eval.auc", {one.name for one in self.client.metrics(runs[0]).series})
        self.assertEqual(len(self.client.metrics(runs[0], names=["loss"], points=4).series[0].steps), 4)
        picture = xml.fromstring(metrics.chart("loss").svg)
        self.assertEqual(len(picture.findall(".//{*}polyline")), 2)
        self.assertIn("small-batches", "".join(picture.itertext()))
        self.assertIn("<svg", metrics._repr_html_())

    def test_the_frame_is_one_of_pandas(self):
        try:
            import pandas
        except ModuleNotFoundError:
            self.skipTest("pandas is not installed")
        runs = self.client.wait(self.client.launch(self.path, ["small-batches", "half"]))
        metrics = self.client.metrics(runs, names="loss")
        self.assertEqual(list(metrics.frame().columns), ["run", "metric", "step", "time", "value"])
        self.assertTrue(pandas.DataFrame(metrics).equals(metrics.frame()))
        self.assertEqual(list(metrics.frame("loss").columns), [run.id for run in runs])
        self.assertEqual(list(self.client.compare(runs).frame()["run"]), [run.id for run in runs])

    def test_a_file_that_was_rewritten_between_two_runs_is_named(self):
        log = os.path.join(self.folder, "rows.csv")
        first, = self.client.wait(self.client.launch(self.path))
        again, = self.client.wait(self.client.launch(self.path))
        compared = self.client.compare(first, again)
        self.assertEqual((compared.same_stream, compared.same_evaluation_rows, compared.differences), (True, True, {}))
        with open(log, encoding="utf-8") as file:
            header, *rows = file.read().splitlines()
        with open(log, "w", encoding="utf-8") as file:
            for row in [header, *(row.replace(",w", ",v") for row in rows)]:  # as long, and other words
                print(row, file=file)
        later, = self.client.wait(self.client.launch(self.path))
        self.assertEqual((later.order_hash, later.evaluation_hash), (first.order_hash, first.evaluation_hash))
        compared = self.client.compare(first, later)
        self.assertEqual((compared.same_stream, compared.same_evaluation_rows), (False, False))
        self.assertEqual(list(compared.differences), ["file rows.csv"])
        self.assertIn("files of different content", compared.paired[later.id]["problem"])
        said = self.cli("compare", first.id, later.id)
        self.assertIn("rows.csv was rewritten between the runs", said)
        self.assertNotIn("All were evaluated on the same rows", said)

    def test_runs_are_compared(self):
        runs = self.client.wait(self.client.launch(self.path, all_variations=True))
        compared = self.client.compare(runs)
        self.assertIs(compared.same_evaluation_rows, True)  # although the micro-batches differ
        self.assertIs(compared.same_stream, False)
        self.assertEqual(compared.differences["batch.micro_rows"][runs[1].id], "8")
        self.assertEqual(compared.metrics["eval.auc"][runs[0].id], runs[0].metrics["eval.auc"])
        self.assertEqual(len({run.evaluation_hash for run in compared.runs}), 1)
        columns = compared.columns()
        self.assertEqual(columns["variation"], ["base", "small-batches", "half"])
        self.assertEqual({len(column) for column in columns.values()}, {3})
        self.assertIn("same rows", compared._repr_html_())
        only = self.client.compare(runs[:2], names=["eval.auc"])
        self.assertEqual(list(only.metrics), ["eval.auc"])

    def test_a_run_is_stopped_and_goes_on(self):
        run, = self.client.launch(self.path, set=LONG)
        wait_for("it trains", lambda: self.client.show(run).progress.step > 100, 60)
        with self.assertRaises(millrace.RunError) as late:
            self.client.wait(run, timeout=1)
        self.assertEqual((late.exception.exit_code, late.exception.runs[0].id), (1, run.id))
        stopped, = self.client.stop(run, wait=True, reason="enough")
        self.assertEqual(stopped.state, "cancelled")
        with self.assertRaises(millrace.RunError) as cancelled:
            self.client.wait(run)
        self.assertEqual(cancelled.exception.exit_code, 3)
        self.assertEqual(self.client.wait(run, check=False)[0].state, "cancelled")
        step = self.client.show(run).checkpoints[-1].step
        self.assertEqual(self.client.resume(run).id, run.id)
        wait_for("it goes on", lambda: self.client.show(run).progress.step > step, 60)
        self.client.stop(run, wait=True)
        with self.assertRaisesRegex(millrace.MillraceError, "rank"):
            self.client.resume(run, ranks=3)

    def test_mistakes_are_said_as_the_command_line_says_them(self):
        with self.assertRaises(millrace.MillraceError) as unknown:
            self.client.show("r-none")
        said = subprocess.run([os.path.join(os.environ["MILLRACE_BIN_DIR"], "millrace"), "show", "r-none"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((unknown.exception.exit_code, f"millrace: {unknown.exception}\n"), (said.returncode, said.stderr))
        with self.assertRaises(millrace.SpecError) as wrong:
            self.client.launch(self.path, set={"batch.rowz": 8})
        self.assertRegex(str(wrong.exception), "unknown key 'rowz' in batch")
        self.assertEqual(wrong.exception.hint, "did you mean 'rows'?")
        self.assertEqual((wrong.exception.exit_code, len(wrong.exception.errors)), (1, 1))
        with self.assertRaises(millrace.MisuseError) as usage:
            self.client.compare(self.client.launch(self.path))
        self.assertEqual(usage.exception.exit_code, 2)
        with self.assertRaises(millrace.DaemonError) as gone:
            millrace.Client("unix:" + os.path.join(self.folder, "nobody.sock")).list()
        self.assertEqual(gone.exception.exit_code, 6)
        with self.assertRaisesRegex(millrace.MisuseError, "no run is named"):
            self.client.wait()

    def test_a_run_that_fails_is_an_error_with_its_reason(self):
        before, = self.client.launch(self.path, set=LONG)
        run, = self.client.launch(self.path)  # it waits in the queue, and its data change meanwhile
        with open(os.path.join(self.folder, "rows.csv"), "a", encoding="utf-8") as file:
            file.write("2000,1,1,1,,w\n")
        self.client.stop(before, wait=True)
        with self.assertRaises(millrace.RunError) as failed:
            self.client.wait(run)
        self.assertEqual((failed.exception.exit_code, failed.exception.runs[0].state), (5, "failed"))
        self.assertIn(failed.exception.runs[0].exit_reason, str(failed.exception))

    def waiting(self):
        """Starts a script that waits for a run that does not end; returns both."""
        run, = self.client.launch(self.path, set=LONG)
        child = subprocess.Popen([sys.executable, self.script(WAITING), run.id], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), "waits\n")
        wait_for("the command runs", lambda: self.waiters(run), 20)
        return run, child

    def waiters(self, run):
        return [command for _, command in self.ours() if f"wait {run.id}" in command]

    def test_an_interrupt_ends_a_wait_at_once_and_leaves_no_child(self):
        run, child = self.waiting()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=3)[0], "interrupted\n")
        wait_for("no command is left", lambda: not self.waiters(run), 3)
        self.assertFalse(self.client.show(run).has_ended)

    def test_a_script_that_is_killed_leaves_no_child(self):
        run, child = self.waiting()
        child.kill()
        child.communicate(timeout=3)
        wait_for("no command is left", lambda: not self.waiters(run), 3)


if __name__ == "__main__":
    unittest.main()
