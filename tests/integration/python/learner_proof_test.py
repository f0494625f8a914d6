#!/usr/bin/env python3
"""Compares the built-in trainer with the module of load_model, trained by plain PyTorch on the same rows: every model and
optimizer, 50 steps; losses agree to 1e-9 in float64 and to 1e-5 in float32."""
import os
import unittest

import torch
from daemon_case import DaemonCase

import millrace
from millrace._modules import _whole

STEPS, ROWS, MICRO = 50, 64, 32
SPEC = """
model: {type: mlp, embedding_dim: 4, hidden: [16, 8]}
train: {optimizer: sgd}
"""
MODELS = {
    "dlrm": {"type": "dlrm", "embedding_dim": 4, "bottom": [8, 4], "top": [16, 1]},
    "dcn_v2": {"type": "dcn_v2", "embedding_dim": 4, "hidden": [16], "cross_layers": 2},
    "mlp": {"type": "mlp", "embedding_dim": 4, "hidden": [16, 8]},
    "logistic": {"type": "logistic", "embedding_dim": 1},
}
LIMITS = {"fp64": 1e-9, "fp32": 1e-5}
# The label follows from y, except for a seventh of the rows, where it is inverted.
DATA = {"features.dense": ["x", "y"], "labels.liked": "(y > 0) <> (number % 7 = 0)"}


class Lazy(torch.optim.Optimizer):
    """An optimizer of embedding tables that leaves rows unchanged unless the batch has them; PyTorch has none."""

    def __init__(self, tables, **options):
        super().__init__(tables, options)
        self.touched = {}

    def step(self):
        for group in self.param_groups:
            for table in group["params"]:
                rows = self.touched[table]
                state = self.state[table]
                state["step"] = state.get("step", 0) + 1
                table.data[rows] = self.moved(table.data[rows], table.grad[rows], group, state, table, rows)

    def kept(self, state, name, table, rows, columns):
        """The table's optimizer state, zeros at first: its part for `rows`, and the whole."""
        full = state.setdefault(name, torch.zeros(len(table), columns, dtype=table.dtype))
        return full[rows], full


class LazyAdamW(Lazy):
    def moved(self, values, g, group, state, table, rows):
        mean, means = self.kept(state, "mean", table, rows, table.shape[1])
        square, squares = self.kept(state, "square", table, rows, table.shape[1])
        means[rows] = mean = 0.9 * mean + 0.1 * g
        squares[rows] = square = 0.999 * square + 0.001 * g * g
        mean, square = mean / (1 - 0.9 ** state["step"]), square / (1 - 0.999 ** state["step"])
        return values * (1 - group["lr"] * group["weight_decay"]) - group["lr"] * mean / (square.sqrt() + 1e-8)


class RowwiseAdagrad(Lazy):
    def moved(self, values, g, group, state, table, rows):
        total, totals = self.kept(state, "sum", table, rows, 1)
        totals[rows] = total = total + (g * g).mean(1, keepdim=True)
        return values - group["lr"] * g / (total.sqrt() + 1e-10)


def optimizer_of(name, parameters, rate, is_table, **options):
    if name == "adamw" and is_table:
        return LazyAdamW(parameters, lr=rate, weight_decay=options.get("weight_decay", 0))
    if name == "rowwise_adagrad":
        return RowwiseAdagrad(parameters, lr=rate)
    kinds = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adamw": torch.optim.AdamW}
    given = {"weight_decay": 0.0, **options}
    return kinds[name](parameters, lr=rate, **({"eps": 1e-10} if name == "adagrad" else {}), **given)


class Input:
    """The scale of dense inputs: statistics of all earlier steps' rows; in the first step, of its first micro-batch."""

    def __init__(self, scale):
        self.scale, self.count = scale, 0

    def take(self, values):
        """Takes the dense inputs of a step before it begins, float64 [rows, width]."""
        if self.count == 0:
            self.fill(values[:MICRO])
        self.next = values

    def end(self):
        self.seen = torch.cat([self.seen, self.next]) if self.count else self.next
        self.count += 1
        self.fill(self.seen)

    def fill(self, values):
        self.scale.count.fill_(len(values))
        self.scale.mean.copy_(values.mean(0))
        self.scale.squares.copy_(((values - values.mean(0)) ** 2).sum(0))


class Proof(DaemonCase):
    def setUp(self):
        super().setUp()
        self.path = self.spec(total=STEPS * ROWS, rows=ROWS, micro=MICRO, epochs=1, more=SPEC)

    def launched(self, **changes):
        client = millrace.Client()
        run = client.wait(client.launch(self.path, set={"train.max_steps": STEPS, **DATA, **changes}),
                          timeout=150)[0]
        return client, client.show(run)

    def start_of(self, changes):
        """The module with its initial weights: one step with a learning rate of 1e-30 does not change them."""
        _, run = self.launched(**{**changes, "train.max_steps": 1, "train.optimizer": "sgd", "train.learning_rate": 1e-30,
                                  "train.groups": {}, "train.schedule": {}, "train.clip_norm": 0})
        return millrace.load_model(run)

    def losses_of(self, model, optimizers, precision, clip=0.0, factor=lambda step: 1.0):
        dtype = torch.float64 if precision == "fp64" else torch.float32
        model = model.to(dtype)
        for buffer in ("count", "mean", "squares"):
            setattr(model.input, buffer, getattr(model.input, buffer).double())
        tables = {f"embedding.{name}": table for name, table in model.embedding.named_parameters()}
        layers = [p for name, p in model.named_parameters() if name not in tables]
        used = optimizers(layers, list(tables.values()))
        schedules = [torch.optim.lr_scheduler.LambdaLR(one, lambda step: factor(step + 1)) for one in used]
        scale, losses = Input(model.input), []
        with millrace.stream(self.path, set=DATA) as stream:
            for batch in stream:
                scale.take(batch["dense"].double())
                loss = torch.nn.functional.binary_cross_entropy_with_logits(model(batch)[:, 0].double(), batch["liked"].double())
                for one in used:
                    one.zero_grad(set_to_none=False)
                loss.backward()
                if clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                for one in used:
                    if isinstance(one, Lazy):
                        one.touched = {tables[f"embedding.{name}.weight"]: self.ids_of(batch[name]) for name in ("user", "tags")}
                    one.step()
                for schedule in schedules:
                    schedule.step()
                scale.end()
                losses.append(loss.item())
                if len(losses) == STEPS:
                    return losses
        self.fail("the stream is too short")

    @staticmethod
    def ids_of(column):
        column = _whole(column)
        return torch.unique(column.values if hasattr(column, "values") and not callable(column.values) else column)

    def assert_same(self, changes, optimizers, **plain):
        start = self.start_of(changes)
        first = {name: value.clone() for name, value in start.state_dict().items()}
        for precision, limit in LIMITS.items():
            start.load_state_dict(first)
            client, run = self.launched(**{**changes, "train.precision": precision})
            self.assertEqual((run.state, run.progress.step), ("finished", STEPS), run.exit_reason)
            told = client.metrics(run, names="loss")
            by_step = dict(zip(told["step"], told["value"]))
            want = self.losses_of(start.float(), optimizers, precision, **plain)
            self.assertEqual(len(by_step), STEPS)
            for step, loss in enumerate(want, 1):
                self.assertAlmostEqual(by_step[step], loss, delta=limit * abs(loss),
                                       msg=f"{changes} in {precision}, step {step}")
            self.assertLess(sum(want[-10:]), sum(want[:10]), "it learns nothing: there is nothing to compare")

    def both(self, name, rate, **options):
        return lambda layers, tables: [optimizer_of(name, layers, rate, False, **options),
                                       optimizer_of(name, tables, rate, True, **options)]

    def assert_model(self, name, optimizer="adamw", rate=0.02):
        self.assert_same({"model": MODELS[name], "train.optimizer": optimizer, "train.learning_rate": rate},
                         self.both(optimizer, rate))

    def test_dlrm_with_adamw(self):
        self.assert_model("dlrm")

    def test_crosses_with_adamw(self):
        self.assert_model("dcn_v2")

    def test_mlp_with_adamw(self):
        self.assert_model("mlp")

    def test_logistic_with_adamw(self):
        self.assert_model("logistic")

    def test_dlrm_with_adagrad(self):
        self.assert_model("dlrm", "adagrad", 0.05)

    def test_dlrm_with_sgd(self):
        self.assert_model("dlrm", "sgd", 0.3)

    def test_momentum_of_layers_and_decay(self):
        self.assert_same({"model": MODELS["mlp"], "train.optimizer": "sgd", "train.learning_rate": 0.1,
                          "train.groups.dense": {"momentum": 0.9, "weight_decay": 0.01}},
                         lambda layers, tables: [optimizer_of("sgd", layers, 0.1, False, momentum=0.9, weight_decay=0.01),
                                                 optimizer_of("sgd", tables, 0.1, True)])

    def test_groups_clipping_and_a_schedule(self):
        schedule = {"type": "step", "warmup_steps": 10, "every_steps": 20, "factor": 0.5}
        self.assert_same(
            {"model": MODELS["dlrm"], "train.optimizer": "adamw", "train.learning_rate": 0.02, "train.clip_norm": 0.2,
             "train.groups": {"dense": {"weight_decay": 0.01}, "embeddings": {"optimizer": "rowwise_adagrad", "learning_rate": 0.1}},
             "train.schedule": schedule},
            lambda layers, tables: [optimizer_of("adamw", layers, 0.02, False, weight_decay=0.01),
                                    optimizer_of("rowwise_adagrad", tables, 0.1, True)],
            clip=0.2, factor=lambda n: min(1.0, n / 10) * 0.5 ** ((n - 1) // 20))


if __name__ == "__main__":
    unittest.main()
