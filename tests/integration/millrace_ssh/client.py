"""millrace-ssh as its parent process uses it: a master with a command, and other clients on its control socket.

MILLRACE_SSH=ssh runs the same tests against the system's ssh, whose words and ways are the model.
"""
import os
import signal
import socket
import subprocess
import unittest

from sshd import USER, Place, Sshd, missing, wait_for

PROGRAM = os.environ.get("MILLRACE_SSH") or os.path.join(os.environ["MILLRACE_BIN_DIR"], "millrace-ssh")
IS_OURS = os.path.basename(PROGRAM) == "millrace-ssh"


class Master:
    """A master that runs until its stdin is closed; its first line shows that it is connected."""

    def __init__(self, place, host, *options, command="echo ready; cat >/dev/null", number=0):
        self.place, self.host = place, host
        self.ctl = place.dir / f"ctl{number}"
        self.errors = place.dir / f"errors{number}"
        with open(self.errors, "w") as errors:
            self.process = place.spawn(
                [PROGRAM, "-M", "-S", self.ctl, "-T", "-a", "-x", *options, host, command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=place.env)

    def ready(self):
        line = self.process.stdout.readline()
        if line != b"ready\n":
            raise AssertionError(f"{line}: {self.error()}")
        return self

    def error(self):
        return self.errors.read_text().replace("\r\n", "\n")

    def end(self, seconds=20):
        return self.process.wait(seconds)

    def close(self):
        self.process.stdin.close()
        return self.end()

    def ask(self, *arguments, **options):
        return subprocess.run([PROGRAM, "-S", self.ctl, *map(str, arguments)], capture_output=True, env=self.place.env,
                              timeout=60, **options)

    def exec(self, command, **options):
        return self.ask("-T", self.host, command, **options)

    def start_exec(self, command, **options):
        return self.place.spawn([PROGRAM, "-S", self.ctl, "-T", self.host, command], env=self.place.env, **options)

    def forward(self, local, remote):
        return self.ask("-O", "forward", "-L", f"{local}:{remote}", self.host)


@unittest.skipIf(missing(), missing())
class SshCase(unittest.TestCase):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def sshd(self, name="sshd", known=True, config=()):
        server = Sshd(self.place, name, config)
        if known:
            with open(self.place.known_hosts, "a") as file:
                file.write(server.host_key_line)
        return server

    def options(self, server, *more, strict="yes"):
        return ["-F", "none", "-p", str(server.port), "-l", USER, "-o", f"UserKnownHostsFile={self.place.known_hosts}",
                "-o", "GlobalKnownHostsFile=/dev/null", "-o", f"StrictHostKeyChecking={strict}", *more]

    def with_key(self, *more, passphrase=""):
        key = self.place.authorize(self.place.make_key("key", passphrase))
        return ["-o", f"IdentityFile={key}", "-o", "IdentitiesOnly=yes", *more]

    def master(self, server, *more, strict="yes", **options):
        return Master(self.place, "127.0.0.1", *self.options(server, *more, strict=strict), **options)

    def connected(self, *more, config=()):
        """A connected master, with its own sshd and key."""
        self.server = self.sshd(config=config)
        return self.master(self.server, *self.with_key(*more)).ready()

    def refused(self, master, code=255):
        self.assertEqual(master.end(), code, master.error())
        return master.error()


def pid_is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def send_all(pids, number):
    """Signals those that still exist: the end of one process may end others."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def echo_server(place, path):
    """A server on a unix socket that echoes its input and appends "|end" at the end."""
    code = ("import socket,sys,threading\n"
            "s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[1]);s.listen(64);print('up',flush=True)\n"
            "def serve(c):\n"
            "    try:\n"
            "        while (d:=c.recv(65536)): c.sendall(d)\n"
            "        c.sendall(b'|end')\n"
            "    except OSError: pass\n"
            "    c.close()\n"
            "while True: threading.Thread(target=serve,args=(s.accept()[0],),daemon=True).start()\n")
    process = place.spawn(["python3", "-c", code, path], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"up\n"
    return process


def talk(path, data):
    """Sends `data` and reads the answer at the same time; returns the answer."""
    import threading
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(60)
        s.connect(str(path))

        def send():
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            except OSError:  # no server is there: the empty answer shows it
                pass
        sender = threading.Thread(target=send)
        sender.start()
        got = bytearray()
        while (piece := s.recv(1 << 16)):
            got += piece
        sender.join()
        return bytes(got)


__all__ = ["IS_OURS", "Master", "SshCase", "USER", "echo_server", "pid_is_gone", "send_all", "signal", "talk", "wait_for"]
