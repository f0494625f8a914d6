"""Data and configurations of parity.py: rows of every kind of feature, with the values that are easily treated wrongly."""
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HOUR = 3_600_000_000  # microseconds
TABLES = {"user": {"rows": 200}, "shop": {"rows": 100}, "items": {"rows": 400, "features": ["item", "past_item"]},
          "tags": {"rows": 150}, "wl": {"rows": 1000}, "past_kind": {"rows": 16}}
DENSE = {"dense": ["plain", "odd", "gaps", "constant", "flag"], "vectors": ["vector"]}
PAST = {"columns": ["past_item", "past_kind", "past_time"], "time": "past_time", "before": "now", "last": 5}
SPARSE = {"ids": ["user", "shop", "item"], "lists": ["tags"], "weighted": [{"name": "wl", "ids": "ids", "weights": "weights"}],
          "sequences": {"past": PAST}}
BASE = {"dataset": {"path": "rows.parquet"}, "labels": {"y": "y"}, "features": {**DENSE, **SPARSE}, "embeddings": TABLES,
        "batch": {"rows": 256, "micro_rows": 64, "epochs": 2, "seed": 4}, "model": {"type": "dlrm", "embedding_dim": 8}}
HEADS = {"y": {"expr": "y", "weight": "w"}, "half": {"expr": "half", "where": "item < 400"},
         "soft": {"expr": "soft", "weight": "0.5"}}
WEIGHT = [{"weight": "w"}]
DLRM = {"type": "dlrm", "embedding_dim": 8, "bottom": [16, 8], "top": [24, 1]}
DCN = {"type": "dcn_v2", "embedding_dim": 8, "cross_layers": 2, "hidden": [24, 12]}
MLP = {"type": "mlp", "embedding_dim": 8, "hidden": [32, 16]}
ADAMW, ADAGRAD = {"optimizer": "adamw", "learning_rate": 0.01}, {"optimizer": "adagrad", "learning_rate": 0.05}
SGD = {"optimizer": "sgd", "learning_rate": 0.1}


def groups(dense, embeddings):
    return {"groups": {"dense": dense, "embeddings": embeddings}}


CONFIGURATIONS = {
    "dlrm, adamw, all features": {"model": DLRM, "train": ADAMW},
    "dcn_v2, adamw": {"model": DCN, "train": ADAMW},
    "dcn_v2, cross_rank 5, adagrad, decay": {"model": {**DCN, "cross_rank": 5}, "train": {**ADAGRAD, "weight_decay": 0.01}},
    "mlp, adamw, decay 0.05": {"model": MLP, "train": {**ADAMW, "weight_decay": 0.05}},
    "logistic, adamw": {"model": {"type": "logistic", "embedding_dim": 1}, "train": ADAMW},
    "logistic, 3 heads, sgd": {"model": {"type": "logistic", "embedding_dim": 3}, "labels": HEADS, "train": SGD},
    "logistic, dense only": {
        "model": {"type": "logistic", "embedding_dim": 1}, "features": DENSE, "embeddings": {}, "train": SGD},
    "dlrm, sgd": {"model": DLRM, "train": SGD},
    "dlrm, sgd, momentum, decay": {
        "model": DLRM, "train": {**SGD, "momentum": 0.9, "weight_decay": 0.001, "learning_rate": 0.02}},
    "dlrm, adagrad": {"model": DLRM, "train": ADAGRAD},
    "groups adamw / rowwise_adagrad, decay, clip 0.3, cosine": {"model": MLP, "train": {
        **ADAMW, **groups({}, {"optimizer": "rowwise_adagrad", "learning_rate": 0.05, "weight_decay": 0.02}), "clip_norm": 0.3,
        "schedule": {"type": "cosine", "warmup_steps": 10, "steps": 80, "final": 0.05}}},
    "groups sgd, momentum / adamw, decay, linear": {"model": DLRM, "train": {
        **groups({"optimizer": "sgd", "momentum": 0.8, "learning_rate": 0.05}, {"weight_decay": 0.1, "learning_rate": 0.005}),
        "schedule": {"type": "linear", "steps": 70, "final": 0.1}}},
    "groups adagrad / sgd, momentum 0.5, step": {"model": DCN, "train": {
        **groups(ADAGRAD, {"optimizer": "sgd", "momentum": 0.5, "learning_rate": 0.3}),
        "schedule": {"type": "step", "every_steps": 20, "factor": 0.5}}},
    "mlp, step, warm-up, clip 1": {"model": MLP, "train": {
        **ADAMW, "clip_norm": 1, "schedule": {"type": "step", "every_steps": 25, "factor": 0.3, "warmup_steps": 15}}},
    "mlp, constant, warm-up": {"model": MLP, "train": {**ADAMW, "schedule": {"type": "constant", "warmup_steps": 30}}},
    "dlrm, 3 heads: masks, weights, where, soft labels": {"model": DLRM, "labels": HEADS, "train": ADAMW},
    "dcn_v2, 3 heads, weight step, rowwise_adagrad": {"model": DCN, "labels": HEADS, "recipe": WEIGHT, "train": {
        **ADAGRAD, **groups({}, {"optimizer": "rowwise_adagrad"})}},
    "1,001 rows in a row of weight 0, as_is, linear": {
        "model": MLP, "recipe": [{"weight": "if(i between 3000 and 4000, 0, 1)"}],
        "batch": {"order": "as_is", "shuffle": "none"}, "train": {**ADAMW, "schedule": {"type": "linear", "steps": 94}}},
    "mlp, tables of dims 4, 8, 16": {"model": MLP, "train": ADAMW, "embeddings": {
        **TABLES, "user": {"rows": 200, "dim": 4}, "items": {**TABLES["items"], "dim": 16}}},
    "mlp, no dense": {"model": MLP, "features": SPARSE, "train": ADAMW},
    "dlrm, no dense": {"model": {"type": "dlrm", "embedding_dim": 8, "top": [24, 1]}, "features": SPARSE, "train": ADAMW},
    "vocabulary shared with a sequence, last: 0": {
        "model": DLRM, "train": ADAMW, "features": {**DENSE, **SPARSE, "sequences": {"past": {**PAST, "last": 0}}},
        "embeddings": {**TABLES, "items": {
            "features": ["item", "past_item"], "vocabulary": {"table": "items.csv", "column": "item"}}}},
    "rows that share lists (features.request)": {
        "model": DLRM, "train": ADAMW, "features": {**DENSE, **SPARSE, "lists": ["tags", "shared"], "request": "request"},
        "embeddings": {**TABLES, "shared": {"rows": 120}}},
    "target_mean, 2 heads, weights": {
        "model": {"type": "target_mean", "keys": ["user", "shop"], "smoothing": 7}, "recipe": WEIGHT, "eval": {},
        "labels": {name: HEADS[name] for name in ("y", "half")}, "batch": {"epochs": 1}},
}


def write_data(scratch, rows=12_000):
    """Rows of every kind of feature, with the values that are easily treated wrongly."""
    random = np.random.default_rng(5)

    def some(chance, values, other):
        return [other if hit else value for hit, value in zip(random.random(rows) < chance, values)]

    def lists(most, below, least=0, count=rows):
        return [random.integers(0, below, size).tolist() for size in random.integers(least, most + 1, count)]

    x, user, item = random.normal(size=(rows, 4)), random.integers(0, 300, rows), random.integers(0, 500, rows)
    tags = [[None if random.random() < 0.05 else value for value in one] for one in lists(6, 400)]
    ids = lists(4, 300)
    weights = [[float(random.choice([0, 0.5, 1, 2, -0.7, 0.3])) for _ in one] for one in ids]
    for row in range(0, rows, 9):  # sums of 0, over ids that few other lists have
        ids[row], weights[row] = random.integers(300, 330, 2).tolist(), [1.5, -1.5]
    past = [sorted(one) for one in lists(11, 5_000)]
    request = np.cumsum(random.random(rows) < 0.3)
    shared = lists(7, 250, count=int(request[-1]) + 1)
    chance = 1 / (1 + np.exp(0.3 - x[:, 0] - x[:, 1] * x[:, 2] / 2 - np.sin(user) - np.cos(7 * item)))
    y = random.random(rows) < chance
    times = pa.array([[time * HOUR for time in one] for one in past], pa.list_(pa.timestamp("us")))
    pq.write_table(pa.table({
        "i": np.arange(rows), "plain": 3 * x[:, 0] + 7, "odd": some(0.05, some(0.02, x[:, 1], math.inf), math.nan),
        "gaps": some(0.1, x[:, 2], None), "constant": np.full(rows, 2.3), "flag": x[:, 3] > 0,
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(random.normal(size=3 * rows).astype(np.float32)), 3),
        "user": some(0.03, user.tolist(), None), "item": item,
        "shop": some(0.04, [f"shop {value}" for value in random.integers(0, 80, rows)], None),
        "tags": some(0.1, tags, None), "ids": ids, "weights": pa.array(weights, pa.list_(pa.float32())),
        "past_item": [random.integers(0, 500, len(one)).tolist() for one in past],
        "past_kind": [[f"kind {value}" for value in random.integers(0, 12, len(one))] for one in past], "past_time": times,
        "now": pa.array(random.integers(0, 5_000, rows) * HOUR, pa.timestamp("us")), "request": request,
        "shared": [shared[value] for value in request], "y": y,
        "half": some(0.3, (y ^ (random.random(rows) < 0.2)).tolist(), None),
        "soft": np.clip(random.normal(0.4, 0.3, rows), 0, 1), "w": random.choice([0.5, 1, 3], rows)}),
        scratch / "rows.parquet", row_group_size=1_700)
    (scratch / "items.csv").write_text("item\n" + "".join(f"{value}\n" for value in range(0, 450)))
