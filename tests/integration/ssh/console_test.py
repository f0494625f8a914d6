#!/usr/bin/env python3
"""The console's live test with an sshd between the console and its daemon.

    console_test.py [SUITE.TEST]
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from ssh_case import BIN, SshCase  # noqa: E402

LIVE = os.path.join(BIN, "../tests/gui_live")


@unittest.skipUnless(os.path.exists(LIVE), "the console is not built")
class Console(SshCase):
    """tests/gui/live_test.cpp over ssh."""

    def live(self, tests):
        done = subprocess.run([LIVE, f"--gtest_filter={tests}"], env={**self.env, "MILLRACE_TEST_SSH": "ssh://gpu1",
                                                                     "QT_QPA_PLATFORM": "offscreen"},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("SKIPPED", done.stdout)
        self.assertGreater(self.server.connections(), 0)

    def test_a_user_launches_watches_compares_and_restores_over_ssh(self):
        self.live("Live.AUser*")

    def test_charts_have_no_gap_after_the_daemon_or_the_connection_was_killed(self):
        self.live("LiveRun.*")


if __name__ == "__main__":
    unittest.main()
