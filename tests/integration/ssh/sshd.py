"""A test's own real sshd on loopback, with keys, accounts' settings and known hosts in the test's directory; and a terminal
for questions."""
import getpass
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time

from poll import wait_for

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"

CONFIG = """
ListenAddress {address}:{port}
HostKey {folder}/host_key
PidFile {folder}/pid
AuthorizedKeysFile {folder}/authorized_keys
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxSessions 100
MaxStartups 100
SetEnv HOME={home} XDG_RUNTIME_DIR={home}/run PATH={path} XDG_STATE_HOME={home}/state XDG_CACHE_HOME={home}/cache
ForceCommand cd {home} && exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""


def make_key(path, passphrase=""):
    """Makes an ed25519 key; returns its public line."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", path], check=True)
    with open(path + ".pub", encoding="utf-8") as file:
        return file.read()


def free_port(address):
    """A port that was free a moment ago: sshd cannot take port 0."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


class Sshd:
    """One server. `home`: home directory of logins; `programs`: added in front of their PATH."""

    def __init__(self, folder, programs=None, address="127.0.0.1", prefix=()):
        self.folder, self.address, self.prefix = folder, address, list(prefix)
        self.home = os.path.join(folder, "home")
        os.makedirs(os.path.join(self.home, "run"), mode=0o700)
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        self.host_key = make_key(os.path.join(folder, "host_key"))
        self.path = os.pathsep.join([*([programs] if programs else []), "/usr/bin", "/bin"])
        self.process = self.port = None
        self.authorize()

    def authorize(self, *lines):
        """Writes the keys that may log in."""
        with open(os.path.join(self.folder, "authorized_keys"), "w", encoding="utf-8") as file:
            file.write("".join(lines))

    def start(self, port=None):
        """Starts the server; on another port if a process has taken this one meanwhile."""
        for _ in range(20):
            self.port = port or free_port("127.0.0.1" if self.prefix else self.address)
            with open(os.path.join(self.folder, "sshd_config"), "w", encoding="utf-8") as file:
                file.write(CONFIG.format(address=self.address, port=self.port, folder=self.folder, home=self.home,
                                         path=self.path))
            log = open(os.path.join(self.folder, "log"), "ab")
            self.process = subprocess.Popen([*self.prefix, SSHD, "-D", "-e", "-f", os.path.join(self.folder, "sshd_config")],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            log.close()
            wait_for("sshd listens or ends", lambda: self.process.poll() is not None or self.listens(), 20)
            if self.process.poll() is None:
                return self
        raise AssertionError(f"sshd does not start: {self.log()}")

    def listens(self):
        """Whether the server listens on its port."""
        return f"Server listening on {self.address} port {self.port}" in self.log()

    def log(self):
        """The server's log."""
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def children(self):
        """The processes of the server's connections."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    def connections(self):
        """Number of logins so far."""
        return len(re.findall(r"Accepted \S+ for", self.log()))

    def known_line(self, key=None):
        """The server's line for a known_hosts file."""
        words = (key or self.host_key).split()
        return f"[{self.address}]:{self.port} {words[0]} {words[1]}\n"

    def stop(self):
        """Kills the sshd and its connections."""
        if self.process is None:
            return
        for pid in [*self.children(), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.process = None


def client_host(alias, server, identity, known, more=""):
    """A block of an ssh configuration."""
    return (f"Host {alias}\n  HostName {server.address}\n  Port {server.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {identity}\n  IdentitiesOnly yes\n  UserKnownHostsFile {known}\n"
            f"  GlobalKnownHostsFile /dev/null\n{more}")


class Terminal:
    """A program on its own terminal."""

    def __init__(self, argv, env, size=(40, 120)):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, {**env, "LINES": str(size[0]), "COLUMNS": str(size[1])})
        self.code = None

    def read(self, seconds=0.05):
        """Adds new output to `text`; returns False at the end."""
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:
                return False
            self.text += piece.decode(errors="replace").replace("\r\n", "\n")
            return bool(piece)
        return True

    def expect(self, words, seconds=30):
        """Reads until the words are there; drops the text up to their end and returns what was before them."""
        end = time.monotonic() + seconds
        while words not in self.text:
            if not self.read() or time.monotonic() > end:
                raise AssertionError(f"'{words}' did not come; there was:\n{self.text}")
        before, _, self.text = self.text.partition(words)
        return before

    def type(self, text):
        """Presses keys."""
        os.write(self.fd, text.encode())

    def end(self, seconds=30):
        """Reads to the end; returns the exit code and the remaining text."""
        end = time.monotonic() + seconds
        while self.read():
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"it did not end; there was:\n{self.text}")
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code, self.text
