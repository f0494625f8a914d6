#!/usr/bin/env python3
"""Standard output that cannot be written: a full disk is an error for every command, a reader that has gone is not."""
import os
import re
import subprocess
import unittest

from daemon_case import MEAN, DaemonCase
from harness import BIN
from poll import wait_for
from run_harness import RunCase

# Arguments of every command in the table, in an order in which each finds its input. The test fails for a command that is not here.
ARGUMENTS = {
    "version": (), "help": (), "completion": ("bash",), "socket-path": (), "host": ("ls",), "up": (), "doctor": (), "nodes": (), "top": ("--once",),
    "ls": (), "show": ("BASE",), "watch": ("BASE",), "logs": ("BASE", "--all"), "compare": ("BASE", "OTHER"), "metrics": ("BASE",), "wait": ("BASE",),
    "check": ("SPEC",), "preview": ("SPEC", "--seconds", "1"), "sample": ("SPEC",), "head": ("DATA",), "count": ("SPEC",), "stream": ("SPEC",), "dataset": ("DATA",),
    "init": ("DATA", "--label", "clicked", "--seconds", "1"), "run": ("SPEC", "--detach"), "stop": ("LONG", "--wait"), "resume": ("LONG", "--from-start"),
    "rm": ("OTHER",), "down": ()}
# Other programs that print; programs that were not built are skipped.
PROGRAMS = (("millrace-loader", "--help"), ("millrace-loader", "count", "SPEC"), ("millrace-loader", "profile", "DATA"), ("millrace-loader", "inspect"),
            ("millrace-data", "--version"), ("millraced", "--help"), ("millraced", "--version"), ("millrace-trainer", "--version"),
            ("millrace-console", "--version"), ("millrace-ssh", "--version"))
LOST = "standard output: No space left on device"


class Outputs(DaemonCase):
    def setUp(self):
        super().setUp()
        os.environ["XDG_CONFIG_HOME"] = os.path.join(self.folder, "config")
        self.addCleanup(os.environ.pop, "XDG_CONFIG_HOME")
        self.cli("host", "add", "gpu1", "ssh://gpu1.example.org")
        self.path = self.spec(total=400, epochs=1, more=MEAN)
        clicks = os.path.join(self.folder, "clicks.csv")
        with open(clicks, "w", encoding="utf-8") as file:
            file.write("user,x,clicked\n" + "".join(f"{n * 31 % 97},{n % 13 / 8},{n % 3 // 2}\n" for n in range(400)))
        ids = re.findall(r"r-[a-z2-9]{5}", self.cli("run", self.path, "--variation", "half", "--variation", "small-batches", "--detach"))
        self.cli("wait", *dict.fromkeys(ids))
        long = re.findall(r"r-[a-z2-9]{5}", self.cli("run", self.path, "--detach", "--set", "batch.epochs=100000", "--set",
                                                      "model={type: dlrm, embedding_dim: 4, bottom: [4, 4], top: [4, 1]}"))[0]
        self.places = {"SPEC": self.path, "DATA": clicks, "BASE": ids[0], "OTHER": ids[1], "LONG": long}

    def into(self, output, program, *words):
        """Runs a program with this descriptor as stdout; returns exit code and stderr."""
        done = subprocess.run([os.path.join(BIN, program), *(self.places.get(word, word) for word in words)], stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        return done.returncode, done.stderr

    def commands(self):
        """Each command of the table with the arguments above, and whether it takes --json."""
        text = self.cli("help", "--markdown")
        sections = dict(re.findall(r"^### `millrace ([a-z-]+)(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
        self.assertEqual(set(sections), set(ARGUMENTS), "each command has its arguments at the head of this file")
        return [(name, words, "`--json`" in sections[name]) for name, words in ARGUMENTS.items()]

    def programs(self):
        return [words for words in PROGRAMS if os.path.exists(os.path.join(BIN, words[0]))]

    def test_output_that_is_lost_is_an_error_of_every_command(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for name, words, takes_json in self.commands():
                # A command that changes something runs only once.
                with_json = takes_json and name not in ("run", "stop", "resume", "rm", "down")
                for more in ((), ("--json",)) if with_json else ((),):
                    code, err = self.into(full, "millrace", name, *words, *more)
                    self.assertEqual((code, err.count(LOST)), (1, 1), f"{name} {more}: {err}")
            for words in (("--help",), ("ls", "--help"), ("--version",)):
                self.assertEqual(self.into(full, "millrace", *words), (1, f"millrace: {LOST}\n"), words)
            for words in self.programs():
                code, err = self.into(full, *words)
                self.assertTrue(code != 0 and LOST in err, f"{words}: {code} {err}")
            closed = subprocess.run(["sh", "-c", 'exec "$0" version >&-', os.path.join(BIN, "millrace")], capture_output=True, text=True, check=False)
            self.assertEqual((closed.returncode, closed.stderr), (1, "millrace: standard output: Bad file descriptor\n"))

    def test_a_reader_that_has_gone_ends_every_command_quietly(self):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            for name, words, _ in self.commands():
                code, err = self.into(writer, "millrace", name, *words)
                self.assertEqual(code, 0, f"{name}: {err}")
                self.assertNotRegex(err, "standard output|[Bb]roken pipe", name)
            for words in (("--help",), ("--version",)):
                self.assertEqual(self.into(writer, "millrace", *words), (0, ""), words)
            for words in self.programs():
                code, err = self.into(writer, *words)
                self.assertEqual((code, "standard output" in err), (0, False), f"{words}: {err}")
        finally:
            os.close(writer)


class Followers(RunCase):
    def test_a_follower_ends_with_its_reader(self):
        """The follower ends even if its run prints nothing."""
        spec = self.prepare(ranks=1)
        self.hold()
        run, = self.submit(spec)
        wait_for("the first step", lambda: self.steps_told(0) == [1])
        for words in (("watch", run, "--plain"), ("watch", run, "--json"), ("logs", "-f", "--all", run), ("logs", "-f", "--all", run, "--json"),
                      ("run", spec, "--watch", "--json")):
            with subprocess.Popen([os.path.join(BIN, "millrace"), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as follower:
                try:
                    self.assertTrue(follower.stdout.readline(), words)
                    follower.stdout.close()
                    self.assertEqual(follower.wait(30), 0, words)
                    self.assertNotRegex(follower.stderr.read(), "standard output|[Bb]roken pipe", words)
                finally:
                    follower.kill()
        self.assertEqual(self.show(run)["state"], "running")
        self.release()


if __name__ == "__main__":
    unittest.main()
