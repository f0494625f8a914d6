#!/usr/bin/env python3
"""Will this user like this film? A small model on MovieLens in PyTorch, also under torchrun. How to run it: README.md."""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn

import millrace

SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../movielens/movielens.yaml")


class Model(nn.Module):
    """Embeddings of the user, the film and its genres, their products, and a few numbers."""

    def __init__(self, dim: int = 8) -> None:
        super().__init__()
        self.user = nn.Embedding(8192, dim)
        self.movie = nn.Embedding(65536, dim)
        self.genres = nn.EmbeddingBag(1024, dim, mode="mean", include_last_offset=True)
        self.dense = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, dim))
        self.top = nn.Sequential(nn.Linear(4 * dim + 6, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 1))
        for table in (self.user, self.movie, self.genres):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, batch):
        genres = batch["genres"]
        parts = torch.stack([self.user(batch["userId"]), self.movie(batch["movieId"]),
                             self.genres(genres.values, genres.offsets), self.dense(batch["dense"])], 1)
        products = torch.bmm(parts, parts.transpose(1, 2))
        above = torch.triu_indices(4, 4, 1)
        return self.top(torch.cat([parts.flatten(1), products[:, above[0], above[1]]], 1)).squeeze(1)


def auc(scores: torch.Tensor, labels: torch.Tensor) -> float:
    """The chance that a liked film gets the higher score (Mann and Whitney)."""
    _, place, count = torch.unique(scores, return_inverse=True, return_counts=True)
    ranks = (count.cumsum(0) - (count - 1) / 2)[place].double()
    liked = labels.sum().item()
    return ((ranks[labels > 0].sum().item() - liked * (liked + 1) / 2) / (liked * (len(labels) - liked)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint", default="")
    arguments = parser.parse_args()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if world > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(7)
    model = Model()
    net = nn.parallel.DistributedDataParallel(model) if world > 1 else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005, weight_decay=0.05, fused=True)
    stream = millrace.stream(SPEC)
    if os.path.exists(arguments.checkpoint):
        saved = torch.load(arguments.checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        stream.load_state_dict(saved["data"])

    for step, batch in enumerate(stream, 1):
        loss = nn.functional.binary_cross_entropy_with_logits(net(batch), batch["liked"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and arguments.checkpoint and step % 100 == 0:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": stream.state_dict()},
                       arguments.checkpoint)

    model.eval()
    told = []
    with torch.no_grad():
        for batch in stream.evaluation():
            told.append(torch.stack([model(batch), batch["liked"]]))
    pairs = [torch.cat(told, 1)]
    if world > 1:
        pairs = [None] * world
        dist.all_gather_object(pairs, torch.cat(told, 1))
    if rank == 0:
        print(f"order hash {stream.order_hash}")
        print(f"AUC {auc(*torch.cat(pairs, 1)):.4f}")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
