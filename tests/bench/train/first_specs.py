#!/usr/bin/env python3
"""First specs beside a logistic regression, as a table (docs/evidence/first-specs.md).

  first_specs.py SPEC... [--seeds 1,2,3] [--scratch DIR]

Each SPEC is one that `millrace init` wrote. It is run once for each seed, as it is; scikit-learn's LogisticRegression is
fitted on the rows that `millrace stream --rows` writes for training, and judged on those for evaluation. Ids are one-hot,
numbers standardised, nulls 0. Needs a daemon (`millrace up`), scikit-learn, pandas, pyarrow, duckdb and PyYAML.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import duckdb
import numpy as np
import scipy.sparse
import yaml
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def millrace(*words):
    done = subprocess.run(["millrace", *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"millrace {' '.join(words)}: {done.stderr or done.stdout[-500:]}")
    return done.stdout


def rows_of(path, label, part, scratch):
    """The rows of a part that have a label, and their labels."""
    out = pathlib.Path(scratch, path.stem, part)
    millrace("stream", str(path), "--rows", "--sink", "parquet", "--output", str(out), "--data", part, "--force")
    rows = duckdb.sql(f"select *, ({label}) as __label from read_parquet('{out}/**/*.parquet')").df()
    rows = rows[~rows["__label"].isna()]
    return rows, rows["__label"].astype(float).to_numpy()


def columns_of(features, kind):
    return [entry if isinstance(entry, str) else entry["column"] for entry in features.get(kind, [])]


def numbers_of(rows, columns):
    return rows[columns].astype(float).fillna(0).to_numpy()


def texts_of(rows, columns):
    return rows[columns].astype(object).where(rows[columns].notna(), "~null").astype(str)


def regression(path, spec, scratch):
    """Rows, columns, positives, AUC and normalised entropy of the logistic regression."""
    label = next(iter(spec["labels"].values()))
    (train, y), (test, truth) = (rows_of(path, label, part, scratch) for part in ("train", "eval"))
    inputs, tests = [], []
    dense, ids = columns_of(spec["features"], "dense"), columns_of(spec["features"], "ids")
    if dense:
        scaler = StandardScaler().fit(numbers_of(train, dense))
        inputs.append(scipy.sparse.csr_matrix(scaler.transform(numbers_of(train, dense))))
        tests.append(scipy.sparse.csr_matrix(scaler.transform(numbers_of(test, dense))))
    if ids:
        encoder = OneHotEncoder(handle_unknown="ignore").fit(texts_of(train, ids))
        inputs.append(encoder.transform(texts_of(train, ids)))
        tests.append(encoder.transform(texts_of(test, ids)))
    model = LogisticRegression(max_iter=1000).fit(scipy.sparse.hstack(inputs).tocsr(), y)
    scores = model.predict_proba(scipy.sparse.hstack(tests).tocsr())[:, 1]
    mean = truth.mean()
    entropy = -(mean * np.log(mean) + (1 - mean) * np.log(1 - mean))
    return {"rows": f"{len(train):,} / {len(test):,}", "columns": f"{len(dense)} / {len(ids)}",
            "positives": int(truth.sum()), "auc": roc_auc_score(truth, scores),
            "entropy": log_loss(truth, scores) / entropy}


def runs(path, seeds):
    """(AUC, normalised entropy) of a run for each seed."""
    found = []
    for seed in seeds:
        out = millrace("run", str(path), "--watch", "--json", "--set", f"batch.seed={seed}")
        metrics = json.loads(out.splitlines()[-1])["runs"][0]["metrics"]
        found.append((metrics["eval.auc"], metrics["eval.normalized_entropy"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="+", type=pathlib.Path, metavar="SPEC")
    parser.add_argument("--seeds", default="1,2,3", type=lambda text: [int(seed) for seed in text.split(",")])
    parser.add_argument("--scratch", default=tempfile.gettempdir() + "/first_specs")
    args = parser.parse_args()
    print("| data set | rows, training / evaluation | dense / ids | positives | first spec | lowest to highest "
          "| logistic regression |\n|---|---|---|---|---|---|---|")
    for path in args.specs:
        other = regression(path, yaml.safe_load(path.read_text()), args.scratch)
        found = runs(path, args.seeds)
        aucs = [auc for auc, _ in found]
        print(f"| {path.stem} | {other['rows']} | {other['columns']} | {other['positives']:,} "
              f"| {statistics.mean(aucs):.4f} ({statistics.mean(entropy for _, entropy in found):.3f}) "
              f"| {min(aucs):.4f} to {max(aucs):.4f} | {other['auc']:.4f} ({other['entropy']:.3f}) |", flush=True)


if __name__ == "__main__":
    main()
