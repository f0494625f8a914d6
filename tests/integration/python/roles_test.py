#!/usr/bin/env python3
"""The permissions of client certificates."""
import json
import os
import re
import shutil
import subprocess
import unittest

from certificates import Authority
from daemon_case import MEAN
from harness import BIN, Case
from poll import wait_for

CLIENTS = 'clients: {alice: admin, "ci-*": run, eve: view}\n'


class Served(Case):
    """A daemon on TCP, and the command line as its clients."""

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder)
        self.state = os.path.join(self.folder, "state")
        os.mkdir(self.state, 0o700)
        self.server = self.authority.sign("server", "subjectAltName=IP:127.0.0.1")

    def serve(self, clients=CLIENTS):
        with open(os.path.join(self.state, "millraced.yaml"), "w", encoding="utf-8") as file:
            file.write(clients)
        log = os.path.join(self.folder, "log")
        with open(log, "w", encoding="utf-8") as file:
            daemon = subprocess.Popen([os.path.join(BIN, "millraced"), "--foreground", "--socket", "127.0.0.1:0", "--state-dir", self.state,
                                       "--tls-cert", self.server[0], "--tls-key", self.server[1], "--tls-ca", self.authority.path], stderr=file)
        self.addCleanup(daemon.wait, 60)
        self.addCleanup(daemon.terminate)

        def address():
            with open(log, encoding="utf-8") as file:
                return re.search(r"daemon: serves address=(\S+)", file.read())
        wait_for("the daemon serves", address)
        self.address = address().group(1)

    def client(self, certificate, *arguments):
        """Runs `millrace ARGUMENTS` with this certificate."""
        variables = {"MILLRACE_HOST": self.address, "MILLRACE_TLS_CA": self.authority.path, "MILLRACE_TLS_CERT": certificate[0],
                     "MILLRACE_TLS_KEY": certificate[1], "USER": "root"}
        return subprocess.run([os.path.join(BIN, "millrace"), *arguments], capture_output=True, text=True, timeout=120, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, **variables})

    def done(self, certificate, *arguments):
        result = self.client(certificate, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def refused(self, certificate, *arguments):
        result = self.client(certificate, *arguments)
        self.assertNotEqual(result.returncode, 0, result.stdout)
        return result.stderr


@unittest.skipIf(shutil.which("openssl") is None, "there is no openssl here")
class Roles(Served):
    def submit(self, certificate):
        return json.loads(self.done(certificate, "run", self.spec(more=MEAN, epochs=1), "--json"))["runs"][0]["id"]

    def test_a_certificate_may_what_its_role_says(self):
        self.serve()
        alice, eve, mallory, one, two = map(self.authority.sign, ("alice", "eve", "mallory", "ci-1", "ci-2"))
        run = self.submit(one)
        self.assertEqual(json.loads(self.done(eve, "show", run, "--json"))["run"]["owner"], "ci-1", "the certificate's name, not USER")
        line = f"run {run} of 'ci-1': the certificate of 'ci-2' has the role run, which changes its own runs only; the line \"ci-2\": admin"
        for command in ("stop", "rm", "resume"):
            self.assertIn(line, self.refused(two, command, run))
        self.assertIn(os.path.join(self.state, "millraced.yaml"), self.refused(two, "rm", run))
        self.assertIn("the certificate of 'eve' has the role view, which only reads", self.refused(eve, "rm", run))
        self.assertIn("\"mallory\": view", self.refused(mallory, "ls"))
        self.done(eve, "wait", run)
        self.done(one, "rm", run)
        self.done(alice, "rm", run, "--restore")
        self.assertIn("\"ci-1\": admin", self.refused(one, "down"))
        self.done(alice, "down")

    def test_a_daemon_whose_key_is_not_its_certificates_does_not_start(self):
        other = self.authority.sign("other")[1]
        words = [os.path.join(BIN, "millraced"), "--socket", "127.0.0.1:0", "--state-dir", self.state, "--tls-cert", self.server[0],
                 "--tls-key", other, "--tls-ca", self.authority.path]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"millraced: {other}: is not the key of the certificate {self.server[0]}; give the two that were made together\n"))

    def test_a_client_that_tls_keeps_out_is_told_why_in_a_sentence(self):
        self.serve()
        eve, mallory = self.authority.sign("eve"), self.authority.sign("mallory")
        self.assertEqual(self.refused((eve[0], mallory[1]), "ls"), f"millrace: {mallory[1]}: is not the key of the certificate {eve[0]}; "
                         "give the two that were made together\n")
        folder = os.path.join(self.folder, "elsewhere")
        os.mkdir(folder)
        stranger = Authority(folder)
        self.assertEqual(self.refused(stranger.sign("eve"), "ls"),
                         f"millrace: no daemon answers at {self.address} (it does not take this client's certificate: MILLRACE_TLS_CERT must be "
                         "signed by the daemon's --tls-ca); check --host, or start one there\n")
        own, self.authority = self.authority, stranger
        self.assertEqual(self.refused(eve, "ls"),
                         f"millrace: no daemon answers at {self.address} (its certificate is not signed by MILLRACE_TLS_CA, or is not of that "
                         "host); check --host, or start one there\n")
        self.authority = own
        done = subprocess.run([os.path.join(BIN, "millrace"), "ls"], capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "MILLRACE_HOST": self.address})
        self.assertEqual(done.stderr, f"millrace: no daemon answers at {self.address} (it closed the connection; a daemon with TLS wants "
                         "MILLRACE_TLS_CA, MILLRACE_TLS_CERT and MILLRACE_TLS_KEY); check --host, or start one there\n")

    def test_without_a_map_a_certificate_may_view(self):
        self.serve("")
        eve = self.authority.sign("eve")
        self.done(eve, "ls")
        self.assertIn("\"eve\": run", self.refused(eve, "run", self.spec(more=MEAN, epochs=1)))
        self.assertIn("\"eve\": admin", self.refused(eve, "down"))

    def test_a_certificate_of_a_server_is_no_clients(self):
        self.serve('clients: {"*": admin}\n')
        self.assertIn("this certificate is the daemon's own", self.refused(self.server, "ls"))
        only = self.authority.sign("only", "extendedKeyUsage=serverAuth")
        self.assertIn("no daemon answers", self.refused(only, "ls"))
        both = self.authority.sign("both", "extendedKeyUsage=serverAuth,clientAuth")
        self.done(both, "ls")

    def test_a_certificate_without_a_cn_is_called_by_its_first_alt_name(self):
        self.serve("clients: {build.example.org: run}\n")
        build = self.authority.sign("build", "subjectAltName=DNS:build.example.org,DNS:other", subject="/O=example")
        run = self.submit(build)
        self.assertEqual(json.loads(self.done(build, "show", run, "--json"))["run"]["owner"], "build.example.org")


if __name__ == "__main__":
    unittest.main()
