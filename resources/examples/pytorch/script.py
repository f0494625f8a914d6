#!/usr/bin/env python3
"""Will this user like this film? The ranks of a run of script.yaml; the same file under torchrun and by itself."""
import io
import os

import torch
import torch.distributed as dist
from torch import nn

import millrace

SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "script.yaml")


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
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if world > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(7)
    model = Model()
    net = nn.parallel.DistributedDataParallel(model) if world > 1 else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005, weight_decay=0.05, fused=True)

    def save() -> None:
        content = io.BytesIO()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, content)
        millrace.checkpoint(content.getbuffer(), stream.step)

    resumed = millrace.resume()  # of a run that goes on; None in its first attempt, and without a run
    if resumed is not None:
        with resumed.open() as file:
            saved = torch.load(file)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    stream = millrace.stream(SPEC)
    for batch in stream:
        loss = nn.functional.binary_cross_entropy_with_logits(net(batch), batch["liked"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        millrace.log(loss=loss)
        if stream.checkpoint_due:
            save()
    if stream.stopped:
        save()
    else:
        evaluate(model, stream, rank, world)
    if world > 1:
        dist.destroy_process_group()


def evaluate(model: Model, stream: millrace.Stream, rank: int, world: int) -> None:
    """Over the rows that are the same for all variations; each rank has a share of them."""
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
        area = auc(*torch.cat(pairs, 1))
        millrace.log(**{"eval.auc": area})
        print(f"order hash {stream.order_hash}")
        print(f"AUC {area:.4f}")


if __name__ == "__main__":
    main()
