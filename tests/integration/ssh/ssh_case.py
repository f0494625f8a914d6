"""A test with an sshd, a key that it accepts, and `millrace` as a user on another machine would run it."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

from sshd import SSHD, Sshd, Terminal, client_host, make_key

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
BIN = os.environ.get("MILLRACE_BIN_DIR", os.path.join(ROOT, "build/release/bin"))
MILLRACE = os.path.join(BIN, "millrace")
EXAMPLE = os.path.join(ROOT, "resources/examples/movielens")
WAY = os.environ.get("MILLRACE_SSH_TRANSPORT", "ssh")


@unittest.skipUnless(os.path.exists(SSHD), "sshd is not installed (Debian's openssh-server)")
@unittest.skipUnless(WAY == "ssh" or os.path.exists(os.path.join(BIN, "millrace-ssh")), "millrace-ssh is not built")
class SshCase(unittest.TestCase):
    """`self.server` has the alias gpu1. The host's files are in self.server.home, the user's in self.mine."""

    programs_there = BIN
    address, prefix = "127.0.0.1", ()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mrs-")  # short: a socket's path has 108 bytes
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.mine = os.path.join(self.folder, "mine")
        os.makedirs(os.path.join(self.mine, "run"), mode=0o700)
        self.key = os.path.join(self.mine, "key")
        self.known = os.path.join(self.mine, "known_hosts")
        public = make_key(self.key)
        self.server = self.new_server("there", self.programs_there)
        self.server.authorize(public)
        self.server.start()
        self.write_known(self.server.known_line())
        self.write_config(client_host("gpu1", self.server, self.key, self.known))
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("MILLRACE_", "SSH_")) and name != "DISPLAY"}
        self.env.update(XDG_RUNTIME_DIR=os.path.join(self.mine, "run"), XDG_CONFIG_HOME=os.path.join(self.mine, "config"),
                        XDG_STATE_HOME=os.path.join(self.mine, "state"), XDG_CACHE_HOME=os.path.join(self.mine, "cache"),
                        MILLRACE_SSH_CONFIG=os.path.join(self.mine, "ssh_config"), LC_ALL="C.UTF-8", TERM="xterm-256color",
                        MILLRACE_SSH_TRANSPORT=WAY)
        self.addCleanup(self.end_daemon)

    def new_server(self, name, programs=None):
        """Makes one more sshd; the caller starts it."""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        server = Sshd(folder, programs, self.address, self.prefix)
        self.addCleanup(server.stop)
        return server

    def write_known(self, *lines):
        """Writes the user's known hosts."""
        with open(self.known, "w", encoding="utf-8") as file:
            file.write("".join(lines))

    def write_config(self, *hosts):
        """Writes the user's ssh configuration."""
        with open(os.path.join(self.mine, "ssh_config"), "w", encoding="utf-8") as file:
            file.write("".join(hosts))

    def run_cli(self, *words, host="ssh://gpu1", stdin=subprocess.DEVNULL, timeout=120, **env):
        """Runs `millrace WORDS --host HOST` without a terminal; returns the finished process."""
        return subprocess.run([MILLRACE, *words, *(["--host", host] if host else [])], capture_output=True, text=True,
                              env={**self.env, **env}, timeout=timeout, stdin=stdin, start_new_session=True, check=False)

    def cli(self, *words, code=0, **how):
        """Runs the command line, checks its exit code and returns its stdout."""
        done = self.run_cli(*words, **how)
        self.assertEqual(done.returncode, code, f"millrace {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def refusal(self, *words, code, **how):
        """Runs the command line, checks its exit code and returns its stderr."""
        done = self.run_cli(*words, **how)
        self.assertEqual(done.returncode, code, f"millrace {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stderr

    def terminal(self, *words, host="ssh://gpu1", **env):
        """Starts the command line on a terminal."""
        return Terminal([MILLRACE, *words, *(["--host", host] if host else [])], {**self.env, **env})

    def json(self, *words, **how):
        """The JSON document that the command line prints."""
        return json.loads(self.cli(*words, "--json", **how))

    def processes(self, word):
        """Processes with this test's directory and the word in their command line."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read()
                with open(f"/proc/{name}/environ", "rb") as file:
                    line_and_more = line + file.read()
            except OSError:
                continue
            if word.encode() in line and self.folder.encode() in line_and_more:
                yield int(name)

    def end_daemon(self):
        """Kills the daemons, clients and agents that the test started."""
        for _ in range(3):
            for word in ("millrace", "ssh-agent"):
                for pid in self.processes(word):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass

    def spec_there(self, epochs=3):
        """Copies the example with its files to the host; returns its path there."""
        place = os.path.join(self.server.home, "data")
        shutil.copytree(EXAMPLE, place)
        path = os.path.join(place, "movielens.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("epochs: 3,", f"epochs: {epochs},"))
        return path
