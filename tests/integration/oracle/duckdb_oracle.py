#!/usr/bin/env python3
"""Random expressions over random data, evaluated by the loader's evaluator and by DuckDB.

    duckdb_oracle.py PROBE WHEELS [SEED [EXPRESSIONS]]

Ends with 0 when both agree on every value, or both refuse. The seed is printed; a failure prints the
expression, the row and both values. What is meant to differ from DuckDB is written differently for
it, once, in DIFFERENCES below and in Maker; nothing else is excepted.
"""

import json
import math
import random
import subprocess
import sys
import tempfile

ROWS = 120
COLUMNS = {
    "a": "int", "b": "int", "n": "bigint", "m": "bigint", "x": "double", "y": "double",
    "s": "varchar", "t": "varchar", "p": "boolean", "q": "boolean", "w": "timestamp",
    "u": "date", "li": "bigint[]", "ls": "varchar[]",
}

# Documented differences from DuckDB, and the expression that makes DuckDB compute the same.
DIFFERENCES = {
    "a literal with a point is a double": "{0}::double",
    "halves are rounded to even when a float is cast to an integer": "round_even({0}, 0)",
    "date_trunc of a date is a timestamp": "{0}::timestamp",
    "dates become timestamps before a part is taken": "{0}::timestamp",
    "log1p is not in DuckDB": "ln(1 + {0})",
    "sqrt and logarithms below zero are NaN, not an error": "arguments are kept above zero",
    "a null that DuckDB knows beforehand hides errors beside it": "all its values are null",
    "a timestamp is UTC: at time zone gives the zone's clocks": "{0}::timestamptz",
    "casts of text to a number allow no underscores or hexadecimals": "not generated",
}

TEXTS = ["", " ", "a", "b|c", "Toy Story (1995)", "a|b|c", "  pad ", "ALL", "é|ü", "12", "-7", "3.5",
         "x_y%z", "2024-02-29", "aaa", "|", "1.2.2024", "Feb 1, 2024 3:05 PM", "02/01/24"]


class Maker:
    """Makes pairs of texts (ours, DuckDB's) of a wanted type."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, *options):
        return self.rng.choice(options)

    def make(self, kind, depth):
        if depth <= 0 or self.rng.random() < 0.12:
            return self.leaf(kind)
        return getattr(self, kind)(depth - 1)

    def leaf(self, kind):
        rng = self.rng
        columns = {"bool": ["p", "q"], "int": ["a", "b"], "long": ["n", "m"], "real": ["x", "y"],
                   "text": ["s", "t"], "time": ["w"], "date": ["u"], "longs": ["li"],
                   "texts": ["ls"]}[kind]
        if rng.random() < 0.7 or kind in ("longs", "texts"):
            name = rng.choice(columns)
            return name, name
        if kind == "bool":
            return self.both(rng.choice(["true", "false"]))
        if kind in ("int", "long"):
            return self.both(str(rng.choice([0, 1, 2, 3, 7, -1, -5, 100])))
        if kind == "real":
            text = rng.choice(["0.5", "1.25", "-3.75", "2.0", "100.0"])
            return text, f"({text}::double)"
        if kind == "text":
            return self.both("'" + rng.choice(TEXTS).replace("'", "''") + "'")
        if kind == "time":
            return self.both("timestamp '2024-02-29 12:34:56'")
        return self.both("date '2023-12-31'")

    @staticmethod
    def both(text):
        return text, text

    def varying_text(self):
        """A text expression that is not constant: DuckDB would know a constant null when it compiles."""
        return self.both(self.pick("s", "t", "trim(s)", "split_part(t, '|', 1)", "left(s, 2)"))

    def call(self, form, *parts):
        """Applies `form`, with {0}, {1} ..., to both texts."""
        return (form.format(*(p[0] for p in parts)), form.format(*(p[1] for p in parts)))

    def same(self, depth):
        kind = self.pick("int", "long", "real", "text", "bool", "time", "date")
        return kind, [self.make(kind, depth) for _ in range(3)]

    def bool(self, d):
        kind = self.rng.randrange(14)
        if kind < 3:
            _, parts = self.same(d)
            return self.call("({0} %s {1})" % self.pick("=", "<>", "<", "<=", ">", ">="), *parts)
        if kind < 6:
            return self.call("({0} %s {1})" % self.pick("and", "or"), self.make("bool", d),
                             self.make("bool", d))
        if kind == 6:
            return self.call("(not {0})", self.make("bool", d))
        if kind == 7:
            _, parts = self.same(d)
            return self.call("({0} is %s)" % self.pick("null", "not null"), *parts)
        if kind == 8:
            _, parts = self.same(d)
            return self.call("({0} %s ({1}, {2}))" % self.pick("in", "not in"), *parts)
        if kind == 9:
            number = self.pick("int", "long", "real")
            return self.call("({0} %s {1} and {2})" % self.pick("between", "not between"),
                             *(self.make(number, d) for _ in range(3)))
        if kind == 10:
            pattern = self.pick("a%", "%(____)", "_", "%|%", "", "%", "_l_", "ALL")
            return self.call("({0} %s '%s')" % (self.pick("like", "not like"), pattern),
                             self.make("text", d))
        if kind == 11:
            return self.call(self.pick("starts_with({0}, {1})", "ends_with({0}, {1})",
                                       "contains({0}, {1})"), self.make("text", d),
                             self.make("text", d))
        if kind == 12:
            return self.call(self.pick("list_contains({0}, {1})", "contains({0}, {1})"),
                             *self.pick((self.make("longs", d), self.make("long", d)),
                                        (self.make("texts", d), self.make("text", d))))
        return self.call(self.pick("regexp_matches({0}, '[0-9]+')", "regexp_matches({0}, '^a')"),
                         self.make("text", d))

    def integer(self, kind, d):
        choice = self.rng.randrange(9)
        if choice < 3:
            return self.call("({0} %s {1})" % self.pick("+", "-", "*", "//", "%"),
                             self.make(kind, d), self.make(kind, d))
        if choice == 3:
            return self.call(self.pick("abs({0})", "coalesce({0}, {1})", "nullif({0}, {1})",
                                       "greatest({0}, {1})", "least({0}, {1})", "(- {0})"),
                             self.make(kind, d), self.make(kind, d))
        if choice == 4:
            return self.call("case when {0} then {1} else {2} end", self.make("bool", d),
                             self.make(kind, d), self.make(kind, d))
        if choice == 5:
            return self.call("case {0} when {1} then {2} when {2} then {0} end",
                             *(self.make(kind, d) for _ in range(3)))
        return None

    def int(self, d):
        made = self.integer("int", d)
        if made:
            return made
        choice = self.rng.randrange(4)
        if choice == 0:
            return self.call("cast({0} as int)", self.make("bool", d))
        if choice == 1:
            return self.call("try_cast({0} as int)", self.varying_text())
        if choice == 2:
            ours, duck = self.make("real", d)
            return f"try_cast({ours} as int)", f"try_cast(round_even({duck}, 0) as int)"
        return self.call("try_cast({0} as int)", self.make("long", d))

    def long(self, d):
        made = self.integer("long", d)
        if made:
            return made
        choice = self.rng.randrange(6)
        if choice == 0:
            return self.call("cast({0} as bigint)", self.make("int", d))
        if choice == 1:
            return self.call(self.pick("length({0})", "strpos({0}, {1})"), self.make("text", d),
                             self.make("text", d))
        if choice == 2:
            return self.call("length({0})", self.make(self.pick("longs", "texts"), d))
        if choice == 3:
            part = self.pick("year", "quarter", "month", "week", "day", "dayofyear", "dayofweek",
                             "isodow", "hour", "minute", "second", "epoch_ms", "epoch_us")
            return self.call(part + "({0})", self.instant(d))
        if choice == 4:
            # Weeks are left out: between a date before 1970-01-05 and one after it DuckDB counts one less, because it rounds
            # towards zero. A unit test has them.
            part = self.pick("year", "quarter", "month", "day", "hour", "minute", "second")
            if self.rng.random() < 0.5:
                return self.call("date_part('%s', {0})" % part, self.instant(d))
            return self.call("date_diff('%s', {0}, {1})" % part, self.instant(d), self.instant(d))
        return self.call("list_extract({0}, %d)" % self.pick(1, 2, -1, 5), self.make("longs", d))

    def instant(self, d):
        ours, duck = self.make(self.pick("time", "time", "date"), d)
        return ours, f"({duck}::timestamp)"

    def real(self, d):
        choice = self.rng.randrange(9)
        if choice == 0:
            kind = self.pick("int", "long")
            return self.call("({0} / {1})", self.make(kind, d), self.make(kind, d))
        if choice < 3:
            return self.call("({0} %s {1})" % self.pick("+", "-", "*", "/"), self.make("real", d),
                             self.make("real", d))
        if choice == 3:
            return self.call(self.pick("floor({0})", "ceil({0})", "abs({0})", "sqrt(abs({0}))",
                                       "coalesce({0}, {1})", "greatest({0}, {1})",
                                       "least({0}, {1})"),
                             self.make("real", d), self.make("real", d))
        if choice == 4:
            ours, duck = self.leaf("real")
            form = self.pick("ln(abs({0}) + 1)", "log2(abs({0}) + 1)", "log10(abs({0}) + 1)",
                             "exp(- abs({0}))", "pow(abs({0}), 0.5)", "log1p(abs({0}))")
            asked = form.replace("log1p(abs({0}))", "ln(1 + abs({0}))").replace(
                "0.5", "0.5::double")
            return form.format(ours), asked.format(duck)
        if choice == 5:
            return self.call("cast({0} as double)", self.make(self.pick("int", "long"), d))
        if choice == 6:
            return self.call("try_cast({0} as double)", self.varying_text())
        if choice == 7:
            return self.call("epoch({0})", self.instant(d))
        return self.call("case when {0} then {1} else {2} end", self.make("bool", d),
                         self.make("real", d), self.make("real", d))

    def text(self, d):
        choice = self.rng.randrange(9)
        one = self.make("text", d)
        if choice == 0:
            return self.call(self.pick("lower({0})", "upper({0})", "trim({0})", "ltrim({0})",
                                       "rtrim({0})", "reverse({0})"), one)
        if choice == 1:
            return self.call("substr({0}, %d, %d)" % (self.pick(1, 2, -2, 5), self.pick(0, 1, 3)),
                             one)
        if choice == 2:
            return self.call(self.pick("concat({0}, {1})", "({0} || {1})", "coalesce({0}, {1})",
                                       "nullif({0}, {1})", "greatest({0}, {1})"), one,
                             self.make("text", d))
        if choice == 3:
            return self.call("%s({0}, %d)" % (self.pick("left", "right"),
                                              self.pick(0, 1, 3, -1, -2, 50)), one)
        if choice == 4:
            return self.call(self.pick("replace({0}, 'a', '<a>')", "replace({0}, '|', '')",
                                       "split_part({0}, '|', 1)", "split_part({0}, '|', -1)",
                                       "split_part({0}, ' ', 2)"), one)
        if choice == 5:
            return self.call(self.pick("regexp_extract({0}, '([a-z]+)')",
                                       "regexp_extract({0}, '\\((\\d{{4}})\\)', 1)",
                                       "regexp_replace({0}, '[aeiou]', '*')",
                                       "regexp_replace({0}, '(.)\\|', '<\\1>')",
                                       "regexp_replace({0}, '[aeiou]', '*', 'g')",
                                       "regexp_replace({0}, '[AEIOU]|$', '<\\0>', 'gi')",
                                       "regexp_replace({0}, 'x*', '-', 'g')",
                                       "regexp_replace({0}, '^(.)', '\\1\\1', 'i')"), one)
        if choice == 6:
            return self.call("cast({0} as varchar)", self.make(self.pick("int", "long", "bool",
                                                                         "date"), d))
        if choice == 7:
            return self.call("list_extract({0}, %d)" % self.pick(1, 2, -1), self.make("texts", d))
        return self.call("case when {0} then {1} end", self.make("bool", d), one)

    def time(self, d):
        choice = self.rng.randrange(6)
        if choice == 5:
            return self.read_time(d)
        if choice == 4:
            zone = self.pick("Europe/Berlin", "America/New_York", "Asia/Kolkata",
                             "Australia/Lord_Howe", "UTC")
            ours, duck = self.leaf("time")
            return (f"({ours} at time zone '{zone}')",
                    f"(({duck})::timestamptz at time zone '{zone}')")
        if choice == 0:
            part = self.pick("year", "quarter", "month", "week", "day", "hour", "minute", "second")
            return self.call("date_trunc('%s', {0})" % part, self.instant(d))
        if choice == 1:
            return self.call("make_timestamp(cast({0} as bigint) * 1000000)", self.leaf("int"))
        if choice == 2:
            return self.call("coalesce({0}, {1})", self.make("time", d), self.make("time", d))
        return self.call("case when {0} then {1} else {2} end", self.make("bool", d),
                         self.make("time", d), self.make("time", d))

    def read_time(self, d):
        """A text by a format; formats_oracle.py has many more of both."""
        if self.rng.random() < 0.5:
            form = self.pick("%d.%m.%Y", "%b %d, %Y %I:%M %p", "%m/%d/%y", "%Y-%m-%d", "%d", "%y")
            return self.call("try_strptime({0}, '%s')" % form, self.make("text", d))
        text = "cast(day({0}) as varchar) || '/' || cast(month({0}) as varchar) || '/' || cast(year({0}) as varchar)"
        return self.call("try_strptime(%s, '%s')" % (text, self.pick("%d/%m/%Y", "%m/%d/%Y")),
                         self.instant(d))

    def date(self, d):
        if self.rng.random() < 0.5:
            return self.call("cast({0} as date)", self.make("time", d))
        return self.call("coalesce({0}, {1})", self.make("date", d), self.make("date", d))

    def longs(self, d):
        return self.slice(self.make("longs", d))

    def texts(self, d):
        if self.rng.random() < 0.5:
            return self.call("split({0}, '%s')" % self.pick("|", " ", "a"), self.make("text", d))
        return self.slice(self.make("texts", d))

    def slice(self, one):
        first, last = self.pick((1, 2), (2, 3), (-2, -1), (1, 99), (3, 2), (-99, 2), (1, -2))
        return self.call("list_slice({0}, %d, %d)" % (first, last), one)


def random_value(rng, kind):
    """SQL of one value."""
    if rng.random() < 0.15:
        return "null"
    if kind == "int":
        return str(rng.choice([0, 1, 2, -3, 7, 100, rng.randint(-1000, 1000), 2**31 - 1, -2**31]))
    if kind == "bigint":
        return str(rng.choice([0, 1, -1, 5, rng.randint(-10**6, 10**6), 2**63 - 1, 2**53 + 1]))
    if kind == "double":
        return rng.choice(["0.0", "-0.0", "0.5", "1.5", "-2.25", "'nan'", "'inf'", "'-inf'", "1e300",
                           repr(rng.uniform(-100, 100))]) + "::double"
    if kind == "boolean":
        return rng.choice(["true", "false"])
    if kind == "varchar":
        return "'" + rng.choice(TEXTS) + "'"
    if kind == "timestamp":
        return (f"timestamp '{rng.randint(1970, 2100)}-{rng.randint(1, 12):02}-"
                f"{rng.randint(1, 28):02} {rng.randint(0, 23):02}:{rng.randint(0, 59):02}:"
                f"{rng.randint(0, 59):02}.{rng.choice(['0', '25', '999999'])}'")
    if kind == "date":
        return f"date '{rng.randint(1970, 2100)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}'"
    inner = kind[:-2]
    values = [random_value(rng, inner) for _ in range(rng.randint(0, 4))]
    return "[" + ", ".join(values) + f"]::{kind}"


def plain(value):
    """A value of DuckDB in the form in which the probe prints it."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return ("NaN" if math.isnan(value) else "Infinity" if value == math.inf else "-Infinity"
                if value == -math.inf else value)
    return value


def is_same(ours, theirs):
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)) and not isinstance(
            ours, bool):
        return ours == theirs or (isinstance(ours, float) or isinstance(theirs, float)) and (
            math.isclose(ours, theirs, rel_tol=1e-11, abs_tol=1e-300))
    return type(ours) is type(theirs) and ours == theirs


def ask_duckdb(connection, duck, kind):
    wrap = {"time": "epoch_us({0})", "date": "(({0}) - date '1970-01-01')"}.get(kind, "{0}")
    try:
        rows = connection.execute(
            f"select {wrap.format('(' + duck + ')')} from data order by row").fetchall()
        return [plain(row[0]) for row in rows], None
    except Exception as error:  # every refusal of DuckDB is an exception
        return None, str(error).splitlines()[0]


def difference(case, answer, connection):
    """How the two results differ; '' if they agree."""
    kind, ours, duck = case
    theirs, refusal = ask_duckdb(connection, duck, kind)
    if "error" in answer:
        if answer["compiles"] and refusal is not None:
            return ""
        if answer["compiles"] and all(value is None for value in theirs):
            return ""  # "a null that DuckDB knows beforehand ..."
        return f"the loader says: {answer['error']}; DuckDB: {refusal or 'values'}"
    if refusal is not None:
        return f"DuckDB says: {refusal}; the loader gives values"
    for row, (a, b) in enumerate(zip(answer["values"], theirs)):
        if not is_same(a, b):
            return f"row {row}: the loader gives {a!r}, DuckDB {b!r}"
    return "" if len(answer["values"]) == len(theirs) else "another number of rows"


def main():
    probe, wheels = sys.argv[1], sys.argv[2]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20260701
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 1500
    sys.path.insert(0, wheels)
    try:
        import duckdb
    except ImportError:
        sys.exit(f"duckdb is not in {wheels}: run packaging/setup --tests")
    print(f"seed {seed}, DuckDB {duckdb.__version__}, {count} expressions, {ROWS} rows")
    rng = random.Random(seed)
    connection = duckdb.connect()
    connection.execute("set ieee_floating_point_ops = false")  # x / 0 is null, as docs/reference/spec.md says
    connection.execute("set timezone = 'UTC'")
    connection.execute("pragma disable_optimizer")  # the optimizer drops errors of expressions that it folds
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    connection.execute(f"create table data (row int, {columns})")
    for row in range(ROWS):
        values = ", ".join(random_value(rng, kind) for kind in COLUMNS.values())
        connection.execute(f"insert into data values ({row}, {values})")
    maker = Maker(rng)
    kinds = ["bool", "int", "long", "real", "text", "time", "date", "longs", "texts"]
    cases = []
    for i in range(count):
        kind = kinds[i % len(kinds)]
        cases.append((kind, *maker.make(kind, rng.randint(1, 4))))
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/data.parquet"
        connection.execute(f"copy (select * from data order by row) to '{path}' (format parquet)")
        lines = subprocess.run([probe, path], input="\n".join(c[1] for c in cases), text=True,
                               capture_output=True, check=True).stdout.splitlines()
    failures = refused = 0
    for case, line in zip(cases, lines):
        answer = json.loads(line)
        refused += "error" in answer
        what = difference(case, answer, connection)
        if what:
            failures += 1
            print(f"{case[1]}\n    as DuckDB: {case[2]}\n    {what}")
    print(f"{len(lines)} of {count} compared, {refused} refused by both, {failures} differ")
    if len(lines) != count or failures or refused > count // 3:
        sys.exit(1)


if __name__ == "__main__":
    main()
