"""Random data and random recipes over them, a pure function of a seed."""
import datetime
import decimal
import random

import pyarrow as pa

TEXTS = ["a", "b", "", "äöü", "x y", "2024-02-29", "2024-02-29xyz", "2023-12-31", "17", "-3", "4.5", "1e3", "abc", "ABC", "long " * 8]
DECIMALS = [decimal.Decimal(cents) / 100 for cents in (57, 115, 435, 870, 995, 1999, 9999, 1, 10, -57, 0, 123456)]
EPOCH = datetime.datetime(1970, 1, 1)


def values_of(kind, r, rows):
    """`rows` values of a column; a tenth are null."""
    make = {
        "i8": lambda: r.randint(-9, 9), "i16": lambda: r.randint(-99, 99), "i32": lambda: r.randint(-999, 999),
        "i64": lambda: r.choice([r.randint(-99, 99), r.randint(-2**53, 2**53), 2**63 - 1, -2**63]),
        "u8": lambda: r.randint(0, 200), "u32": lambda: r.randint(0, 2**32 - 1),
        "f32": lambda: r.choice([0.0, 0.5, -1.25, float(r.randint(-50, 50)), 3.0e10]),
        "f64": lambda: r.choice([0.0, -0.0, 0.1, 1 / 3, r.uniform(-100, 100), 1e300, -2.0]),
        "b": lambda: r.random() < 0.5, "s": lambda: r.choice(TEXTS), "dec": lambda: r.choice(DECIMALS),
        "d": lambda: datetime.date(1960, 1, 1) + datetime.timedelta(days=r.randint(0, 30000)),
        "ts": lambda: EPOCH + datetime.timedelta(microseconds=r.randint(-10**14, 2 * 10**15)),
        "l": lambda: [r.randint(-5, 99) for _ in range(r.randint(0, 4))],
        "fs": lambda: [r.randint(-5, 99) for _ in range(2)],
        "lv": lambda: [r.randint(-5, 99) for _ in range(r.randint(0, 4))],
    }[kind]
    return [None if r.random() < 0.1 else make() for _ in range(rows)]


TYPES = {"i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(), "u8": pa.uint8(), "u32": pa.uint32(),
         "f32": pa.float32(), "f64": pa.float64(), "b": pa.bool_(), "s": pa.string(), "dec": pa.decimal128(9, 2),
         "d": pa.date32(), "ts": pa.timestamp("us"), "l": pa.list_(pa.int64()), "fs": pa.list_(pa.int32(), 2),
         "lv": pa.list_view(pa.int64())}
# What expressions see a column as.
CLASS = {"i8": "int", "i16": "int", "i32": "int", "i64": "big", "u8": "int", "u32": "big", "f32": "real", "f64": "real", "b": "bool",
         "s": "text", "dec": "real", "d": "date", "ts": "time", "l": "list", "fs": "list", "lv": "list"}


class Case:
    """`files`: [(name, table, rows of a row group)]; `sides`: {name: table}; `spec`: as the loader reads it, with what the
    reference needs to know beside it."""

    def __init__(self, seed, without=()):
        self.seed, r = seed, random.Random(seed)
        self.format = r.choice(["parquet", "parquet", "parquet", "arrow"])
        kinds = [k for k in TYPES if r.random() < 0.75 and k not in without and not (k == "lv" and self.format == "parquet")]
        self.kinds = {"k": "i32", "c": "i32", **{k: k for k in kinds}}
        self.files, first = [], 0
        for number in range(r.randint(1, 3)):
            rows = r.randint(1, 160)
            columns = {"k": list(range(first, first + rows)), "c": [(first + i) // 16 for i in range(rows)],
                       **{k: values_of(k, r, rows) for k in kinds}}
            table = pa.table({n: pa.array(v, TYPES[self.kinds[n]]) for n, v in columns.items()})
            self.files.append((f"part-{number}.{self.format}", table, r.choice([16, 40, 1000])))
            first += rows
        self.rows, self.sides, self.columns = first, {}, {n: CLASS[k] for n, k in self.kinds.items()}
        self.hasIndex = r.random() < 0.5
        self.steps = [step for step in (self.step(r, i) for i in range(r.randint(0, 5))) if step]
        self.where = self.condition(r, dict(self.columns0)) if r.random() < 0.2 else ""
        self.carry = ["k"] + [n for n in sorted(self.columns) if n != "k" and r.random() < 0.6]
        self.dense = [n for n in sorted(self.columns) if self.columns[n] in ("int", "big", "real") and r.random() < 0.3]
        self.ids = [n for n in sorted(self.columns) if self.columns[n] in ("int", "big", "text") and r.random() < 0.3]
        self.batch = {"rows": 0, "micro_rows": r.choice([4, 8, 32]), "seed": r.choice([0, 1, 7, 2**40 + 3]),
                      "segment_splits": r.choice([1, 2, 1000]), "shuffle": r.choice(["rows", "rows", "none"]),
                      "order": r.choice(["permuted", "permuted", "as_is"]), "epochs": 1}
        self.batch["rows"] = 2 * self.batch["micro_rows"]
        self.threads, self.resumeAfter = r.randint(1, 3), r.choice([0, 0, 1, 3, 7])

    @property
    def coded(self):
        """Ids that a step made: a feature takes them as they are."""
        names = set()
        for step in self.steps:
            kind, body = next(iter(step.items()))
            if kind in ("hash", "bucketize"):
                names.add(body.get("as", body["column"]))
            elif kind == "derive":
                names -= set(body)
        return names

    @property
    def columns0(self):
        return {n: CLASS[k] for n, k in self.kinds.items()}

    # Expressions: the same text for the loader and for DuckDB.

    def pick(self, r, columns, *classes):
        found = [n for n in sorted(columns) if columns[n] in classes]
        return r.choice(found) if found else None

    def condition(self, r, columns, depth=0):
        def any_of(*classes):
            return self.pick(r, columns, *classes)
        forms = [lambda: f"k {r.choice(['<', '>=', '!='])} {r.randint(0, self.rows)}", lambda: f"c {r.choice(['=', '<', '>='])} {r.randint(0, 12)}",
                 lambda: f"k % {r.randint(2, 5)} = {r.randint(0, 1)}"]
        if n := any_of("int", "big"):
            forms.append(lambda: f"{n} {r.choice(['<', '<=', '='])} {r.randint(-5, 50)}")
            forms.append(lambda: f"{n} in (1, 2, {r.randint(3, 9)})")
        if x := any_of("real"):
            forms.append(lambda: f"{x} {r.choice(['=', '<=', '>'])} {r.choice(['0.57', '4.35', '99.99', '0.1', '1.15', '0.5'])}")
            forms.append(lambda: f"{x} is not null")
        if s := any_of("text"):
            forms.append(lambda: f"{s} {r.choice(['=', '!=', '<'])} '{r.choice(['a', 'abc', '2024-02-29', 'ABC'])}'")
            forms.append(lambda: f"{s} like '%{r.choice(['a', '2', 'x'])}%'")
            forms.append(lambda: f"try_cast({s} as date) is {r.choice(['', 'not '])}null")
        if b := any_of("bool"):
            forms.append(lambda: b)
        if d := any_of("date", "time"):
            forms.append(lambda: f"year({d}) {r.choice(['<', '>='])} {r.randint(1960, 2030)}")
        if depth < 2 and r.random() < 0.4:
            return f"({self.condition(r, columns, depth + 1)}) {r.choice(['and', 'or'])} ({self.condition(r, columns, depth + 1)})"
        return ("not " if r.random() < 0.1 else "") + f"({r.choice(forms)()})"

    def expression(self, r, columns):
        """(text, class); None when no column fits."""
        kind = r.choice(["int", "real", "text", "bool", "date", "time", "same", "same"])
        if kind == "same":
            name = r.choice(sorted(columns))
            return name, columns[name]
        n, x = self.pick(r, columns, "int"), self.pick(r, columns, "real")
        s, d, t = self.pick(r, columns, "text"), self.pick(r, columns, "date"), self.pick(r, columns, "time")
        b = self.pick(r, columns, "bool")
        forms = {"int": [f"cast({n} as bigint) * 3 + 1" if n else "k + 1", f"cast(length({s}) as bigint)" if s else "k * 2",
                         f"cast(coalesce({n}, 7) as bigint)" if n else "c + k",
                         f"cast(year({d or t}) as bigint)" if d or t else "k", f"case when {b} then k else -k end" if b else "k"],
                 "real": [f"{x} * 0.5" if x else "k * 0.5", f"cast({n} as double) / 3.0" if n else "k / 4.0", f"coalesce({x}, 0.25)" if x else "k * 0.25"],
                 "text": [f"upper({s})" if s else "cast(k as varchar)", f"{s} || 'z'" if s else "'z'", f"substr({s}, 1, 2)" if s else "'q'",
                          "cast(c as varchar)"],
                 "bool": [self.condition(r, columns)],
                 "date": [f"cast({t} as date)" if t else "cast('2020-01-02' as date)", f"try_cast({s} as date)" if s else "cast('1950-03-04' as date)"],
                 "time": [f"cast({d} as timestamp)" if d else "cast('2020-01-02 03:04:05' as timestamp)", f"cast(date_trunc('month', {t}) as timestamp)" if t else "cast('1969-12-31 23:59:59' as timestamp)"]}
        return r.choice(forms[kind]), kind

    def side(self, r, columns, number):
        """A table to join with, and the column that it is joined on."""
        key = self.pick(r, columns, "int", "text") if r.random() < 0.8 else self.pick(r, columns, "date", "bool", "real")
        key = key or "k"
        if key == "dec" and columns[key] == "real" and r.random() < 0.8:
            keys, kind = sorted(set(DECIMALS)), pa.decimal128(r.choice([10, 12]), r.choice([2, 4, 6]))
        elif columns[key] == "real":
            key, keys, kind = "c", list(range(0, 20, 2)), pa.int64()
        else:
            classes = {"int": (list(range(-20, 60, r.randint(1, 3))), r.choice([pa.int32(), pa.int64()])),
                       "text": (sorted(set(TEXTS[::2])), pa.string()), "bool": ([True], pa.bool_()),
                       "date": ([datetime.date(1960, 1, 1) + datetime.timedelta(days=i) for i in range(0, 30000, 2)], pa.date32())}
            keys, kind = classes[columns[key]]
        keys = r.sample(keys, max(1, len(keys) * 3 // 4))
        name = f"side-{number}.parquet"
        self.sides[name] = pa.table({"key": pa.array(keys, kind), "v": pa.array(range(len(keys)), pa.int64()),
                                     "w": pa.array([f"w{i % 5}" for i in range(len(keys))])})
        return name, key

    def step(self, r, number):
        columns = self.columns
        kind = r.choice(["derive", "derive", "derive", "filter", "join", "semi_join", "anti_join", "sample", "hash", "bucketize"])
        if kind == "filter":
            return {"filter": self.condition(r, columns)}
        if kind == "derive":
            made = {}
            for _ in range(r.randint(1, 3)):
                text, made_class = self.expression(r, columns)
                target = r.choice([f"n{number}{len(made)}", *(n for n in sorted(columns) if n not in ("k", "c"))])
                made[target] = (text, made_class)
            self.columns = {**columns, **{n: c for n, (_, c) in made.items()}}
            return {"derive": {n: t for n, (t, _) in made.items()}}
        if kind in ("join", "semi_join", "anti_join"):
            table, key = self.side(r, columns, number)
            if kind != "join":
                return {kind: {"table": table, "on": {key: "key"}}}
            take = {f"v{number}": "v", f"w{number}": "w"}
            self.columns = {**columns, **{n: "big" if v == "v" else "text" for n, v in take.items()}}
            return {"join": {"table": table, "on": {key: "key"}, "take": take, "missing": r.choice(["null", "drop"])}}
        if kind == "sample":
            step = {"name": f"draw{number}", "keep": r.choice([0.1, 0.5, 0.9])}
            by = [n for n in sorted(columns) if columns[n] in ("int", "text", "bool") and r.random() < 0.15]
            if by:
                step["by"] = by
            if r.random() < 0.4:
                step["where"] = self.condition(r, columns)
            return {"sample": step}
        source = self.pick(r, columns, *(("int", "big", "text", "bool") if kind == "hash" else ("int",)))
        if source is None:
            return None
        target = r.choice([source, f"h{number}"]) if source not in ("k", "c") else f"h{number}"
        self.columns = {**columns, target: "int"}
        step = {"column": source, **({"as": target} if target != source else {})}
        if kind == "hash":
            return {"hash": {**step, "buckets": r.choice([2, 10, 1000]), "seed": r.choice([0, 5])}}
        return {"bucketize": {**step, "boundaries": sorted({r.randint(-5, 30) for _ in range(3)})}}

    def spec(self, path):
        recipe = []
        for step in self.steps:
            kind, body = next(iter(step.items()))
            recipe.append({"name": body["name"], kind: {k: v for k, v in body.items() if k != "name"}} if kind == "sample" else step)
        used = set(self.ids) - self.coded
        return {"dataset": {"path": path, "format": self.format, **({"where": self.where} if self.where else {})}, "recipe": recipe,
                "label": "k % 2 = 1", "features": {"carry": self.carry, "dense": self.dense, "ids": self.ids},
                "embeddings": {n: {"rows": 97} for n in sorted(used)}, "batch": self.batch, "command": ["true"]}
