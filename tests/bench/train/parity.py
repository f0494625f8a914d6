#!/usr/bin/env python3
"""Compares the built-in trainer with plain PyTorch, as a table (docs/evidence/parity.md).

  parity.py [--scratch DIR] [--only TEXT]

Trains each of 24 configurations for 94 steps in float64 and in float32: by `millrace run`, and by parity_model.py, which
follows docs/reference/models.md. Both start from Millrace's first weights (those of a run of one step at a rate of 1e-30)
and get the same rows (`import millrace`). Prints the largest differences of losses (relative) and of weights (absolute).
Exits with 1 if a float64 loss differs by more than 1e-12, or a float32 loss by more than 1e-5.
Needs a daemon (`millrace up`), torch, numpy and pyarrow. Set OMP_NUM_THREADS=1 to repeat figures.
"""
import argparse
import json
import os
import pathlib
import struct
import sys
import tempfile

import numpy as np
import torch

import millrace
from parity_cases import BASE, CONFIGURATIONS, write_data
from parity_model import WIDE, train_here

NARROW = torch.float32


def read_checkpoint(path):
    """The tensors of a checkpoint, and `module` of its header (docs/formats/checkpoint.md)."""
    raw = pathlib.Path(path).read_bytes()
    size, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + size])
    kinds = {"F64": np.float64, "F32": np.float32, "I64": np.int64}
    metadata = header.pop("__metadata__")
    return {name: torch.from_numpy(np.frombuffer(raw[8 + size + at["data_offsets"][0]:8 + size + at["data_offsets"][1]],
                                                 kinds[at["dtype"]]).reshape(at["shape"]).copy())
            for name, at in header.items()}, json.loads(metadata["module"])


def run(client, spec, changes):
    """Tensors, module, and series by name of a run; its id."""
    ended = client.wait(client.launch(spec, set=changes))[0]
    details = client.show(ended)
    names = [name for name in details.metric_names if name.split(".")[0] in ("loss", "gradient_norm")]
    series = {name: dict(zip(found.steps, found.values)) for name in names
              for found in [client.metrics(ended, names=[name], points=100_000).get_series(name)]}
    return *read_checkpoint(details.checkpoints[-1].path), series, ended


def compare_networks(client, spec, batches, precision):
    """Largest differences of `loss` (relative), weights, other series (relative), the scale of dense inputs (relative)."""
    named = {"train.precision": "fp64" if precision == WIDE else "fp32"}
    slow = {"train.learning_rate": 1e-30, "train.max_steps": 1} | {
        f"train.groups.{group}.learning_rate": 1e-30 for group in spec["train"].get("groups", {})}
    first, module, _, _ = run(client, "spec.yaml", named | slow)
    theirs, _, told, _ = run(client, "spec.yaml", named)
    ours, found = train_here(spec, first, module, batches, precision)
    assert len(told["loss"]) == len(batches), "a step is missing in `loss`"
    relative = {name: max(abs(told[name][step] - value) / abs(value) for step, value in values.items() if step in told[name])
                for name, values in found.items()}
    differences = {name: ((theirs[name].to(WIDE) - value.to(WIDE)).abs(), value.to(WIDE).abs()) for name, value in ours.items()}
    weights = max(off.max().item() for name, (off, _) in differences.items() if not name.startswith("input."))
    scales = [(off / size.clamp(min=1)).max().item() for name, (off, size) in differences.items() if name.startswith("input.")]
    return relative.pop("loss"), weights, max(relative.values()), max(scales, default=0)


def compare_means(client, spec, batches):
    """target_mean: sums and weights of keys, and the probabilities of evaluation rows (`millrace.load_model`)."""
    theirs, module, _, ended = run(client, "spec.yaml", {})
    heads, totals, sums = module["heads"], 0, {key: {} for key in spec["model"]["keys"]}
    for batch in batches:
        weights = torch.stack([batch.weights[head] * batch.masks[head] for head in heads], 1).to(WIDE)
        both = torch.stack([torch.stack([batch.labels[head] for head in heads], 1) * weights, weights], 2)
        totals = totals + both.sum(0)
        for key in sums:
            for row, value in enumerate(batch[key].tolist()):
                sums[key][value] = sums[key].get(value, 0) + both[row]
    worst = (theirs["total"] - totals).abs().max().item()
    for key, found in sums.items():
        assert theirs[f"key.{key}.ids"].tolist() == sorted(found)
        ours = torch.stack([found[value] for value in sorted(found)])
        both = torch.stack([theirs[f"key.{key}.sums"], theirs[f"key.{key}.weights"]], 2)
        worst = max(worst, (both - ours).abs().max().item())
    mean, model, most = totals[:, 0] / totals[:, 1], millrace.load_model(ended), 0.0
    with millrace.stream("spec.yaml", part="eval") as rows:
        for batch in rows:
            ours, nothing = mean.repeat(batch.rows, 1), torch.zeros_like(totals)
            for key, found in sums.items():
                both = torch.stack([found.get(value, nothing) for value in batch[key].tolist()])
                smoothing = spec["model"]["smoothing"]
                ours = ours + (both[:, :, 0] + smoothing * mean) / (both[:, :, 1] + smoothing) - mean
            ours, theirs = ours.clamp(1e-6, 1 - 1e-6), model.probabilities(batch)
            most = max(most, *((theirs[head].to(WIDE) - ours[:, n]).abs().max().item() for n, head in enumerate(heads)))
    return most, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scratch", default=tempfile.gettempdir() + "/parity", type=pathlib.Path, metavar="DIR",
                        help="for data and specs (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only configurations whose name contains TEXT")
    args = parser.parse_args()
    args.scratch.mkdir(parents=True, exist_ok=True)
    write_data(args.scratch)
    os.chdir(args.scratch)
    client, failed, rest = millrace.Client(), False, {WIDE: [], NARROW: []}
    print("| configuration | fp64 loss | fp64 weights | fp32 loss | fp32 weights |\n|---|---|---|---|---|")
    for name, changes in CONFIGURATIONS.items():
        if args.only not in name:
            continue
        spec, row = {**BASE, **changes, "batch": {**BASE["batch"], **changes.get("batch", {})}}, [name]
        pathlib.Path("spec.yaml").write_text(json.dumps(spec))
        with millrace.stream("spec.yaml", last="keep", copy=True) as stream:
            batches = list(stream)
        if spec["model"]["type"] == "target_mean":
            probabilities, sums = compare_means(client, spec, batches)
            row += [f"{probabilities:.1e} (probabilities)", f"{sums:.1e} (sums)", "", ""]
            failed = failed or not probabilities <= 1e-12
        else:
            for precision, most in ((WIDE, 1e-12), (NARROW, 1e-5)):
                loss, weights, *others = compare_networks(client, spec, batches, precision)
                row += [f"{loss:.1e}", f"{weights:.1e}"]
                failed = failed or not loss <= most
                rest[precision].append(others)
        print("| " + " | ".join(row) + " |", flush=True)
    for precision, found in rest.items():
        if found:
            series, scale = (max(column) for column in zip(*found))
            # `gradient_norm` is reported for some steps only, and not for the same ones in each run.
            print(f"{precision}: gradient_norm and losses of heads {series:.1e}, scale of dense inputs {scale:.1e}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
