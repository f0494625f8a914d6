#!/usr/bin/env python3
"""Write the data of the tasks R1 to R15 of the loader benchmark: synthetic logs of the kinds that recipes work on, the same for the same arguments.

  criteo/    2,000,000 rows: label, 13 counts i1 .. i13 with nulls, 26 texts c1 .. c26 of eight hex digits with the cardinalities of the Criteo log
  events/    5,000,000 rows of a shop's log in the order of their times: k, label, user (text), item, n, y and x (floats), time, seen, city, agent, url
             users.parquet: 5,000,000 users by text key; blocked.parquet: 1,700,000 of them; prices.parquet: 2,000,000 prices of 100,000 items, by time
  csv/       3,000,000 rows of such a log as one CSV file
  small/     1,000 files of 1,000 rows
  wide/      40,000 rows of 3,000 float columns
  lists/     200,000 rows of three lists of 100 to 300 ids

With --quick a tenth of the rows (and of the small files). Parquet, zstd level 1, dictionary on, as the reference data.
"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from make_reference import skewed, spread, stream  # noqa: E402

SEED = 14
# Distinct values of Criteo's 26 categorical columns, and the shares of nulls of its 13 counts.
CRITEO_TEXTS = (1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572)
CRITEO_NULL_TEXTS = {3: .034, 4: .034, 6: .12, 12: .034, 16: .034, 19: .44, 20: .44, 21: .034, 22: .76, 24: .034, 25: .44, 26: .44}
CRITEO_NULL_COUNTS = (.45, 0, .21, .22, .03, .22, .04, .0005, .04, .45, .04, .77, .22)
USERS, KNOWN_USERS, BLOCKED_USERS = 6_000_000, 5_000_000, 1_700_000
ITEMS, PRICES, URLS, AGENTS, CITIES = 100_000, 2_000_000, 1_000_000, 3_000, 400
BEGIN = 1_704_067_200_000_000  # 2024-01-01, in microseconds
YEAR = 366 * 86_400_000_000


class Streams:
    """The random streams of one file. Each column has one, named by the position of its request."""

    def __init__(self, *key):
        self.key, self.count = key, 0

    def __call__(self):
        self.count += 1
        return stream(SEED, *self.key, self.count)


def hex_texts(values, digits, null=None):
    """The low `digits` hex digits of `values` as an Arrow array of strings."""
    bits = values.astype(np.uint64)
    bytes_ = np.empty((len(bits), digits), np.uint8)
    table = np.frombuffer(b"0123456789abcdef", np.uint8)
    for d in range(digits):
        bytes_[:, digits - 1 - d] = table[((bits >> np.uint64(4 * d)) & np.uint64(15)).astype(np.intp)]
    keep = np.ones(len(bits), bool) if null is None else ~null
    offsets = np.concatenate([[0], np.cumsum(keep, dtype=np.int32) * digits]).astype(np.int32)
    array = pa.StringArray.from_buffers(len(bits), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(bytes_[keep])))
    return array if null is None else pa.StringArray.from_buffers(
        len(bits), *array.buffers()[1:], pa.py_buffer(np.packbits(keep, bitorder="little")), int(null.sum()))


def user_keys(numbers):
    return hex_texts(spread(numbers), 12)


def times(microseconds):
    return pa.array(microseconds).cast(pa.timestamp("us"))


def agents():
    systems = ("Linux; Android 13; Pixel 7", "iPhone; CPU iPhone OS 16_4 like Mac OS X", "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 13_2", "X11; Linux x86_64")
    browsers = ("Chrome", "Firefox", "Edg", "OPR")
    return pa.array([f"Mozilla/5.0 ({systems[i % 5]}) AppleWebKit/537.36 (KHTML, like Gecko) {browsers[i // 5 % 4]}/{60 + i // 20 % 60}.0.{i * 37 % 5000}" for i in range(AGENTS)])


def urls():
    rng = stream(SEED, 90)
    shop, category, item, ref = rng.integers(0, 500, URLS), rng.integers(0, 80, URLS), rng.integers(0, 10_000_000, URLS), rng.integers(0, 5, URLS)
    refs = ("mail", "search", "ad", "home", "app")
    return pa.array([f"https://shop{s}.example.com/c{c}/item-{i}?ref={refs[r]}&q={i % 9}" for s, c, i, r in zip(shop.tolist(), category.tolist(), item.tolist(), ref.tolist())])


def cities():
    return pa.array([f"city-{i:03d}" for i in range(CITIES)])


def write(table, path, row_group):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(table, path, compression="zstd", compression_level=1, row_group_size=row_group)


def bounds(rows, files):
    return [(i, rows * i // files, rows * (i + 1) // files - rows * i // files) for i in range(files)]


def labels(rng, n, share=0.05):
    return pa.array((rng.random(n) < share).astype(np.int32))


def criteo(out, rows):
    for f, _, n in bounds(rows, 4):
        own = Streams(1, f)
        columns = {"label": labels(own(), n, 0.256)}
        for j, null in enumerate(CRITEO_NULL_COUNTS):
            rng = own()
            columns[f"i{j + 1}"] = pa.array(np.floor(rng.lognormal(1.5, 2.0, n)).clip(0, 2e6).astype(np.int32), mask=rng.random(n) < null)
        for j, cardinality in enumerate(CRITEO_TEXTS):
            rng, null = own(), CRITEO_NULL_TEXTS.get(j + 1)
            ids = spread(skewed(rng, cardinality, n) + (j << 32))
            columns[f"c{j + 1}"] = hex_texts(ids, 8, rng.random(n) < null if null else None)
        write(pa.table(columns), f"{out}/criteo/part-{f:05d}.parquet", 125_000)


def log_columns(own, first, n, of):
    """What the logs have in common: rows `first` to `first + n` of `of`, in the order of their times."""
    time_ = BEGIN + ((first + np.arange(n, dtype=np.int64)) * (YEAR // of)) + own().integers(0, YEAR // of, n)
    y = own()
    return {"k": pa.array(np.arange(first, first + n, dtype=np.int64)), "label": labels(own(), n),
            "user": user_keys(skewed(own(), USERS, n, 2.0)), "n": pa.array(own().integers(0, 1000, n).astype(np.int32)),
            "y": pa.array(y.lognormal(1.0, 1.5, n), mask=y.random(n) < 0.1), "x": pa.array(own().standard_normal(n)),
            "time": times(time_), "city": cities().take(pa.array(skewed(own(), CITIES, n, 1.5)))}


def events(out, rows):
    agent, url = agents(), urls()
    for f, first, n in bounds(rows, 5):
        own = Streams(2, f)
        columns = log_columns(own, first, n, rows)
        rng = own()
        earlier = pa.array(columns["time"].cast(pa.int64()).to_numpy() - (rng.exponential(86_400_000_000.0, n)).astype(np.int64), mask=rng.random(n) < 0.05)
        columns["seen"] = earlier.cast(pa.timestamp("us"))
        columns["item"] = pa.array(skewed(own(), ITEMS, n, 2.0))
        columns["agent"] = agent.take(pa.array(skewed(own(), AGENTS, n, 2.0)))
        columns["url"] = url.take(pa.array(skewed(own(), URLS, n, 2.0)))
        write(pa.table(columns), f"{out}/events/part-{f:05d}.parquet", 200_000)


def side_tables(out, scale):
    known, blocked, prices = KNOWN_USERS // scale, BLOCKED_USERS // scale, PRICES // scale
    order, rng = stream(SEED, 3, 1).permutation(USERS), stream(SEED, 3, 2)
    users = pa.table({"user": user_keys(order[:known]), "age": pa.array(rng.integers(16, 90, known).astype(np.int32)), "score": pa.array(rng.standard_normal(known))})
    write(users, f"{out}/events/users.parquet", 500_000)
    write(pa.table({"user": user_keys(stream(SEED, 3, 3).permutation(USERS)[:blocked])}), f"{out}/events/blocked.parquet", 500_000)
    # one time for each row, so that no item has two prices at the same time
    since = BEGIN - YEAR // 12 + np.arange(prices, dtype=np.int64) * (YEAR // prices)
    table = {"item": pa.array(stream(SEED, 3, 4).integers(0, ITEMS, prices)), "since": times(since), "price": pa.array(rng.lognormal(2.0, 1.0, prices))}
    write(pa.table(table), f"{out}/events/prices.parquet", 500_000)


def csv(out, rows):
    os.makedirs(f"{out}/csv", exist_ok=True)
    with pa.OSFile(f"{out}/csv/part-00000.csv", "wb") as sink:
        writer = None
        for f, first, n in bounds(rows, 6):
            own = Streams(4, f)
            columns = log_columns(own, first, n, rows)
            columns["time"] = columns["time"].cast(pa.timestamp("s"), safe=False)
            for name in ("y", "x"):
                columns[name] = pa.compute.round(columns[name], 6)
            columns["url"] = pa.compute.binary_join_element_wise("/shop-", pa.array(own().integers(0, 80, n)).cast(pa.string()), "/items/",
                                                                 pa.array(own().integers(0, 10_000_000, n)).cast(pa.string()), "")
            table = pa.table(columns)
            writer = writer or pc.CSVWriter(sink, table.schema, write_options=pc.WriteOptions(quoting_style="needed"))
            writer.write_table(table)
        writer.close()


def small(out, files):
    for f in range(files):
        write(pa.table(log_columns(Streams(5, f), 1000 * f, 1000, 1000 * files)), f"{out}/small/part-{f:05d}.parquet", 1000)


def wide(out, rows):
    for f, _, n in bounds(rows, 4):
        own = Streams(6, f)
        columns = {"label": labels(own(), n)}
        for j in range(3000):
            rng = own()
            columns[f"f{j:04d}"] = pa.array(rng.standard_normal(n, dtype=np.float32), mask=rng.random(n) < 0.1 if j % 3 == 0 else None)
        write(pa.table(columns), f"{out}/wide/part-{f:05d}.parquet", 5000)


def lists(out, rows):
    for f, first, n in bounds(rows, 4):
        own = Streams(7, f)
        columns = {"k": pa.array(np.arange(first, first + n, dtype=np.int64)), "label": labels(own(), n)}
        for j, cardinality in enumerate((10_000, 1_000_000, 100_000_000)):
            rng = own()
            offsets = np.concatenate([[0], np.cumsum(rng.integers(100, 301, n))]).astype(np.int32)
            columns[f"h{j}"] = pa.ListArray.from_arrays(pa.array(offsets), pa.array(skewed(rng, cardinality, int(offsets[-1]))))
        write(pa.table(columns), f"{out}/lists/part-{f:05d}.parquet", 12_500)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True, help="folder to write; made if it is not there")
    p.add_argument("--quick", action="store_true", help="a tenth of the rows")
    args = p.parse_args()
    scale, start = 10 if args.quick else 1, time.time()
    made = (("criteo", criteo, 2_000_000), ("events", events, 5_000_000), ("csv", csv, 3_000_000), ("small", small, 1_000), ("wide", wide, 40_000), ("lists", lists, 200_000))
    for name, make, count in made:
        make(args.out, count // scale)
        print(f"{name}: {time.time() - start:.0f} s", file=sys.stderr, flush=True)
    side_tables(args.out, scale)
    with open(os.path.join(args.out, "about.json"), "w") as f:
        json.dump({"rows": {name: count // scale * (1000 if name == "small" else 1) for name, _, count in made}, "quick": args.quick, "seed": SEED, "numpy": np.__version__, "pyarrow": pa.__version__}, f, indent=1)


if __name__ == "__main__":
    main()
