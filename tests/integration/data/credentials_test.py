#!/usr/bin/env python3
"""Data workers that read objects with their feed's credentials: a real S3 server (moto, on a loopback port) behind a proxy
that accepts one access key, a feed that reads its keys from a file, and workers without keys."""
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from door import Door  # noqa: E402
from loader_case import LOADER, put_rows  # noqa: E402
try:
    import boto3
    from moto.server import ThreadedMotoServer
    MISSING = ""
except ImportError as error:
    MISSING = f"packaging/setup --tests was not run: {error}"

CORE_BYTES = 1 << 20


def allow_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (CORE_BYTES, resource.getrlimit(resource.RLIMIT_CORE)[1]))


SPEC = """
name: objects
dataset: {path: "s3://lake/log"}
labels: {label: label}
features: {dense: [value], ids: [user]}
embeddings: {user: {rows: 64}}
model: {type: mlp, hidden: [4]}
batch: {rows: 64, micro_rows: 16, seed: 7, segment_splits: 1, epochs: 4}
"""


class KeyDoor(Door):
    """A proxy that refuses requests that are not signed with `key`; if `key` is None it refuses none."""
    REFUSAL = b"<?xml version='1.0'?><Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>"

    def __init__(self, server):
        self.key = None
        super().__init__(server)

    def serve(self, outer):
        with outer, socket.create_connection(self.server) as inner:
            threading.Thread(target=self.copy, args=(inner, outer), daemon=True).start()
            try:
                while request := outer.recv(65536):
                    while b"\r\n\r\n" not in request:
                        request += outer.recv(65536)
                    if self.key is None or f"Credential={self.key}/".encode() in request:
                        inner.sendall(request)
                    else:
                        outer.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n" % len(self.REFUSAL)
                                      + (b"" if request.startswith(b"HEAD") else self.REFUSAL))
            except OSError:
                pass


@unittest.skipIf(MISSING, MISSING)
class CredentialsOfTheFeed(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.base = Path(directory.name)
        self.own = self.base / "own"
        self.own.mkdir(mode=0o700)
        self.nobody = self.base / "nobody"  # a home without credentials
        self.nobody.mkdir()
        self.profile = self.base / "credentials"
        self.spec = self.base / "spec.yaml"
        self.spec.write_text(SPEC)
        self.processes, self.secrets = [], []
        self.server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.server.start()
        self.addCleanup(self.server.stop)
        self.door = KeyDoor(self.server.get_host_and_port())
        self.addCleanup(self.door.close)
        self.client = boto3.client("s3", endpoint_url="http://%s:%d" % self.server.get_host_and_port(), aws_access_key_id="k",
                                   aws_secret_access_key="s", region_name="us-east-1")
        self.client.create_bucket(Bucket="lake")
        for part in range(6):
            put_rows(self.client, self.base / f"part-{part}.parquet", f"log/part-{part}.parquet", 1000 * part)

    def tearDown(self):
        for process in self.processes:
            process.kill()
            process.wait()

    def new_key(self):
        """Makes a new key, writes it into the feed's profile, and accepts only this one from now on."""
        key, secret = f"AKIA{len(self.secrets):016d}", f"secret-{len(self.secrets)}-of-the-profile"
        self.secrets += [key, secret]
        fresh = self.profile.with_suffix(".new")
        fresh.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")
        fresh.rename(self.profile)
        self.door.key = key

    def environment(self, **more):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {**clean, "MILLRACE_LOG": "debug", "XDG_CACHE_HOME": str(self.base / "cache"), "HOME": str(self.nobody),
                "AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "2", **more}

    def reader(self):
        return self.environment(AWS_ENDPOINT_URL=self.door.endpoint, AWS_SHARED_CREDENTIALS_FILE=str(self.profile))

    def start(self, name, environment, *arguments):
        with open(self.base / f"{name}.log", "w") as log:
            process = subprocess.Popen([LOADER, *map(str, arguments)], stderr=log, env=environment, preexec_fn=allow_core_files)
        self.processes.append(process)
        return process

    def start_feed(self, environment, *more):
        return self.start("feed", environment, "feed", "--spec", self.spec, "--socket", self.own / "feed.sock", "--join-file", self.own / "data.join",
                          "--set", "resources.data_workers={min: 1, max: 2}", *more)

    def start_worker(self):
        worker = self.start("worker", self.environment(), "data", "--join", self.own / "data.join", "--wait", "20", "--threads", "1")
        self.await_said("feed", "data: worker joined")
        return worker

    def said(self, name):
        log = self.base / f"{name}.log"
        return log.read_text() if log.exists() else ""

    def await_said(self, name, text):
        end = time.monotonic() + 60
        while text not in self.said(name):
            self.assertLess(time.monotonic(), end, f"{name} did not say '{text}': " + self.said("feed") + self.said("worker"))
            os.sched_yield()

    def computed(self):
        """Number of segments that the worker computed; the stream has 72."""
        return int(re.search(r"data: computed segments=(\d+)", self.said("worker")).group(1))

    def ring_reader(self):
        return subprocess.run([LOADER, "ring-reader", "--socket", self.own / "feed.sock", "--reads"], capture_output=True, text=True, timeout=100,
                              env=self.environment())

    def streamed(self):
        done = subprocess.run([LOADER, "stream", self.spec, "--json"], capture_output=True, text=True, timeout=100, env=self.reader())
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def expect_same(self, streamed):
        read = self.ring_reader()
        self.assertEqual(read.returncode, 0, read.stderr + self.said("feed") + self.said("worker"))
        for key in ("order_hash", "checksum"):
            self.assertEqual(json.loads(read.stdout)[key], streamed[key], key)

    def expect_no_secret(self, process):
        shown = "".join(log.read_text() for log in self.base.glob("*.log"))
        shown += "".join(Path(f"/proc/{process.pid}/{part}").read_text() for part in ("cmdline", "environ"))
        shown += "".join(path.read_text(errors="replace") for path in self.own.iterdir() if path.is_file())
        shown += "".join(path.read_text(errors="replace") for path in (self.base / "cache").rglob("*") if path.is_file())
        for secret in self.secrets:
            self.assertNotIn(secret, shown)

    def expect_core_files(self, process, most):
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        self.assertEqual(int(re.search(r"Max core file size +(\d+)", limits).group(1)), most, limits)

    def test_a_worker_without_any_reads_with_those_of_its_feed(self):
        for more in ([], ["--listen", "127.0.0.1"]):
            with self.subTest(more=more):
                self.new_key()
                streamed = self.streamed()
                feed = self.start_feed(self.reader(), *more)
                worker = self.start_worker()
                self.expect_no_secret(worker)
                self.expect_core_files(worker, 0)
                self.expect_same(streamed)
                self.assertEqual((feed.wait(30), worker.wait(30)), (0, 0))
                self.assertGreater(self.computed(), 60)

    def test_renewed_ones_reach_a_worker_that_goes_on(self):
        self.new_key()
        streamed = self.streamed()
        feed = self.start_feed(self.reader())
        worker = self.start_worker()
        self.new_key()
        self.expect_same(streamed)
        self.assertEqual((feed.wait(30), worker.wait(30)), (0, 0))
        self.assertIn("data: the store's credentials are renewed", self.said("feed"))
        self.assertGreater(self.computed(), 60)
        self.assertNotIn("cannot be computed", self.said("worker"))
        for secret in self.secrets:
            self.assertNotIn(secret, self.said("feed") + self.said("worker"))

    def refused(self):
        """Starts a stream that nobody may read; returns the reader's error."""
        self.door.key = None
        feed = self.start_feed(self.environment(AWS_ENDPOINT_URL=self.door.endpoint))  # planned while every key is accepted
        self.await_said("feed", "data: workers and relays may join")
        self.door.key = "somebody's"
        self.start_worker()
        read = self.ring_reader()
        self.assertNotEqual(read.returncode, 0)
        self.assertNotEqual(feed.wait(30), 0)
        return read.stderr

    def test_without_any_anywhere_the_worker_says_so(self):
        for _ in range(20):  # repeated, because the feed's own threads may read a segment before the worker does
            heard = self.refused()
            self.assertIn("denies access", heard)
            self.assertIn("check the credentials (AWS_ACCESS_KEY_ID", heard)
            if "cannot be computed" in self.said("worker"):
                break
        self.assertIn("check the credentials: the feed has none to hand over", self.said("worker"))


if __name__ == "__main__":
    unittest.main()
