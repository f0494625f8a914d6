#!/usr/bin/env python3
"""CSV files as people write them: the rows that `millrace-loader stream --rows` writes are those that DuckDB reads."""
import datetime
import gzip
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from loader_case import LoaderCase  # noqa: E402
try:
    import duckdb
    import pyarrow.parquet as pq
    MISSING = ""
except ImportError as error:
    MISSING = f"packaging/setup --tests was not run: {error}"


@unittest.skipIf(MISSING, MISSING)
class Csv(LoaderCase):
    def rows(self, path, csv):
        """Columns and rows as the loader reads them."""
        self.stream({"dataset": {"path": path, "csv": csv}, "features": {"carry": ["k"]}},
                    "--rows", "--sink", "parquet", "--output", "out", "--force")
        table = pq.read_table(self.place / "out")
        return table.column_names, list(zip(*(table[c].to_pylist() for c in table.column_names)))

    def compare(self, name, text, csv, options, columns="*"):
        """`options`: options of DuckDB's read_csv; `columns`: the selected columns, times as microseconds since 1970."""
        data = text.encode() if isinstance(text, str) else text
        (self.place / name).write_bytes(data)
        names, mine = self.rows(name, csv)
        said = "".join(f", {key}={value}" for key, value in options.items())
        query = duckdb.sql(f"select {columns} from read_csv('{self.place / name}', header=true{said})")
        start = datetime.datetime(1970, 1, 1)
        micros = datetime.timedelta(microseconds=1)
        mine = [tuple((v.replace(tzinfo=None) - start) // micros if isinstance(v, datetime.datetime) else v for v in row)
                for row in mine]
        self.assertEqual(names, query.columns)
        self.assertEqual(mine, query.fetchall())

    def test_dialects_are_read_as_duckdb_reads_them(self):
        cases = {
            "semicolons, decimal commas": (
                "a.csv", "k;x;s\n1;1,5;a\n2;-0,25;b,c\n3;;\"q;r\"\n4;3;d\n", {"delimiter": ";", "decimal_comma": True},
                {"delim": "';'", "decimal_separator": "','"}),
            "tabs": ("a.tsv", "k\ts\n1\ta,b\n2\t\"c\td\"\n", {}, {"delim": "'\t'"}),
            "quotes of another kind": ("a.csv", "k,s\n1,'a,b'\n2,'it''s'\n3,\"x\n", {"quote": "'"},
                                       {"quote": "''''", "escape": "''''", "delim": "','"}),
            "comments and lines before": (
                "a.csv", "made by hand\nin May\nk,s\n1,a\n#2,b\n3,c\n", {"skip_rows": 2, "comment": "#"},
                {"skip": 2, "comment": "'#'", "delim": "','"}),
            "words for null": ("a.csv", "k,x,s\n1,-,-\n2,3,NA\n3,?,x\n", {"null_values": ["-", "?"]},
                               {"nullstr": "['-', '?', '']", "delim": "','"}),
            "bars, crlf": ("a.csv", "k|s|d\r\n1|a|2024-01-31\r\n2|\"b\r\nc\"|\r\n", {"delimiter": "|"},
                           {"delim": "'|'", "new_line": "'\\r\\n'"}),
            "times with offsets": (
                "a.csv", "k,t\n1,2024-01-01T00:00:00Z\n2,2024-01-01 02:30:00.5+02:30\n3,2023-12-31T19:00:00-05\n", {},
                {"delim": "','", "types": "{'t': 'TIMESTAMPTZ'}"}, "k, epoch_us(t) as t"),
            "gzip": ("a.csv.gz", gzip.compress(b"k,x\n1,2.5\n2,1e3\n"), {}, {"delim": "','"}),
        }
        for name, case in cases.items():
            with self.subTest(name):
                self.compare(*case)

    def test_a_side_table_of_several_files_in_a_dialect_of_its_own(self):
        (self.place / "f.csv").write_text("k,g\n" + "".join(f"{i},{i % 5}\n" for i in range(50)))
        for n in range(2):
            (self.place / f"t-{n}.csv").write_text(
                "# a table\ng;v\n" + "".join(f"{g};{g},5\n" for g in range(5) if g % 2 == n))
        spec = {"dataset": {"path": "f.csv"},
                "recipe": [{"join": {"table": "t-*.csv", "on": {"(g + 1) % 5": "g"}, "take": ["v"],
                                     "csv": {"delimiter": ";", "decimal_comma": True, "comment": "#"}}}],
                "features": {"carry": ["k", "v"]}}
        self.stream(spec, "--sink", "parquet", "--output", "out")
        wanted = duckdb.sql(f"""select k, v from '{self.place}/f.csv' f join
            read_csv('{self.place}/t-*.csv', delim=';', decimal_separator=',', comment='#', header=true) t
            on (f.g + 1) % 5 = t.g order by k""").fetchall()
        table = pq.read_table(self.place / "out").sort_by("k")
        self.assertEqual(list(zip(table["k"].to_pylist(), table["v"].to_pylist())), wanted)


if __name__ == "__main__":
    unittest.main(verbosity=2)
