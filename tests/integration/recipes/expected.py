"""The rows and columns that a recipe must give, computed by DuckDB and by the definitions in reference.py."""
import functools
import re

import duckdb
import pyarrow as pa

import files
import reference
import tables


class Unanswered(Exception):
    """DuckDB refuses the recipe: there is nothing to compare with."""


def as_duckdb(query):
    """Makes DuckDB refuse a date with more text behind it, as the loader does (docs/reference/spec.md); DuckDB would cast it."""
    return re.sub(r"try_cast\((\w+) as date\)",
                  r"(case when regexp_full_match(\1, '[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast(\1 as date) end)", query)


def as_calculated(table):
    """Turns decimals into doubles and all kinds of lists into list<int64>, as the loader computes with them."""
    for i, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            values = [None if v is None else float(v) for v in table.column(i).to_pylist()]
            table = table.set_column(i, field.name, pa.array(values, pa.float64()))
        elif pa.types.is_list_view(field.type) or pa.types.is_fixed_size_list(field.type):
            table = table.set_column(i, field.name, pa.array(table.column(i).to_pylist(), pa.list_(pa.int64())))
    return table


def base_table(case):
    """All rows with their file, row and weight, as the loader sees them."""
    made, types = [], case.text.types if case.text else {}
    for number, (name, table, _) in enumerate(case.data.files):
        table, rows = as_calculated(table), table.num_rows
        for i, field in enumerate(table.schema):
            if field.name in types:
                table = table.set_column(i, field.name, pa.array(table.column(i).to_pylist(), files.CSV_TYPES[types[field.name]]))
        if "p" in case.data.kinds:
            kind = {"i32": pa.int64(), "s": pa.string(), "d": pa.date32()}[case.data.kinds["p"]]
            table = table.append_column("p", pa.array([case.data.directory[name]] * rows, kind))
        table = table.append_column("_file", pa.array([number] * rows)).append_column("_row", pa.array(range(rows)))
        made.append(table.append_column("_weight", pa.array([1.0] * rows, pa.float64())))
    return pa.concat_tables(made)


@functools.cache
def database():
    """One connection for all recipes: to open one takes longer than most recipes."""
    db = duckdb.connect(config={"threads": 1})
    db.execute("set timezone = 'UTC'")
    db.execute("pragma disable_optimizer")  # on few rows the optimizer takes as long as the rest of a query
    return db


class Expected:
    """The rows of an epoch. Read them before you make the next object: all share one connection."""

    def __init__(self, case, epoch):
        self.case, self.epoch, self.db = case, epoch, database()
        self.db.register("base", base_table(case))
        for name, table in case.sides.items():
            self.db.register(self.side(name), as_calculated(table).append_column("_n", pa.array(range(table.num_rows))))
        self.count, self.described = 0, {}
        try:
            self.now = "base"
            if case.where:
                self.make(f"select * from base where {case.where}")
            for step in case.steps:
                self.apply(*next(iter(step.items())))
        except duckdb.Error as error:
            raise Unanswered(str(error)) from error

    @staticmethod
    def side(name):
        return re.sub(r"\W", "_", name)

    def types(self):
        """DuckDB's name of each column's type."""
        if self.now not in self.described:
            self.described[self.now] = {row[0]: row[1] for row in self.db.execute(f"describe {self.now}").fetchall()}
        return self.described[self.now]

    def make(self, query):
        self.count += 1
        self.db.execute(f"create or replace temp table t{self.count} as {as_duckdb(query)}")
        self.now = f"t{self.count}"

    def with_columns(self, made, query_from=None):
        old = self.types()
        replaced = ", ".join(f"{text} as {name}" for name, text in made.items() if name in old)
        added = "".join(f", {text} as {name}" for name, text in made.items() if name not in old)
        star = "m.*" + (f" replace ({replaced})" if replaced else "")
        self.make(f"select {star}{added} from {query_from or self.now + ' m'}")

    def apply(self, kind, step):
        if kind == "filter":
            self.make(f"select * from {self.now} where {step}")
        elif kind == "derive":
            self.with_columns(step)
        elif kind == "weight":
            self.with_columns({"_weight": f"_weight * cast({step} as double)"})
        elif kind == "select":
            self.make(f"select {', '.join([*step, '_file', '_row', '_weight'])} from {self.now}")
        elif kind == "join":
            self.join(step)
        elif kind in ("semi_join", "anti_join"):
            (left, right), = step["on"].items()
            word = "exists" if kind == "semi_join" else "not exists"
            self.make(f"select * from {self.now} m where {word} (select 1 from {self.side(step['table'])} s where m.{left} = s.{right})")
        elif kind == "sample":
            self.sample(step)
        elif kind == "truncate":
            first, length = step["from"] == "first", step["length"]
            self.replace_values(step, lambda v: v[:length] if first else v[max(0, len(v) - length):], of_lists=True)
        elif kind == "hash":
            self.replace_values(step, lambda v: reference.hashed_id(v, step["buckets"], step["seed"]))
        else:
            self.replace_values(step, lambda v: 0 if v is None else 1 + sum(b <= v for b in step["boundaries"]))

    def join(self, step):
        """Joins the first row of each key; with as_of, the first row of each key and time."""
        (left, right), = step["on"].items()
        as_of = step.get("as_of")
        same = f"{right}, since" if as_of else right
        side = (f"(select * from {self.side(step['table'])} where {right} is not null{' and since is not null' if as_of else ''} "
                f"qualify row_number() over (partition by {same} order by _n) = 1)")
        take = {n: f"s.{v}" if v.isidentifier() else v.replace("(", "(s.") for n, v in step["take"].items()}
        if not as_of:
            join = "join" if step["missing"] == "drop" else "left join"
            return self.with_columns(take, f"{self.now} m {join} {side} s on m.{left} = s.{right}")
        time, tolerance = f"m.{as_of['left']}", as_of["tolerance"]
        is_time = self.classes()[as_of["left"]] in ("date", "time")
        begin, end = (f"epoch_us({t}::timestamp)::hugeint" if is_time else f"{t}::hugeint" for t in ("s.since", time))
        limit = int(round(tolerance * 1e6)) if is_time else int(tolerance)
        found = f"s._n is not null and {time} is not null"  # DuckDB's asof join finds a partner for a null
        found += f" and {end} - {begin} <= {limit}" if limit > 0 else ""
        times = (f"{time}::timestamp", "s.since::timestamp") if is_time else (f"{time}::bigint", "s.since::bigint")
        made = {n: f"case when {found} then {text} end" for n, text in take.items()}
        self.with_columns({**made, "_found": found}, f"{self.now} m asof left join {side} s on m.{left} = s.{right} and {times[0]} >= {times[1]}")
        self.make(f"select * exclude (_found) from {self.now}" + (" where _found" if step["missing"] == "drop" else ""))

    def sample(self, step):
        by = step.get("by")
        columns = ", ".join(["k", "_file", "_row", f"coalesce({as_duckdb(step.get('where', 'true'))}, false)", *(by or [])])
        rows = self.db.execute(f"select {columns} from {self.now}").fetchall()
        paths, seed = [name for name, _, _ in self.case.data.files], self.case.batch["seed"]
        drew = [(k, draws) for k, file, row, draws, *values in rows
                if not draws or reference.stays(seed, step, self.epoch, paths[file], row, values if by else None)]
        factor = [1 / step["keep"] if draws and step.get("weight") == "inverse" else 1.0 for _, draws in drew]
        self.db.register(f"kept{self.count}", pa.table({"k": pa.array([k for k, _ in drew], pa.int64()), "f": pa.array(factor, pa.float64())}))
        self.make(f"select m.* replace (m._weight * x.f as _weight) from {self.now} m join kept{self.count} x on m.k = x.k")

    def replace_values(self, step, function, of_lists=False):
        """Replaces each value by `function` of it; applies it to each element of a list unless `of_lists`. A null list stays null."""
        source, target = step["column"], step.get("as", step["column"])
        rows = self.db.execute(f"select k, {source} from {self.now}").fetchall()
        kind = pa.int64()
        if self.classes()[source] == "list":
            kind, of_one = pa.list_(pa.int64()), function
            function = lambda v: None if v is None else of_one(v) if of_lists else [of_one(e) for e in v]  # noqa: E731
        made = pa.table({"k": pa.array([k for k, _ in rows], pa.int64()), "made": pa.array([function(v) for _, v in rows], kind)})
        self.db.register(f"made{self.count}", made)
        self.with_columns({target: "x.made"}, f"{self.now} m join made{self.count} x on m.k = x.k")

    def classes(self):
        """The class of each column as in tables.CLASS; floats are "single"."""
        words = {"VARCHAR": "text", "BOOLEAN": "bool", "DATE": "date", "TIMESTAMP": "time", "DOUBLE": "real", "FLOAT": "single"}
        return {name: "list" if kind.endswith("]") else words.get(kind, "real" if kind.startswith("DECIMAL") else "int")
                for name, kind in self.types().items()}

    def rows(self, columns):
        names = ", ".join(["_file", "_row", *columns])
        try:
            return {(row[0], row[1]): row[2:] for row in self.db.execute(f"select {names} from {self.now}").fetchall()}
        except duckdb.Error as error:
            raise Unanswered(str(error)) from error


# The plan: splits, requests, partitions, and splits that need not be read.

def splits_of(case):
    """(file, path, first row, rows, partition) of each split in file order."""
    made, by = [], case.batch["order"]["by"] if isinstance(case.batch["order"], dict) else None
    for file, (name, table, size) in enumerate(case.data.files):
        for first in range(0, table.num_rows, size):
            rows = min(size, table.num_rows - first)
            value = None if by is None else case.data.directory[name] if by == "p" else table.column(by)[first].as_py()
            made.append((file, name, first, rows, value))
    values = sorted({s[4] for s in made if s[4] is not None}, key=lambda v: v.encode() if isinstance(v, str) else v)
    return [(*s[:4], values.index(s[4]) if s[4] is not None else len(values)) for s in made]


def requests_of(case):
    if not case.request:
        return None
    return {(file, row): start for file, (_, table, _) in enumerate(case.data.files)
            for row, start in enumerate(reference.request_starts(table.column(case.request).to_pylist()))}


def is_ruled_out(condition, values):
    """Whether the bounds of a split's values show that no row fulfils `condition`; False unless it is `column op literal`."""
    found = re.fullmatch(r"\(?(\w+) (<|<=|>|>=|=) (?:(-?\d+)|(?:date |timestamp )?'(.*)')\)?", condition)
    if found is None or found[1] not in values:
        return False
    known = [str(v) if found[4] is not None else v for v in values[found[1]] if v is not None]
    value = found[4] if found[4] is not None else int(found[3])
    if not known or isinstance(known[0], str) != isinstance(value, str):
        return not known
    low, high = min(known), max(known)
    return {"<": low >= value, "<=": low > value, ">": high <= value, ">=": high < value, "=": value < low or value > high}[found[2]]


def rows_ruled_out(case, splits):
    """Number of rows in splits that cannot pass the first filters, judged by the bounds of row groups and by directories. The
    loader must not read these rows, and may skip more."""
    filters = [case.where] if case.where else []
    for step in case.steps:
        if "filter" not in step:
            break
        filters.append(step["filter"])
    rows = 0
    for file, name, first, count, _ in splits:
        values = {"p": [case.data.directory[name]]} if "p" in case.data.kinds else {}
        if case.data.format == "parquet":
            table = case.data.files[file][1]
            values |= {n: table.column(n).slice(first, count).to_pylist() for n in tables.CLUSTERED if n in table.column_names}
        rows += count if any(is_ruled_out(condition, values) for condition in filters) else 0
    return rows
