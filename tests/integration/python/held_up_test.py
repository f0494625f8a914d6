#!/usr/bin/env python3
"""Ranks that wait for each other through the feed: rank 1 for data, the feed for rank 0, rank 0 for rank 1. Only the daemon
can end that."""
import os
import subprocess
import unittest

from harness import BIN, streamed
from run_harness import SCRIPT, RunCase

# In the first attempt rank 0 gets no more descriptors, so that it cannot connect again; then rank 1 loses its connection to the feed.
FAULT = """
    if os.environ["MR_ATTEMPT"] == "1" and stream.step == 20:
        if os.environ["RANK"] == "0":
            file = open(os.path.join(HERE, "limited"), "w")
            least = os.dup(0)  # all below are taken; a limit of 0 would fail poll() too
            os.close(least)
            resource.setrlimit(resource.RLIMIT_NOFILE, (least, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            print("yes", file=file, flush=True)
            while True:  # as in an all-reduce that rank 1 never joins
                poll.pause(0.1)
        wait_for("rank 0 cannot connect again", lambda: os.path.exists(os.path.join(HERE, "limited")) and os.path.getsize(os.path.join(HERE, "limited")))
        for fd in map(int, os.listdir("/proc/self/fd")):
            with contextlib.suppress(OSError):
                one = socket.socket(fileno=os.dup(fd))
                if str(one.getpeername()).endswith("/feed.sock"):
                    one.shutdown(socket.SHUT_RDWR)
"""
TOLD = "    told(step=stream.step, numbers=[int(n) for n in numbers])\n"
IMPORTS = """
import contextlib, resource, socket
from poll import wait_for
"""


class HeldUp(RunCase):
    def begin(self):
        subprocess.run([os.path.join(BIN, "millraced"), "--silent-after", "3"], check=True, capture_output=True, timeout=60)

    def test_a_gang_whose_ranks_hold_each_other_up_is_ended_and_the_next_attempt_finishes(self):
        script = SCRIPT.replace("import poll\n", "import poll\n" + IMPORTS, 1).replace(TOLD, TOLD + FAULT, 1)
        # More steps than fit into a ring: a rank that has the rest of the stream needs no feed.
        spec = self.prepare(script, total=130_000, every=500)
        run = self.submit(spec)[0]
        ended = self.wait(run, "finished", "failed", "cancelled", seconds=120)
        texts = "\n".join(event["text"] for event in ended["events"])
        self.assertEqual((ended["state"], ended["attempt"]), ("finished", 2), (ended["exit_reason"], texts))
        self.assertRegex(texts, r"rank0 is in the step behind \d+ and has not connected to the feed again for 12\.0 s, "
                                r"and rank1 waits for data after step \d+: none of them can go on: its gang is ended")
        self.assertIn("attempt 1 failed: rank0 is in the step behind", texts)
        self.assertEqual(ended["receipt"]["order_hash"], streamed(spec, "--last", "drop")["order_hash"])


if __name__ == "__main__":
    unittest.main()
