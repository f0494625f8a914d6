#!/usr/bin/env python3
"""Files of one dataset whose columns differ: unused columns do not matter; used columns are read without loss or refused
with a reason."""
import json
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
ROWS = 60
LARGE = 2**53 + 1


@unittest.skipIf(MISSING, MISSING)
class Drift(LoaderCase):
    def values(self, spec, column, *more):
        self.stream(spec, "--sink", "parquet", "--output", "out", "--force", *more)
        return pq.read_table(self.place / "out").sort_by("k")[column].to_pylist()

    def write(self, name, first, **columns):
        """Rows k = first, first + 1, ..."""
        rows = len(next(iter(columns.values())))
        table = pa.table({"k": pa.array(range(first, first + rows), pa.int64()), **columns})
        if name.endswith(".parquet"):
            pq.write_table(table, self.place / name)
        else:
            with pa.ipc.new_file(self.place / name, table.schema) as out:
                out.write_table(table)

    def days(self, ending="parquet"):
        """q as pandas writes it: an integer until a value is missing; note: a text from the second day on."""
        self.write(f"day1.{ending}", 0, q=pa.array(range(ROWS), pa.int64()), note=pa.array(range(ROWS), pa.int64()))
        self.write(f"day2.{ending}", ROWS, q=pa.array([None if i % 3 == 0 else float(i) for i in range(ROWS)]),
                   note=[f"n{i}" for i in range(ROWS)], late=pa.array(range(ROWS), pa.int64()))

    def test_columns_that_are_not_used_may_differ(self):
        for ending in ("parquet", "arrow"):
            with self.subTest(ending):
                self.days(ending)
                spec = {"dataset": {"path": f"day*.{ending}"}, "features": {"carry": ["k", "q"]}}
                wanted = [float(i) for i in range(ROWS)] + [None if i % 3 == 0 else float(i) for i in range(ROWS)]
                self.assertEqual(self.values(spec, "q"), wanted)
                count = json.loads(self.run_loader("count", "s.yaml", "--json").stdout)
                self.assertEqual(count["rows"], 2 * ROWS)

    def test_one_that_is_used_is_refused_with_files_and_fix(self):
        self.days()
        place = str(self.place)
        for use, wanted in (({"features": {"carry": ["note"]}}, "column 'note' is string in"),
                            ({"recipe": [{"filter": "note = 3"}], "features": {"carry": ["k"]}}, "column 'note' is string in"),
                            ({"features": {"carry": ["n*"]}}, "'n*' matches column 'note', which is string in"),
                            ({"features": {"dense": ["late"]}}, "column 'late' is not in")):
            with self.subTest(use):
                said = self.stream({"dataset": {"path": "day*.parquet"}, **use}, code=4).stderr
                self.assertIn(wanted, said)
                self.assertIn(f"{place}/day1.parquet", said)
                self.assertIn(f"{place}/day2.parquet", said)
                self.assertIn("dataset.missing_columns: null" if "late" in wanted else "dataset.types: {note: string}", said)

    def test_rows_are_written_with_every_column_or_those_that_are_named(self):
        self.days()
        spec = {"dataset": {"path": "day*.parquet"}, "features": {"carry": ["k"]}}
        table = ("--rows", "--sink", "parquet", "--output", "out", "--force")
        said = self.stream(spec, *table, code=4).stderr
        self.assertIn("day1.parquet: column 'note' differs between the files", said)
        self.assertIn("--columns", said)
        self.assertEqual(len(self.values(spec, "q", "--rows", "--columns", "k,q")), 2 * ROWS)
        (self.place / "i.csv").write_text(",k,x\n0,0,5\n1,1,6\n")
        self.assertEqual(self.values({"dataset": {"path": "i.csv"}, "features": {"carry": ["k"]}}, "x", "--rows"), [5, 6])

    def test_a_type_of_the_spec_counts_in_all_files(self):
        self.days()
        dataset = {"path": "day*.parquet", "types": {"note": "string", "q": "int64"}}
        spec = {"dataset": dataset, "features": {"carry": ["k", "q", "note"]}}
        self.assertEqual(self.values(spec, "note"), [str(i) for i in range(ROWS)] + [f"n{i}" for i in range(ROWS)])
        self.assertEqual(self.values(spec, "q"), [*range(ROWS), *(None if i % 3 == 0 else i for i in range(ROWS))])
        rows = self.values(spec, "note", "--rows", "--columns", "k,note")
        self.assertEqual(rows[:2] + rows[-1:], ["0", "1", f"n{ROWS - 1}"])
        # Bounds of numbers do not hold for their texts: '5' sorts after '10', and pruning must keep the row with 5.
        where = {**spec, "dataset": {**dataset, "where": "note = '5'"}}
        self.assertEqual(self.values(where, "k"), [5])
        asked = {"op": "dataset", "text": (self.place / "s.yaml").read_text(), "file_name": "s.yaml", "base_dir": str(self.place)}
        columns = json.loads(self.run_loader("inspect", stdin=json.dumps(asked)).stdout)["columns"]
        self.assertEqual({column["name"]: column["type"] for column in columns}["note"], "string")
        said = self.stream({**spec, "dataset": {**dataset, "types": {"nope": "double"}}}, code=4).stderr
        self.assertIn("dataset.types: no column 'nope'", said)
        said = self.stream({**spec, "dataset": {**dataset, "types": {"q": "decimal"}}}, code=4).stderr
        self.assertIn("decimals keep the type", said)

    def test_a_value_that_would_change_ends_the_read(self):
        self.write("day1.parquet", 0, q=pa.array([1.5, 2.0]))
        self.write("day2.parquet", 2, q=pa.array([7, LARGE], pa.int64()))
        spec = {"dataset": {"path": "day*.parquet"}, "features": {"carry": ["k", "q"]}}
        said = self.stream(spec, code=4).stderr
        self.assertIn(f"day2.parquet: row group 0, column 'q': Integer value {LARGE} not in range", said)
        self.assertIn("`dataset.types: {q: int64}`", said)
        said = self.stream({**spec, "dataset": {**spec["dataset"], "types": {"q": "int64"}}}, code=4).stderr
        self.assertIn("Float value 1.500000 was truncated", said)
        self.assertIn("as dataset.types.q says", said)

    def test_a_hash_a_text_and_a_key_of_integers_beside_doubles_are_refused(self):
        """Otherwise one new file would change the split of all old ones, because hash01(5) differs from hash01(5.0)."""
        self.days()
        (self.place / "side.csv").write_text("q,z\n1,2\n")
        dataset = {"path": "day*.parquet"}
        carry = {"features": {"carry": ["k"]}}
        refused = (({"dataset": {**dataset, "where": "hash01(k, q) < 0.9"}}, "dataset.where: hash01 of column 'q'"),
                   ({"dataset": {**dataset, "where": "cast(q as varchar) || 'x' <> '5x'"}}, "dataset.where: a text of column 'q'"),
                   ({"recipe": [{"derive": {"r": "q * 2"}}, {"filter": "cast(r as varchar) <> '4'"}]}, "a text of column 'r'"),
                   ({"recipe": [{"hash": {"column": "q", "buckets": 9}}]}, "recipe.hash: a hash of column 'q'"),
                   ({"recipe": [{"sample": {"keep": 0.5, "by": "q"}}]}, "recipe.sample: a hash of column 'q'"),
                   ({"recipe": [{"join": {"table": "side.csv", "on": {"q": "q"}, "take": ["z"]}}]}, "recipe.join: a join by column 'q'"))
        for use, wanted in refused:
            with self.subTest(use):
                said = self.stream({"dataset": dataset, **carry, **use}, code=4).stderr
                self.assertIn(wanted, said)
                self.assertIn(f"is int64 in {self.place}/day1.parquet and double in other files; `dataset.types: {{q: int64}}`", said)
        # These expressions depend only on values, or the spec gives one type to the column.
        for use in ({"dataset": {**dataset, "where": "q > 3 and hash01(k, q > 7, cast(q as bigint)) < 0.9"}},
                    {"dataset": {**dataset, "types": {"q": "int64"}, "where": "hash01(q) < 0.9"}}):
            self.stream({**carry, **use})
        one = {"dataset": {"path": "day1.parquet", "where": "hash01(q) < 0.9"}, **carry}
        self.assertEqual(self.values(one, "k"), [k for k in self.values({**carry, "dataset": {
            **dataset, "types": {"q": "int64"}, "where": "hash01(q) < 0.9"}}, "k") if k < ROWS])

    def test_texts_that_no_number_of_the_type_is_are_refused(self):
        for text, name, wanted in (("9007199254740993", "double", "'9007199254740993' is a whole number that double does not hold"),
                                   ("-9007199254740993.0", "double", "is a whole number that double does not hold"),
                                   ("16777217", "float", "is a whole number that float does not hold"),
                                   ("1e400", "double", "'1e400' is beyond the type's range"), ("0x10", "int64", "'0x10' is hexadecimal")):
            with self.subTest(text):
                self.write("t.parquet", 0, a=["1", "2", text])
                said = self.stream({"dataset": {"path": "t.parquet", "types": {"a": name}}, "features": {"carry": ["k", "a"]}}, code=4).stderr
                self.assertIn("t.parquet: row group 0, column 'a', row 2: ", said)
                self.assertIn(wanted, said)
                self.assertIn("as dataset.types.a says", said)
        self.write("t.parquet", 0, a=[1.0, 1e39])
        said = self.stream({"dataset": {"path": "t.parquet", "types": {"a": "float"}}, "features": {"carry": ["k", "a"]}}, code=4).stderr
        self.assertIn("row 1: 1e+39 is beyond the range of float", said)
        self.write("t.parquet", 0, a=["005", "-0", "0.1", "9007199254740992", "inf", None, "1e3"])
        self.assertEqual(self.values({"dataset": {"path": "t.parquet", "types": {"a": "double"}}, "features": {"carry": ["k", "a"]},
                                      "label": "k >= 0"}, "a"), [5.0, 0.0, 0.1, 2.0**53, float("inf"), None, 1000.0])

    def test_values_are_counted_in_the_files_of_the_plan_alone(self):
        self.write("day1.parquet", 0, q=pa.array(range(ROWS), pa.int64()))
        spec = {"dataset": {"path": "day*.parquet"}, "label": "k % 2 = 1", "features": {"ids": ["q"]}, "command": ["x"],
                "embeddings": {"q": {"vocabulary": "auto", "dim": 2}}}
        asked = {"op": "resolve", "text": json.dumps(spec), "file_name": "s.yaml", "base_dir": str(self.place)}
        run = json.loads(self.run_loader("inspect", stdin=json.dumps(asked)).stdout)["runs"][0]
        (self.place / "day2.parquet").write_bytes(b"PAR1 partial")
        asked = {"op": "count_values", "spec": run["spec"], "plan": json.dumps(run["plan"]), "progress": str(self.place / "progress")}
        counted = json.loads(self.run_loader("inspect", stdin=json.dumps(asked)).stdout)
        self.assertEqual(counted.get("errors"), None)
        self.assertEqual(counted["runs"][0]["spec"]["embeddings"]["q"]["rows"], ROWS + 1)

    def test_times_of_csv_files_keep_their_zone(self):
        (self.place / "z.csv").write_text("k,at,local\n0,2024-01-31T10:00:00+01:00,2024-01-31 10:00:00\n1,,2024-02-01 00:00:00\n")
        self.stream({"dataset": {"path": "z.csv"}, "features": {"carry": ["k", "at", "local"]}}, "--rows", "--sink", "parquet",
                    "--output", "out", "--force")
        table = pq.read_table(self.place / "out")
        self.assertEqual(table["at"].type, pa.timestamp("us", "UTC"))
        self.assertEqual(str(table["at"][0].as_py()), "2024-01-31 09:00:00+00:00")
        self.assertEqual(table["local"].type, pa.timestamp("us"))


if __name__ == "__main__":
    unittest.main()
