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
        torch.manual_seed(stream.step * world + rank)  # dropout draws the same after a resume
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
        model.eval()
        figures = millrace.evaluate(lambda batch: model(batch).sigmoid(), stream)  # rows that all variations share
        if rank == 0:
            print(f"order hash {stream.order_hash}")
            print(f"AUC {figures['eval.auc']:.4f}")
    if world > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
