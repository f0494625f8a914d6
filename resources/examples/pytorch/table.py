"""A table that `millrace stream --sink parquet` wrote, as a Dataset of its own."""
import os
from typing import Iterator, NamedTuple

import pyarrow.parquet
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

HERE = os.path.dirname(os.path.abspath(__file__))


class Lists(NamedTuple):
    values: torch.Tensor
    offsets: torch.Tensor


class Table(Dataset):
    """Rows of one directory. Read whole: this one is small."""

    def __init__(self, name: str, rows: int, rank: int, world: int) -> None:
        self.columns = pyarrow.parquet.read_table(os.path.join(HERE, name)).to_pydict()
        self.rows = rows // world
        self.sampler = DistributedSampler(self, world, rank, shuffle="train" in name, seed=7, drop_last="train" in name)

    def __len__(self) -> int:
        return len(self.columns["liked"])

    def __getitem__(self, row: int) -> dict:
        return {name: values[row] for name, values in self.columns.items()}

    def batches(self, epoch: int) -> Iterator[dict]:
        self.sampler.set_epoch(epoch)
        return iter(DataLoader(self, self.rows, sampler=self.sampler, num_workers=2, collate_fn=collate))


def collate(rows: list[dict]) -> dict:
    dense = ("rated_year", "age_years", "is_new")
    lengths = torch.tensor([0, *(len(row["genres"]) for row in rows)])
    return {"dense": torch.tensor([[row[name] for name in dense] for row in rows]),
            "userId": torch.tensor([row["userId"] for row in rows]),
            "movieId": torch.tensor([row["movieId"] for row in rows]),
            "genres": Lists(torch.tensor([genre for row in rows for genre in row["genres"]]), lengths.cumsum(0)),
            "liked": torch.tensor([row["liked"] for row in rows])}
