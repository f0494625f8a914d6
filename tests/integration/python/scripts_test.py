#!/usr/bin/env python3
"""Scripts as runs: `command:` of a spec, with the test's own daemon and workers. No torch."""
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import unittest

from harness import BIN, streamed
from poll import is_gone, pause, wait_for
from run_harness import SCRIPT, RunCase

import millrace

SECRET = "hunter2-in-no-file"


class Scripts(RunCase):
    def finish(self, run):
        ended = self.wait(run, "finished", "failed", "cancelled")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        return ended

    def assert_whole(self, run, spec, *options):
        """Checks order hash and rows, and that each step's metrics are there once and in order."""
        ended = self.finish(run)
        expected = streamed(spec, "--last", "drop", *options)
        self.assertEqual(ended["receipt"]["order_hash"], expected["order_hash"])
        self.assertEqual(ended["receipt"]["rows_trained"], expected["rows_delivered"])
        steps = ended["progress"]["step"]
        self.assertEqual(self.losses(run), [(step, step / 7) for step in range(1, steps + 1)])
        return ended

    def test_two_ranks_train_on_the_rows_of_the_stream(self):
        spec = self.prepare()
        ended = self.assert_whole(self.submit(spec)[0], spec)
        hashes = {line["hash"] for rank in (0, 1) for line in self.told(rank) if "hash" in line}
        self.assertEqual(hashes, {ended["receipt"]["order_hash"]})
        steps = ended["progress"]["step"]
        self.assertEqual([self.steps_told(rank) for rank in (0, 1)], 2 * [list(range(1, steps + 1))])
        saved = [checkpoint["step"] for checkpoint in ended["checkpoints"]]
        self.assertEqual(saved, [step for step in range(1, steps + 1) if step % 5 == 0][-3:])
        wait = self.json("metrics", ended["id"], "--name", "rank.step_ms")["series"]
        self.assertTrue(wait and wait[0]["points"], "each rank tells its steps' times")

    def test_a_variation_is_the_runs_own(self):
        spec = self.prepare(more="variations:\n  - {name: half, set: {dataset.where: number < 500}}\n")
        runs = self.submit(spec, "--all-variations")
        self.assertEqual(len(runs), 2)
        self.assert_whole(runs[0], spec)
        ended = self.assert_whole(runs[1], spec, "--variation", "half")
        self.assertLess(ended["receipt"]["rows_trained"], 1000)

    def test_lengths_are_of_the_run_with_its_variation_and_changes(self):
        counting = SCRIPT + """
evaluation = stream.evaluation()
told(length=len(stream), steps=stream.step, estimate=stream.estimate.steps,
     evaluation=[len(evaluation), sum(1 for _ in evaluation)])
"""
        spec = self.prepare(counting, more="eval: {dataset: {where: 'number >= 900 and user is not null'}}\n"
                            "variations:\n  - {name: half, set: {dataset.where: number < 500}}\n")
        run = self.submit(spec, "--variation", "half", "--set", "batch.epochs=3")[0]
        with open(spec, "a", encoding="utf-8") as file:
            file.write("  - {name: later, set: {batch.rows: 32}}\n")  # the run keeps the spec that was submitted
        self.finish(run)
        for rank in (0, 1):
            told = self.told(rank)[-1]
            self.assertEqual(told["length"], told["steps"])
            self.assertEqual(told["estimate"], told["steps"])
            self.assertEqual(*told["evaluation"])
        self.assertLess(told["steps"], 3 * 500 / 64 + 3)

    def test_a_spec_that_is_not_in_the_working_directory_ends_the_run_at_once(self):
        work = os.path.join(self.folder, "work")
        os.makedirs(work)
        spec = self.prepare("import millrace\nmillrace.stream('spec.yaml')\n", ranks=1)
        run = self.submit(spec, cwd=work)[0]
        ended = self.wait(run, "finished", "failed", "cancelled")
        self.assertEqual((ended["state"], ended["attempt"]), ("failed", 1))
        self.assertIn(f"SpecError: {work}/spec.yaml: this file does not exist, as 'spec.yaml' is relative to the working "
                      f"directory; the spec of this run is {spec}, which os.environ['MILLRACE_SPEC'] names",
                      ended["exit_reason"])

    def test_a_spec_of_the_same_name_elsewhere_is_called_not_the_runs_own(self):
        work = os.path.join(self.folder, "work")
        os.makedirs(work)
        spec = self.prepare("import millrace\nfor _ in millrace.stream('spec.yaml', as_numpy=True):\n    pass\n", ranks=1)
        for name in ("spec.yaml", "rows.csv"):
            shutil.copy(os.path.join(self.folder, name), work)
        run = self.submit(spec, cwd=work)[0]
        ended = self.wait(run, "finished", "failed", "cancelled")
        self.assertIn("had not read the run's stream", ended["exit_reason"])
        self.assertIn(f"{work}/spec.yaml is not the spec of this run, which is {spec}: its stream has a feed of its own",
                      self.cli("logs", run))

    def test_a_loop_over_a_copy_of_the_spec_fails_where_it_logs_or_saves(self):
        # A script may read another stream before its own, and may log a metric once without a step.
        loop = ("import os, millrace\nmillrace.log(weights=3)\n"
                "stream = millrace.stream(os.path.join(os.path.dirname(__file__), 'copy.yaml'), as_numpy=True)\n"
                "for batch in stream:\n    ")
        for call, step in (("log(loss=1.0)", "log"), ("checkpoint(b'x')", "checkpoint")):
            spec = self.prepare(loop + f"millrace.{call}\n", ranks=1)
            copy = os.path.join(self.folder, "copy.yaml")
            shutil.copy(spec, copy)
            ended = self.wait(self.submit(spec)[0], "finished", "failed", "cancelled")
            self.assertEqual((ended["state"], ended["attempt"]), ("failed", 1))
            self.assertIn(f"MisuseError: millrace.{step}(): the stream of {copy} is not the run's, whose steps count: the spec "
                          f"of this run is {spec}", ended["exit_reason"])

    def test_place_and_environment_of_the_submitter_reach_the_script_and_its_secrets_do_not(self):
        bin_folder = os.path.join(self.folder, "venv", "bin")
        work = os.path.join(self.folder, "work")
        os.makedirs(bin_folder)
        os.makedirs(work)
        os.symlink(sys.executable, os.path.join(bin_folder, "mypython"))
        spec = self.prepare(SCRIPT + "told(environment=dict(os.environ), cwd=os.getcwd(), python=sys.executable)\n", ranks=1)
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text.replace("[python3,", "[mypython,"))
        os.environ.update(PATH=f"{bin_folder}:{os.environ['PATH']}", VIRTUAL_ENV=os.path.join(self.folder, "venv"),
                          MY_API_TOKEN=SECRET, SOMETHING_ELSE=SECRET, OMP_SECRET_KEY=SECRET, GREETING="hello")
        self.addCleanup(lambda: [os.environ.pop(name, None) for name in ("VIRTUAL_ENV", "MY_API_TOKEN", "SOMETHING_ELSE",
                                                                         "OMP_SECRET_KEY", "GREETING")])
        self.cli("run", spec, "--detach", "--env", "MY_API_TOKEN", code=2)
        self.assertIn("by its name it is a secret", self.err)
        self.hold(1)
        run = self.submit(spec, "--env", "GREETING", cwd=work)[0]
        wait_for("the script is at work", lambda: self.steps_told(0)[-1:] == [2])
        workers = self.processes()
        self.assertGreaterEqual(len(workers), 4)  # daemon, guardian, feed, rank
        for pid in workers:
            for kind in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{kind}", "rb") as file:
                    self.assertNotIn(SECRET.encode(), file.read(), f"{kind} of {pid}")
        self.release()
        ended = self.finish(run)
        told = self.told(0)[-1]
        self.assertEqual(told["cwd"], work)
        self.assertEqual(os.path.basename(told["python"]), "mypython")
        self.assertEqual(told["environment"]["VIRTUAL_ENV"], os.environ["VIRTUAL_ENV"])
        self.assertEqual(told["environment"]["GREETING"], "hello")
        for name in ("RANK", "LOCAL_RANK", "GROUP_RANK"):
            self.assertEqual(told["environment"][name], "0")
        self.assertEqual(told["environment"]["WORLD_SIZE"], "1")
        self.assertEqual(told["environment"]["TORCHELASTIC_RESTART_COUNT"], "0")
        self.assertLessEqual({"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"}, told["environment"].keys())
        self.assertNotIn(SECRET, json.dumps(told))
        script = ended["script"]
        self.assertEqual(script["working_directory"], work)
        self.assertEqual(script["path"], os.path.join(self.folder, "script.py"))
        self.assertEqual(len(script["sha256"]), 64)
        for path in glob.glob(os.path.join(self.folder, "state", "**"), recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.assertNotIn(SECRET.encode(), file.read(), path)

    def test_a_stopped_run_goes_on_with_other_ranks(self):
        spec = self.prepare(rows=64, micro=8, total=4000)
        self.hold(*range(1, 12))
        run = self.submit(spec)[0]
        wait_for("both ranks are at step 12", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [12])
        self.cli("stop", run)
        wait_for("the ranks know it", lambda: self.show(run)["state"] == "stopping")
        self.release()
        stopped = self.wait(run, "cancelled", "failed", "finished")
        self.assertEqual(stopped["state"], "cancelled")
        ends = [self.told(rank)[-1] for rank in (0, 1)]
        self.assertEqual([end["ended"] for end in ends], 2 * [ends[0]["ended"]])
        self.assertEqual([end["stopped"] for end in ends], [True, True])
        self.assertEqual(stopped["checkpoints"][-1]["step"], ends[0]["ended"])
        self.cli("resume", run, "--ranks", "3", code=1)
        self.assertIn("admissible: 1, 2, 4, 8", self.err)
        behind = ends[0]["ended"] + 4
        self.hold(*range(1, behind))
        self.cli("resume", run, "--ranks", 1)
        wait_for("it goes on", lambda: self.steps_told(0)[-1:] == [behind])
        self.cli("stop", run)
        wait_for("the rank knows it", lambda: self.show(run)["state"] == "stopping")
        self.release()
        self.assertEqual(self.wait(run, "cancelled", "failed", "finished")["state"], "cancelled")
        self.cli("resume", run, "--ranks", 4)
        ended = self.assert_whole(run, spec)
        history = [event["text"] for event in ended["events"]]
        self.assertIn("goes on with 1 rank; before: 2", history)
        self.assertIn("goes on with 4 ranks; before: 1", history)

    def test_a_stop_leaves_an_evaluation_alone(self):
        script = SCRIPT.replace("    if stream.checkpoint_due:", """    if stream.step == 3:
        told(waits=True)
        while not os.path.exists(os.path.join(HERE, "go")):
            poll.pause(0.005)
        told(evaluated=sum(batch.rows for batch in stream.evaluation()))
    if stream.checkpoint_due:""")
        spec = self.prepare(script, ranks=1, more='eval: {dataset: {where: "number % 5 = 0"}}\n')
        run = self.submit(spec)[0]
        wait_for("step 3", lambda: "waits" in (self.told(0) or [{}])[-1])
        feed = self.feed_of(run)
        os.kill(feed, signal.SIGSTOP)
        try:
            self.cli("stop", run)
            wait_for("the rank knows it", lambda: self.show(run)["state"] == "stopping")
            self.touch("go")
            pause(0.6)  # the hello to the feed fails after 0.25 s and is sent again
        finally:
            os.kill(feed, signal.SIGCONT)
        ended = self.wait(run, "cancelled", "failed", "finished")
        self.assertEqual([line["evaluated"] for line in self.told(0) if "evaluated" in line], [200])
        self.assertEqual((ended["state"], [one["step"] for one in ended["checkpoints"]]), ("cancelled", [3]), ended["events"])
        self.assertEqual([self.told(0)[-1][name] for name in ("ended", "stopped")], [3, True])

    def test_a_killed_rank_goes_on_from_the_last_checkpoint(self):
        spec = self.prepare(total=2000)
        self.hold(*range(1, 14))
        run = self.submit(spec)[0]
        wait_for("both ranks are at step 14", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [14])
        os.kill(self.pid_of(1), signal.SIGKILL)
        wait_for("the next attempt", lambda: [line for line in self.told(1) if "begun" in line][1:])
        self.release()
        ended = self.assert_whole(run, spec)
        self.assertEqual(ended["attempt"], 2)
        self.assertEqual([line["begun"] for line in self.told(0) if "begun" in line], [0, 10])
        saved = self.told(0)
        again = [line for line in saved[[line.get("begun") for line in saved].index(10):] if "step" in line]
        self.assertEqual(again[0]["step"], 11)

    def test_a_checkpoint_is_a_safetensors_file_with_the_scripts_bytes(self):
        ended = self.finish(self.submit(self.prepare(ranks=1))[0])
        path = ended["checkpoints"][-1]["path"]
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            base = file.tell()
            begin, end = header["content"]["data_offsets"]
            file.seek(base + begin)
            saved = json.loads(file.read(end - begin))
        self.assertEqual(saved, {"total": sum(n for line in self.told(0)[:-1] for n in line.get("numbers", [])
                                              if line["step"] <= ended["checkpoints"][-1]["step"])})
        self.assertEqual(header["__metadata__"]["step"], str(ended["checkpoints"][-1]["step"]))
        with self.assertRaisesRegex(millrace.MillraceError, "it is a script's"):
            millrace.load_model(path)

    def test_an_error_of_the_script_is_the_runs(self):
        spec = self.prepare("import millrace, os\nstream = millrace.stream(os.environ['MILLRACE_SPEC'], as_numpy=True)\n"
                            "for batch in stream:\n    raise ValueError('no such thing')\n", train="max_restarts: 0")
        ended = self.wait(self.submit(spec)[0], "failed", "finished")
        self.assertEqual(ended["state"], "failed")
        self.assertRegex(ended["exit_reason"], r"rank\d: ValueError: no such thing \(script.py:4\)")

    def test_an_error_inside_of_the_package_names_the_scripts_line(self):
        spec = self.prepare("import millrace, os\nstream = millrace.stream(os.environ['MILLRACE_SPEC'], as_numpy=True)\n"
                            "for batch in stream:\n    batch['nothing']\n", train="max_restarts: 0")
        ended = self.wait(self.submit(spec)[0], "failed", "finished")
        self.assertRegex(ended["exit_reason"], r"rank\d: KeyError: .*nothing.* \(script.py:4\)")

    def test_rows_trained_are_the_receipts_wherever_they_are_shown(self):
        for ranks, restarts in ((1, 0), (2, 0), (2, 3)):
            raising = SCRIPT.replace("if stream.stopped:", "    if stream.step == 15 and not resumed:\n"
                                     "        raise ValueError('behind the checkpoint')\nif stream.stopped:", 1)
            spec = self.prepare(raising, ranks=ranks, train=f"max_restarts: {restarts}")
            run = self.submit(spec)[0]
            ended = self.wait(run, "finished" if restarts else "failed")
            rows = ended["receipt"]["rows_trained"]
            whole = streamed(spec, "--last", "drop")["rows_delivered"]
            self.assertTrue(rows == whole if restarts else 0 < rows < whole, (rows, whole))
            listed = {one["id"]: one for one in self.json("ls")["runs"]}[run]
            self.assertEqual([ended["rows_trained"], listed["rows_trained"], listed["progress"]["rows"]], 3 * [rows])
            self.assertRegex(self.cli("show", run), rf"\n +trained +{rows:,}\s")
            self.assertEqual([one["id"] for one in self.json("ls", "--filter", f"rows_trained = {rows}")["runs"]][:1], [run])
            self.assertEqual(millrace.Client().list(f"rows_trained <= {rows}")[0].rows_trained, rows)

    def test_a_script_that_reads_no_stream_has_not_trained(self):
        spec = self.prepare("print('nothing')\n", ranks=1, train="max_restarts: 0")
        ended = self.wait(self.submit(spec)[0], "failed", "finished")
        self.assertIn("had not read the run's stream", ended["exit_reason"])

    def test_a_resumed_script_must_ask_for_its_checkpoint(self):
        spec = self.prepare(SCRIPT.replace("millrace.resume()", "None"), ranks=1, train="max_restarts: 0")
        self.hold(*range(1, 7))
        run = self.submit(spec)[0]
        wait_for("step 7", lambda: self.steps_told(0)[-1:] == [7])
        self.cli("stop", run)
        wait_for("the rank knows it", lambda: self.show(run)["state"] == "stopping")
        self.release()
        self.wait(run, "cancelled")
        self.cli("resume", run)
        self.assertRegex(self.wait(run, "failed")["exit_reason"], "call millrace.resume")

    def test_check_and_submit_refuse_a_program_that_is_not_there(self):
        spec = self.prepare(ranks=1)
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        for command, said in (("[nosuchprogram, script.py]", "program 'nosuchprogram' was not found in PATH"),
                              ("[./bin/none, script.py]", "is not a program that can be started"),
                              ("[python3, none.py]", "there is no none.py")):
            with open(spec, "w", encoding="utf-8") as file:
                file.write(text.replace("[python3, script.py]", command))
            self.cli("check", spec, code=1)
            self.assertIn(said, self.err)
            self.cli("run", spec, "--detach", code=1)
            self.assertIn(said, self.err)

    def test_a_rank_that_is_stopped_is_named_and_its_gang_begins_again(self):
        spec = self.prepare(total=2000)
        self.hold(*range(1, 9))
        run = self.submit(spec)[0]
        wait_for("both ranks are at step 9", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [9])
        os.kill(self.pid_of(1), signal.SIGSTOP)
        shown = []

        def is_named():
            shown.append(self.show(run))
            return "SIGSTOP" in (shown[-1]["trouble"] or "")
        wait_for("it is named", is_named, 15)
        # The stopped rank is shown apart from the other one.
        other, stopped = shown[-1]["ranks"]
        self.assertEqual([(rank["rank"], rank["state"]) for rank in (other, stopped)], [(0, "running"), (1, "stopped")])
        self.assertIn("SIGSTOP", stopped["trouble"])
        self.assertEqual(stopped["stalled_since"], shown[-1]["stalled_since"])
        self.assertEqual((other["trouble"], other["stalled_since"]), (None, None))
        self.release()
        ended = self.assert_whole(run, spec)
        self.assertEqual(ended["attempt"], 2)
        self.assertTrue(any("rank1 stands still" in event["text"] and "its gang is ended" in event["text"]
                            for event in ended["events"]), ended["events"])
        # No log says that a stop was requested.
        for worker in ("feed", "rank0", "rank1"):
            with open(os.path.join(ended["directory"], "a1", worker, "out.log"), encoding="utf-8") as file:
                log = file.read()
            if worker != "rank0":  # rank 0 may have ended by itself
                self.assertRegex(log, "ending the command: rank1 stands still after step [0-9]+: its process is stopped", worker)
            self.assertNotRegex(log, "asked for|on request", worker)
        self.assertFalse([event for event in ended["events"] if "rank1: rank1" in event["text"]], ended["events"])

    def test_the_lines_of_a_time_without_a_daemon_arrive(self):
        spec = self.prepare(total=2000)
        self.hold(*range(1, 6))
        run = self.submit(spec)[0]
        wait_for("both ranks are at step 6", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [6])
        daemon = self.json("up")["daemon"]["pid"]
        os.kill(daemon, signal.SIGKILL)
        wait_for("it is gone", lambda: is_gone(daemon))
        self.release()
        wait_for("the ranks went on", lambda: self.steps_told(0)[-1] > 20)
        self.cli("up")
        self.assert_whole(run, spec)

    def test_what_a_killed_rank_had_told_a_daemon_that_stood_still_is_kept(self):
        # A metric that is kept for each rank; other metrics are kept only for rank 0.
        spec = self.prepare(SCRIPT.replace("millrace.log(", 'millrace.log(**{"trainer.step": stream.step}, '), total=2000)
        self.hold(*range(1, 4))
        run = self.submit(spec)[0]
        wait_for("both ranks are at step 4", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [4])
        daemon = self.json("up")["daemon"]["pid"]
        os.kill(daemon, signal.SIGSTOP)
        self.addCleanup(subprocess.run, ["kill", "-CONT", str(daemon)], check=False, capture_output=True)
        for step in range(4, 9):
            self.touch(f"go{step}")
        wait_for("both ranks are at step 9", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [9])
        killed = self.pid_of(1)
        os.kill(killed, signal.SIGKILL)
        wait_for("it is gone", lambda: is_gone(killed))
        os.kill(daemon, signal.SIGCONT)
        wait_for("the next attempt", lambda: self.pid_of(1) != killed)
        self.assertEqual([line["begun"] for line in self.told(1) if "begun" in line], [0, 5])
        self.release()
        self.assert_whole(run, spec)
        series = self.json("metrics", run, "--name", "trainer.step", "--rank", "1", "--points", "1000000")["series"]
        self.assertEqual([point["step"] for point in series[0]["points"]], list(range(1, self.steps_told(1)[-1] + 1)))

    def test_what_cleaned_its_environment_ends_before_the_next_attempt(self):
        script = SCRIPT.replace("resumed = ", """def is_there(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read() != ""
    except FileNotFoundError:
        return False

HIDDEN = os.path.join(HERE, "hidden")
if os.path.exists(HIDDEN):
    told(left=[pid for pid in open(HIDDEN).read().split() if is_there(pid)])
else:
    os.spawnlp(os.P_NOWAIT, "setsid", "setsid", "env", "-i", "sh", "-c", 'echo $$ > "$0"; exec sleep 4343', HIDDEN)
    while not os.path.exists(HIDDEN) or not open(HIDDEN).read():
        poll.pause(0.005)
resumed = """, 1)
        spec = self.prepare(script, ranks=1)
        self.hold(*range(1, 4))
        run = self.submit(spec)[0]
        wait_for("the rank is at step 4", lambda: self.steps_told(0)[-1:] == [4])
        with open(os.path.join(self.folder, "hidden"), encoding="utf-8") as file:
            hidden = int(file.read())
        self.addCleanup(subprocess.run, ["kill", "-9", str(hidden)], check=False, capture_output=True)
        with open(os.path.join(self.show(run)["directory"], "a1", "rank0", "guardian.json"), encoding="utf-8") as file:
            guardian = json.load(file)
        if not guardian["control_group"]:
            self.skipTest("no control group may be made here")
        for pid in (self.json("up")["daemon"]["pid"], guardian["pid"]):
            os.kill(pid, signal.SIGKILL)
            wait_for("it is gone", lambda pid=pid: is_gone(pid))
        self.cli("up")
        self.release()
        self.assert_whole(run, spec)
        self.assertEqual([line["left"] for line in self.told(0) if "left" in line], [[]])
        self.assertFalse(os.path.exists(guardian["control_group"]))

    def test_checkpoints_become_rare_while_no_daemon_answers(self):
        script = SCRIPT.replace("    if stream.checkpoint_due:\n", """    at(stream.step)
    if stream.checkpoint_due:
        told(due=stream.step)
""").replace("resumed =", """def at(step):
    os.truncate(os.path.join(HERE, f"at{os.environ['RANK']}"), step)
    while os.path.getsize(os.path.join(HERE, f"at{1 - int(os.environ['RANK'])}")) < step:
        poll.pause(0.001)

resumed =""", 1)
        spec = self.prepare(script, total=4000, rows=16, micro=8, every=1)
        for rank in (0, 1):
            self.touch(f"at{rank}")
        self.hold(*range(1, 6))
        run = self.submit(spec)[0]
        wait_for("both ranks are at step 6", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [6])
        daemon = self.json("up")["daemon"]["pid"]
        os.kill(daemon, signal.SIGKILL)
        wait_for("it is gone", lambda: is_gone(daemon))
        self.release()
        wait_for("the ranks came to their end", lambda: all("ended" in self.told(rank)[-1] for rank in (0, 1)))
        due = [[line["due"] for line in self.told(rank) if "due" in line] for rank in (0, 1)]
        last = self.told(0)[-1]["ended"]
        self.assertEqual(due[0], due[1])
        self.assertGreater(last, 200)
        self.assertLess(len(due[0]), 25, f"{due[0]} of {last} steps")
        self.assertGreater(due[0][-1], last / 4)
        self.cli("up")
        self.assert_whole(run, spec)

    def test_a_script_that_holds_the_interpreter_is_alive(self):
        # A call through PyDLL holds the interpreter's lock.
        spec = self.prepare("import ctypes\n" + SCRIPT.replace(
            "for batch in stream:\n", "for batch in stream:\n    if stream.step == 3:\n"
            "        ctypes.PyDLL(None).poll(None, 0, 13000)\n"), ranks=1)
        run = self.submit(spec)[0]
        ended = self.assert_whole(run, spec)
        self.assertEqual(ended["attempt"], 1)
        self.assertFalse([event for event in ended["events"] if "stands still" in event["text"]], ended["events"])

    def test_gpus_are_granted_for_the_run_alone_and_come_back_after_a_kill(self):
        fake = os.path.join(os.path.dirname(BIN), "tests", "libfake_nvml.so")
        if not os.path.exists(fake):
            self.skipTest("this build has no fake NVML")
        self.cli("down")
        visible = os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        os.environ["MILLRACE_NVML_LIBRARY"] = fake
        self.addCleanup(lambda: (os.environ.pop("MILLRACE_NVML_LIBRARY"), os.environ.update(CUDA_VISIBLE_DEVICES=visible or "")))
        self.cli("up")
        script = SCRIPT + "told(gpus=os.environ.get('CUDA_VISIBLE_DEVICES'))\n"
        spec = self.prepare(script, more="resources: {gpus_per_rank: 1}\n")
        with open(spec, encoding="utf-8") as file:
            text = file.read()
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text.replace("gpus_per_rank: 1", "gpus_per_rank: 2"))
        for command in (["check", spec], ["run", spec, "--detach"]):
            self.cli(*command, code=1)
            self.assertIn("2 ranks with 2 GPUs each need 4; this machine has 2", self.err)
        with open(spec, "w", encoding="utf-8") as file:
            file.write(text)
        self.hold(*range(1, 4))
        run = self.submit(spec)[0]
        wait_for("both ranks are at step 4", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [4])
        os.kill(self.pid_of(0), signal.SIGKILL)
        wait_for("the next attempt", lambda: [line for line in self.told(0) if "begun" in line][1:])
        self.release()
        self.assert_whole(run, spec)
        self.assertEqual([self.told(rank)[-1]["gpus"] for rank in (0, 1)], 2 * ["GPU-0,GPU-1"])

    def test_a_killed_feed_is_replaced_and_its_ranks_go_on(self):
        spec = self.prepare(total=4000, rows=64, micro=16)
        self.hold(*range(1, 6))
        run = self.submit(spec)[0]
        for number in range(3):
            step = 6 + 8 * number
            wait_for(f"both ranks are at step {step}",
                     lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [step])
            feed = self.feed_of(run)
            os.kill(feed, signal.SIGKILL)
            wait_for("another feed", lambda: self.feed_of(run) not in (0, feed))
            for further in range(step, step + 8):
                self.touch(f"go{further}")
        self.release()
        ended = self.assert_whole(run, spec)
        self.assertEqual(ended["attempt"], 1)
        replaced = [event for event in ended["events"] if "was replaced; its ranks go on" in event["text"]]
        self.assertEqual(len(replaced), 3, ended["events"])
        self.assertEqual(len({line["pid"] for line in self.told(0) if "begun" in line}), 1)

    def feed_of(self, run):
        """The pid of the run's feed; 0: no feed runs now."""
        return next((worker["pid"] or 0 for worker in self.show(run)["workers"]
                     if worker["name"] == "feed" and worker["state"] != "ended"), 0)

    def test_the_same_script_runs_by_itself(self):
        spec = self.prepare()
        done = subprocess.run([sys.executable, os.path.join(self.folder, "script.py")], capture_output=True, text=True,
                              timeout=60, check=False, env={**os.environ, "RANK": "0", "WORLD_SIZE": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.told(0)[-1]["hash"], streamed(spec, "--last", "drop")["order_hash"])


if __name__ == "__main__":
    unittest.main()
