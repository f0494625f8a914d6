#!/usr/bin/env python3
"""Writes data/day-0.parquet to day-6.parquet: an advertising log like Criteo's, made up, the same for the same arguments.

    python3 generate.py [--rows N] [--out DIR]       needs pyarrow; a million rows (70 MB) by default

label     int32, a fifth ones; it follows some of the columns, so that there is something to learn
day       int32, 0 to 6: a file each
i1 .. i13 int32 counts, most of them small, some very large, with nulls
c1 .. c26 texts of eight hex digits, few values making most rows, with nulls; 3 to 200,000 different ones
"""
import argparse
import pathlib

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

DAYS = 7
COUNTS_NULL = (.45, 0, .21, .22, .03, .22, .04, 0, .04, .45, .04, .77, .22)
TEXTS = (1460, 583, 200000, 200000, 305, 24, 12517, 633, 3, 93145, 5683, 200000, 3194, 27, 14992, 200000, 10, 5652, 2173, 4,
         200000, 18, 15, 200000, 105, 142572)
TEXTS_NULL = {2: .03, 3: .03, 5: .12, 18: .44, 19: .44, 21: .76, 24: .44, 25: .44}


class Draws:
    """Uniform numbers from 0 to 1: a stream of its own for each call."""

    def __init__(self, day):
        self.seed = 1000 * (day + 1)

    def __call__(self, rows):
        self.seed += 1
        return pc.random(rows, initializer=self.seed)


def nulls(values, draws, share):
    return pc.if_else(pc.less(draws, share), pa.scalar(None, values.type), values) if share else values


def counts(draws, rows):
    """exp(8 u^2) - 1: half of them below 7, some near 3,000."""
    return pc.floor(pc.expm1(pc.multiply(8.0, pc.power(draws(rows), 2.0)))).cast(pa.int32())


def places(draws, rows, different):
    """0 to different - 1, the first ones most often."""
    return pc.min_element_wise(pc.floor(pc.multiply(float(different), pc.power(draws(rows), 4.0))).cast(pa.int32()), different - 1)


def words(column, different):
    return pa.array([f"{(i * 2654435761 + column * 97612893) & 0xffffffff:08x}" for i in range(different)])


def labels(draws, rows, counted, placed):
    """Ones with the probability 1 / (1 + exp(-logit)): more after many i2 and i7, for some values of c1, c9 and c20."""
    logit = pa.array([-3.5]).take(pa.array([0] * rows, pa.int32()))
    for column, weight in ((1, 0.2), (6, 0.25)):
        logit = pc.add(logit, pc.multiply(weight, pc.log1p(counted[column].cast(pa.float64()))))
    for column, weight in ((0, 1.2), (8, 0.8), (19, 0.8)):
        odd = pc.bit_wise_and(placed[column], 1).cast(pa.float64())
        logit = pc.add(logit, pc.multiply(weight, odd))
    chance = pc.divide(1.0, pc.add(1.0, pc.exp(pc.negate(logit))))
    return pc.less(draws(rows), chance).cast(pa.int32())


def table(day, rows, vocabularies):
    draws = Draws(day)
    counted = [counts(draws, rows) for _ in COUNTS_NULL]
    placed = [places(draws, rows, different) for different in TEXTS]
    columns = {"label": labels(draws, rows, counted, placed), "day": pa.array([day] * rows, pa.int32())}
    for i, share in enumerate(COUNTS_NULL):
        columns[f"i{i + 1}"] = nulls(counted[i], draws(rows), share)
    for i, words_ in enumerate(vocabularies):
        columns[f"c{i + 1}"] = words_.take(nulls(placed[i], draws(rows), TEXTS_NULL.get(i, 0)))
    return pa.table(columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of all days together (1,000,000)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "data", help="the folder (data, beside this program)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    vocabularies = [words(column, different) for column, different in enumerate(TEXTS)]
    for day in range(DAYS):
        rows = options.rows * (day + 1) // DAYS - options.rows * day // DAYS
        pq.write_table(table(day, rows, vocabularies), options.out / f"day-{day}.parquet", compression="zstd", compression_level=1, row_group_size=65536)


if __name__ == "__main__":
    main()
