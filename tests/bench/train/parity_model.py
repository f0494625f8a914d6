"""The definitions of docs/reference/models.md in plain PyTorch: the scale of inputs, the networks, the optimizers, a training."""
import math

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, linear

WIDE = torch.float64
DEFAULTS = {"optimizer": "adamw", "learning_rate": 0.001, "weight_decay": 0, "momentum": 0}


class Scale:
    """Mean and deviation of each dense input; NaN and infinite inputs are left out of them and enter as the mean."""

    def __init__(self, first):
        self.count = self.mean = self.squares = torch.zeros(first.shape[1], dtype=WIDE)
        self.add(first)
        self.is_first = True

    def add(self, x):
        finite = torch.isfinite(x)
        count, origin = finite.sum(0).to(WIDE), torch.nan_to_num(x[0], 0, 0, 0)
        kept = torch.where(finite, x - origin, 0)
        mean = kept.sum(0) / count.clamp(min=1)
        squares = torch.where(finite, (kept - mean) ** 2, 0).sum(0)
        total, shift = self.count + count, origin + mean - self.mean
        self.mean = self.mean + shift * count / total.clamp(min=1)
        self.squares = self.squares + squares + shift ** 2 * self.count * count / total.clamp(min=1)
        self.count = total

    def __call__(self, x):
        deviation = (self.squares / self.count).sqrt()
        scaled = torch.where(deviation > 0, (x - self.mean) / deviation, 0)
        return torch.where(torch.isfinite(x), scaled, 0).clamp(-5, 5)

    def end_step(self, x):
        if self.is_first:
            self.__init__(x)
            self.is_first = False
        else:
            self.add(x)


class Model:
    """The networks of docs/reference/models.md, over parameters by name."""

    def __init__(self, spec, tensors, module, precision):
        self.spec, self.module, self.precision, self.scale = spec["model"], module, precision, None
        self.parameters = {name: value.detach().to(precision, copy=True).requires_grad_() for name, value in tensors.items()
                           if not name.startswith(("optimizer.", "input."))}

    def dense(self, batch):
        parts = [batch["dense"]] if self.module["dense"] else []
        parts += [batch[name].reshape(batch.rows, -1) for name in self.module["vectors"]]
        return torch.cat(parts, 1).to(WIDE) if parts else None

    def pool(self, feature, batch):
        """The mean of the vectors of each row's ids; notes the rows of the table that this uses."""
        table, value = self.parameters[f"embedding.{feature['table']}.weight"], batch[feature["name"]]
        if isinstance(value, torch.Tensor):
            self.used[feature["table"]].append(value)
            return table[value.long()]
        value = value.expand()
        ids, rows = value.values.long(), torch.repeat_interleave(torch.arange(batch.rows), value.offsets.diff())
        weights = torch.ones(len(ids), dtype=self.precision) if value.weights is None else value.weights.to(self.precision)
        sums = torch.zeros(batch.rows, dtype=self.precision).index_add(0, rows, weights)
        alive = sums.abs() >= 1e-12
        kept = alive[rows]
        self.used[feature["table"]].append(ids[kept])
        share = weights[kept] / sums[rows[kept]]
        nothing = torch.zeros(batch.rows, table.shape[1], dtype=self.precision)
        return nothing.index_add(0, rows[kept], table[ids[kept]] * share[:, None])

    def stack(self, name, x):
        layers = sum(key.startswith(f"{name}.") and key.endswith(".weight") for key in self.parameters)
        for layer in range(layers):
            x = linear(x, self.parameters[f"{name}.{layer}.weight"], self.parameters[f"{name}.{layer}.bias"])
            x = torch.relu(x) if layer + 1 < layers or name == "bottom" else x
        return x

    def __call__(self, batch, first_rows):
        """The logits [rows, heads] of a step's rows."""
        self.used = {feature["table"]: [] for feature in self.module["features"]}
        self.raw, parts = self.dense(batch), []
        if self.raw is not None:
            self.scale = self.scale or Scale(self.raw[:first_rows])
            parts = [self.scale(self.raw).to(self.precision)]
        pooled = [self.pool(feature, batch) for feature in self.module["features"]]
        if self.spec["type"] == "logistic":
            bias = self.parameters.get("linear.0.bias")
            return (linear(parts[0], self.parameters["linear.0.weight"], bias) if parts else bias) + sum(pooled)
        if self.spec["type"] == "dlrm":
            parts = [self.stack("bottom", parts[0])] if parts else []
            vectors = torch.stack(parts + pooled, 1)
            one, other = torch.tril_indices(vectors.shape[1], vectors.shape[1], -1)
            return self.stack("top", torch.cat(parts + [(vectors @ vectors.transpose(1, 2))[:, one, other]], 1))
        x = torch.cat(parts + pooled, 1)
        if self.spec["type"] == "mlp":
            return self.stack("hidden", x)
        crossed = x
        for layer in range(self.spec["cross_layers"]):
            get = lambda part: self.parameters.get(f"cross.{layer}.{part}")
            inner = crossed if get("down") is None else linear(crossed, get("down"))
            crossed = x * linear(inner, get("weight"), get("bias")) + crossed
        return self.stack("deep", crossed)


class Tables:
    """Lazy optimizers: a step reads and writes only the rows of a table that it used."""

    def __init__(self, options, model):
        self.options, self.model, self.first, self.second = options, model, {}, {}

    def step(self, factor, update):
        with torch.no_grad():
            for table, used in self.model.used.items():
                rows = torch.cat(used).long().unique()
                self.move(table, self.model.parameters[f"embedding.{table}.weight"], rows, factor, update)

    def move(self, table, parameter, rows, factor, update):
        options, kind = self.options, self.options["optimizer"]
        rate, decay = options["learning_rate"] * factor, options["weight_decay"]
        if table not in self.first:
            self.first[table], self.second[table] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        weight, gradient = parameter[rows], parameter.grad[rows]
        if kind == "adamw":
            weight = weight * (1 - rate * decay)
            first = self.first[table][rows] = 0.9 * self.first[table][rows] + 0.1 * gradient
            second = self.second[table][rows] = 0.999 * self.second[table][rows] + 0.001 * gradient ** 2
            weight = weight - rate / (1 - 0.9 ** update) * first / (second.sqrt() / math.sqrt(1 - 0.999 ** update) + 1e-8)
        else:
            gradient = gradient + decay * weight
            if kind == "sgd":
                gradient = self.first[table][rows] = options["momentum"] * self.first[table][rows] + gradient
            else:
                square = gradient ** 2
                self.second[table][rows] += square.mean(1, keepdim=True) if kind == "rowwise_adagrad" else square
                gradient = gradient / (self.second[table][rows].sqrt() + 1e-10)
            weight = weight - rate * gradient
        parameter[rows] = weight


def optimizer_of(options, parameters):
    kind, shared = options["optimizer"], {"lr": options["learning_rate"], "weight_decay": options["weight_decay"]}
    if kind == "sgd":
        return torch.optim.SGD(parameters, momentum=options["momentum"], **shared)
    return {"adamw": torch.optim.AdamW, "adagrad": torch.optim.Adagrad}[kind](parameters, **shared)


def factor_of(schedule, update):
    warm_up = schedule.get("warmup_steps", 0)
    t = min(1, max(0, (update - warm_up) / max(1, schedule.get("steps", 0) - warm_up)))
    final, kind = schedule.get("final", 0), schedule.get("type", "constant")
    factor = {"constant": 1, "linear": 1 - (1 - final) * t, "cosine": final + (1 - final) * (1 + math.cos(math.pi * t)) / 2,
              "step": schedule.get("factor", 0.1) ** ((update - 1) // max(1, schedule.get("every_steps", 0)))}[kind]
    return factor * (update / warm_up if update < warm_up else 1)


def train_here(spec, tensors, module, batches, precision):
    """The tensors and the series of the same training in PyTorch."""
    model, train = Model(spec, tensors, module, precision), spec["train"]
    dense, embeddings = ({**DEFAULTS, **train, **train.get("groups", {}).get(group, {})} for group in ("dense", "embeddings"))
    layers = optimizer_of(dense, [value for name, value in model.parameters.items() if not name.startswith("embedding.")])
    tables, update, series, heads = Tables(embeddings, model), 0, {}, module["heads"]
    for step, batch in enumerate(batches, 1):
        weights = torch.stack([batch.weights[head] * batch.masks[head] for head in heads], 1).to(precision)
        labels = torch.stack([batch.labels[head] for head in heads], 1).to(precision)
        logits = model(batch, spec["batch"]["micro_rows"])
        losses = weights * binary_cross_entropy_with_logits(logits, labels, reduction="none")
        if weights.sum() > 0:
            update += 1
            loss = losses.sum() / weights.sum()
            for value in model.parameters.values():
                value.grad = torch.zeros_like(value)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters.values(), train.get("clip_norm", 0) or math.inf)
            factor = factor_of(train.get("schedule", {}), update)
            layers.param_groups[0]["lr"] = dense["learning_rate"] * factor
            layers.step()
            tables.step(factor, update)
            found = {"loss": loss, "gradient_norm": norm}
            if len(heads) > 1:
                found |= {f"loss.{head}": losses[:, n].sum() / weights[:, n].sum() for n, head in enumerate(heads)}
            for name, value in found.items():
                series.setdefault(name, {})[step] = value.item()
        if model.raw is not None:
            model.scale.end_step(model.raw)
    found = {name: value.detach() for name, value in model.parameters.items()}
    if model.scale:
        found |= {"input.count": model.scale.count, "input.mean": model.scale.mean, "input.squares": model.scale.squares}
    return found, series
