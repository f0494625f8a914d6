#!/usr/bin/env python3
"""millrace-loader on objects of a real S3 server (moto, on a loopback port): the same rows in the same order as from a disk,
and one clear error for objects that are denied, missing or gone."""
import datetime
import ipaddress
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from door import Door  # noqa: E402
from loader_case import LOADER, put_rows  # noqa: E402
try:
    import boto3
    import pyarrow as pa
    import pyarrow.parquet as pq
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from moto.server import ThreadedMotoServer
    MISSING = ""
except ImportError as error:
    MISSING = f"packaging/setup --tests was not run: {error}"

SPEC = """
name: objects
dataset: {path: "PATH"WHERE}
labels: {label: label}
features: {dense: [value], ids: [user]}
embeddings: {user: {rows: 64}}
model: {type: mlp, hidden: [4]}
batch: {rows: 64, micro_rows: 16, seed: 7, segment_splits: 2, epochs: 2}
"""
KEYS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_EC2_METADATA_DISABLED": "true"}


class TlsDoor(Door):
    """A TLS proxy on a loopback port in front of a server without TLS. Its certificate is certificate.pem in `directory`."""

    SCHEME = "https"

    def __init__(self, server, directory):
        self.certificate, key_file = directory / "certificate.pem", directory / "key.pem"
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test's store")])
        now = datetime.datetime.now(datetime.timezone.utc)
        made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
                .serial_number(1).not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
                .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
                .add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256()))
        self.certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key_file)
        super().__init__(server)

    def serve(self, plain):
        try:
            with self.context.wrap_socket(plain, server_side=True) as outer, socket.create_connection(self.server) as inner:
                back = threading.Thread(target=self.copy, args=(inner, outer), daemon=True)
                back.start()
                self.copy(outer, inner)
                back.join()
        except OSError:
            pass  # a client that does not trust the certificate hangs up


class CountingDoor(Door):
    """A proxy that calls `then` before it forwards the request with the number `count`."""

    def __init__(self, server, count, then):
        self.left, self.then, self.lock = count, then, threading.Lock()
        super().__init__(server)

    def serve(self, outer):
        with outer, socket.create_connection(self.server) as inner:
            threading.Thread(target=self.copy, args=(inner, outer), daemon=True).start()
            try:
                while data := outer.recv(65536):
                    with self.lock:
                        self.left -= data.startswith(b"GET /lake/log/")
                        if self.left == 0:
                            self.left = -1
                            self.then()
                    inner.sendall(data)
            except OSError:
                pass


class StallingDoor(CountingDoor):
    """A proxy that forwards 500 bytes of each answer with an object's bytes and then keeps the connection open."""

    def __init__(self, server):
        self.closed, self.stalled = threading.Event(), 0
        super().__init__(server, 0, None)

    def close(self):
        self.closed.set()
        super().close()

    def serve(self, outer):
        with outer, socket.create_connection(self.server) as inner:
            try:
                while request := outer.recv(65536):
                    inner.sendall(request)
                    answer = b""
                    while b"\r\n\r\n" not in answer:
                        answer += inner.recv(65536)
                    if request.startswith(b"GET /lake/log/"):
                        while len(answer) < (end := answer.index(b"\r\n\r\n") + 4 + 500):
                            answer += inner.recv(65536)
                        self.stalled += 1
                        outer.sendall(answer[:end])
                        return self.closed.wait()
                    outer.sendall(answer)
                    self.rest(inner, outer, answer)
            except OSError:
                pass

    @staticmethod
    def rest(inner, outer, answer):
        head, body = answer.split(b"\r\n\r\n", 1)
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        left = 0 if head.startswith(b"HTTP/1.1 204") else length - len(body)
        while left > 0 and (data := inner.recv(65536)):
            outer.sendall(data)
            left -= len(data)


@unittest.skipIf(MISSING, MISSING)
class ObjectsOfARealServer(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.base = Path(self.directory.name)
        self.server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.server.start()
        self.endpoint = "http://%s:%d" % self.server.get_host_and_port()
        self.client = boto3.client("s3", endpoint_url=self.endpoint, aws_access_key_id="k", aws_secret_access_key="s",
                                   region_name="us-east-1")
        self.client.create_bucket(Bucket="lake")
        for day in range(1, 4):
            for part in range(2):
                self.put(f"log/day=2024-01-0{day}/part-{part}.parquet", 1000 * day + 100 * part)

    def tearDown(self):
        self.server.stop()
        self.directory.cleanup()

    def put(self, key, first):
        put_rows(self.client, self.base / key, key, first)

    def stream(self, path, where="", environment=None):
        spec = self.base / "spec.yaml"
        spec.write_text(SPEC.replace("PATH", path).replace("WHERE", f', where: "{where}"' if where else ""))
        environment = {"AWS_ENDPOINT_URL": self.endpoint, **KEYS, **(environment or {})}
        return subprocess.run([LOADER, "stream", spec, "--json", "--threads", "2"], capture_output=True, text=True,
                              timeout=100, env={**os.environ, "XDG_CACHE_HOME": str(self.base / "cache"), **environment})

    def report(self, *arguments):
        done = self.stream(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_same_rows_in_the_same_order_as_from_a_disk(self):
        local = self.report(str(self.base / "log/day=*/*.parquet"))
        objects = self.report("s3://lake/log/day=*/*.parquet")
        self.assertEqual(local["rows_delivered"], 7200)
        for key in ("order_hash", "checksum", "plan_hash"):
            self.assertEqual(objects[key], local[key], key)

    def test_a_filter_on_a_directory_prunes_whole_objects(self):
        objects = self.report("s3://lake/log", "day = '2024-01-02'")
        self.assertEqual(objects["rows_scanned"], 7200)
        self.assertEqual(objects["rows_pruned"], 4800)
        self.assertEqual(objects["rows_delivered"], 2400)

    def test_without_a_key_objects_are_read_anonymously(self):
        nothing = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": str(self.base)}
        done = self.stream("s3://lake/log/day=2024-01-01/*.parquet", "", nothing)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_not_there_is_named(self):
        done = self.stream("s3://lake/nothing/*.parquet")
        self.assertEqual(done.returncode, 4)
        self.assertIn("s3://lake/nothing/*.parquet: no object matches this pattern", done.stderr)
        done = self.stream("s3://sea/*.parquet")
        self.assertIn("s3://sea/: no such bucket at 127.0.0.1:", done.stderr)

    def test_a_server_that_is_gone_is_named_with_what_to_do(self):
        self.server.stop()
        done = self.stream("s3://lake/log/*.parquet", "", {"AWS_MAX_ATTEMPTS": "2"})
        self.server.start()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("s3://lake/log/: the S3 server 127.0.0.1:", done.stderr)
        self.assertIn("does not answer", done.stderr)
        self.assertIn("check the network and AWS_ENDPOINT_URL", done.stderr)

    def test_an_object_replaced_by_one_of_the_same_size_while_it_is_read_is_named(self):
        key = "log/day=2024-01-02/part-1.parquet"
        uri, path = f"s3://lake/{key}", self.base / key
        door = CountingDoor(self.server.get_host_and_port(), 8, lambda: self.replace_in_place(path, key))
        spec = self.base / "spec.yaml"
        spec.write_text(SPEC.replace("PATH", uri).replace("WHERE", "").replace("epochs: 2", "epochs: 1000"))
        done = subprocess.run([LOADER, "stream", spec, "--json", "--threads", "1"], capture_output=True, text=True, timeout=100,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.base / "cache"), "AWS_ENDPOINT_URL": door.endpoint, **KEYS})
        door.close()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(f"{uri}: changed since the run was planned: its ETag", done.stderr)

    def test_an_object_written_again_is_counted_again(self):
        spec = self.base / "spec.yaml"
        spec.write_text(SPEC.replace("PATH", "s3://lake/again.parquet").replace("WHERE", ', where: "label = 1"'))

        def count(labels):
            path = self.base / "again.parquet"
            table = pa.table({"user": pa.array(range(64), pa.int64()), "value": pa.array(range(64), pa.float64()),
                              "label": pa.array(labels, pa.int32())})
            pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
            self.client.upload_file(str(path), "lake", "again.parquet")
            done = subprocess.run([LOADER, "count", spec, "--json"], capture_output=True, text=True, timeout=100,
                                  env={**os.environ, "XDG_CACHE_HOME": str(self.base / "cache"), "AWS_ENDPOINT_URL": self.endpoint, **KEYS})
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

        first, second = count([1] * 64), count([i % 2 for i in range(64)])
        self.assertEqual(second["plan_hash"], first["plan_hash"])
        self.assertEqual((first["epochs"][0]["rows"], second["epochs"][0]["rows"]), (64, 32))

    def test_a_store_that_sends_some_bytes_and_stalls_each_time_is_given_up(self):
        door = StallingDoor(self.server.get_host_and_port())
        self.addCleanup(door.close)
        done = self.stream("s3://lake/log/day=2024-01-01/*.parquet", "",
                           {"AWS_ENDPOINT_URL": door.endpoint, "AWS_MAX_ATTEMPTS": "2", "MILLRACE_OBJECTS_STALL_SECONDS": "1"})
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("s3://lake/log/day=2024-01-01/part-", done.stderr)
        self.assertIn("less than 1024 bytes/s for 1 s", done.stderr)
        self.assertLessEqual(door.stalled, 8)

    def replace_in_place(self, path, key):
        data = bytearray(path.read_bytes())
        data[4] ^= 1  # the footer stays the same
        self.client.put_object(Bucket="lake", Key=key, Body=bytes(data), ACL="public-read")

    def test_over_tls_and_only_when_the_certificate_is_trusted(self):
        door = TlsDoor(self.server.get_host_and_port(), self.base)
        trusted = {"AWS_ENDPOINT_URL": door.endpoint, "AWS_CA_BUNDLE": str(door.certificate), "AWS_MAX_ATTEMPTS": "2"}
        done = self.stream("s3://lake/log/*/*.parquet", "", trusted)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["rows_delivered"], 7200)
        done = self.stream("s3://lake/log/*/*.parquet", "", {**trusted, "AWS_CA_BUNDLE": ""})
        door.close()
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("certificate", done.stderr)


if __name__ == "__main__":
    unittest.main()
