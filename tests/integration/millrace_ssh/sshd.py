"""A real sshd on loopback for one test, with keys, an agent and a scripted SSH_ASKPASS.

All files are in one temporary directory; close() ends every process that the test started.
"""
import json
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from poll import wait_for  # noqa: E402

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
USER = pwd.getpwuid(os.getuid()).pw_name


def missing():
    """Why no sshd can be started here, or None."""
    for program in ("ssh-keygen", "ssh-agent", "ssh-add"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not os.access(SSHD, os.X_OK):
        return "sshd is not installed"
    if os.getuid() == 0 and not os.path.isdir("/run/sshd"):
        try:
            os.mkdir("/run/sshd", 0o755)
        except OSError as error:
            return f"/run/sshd cannot be made: {error}"
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Sshd:
    """`sshd -D` as this user. If another process takes the port first, it tries the next one."""

    def __init__(self, place, name="sshd", config=()):
        self.place, self.name, self.process = place, name, None
        self.key = place.make_key(f"{name}-host")
        self.log = place.dir / f"{name}.log"
        self.extra = list(config)
        for _ in range(20):
            self.port = free_port()
            if self.start():
                return
        raise AssertionError(self.log.read_text())

    def start(self):
        config = self.place.dir / f"{self.name}.config"
        lines = self.extra + [
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.key}", f"PidFile {self.place.dir}/{self.name}.pid",
            f"AuthorizedKeysFile {self.place.authorized}", "UsePAM no", "StrictModes no", "PermitRootLogin yes",
            "PasswordAuthentication no", "MaxSessions 100", "MaxAuthTries 20", "PrintMotd no", "LogLevel VERBOSE"]
        config.write_text("\n".join(lines) + "\n")
        with open(self.log, "w") as log:
            self.process = self.place.spawn([SSHD, "-D", "-e", "-f", str(config)], stderr=log)
        wait_for("sshd listens", lambda: self.listens() or self.process.poll() is not None, 20)
        return self.process.poll() is None

    def listens(self):
        text = self.log.read_text()
        return f"Server listening on 127.0.0.1 port {self.port}" in text

    def sessions(self):
        """The processes that sshd has forked for its open connections."""
        return descendants(self.process.pid)

    @property
    def host_key_line(self):
        kind, key = Path(f"{self.key}.pub").read_text().split()[:2]
        return f"[127.0.0.1]:{self.port} {kind} {key}\n"


def descendants(pid):
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found.append(int(child))
        try:
            found += descendants(int(child))
        except OSError:
            pass
    return found


class Place:
    """Directory, keys and processes of one test."""

    def __init__(self):
        self.dir = Path(tempfile.mkdtemp(prefix="mr-ssh-"))
        self.processes, self.files = [], []
        self.home = self.dir / "home"
        (self.home / ".ssh").mkdir(parents=True, mode=0o700)
        self.authorized = self.dir / "authorized_keys"
        self.authorized.write_text("")
        self.known_hosts = self.dir / "known_hosts"
        self.known_hosts.write_text("")
        self.answers = self.dir / "answers.json"
        self.asked = self.dir / "asked.jsonl"
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SSH_", "DISPLAY"))}
        self.env.update(HOME=str(self.home), SSH_ASKPASS=str(self.askpass()), SSH_ASKPASS_REQUIRE="force")
        # For the tests that measure memory in a sanitizer's build: freed memory that it keeps does not belong to the
        # program.
        self.env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        for file in self.files:
            file.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def spawn(self, argv, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen([str(a) for a in argv], **options)
        self.processes.append(process)
        self.files += [f for f in (process.stdin, process.stdout, process.stderr) if f]
        return process

    def make_key(self, name, passphrase="", kind="ed25519"):
        path = self.dir / name
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", name, "-f", path], check=True)
        return path

    def authorize(self, key):
        with open(self.authorized, "a") as file:
            file.write(Path(f"{key}.pub").read_text())
        return key

    def askpass(self):
        """Makes a program that answers with the first matching pattern of answers.json and records each prompt."""
        script = self.dir / "askpass"
        script.write_text(f"""#!{sys.executable}
import json, re, sys
with open({str(self.asked)!r}, "a") as asked:
    asked.write(json.dumps(sys.argv[1:]) + "\\n")
for answer in json.load(open({str(self.answers)!r})):
    if re.search(answer[0], sys.argv[1]):
        answers = answer[1]
        with open({str(self.asked)!r}) as asked:
            before = sum(1 for line in asked if re.search(answer[0], json.loads(line)[0])) - 1
        print(answers[min(before, len(answers) - 1)] if isinstance(answers, list) else answers)
        sys.exit(0)
sys.exit(1)
""")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        self.answers.write_text("[]")
        return script

    def answer(self, *pairs):
        """Sets the answers: (pattern of the prompt, answer or list of answers in turn)."""
        self.answers.write_text(json.dumps(pairs))

    def prompts(self):
        if not self.asked.exists():
            return []
        return [json.loads(line)[0] for line in self.asked.read_text().splitlines()]

    def start_agent(self, *keys):
        sock = self.dir / "agent.sock"
        self.spawn(["ssh-agent", "-D", "-a", sock], stdout=subprocess.DEVNULL)
        wait_for("the agent's socket", sock.exists, 10)
        self.env["SSH_AUTH_SOCK"] = str(sock)
        for key in keys:
            subprocess.run(["ssh-add", "-q", str(key)], check=True, env=self.env, stdin=subprocess.DEVNULL)
