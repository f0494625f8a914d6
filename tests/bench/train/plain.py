#!/usr/bin/env python3
"""The model of learner_bench in plain PyTorch: rows a second of training, one line of JSON.

  plain.py [--device cpu|cuda] [--optimizer sgd|adagrad|adamw] [--rows 4096] [--tables 26] [--dim 64] ... [--bf16] [--compile]

Embeddings have sparse gradients (SparseAdam, Adagrad, SGD), layers AdamW, Adagrad or SGD, fused where torch has it. 16 batches in memory, pinned for a GPU and
copied without holding up the loop.
"""
import argparse
import json
import time

import torch
from torch import nn


class Dlrm(nn.Module):
    """As described in docs/reference/models.md."""

    def __init__(self, args):
        super().__init__()
        self.single = nn.ModuleList(nn.Embedding(args.table_rows, args.dim, sparse=True) for _ in range(args.tables))
        self.many = nn.ModuleList(nn.EmbeddingBag(args.table_rows, args.dim, mode="mean", include_last_offset=True, sparse=True)
                                  for _ in range(args.lists))
        self.bottom = self.layers([args.dense, *args.bottom], True)
        vectors = 1 + args.tables + args.lists
        self.top = self.layers([args.dim + vectors * (vectors - 1) // 2, *args.top], False)
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1))

    @staticmethod
    def layers(sizes, is_active):
        parts = []
        for before, after in zip(sizes, sizes[1:]):
            parts += [nn.Linear(before, after), nn.ReLU()]
        return nn.Sequential(*(parts if is_active else parts[:-1]))

    def pooled(self, ids, lists):
        """The vectors of a batch, which need neither autocast nor a compiler."""
        parts = [table(column) for table, column in zip(self.single, ids)]
        parts += [table(values, offsets) for table, (values, offsets) in zip(self.many, lists)]
        return torch.stack(parts, 1)

    def forward(self, dense, vectors):
        bottom = self.bottom(dense)
        all_ = torch.cat([bottom[:, None], vectors], 1)
        products = torch.bmm(all_, all_.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([bottom, products], 1))[:, 0]


def optimizers_of(model, args):
    tables = [*model.single.parameters(), *model.many.parameters()]
    layers = [*model.bottom.parameters(), *model.top.parameters()]
    fused = {"fused": True} if args.device == "cuda" or args.optimizer != "adagrad" else {}
    if args.optimizer == "adamw":
        return [torch.optim.SparseAdam(tables, lr=0.01), torch.optim.AdamW(layers, lr=0.01, weight_decay=0, **fused)]
    if args.optimizer == "adagrad":
        return [torch.optim.Adagrad(tables, lr=0.01), torch.optim.Adagrad(layers, lr=0.01)]
    return [torch.optim.SGD(tables, lr=0.01), torch.optim.SGD(layers, lr=0.01, **fused)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--optimizer", default="adagrad", choices=["sgd", "adagrad", "adamw"])
    for name, usual in (("rows", 4096), ("tables", 26), ("table-rows", 200000), ("dim", 64), ("dense", 13), ("lists", 0), ("list-length", 50), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--bottom", default="512,256,64")
    parser.add_argument("--top", default="512,256,1")
    parser.add_argument("--seconds", type=float, default=5)
    for name in ("bf16", "tf32", "compile"):
        parser.add_argument(f"--{name}", action="store_true")
    args = parser.parse_args()
    args.bottom, args.top = ([int(size) for size in text.split(",")] for text in (args.bottom, args.top))
    torch.set_num_threads(args.threads)
    torch.set_float32_matmul_precision("high" if args.tf32 else "highest")
    is_gpu = args.device == "cuda"
    model = Dlrm(args).to(args.device)
    optimizers = optimizers_of(model, args)
    dense_part = torch.compile(model) if args.compile else model
    random = torch.Generator().manual_seed(1)

    def ids(*shape):
        return (args.table_rows * torch.rand(shape, generator=random, dtype=torch.float64) ** 4).long()

    def kept(tensor):
        return tensor.pin_memory() if is_gpu else tensor

    batches = [(kept(torch.rand(args.rows, args.dense, generator=random)), kept(ids(args.tables, args.rows)),
                [(kept(ids(args.rows * args.list_length)), kept(torch.arange(args.rows + 1) * args.list_length)) for _ in range(args.lists)],
                kept((torch.rand(args.rows, generator=random) < 0.25).float())) for _ in range(16)]
    steps = rows = 0
    begun, warm = time.perf_counter(), 12 if args.compile else 5
    while steps <= warm or time.perf_counter() - begun < args.seconds:
        if steps == warm:
            begun, rows = time.perf_counter(), 0
        dense, single, lists, labels = batches[steps % 16]
        if is_gpu:
            dense, single, labels = (one.to("cuda", non_blocking=True) for one in (dense, single, labels))
            lists = [(values.to("cuda", non_blocking=True), offsets.to("cuda", non_blocking=True)) for values, offsets in lists]
        vectors = model.pooled(single, lists)
        with torch.autocast(args.device, torch.bfloat16, enabled=args.bf16):
            logits = dense_part(dense, vectors)
        loss = nn.functional.binary_cross_entropy_with_logits(logits.float(), labels)
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        told = loss.item()  # the loss that a loop shows
        steps, rows = steps + 1, rows + args.rows
    seconds = time.perf_counter() - begun
    print(json.dumps({"learner": "pytorch" + (" compiled" if args.compile else ""), "device": args.device,
                      "precision": "bf16" if args.bf16 else "fp32", "optimizer": args.optimizer, "threads": args.threads,
                      "rows_per_s": round(rows / seconds), "ms_a_step": round(1000 * seconds * args.rows / rows, 3), "loss": round(told, 4)}))


if __name__ == "__main__":
    main()
