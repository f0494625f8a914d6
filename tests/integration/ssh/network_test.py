#!/usr/bin/env python3
"""A network that is cut (a namespace with the host in it): what a watch and a run show afterwards.

Needs root, for the namespace. MILLRACE_CUT_SECONDS: how long the link is down (60; in `soak` ten minutes).

    network_test.py [SUITE.TEST]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from poll import wait_for  # noqa: E402
from slow_relay import SlowRelay  # noqa: E402
from ssh_case import MILLRACE, SshCase  # noqa: E402
from sshd import client_host  # noqa: E402

CUT_SECONDS = int(os.environ.get("MILLRACE_CUT_SECONDS", "60"))
NOTICED, BACK = 5, 3  # seconds to notice a cut, and to be back after it


def ip(*words):
    """Runs `ip WORDS`; returns "" or its error."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit {done.returncode}"


class Lines(threading.Thread):
    """The lines of a watch as they come, each with its time."""

    def __init__(self, process):
        super().__init__(daemon=True)
        self.process, self.lines = process, []
        self.start()

    def run(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), json.loads(line)))

    def of(self, kind, since=0.0, **fields):
        """Lines of a kind after a moment."""
        return [(at, line) for at, line in self.lines if at >= since and line["type"] == kind
                and all(line.get(name) == value for name, value in fields.items())]


class Cut(SshCase):
    """The link to the host is cut and comes back."""

    def setUp(self):
        if os.geteuid() != 0 or shutil.which("ip") is None:
            self.skipTest("needs root and ip (Debian's iproute2) for a network namespace")
        number = os.getpid() % 60000
        self.space, self.near, self.far = f"mr{number}", f"mra{number}", f"mrb{number}"
        net = f"10.{200 + number // 6000}.{number // 250 % 240}.{number % 250 // 4 * 4}".rsplit(".", 1)
        here, there = (f"{net[0]}.{int(net[1]) + n}" for n in (1, 2))
        trouble = ip("netns", "add", self.space)
        if trouble:
            self.skipTest(f"this kernel or container gives no network namespace: {trouble}")
        self.addCleanup(ip, "netns", "del", self.space)
        for words in (["link", "add", self.near, "type", "veth", "peer", "name", self.far, "netns", self.space],
                      ["addr", "add", f"{here}/30", "dev", self.near], ["link", "set", self.near, "up"],
                      ["-n", self.space, "addr", "add", f"{there}/30", "dev", self.far],
                      ["-n", self.space, "link", "set", self.far, "up"], ["-n", self.space, "link", "set", "lo", "up"]):
            self.assertEqual(ip(*words), "", words)
        self.address, self.prefix = there, ("ip", "netns", "exec", self.space)
        super().setUp()

    def cut(self):
        """Cuts the network as a closed lid does: nothing arrives, and no end is told."""
        self.assertEqual(ip("-n", self.space, "link", "set", self.far, "down"), "")
        return time.monotonic()

    def mend(self):
        """Restores the network."""
        self.assertEqual(ip("-n", self.space, "link", "set", self.far, "up"), "")
        return time.monotonic()

    def watch(self, run):
        """Starts `watch --json` of the run."""
        process = subprocess.Popen([MILLRACE, "watch", run, "--json", "--host", "ssh://gpu1"], env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.kill)
        return Lines(process)

    def test_a_watch_lives_again_soon_after_the_network_and_has_no_hole(self):
        self.cli("up")
        run = self.cli("run", self.spec_there(epochs=30000), "--there",
                       "--detach").split()[0]
        shown = self.watch(run)
        wait_for("the run's steps are shown", lambda: len(shown.of("progress")) > 3)
        down = self.cut()
        lost = wait_for("the cut is noticed", lambda: shown.of("connection", down, connected=False), 30)[0]
        self.assertLessEqual(lost[0] - down, NOTICED + 0.5)
        self.assertIn("not answered", lost[1]["sentence"])
        wait_for("the link is down long enough", lambda: time.monotonic() - down >= CUT_SECONDS, CUT_SECONDS + 5)
        up = self.mend()
        back = wait_for("it is connected again", lambda: shown.of("connection", up, connected=True), 60)[0]
        live = wait_for("steps are shown again", lambda: shown.of("progress", up), 60)[0]
        print(f"\nnoticed after {lost[0] - down:.2f} s, link down {up - down:.0f} s, connected {back[0] - up:.2f} s and live "
              f"{live[0] - up:.2f} s after its return", flush=True)
        self.assertLessEqual(live[0] - up, BACK)
        self.cli("stop", run, "--wait")
        wait_for("the watch hears the end", lambda: shown.of("state", up, state="cancelled"))
        shown.process.send_signal(signal.SIGTERM)
        shown.join(30)
        steps = sorted({line["step"] for _, line in shown.of("metrics") if "loss" in line.get("values", {})})
        stored = json.loads(self.cli("metrics", run, "--name", "loss", "--points", "10000000", "--json"))
        wanted = sorted({point["step"] for series in stored["series"] for point in series["points"]})
        self.assertGreater(len(wanted), 100)
        missing = sorted(set(wanted) - set(steps))
        self.assertEqual(missing, [], f"{len(missing)} of {len(wanted)} steps were never shown")


class Slow(SshCase):
    """A link like that to another continent: 200 ms for a round trip, 1 MB a second."""

    def setUp(self):
        super().setUp()
        relay = SlowRelay((self.server.address, self.server.port), 0.1, 1_000_000)
        self.addCleanup(relay.close)
        self.cli("up")
        self.run_id = self.cli("run", self.spec_there(epochs=30000), "--there", "--detach").split()[0]
        key = self.server.known_line().split(" ", 1)[1]
        self.write_known(f"[127.0.0.1]:{relay.port} {key}")
        self.write_config(client_host("gpu1", self.server, self.key, self.known).replace(
            f"Port {self.server.port}", f"Port {relay.port}"))

    def test_two_hundred_milliseconds_and_a_megabyte_a_second_stay_usable(self):
        begin = time.monotonic()
        self.cli("ls")
        listed = time.monotonic() - begin
        steps = {step["step"]: step["seconds"] for step in self.json("host", "test", "ssh://gpu1", host="")["steps"]}
        shown = Lines(subprocess.Popen([MILLRACE, "watch", self.run_id, "--json", "--host", "ssh://gpu1"], env=self.env,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True))
        self.addCleanup(shown.process.kill)
        wait_for("the watch is live", lambda: shown.of("progress"), 30)
        start = time.monotonic()
        wait_for("ten seconds are over", lambda: time.monotonic() - start > 10, 20)
        live = shown.of("progress", start)
        ages = [later[0] - earlier[0] for earlier, later in zip(live, live[1:])]
        print(f"\nto the first list {listed:.2f} s, connect {steps['connect']:.2f} s, a call {steps['list']:.2f} s, progress shown "
              f"{len(live) / 10:.1f} times a second, at most {max(ages):.2f} s apart", flush=True)
        self.assertLess(listed, 6)
        self.assertLess(steps["list"], 0.5)
        self.assertGreater(len(live), 10)
        self.assertLess(max(ages), 2)
        self.assertEqual(shown.of("connection", connected=False), [], "the keep-alive takes it for cut")


if __name__ == "__main__":
    unittest.main()
