#!/usr/bin/env python3
"""A DLRM on one GPU, fed by millrace.stream(device="cuda"): rows/s, the share of its time that it waits for data, GPU use.

  train.py SPEC [--kind stream|copy|alone] [--dim 64] [--seconds 20] [--threads N] [--bf16]

stream trains; copy only brings batches to the GPU; alone trains on one batch over and over: what the model can take.
Prints one line of JSON.
"""
import argparse
import json
import threading
import time

import torch
from torch import nn

import millrace

class Dlrm(nn.Module):
    """One table of 200,000 rows for each feature, two stacks of layers, and all pairs of vectors."""

    def __init__(self, dense, ids, lists, dim):
        super().__init__()
        self.ids, self.lists = ids, lists
        self.one = nn.Embedding(200_000 * len(ids), dim, sparse=True)
        self.many = nn.ModuleList(nn.EmbeddingBag(200_000, dim, mode="sum", include_last_offset=True, sparse=True) for _ in lists)
        self.bottom = nn.Sequential(nn.Linear(dense, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, dim), nn.ReLU())
        vectors = 1 + len(ids) + len(lists)
        self.top = nn.Sequential(nn.Linear(dim + vectors * (vectors - 1) // 2, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))
        self.register_buffer("pairs", torch.triu_indices(vectors, vectors, 1))
        self.register_buffer("starts", 200_000 * torch.arange(len(ids)))

    def forward(self, batch):
        bottom = self.bottom(batch["dense"])
        single = self.one(torch.stack([batch[name] for name in self.ids], 1) + self.starts)
        pooled = []
        for name, table in zip(self.lists, self.many):
            column = batch[name]
            pooled.append(table(column.values, column.offsets))
            if column.inverse is not None:
                pooled[-1] = pooled[-1].index_select(0, column.inverse.long())
        all_ = torch.cat([bottom[:, None], single, torch.stack(pooled, 1)], 1)
        products = torch.bmm(all_, all_.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([bottom, products], 1))[:, 0]


class Use(threading.Thread):
    """The share of time that the GPU is busy, read from NVML ten times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.over = [], threading.Event()

    def run(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            device = pynvml.nvmlDeviceGetHandleByIndex(0)
        except Exception:
            return
        while not self.over.wait(0.1):
            self.seen.append(pynvml.nvmlDeviceGetUtilizationRates(device).gpu)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec")
    parser.add_argument("--kind", choices=["stream", "copy", "alone"], default="stream")
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    sets = dict(text.split("=", 1) for text in args.set)
    sets["batch.epochs"] = "100000"
    if args.threads:
        sets["resources.loader_threads"] = str(args.threads)
    stream = millrace.stream(args.spec, set=sets, device="cuda", prefetch=3)
    loop = iter(stream)
    batch = next(loop)

    ids, lists = [f"s{n:02}" for n in range(50)], [f"h{n}" for n in range(10)]
    model = Dlrm(batch["dense"].shape[1], ids, lists, args.dim).cuda()
    tables = [model.one.weight, *(table.weight for table in model.many)]
    optimizers = [torch.optim.SGD(tables, lr=0.01),
                  torch.optim.SGD([*model.bottom.parameters(), *model.top.parameters()], lr=0.01, fused=True)]
    use, rows, steps, waited, begun, losses = Use(), 0, 0, 0.0, 0.0, None
    warm = 10
    while True:
        if steps == warm:
            torch.cuda.synchronize()
            begun, rows, waited = time.perf_counter(), 0, 0.0
            use.start()
        if steps > warm and time.perf_counter() - begun > args.seconds:
            break
        before = time.perf_counter()
        if args.kind != "alone":
            batch = next(loop)
        waited += time.perf_counter() - before
        if args.kind != "copy":
            with torch.autocast("cuda", torch.bfloat16, enabled=args.bf16):
                losses = nn.functional.binary_cross_entropy_with_logits(model(batch), batch["click"])
            model.zero_grad(set_to_none=True)
            losses.backward()
            for optimizer in optimizers:
                optimizer.step()
        rows += batch.rows
        steps += 1
        if steps % 8 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begun
    use.over.set()
    seen = sorted(use.seen) or [float("nan")]
    print(json.dumps({"kind": args.kind, "dim": args.dim, "bf16": args.bf16, "rows_per_s": round(rows / seconds), "ms_a_step": round(1000 * seconds / (steps - warm), 3),
                      "stall_percent": round(100 * waited / seconds, 2), "gpu_use_median": seen[len(seen) // 2],
                      "gpu_use_mean": round(sum(seen) / len(seen), 1), "gpu": torch.cuda.get_device_name(),
                      "loss": None if losses is None else round(float(losses), 4)}))
    stream.close()

if __name__ == "__main__":
    main()
