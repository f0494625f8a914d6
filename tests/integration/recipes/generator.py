"""Random recipes over random data (tables.py), a pure function of a seed."""
import random

import tables

# Columns that no step replaces: the label, the features or the reference need them as they are.
KEPT = ("k", "c", "q", "p", "o", "tm", "wi", "ww")


def literal(value):
    text = str(value)
    kind = {"date": "date ", "datetime": "timestamp "}.get(type(value).__name__, "")
    return text if isinstance(value, int) else f"{kind}'{text}'"


class Case:
    """A spec with its data. `data`: tables.Data; `sides`: {name: table}; `steps`, `batch` and the features belong to the spec;
    `threads`, `sink`, `asModel` and `resumeAfter` are options of the stream."""

    def __init__(self, seed, without=()):
        self.seed, r = seed, random.Random(seed)
        self.data = tables.Data(r, without)
        self.sides, self.columns = {}, dict(self.columns0)
        self.makesColumns = False
        self.where = self.first_filter(r) if r.random() < 0.35 else ""
        self.steps = [step for step in (self.step(r, i) for i in range(r.randint(0, 5))) if step]
        self.features(r)
        self.order_of_rows(r)
        self.threads, self.resumeAfter = r.randint(1, 3), r.choice([0, 0, 1, 3, 7])
        self.sink, self.asModel = r.choice(["parquet", "parquet", "arrow", "csv"]), r.random() < 0.15

    @property
    def columns0(self):
        return {n: tables.CLASS[k] for n, k in self.data.kinds.items()}

    @property
    def redraws(self):
        return any(step.get("sample", {}).get("redraw") == "each_epoch" for step in self.steps)

    @property
    def coded(self):
        """Names of ids that a step made; a feature uses them unchanged."""
        names = set()
        for step in self.steps:
            kind, body = next(iter(step.items()))
            if kind in ("hash", "bucketize"):
                names.add(body.get("as", body["column"]))
            elif kind == "derive":
                names -= set(body)
            elif kind == "truncate" and "as" in body:
                names = names | {body["as"]} if body["column"] in names else names - {body["as"]}
        return names

    # Expressions: the same text for the loader and for DuckDB.

    def pick(self, r, columns, *classes):
        found = [n for n in sorted(columns) if columns[n] in classes]
        return r.choice(found) if found else None

    def first_filter(self, r):
        """In 70 % of cases a condition on a column whose equal values are close together, so that parts of the files are not read."""
        return self.simple(r) if r.random() < 0.7 else self.condition(r, dict(self.columns))

    def simple(self, r):
        name = r.choice([n for n in (*tables.CLUSTERED, "p") if n in self.columns])
        values = [v for _, table, _ in self.data.files for v in (table.column(name).to_pylist() if name != "p" else ())]
        values = [v for v in (values or self.data.directory.values()) if v is not None] or [None]
        value = r.choice(values)
        if value is None:
            return "k >= 0"
        return f"{name} {r.choice(['<', '<=', '>', '>=', '='])} {literal(value)}"

    def condition(self, r, columns, depth=0):
        def any_of(*classes):
            return self.pick(r, columns, *classes)
        rows = self.data.rows
        forms = [lambda: f"k {r.choice(['<', '>=', '!='])} {r.randint(0, rows)}", lambda: f"c {r.choice(['=', '<', '>='])} {r.randint(0, 12)}",
                 lambda: f"k % {r.randint(2, 5)} = {r.randint(0, 1)}", lambda: f"k between {r.randint(0, rows)} and {r.randint(0, rows)}"]
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
        if l := any_of("list"):
            forms.append(lambda: f"length({l}) {r.choice(['<', '>='])} {r.randint(0, 3)}")
            forms.append(lambda: f"{l}[1] > {r.randint(-5, 90)}")
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
                 "time": [f"cast({d} as timestamp)" if d else "cast('2020-01-02 03:04:05' as timestamp)",
                          f"cast(date_trunc('month', {t}) as timestamp)" if t else "cast('1969-12-31 23:59:59' as timestamp)",
                          f"try_strptime({s}, '{r.choice(['%Y-%m-%d', '%Y-%-m-%dxyz', '%d'])}')" if s else "try_strptime('1.2.99', '%d.%m.%y')"]}
        return r.choice(forms[kind]), kind

    # Steps of a recipe.

    def add_side(self, name, table, r):
        """Adds a table to join with, as a file of any format; as CSV only if its types cannot be guessed wrongly."""
        is_unsure = table.schema.field("key").type in (tables.pa.string(), tables.pa.bool_())
        is_unsure |= any(column.null_count == len(table) for column in table.columns)
        ending = r.choice([".parquet", ".parquet", ".arrow", ".arrow" if is_unsure else ".csv"])
        self.sides[name + ending] = table
        return name + ending

    def joined(self, r, number):
        columns = self.columns
        key = self.pick(r, columns, "int", "text") if r.random() < 0.8 else self.pick(r, columns, "date", "bool", "real")
        key, keys, kind = tables.keys_for(key or "k", columns[key or "k"], r)
        left = self.pick(r, columns, "date", "time", "int") if r.random() < 0.45 else None
        repeats, take = r.random() < 0.3, {f"v{number}": "v", f"w{number}": r.choice(["w", "w", "upper(w)"])}
        time = tables.time_for(columns[left], r) if left else None
        table = self.add_side(f"side-{number}", tables.side_table(r, keys, kind, repeats, time), r)
        self.columns = {**columns, **{n: "big" if v == "v" else "text" for n, v in take.items()}}
        tolerance = r.choice([0, 0, 3, 50.5] if left and columns[left] == "int" else [0, 0, 1.5, 86400, 3e7])
        return {"join": {"table": table, "on": {key: "key"}, "take": take, "missing": r.choice(["null", "null", "drop"]),
                         **({"as_of": {"left": left, "right": "since", "tolerance": tolerance}} if left else {}),
                         **({"on_duplicate": "first"} if repeats else {})}}

    def membership(self, r, kind, number):
        key = self.pick(r, self.columns, "int", "text", "date", "bool") or "k"
        key, keys, kind_of_keys = tables.keys_for(key, self.columns[key], r)
        table = tables.side_table(r, keys, kind_of_keys, r.random() < 0.3)
        return {kind: {"table": self.add_side(f"side-{number}", table, r), "on": {key: "key"}}}

    def sample(self, r, number):
        step = {"name": f"draw{number}", "keep": r.choice([0.1, 0.5, 0.9])}
        by = [n for n in sorted(self.columns) if self.columns[n] in ("int", "text", "bool") and r.random() < 0.15]
        if by:
            step["by"] = by
        if r.random() < 0.4:
            step["where"] = self.condition(r, self.columns)
        if r.random() < 0.3:
            step["weight"] = "inverse"
        if r.random() < 0.4:
            step["redraw"] = "each_epoch"
        return {"sample": step}

    def derived(self, r, number):
        columns, made = self.columns, {}
        for _ in range(r.randint(1, 3)):
            text, made_class = self.expression(r, columns)
            made[r.choice([f"n{number}{len(made)}", *(n for n in sorted(columns) if n not in KEPT)])] = (text, made_class)
        self.columns = {**columns, **{n: c for n, (_, c) in made.items()}}
        return {"derive": {n: t for n, (t, _) in made.items()}}

    def ids_made(self, r, kind, number):
        source = self.pick(r, self.columns, *{"hash": ("int", "big", "text", "bool", "list"), "bucketize": ("int",), "truncate": ("list",)}[kind])
        if source is None:
            return None
        target = r.choice([source, f"h{number}"]) if source not in KEPT else f"h{number}"
        is_list = self.columns[source] == "list"
        self.columns = {**self.columns, target: "list" if is_list else "int"}
        step = {"column": source, **({"as": target} if target != source else {})}
        if kind == "hash":
            return {"hash": {**step, "buckets": r.choice([2, 10, 1000]), "seed": r.choice([0, 5])}}
        if kind == "truncate":
            return {"truncate": {**step, "length": r.randint(0, 3), "from": r.choice(["first", "last"])}}
        return {"bucketize": {**step, "boundaries": sorted({r.randint(-5, 30) for _ in range(3)})}}

    def step(self, r, number):
        kind = r.choice(["derive", "derive", "derive", "filter", "filter", "join", "join", "semi_join", "anti_join", "sample", "sample",
                         "hash", "bucketize", "truncate", "weight", "select"])
        if kind == "filter":
            return {"filter": self.condition(r, self.columns) if self.makesColumns else self.first_filter(r)}
        if kind in ("semi_join", "anti_join"):
            return self.membership(r, kind, number)
        if kind == "sample":
            return self.sample(r, number)
        if kind == "weight":
            return {"weight": f"case when {self.condition(r, self.columns)} then {r.choice([2, 3])} else {r.choice([0.5, 0.1])} end"}
        if kind == "select":
            kept = [n for n in sorted(self.columns) if n in KEPT or r.random() < 0.8]
            self.columns = {n: self.columns[n] for n in kept}
            return {"select": kept}
        self.makesColumns = True
        if kind == "derive":
            return self.derived(r, number)
        return self.joined(r, number) if kind == "join" else self.ids_made(r, kind, number)

    # Features, and the order of the rows.

    def features(self, r):
        columns = self.columns
        self.carry = ["k"] + [n for n in sorted(columns) if n != "k" and columns[n] != "pair" and r.random() < 0.6]
        self.dense = [n for n in sorted(columns) if columns[n] in ("int", "big", "real") and r.random() < 0.25]
        self.ids = [n for n in sorted(columns) if columns[n] in ("int", "big", "text") and n not in self.dense and r.random() < 0.3]
        self.lists = [n for n in sorted(columns) if columns[n] == "list" and r.random() < 0.4]
        self.weighted = "wi" in columns and "ww" in columns and r.random() < 0.8
        self.request = "q" if "q" in columns and r.random() < 0.7 else ""
        self.dedup = r.choice(["best_effort", "off"] + (["required"] if self.data.listsOfRequests else [])) if self.request else ""
        self.embeddings = {}
        coded = self.coded
        plain = [n for n in self.ids + self.lists if n not in coded] + (["wt"] if self.weighted else [])
        if len(plain) > 1 and r.random() < 0.3:
            shared, plain = plain[:2], plain[2:]
            self.embeddings["shared"] = {"features": shared, "rows": 61}
        for name in plain:
            self.embeddings[name] = {"rows": 97}
            if r.random() < 0.4:
                self.embeddings[name] = {"vocabulary": {"table": self.vocabulary(r, name), "column": "key"}}

    def vocabulary(self, r, name):
        if self.columns.get(name) == "text":
            keys, kind = sorted({*tables.TEXTS[::2], "de", "r7", "r20", "w1", "w3", "0", "3"}), tables.pa.string()
        else:
            keys, kind = list(range(-20, 100, r.randint(1, 3))), r.choice([tables.pa.int32(), tables.pa.int64()])
        return self.add_side(f"vocabulary-{name}", tables.side_table(r, keys, kind, False), r)

    def order_of_rows(self, r):
        micro = r.choice([4, 8, 32])
        self.batch = {"rows": 2 * micro, "micro_rows": micro, "seed": r.choice([0, 1, 7, 2**40 + 3]),
                      "segment_splits": r.choice([1, 2, 1000]), "shuffle": r.choice(["rows", "rows", "none"]),
                      "order": r.choice(["permuted", "permuted", "as_is"]), "epochs": r.choice([1, 1, 2, 3])}
        if self.request and r.random() < 0.6:
            self.batch["shuffle"] = "requests"
        by = [n for n in ("p", "o") if n in self.data.kinds] + (["k"] if self.data.format == "parquet" else [])
        if by and r.random() < 0.45:
            self.batch["order"] = {"by": by[0] if r.random() < 0.8 else by[-1]}

    def spec(self, path):
        recipe = []
        for step in self.steps:
            kind, body = next(iter(step.items()))
            recipe.append({"name": body["name"], kind: {k: v for k, v in body.items() if k != "name"}} if kind == "sample" else step)
        dataset = {"path": path, "format": self.data.format, **({"where": self.where} if self.where else {})}
        features = {"carry": self.carry, "dense": self.dense, "ids": self.ids, "lists": self.lists,
                    **({"weighted": [{"name": "wt", "ids": "wi", "weights": "ww"}]} if self.weighted else {}),
                    **({"request": self.request, "dedup": self.dedup} if self.request else {})}
        return {"dataset": dataset, "recipe": recipe, "label": "k % 2 = 1", "features": features, "embeddings": self.embeddings,
                "batch": self.batch, "command": ["true"]}
