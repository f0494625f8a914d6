#!/usr/bin/env python3
"""A training loop is stopped in the midst of an epoch and goes on, in new objects: which rows does it see?

    python exact.py             # Millrace: two ranks are stopped, four go on, then one
    python exact.py --others    # and the loaders that are installed here, each in the way in which its issues say it fails

1,024 numbered rows, shuffled, in batches of 16. Rows that an undisturbed loop sees and this one did not are lost; those that it saw more
often are twice; "order" says whether what came after the stop is what would have come. docs/why-exact.md has the results and the issues.
"""
import argparse
import collections
import itertools
import logging
import os
import sys
import tempfile
import warnings
from importlib.metadata import PackageNotFoundError, version

ROWS, BATCH, STOP = 1024, 16, 20

SPEC = """
name: exact
dataset: {path: rows.csv, csv_split_rows: 100}
recipe: [{filter: number % 3 <> 0}]
labels: {even: "number % 2 = 0"}
features: {dense: [number], carry: [number]}
batch: {rows: 64, micro_rows: 16, epochs: 1, seed: 7, shuffle: rows}
"""


def told(name, package, whole, before, after):
    """One line: what was lost, what came twice, and whether the rest came in its order. Lists of row numbers."""
    seen, wanted = collections.Counter(before + after), collections.Counter(whole)
    lost, twice = sum((wanted - seen).values()), sum((seen - wanted).values())
    order = "same" if before + after == whole else "other"
    try:
        release = version(package)
    except PackageNotFoundError:
        release = ""
    print(f"{name + ' ' + release:<32} {lost:>4} lost {twice:>4} twice   order {order}", flush=True)
    return lost, twice, order


def millrace(folder):
    """Two ranks, four, one: filter, shuffle and steps as a spec says them."""
    import millrace
    path = os.path.join(folder, "spec.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SPEC)
    with open(os.path.join(folder, "rows.csv"), "w", encoding="utf-8") as file:
        file.write("number\n" + "".join(f"{number}\n" for number in range(ROWS)))

    def run(world, state=None, steps=None):
        """`steps` steps (None: to the end) of `world` ranks: their rows in order, the state behind them, the order hash."""
        ranks = [millrace.stream(path, last="keep", rank=rank, world=world, as_numpy=True) for rank in range(world)]
        rows = []
        for stream in ranks:
            if state is not None:
                stream.load_state_dict(state)
        for batches in itertools.islice(zip(*ranks), steps):
            # The micro-batches of a step are dealt to its ranks in turn.
            shares = [[numbers[at:at + 16] for at in range(0, len(numbers), 16)]
                      for numbers in (batch.carry["number"].tolist() for batch in batches)]
            rows += [row for turn in itertools.zip_longest(*shares, fillvalue=()) for part in turn for row in part]
        states = [stream.state_dict() for stream in ranks]
        assert all(one == states[0] for one in states), "every rank's state is the same"
        order = ranks[0].order_hash
        for stream in ranks:
            stream.close()
        return rows, states[0], order

    whole, _, order = run(1)
    before, state, _ = run(2, steps=3)
    middle, state, _ = run(4, state, steps=3)
    after, _, again = run(1, state)
    assert again == order, "the order hash of the whole is that of the undisturbed run"
    return told("millrace, 2-4-1 ranks", "millrace", whole, before, middle + after)


def torchdata(_):
    """StatefulDataLoader over a shuffled dataset, gone on with as many workers, and with others."""
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader(workers):
        import torch
        torch.manual_seed(0)
        return StatefulDataLoader(list(range(ROWS)), batch_size=BATCH, shuffle=True, num_workers=workers)

    whole = [int(row) for batch in loader(2) for row in batch]
    for workers in (2, 4):
        stopped, before = loader(2), []
        for count, batch in enumerate(stopped, 1):
            before += batch.tolist()
            if count == STOP:
                state = stopped.state_dict()
                break
        new = loader(workers)
        new.load_state_dict(state)
        try:
            told(f"torchdata, 2-{workers} workers", "torchdata", whole, before, [int(row) for batch in new for row in batch])
        except Exception as error:  # it is what is to be shown
            print(f"torchdata, 2-{workers} workers: cannot be loaded: {type(error).__name__} {error}", flush=True)


def datasets(_):
    """IterableDataset.shuffle() of a buffer: what the buffer holds is not in the state."""
    from datasets import Dataset

    def rows():
        return Dataset.from_dict({"number": range(ROWS)}).to_iterable_dataset(num_shards=4).shuffle(seed=42, buffer_size=100)

    whole = [row["number"] for row in rows()]
    stopped, before = rows(), []
    for count, row in enumerate(stopped, 1):
        before.append(row["number"])
        if count == STOP * BATCH:
            state = stopped.state_dict()
            break
    new = rows()
    new.load_state_dict(state)
    told("datasets, buffer of 100", "datasets", whole, before, [row["number"] for row in new])


def accelerate(_):
    """use_stateful_dataloader with two processes, stopped in the second epoch."""
    import torch
    from accelerate.data_loader import prepare_data_loader
    from torch.utils.data import DataLoader

    def loaders():
        made = []
        for rank in range(2):
            torch.manual_seed(0)
            plain = DataLoader(torch.arange(ROWS), batch_size=BATCH, shuffle=True, generator=torch.Generator().manual_seed(7))
            made.append(prepare_data_loader(plain, torch.device("cpu"), num_processes=2, process_index=rank,
                                            use_stateful_dataloader=True))
        return made

    def epoch(rank):
        return [batch.tolist() for batch in rank]

    undisturbed = loaders()
    for rank in undisturbed:
        epoch(rank)
    whole = [row for parts in zip(*map(epoch, undisturbed)) for part in parts for row in part]
    stopped, before, states = loaders(), [], []
    for rank in stopped:
        epoch(rank)
        own = []
        for count, batch in enumerate(rank, 1):
            own.append(batch.tolist())
            if count == STOP // 2:
                states.append(rank.state_dict())
                break
        before.append(own)
    after = []
    for rank, state in zip(loaders(), states):
        rank.load_state_dict(state)
        after.append(epoch(rank))
    told("accelerate, 2 processes", "accelerate", whole, *([row for parts in zip(*both) for part in parts for row in part]
                                                            for both in (before, after)))


def streaming(folder):
    """MosaicML Streaming with a filter in __iter__: the state counts what came out of it."""
    import numpy
    from streaming import MDSWriter, StreamingDataLoader, StreamingDataset
    local = os.path.join(folder, "mds")
    with MDSWriter(out=local, columns={"number": "int"}, size_limit=1 << 12) as out:
        for number in range(ROWS):
            out.write({"number": number})

    class Filtered(StreamingDataset):
        def __iter__(self):
            return (one for one in super().__iter__() if one["number"] % 3 != 0)

    def loader():
        return StreamingDataLoader(Filtered(local=local, shuffle=True, shuffle_seed=7, batch_size=BATCH, num_canonical_nodes=1),
                                   batch_size=BATCH)

    def numbers(batch):
        return numpy.asarray(batch["number"]).tolist()

    whole = [row for batch in loader() for row in numbers(batch)]
    stopped, before = loader(), []
    for count, batch in enumerate(stopped, 1):
        before += numbers(batch)
        if count == STOP:
            state = stopped.state_dict()
            break
    new = loader()
    new.load_state_dict(state)
    told("streaming, with a filter", "mosaicml-streaming", whole, before, [row for batch in new for row in numbers(batch)])


def lightning(folder):
    """Trainer with a stateful loader, where configure_optimizers asks for estimated_stepping_batches."""
    import torch
    from lightning.pytorch import LightningModule, Trainer

    class Loader:
        def __init__(self):
            self.at = 0

        def __len__(self):
            return ROWS // BATCH

        def __iter__(self):
            while self.at < len(self):
                self.at += 1
                yield torch.arange((self.at - 1) * BATCH, self.at * BATCH)
            self.at = 0

        def state_dict(self):
            return {"at": self.at}

        def load_state_dict(self, state):
            self.at = state["at"]

    class Model(LightningModule):
        def __init__(self, stop, asks):
            super().__init__()
            self.layer, self.rows, self.stop, self.asks = torch.nn.Linear(1, 1), [], stop, asks

        def training_step(self, batch, _):
            self.rows += batch.tolist()
            return self.layer(batch[:, None].float() / ROWS).mean()

        def on_train_batch_end(self, *_):
            if self.trainer.global_step == self.stop:
                self.trainer.save_checkpoint(path)
                self.trainer.should_stop = True

        def configure_optimizers(self):
            assert not self.asks or self.trainer.estimated_stepping_batches > 0
            return torch.optim.SGD(self.parameters(), 0.01)

    def fit(asks, stop=None, checkpoint=None):
        model = Model(stop, asks)
        trainer = Trainer(min_epochs=0, max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False,
                          enable_model_summary=False, enable_checkpointing=False)
        trainer.fit(model, Loader(), ckpt_path=checkpoint, weights_only=False)
        return model.rows

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    path = os.path.join(folder, "stopped.ckpt")
    for asks, name in ((False, "lightning"), (True, "lightning, estimated steps")):
        told(name, "lightning", fit(asks), fit(asks, stop=STOP), fit(asks, checkpoint=path))


def main():
    """Millrace, and with --others the rest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", action="store_true", help="also the other loaders that are installed")
    with_others = parser.parse_args().others
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="exact-") as folder:
        result = millrace(folder)
        for other in (torchdata, datasets, accelerate, streaming, lightning) if with_others else ():
            try:
                other(folder)
            except ModuleNotFoundError as error:
                print(f"{other.__name__}: not installed here ({error.name})", flush=True)
    return 0 if result == (0, 0, "same") else 1


if __name__ == "__main__":
    sys.exit(main())
