#!/usr/bin/env python3
"""Connections that show no token: half-open connections to the doors of a daemon with few descriptors."""
import json
import os
import resource
import select
import shutil
import socket
import ssl
import subprocess
import time
import unittest

from harness import BIN
from poll import wait_for
from roles_test import Served
from spread_test import SpreadCase

CONNECTIONS = 1500
DESCRIPTORS = 1024
TLS_BEGINS = b"\x16"
SECONDS = 5  # within which a connection must show its token


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


class HalfOpen:
    """Connections to one address that send only `said`."""

    def __init__(self, address, said=b""):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * CONNECTIONS), hard))
        host, port = address.rsplit(":", 1)
        self.open = [socket.create_connection((host.strip("[]"), int(port)), 20) for _ in range(CONNECTIONS)]
        for one in self.open:
            one.sendall(said)

    def close(self):
        for one in self.open:
            one.close()

    def left(self):
        """Number of connections that the other side has not closed."""
        looked = select.poll()
        for one in self.open:
            looked.register(one, select.POLLIN)
        ended = {fd for fd, _ in looked.poll(0)}
        for one in [one for one in self.open if one.fileno() in ended]:
            one.close()
            self.open.remove(one)
        return len(self.open)


class NodesDoor(SpreadCase):
    listen = "127.0.0.1"

    def head(self):
        subprocess.run([os.path.join(BIN, "millraced"), "--nodes-listen", self.listen], check=True, capture_output=True, timeout=60,
                       preexec_fn=few_descriptors)

    def begin(self):
        self.head()

    def check(self, said):
        with open(os.path.join(self.folder, "state/millrace/nodes.join"), encoding="utf-8") as file:
            address = json.load(file)["address"]
        strangers = HalfOpen(address, said)
        self.addCleanup(strangers.close)
        self.agent("node1")

        def have_ended():
            began = time.monotonic()
            self.cli("ls")
            self.assertLess(time.monotonic() - began, 2, "the unix door answers")
            return strangers.left() == 0
        wait_for(lambda: f"all have ended, {strangers.left()} are left", have_ended, 8 * SECONDS)
        self.await_nodes("node1")
        self.assertEqual(self.json("nodes")["nodes"][1]["state"], "attached", "a connection that showed a token stays")

    def test_silent_connections_leave_room_for_others_and_end(self):
        self.check(b"")

    def test_connections_that_only_begin_a_handshake_leave_room_for_others_and_end(self):
        self.check(TLS_BEGINS)


    def test_connections_that_show_no_token_end(self):
        with open(os.path.join(self.folder, "state/millrace/nodes.join"), encoding="utf-8") as file:
            host, port = json.load(file)["address"].rsplit(":", 1)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        with context.wrap_socket(socket.create_connection((host, int(port)), 20)) as one:
            one.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))  # with empty settings
            began = time.monotonic()
            one.settimeout(4 * SECONDS)
            while one.recv(4096):
                pass
            self.assertLess(time.monotonic() - began, 3 * SECONDS)


class OwnRanks(SpreadCase):
    def heard(self, node, run, rank):
        """The answer of the attempt's door on `node` to a connection that claims to be this rank and reports a loss."""
        lines = ({"type": "hello", "run": run, "attempt": 1, "role": "rank", "rank": rank, "pid": 1},
                 {"type": "metrics", "seq": 900001, "step": 100000, "epoch": 0, "rows": 64, "time_ms": 1, "values": {"loss": -42}},
                 {"type": "alive"})
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(20)
            one.connect(os.path.join(self.folder, node, "runs", run, "a1/rank.sock"))
            one.sendall("".join(json.dumps(line) + "\n" for line in lines).encode())
            return one.recv(4096)

    def test_a_node_speaks_for_its_own_ranks_only(self):
        spec = self.prepare(total=2000)
        run = self.start(spec, 3)
        self.assertEqual(self.heard(self.node_of(run), run, 0), b"", "rank 0 is of the head's part")
        self.release()
        self.assert_whole(run, spec, 1)


@unittest.skipIf(shutil.which("openssl") is None, "there is no openssl here")
class OwnDoor(Served):
    def test_half_open_connections_end_and_clients_come_in(self):
        self.serve()
        eve = self.authority.sign("eve")
        for said in (b"", TLS_BEGINS):
            strangers = HalfOpen(self.address, said)
            self.addCleanup(strangers.close)
            wait_for(lambda: f"all have ended, {strangers.left()} are left", lambda: strangers.left() == 0, 8 * SECONDS)
            self.done(eve, "ls")


if __name__ == "__main__":
    unittest.main()
