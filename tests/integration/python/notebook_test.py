#!/usr/bin/env python3
"""Streams in a notebook: cells that are run again, an interrupt, a kernel that is killed."""
import os
import queue
import unittest

import nbformat
from daemon_case import DaemonCase
from harness import ROOT, Case
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

MAKE = "import millrace\nstream = millrace.stream({spec!r}, as_numpy=True)"
LOOP = "for step, batch in enumerate(stream):\n    if step == 3:\n        break\nprint(batch.carry['number'].tolist())"
FEEDS = """
import glob, os, signal
def feeds():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = open(path, "rb").read().split(b"\\0")
        except OSError:
            continue
        if words[0].endswith(b"millrace-loader") and {spec!r}.encode() in words:
            yield int(path.split("/")[2])
"""
# The feed is stopped, so that the loop waits.
STARVE = FEEDS + """
for pid in feeds():
    os.kill(pid, signal.SIGSTOP)
print("stopped", flush=True)
for batch in stream:
    last = batch.carry["number"].tolist()
"""
GO_ON = """
for pid in feeds():
    os.kill(pid, signal.SIGCONT)
taken = stream.state_dict()
following = next(iter(stream)).carry["number"].tolist()
with millrace.stream({spec!r}, as_numpy=True) as other:
    other.load_state_dict(taken)
    assert next(iter(other)).carry["number"].tolist() == following
print("went on")
"""


def keep_jupyter_in(folder):
    """Makes kernels write their files below `folder`."""
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        os.environ[name] = os.path.join(folder, "jupyter")


class Notebook(Case):
    def setUp(self):
        super().setUp()
        keep_jupyter_in(self.folder)

    def kernel(self):
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel()
        client = manager.client()
        client.start_channels()
        self.addCleanup(client.stop_channels)
        self.addCleanup(manager.shutdown_kernel, now=True)
        client.wait_for_ready(timeout=60)
        return manager, client

    def said(self, client, text, seconds=60):
        """Reads the kernel's output until it contains `text`."""
        printed = ""
        while text not in printed:
            try:
                message = client.get_iopub_msg(timeout=seconds)
            except queue.Empty:
                self.fail(f"the kernel did not say {text!r}, but {printed!r}")
            content = message["content"]
            if message["msg_type"] == "error":
                printed += "\n".join(content["traceback"])
            printed += content.get("text", "")
        return printed

    def test_cells_that_are_run_again(self):
        spec = self.spec(total=100000, rows=64, micro=64, epochs=1000)
        cells = [nbformat.v4.new_code_cell(text.format(spec=spec)) for text in (MAKE, LOOP, MAKE, LOOP, LOOP,
                                                                                 FEEDS + "print(len(list(feeds())))")]
        notebook = nbformat.v4.new_notebook(cells=cells)
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
        first, again, further, feeds = (notebook.cells[at].outputs[0].text for at in (1, 3, 4, 5))
        self.assertEqual(feeds, "1\n")
        self.assertEqual(first, again)
        self.assertNotEqual(again, further)
        self.assert_nothing_left()

    def test_an_interrupt_ends_a_waiting_loop_which_then_goes_on(self):
        spec = self.spec(total=20000, rows=64, micro=64, epochs=100000)
        manager, client = self.kernel()
        client.execute(MAKE.format(spec=spec) + "\nnext(iter(stream))\nNone")
        # Without stop_on_error the kernel would drop the cell that follows the interrupt.
        client.execute(STARVE.format(spec=spec), stop_on_error=False)
        self.said(client, "stopped")
        manager.interrupt_kernel()
        self.said(client, "KeyboardInterrupt", 5)
        client.execute(GO_ON.format(spec=spec))
        self.said(client, "went on")

    def test_a_kernel_that_is_killed_leaves_nothing(self):
        spec = self.spec(total=20000, rows=64, micro=64, epochs=100000)
        manager, client = self.kernel()
        client.execute(MAKE.format(spec=spec) + "\nbatch = next(iter(stream))\nprint('reads', flush=True)")
        self.said(client, "reads")
        self.assertTrue(self.left_behind())
        manager.shutdown_kernel(now=True)
        self.assert_nothing_left()


class Compare(DaemonCase):
    def test_the_example_launches_waits_draws_and_compares(self):
        keep_jupyter_in(self.folder)
        folder = os.path.join(ROOT, "resources/examples/pytorch")
        notebook = nbformat.read(os.path.join(folder, "compare.ipynb"), as_version=4)
        self.assertFalse(any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs")
        NotebookClient(notebook, timeout=180, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
        shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        pages = [output["data"]["text/html"] for output in shown if "text/html" in output.get("data", {})]
        self.assertEqual(len(pages), 4)
        launched, ended, chart, compared = pages
        self.assertIn("movie-user-mean", launched)
        self.assertEqual(ended.count("<td style=\"text-align:left\">finished</td>"), 3)
        self.assertEqual((chart.count("<svg"), chart.count("<polyline")), (1, 3))
        self.assertIn("All were evaluated on the same rows.", compared)
        printed = [output["text"].split() for output in shown if output["output_type"] == "stream"]
        self.assertEqual((printed[0][0], printed[0][2]), ("movie-user-mean", "True"))
        self.assertEqual(printed[1][1], "True")


if __name__ == "__main__":
    unittest.main()
