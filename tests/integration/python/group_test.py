#!/usr/bin/env python3
"""Ranks that torch.distributed numbers, without a launcher's environment: each gets its share, from one feed per machine."""
import json
import os
import unittest

from harness import Case, streamed

import millrace

# Each rank writes its results beside the script: it makes its streams before there is a process group.
SCRIPT = """
    import json, os, sys
    import torch, torch.distributed as dist
    import millrace

    def numbers(stream, most=None):
        found = []
        for batch in stream:
            found += batch.carry["number"].tolist()
            most = most - 1 if most else None
            if most == 0:
                break
        return found

    def refused(call):
        try:
            call()
            return "nothing was raised"
        except millrace.MisuseError as error:
            return str(error)

    def work(rank, world, spec, out):
        torch.set_num_threads(1)
        early, looked_at, late, apart, other = [millrace.stream(spec) for _ in range(5)]
        before = next(iter(early)).rows
        columns = len(looked_at.schema)
        said = {"length": len(late), "before": before}
        dist.init_process_group("gloo", init_method=f"file://{out}.store", rank=rank, world_size=world)
        said["early"] = refused(lambda: numbers(early))
        said["again"] = refused(lambda: next(iter(early)))
        early.close()
        said["looked_at"], said["columns"] = numbers(looked_at), columns == len(looked_at.schema)
        said["late"], said["place"] = numbers(late, 5), [late.rank, late.world]
        state = late.state_dict()
        said["late"] += numbers(late)
        said["hash"], said["rows"] = late.order_hash, late.rows_delivered
        late.load_state_dict(state)
        said["resumed"] = numbers(late)
        held = [late.world, late._place.ranks, late._place.is_starter]
        late.close()
        own = millrace.stream(spec, rank=0, world=1)
        said["given"] = len(numbers(own))
        own.close()
        figures = millrace.evaluate(lambda batch: torch.sigmoid(batch["dense"][:, 0] / 100 - 0.5), spec)
        said["figures"] = [dict(figures), figures.hash, figures.rows]
        # As on two machines: they share no directory.
        os.environ["XDG_RUNTIME_DIR"] += f"/{rank}"
        said["apart"], said["shared"] = numbers(apart), [held, apart._place.ranks, apart._place.is_starter]
        apart.close()
        os.environ.update(RANK=str(1 - rank), WORLD_SIZE=str(world))
        said["disagreeing"] = refused(lambda: numbers(other))
        with open(f"{out}.{rank}", "w") as file:
            json.dump(said, file)
        dist.destroy_process_group()

    if __name__ == "__main__":
        import torch.multiprocessing
        torch.multiprocessing.spawn(work, (2, *sys.argv[1:]), 2)
"""


class Group(Case):
    def test_ranks_of_a_process_group_get_their_shares(self):
        spec = self.spec(total=1000, rows=64, micro=16, epochs=2, more="eval: {dataset: {where: \"number < 300\"}}\n")
        for rank in "01":
            os.mkdir(os.path.join(self.sockets, rank), 0o700)
        out = os.path.join(self.folder, "out")
        done = self.run_script(SCRIPT, spec, out, timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = []
        for rank in range(2):
            with open(f"{out}.{rank}", encoding="utf-8") as file:
                said.append(json.load(file))
        told = streamed(spec, "--last", "drop")
        with millrace.stream(spec, as_numpy=True) as stream:
            whole = [number for batch in stream for number in batch.carry["number"].tolist()]
        figures = millrace.evaluate(lambda batch: 1 / (1 + 2.718281828 ** (0.5 - batch["dense"][:, 0] / 100)), spec, as_numpy=True)
        for rank, one in enumerate(said):
            self.assertEqual((one["length"], one["before"], one["place"]), (30, 64, [rank, 2]))
            for text in (one["early"], one["again"]):
                self.assertRegex(text, f"this is rank {rank} of 2, but this stream was begun before .* as rank 0 of 1")
            self.assertRegex(one["disagreeing"], f"rank {rank} of 2, but RANK and WORLD_SIZE .* rank {1 - rank} of 2")
            self.assertEqual((one["hash"], one["rows"], one["given"]), (told["order_hash"], told["rows_delivered"], len(whole)))
            self.assertTrue(one["columns"])
            self.assertEqual(one["resumed"], one["late"][5 * 32:])
            self.assertEqual(one["shared"], [[2, [0, 1], rank == 0], [rank], True])
            self.assertEqual((one["figures"][1:], round(one["figures"][0]["eval.auc"], 6)),
                             ([figures.hash, figures.rows], round(figures["eval.auc"], 6)))
        for name in ("late", "looked_at", "apart"):
            shares = [one[name] for one in said]
            self.assertEqual([len(share) for share in shares], [len(whole) // 2] * 2, name)
            self.assertEqual(sorted(shares[0] + shares[1]), sorted(whole), name)

    def test_a_number_of_ranks_without_ones_own_is_refused(self):
        os.environ["WORLD_SIZE"] = "2"
        self.addCleanup(os.environ.pop, "WORLD_SIZE")
        spec = self.spec()
        with self.assertRaisesRegex(millrace.MisuseError, "there are 2 ranks, and nothing says which one this is: initialise"):
            next(iter(millrace.stream(spec)))
        with millrace.stream(spec, rank=1, world=2) as stream:
            self.assertEqual(next(iter(stream)).rows, 32)
        os.environ["WORLD_SIZE"] = "1"
        with millrace.stream(spec) as stream:
            self.assertEqual(next(iter(stream)).rows, 64)


if __name__ == "__main__":
    unittest.main()
