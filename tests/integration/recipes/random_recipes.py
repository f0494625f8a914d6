#!/usr/bin/env python3
"""Random recipes: what the loader streams against an independent computation (reference.py, DuckDB).

  random_recipes.py [--seed 1] [--count 200] [--minutes M] [--keep DIR] [--without TYPES] [--stop-after N]

Case number i is a pure function of seed + i. A mismatch is made small (steps and columns are left out while it stays) and
printed with its spec; with --keep its files are left in DIR. Exit code 1 when anything differs."""
import argparse
import copy
import datetime
import decimal
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DEPS = Path(os.environ.get("MILLRACE_DEPS_DIR", ROOT / ".deps"))
for wheels in ("test-wheels", "wheels"):
    sys.path.append(str(DEPS / wheels))
sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
try:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    sys.exit(print(f"skipped 'packaging/setup --tests was not run: {missing}'"))

import generator
import reference

LOADER = Path(os.environ.get("MILLRACE_BIN_DIR", ROOT / "build/release/bin")) / "millrace-loader"
EMPTY = {"int": 0, "real": 0.0, "text": "", "bool": False, "list": [], "date": datetime.date(1970, 1, 1),
         "time": datetime.datetime(1970, 1, 1)}


def as_duckdb(query):
    """A text with anything behind its date is no date here; DuckDB takes it for one (docs/reference/spec.md)."""
    return re.sub(r"try_cast\((\w+) as date\)",
                  r"(case when regexp_full_match(\1, '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(\1 as date) end)", query)


class Difference(Exception):
    pass


class Unanswered(Exception):
    """DuckDB refuses it too: nothing to compare."""


def write_files(case, directory):
    data = directory / "data"
    data.mkdir()
    for name, table, rows in case.files:
        if case.format == "parquet":
            pq.write_table(table, data / name, row_group_size=rows, write_page_index=case.hasIndex)
        else:
            with pa.OSFile(str(data / name), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table, max_chunksize=rows)
    for name, table in case.sides.items():
        pq.write_table(table, directory / name)


# What is expected.

def base_table(case):
    """All rows with their file and row, as Millrace sees them: decimals are doubles."""
    tables = []
    for number, (_, table, _) in enumerate(case.files):
        for i, field in enumerate(table.schema):
            if pa.types.is_decimal(field.type):
                exact = [None if v is None else float(v) for v in table.column(i).to_pylist()]
                table = table.set_column(i, field.name, pa.array(exact, pa.float64()))
            elif pa.types.is_list_view(field.type):
                table = table.set_column(i, field.name, pa.array(table.column(i).to_pylist(), pa.list_(pa.int64())))
        rows = table.num_rows
        tables.append(table.append_column("_file", pa.array([number] * rows)).append_column("_row", pa.array(range(rows))))
    return pa.concat_tables(tables)


class Expected:
    def __init__(self, case):
        self.case, self.db = case, duckdb.connect()
        self.db.execute("set timezone = 'UTC'")
        self.db.register("base", base_table(case))
        for name, table in case.sides.items():
            for i, field in enumerate(table.schema):
                if pa.types.is_decimal(field.type):
                    table = table.set_column(i, field.name, pa.array([float(v) for v in table.column(i).to_pylist()], pa.float64()))
            self.db.register(name.replace("-", "_").replace(".parquet", ""), table)
        self.count = 0
        try:
            self.now = "base"
            if case.where:
                self.make(f"select * from base where {case.where}")
            for step in case.steps:
                self.apply(*next(iter(step.items())))
        except duckdb.Error as error:
            raise Unanswered(str(error)) from error

    def columns(self):
        return [row[0] for row in self.db.execute(f"describe {self.now}").fetchall()]

    def make(self, query):
        self.count += 1
        self.db.execute(f"create temp table t{self.count} as {as_duckdb(query)}")
        self.now = f"t{self.count}"

    def with_columns(self, made, query_from=None):
        old = self.columns()
        replaced = ", ".join(f"{text} as {name}" for name, text in made.items() if name in old)
        added = "".join(f", {text} as {name}" for name, text in made.items() if name not in old)
        star = "m.*" + (f" replace ({replaced})" if replaced else "")
        self.make(f"select {star}{added} from {query_from or self.now + ' m'}")

    def apply(self, kind, step):
        if kind == "filter":
            self.make(f"select * from {self.now} where {step}")
        elif kind == "derive":
            self.with_columns(step)
        elif kind in ("join", "semi_join", "anti_join"):
            table = step["table"].replace("-", "_").replace(".parquet", "")
            (left, right), = step["on"].items()
            if kind == "join":
                join = "join" if step["missing"] == "drop" else "left join"
                self.with_columns({n: f"s.{v}" for n, v in step["take"].items()}, f"{self.now} m {join} {table} s on m.{left} = s.{right}")
            else:
                word = "exists" if kind == "semi_join" else "not exists"
                self.make(f"select * from {self.now} m where {word} (select 1 from {table} s where m.{left} = s.{right})")
        elif kind == "sample":
            self.sample(step)
        elif kind == "hash":
            self.replace_values(step, lambda v: reference.hashed_id(v, step["buckets"], step["seed"]))
        else:
            self.replace_values(step, lambda v: 0 if v is None else 1 + sum(b <= v for b in step["boundaries"]))

    def sample(self, step):
        by = step.get("by")
        columns = ", ".join(["k", "_file", "_row", f"coalesce({step.get('where', 'true')}, false)", *(by or [])])
        rows = self.db.execute(f"select {columns} from {self.now}").fetchall()
        paths, seed = [name for name, _, _ in self.case.files], self.case.batch["seed"]
        kept = [k for k, file, row, draws, *values in rows
                if not draws or reference.stays(seed, step, 0, paths[file], row, values if by else None)]
        self.db.register(f"kept{self.count}", pa.table({"k": pa.array(kept, pa.int64())}))
        self.make(f"select * from {self.now} where k in (select k from kept{self.count})")

    def replace_values(self, step, function):
        source, target = step["column"], step.get("as", step["column"])
        rows = self.db.execute(f"select k, {source} from {self.now}").fetchall()
        made = pa.table({"k": pa.array([k for k, _ in rows], pa.int64()), "made": pa.array([function(v) for _, v in rows], pa.int64())})
        self.db.register(f"made{self.count}", made)
        self.with_columns({target: "x.made"}, f"{self.now} m join made{self.count} x on m.k = x.k")

    def classes(self):
        """By column what its type is, as generator.CLASS calls it."""
        words = {"VARCHAR": "text", "BOOLEAN": "bool", "DATE": "date", "TIMESTAMP": "time", "DOUBLE": "real", "FLOAT": "real"}
        return {row[0]: "list" if row[1].endswith("]") else words.get(row[1], "real" if row[1].startswith("DECIMAL") else "int")
                for row in self.db.execute(f"describe {self.now}").fetchall()}

    def rows(self, columns):
        names = ", ".join(["_file", "_row", *columns])
        try:
            return {(row[0], row[1]): row[2:] for row in self.db.execute(f"select {names} from {self.now}").fetchall()}
        except duckdb.Error as error:
            raise Unanswered(str(error)) from error


# What came.

def run(case, directory, path, *arguments):
    spec = directory / "spec.yaml"
    spec.write_text(json.dumps(case.spec(path)))
    environment = {**os.environ, "XDG_CACHE_HOME": str(directory / "cache"), "TZ": "UTC"}
    done = subprocess.run([LOADER, "stream", spec, "--json", "--threads", str(case.threads), *arguments], capture_output=True, text=True,
                          timeout=120, env=environment, cwd=directory)
    if done.returncode != 0:
        raise Difference(f"error: exit {done.returncode}: {done.stderr.strip()[-600:]}")
    return json.loads(done.stdout)


def table_of(directory):
    parts = [pq.read_table(part) for part in sorted(directory.glob("*.parquet"))]
    return pa.concat_tables(parts) if parts else None


def streamed(case, directory):
    """The table and the order hash; in two parts where the case resumes."""
    path = str(directory / "data")
    if not case.resumeAfter:
        report = run(case, directory, path, "--sink", "parquet", "--output", str(directory / "out"))
        return table_of(directory / "out"), report["order_hash"]
    first = run(case, directory, path, "--sink", "parquet", "--output", str(directory / "out1"), "--micro-batches", str(case.resumeAfter))
    cursor = first["cursor"]
    cursor = cursor if isinstance(cursor, str) else json.dumps(cursor)
    second = run(case, directory, path, "--sink", "parquet", "--output", str(directory / "out2"), "--from", cursor)
    parts = [t for t in (table_of(directory / "out1"), table_of(directory / "out2")) if t is not None]
    total = (int(first["order_hash"], 16) + int(second["order_hash"], 16)) & reference.MASK128
    return pa.concat_tables(parts) if parts else None, "%032x" % total


def same(want, got, kind):
    if want is None:
        return got is None or same(EMPTY[kind], got, kind)
    if got is None:
        return False
    if kind == "list":
        return [w or 0 for w in want] == list(got)
    if kind == "real":
        want, got = float(want), float(got)
        return want == got or (math.isnan(want) and math.isnan(got))
    if kind == "text":
        return want == got
    if kind == "date":
        return type(got) is datetime.date and want == got
    if kind == "time":
        return isinstance(got, datetime.datetime) and want == got.replace(tzinfo=None)
    if kind == "bool":
        return isinstance(got, bool) and want == got
    return int(want) == got


def as_float32(value):
    try:
        return pa.array([float(value)], pa.float64()).cast(pa.float32(), safe=False)[0].as_py()
    except (OverflowError, ValueError):
        return value


def compare(case, directory):
    expected = Expected(case)
    names = list(dict.fromkeys(case.carry + case.dense + case.ids))
    want, classes = expected.rows(names), expected.classes()
    splits = [(f, name, first, min(size, table.num_rows - first)) for f, (name, table, size) in enumerate(case.files)
              for first in range(0, table.num_rows, size)]
    batches = reference.sequence(splits, want, case.batch, case.batch["seed"], 0)
    table, order_hash = streamed(case, directory)
    order = [row for batch in batches for row in batch]
    rows = 0 if table is None else table.num_rows
    if rows != len(order):
        raise Difference(f"{rows} rows instead of {len(order)}")
    if order_hash != reference.order_hash([batches]):
        raise Difference(f"order hash {order_hash} instead of {reference.order_hash([batches])}")
    if rows == 0:
        return
    features = set(case.dense) | set(case.ids)
    checks = [(n, n + ".carry" if n in features else n, lambda v, g, n=n: same(v, g, classes[n])) for n in case.carry]
    checks += [(n, n, lambda v, g: same(0.0 if v is None else as_float32(v), g, "real")) for n in case.dense if n not in case.ids]
    checks += [(n, n, lambda v, g, n=n: (v if n in case.coded else reference.hashed_id(v, 97)) == g) for n in case.ids if n not in case.dense]
    for name, exported, check in checks:
        if exported not in table.column_names:
            raise Difference(f"no column {exported} among {table.column_names}")
        at = names.index(name)
        try:
            values = table.column(exported).to_pylist()
        except (OverflowError, ValueError) as error:
            raise Difference(f"column {exported} ({table.schema.field(exported).type}): {error}") from error
        for place, value in zip(order, values):
            if not check(want[place][at], value):
                raise Difference(f"column {exported} ({table.schema.field(exported).type}), row {place}: {value!r} instead of {want[place][at]!r}")


def outcome(case, keep=None):
    """None when all is equal, "unanswered", or what differs."""
    with tempfile.TemporaryDirectory(prefix="millrace-recipes-") as name:
        directory = Path(name)
        write_files(case, directory)
        try:
            compare(case, directory)
            return None
        except Unanswered:
            return "unanswered"
        except Difference as difference:
            if keep is not None:
                shutil.copytree(directory, keep, dirs_exist_ok=True)
            return str(difference)


def smaller(case):
    """Cases with one thing less."""
    def without(change):
        other = copy.copy(case)
        change(other)
        return other
    for i in range(len(case.steps)):
        yield without(lambda c, i=i: setattr(c, "steps", c.steps[:i] + c.steps[i + 1:]))
        made = case.steps[i].get("derive", {})
        for name in made if len(made) > 1 else ():
            less = {"derive": {n: text for n, text in made.items() if n != name}}
            yield without(lambda c, i=i, less=less: setattr(c, "steps", [*c.steps[:i], less, *c.steps[i + 1:]]))
    for field in ("ids", "dense", "carry"):
        for name in getattr(case, field):
            if field != "carry" or name != "k":
                yield without(lambda c, f=field, n=name: setattr(c, f, [m for m in getattr(c, f) if m != n]))
    if case.where:
        yield without(lambda c: setattr(c, "where", ""))
    if case.resumeAfter:
        yield without(lambda c: setattr(c, "resumeAfter", 0))
    if len(case.files) > 1:
        yield without(lambda c: setattr(c, "files", c.files[:1]))


def kind_of(difference):
    return difference.split(":")[0].split(",")[0].split(" hash")[0][:12]


def shrink(case, difference):
    for _ in range(60):
        for other in smaller(case):
            now = outcome(other)
            if now not in (None, "unanswered") and kind_of(now) == kind_of(difference):
                case, difference = other, now
                break
        else:
            break
    return case, difference


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--keep")
    parser.add_argument("--without", default="", help="types of columns to leave out, as in dec,ts")
    parser.add_argument("--stop-after", type=int, default=5, help="mismatches")
    options = parser.parse_args()
    begin, found, unanswered, done = time.monotonic(), 0, 0, 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() - begin > 60 * options.minutes or found >= options.stop_after:
            break
        case = generator.Case(seed, options.without.split(","))
        difference = outcome(case)
        done += 1
        unanswered += difference == "unanswered"
        if difference in (None, "unanswered"):
            continue
        found += 1
        case, difference = shrink(case, difference)
        print(f"seed {seed}: {difference}\n  " + json.dumps(case.spec("data")), flush=True)
        if options.keep:
            outcome(case, Path(options.keep) / str(seed))
    print(f"specs={done} unanswered={unanswered} mismatches={found} seeds={options.seed}..{options.seed + done - 1} "
          f"seconds={time.monotonic() - begin:.0f}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
