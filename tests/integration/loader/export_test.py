#!/usr/bin/env python3
"""Tables that `millrace-loader stream` writes have the types and values that the recipe gives; compared with pyarrow."""
import decimal
import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from loader_case import LoaderCase  # noqa: E402
try:
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet as pq
    MISSING = ""
except ImportError as error:
    MISSING = f"packaging/setup --tests was not run: {error}"
ROWS = 200


@unittest.skipIf(MISSING, MISSING)
class Export(LoaderCase):
    def export(self, spec, *more):
        """The table's rows in the order of column k."""
        self.stream(spec, "--sink", "parquet", "--output", "out", "--force", *more)
        return pq.read_table(self.place / "out").sort_by("k")

    def write(self, name="f.parquet", **columns):
        table = pa.table({"k": pa.array(range(len(next(iter(columns.values())))), pa.int64()), **columns})
        if name.endswith(".parquet"):
            pq.write_table(table, self.place / name)
        else:
            with pa.ipc.new_file(self.place / name, table.schema) as out:
                out.write_table(table)
        return table

    def typed(self):
        us = [i * 3_600_000_007 - 5_000_000_000 for i in range(ROWS)]
        return self.write(
            i16=pa.array(range(ROWS), pa.int16()), ts=pa.array(us, pa.timestamp("us")),
            zoned=pa.array(us, pa.timestamp("us", "Europe/Berlin")), d=pa.array(range(ROWS), pa.date32()),
            s=[f"text {i}" for i in range(ROWS)], b=[i % 3 == 0 for i in range(ROWS)],
            n=pa.array([None if i % 4 == 1 else i for i in range(ROWS)], pa.int32()),
            price=pa.array([None if i % 5 == 2 else decimal.Decimal(i) / 100 for i in range(ROWS)], pa.decimal128(30, 2)))

    def test_a_replaced_column_has_the_type_of_what_replaced_it(self):
        table = self.typed()
        wanted = {"ts: i16": table["i16"], "d: i16": table["i16"], "ts: d": table["d"], "ts: s": table["s"],
                  "b: k": table["k"], "d: ts": table["ts"], "i16: b": table["b"], "s: zoned": table["zoned"],
                  "d: price": table["price"], "ts: k * 0.5": pa.array([k * 0.5 for k in range(ROWS)])}
        for step, values in wanted.items():
            name, expression = step.split(": ")
            with self.subTest(step):
                made = self.export({"dataset": {"path": "f.parquet"}, "recipe": [{"derive": {name: expression}}],
                                    "features": {"carry": ["k", name]}})
                self.assertEqual(made[name].type, values.type)
                self.assertEqual(made[name].to_pylist(), values.to_pylist())

    def test_a_hash_in_place_of_a_bool_is_an_integer(self):
        self.typed()
        made = self.export({"dataset": {"path": "f.parquet"}, "recipe": [{"hash": {"column": "b", "buckets": 100}}],
                            "features": {"carry": ["k", "b"]}})
        self.assertEqual(made["b"].type, pa.int64())

    def test_derived_values_have_their_own_types_and_nulls(self):
        table = self.typed()
        made = self.export({"dataset": {"path": "f.parquet"},
                            "recipe": [{"derive": {"day": "cast(ts as date)", "hour": "date_trunc('hour', ts)",
                                                   "odd": "n % 2 = 1", "copy": "price"}}],
                            "features": {"carry": ["k", "day", "hour", "odd", "copy", "n", "zoned", "price"]}})
        self.assertEqual([made[c].type for c in ("day", "hour", "odd", "copy")],
                         [pa.date32(), pa.timestamp("us"), pa.bool_(), pa.decimal128(30, 2)])
        self.assertEqual(made["day"].to_pylist(), [t.date() for t in table["ts"].to_pylist()])
        self.assertEqual(made["odd"].to_pylist(), [None if n is None else n % 2 == 1 for n in table["n"].to_pylist()])
        for name in ("n", "zoned", "price"):
            self.assertEqual(made[name].type, table[name].type)
            self.assertEqual(made[name].to_pylist(), table[name].to_pylist())
        self.assertEqual(made["copy"].to_pylist(), table["price"].to_pylist())

    def test_as_model_are_the_values_of_a_frame(self):
        self.typed()
        made = self.export({"dataset": {"path": "f.parquet"},
                            "features": {"carry": ["k", "d", "b", "n", "ts", "price"]}}, "--as-model")
        self.assertEqual([made[c].type for c in ("d", "b", "n", "ts", "price")],
                         [pa.int32(), pa.uint8(), pa.int32(), pa.int64(), pa.float64()])
        self.assertEqual(made["n"].null_count, 0)
        self.assertEqual(made["price"][99].as_py(), 0.99)

    def test_fixed_size_lists_are_carried(self):
        for name in ("f.parquet", "f.arrow"):
            self.write(name, fs=pa.array([[1, 2], None, [5, 6], [7, 8]], pa.list_(pa.int32(), 2)))
            made = self.export({"dataset": {"path": name},
                                "recipe": [{"derive": {"z": "fs", "some": "case when k > 1 then fs end"}}],
                                "features": {"carry": ["k", "fs", "z", "some"]}})
            self.assertEqual(made["fs"].to_pylist(), [[1, 2], None, [5, 6], [7, 8]], name)
            self.assertEqual(made["z"].to_pylist(), [[1, 2], None, [5, 6], [7, 8]], name)
            self.assertEqual(made["some"].to_pylist(), [None, None, [5, 6], [7, 8]], name)

    def test_carried_lists_keep_their_nulls(self):
        lists = [[1, None], None, [], [None], [4, 5, None, 7]] * 9
        columns = {"l": pa.array(lists, pa.list_(pa.int64())), "t": pa.array(lists, pa.list_(pa.timestamp("us"))),
                   "f": pa.array(lists, pa.list_(pa.float32())), "d": pa.array(lists, pa.list_(pa.date32())),
                   "fs": pa.array([[1, None], None, [None, None], [5, 6], [None, 8]] * 9, pa.list_(pa.int32(), 2)),
                   "r": pa.array([[1, None]] * 20 + [None] * 5 + [[None]] * 20, pa.list_(pa.int64()))}
        for name in ("f.parquet", "f.arrow"):
            table = self.write(name, **columns)
            spec = {"dataset": {"path": name}, "features": {"carry": ["k", *columns]}}
            for more in ({}, {"batch": {"rows": 8, "micro_rows": 4, "seed": 3}}):
                made = self.export({**spec, **more})
                for column in columns:
                    self.assertEqual(made[column].to_pylist(), table[column].to_pylist(), (name, column))
            modelled = self.export(spec, "--as-model")
            self.assertEqual(modelled["l"].to_pylist()[:5], [[1, 0], [], [], [0], [4, 5, 0, 7]])
        for sink in ("arrow", "csv"):
            self.stream({**spec, "features": {"carry": ["k", "l"]}}, "--sink", sink, "--output", "out", "--force")
            files = sorted((self.place / "out").glob(f"*.{sink}*"))
            if sink == "csv":
                self.assertIn(',"4|5||7"', files[0].read_text())
            else:
                rows = pa.concat_tables([pa.ipc.open_file(file).read_all() for file in files]).sort_by("k")
                self.assertEqual(rows["l"].to_pylist(), lists)

    def test_list_views_keep_their_elements(self):
        for kind in (pa.list_view, pa.large_list_view):
            self.write("f.arrow", v=pa.array([[1], None, [], [2, 3]], kind(pa.int64())))
            made = self.export({"dataset": {"path": "f.arrow"}, "features": {"carry": ["k", "v"]}})
            self.assertEqual(made["v"].to_pylist(), [[1], None, [], [2, 3]])

    def test_weights_stand_beside_their_ids(self):
        self.write(l=[[1, 2], [], [3]], w=pa.array([[0.5, 1.5], [], [2.5]], pa.list_(pa.float32())))
        made = self.export({"dataset": {"path": "f.parquet"}, "embeddings": {"wt": {"rows": 10}},
                            "features": {"carry": ["k"], "weighted": [{"name": "wt", "ids": "l", "weights": "w"}]}})
        self.assertEqual(made["wt.weights"].type.value_type, pa.float32())
        self.assertEqual(made["wt.weights"].to_pylist(), [[0.5, 1.5], [], [2.5]])
        self.assertEqual([len(ids) for ids in made["wt"].to_pylist()], [2, 0, 1])

    def test_rows_have_the_types_of_the_files(self):
        self.write("a.parquet", x=pa.array([decimal.Decimal("1.25")], pa.decimal128(5, 2)), raw=pa.array([b"\xff\x00"]),
                   t=pa.array([1], pa.timestamp("us", "UTC")))
        self.write("b.parquet", x=pa.array([decimal.Decimal("123456789.125")], pa.decimal128(12, 3)), raw=pa.array([b"b"]),
                   t=pa.array([2], pa.timestamp("us", "UTC")))
        made = self.export({"dataset": {"path": "*.parquet"}, "features": {"carry": ["k"]}}, "--rows")
        self.assertEqual(made["x"].type, pa.decimal128(12, 3))
        self.assertEqual(sorted(made["x"].to_pylist()), [decimal.Decimal("1.250"), decimal.Decimal("123456789.125")])
        self.assertEqual(made["raw"].type, pa.binary())
        self.assertEqual(sorted(made["raw"].to_pylist()), [b"b", b"\xff\x00"])
        self.assertEqual(made["t"].type, pa.timestamp("us", "UTC"))

    def test_rows_of_the_evaluation_are_those_that_it_judges(self):
        self.write(x=[float(k) for k in range(10)])
        spec = {"dataset": {"path": "f.parquet", "where": "k < 7"}, "recipe": [{"filter": "k % 3 = 0"}, {"derive": {"y": "x * 2"}}],
                "features": {"dense": ["y"]}}
        self.assertEqual(self.export(spec, "--rows")["k"].to_pylist(), [0, 3, 6])
        evaluated = {**spec, "eval": {"dataset": {"where": "k >= 7"}}}
        self.assertEqual(self.export(evaluated, "--rows", "--data", "eval").to_pydict(), {"k": [7, 8, 9], "x": [7.0, 8.0, 9.0]})
        done = self.stream(spec, "--rows", "--data", "eval", "--sink", "parquet", "--output", "none", code=4)
        self.assertIn("eval.dataset is missing", done.stderr)

    def test_nanoseconds_before_1970_are_rounded_down(self):
        for name in ("f.parquet", "f.arrow"):
            self.write(name, t=pa.array([-1999, -1, 0, 1999], pa.timestamp("ns")))
            made = self.export({"dataset": {"path": name}, "features": {"carry": ["k", "t"]}})
            self.assertEqual(made["t"].cast(pa.int64()).to_pylist(), [-2, -1, 0, 1], name)

    def test_decimals_are_found_by_their_digits(self):
        prices = [decimal.Decimal(i) / 100 for i in range(1, 10000)]
        self.write("d.parquet", a=pa.array(prices, pa.decimal128(8, 2)))
        pq.write_table(pa.table({"b": pa.array(prices, pa.decimal128(12, 6)), "v": range(9999)}), self.place / "t.parquet")
        spec = {"dataset": {"path": "d.parquet"}, "features": {"carry": ["k"]}}
        for condition, rows in (("a = 0.57", 1), ("a = 99.99", 1), ("a <= 99.99", 9999)):
            done = self.stream({**spec, "recipe": [{"filter": condition}]}, "--json", "--epochs", "1")
            self.assertEqual(json.loads(done.stdout)["rows_kept"], rows, condition)
        join = {"table": "t.parquet", "on": {"a": "b"}, "take": ["v"], "missing": "drop"}
        done = self.stream({**spec, "recipe": [{"join": join}]}, "--json", "--epochs", "1")
        self.assertEqual(json.loads(done.stdout)["rows_kept"], 9999)

    def test_a_cursor_that_is_empty_or_changed_is_refused(self):
        self.typed()
        spec = {"dataset": {"path": "f.parquet"}, "features": {"carry": ["k"]}}
        cursor = json.loads(self.stream(spec, "--json", "--micro-batches", "3").stdout)["cursor"]
        self.stream(spec, "--from", json.dumps(cursor))
        self.assertIn("--from: an empty cursor", self.stream(spec, "--from", "", code=4).stderr)
        changed = json.dumps({**cursor, "next": 10**18})
        self.assertIn("cursor: it was changed", self.stream(spec, "--from", changed, code=4).stderr)

    def test_a_first_spec_is_found_where_a_column_holds_nan(self):
        values = [(i * 7919 % 1000) / 1000 for i in range(ROWS)]
        values[5] = float("nan")
        self.write(x=pa.array(values), label=[i * 31 % 7 < 3 for i in range(ROWS)])
        self.run_loader("init", "f.parquet")

    def test_what_was_counted_counts_until_a_file_is_written_to(self):
        """The cache notices a change even if the file keeps its size and footer and its old modification time is restored."""
        spec = {"dataset": {"path": "f.parquet", "where": "x = 1"}, "features": {"dense": ["x"]}}

        def count():
            kept = json.loads(self.stream(spec, "--json").stdout)["rows_kept"]
            counted = json.loads(self.run_loader("count", "s.yaml", "--json").stdout)
            self.assertEqual(counted["rows"], kept)
            return counted

        def write(values):
            table = pa.table({"k": pa.array(range(ROWS), pa.int64()), "x": pa.array(values, pa.int64())})
            with (self.place / "f.parquet").open("wb") as file:
                pq.write_table(table, file, compression="none", use_dictionary=False, write_statistics=False)

        write([1] * ROWS)
        first = count()
        self.assertEqual((first["rows"], first["cached"], count()["cached"]), (ROWS, False, True))
        before = (self.place / "f.parquet").stat()
        write([i % 2 for i in range(ROWS)])
        os.utime(self.place / "f.parquet", ns=(before.st_atime_ns, before.st_mtime_ns))
        second = count()
        self.assertEqual(second["plan_hash"], first["plan_hash"])
        self.assertEqual((second["rows"], second["cached"]), (ROWS // 2, False))

    def test_no_threads_are_refused_in_words(self):
        self.typed()
        spec = {"dataset": {"path": "f.parquet"}, "features": {"carry": ["k"]}}
        self.assertIn("'0' is not a whole number from 1", self.stream(spec, "--threads", "0", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
