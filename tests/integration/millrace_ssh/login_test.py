#!/usr/bin/env python3
"""Logins through millrace-ssh to a real sshd: host keys, key files, passphrases, agents, jump hosts.

    login_test.py [-v] [HostKeyTest.test_name]        ctest runs every test on its own
"""
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import IS_OURS, USER, Master, SshCase, pid_is_gone, send_all, signal, wait_for  # noqa: E402


def fingerprint(server):
    text = subprocess.run(["ssh-keygen", "-lf", f"{server.key}.pub"], check=True, capture_output=True, text=True).stdout
    return text.split()[1]


class HostKeyTest(SshCase):
    def prompt(self, server):
        name = f"[127.0.0.1]:{server.port}"
        return (f"The authenticity of host '{name} ({name})' can't be established.\n"
                f"ED25519 key fingerprint is {fingerprint(server)}.\nThis key is not known by any other names.\n"
                "Are you sure you want to continue connecting (yes/no/[fingerprint])? ")

    def test_an_unknown_host_is_asked_about_and_remembered(self):
        server = self.sshd(known=False)
        self.place.answer(("authenticity", "yes"))
        with_key = self.with_key()
        master = self.master(server, *with_key, strict="ask").ready()
        self.assertEqual(self.place.prompts(), [self.prompt(server)])
        self.assertIn(f"Warning: Permanently added '[127.0.0.1]:{server.port}' (ED25519) to the list of known hosts.",
                      master.error())
        self.assertEqual(master.close(), 0)
        self.master(server, *with_key, number=1).ready()
        self.assertEqual(len(self.place.prompts()), 1)

    def test_the_fingerprint_is_a_yes(self):
        server = self.sshd(known=False)
        self.place.answer(("authenticity", "perhaps"), ("Please type 'yes', 'no' or the fingerprint: $", fingerprint(server)))
        self.master(server, *self.with_key(), strict="ask").ready()
        self.assertEqual(len(self.place.prompts()), 2)

    def test_a_no_and_a_closed_question_end_it(self):
        server = self.sshd(known=False)
        for number, answers in enumerate(([["authenticity", "no"]], [])):
            self.place.answer(*answers)
            error = self.refused(self.master(server, *self.with_key() if number == 0 else [], strict="ask", number=number))
            self.assertIn("Host key verification failed.\n", error)
        self.assertEqual(self.place.known_hosts.read_text(), "")

    def test_strict_never_asks(self):
        server = self.sshd(known=False)
        self.place.answer(("", "yes"))
        error = self.refused(self.master(server, *self.with_key()))
        self.assertIn(f"No ED25519 host key is known for [127.0.0.1]:{server.port} and you have requested strict checking.\n"
                      "Host key verification failed.\n", error)
        self.assertEqual(self.place.prompts(), [])

    def test_batch_mode_never_asks(self):
        server = self.sshd(known=False)
        self.place.answer(("", "yes"))
        error = self.refused(self.master(server, *self.with_key(), "-o", "BatchMode=yes", strict="ask"))
        self.assertIn("Host key verification failed.\n", error)
        self.assertEqual(self.place.prompts(), [])

    def test_accept_new_takes_a_new_host_and_no_changed_one(self):
        server = self.sshd(known=False)
        with_key = self.with_key()
        self.master(server, *with_key, strict="accept-new").ready()
        self.assertEqual(self.place.prompts(), [])
        self.change_known(server)
        self.assertIn("REMOTE HOST IDENTIFICATION HAS CHANGED",
                      self.refused(self.master(server, *with_key, strict="accept-new", number=1)))

    def change_known(self, server, lines_before=2):
        other = self.place.make_key("other-host")
        kind, key = Path(f"{other}.pub").read_text().split()[:2]
        self.place.known_hosts.write_text("# one\n" * lines_before + f"[127.0.0.1]:{server.port} {kind} {key}\n")

    def test_a_changed_key_is_refused_and_explained(self):
        server = self.sshd(known=False)
        self.change_known(server)
        self.place.answer(("", "yes"))
        error = self.refused(self.master(server, *self.with_key(), strict="ask"))
        self.assertIn("@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n", error)
        self.assertIn(f"The fingerprint for the ED25519 key sent by the remote host is\n{fingerprint(server)}.\n", error)
        self.assertIn(f"Offending ED25519 key in {self.place.known_hosts}:3\n", error)
        self.assertIn("Host key verification failed.\n", error)
        self.assertEqual(self.place.prompts(), [])

    def test_hashed_known_hosts_are_read(self):
        server = self.sshd()
        subprocess.run(["ssh-keygen", "-H", "-f", self.place.known_hosts], check=True, capture_output=True)
        self.assertNotIn("127.0.0.1", self.place.known_hosts.read_text())
        with_key = self.with_key()
        self.master(server, *with_key).ready()
        self.change_known(server, 0)
        subprocess.run(["ssh-keygen", "-H", "-f", self.place.known_hosts], check=True, capture_output=True)
        error = self.refused(self.master(server, *with_key, number=1))
        self.assertIn(f"Offending ED25519 key in {self.place.known_hosts}:1\n", error)

    def test_a_revoked_key_is_refused(self):
        server = self.sshd()
        with open(self.place.known_hosts, "a") as file:
            file.write("@revoked " + server.host_key_line)
        error = self.refused(self.master(server, *self.with_key()))
        self.assertIn("REVOKED HOST KEY DETECTED", error)

    def test_a_second_file_and_the_system_s_count_too(self):
        server = self.sshd(known=False)
        second = self.place.dir / "second"
        second.write_text(server.host_key_line)
        options = ["-F", "none", "-p", str(server.port), "-l", USER, *self.with_key(), "-o", "StrictHostKeyChecking=yes"]
        known = [["-o", f"UserKnownHostsFile={self.place.known_hosts} {second}", "-o", "GlobalKnownHostsFile=/dev/null"],
                 ["-o", f"UserKnownHostsFile={self.place.known_hosts}", "-o", f"GlobalKnownHostsFile={second}"]]
        for number, files in enumerate(known):
            Master(self.place, "127.0.0.1", *options, *files, number=number).ready()


class UserTest(SshCase):
    def test_a_passphrase_is_asked_for(self):
        server = self.sshd()
        self.place.answer(("passphrase", ["wrong", "open sesame"]))
        self.master(server, *self.with_key(passphrase="open sesame")).ready()
        self.assertEqual(self.place.prompts(), [f"Enter passphrase for key '{self.place.dir}/key': "] * 2)

    def test_a_passphrase_that_nobody_gives_is_a_permission_denied(self):
        server = self.sshd()
        error = self.refused(self.master(server, *self.with_key(passphrase="open sesame")))
        self.assertRegex(error, rf"(?m)^{re.escape(USER)}@127\.0\.0\.1: Permission denied \(publickey")
        self.assertEqual(len(self.place.prompts()), 1)

    def test_a_key_that_the_host_does_not_know_is_not_asked_about(self):
        server = self.sshd()
        key = self.place.make_key("stranger", "secret")
        error = self.refused(self.master(server, "-o", f"IdentityFile={key}"))
        self.assertIn("Permission denied (publickey", error)
        self.assertEqual(self.place.prompts(), [])

    def test_batch_mode_asks_for_no_passphrase(self):
        server = self.sshd()
        self.place.answer(("", "open sesame"))
        error = self.refused(self.master(server, *self.with_key("-o", "BatchMode=yes", passphrase="open sesame")))
        self.assertIn("Permission denied (publickey", error)
        self.assertEqual(self.place.prompts(), [])

    def test_old_and_other_key_formats_are_read(self):
        server = self.sshd()
        for number, (kind, form) in enumerate((("rsa", []), ("ecdsa", []), ("rsa", ["-m", "PEM"]))):
            path = self.place.dir / f"key-{number}"
            subprocess.run(["ssh-keygen", "-q", "-t", kind, *form, "-N", "secret", "-f", path], check=True)
            self.place.authorize(path)
            self.place.answer(("passphrase", "secret"))
            self.master(server, "-o", f"IdentityFile={path}", "-o", "IdentitiesOnly=yes", number=number).ready()

    def test_an_agent_s_key_is_enough(self):
        server = self.sshd()
        key = self.place.authorize(self.place.make_key("key"))
        self.place.start_agent(key)
        key.unlink()
        self.master(server, "-o", "IdentityFile=none").ready()
        del self.place.env["SSH_AUTH_SOCK"]
        self.refused(self.master(server, "-o", "IdentityFile=none", number=1))

    def test_identities_only_shows_no_other_key_of_the_agent(self):
        server = self.sshd(config=["MaxAuthTries 2"])
        strangers = [self.place.make_key(f"stranger-{i}") for i in range(4)]
        key = self.place.authorize(self.place.make_key("key"))
        self.place.start_agent(*strangers, key)
        key.unlink()  # the agent signs, so only the public half is needed
        only = ["-o", f"IdentityFile={key}", "-o", "IdentitiesOnly=yes"]
        self.master(server, *only).ready()
        error = self.refused(self.master(server, "-o", "IdentityFile=none", number=1))
        self.assertIn("Too many authentication failures", error)

    def test_a_user_that_the_host_refuses(self):
        server = self.sshd()
        options = self.options(server, *self.with_key())
        options[options.index("-l") + 1] = "nobody-of-that-name"
        error = self.refused(Master(self.place, "127.0.0.1", *options))
        self.assertIn("nobody-of-that-name@127.0.0.1: Permission denied (publickey", error)

    def test_two_proofs_that_a_host_wants_are_given(self):
        second = self.place.authorize(self.place.make_key("second"))
        server = self.sshd(config=["AuthenticationMethods publickey,publickey"])
        with_key = self.with_key()
        self.refused(self.master(server, *with_key))
        self.master(server, *with_key, "-o", f"IdentityFile={second}", number=1).ready()

    def test_a_key_file_that_others_can_read_is_not_used(self):
        server = self.sshd()
        with_key = self.with_key()
        (self.place.dir / "key").chmod(0o644)
        error = self.refused(self.master(server, *with_key))
        self.assertIn("This private key will be ignored.", error)


class WayTest(SshCase):
    def test_nobody_listens(self):
        server = self.sshd()
        server.process.kill()
        server.process.wait()
        error = self.refused(self.master(server))
        self.assertIn(f"ssh: connect to host 127.0.0.1 port {server.port}: Connection refused\n", error)

    def test_a_name_that_nobody_knows(self):
        error = self.refused(Master(self.place, "no-such-host.invalid", "-F", "none"))
        self.assertIn("ssh: Could not resolve hostname no-such-host.invalid: ", error)

    def test_a_host_that_says_nothing_is_given_up(self):
        import socket
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            error = self.refused(Master(self.place, "127.0.0.1", "-F", "none", "-p", str(silent.getsockname()[1]),
                                        "-o", "ConnectTimeout=1"))
        self.assertIn("timed out", error)

    def test_a_jump_is_a_session_through_another_host(self):
        first, last = self.sshd("first"), self.sshd("last")
        with_key = self.with_key()
        self.config(f"Host first\n  HostName 127.0.0.1\n  Port {first.port}\n  User {USER}\n  IdentityFile {with_key[1][13:]}\n"
                    f"  IdentitiesOnly yes\n  UserKnownHostsFile {self.place.known_hosts}\n"
                    f"Host last\n  HostName 127.0.0.1\n  Port {last.port}\n  User {USER}\n  ProxyJump first\n"
                    f"  IdentityFile {with_key[1][13:]}\n  UserKnownHostsFile {self.place.known_hosts}\n")
        master = Master(self.place, "last", "-F", self.place.dir / "config", "-o", "StrictHostKeyChecking=yes").ready()
        self.assertEqual(master.exec("echo through; exit 3").returncode, 3)
        data = os.urandom(20_000_000)
        self.assertEqual(master.exec("cat", input=data).stdout, data)
        self.assertIn("Accepted publickey", first.log.read_text())
        self.assertIn("Accepted publickey", last.log.read_text())
        # The jump host ends its sessions, and the connection through it ends too.
        send_all(first.sessions(), signal.SIGKILL)
        self.assertEqual(master.end(), 255)

    def test_both_hosts_of_a_jump_are_asked_about(self):
        first, last = self.sshd("first", known=False), self.sshd("last", known=False)
        with_key = self.with_key()
        self.config(f"Host *\n  IdentityFile {with_key[1][13:]}\n  UserKnownHostsFile {self.place.known_hosts}\n"
                    "  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking ask\n")
        self.place.answer(("authenticity", "yes"))
        master = Master(self.place, "127.0.0.1", "-F", self.place.dir / "config", "-p", str(last.port), "-l", USER,
                        "-o", f"ProxyJump={USER}@127.0.0.1:{first.port}").ready()
        name = f"[127.0.0.1]:{first.port}"
        self.assertEqual([prompt.split("\n")[0] for prompt in self.place.prompts()],
                         [f"The authenticity of host '{name} ({name})' can't be established.",
                          f"The authenticity of host '[127.0.0.1]:{last.port} (<no hostip for proxy command>)' "
                          "can't be established."])
        self.assertEqual(master.exec("exit 3").returncode, 3)

    def config(self, text):
        (self.place.dir / "config").write_text(text)

    def test_two_jumps_named_on_the_command_line(self):
        servers = [self.sshd(f"hop-{i}") for i in range(3)]
        with_key = self.with_key()
        self.config(f"Host *\n  IdentityFile {with_key[1][13:]}\n  UserKnownHostsFile {self.place.known_hosts}\n"
                    "  StrictHostKeyChecking yes\n")
        jumps = ",".join(f"{USER}@127.0.0.1:{server.port}" for server in servers[:2])
        master = Master(self.place, "127.0.0.1", "-F", self.place.dir / "config", "-p", str(servers[2].port), "-l", USER,
                        "-o", f"ProxyJump={jumps}").ready()
        self.assertEqual(master.exec("echo $SSH_CONNECTION").stdout.split()[3].decode(), str(servers[2].port))
        for server in servers:
            self.assertEqual(server.log.read_text().count("Accepted publickey"), 1)

    def test_a_jump_that_reaches_nobody_says_so(self):
        first, gone = self.sshd("first"), self.sshd("gone")
        gone.process.kill()
        gone.process.wait()
        with_key = self.with_key()
        self.config(f"Host *\n  IdentityFile {with_key[1][13:]}\n  UserKnownHostsFile {self.place.known_hosts}\n")
        error = self.refused(Master(self.place, "127.0.0.1", "-F", self.place.dir / "config", "-p", str(gone.port), "-l", USER,
                                    "-o", f"ProxyJump={USER}@127.0.0.1:{first.port}"))
        self.assertIn("channel 0: open failed: connect failed: Connection refused\n", error)

    def test_a_proxy_command_is_the_way(self):
        server = self.sshd()
        self.config(f"Host there\n  HostName 127.0.0.1\n  ProxyCommand {sys.executable} {self.place.dir}/relay.py %h %p '50%%'\n"
                    f"  Port {server.port}\n  User {USER}\n  UserKnownHostsFile {self.place.known_hosts}\n")
        (self.place.dir / "relay.py").write_text(
            "import os,socket,sys,threading\nassert sys.argv[3] == '50%'\n"
            f"open({str(self.place.dir / 'relay.pid')!r}, 'w').write(str(os.getpid()))\n"
            "s=socket.create_connection((sys.argv[1],int(sys.argv[2])))\n"
            "def up():\n    while (d:=os.read(0,65536)): s.sendall(d)\n    s.shutdown(1)\n"
            "threading.Thread(target=up,daemon=True).start()\n"
            "while (d:=s.recv(65536)): os.write(1,d)\n")
        master = Master(self.place, "there", "-F", self.place.dir / "config", *self.with_key()).ready()
        self.assertEqual(master.exec("exit 4").returncode, 4)
        # The proxy command ends with the master, however the master ends.
        pid = int((self.place.dir / "relay.pid").read_text())
        self.assertFalse(pid_is_gone(pid))
        master.process.kill()
        wait_for("the relay ends", lambda: pid_is_gone(pid), 20)

    def test_a_key_of_the_configuration_that_is_not_heeded_is_named_once(self):
        server = self.sshd()
        self.config(f"Host other\n  PKCS11Provider x\nHost *\n  VerifyHostKeyDNS no\n  VerifyHostKeyDNS no\n  SendEnv LANG\n"
                    f"  Port {server.port}\n  User {USER}\n  UserKnownHostsFile {self.place.known_hosts}\n")
        master = Master(self.place, "127.0.0.1", "-F", self.place.dir / "config", *self.with_key()).ready()
        named = f"millrace-ssh: {self.place.dir}/config:4: VerifyHostKeyDNS is not known here and is ignored\n"
        self.assertEqual(master.error(), named if IS_OURS else "")


if __name__ == "__main__":
    unittest.main()
