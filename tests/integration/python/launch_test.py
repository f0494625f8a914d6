#!/usr/bin/env python3
"""Several ranks under torchrun: one feed per node, equal steps, one rank's state for any number of ranks, kills."""
import json
import os
import random
import signal
import subprocess
import sys
import unittest

from harness import Case, streamed
from poll import wait_for

# Each rank writes one line per step: rank, epoch, rows, its rows' numbers; at its end it writes its state.
RANKS = """
    import json, os, sys
    import torch, torch.distributed as dist
    import millrace
    how = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    stream = millrace.stream(how["spec"], last=how.get("last", "drop"))
    if how.get("load") and os.path.exists(how["load"]):
        stream.load_state_dict(torch.load(how["load"]))
    out = open(f"{how['out']}.{rank}", "a", buffering=1)
    step = 0  # a rank that was killed behind the last one leaves nothing to do
    for step, batch in enumerate(stream, 1):
        loss = torch.nn.functional.mse_loss(model(batch["dense"])[:, 0], batch["liked"], reduction="sum")
        loss = loss / max(batch.rows, 1) * batch.scale
        # Before the ranks meet: a step that one of them saves is one that all have written down.
        out.write(json.dumps([batch.epoch, batch.number, batch.carry["number"].tolist()]) + "\\n")
        optimizer.zero_grad(); loss.backward(); optimizer.step()
        assert torch.isfinite(loss), loss
        assert all(torch.isfinite(p.grad).all() for p in model.parameters())
        if rank == how.get("saver", 0) and how.get("save") and step % how.get("every", 1) == 0:
            torch.save(stream.state_dict(), how["save"] + ".new")
            os.replace(how["save"] + ".new", how["save"])
        if step == how.get("stop"):
            break
    out.write(json.dumps({"steps": step, "hash": stream.order_hash, "rows": stream.rows_delivered,
                          "left": stream.rows_left_out, "state": stream.state_dict()["state"]}) + "\\n")
    dist.barrier()
    dist.destroy_process_group()
"""


class Ranks(Case):
    """Tests of ranks under torchrun, which write their results to files."""

    def torchrun(self, world, start_new_session=False, **how):
        path = self.script(RANKS)
        how.setdefault("out", os.path.join(self.folder, "out"))
        return subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world), path, json.dumps(how)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=start_new_session)

    def finished(self, child):
        said = child.communicate(timeout=150)[0]
        self.assertEqual(child.returncode, 0, said)

    def told(self, world, out="out"):
        """Returns each rank's steps and last line, and removes the files."""
        steps, ends = [], []
        for rank in range(world):
            path = os.path.join(self.folder, f"{out}.{rank}")
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file if line.endswith("\n")]
            os.unlink(path)
            steps.append([line for line in lines if isinstance(line, list)])
            ends += [line for line in lines if isinstance(line, dict)]
        return steps, ends

    def kill_and_resume(self, seed):
        """Kills (-9) a random rank or the feed at a random step; then runs to the end with other numbers of ranks."""
        draw = random.Random(seed)
        spec = self.spec(total=1000, rows=64, micro=16, epochs=2)
        state = os.path.join(self.folder, "state")
        ids, world = {}, draw.choice((1, 2, 4))
        for is_killed in (True, False):
            child = self.torchrun(world, spec=spec, load=state, save=state)
            if is_killed:
                self.kill_one(child, world, draw)
                child.communicate(timeout=150)
            else:
                self.finished(child)
            steps, ends = self.told(world)
            for one in steps:
                for epoch, number, numbers in one:
                    ids.setdefault((epoch, number), set()).update(numbers)
            self.assert_nothing_left(10)
            world = draw.choice((1, 2, 4))
        want = streamed(spec, "--last", "drop")
        self.assertEqual({end["hash"] for end in ends}, {want["order_hash"]})
        self.assertEqual({(end["rows"], end["left"]) for end in ends}, {(want["rows_delivered"], want["rows_left_out"])})
        self.assertEqual({len(numbers) for numbers in ids.values()}, {64})
        self.assertEqual(len(ids), 2 * (1000 // 64))

    @staticmethod
    def lines(path):
        if not os.path.exists(path):
            return 0
        with open(path, encoding="utf-8") as file:
            return sum(1 for _ in file)

    def kill_one(self, child, world, draw):
        out = os.path.join(self.folder, "out.0")
        at = draw.randrange(1, 12)
        wait_for("steps are made", lambda: child.poll() is not None or self.lines(out) >= at, 120, 0.002)
        names = [f"rank {rank}" for rank in range(world)] + ["feed"]
        target = draw.choice(names)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{pid}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
            except OSError:
                continue
            is_ours = any(self.folder.encode() in word for word in words)
            is_feed = words[0].endswith(b"millrace-loader") and target == "feed"
            is_rank = any(word.endswith(b"script.py") for word in words) and b"torch.distributed.run" not in words and \
                b"RANK=" + target[5:].encode() in variables
            if is_ours and (is_feed or is_rank):
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass


class Launch(Ranks):
    def test_ddp_ends_whatever_the_total(self):
        # A step has 4 micro-batches of 16 rows; the totals are just above its multiples.
        cases = ((2, 1 * 64 + 1, "keep"), (4, 3 * 64 + 1, "keep"), (3, 2 * 48 + 1, "keep"), (2, 3 * 64 + 17, "drop"))
        for world, total, last in cases:
            rows = 48 if world == 3 else 64
            spec = self.spec(total=total, rows=rows, micro=16, epochs=2)
            self.finished(self.torchrun(world, spec=spec, last=last))
            steps, ends = self.told(world)
            whole = total // rows + (last == "keep" and total % rows > 0)
            self.assertEqual([len(one) for one in steps], [2 * whole] * world)
            want = streamed(spec, "--last", last)
            self.assertEqual({end["hash"] for end in ends}, {want["order_hash"]})
            self.assertEqual(len({end["state"] for end in ends}), 1)
            self.assertEqual(sum(len(ids) for one in steps for *_, ids in one), want["rows_delivered"])
            self.assert_nothing_left(5)

    def test_the_state_of_one_rank_resumes_other_rank_counts(self):
        spec = self.spec(total=1000, rows=64, micro=16, epochs=2)
        state = os.path.join(self.folder, "state")
        ids = []
        for world, stop, saver in ((2, 7, 0), (4, 5, 3), (1, 9, 0), (2, None, 1)):
            self.finished(self.torchrun(world, spec=spec, load=state, save=state, stop=stop, saver=saver))
            steps, ends = self.told(world)
            self.assertEqual(len({end["state"] for end in ends}), 1)
            ids += [n for one in steps for *_, numbers in one for n in numbers]
        want = streamed(spec, "--last", "drop")
        self.assertEqual(ends[0]["hash"], want["order_hash"])
        self.assertEqual((len(ids), ends[0]["rows"]), (want["rows_delivered"],) * 2)
        self.assertEqual(ends[0]["left"], 2 * (1000 % 64))
        self.assert_nothing_left(5)

    def test_a_kill_and_a_resume(self):
        for seed in (1, 2):
            with self.subTest(seed=seed):
                self.kill_and_resume(seed)
                os.unlink(os.path.join(self.folder, "state"))

    def test_ranks_that_ask_for_different_streams(self):
        script = self.script("""
            import os, sys, millrace
            stream = millrace.stream(sys.argv[1], set={"batch.seed": int(os.environ["RANK"])}, as_numpy=True)
            try:
                next(iter(stream))
            except millrace.MisuseError as error:
                open(sys.argv[2], "w").write(str(error))
                raise SystemExit(1)
        """)
        said = os.path.join(self.folder, "said")
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script,
                               self.spec(), said], capture_output=True, text=True, timeout=100, check=False)
        self.assertNotEqual(done.returncode, 0)
        with open(said, encoding="utf-8") as file:
            self.assertRegex(file.read(), "ask for different streams: rank 1 for .*batch.seed=1.*; the first rank of this "
                                          "node for .*batch.seed=0")
        self.assert_nothing_left(5)

    def test_a_restart_by_torchrun_is_another_attempt(self):
        script = self.script("""
            import os, sys, millrace
            stream = millrace.stream(sys.argv[1], as_numpy=True)
            loop = iter(stream)
            next(loop)
            if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
                os.kill(os.getpid(), 9)
            rows = 32 + sum(batch.rows for batch in loop)
            open(sys.argv[2] + os.environ["RANK"], "w").write(f"{rows} {stream.order_hash}")
        """)
        said = os.path.join(self.folder, "said")
        spec = self.spec()
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--max-restarts", "1",
                               "--nproc-per-node", "2", script, spec, said], capture_output=True, text=True, timeout=150,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        want = streamed(spec, "--last", "drop")
        for rank in "01":
            with open(said + rank, encoding="utf-8") as file:
                self.assertEqual(file.read(), f"{want['rows_delivered'] // 2} {want['order_hash']}")
        self.assert_nothing_left(5)


if __name__ == "__main__":
    unittest.main()
