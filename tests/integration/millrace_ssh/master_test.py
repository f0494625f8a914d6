#!/usr/bin/env python3
"""One connection to a real sshd: commands, forwarded sockets, many at once, and how the connection ends.

    master_test.py [-v] [StreamTest.test_name]        ctest runs every test on its own
"""
import hashlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import IS_OURS, SshCase, echo_server, pid_is_gone, send_all, talk, wait_for  # noqa: E402

MB = 1_000_000


def most_memory(pid):
    """Peak memory of the process in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024


class StreamTest(SshCase):
    def test_a_command_has_its_streams_and_its_exit_code(self):
        master = self.connected()
        ran = master.exec("cat; echo told >&2; exit 7", input=b"given")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (7, b"given", b"told\n"))
        self.assertEqual(master.exec("true").returncode, 0)
        self.assertEqual(master.exec("kill -9 $$").returncode, 255)
        self.assertEqual(master.exec("echo 'a  b' \"$HOME\"").stdout.split(b" ")[:2], [b"a", b""])

    def test_the_master_s_command_gives_its_exit_code(self):
        server = self.sshd()
        with_key = self.with_key()
        master = self.master(server, *with_key, command="echo ready; cat; echo told >&2; exit 9").ready()
        master.process.stdin.write(b"given")
        self.assertEqual(master.close(), 9)
        self.assertEqual((master.process.stdout.read(), master.error()), (b"given", "told\n"))

    def test_a_long_command_arrives_whole(self):
        master = self.connected()
        word = "x" * 100_000
        self.assertEqual(master.exec(f"printf %s {word} | wc -c").stdout.strip(), b"100000")

    def test_hundreds_of_megabytes_of_stdin_in_bounded_memory(self):
        master = self.connected()
        piece = os.urandom(MB)
        expected = hashlib.sha256()
        client = master.start_exec("sha256sum", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(200):
            client.stdin.write(piece)
            expected.update(piece)
        client.stdin.close()
        self.assertEqual(client.stdout.read().split()[0].decode(), expected.hexdigest())
        self.assertEqual(client.wait(), 0)
        if IS_OURS:
            self.assertLess(most_memory(master.process.pid), 40 * MB)

    def test_who_does_not_read_holds_up_nobody_and_no_memory(self):
        master = self.connected()
        stalled = [master.start_exec("head -c 50000000 /dev/zero", stdout=subprocess.PIPE) for _ in range(3)]
        unread = master.start_exec("exec cat >/dev/null", stdin=subprocess.PIPE)
        sizes = [master.exec("head -c 10000000 /dev/zero").stdout for _ in range(3)]
        self.assertEqual([len(size) for size in sizes], [10 * MB] * 3)
        if IS_OURS:
            self.assertLess(most_memory(master.process.pid), 60 * MB)
        for client in stalled:
            self.assertEqual(len(client.stdout.read()), 50 * MB)
            self.assertEqual(client.wait(), 0)
        unread.stdin.close()
        self.assertEqual(unread.wait(), 0)

    def test_twenty_commands_at_once(self):
        master = self.connected()
        clients = [master.start_exec(f"head -c {MB + i} /dev/zero; cat; exit {i}", stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE) for i in range(20)]
        for client in clients:
            client.stdin.write(b"end")
            client.stdin.close()
        for i, client in enumerate(clients):
            self.assertEqual(client.stdout.read(), bytes(MB + i) + b"end")
            self.assertEqual(client.wait(), i)

    def test_a_host_that_has_no_more_channels_says_so(self):
        master = self.connected(config=["MaxSessions 2"])
        first = master.start_exec("echo up; exec cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(first.stdout.readline(), b"up\n")
        refused = master.exec("echo never")
        self.assertEqual((refused.returncode, refused.stdout), (255, b""))
        if IS_OURS:
            self.assertRegex(refused.stderr, rb"^channel \d+: open failed: .*open failed\n$")
        first.stdin.close()
        self.assertEqual(first.wait(20), 0)
        # The host counts the first session until it has cleaned it up.
        wait_for("there is room again", lambda: master.exec("exit 4").returncode == 4, 20)

    def test_new_keys_in_the_middle_of_a_stream(self):
        master = self.connected(config=["RekeyLimit 2M", "LogLevel DEBUG1"])
        data = os.urandom(30 * MB)
        self.assertEqual(master.exec("cat", input=data).stdout, data)
        self.assertGreater(self.server.log.read_text().count("rekeying"), 10)

    def test_a_client_that_is_killed_takes_its_command_with_it(self):
        master = self.connected()
        client = master.start_exec("echo $$; exec cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        pid = int(client.stdout.readline())
        self.assertFalse(pid_is_gone(pid))
        client.kill()
        wait_for("the command ends", lambda: pid_is_gone(pid))
        self.assertEqual(master.exec("exit 5").returncode, 5)

    def test_a_reader_that_is_gone_ends_the_command(self):
        master = self.connected()
        client = master.start_exec("echo $$; exec yes", stdout=subprocess.PIPE)
        pid = int(client.stdout.readline())
        client.stdout.close()
        wait_for("the command ends", lambda: pid_is_gone(pid))
        self.assertNotEqual(client.wait(20), 0)


class ForwardTest(SshCase):
    def forwarded(self, remote):
        local = self.place.dir / "local"
        asked = self.master_.forward(local, remote)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return local

    def setUp(self):
        super().setUp()
        self.master_ = self.connected()

    def test_a_unix_socket_there_is_one_here(self):
        remote = self.place.dir / "remote"
        echo_server(self.place, remote)
        local = self.forwarded(remote)
        self.assertEqual(stat.S_IMODE(local.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.master_.ctl.stat().st_mode), 0o600)
        data = os.urandom(30 * MB)
        self.assertEqual(talk(local, data), data + b"|end")
        self.assertEqual(self.master_.close(), 0)
        self.assertFalse(local.exists() and IS_OURS)
        self.assertFalse(self.master_.ctl.exists())

    def test_twenty_connections_at_once(self):
        import concurrent.futures
        remote = self.place.dir / "remote"
        echo_server(self.place, remote)
        local = self.forwarded(remote)
        datas = [os.urandom(2 * MB + i) for i in range(20)]
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            got = list(pool.map(lambda data: talk(local, data), datas))
        self.assertEqual([g == d + b"|end" for g, d in zip(got, datas)], [True] * 20)

    def test_nobody_at_the_other_end(self):
        local = self.forwarded(self.place.dir / "nobody")
        self.assertEqual(talk_until_end(local), b"")
        wait_for("the sentence", lambda: "open failed" in self.master_.error(), 10)
        self.assertRegex(self.master_.error(), r"^channel \d+: open failed: connect failed: open failed\n$")
        # A server that starts later is found.
        echo_server(self.place, self.place.dir / "nobody")
        self.assertEqual(talk(local, b"x"), b"x|end")

    def test_a_place_that_is_taken_is_refused(self):
        here = self.place.dir / "here"
        echo_server(self.place, here)
        asked = self.master_.forward(here, self.place.dir / "remote")
        self.assertEqual(asked.returncode, 255)
        self.assertIn(b"mux_client_forward: forwarding request failed: ", asked.stderr)
        self.assertEqual(talk(here, b"still there"), b"still there|end")


def talk_until_end(path):
    try:
        return talk(path, b"anybody?")
    except (BrokenPipeError, ConnectionResetError):
        return b""


@unittest.skipUnless(IS_OURS, "of millrace-ssh")
class ControlTest(SshCase):
    def test_nonsense_on_the_control_socket_does_no_harm(self):
        master = self.connected()
        for nonsense in (b"", b"\0", b"\xff" * 100, b"\0\0\0\0", b"\0\0\0\4exec", b"\0\0\0\7exec\0ls",
                         b"\0\0\0\11forward\0a", b"\0\0\0\5check" * 3, b"GET / HTTP/1.1\r\n\r\n"):
            with socket.socket(socket.AF_UNIX) as peer:
                peer.settimeout(20)
                peer.connect(str(master.ctl))
                peer.sendall(nonsense)
                peer.shutdown(socket.SHUT_WR)
                try:
                    while peer.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
        self.assertEqual(master.exec("exit 3").returncode, 3)
        self.assertEqual(master.error(), "")

    def test_many_who_say_nothing_keep_nobody_out(self):
        master = self.connected()
        silent = [socket.socket(socket.AF_UNIX) for _ in range(200)]
        for peer in silent:
            self.addCleanup(peer.close)
            peer.connect(str(master.ctl))
        self.assertEqual(master.exec("exit 3").returncode, 3)
        # Each client has ten seconds for its request.
        silent[0].settimeout(20)
        self.assertEqual(silent[0].recv(1), b"")


class EndTest(SshCase):
    def test_check_and_exit(self):
        master = self.connected()
        self.assertIn(f"Master running (pid={master.process.pid})".encode(), master.ask("-O", "check", "127.0.0.1").stderr)
        asked = master.ask("-O", "exit", "127.0.0.1")
        self.assertEqual((asked.returncode, asked.stderr.strip()), (0, b"Exit request sent."))
        self.assertNotEqual(master.end(), 0)
        self.assertFalse(master.ctl.exists())
        asked = master.ask("-O", "check", "127.0.0.1")
        self.assertEqual(asked.returncode, 255)
        self.assertIn(f"Control socket connect({master.ctl}): ".encode(), asked.stderr)

    def test_a_signal_ends_it_and_takes_its_sockets_away(self):
        for number, kind in enumerate((signal.SIGTERM, signal.SIGHUP, signal.SIGINT)):
            with self.subTest(kind):
                if number > 0:
                    self.place.close()
                    self.setUp()
                master = self.connected()
                local = self.place.dir / "local"
                master.forward(local, self.place.dir / "remote")
                self.assertTrue(local.exists())
                master.process.send_signal(kind)
                self.assertEqual(master.end(), 255)
                self.assertFalse(master.ctl.exists())
                self.assertFalse(local.exists() and IS_OURS)

    def test_killed_its_command_ends_and_its_place_can_be_taken(self):
        server = self.sshd()
        with_key = self.with_key()
        master = self.master(server, *with_key, command="echo ready; echo $$; exec cat").ready()
        pid = int(master.process.stdout.readline())
        client = master.start_exec("exec cat", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for("two channels", lambda: len(server.sessions()) >= 3)
        master.process.kill()
        self.assertEqual(client.wait(20), 255)
        wait_for("the command ends", lambda: pid_is_gone(pid))
        self.assertTrue(master.ctl.exists())
        if IS_OURS:
            self.assertEqual(self.master(server, *with_key).ready().exec("exit 6").returncode, 6)

    def test_a_link_that_hangs_is_noticed(self):
        master = self.connected("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2")
        pids = self.server.sessions()
        client = master.start_exec("exec cat", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(send_all, pids, signal.SIGCONT)
        send_all(pids, signal.SIGSTOP)
        before = time.monotonic()
        self.assertEqual(master.end(), 255)
        self.assertLess(time.monotonic() - before, 6)
        self.assertGreater(time.monotonic() - before, 1.5)
        self.assertIn("Timeout, server 127.0.0.1 not responding.", master.error())
        self.assertEqual(client.wait(20), 255)

    def test_silence_of_a_host_that_lives_is_no_end(self):
        master = self.connected("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1")
        before = time.monotonic()
        wait_for("four intervals", lambda: time.monotonic() - before > 4)
        self.assertIsNone(master.process.poll())
        self.assertEqual(master.exec("exit 8").returncode, 8)
        self.assertEqual(master.error(), "")

    def test_a_host_that_ends_the_connection_is_named(self):
        master = self.connected()
        send_all(self.server.sessions(), signal.SIGKILL)
        self.assertEqual(master.end(), 255)
        self.assertIn("Connection to 127.0.0.1 closed by remote host.", master.error())
        self.assertFalse(master.ctl.exists())

    @unittest.skipUnless(IS_OURS, "of millrace-ssh")
    def test_it_leaves_no_core_dump(self):
        master = self.connected()
        limits = Path(f"/proc/{master.process.pid}/limits").read_text()
        self.assertRegex(limits, r"Max core file size\s+0\s+0")

    @unittest.skipUnless(IS_OURS, "of millrace-ssh")
    def test_what_it_never_does_is_refused(self):
        server = self.sshd()
        for option in ("ForwardAgent=yes", "ForwardX11=yes", "RequestTTY=yes", "LocalForward=1:2", "NoSuchKey=1"):
            error = self.refused(self.master(server, "-o", option, number=option))
            self.assertIn(f"-o {option}: ", error)


if __name__ == "__main__":
    unittest.main()
