#!/usr/bin/env python3
"""A host that asks questions (keyboard-interactive): a password and a code, by a small server of the tests' own.

    questions_test.py [-v] [QuestionsTest.test_name]        ctest runs every test on its own
"""
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import IS_OURS, USER, SshCase, echo_server, talk  # noqa: E402

SERVER = os.path.join(os.environ["MILLRACE_BIN_DIR"], "..", "tests", "kbdint_server")
WHO = f"({USER}@127.0.0.1) "


class Asking:
    """kbdint_server; ends with its stdin."""

    def __init__(self, place, password="open sesame", code="314159", socket="", methods="code"):
        self.key = place.make_key("asking-host")
        process = place.spawn([SERVER, self.key, password, code, socket, methods], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(process.stdout.readline().split()[1])

    @property
    def host_key_line(self):
        kind, key = Path(f"{self.key}.pub").read_text().split()[:2]
        return f"[127.0.0.1]:{self.port} {kind} {key}\n"


class QuestionsTest(SshCase):
    def setUp(self):
        super().setUp()
        self.remote = self.place.dir / "remote"
        self.server = Asking(self.place, socket=str(self.remote))
        self.place.known_hosts.write_text(self.server.host_key_line)

    def test_both_questions_are_put_and_their_answers_let_in(self):
        self.place.answer(("Password: $", "open sesame"), ("Code: $", "314159"))
        master = self.master(self.server).ready()
        self.assertEqual(self.place.prompts(), [WHO + "Password: ", WHO + "Code: "])
        ran = master.exec("cat; echo told >&2; exit 7", input=b"given")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (7, b"given", b"told\n"))
        data = os.urandom(5_000_000)
        self.assertEqual(master.exec("cat", input=data).stdout, data)
        self.assertEqual(master.close(), 0)

    def test_a_socket_is_forwarded_through_it(self):
        self.place.answer(("Password: $", "open sesame"), ("Code: $", "314159"))
        master = self.master(self.server).ready()
        echo_server(self.place, self.remote)
        self.assertEqual(master.forward(self.place.dir / "local", self.remote).returncode, 0)
        data = os.urandom(3_000_000)
        self.assertEqual(talk(self.place.dir / "local", data), data + b"|end")

    def test_a_wrong_code_is_asked_for_again(self):
        self.place.answer(("Password: $", "open sesame"), ("Code: $", ["1", "314159"]))
        master = self.master(self.server).ready()
        self.assertEqual(self.place.prompts(), [WHO + "Password: ", WHO + "Code: "] * 2)
        self.assertIn("Two questions", master.error())

    def test_wrong_answers_are_denied_after_three(self):
        self.place.answer(("Password: $", "wrong"), ("Code: $", "wrong"))
        error = self.refused(self.master(self.server))
        self.assertIn(f"{USER}@127.0.0.1: Permission denied (keyboard-interactive).\n", error)
        self.assertEqual(len(self.place.prompts()), 6)

    def test_nobody_who_answers(self):
        error = self.refused(self.master(self.server))
        self.assertIn("Permission denied (keyboard-interactive).\n", error)
        if IS_OURS:
            self.assertEqual(self.place.prompts(), [WHO + "Password: "])

    def test_batch_mode_asks_nothing(self):
        self.place.answer(("", "open sesame"))
        self.refused(self.master(self.server, "-o", "BatchMode=yes"))
        self.assertEqual(self.place.prompts(), [])

    def test_a_password_is_asked_for_as_ssh_asks(self):
        server = self.asking("password")
        self.place.answer(("password: $", ["wrong", "open sesame"]))
        master = self.master(server).ready()
        self.assertEqual(self.place.prompts(), [f"{USER}@127.0.0.1's password: "] * 2)
        self.assertIn("Permission denied, please try again.\n", master.error())

    def test_a_host_that_wants_two_proofs_gets_both(self):
        server = self.asking("both")
        self.place.answer(("'s password: $", "open sesame"), ("Password: $", "open sesame"), ("Code: $", "314159"))
        master = self.master(server).ready()
        self.assertEqual(self.place.prompts(), [f"{USER}@127.0.0.1's password: ", WHO + "Password: ", WHO + "Code: "])
        self.assertEqual(master.exec("exit 3").returncode, 3)

    def test_a_password_that_nobody_gives(self):
        error = self.refused(self.master(self.asking("password")))
        self.assertIn(f"{USER}@127.0.0.1: Permission denied (password).\n", error)

    def test_no_secret_is_in_an_argument_or_a_line(self):
        self.place.answer(("Password: $", "open sesame"), ("Code: $", "314159"))
        master = self.master(self.server).ready()
        arguments = Path(f"/proc/{master.process.pid}/cmdline").read_bytes()
        for secret in ("open sesame", "314159"):
            self.assertNotIn(secret.encode(), arguments)
            self.assertNotIn(secret, master.error() + "".join(self.place.prompts()))

    def asking(self, methods):
        for name in ("asking-host", "asking-host.pub"):
            (self.place.dir / name).unlink()
        server = Asking(self.place, socket=str(self.remote), methods=methods)
        self.place.known_hosts.write_text(server.host_key_line)
        return server


if __name__ == "__main__":
    unittest.main()
