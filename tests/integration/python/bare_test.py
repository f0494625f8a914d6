#!/usr/bin/env python3
"""Runs without a dataset: a command with logs, metrics, restarts and a stop, and `params`. No torch."""
import json
import os
import signal
import unittest

from poll import is_gone, wait_for
from run_harness import RunCase

SHELL = """
echo "lr is $(python3 -c 'import json, os; print(json.loads(os.environ["MILLRACE_PARAMS"])["lr"])') of $RANK/$WORLD_SIZE"
echo "$$" >> pids
while [ -e hold ]; do sleep 0.05; done
exit "$(cat code 2> /dev/null || echo 0)"
"""

SCRIPT = """
import json, os, signal, sys, time
import millrace, poll

HERE = os.path.dirname(os.path.abspath(__file__))
params = millrace.params
resumed = millrace.resume()
start = resumed.step if resumed else 0
with open(os.path.join(HERE, f"rank{os.environ['RANK']}.jsonl"), "a") as file:
    file.write(json.dumps(dict(begun=start, pid=os.getpid(), lr=params.lr, days=params["window.days"],
                               tags=params.tags, day=params.day)) + "\\n")
for step in range(start + 1, params.steps + 1):
    millrace.log(loss=params.lr / step, step=step)
    if step % 5 == 0:
        millrace.checkpoint(json.dumps(dict(step=step)).encode(), step)
    while os.path.exists(os.path.join(HERE, "hold")) and step == 7:
        poll.pause(0.005)
"""

ODD_STEPS = """
import json, os
import millrace
from millrace import _link

class Whole:  # as NumPy's integers
    def __init__(self, value):
        self.value = value
    def __index__(self):
        return self.value

said = []
millrace.log(loss=1.0, step=Whole(1))
for step in (2**63, 2**63 - 1, 1.5, "2", True):
    try:
        millrace.log(loss=2.0, step=step)
    except millrace.MisuseError as error:
        said.append(str(error))
_link.current().send("metrics", step=2**63, values=dict(loss=3.0))
millrace.log(loss=4.0, step=2)
millrace.checkpoint(b"{}", 2)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "said.json"), "w") as file:
    json.dump(said, file)
"""

SPEC = """
command: [%(program)s, %(script)s]
params: {lr: 0.5, steps: 12, window: {days: 14}, tags: [a, "b,c"], day: 2024-03-07}
train: {ranks: %(ranks)d%(train)s}
variations:
  - {name: small, set: {params.lr: 0.125}}
"""


class Bare(RunCase):
    def prepare(self, script=SCRIPT, ranks=1, train="", program="python3", name="script.py"):
        path = os.path.join(self.folder, "spec.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SPEC % {"program": program, "script": name, "ranks": ranks, "train": f", {train}" if train else ""})
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(script)
        return path

    def prepare_shell(self, **how):
        return self.prepare(SHELL, program="bash", name="job.sh", **how)

    def finish(self, run):
        ended = self.wait(run, "finished", "failed", "cancelled")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        return ended

    def pids(self):
        with open(os.path.join(self.folder, "pids"), encoding="utf-8") as file:
            return [int(line) for line in file]

    def wait_at_work(self, count=1):
        wait_for("the command is at work",
                 lambda: os.path.exists(os.path.join(self.folder, "pids")) and len(self.pids()) >= count)

    def test_a_shell_script_is_a_run_that_ends_by_its_exit_code(self):
        spec = self.prepare_shell(ranks=3)
        self.cli("check", spec)
        self.hold()
        run = self.submit(spec)[0]
        self.wait_at_work(3)
        self.assertEqual(self.wait(run, "running", "failed")["state"], "running")
        workers = [worker["name"] for worker in self.show(run)["workers"]]
        self.assertEqual(workers, ["rank0", "rank1", "rank2"], "no feed")
        self.release()
        ended = self.finish(run)
        self.assertIsNone(ended.get("receipt"))
        self.assertIn("lr is 0.5 of 1/3", self.log(run))
        for key in ("dataset", "stream_hash", "plan_hash"):
            self.assertIn(ended.get(key, ""), ("", None), key)

    def test_it_fails_by_its_exit_code_and_is_not_repeated_without_a_step(self):
        spec = self.prepare_shell()
        with open(os.path.join(self.folder, "code"), "w", encoding="utf-8") as file:
            file.write("7")
        ended = self.wait(self.submit(spec)[0], "finished", "failed")
        self.assertEqual(ended["state"], "failed")
        self.assertRegex(ended["exit_reason"], "rank0 ended with code 7.*no restart")
        self.assertEqual(ended["attempt"], 1)

    def test_one_that_is_killed_starts_again(self):
        spec = self.prepare_shell()
        self.hold()
        run = self.submit(spec)[0]
        for count in (1, 2, 3):
            self.wait_at_work(count)
            if count < 3:
                os.kill(self.pids()[-1], signal.SIGKILL)
        self.release()
        self.assertEqual(self.finish(run)["restarts"], 2)

    def test_a_stop_is_a_signal_and_leaves_no_process(self):
        spec = self.prepare_shell()
        self.hold()
        run = self.submit(spec)[0]
        self.wait_at_work()
        self.cli("stop", run)
        ended = self.wait(run, "cancelled", "failed", "finished")
        self.assertEqual(ended["state"], "cancelled")
        self.assertTrue(is_gone(self.pids()[0]))
        self.release()
        self.cli("resume", run, "--from-start")
        self.finish(run)

    def test_a_script_has_parameters_metrics_and_checkpoints(self):
        spec = self.prepare()
        run = self.submit(spec, "--variation", "small", "--set", "params.window.days=3", "--set", "params.day=2024-03-09")[0]
        ended = self.finish(run)
        told = self.told(0)[-1]
        self.assertEqual((told["lr"], told["days"], told["tags"], told["day"]), (0.125, 3, ["a", "b,c"], "2024-03-09"))
        self.assertEqual(self.losses(run), [(step, 0.125 / step) for step in range(1, 13)])
        self.assertEqual(ended["progress"]["step"], 12)
        self.assertEqual([one["step"] for one in ended["checkpoints"]], [5, 10])
        self.assertIsNone(ended.get("receipt"))
        self.cli("run", spec, "--detach", "--set", "params.lrr=1", code=1)
        self.assertIn("params has no 'lrr' to set; did you mean 'lr'?", self.err)

    def test_a_step_that_no_line_takes_loses_nothing_behind_it(self):
        run = self.submit(self.prepare(ODD_STEPS))[0]
        ended = self.finish(run)
        with open(os.path.join(self.folder, "said.json"), encoding="utf-8") as file:
            said = json.load(file)
        self.assertEqual(len(said), 5, said)
        self.assertIn("a step is a whole number, not before the last one, 1, and at most 2^62", said[0])
        self.assertEqual(self.losses(run), [(1, 1.0), (2, 4.0)])
        self.assertEqual([one["step"] for one in ended["checkpoints"]], [2])
        self.assertIn("rank0: one of its lines is dropped: rank line: 'step' must be an integer", json.dumps(self.show(run)))

    def test_one_that_is_killed_goes_on_from_its_checkpoint(self):
        spec = self.prepare()
        self.hold()
        run = self.submit(spec)[0]
        wait_for("the script is at step 7", lambda: self.show(run)["progress"]["step"] == 7)
        os.kill(self.pid_of(0), signal.SIGKILL)
        wait_for("another attempt", lambda: len(self.told(0)) == 2)
        self.release()
        self.finish(run)
        self.assertEqual([line["begun"] for line in self.told(0)], [0, 5])
        self.assertEqual(self.losses(run), [(step, 0.5 / step) for step in range(1, 13)])

    def test_an_exception_is_the_reason_and_a_stream_is_refused(self):
        spec = self.prepare("import millrace, os\nmillrace.stream(os.environ['MILLRACE_SPEC'])\n")
        ended = self.wait(self.submit(spec)[0], "failed", "finished")
        self.assertRegex(ended["exit_reason"], "MisuseError: the run's spec has no dataset, so it has no stream")

    def test_a_misuse_is_placed_at_the_line_of_the_script(self):
        spec = self.prepare("import millrace\n\n\ndef report():\n    millrace.log(step=1, loss=\"high\")\n\n\nreport()\n")
        ended = self.wait(self.submit(spec)[0], "failed", "finished")
        self.assertRegex(ended["exit_reason"], r"MisuseError: millrace\.log\(loss='high'\).* \(script\.py:5\)")

    def test_a_daemon_that_is_killed_finds_it_again(self):
        spec = self.prepare_shell()
        self.hold()
        run = self.submit(spec)[0]
        self.wait_at_work()
        self.wait(run, "running")
        daemon = self.json("up")["daemon"]["pid"]
        os.kill(daemon, signal.SIGKILL)
        wait_for("the daemon is gone", lambda: is_gone(daemon))
        self.begin()
        self.assertEqual(self.wait(run, "running", "failed")["state"], "running")
        self.release()
        self.assertEqual(self.finish(run)["attempt"], 1)

    def test_what_needs_rows_is_refused_with_a_sentence(self):
        spec = self.prepare_shell()
        for command in ("stream", "preview", "sample"):
            self.cli(command, spec, code=None)
            self.assertIn("the spec has no dataset, so there are no rows to look at", self.err, command)

    def test_filters_know_parameters_as_numbers_and_apart_from_keys(self):
        spec = self.prepare_shell()
        runs = self.submit(spec, "--all-variations")
        for run in runs:
            self.finish(run)

        def found(text):
            return sorted(run["id"] for run in self.json("ls", "--filter", text)["runs"])
        self.assertEqual(found("params.lr < 0.3"), [runs[1]])
        self.assertEqual(found("params.lr >= 0.5"), [runs[0]])
        self.assertEqual(found("params.lr = '0.5'"), [runs[0]])
        self.assertEqual(found("params.window.days = 14"), sorted(runs))
        self.assertEqual(found("params.train.ranks = 1"), sorted(runs))
        self.assertEqual(found("params.nosuch = 1"), [])
        text = self.cli("compare", *runs)
        self.assertIn("params.lr", text)
        self.assertNotIn("params.window.days", text, "equal in both")


if __name__ == "__main__":
    unittest.main()
