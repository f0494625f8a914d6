#!/usr/bin/env python3
"""One state directory, two hosts: what the second host may conclude about the daemon and the workers of the first.

The second host is a pid namespace with its own mount table on this machine; it ends with the test.
"""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from harness import BIN
from poll import is_gone, wait_for
from run_harness import RunCase

ENTER = ("unshare", "--pid", "--mount", "--uts", "--fork", "--kill-child", "--mount-proc")
# Orphaned children are adopted by this process, which waits for none of them.
HOLD = 'trap "" CHLD; %s echo there; exec cat'


def replace_with_copy(lock):
    """Replaces the lock file: processes that open it later do not see the holder's flock, as on some network file systems."""
    shutil.copy(lock, lock + ".copy")
    os.replace(lock + ".copy", lock)


def may_have_hosts():
    return os.geteuid() == 0 and subprocess.run([*ENTER, "true"], capture_output=True, check=False).returncode == 0


class TwoMounts(RunCase):
    def test_a_daemon_that_lives_on_this_machine_is_found_without_its_flock(self):
        pid = self.json("up")["daemon"]["pid"]
        replace_with_copy(os.path.join(self.folder, "state/millrace/millraced.lock"))
        elsewhere = os.path.join(self.folder, "run2")
        os.mkdir(elsewhere, 0o700)
        for more in ((), ("--take-over",)):
            done = subprocess.run([os.path.join(BIN, "millrace"), "up", *more], capture_output=True, text=True, timeout=60, check=False,
                                  env={**os.environ, "XDG_RUNTIME_DIR": elsewhere})
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f"another millraced (process {pid} on", done.stderr)
        self.assertEqual(self.json("up")["daemon"]["pid"], pid)


class TwoHosts(RunCase):
    """The daemon of setUp() is on this host. `there()` runs a command on the other one."""
    changes = ""  # other differences of that host, as shell text

    def begin(self):
        if not may_have_hosts():
            self.skipTest("no namespaces for processes and mounts: needs root")
        self.elsewhere = os.path.join(self.folder, "run2")
        os.mkdir(self.elsewhere, 0o700)
        super().begin()
        self.holder = subprocess.Popen([*ENTER, "sh", "-c", HOLD % self.changes.format(folder=self.folder)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]})
        self.addCleanup(self.close)
        self.assertEqual(self.holder.stdout.readline(), b"there\n")
        with open(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children", encoding="ascii") as file:
            self.init = file.read().split()[0]

    def close(self):
        self.holder.stdin.close()
        self.holder.wait(10)
        self.holder.stdout.close()

    def there(self, program, *arguments, code=0):
        """Runs a command on the other host; returns stdout and stderr."""
        done = subprocess.run(["nsenter", "--target", self.init, "--pid", "--mount", "--uts", os.path.join(BIN, program), *arguments],
                              capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL, cwd=self.folder,
                              env={**os.environ, "XDG_RUNTIME_DIR": self.elsewhere})
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def at_step(self, step):
        """Starts a run whose ranks wait after `step`."""
        self.hold(*range(1, step))
        run = self.submit(self.prepare(total=2000))[0]
        wait_for(lambda: f"both ranks are at step {step}", lambda: self.steps_told(0)[-1:] == self.steps_told(1)[-1:] == [step])
        return run

    def kill_daemon(self):
        pid = self.json("up")["daemon"]["pid"]
        os.kill(pid, signal.SIGKILL)
        self.await_end(pid)

    @staticmethod
    def await_end(pid):
        wait_for("it is gone", lambda: is_gone(pid))

    def lock_file(self):
        return os.path.join(self.folder, "state/millrace/millraced.lock")

    def logged(self):
        with open(os.path.join(self.folder, "state/millrace/millraced.log"), encoding="utf-8") as file:
            return file.read()

    def begun(self):
        return [[line["begun"] for line in self.told(rank) if "begun" in line] for rank in (0, 1)]

    def assert_one_attempt_to_the_end(self, run):
        """Checks that this host's workers continue, and that the other host's daemon receives their reports."""
        shown = self.there("millrace", "show", run)
        self.assertIn("its workers were started on", shown)
        self.assertNotIn("attempt 2", shown)
        self.release()
        wait_for(lambda: self.there("millrace", "show", run),
                 lambda: json.loads(self.there("millrace", "show", run, "--json"))["run"]["state"] == "finished", step=0.2)
        self.assertEqual(self.begun(), [[0], [0]], "no rank was started a second time")
        for rank in (0, 1):
            self.assertEqual(self.steps_told(rank), sorted(set(self.steps_told(rank))), "each step once")


class OtherContainer(TwoHosts):
    def test_workers_of_a_dead_daemon_are_not_taken_for_dead(self):
        run = self.at_step(7)
        self.kill_daemon()
        refused = self.there("millrace", "up", code=1)
        self.assertRegex(refused, r"the state directory .*: millraced serves it, process \d+ on .*another pid namespace; its last sign of life is \d+ s old")
        self.there("millrace", "up", "--take-over")
        self.assertIn("takes the state directory over", self.logged())
        self.assert_one_attempt_to_the_end(run)

    def test_a_daemon_that_loses_its_directory_ends(self):
        run = self.at_step(7)
        first = self.json("up")["daemon"]["pid"]
        replace_with_copy(self.lock_file())
        self.assertIn(f"process {first} on", self.there("millrace", "up", code=1))
        os.kill(first, 0)
        self.there("millrace", "up", "--take-over")
        self.await_end(first)
        self.assertIn("was taken over by process", self.logged())
        self.assertIn("another millraced", self.cli("up", code=1) + self.err, "this host is told which daemon has it")
        self.assert_one_attempt_to_the_end(run)

    def test_an_agent_is_alone_in_its_directory_too(self):
        self.cli("down")
        self.cli("up", "--nodes", "2")
        state = os.path.join(self.folder, "state", "millrace")
        agent = next(pid for pid in self.processes() if b"--slot" in self.command_of(pid))
        command = [word.decode() for word in self.command_of(agent)]
        place = command[command.index("--state-dir") + 1]
        words = ["--slot", "--join", os.path.join(state, "nodes.join"), "--name", "node9", "--state-dir", place]
        for more in ([], ["--foreground"]):  # exit code 7: systemd starts the agent again
            self.assertIn(f"(process {agent} on", self.there("millraced", *words, *more, code=7))
        os.kill(agent, signal.SIGKILL)
        self.await_end(agent)
        self.assertIn(f"process {agent} on", self.there("millraced", *words, code=7))

    @staticmethod
    def command_of(pid):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")[:-1]


class NamedAsDebianNamesIt(TwoHosts):
    changes = "hostname laptop; echo '127.0.1.1 laptop' >{folder}/hosts; mount --bind {folder}/hosts /etc/hosts;"

    def test_hosts_are_not_told_a_name_that_is_loopback_here(self):
        told = self.there("millrace", "up", "--state-dir", os.path.join(self.folder, "state2"), "--hosts", "cpu-1", code=1)
        self.assertIn("name laptop is a loopback address here", told)
        self.assertIn("give --nodes-listen HOST", told)


class OtherMachine(TwoHosts):
    changes = ("hostname other-host; echo 0123456789abcdef0123456789abcdef >{folder}/machine; mount --bind {folder}/machine /etc/machine-id; "
               "echo 11111111-2222-3333-4444-555555555555 >{folder}/boot; mount --bind {folder}/boot /proc/sys/kernel/random/boot_id;")

    def test_a_daemon_that_was_silent_for_eleven_minutes_is_replaced(self):
        run = self.at_step(7)
        self.kill_daemon()
        self.assertIn("start again in 1", self.there("millrace", "up", code=1))
        os.utime(self.lock_file(), (time.time(), time.time() - 12 * 60))
        self.there("millrace", "up")
        self.assertRegex(self.logged(), r"takes the state directory over .*silent for 72\d s")
        self.assert_one_attempt_to_the_end(run)

    def test_an_orderly_end_leaves_the_directory_to_any_machine(self):
        self.cli("down")
        self.there("millrace", "up")
        self.assertNotIn("takes the state directory over", self.logged())


if __name__ == "__main__":
    unittest.main()
