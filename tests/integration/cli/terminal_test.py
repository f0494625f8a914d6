#!/usr/bin/env python3
"""`millrace top` and `millrace watch` in a real terminal (tmux) with a real daemon.

    terminal_test.py BIN_DIR SPEC_DIR
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import poll  # noqa: E402

BIN = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release/bin").resolve()
EXAMPLE = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "resources/examples/movielens").resolve()


def wait_for(what, condition, seconds=90):
    """Polls until condition() holds and returns its value. `what` may be a function that describes the present state."""
    return poll.wait_for(what, condition, seconds, step=0.1)


class TerminalTest(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="millrace-terminal-"))
        (self.dir / "run").mkdir(mode=0o700)
        shutil.copytree(EXAMPLE, self.dir / "spec")
        spec = self.dir / "spec" / "movielens.yaml"
        spec.write_text(spec.read_text().replace("epochs: 3,", "epochs: 30000,"))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("MILLRACE_", "TMUX"))}
        self.env.update(XDG_RUNTIME_DIR=str(self.dir / "run"), XDG_STATE_HOME=str(self.dir / "state"),
                        XDG_CACHE_HOME=str(self.dir / "cache"), LC_ALL="C.UTF-8", TERM="xterm-256color",
                        PS1="$ ", PATH=f"{BIN}:{os.environ['PATH']}", TMUX_TMPDIR=str(self.dir / "run"))
        self.servers = 0  # one tmux server per terminal, because a server that is ending refuses a new session
        self.addCleanup(self.close)
        self.cli("up")
        self.run_id = self.cli("run", str(spec), "--detach").split()[0]

    def close(self):
        for server in range(self.servers + 1):
            subprocess.run(["tmux", "-L", f"server{server}", "kill-server"], env=self.env, capture_output=True)
        self.cli("down", "--grace", "5", check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    def cli(self, *words, check=True):
        p = subprocess.run([BIN / "millrace", *words], env=self.env, capture_output=True, text=True, timeout=120)
        if check and p.returncode != 0:
            self.fail(f"millrace {' '.join(words)}: exit {p.returncode}\n{p.stdout}{p.stderr}")
        return p.stdout

    def tmux(self, *words):
        return subprocess.run(["tmux", "-L", f"server{self.servers}", *words], env=self.env, capture_output=True, text=True, check=True).stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "t")

    def open_terminal(self, width, height):
        self.servers += 1
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", str(width), "-y", str(height),
                  "bash --norc --noprofile")
        self.type("echo be''fore; stty -a | md5sum")
        wait_for("the shell", lambda: re.search(r"before\n[0-9a-f]{32}", self.screen()))
        return re.search(r"before\n([0-9a-f]{32})", self.screen())[1]

    def type(self, text):
        self.tmux("send-keys", "-t", "t", text, "Enter")

    def leaves_the_terminal_as_it_was(self, settings, key):
        self.tmux("send-keys", "-t", "t", key)
        wait_for("the shell's text again", lambda: "before" in self.screen())
        self.type("stty -a | md5sum; echo exit was $?")
        wait_for("the same settings", lambda: self.screen().count(settings) == 2)

    def view(self, command, width, height, numbers, words):
        settings = self.open_terminal(width, height)
        self.type(command)
        for word in words:
            wait_for(lambda: f"{word!r} in\n{self.screen()}", lambda: word in self.screen())
        first = wait_for("numbers", lambda: re.search(numbers, self.screen()))[1]
        wait_for("live numbers", lambda: (m := re.search(numbers, self.screen())) and m[1] != first)
        # The screen may be half drawn now; a later one is complete.
        lines = wait_for(lambda: f"the keys in the last row of\n{self.screen()}",
                         lambda: (s := self.screen().splitlines()) and "q leave" in s[-1] and s)
        self.assertLessEqual(len(lines), height)
        self.assertTrue(all(len(line) <= width for line in lines))
        self.leaves_the_terminal_as_it_was(settings, "q")
        self.tmux("kill-server")

    def test_watch_is_live_and_q_leaves_the_terminal_as_it_was(self):
        for width, height in ((80, 24), (200, 50)):
            with self.subTest(f"{width}x{height}"):
                self.view(f"millrace watch {self.run_id}", width, height, r"step (\d+)/",
                          ["running", "loss", "samples/s", "input stall", "CPU", "GPU", "log"])
        self.assertIn("running", self.cli("ls"), "leaving the view leaves the run")

    def test_top_is_live_and_q_leaves_the_terminal_as_it_was(self):
        for width, height in ((80, 24), (200, 50)):
            with self.subTest(f"{width}x{height}"):
                self.view("millrace top", width, height, r"running +(\d+)/", ["cpu", "mem", "gpu", self.run_id])

    def test_a_killed_daemon_is_said_and_the_view_goes_on_when_it_is_back(self):
        self.open_terminal(80, 24)
        self.type(f"millrace watch {self.run_id}")
        step = lambda: (m := re.search(r"step (\d+)/", self.screen())) and int(m[1])
        before = wait_for("a first step", lambda: step())
        os.kill(json.loads(self.cli("nodes", "--json"))["nodes"][0]["pid"], signal.SIGKILL)
        wait_for(lambda: f"the lost connection in\n{self.screen()}",
                 lambda: "connection lost" in self.screen() and "'millrace up'" in self.screen())
        self.cli("up")
        wait_for(lambda: f"the keys again in\n{self.screen()}", lambda: "q leave" in self.screen())
        wait_for("later steps", lambda: (step() or 0) > before)

    def test_ctrl_c_leaves_the_view_says_that_the_run_goes_on_and_ends_with_0(self):
        settings = self.open_terminal(100, 30)
        self.type(f"millrace watch {self.run_id}; echo code=$?")
        wait_for("the view", lambda: "q leave" in self.screen())
        self.tmux("send-keys", "-t", "t", "C-c")
        wait_for("the sentence", lambda: "The run goes on" in self.screen())
        wait_for("exit code 0", lambda: "code=0" in self.screen())
        self.type("stty -a | md5sum")
        wait_for("the same settings", lambda: self.screen().count(settings) == 2)

    def test_a_view_that_is_ended_by_a_signal_gives_the_terminal_back(self):
        settings = self.open_terminal(80, 24)
        self.type("millrace top")
        wait_for("the view", lambda: "q leave" in self.screen())
        pane = self.tmux("list-panes", "-t", "t", "-F", "#{pane_pid}").split()[0]
        child = wait_for("millrace below the shell", lambda: subprocess.run(
            ["ps", "--ppid", pane, "-o", "pid="], capture_output=True, text=True).stdout.split())[0]
        os.kill(int(child), signal.SIGTERM)
        wait_for("the shell's text again", lambda: "before" in self.screen())
        self.type("stty -a | md5sum")
        wait_for("the same settings", lambda: self.screen().count(settings) == 2)


if __name__ == "__main__":
    if shutil.which("tmux") is None:
        print("skipped: tmux is not installed (apt-get install tmux)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
