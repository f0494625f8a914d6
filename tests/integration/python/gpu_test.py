#!/usr/bin/env python3
"""Batches on a GPU, and runs that are granted one. Skipped if torch finds no GPU."""
import os
import subprocess
import sys
import textwrap
import unittest

import torch
from harness import ROOT, Case, streamed
from run_harness import RunCase

import millrace

NEEDS_GPU = unittest.skipUnless(torch.cuda.is_available(), "torch finds no GPU here")
COLUMNS = ["dense", "user", "liked", "number"]


def columns(batch):
    """A batch's columns on the CPU, with the list's values and offsets."""
    tags = batch["tags"]
    return [batch[name].cpu() for name in COLUMNS] + [tags.values.cpu(), tags.offsets.cpu()]


@NEEDS_GPU
class Gpu(Case):
    def test_every_batch_is_that_of_the_cpu(self):
        spec = self.spec(total=20_000, rows=64, micro=64, epochs=1)
        with millrace.stream(spec, copy=True) as stream:
            want = [columns(batch) for batch in stream]
        for prefetch in (0, 2, 5):
            with millrace.stream(spec, device="cuda", prefetch=prefetch) as stream:
                got = []
                for batch in stream:
                    self.assertEqual({batch[name].device.type for name in COLUMNS}, {"cuda"})
                    got.append(columns(batch))
                self.assertEqual(stream.order_hash, streamed(spec, "--last", "drop")["order_hash"])
            self.assertEqual(len(got), len(want))
            for ours, theirs in zip(got, want):
                self.assertTrue(all(torch.equal(one, two) for one, two in zip(ours, theirs)))

    def test_a_frame_stays_until_a_late_copy_is_done(self):
        """A kernel that spins runs before each copy, so that copies are far behind the loop."""
        spec = self.spec(total=64_000, rows=64, micro=64, epochs=1)
        with millrace.stream(spec, copy=True) as stream:
            want = torch.cat([batch.carry["number"] for batch in stream])
        with millrace.stream(spec, device="cuda", prefetch=2) as stream:
            mover = stream._cuda
            copy = mover.copy

            def late(batch):
                with torch.cuda.stream(mover._stream):
                    torch.cuda._sleep(2_000_000)
                return copy(batch)

            mover.copy = late
            got = [batch.carry["number"] for batch in stream]
        self.assertTrue(torch.equal(torch.cat(got).cpu(), want))

    def test_a_ring_that_grows_is_pinned_anew(self):
        spec = self.spec(total=64_000, rows=1024, micro=1024, epochs=1)
        with millrace.stream(spec, device="cuda") as stream:
            pinned = set()
            register, unregister = stream._cuda.register, stream._cuda.unregister

            def registered(address, size):
                register(address, size)
                pinned.add((address, size))

            stream._cuda.register = registered
            stream._cuda.unregister = lambda address: unregister(address)
            loop = iter(stream)
            numbers = [next(loop).carry["number"] for _ in range(4)]
            bytes_before = stream.stats["ring_bytes"]
            numbers += [batch.carry["number"] for batch in loop]
            self.assertTrue(pinned)
            self.assertGreaterEqual(stream.stats["ring_bytes"], bytes_before)
        self.assertEqual(torch.cat(numbers).unique().numel(), 62 * 1024)

    def test_lists_and_keyed_lists_are_on_the_gpu(self):
        spec = self.spec(total=640, rows=64, micro=64, epochs=1)
        table = torch.nn.EmbeddingBag(256, 4, include_last_offset=True, device="cuda")
        with millrace.stream(spec, device="cuda") as stream:
            for batch in stream:
                pooled = table(batch["tags"].values, batch["tags"].offsets)
                self.assertEqual(pooled.shape, (64, 4))
                pooled.sum().backward()

    def test_two_ranks_share_a_gpu(self):
        spec = self.spec(total=6400, rows=64, micro=16, epochs=1)
        path = self.script("""
            import sys, torch, torch.distributed as dist, millrace
            dist.init_process_group("gloo")
            stream = millrace.stream(sys.argv[1], device="cuda")
            numbers = torch.cat([batch.carry["number"] for batch in stream]).cpu()
            told = [None, None]
            dist.all_gather_object(told, numbers)
            if dist.get_rank() == 0:
                print("NUMBERS", *sorted(torch.cat(told).tolist()))
            dist.destroy_process_group()
        """)
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", path, spec],
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        line = next(line for line in done.stdout.splitlines() if line.startswith("NUMBERS"))
        with millrace.stream(spec) as stream:
            want = sorted(torch.cat([batch.carry["number"].clone() for batch in stream]).tolist())
        self.assertEqual([int(word) for word in line.split()[1:]], want)

    def test_an_evaluation_on_the_gpu_gives_the_figures_of_the_cpu(self):
        spec = self.spec(total=2000, rows=64, micro=64, epochs=1, more='eval: {dataset: {where: "number % 5 = 0"}}\n')
        figures = [millrace.evaluate(lambda batch, device=device: (batch.to(device)["dense"][:, 0] / 300).sigmoid(), spec)
                   for device in ("cpu", "cuda")]
        self.assertEqual(figures[0].hash, figures[1].hash)
        for name in ("eval.auc", "eval.log_loss"):
            self.assertAlmostEqual(figures[0][name], figures[1][name], places=6)


@NEEDS_GPU
class Granted(RunCase):
    """Runs of a daemon that asks the real NVML."""

    def test_a_script_trains_on_the_gpu_that_it_was_granted(self):
        script = """
            import os, torch, millrace
            assert torch.cuda.device_count() == 1, torch.cuda.device_count()
            stream = millrace.stream("spec.yaml", device="cuda")
            model = torch.nn.Linear(1, 1, device="cuda")
            for batch in stream:
                loss = torch.nn.functional.binary_cross_entropy_with_logits(model(batch["dense"] / 1000)[:, 0], batch["liked"])
                loss.backward()
                millrace.log(loss=float(loss))
            print("device", torch.cuda.get_device_name(), os.environ["CUDA_VISIBLE_DEVICES"])
        """
        spec = self.prepare(textwrap.dedent(script), ranks=1, more="resources: {gpus_per_rank: 1}\n")
        run = self.submit(spec)[0]
        ended = self.wait(run, "finished", "failed")
        self.assertEqual(ended["state"], "finished", ended["exit_reason"])
        self.assertEqual(ended["receipt"]["order_hash"], streamed(spec, "--last", "drop")["order_hash"])
        node = self.json("top", "--once")
        self.assertIn("NVIDIA", str(node))

    def test_more_gpus_than_there_are_is_refused(self):
        many = torch.cuda.device_count() + 1
        spec = self.prepare(ranks=1, more=f"resources: {{gpus_per_rank: {many}}}\n")
        self.cli("run", spec, "--detach", code=1)
        self.assertIn(f"needs {many}; this machine has {many - 1}", self.err)


@NEEDS_GPU
class Example(Case):
    def test_the_example_trains_on_the_gpu(self):
        folder = os.path.join(ROOT, "resources/examples/pytorch")
        with open(os.path.join(folder, "train.py"), encoding="utf-8") as file:
            text = file.read()
        for was, now in (("millrace.stream(SPEC)", 'millrace.stream(SPEC, device="cuda")'), ("model = Model()", 'model = Model().to("cuda")'),
                         ("os.path.dirname(os.path.abspath(__file__))", repr(folder)),
                         ("in stream.evaluation():", 'in (one.to("cuda") for one in stream.evaluation()):')):
            self.assertIn(was, text)
            text = text.replace(was, now)
        done = self.run_script(text, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        auc = float(done.stdout.split("AUC ")[1].split()[0])
        self.assertGreaterEqual(auc, 0.79)


if __name__ == "__main__":
    unittest.main()
