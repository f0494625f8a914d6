"""A rank of a run that ends as the case beside its spec says. It keeps a ledger of the rows it took and the values it logged, step by step.

It writes a line of the ledger when a step has ended and before it asks for the next one: the ledger has exactly the steps that were trained.
"""
import contextlib
import itertools
import json
import mmap
import os
import signal
import subprocess
import sys

import millrace
import poll

SPEC = os.environ["MILLRACE_SPEC"]
FOLDER = os.path.dirname(SPEC)
RANK, WORLD, ATTEMPT = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "MR_ATTEMPT"))
with open(os.path.join(FOLDER, "case.json"), encoding="utf-8") as _file:
    CASE = json.load(_file)
PHASE = CASE["phases"][ATTEMPT - 1] if ATTEMPT <= len(CASE["phases"]) else {"end": "whole"}
STEP = PHASE.get("step", -1)
IS_MINE = PHASE.get("rank", RANK) == RANK
_ledger = open(os.path.join(FOLDER, f"a{ATTEMPT}.rank{RANK}.jsonl"), "w", encoding="utf-8")


def note(**what):
    _ledger.write(json.dumps(what) + "\n")
    _ledger.flush()


class Meeting:
    """Keeps ranks in step, as an all-reduce does."""

    def __init__(self):
        file = os.open(os.path.join(FOLDER, f"meet{ATTEMPT}"), os.O_RDWR | os.O_CREAT)
        os.ftruncate(file, 8 * WORLD)
        self.steps = memoryview(mmap.mmap(file, 8 * WORLD)).cast("q")

    def wait(self, step):
        self.steps[RANK] = step
        while min(self.steps) < step:
            poll.pause(0.0005)


class Rank:
    """One step of training, the same in each kind of loop."""

    def __init__(self):
        resumed = millrace.resume()
        self.begun = resumed.step if resumed else 0
        self.total = json.loads(resumed.read())["total"] if resumed else 0
        note(begun=self.begun, total=self.total)
        # A stop takes effect some steps after the request, so an event before that step does not happen.
        self.end = "whole" if 0 <= STEP <= self.begun else PHASE["end"]
        self.meeting = Meeting() if CASE["meets"] and WORLD > 1 else None
        self.stream = None
        self.is_slow = False

    def open(self):
        self.stream = millrace.stream(SPEC, as_numpy=not CASE["has_torch"], join=CASE["take"] != "no join", last=CASE["last"])

    def strike(self, step):
        """Applies the event that is drawn for the middle of a step, before anything of the step is done."""
        if step != STEP or not IS_MINE:
            return
        if self.end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.end == "raise":
            raise ValueError(f"drawn at step {step}")
        elif self.end == "exit_1":
            sys.exit(1)
        elif self.end == "os_exit":
            os._exit(0)
        elif self.end == "stop":
            subprocess.run([*CASE["stop"], json.load(open(os.environ["MILLRACE_JOB"], encoding="utf-8"))["run"]], check=True,
                           stdout=subprocess.DEVNULL)
            self.is_slow = True

    def did(self, step, epoch, numbers):
        """Ends a step: its metrics, its line in the ledger, its checkpoint."""
        self.total += sum(numbers)
        loss = (sum(numbers) % 997 + 1) / 7 if step % CASE["logs_every"] == 0 else None
        if loss is not None and CASE["logs_nan"] and step % 5 == 0:
            loss = "NaN"
        if loss is not None:
            millrace.log(loss=float(loss))
        note(step=step, epoch=epoch, numbers=numbers, loss=loss)
        if CASE["evaluates_every"] and step % CASE["evaluates_every"] == 0:
            self.evaluate()
        if self.stream.checkpoint_due:
            self.save()
        if self.meeting is not None:
            self.meeting.wait(step)
        if CASE["lag"] and RANK == WORLD - 1:
            poll.pause(CASE["lag"])
        if self.is_slow:
            poll.pause(0.02)  # time for the request to come back as a stop

    def save(self):
        millrace.checkpoint(json.dumps({"total": self.total}).encode(), self.stream.step)

    def evaluate(self):
        """Evaluates all evaluation rows and notes them."""
        numbers = []

        def predict(batch):
            numbers.extend(int(number) for number in batch.carry["number"])
            return batch["dense"][:, 0] * 0 + 0.25
        if WORLD == 1 or CASE["has_torch"]:
            millrace.evaluate(predict, self.stream)
        else:
            for batch in self.stream.evaluation():
                predict(batch)
        note(evaluated=self.stream.step, numbers=numbers)

    def ended(self, how):
        """Notes how the loop ended."""
        stream = self.stream
        note(ended=how, step=stream.step, stopped=stream.stopped, hash=stream.order_hash, rows=stream.rows_delivered)
        if stream.stopped:
            return self.save()
        if self.end == "raise_after" and IS_MINE:
            raise ValueError("drawn behind the loop")
        if CASE["has_evaluation"] and not (CASE["evaluates_every"] and stream.step % CASE["evaluates_every"] == 0):
            self.evaluate()


def batches(rank):
    """The run's batches, read in the way of the case."""
    stream = rank.stream
    if rank.end == "counted":
        taken = iter(stream)
        for _ in range(STEP - rank.begun):
            yield next(taken)
    elif rank.end == "len":
        yield from itertools.islice(stream, len(stream) - rank.begun)
    else:
        yield from stream


def loop(rank, train):
    """A plain loop that calls `train` for each batch."""
    stream, numbers, how = rank.stream, [], "whole"
    with stream if CASE["take"] == "with" else contextlib.nullcontext():
        step = rank.begun
        for batch in batches(rank):
            numbers += [int(number) for number in batch.carry["number"]]
            if stream.step == step:
                continue  # a micro-batch that does not end its step
            step = stream.step
            rank.strike(step)
            train(batch)
            rank.did(step, batch.epoch, numbers)
            numbers = []
            if step == STEP and rank.end == "exit_0":
                note(ended=rank.end, step=step, stopped=False, hash=stream.order_hash, rows=stream.rows_delivered)
                sys.exit(0)
            if step == STEP and rank.end == "break":
                how = rank.end
                break
        rank.ended(how)


def plain(rank):
    loop(rank, lambda batch: None)


def accelerate(rank):
    import torch
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(1, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))

    def train(batch):
        accelerator.backward(model(batch["dense"][:, :1]).mean())
        optimizer.step()
        optimizer.zero_grad()
    loop(rank, train)


def lightning(rank):
    import lightning.pytorch
    import torch

    class Module(lightning.pytorch.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(1, 1)
            self.numbers, self.step = [], rank.begun

        def training_step(self, batch, index):
            if rank.stream.step != self.step:  # otherwise a micro-batch that does not end its step
                rank.strike(rank.stream.step)
            return self.net(batch["dense"][:, :1]).mean()

        def on_train_batch_end(self, outputs, batch, index):
            self.numbers += [int(number) for number in batch.carry["number"]]
            step = rank.stream.step
            if step == self.step:
                return
            rank.did(step, batch.epoch, self.numbers)
            self.numbers, self.step = [], step
            if rank.end == "break" and step == STEP:
                self.trainer.should_stop = True

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    trainer = lightning.pytorch.Trainer(
        max_epochs=1, max_steps=STEP - rank.begun if rank.end == "counted" else -1, accelerator="cpu", devices=WORLD,
        strategy="ddp" if WORLD > 1 else "auto", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=FOLDER)
    trainer.fit(Module(), train_dataloaders=rank.stream)
    rank.ended("fit")


def main():
    rank = Rank()
    if rank.end == "nothing" and not PHASE["opens"]:
        return
    rank.open()
    if rank.end == "nothing":
        return
    {"script": plain, "accelerate": accelerate, "lightning": lightning}[CASE["kind"]](rank)


if __name__ == "__main__":
    main()
