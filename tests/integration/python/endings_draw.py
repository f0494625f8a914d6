"""Random endings of runs. One seed draws the data, the recipe, the trainer, what happens in each attempt, and how the run ends.

Nothing here uses the product: a Python predicate beside each line of a recipe decides which rows the line keeps.
"""
import os
import random

# rows.csv and the other data files: `number` counts the rows, every eleventh x is null, some items are missing in a table.
DATASETS = {  # name: (files, rows of each, rows of a Parquet row group; None: CSV)
    "one": (1, 2400, None),
    "many": (4, 500, None),
    "groups": (2, 1300, 300),
    "long": (1, 20000, None),
}
TABLES = {"prices": range(80), "banned": range(0, 101, 10), "liked": range(60)}  # name: its items
FAILURES = ("raise", "raise_after", "exit_1", "os_exit", "kill", "nothing")
WORDS = {"kill": "is killed", "raise": "raises an exception", "exit_1": "calls sys.exit(1)", "stop": "is stopped"}


def row(number):
    """A row of every dataset."""
    return {"number": number, "item": number * 7919 % 101, "user": number * 31 % 97, "y": number % 3 - 1,
            "x": None if number % 11 == 0 else number / 8}


# The steps of recipes: name, a line of YAML, which rows stay, the side table.
STEPS = [
    ("without_x", 'filter: "x is not null"', lambda r: r["x"] is not None, None),
    ("odd_items", 'filter: "item % 3 <> 1"', lambda r: r["item"] % 3 != 1, None),
    ("priced", "join: {table: TABLES/prices.csv, on: item, take: [price], missing: drop}", lambda r: r["item"] in TABLES["prices"], "prices"),
    ("joined", "join: {table: TABLES/prices.csv, on: item, take: {cost: price}}", lambda r: True, "prices"),
    ("allowed", "anti_join: {table: TABLES/banned.csv, on: item}", lambda r: r["item"] not in TABLES["banned"], "banned"),
    ("liked", "semi_join: {table: TABLES/liked.csv, on: item}", lambda r: r["item"] in TABLES["liked"], "liked"),
]
NONE, WHERE, TRAIN, TEST = "", "number % 7 <> 0", "number % 5 <> 0", "number % 5 = 0"
WHERES = {NONE: lambda r: True, WHERE: lambda r: r["number"] % 7 != 0,
          TRAIN: lambda r: r["number"] % 5 != 0, TEST: lambda r: r["number"] % 5 == 0}


class Case:
    """One ending. `phases` has an entry for each attempt: its `end`, at which `step`, for which `rank`."""

    def __init__(self, seed):
        self.seed = seed
        chance = self.chance = random.Random(seed)
        self.kind = {0: "lightning", 10: "accelerate"}.get(seed % 20, "built-in" if seed % 20 in (2, 5, 8, 12, 15, 18) else "script")
        self.is_built_in = self.kind == "built-in"
        self.last = "keep" if self.is_built_in or chance.random() < 0.25 else "drop"  # of an epoch's partial step
        self.has_torch = self.kind in ("lightning", "accelerate")
        self.ranks = chance.choice((1, 1, 2)) if self.has_torch else chance.choice((1, 1, 2, 3))
        self.dataset = chance.choice(("one", "many", "groups"))
        self.rows, self.micro = chance.choice(((96, 16), (60, 10), (48, 8)))  # six micro-batches: for 1, 2, 3 and 6 ranks
        self.epochs = chance.choice((1, 1, 2))
        self.shuffle = chance.choice(("rows", "rows", "none"))
        self.split = chance.choice((100, 170, 256))
        self.segment = chance.choice((1, 2, 3))
        self.every = chance.choice((0, 3, 7, 10))
        self.has_evaluation = chance.random() < 0.4
        self.evaluates_every = 0  # steps; 0: at the end alone
        self.where = TRAIN if self.has_evaluation else chance.choice((NONE, NONE, WHERE))
        self.recipe = [step for step in STEPS if chance.random() < 0.25]
        self.logs_every = chance.choice((1, 1, 3))
        self.logs_nan = chance.random() < 0.2
        self.meets = chance.random() < 0.5
        self.lag = chance.choice((0, 0, 0.001, 0.004))  # seconds a step of the last rank
        self.take = chance.choice(("for", "for", "with", "no join"))
        self.max_steps = self.patience = 0
        self.max_restarts = 0
        self.phases = []
        if self.is_built_in:
            self._draw_built_in()
        else:
            self._draw_script()

    def kept(self, number):
        """Whether a row passes all steps."""
        one = row(number)
        return WHERES[self.where](one) and all(step[2](one) for step in self.recipe)

    def total(self):
        """Rows of the dataset."""
        files, rows, _ = DATASETS[self.dataset]
        return files * rows

    def steps_an_epoch(self):
        kept = sum(map(self.kept, range(self.total())))
        return -(-kept // self.rows) if self.last == "keep" else kept // self.rows

    def steps(self):
        """Number of steps in the whole stream."""
        return self.epochs * self.steps_an_epoch()

    def _place(self, least, most):
        """A step, often at an edge: the first, the end of an epoch and the steps around it, the last."""
        epoch = self.steps_an_epoch()
        edges = [step for step in (1, epoch - 1, epoch, epoch + 1, most - 1, most) if least <= step <= most]
        return self.chance.choice(edges) if edges and self.chance.random() < 0.3 else self.chance.randint(least, most)

    def _draw_built_in(self):
        chance = self.chance
        self.model = chance.choice(("logistic", "mlp", "target_mean")) if self.ranks == 1 else chance.choice(("logistic", "mlp"))
        self.epochs = 1 if self.model == "target_mean" else self.epochs
        end = chance.choice(("whole", "max_steps", "early_stop", "kill", "kill", "stop", "stop"))
        if end == "early_stop":
            self.has_evaluation, self.where, self.patience = True, TRAIN, chance.choice((1, 2))
            self.evaluates_every = max(1, self.steps() // 5)
            self.every = chance.choice((0, 7))
        elif self.has_evaluation:
            self.evaluates_every = chance.choice((0, 11))
        if end in ("kill", "stop"):
            # Long enough to be stopped or killed while it trains.
            self.dataset, self.rows, self.micro, self.split, self.every, self.epochs = "long", 96, 16, 2048, chance.choice((5, 20)), 3
            self.model = "mlp"
            self.max_restarts = chance.choice((0, 1)) if end == "kill" else 0
            self.phases.append({"end": end, "step": chance.randint(20, self.steps() // 4), "rank": chance.randrange(self.ranks)})
            if end == "kill" and self.max_restarts == 0:
                return
            if end == "stop":
                self.phases[-1]["ranks"] = chance.choice((1, 2, 3))
        if end == "max_steps" or (end != "early_stop" and chance.random() < 0.2):
            least = 1 + max([phase["step"] for phase in self.phases], default=0)
            self.max_steps = self._place(least, self.steps() + 2)
        self.phases.append({"end": "whole"})

    def _draw_script(self):
        chance, steps, at = self.chance, self.steps(), 0
        self.evaluates_every = chance.choice((0, 0, 9)) if self.has_evaluation else 0
        ranks = self.ranks
        for _ in range(chance.choice((0, 0, 1)) if self.has_torch else chance.choice((0, 0, 0, 1, 1, 2))):
            if at + 4 > steps:
                break
            kinds = [kind for kind in WORDS if kind != "kill" or all(phase["end"] != "kill" for phase in self.phases)]
            at = self._place(at + 3, steps)
            self.phases.append({"end": chance.choice(kinds), "step": at, "rank": chance.randrange(ranks)})
            if self.phases[-1]["end"] == "stop":
                ranks = self.phases[-1]["ranks"] = chance.choice((1, 2, 3)) if not self.has_torch else ranks
                self.phases[-1]["rank"] = 0
            else:
                self.max_restarts += 1
        ends = ["whole", "break", "counted", "len", "max_steps", "exit_0", "raise", "raise_after", "exit_1", "os_exit", "kill", "nothing"]
        if self.kind == "lightning":
            ends = ["whole", "whole", "break", "counted", "max_steps", "raise", "exit_1", "kill", "raise_after"]
        end = chance.choice(ends)
        last = {"end": end}
        if end in ("break", "counted", "exit_0", "raise", "exit_1", "os_exit", "kill"):
            if at + 2 > steps:
                last = {"end": "whole"}
            else:
                last.update(step=self._place(at + 2 if at else 1, steps), rank=chance.randrange(ranks))
        elif end == "max_steps":
            self.max_steps = self._place(at + 1, steps + 2)
        if end in ("counted", "len") or (self.has_torch and ranks > 1 and self.last == "keep"):
            self.take = "for"  # these ends count steps, not micro-batches; DDP waits for a rank that has fewer micro-batches
        if end == "raise_after":
            last.update(rank=chance.randrange(ranks))
        if end == "nothing":
            last.update(opens=chance.random() < 0.5)
        self.phases.append(last)
        # A resume renews the budget of restarts, so failures before the last stop do not count. An attempt that reads
        # nothing fails for good.
        words = [phase["end"] for phase in self.phases]
        restarts = words[::-1].index("stop") - 1 if "stop" in words else self.max_restarts
        if last["end"] in FAILURES and end != "nothing" and restarts < self.max_restarts:
            self.phases.append({"end": "whole"})

    def name(self):
        return f"e{self.seed}"

    def __str__(self):
        happens = []
        for phase in self.phases:
            text = phase["end"] + (f" at step {phase['step']}" if "step" in phase else "")
            text += f" of rank {phase['rank']}" if phase["end"] in ("kill", "raise", "exit_1", "raise_after") else ""
            happens.append(text + (f", resumed with {phase['ranks']}" if "ranks" in phase else ""))
        what = [self.kind, f"{self.ranks} rank{'s' * (self.ranks > 1)}", "; then ".join(happens)]
        what += [f"max_steps {self.max_steps}"] if self.max_steps else []
        what += [f"evaluation every {self.evaluates_every}" if self.evaluates_every else "evaluation"] if self.has_evaluation else []
        what += [f"{self.dataset} x {self.epochs}, {' '.join(step[0] for step in self.recipe) or 'no recipe'}"]
        return f"seed {self.seed}: " + ", ".join(what)

    def spec(self, script, data):
        """The YAML. `script` is the rank's file, `data` the folder of datasets and tables."""
        files, _, group = DATASETS[self.dataset]
        dataset = [f"path: {data}/{self.dataset}{'*' if files > 1 else '0'}.{'csv' if group is None else 'parquet'}"]
        dataset += [f"csv_split_rows: {self.split}"] if group is None else []
        dataset += [f'where: "{self.where}"'] if self.where else []
        taken = {"priced": "price", "joined": "cost"}
        dense = ["{column: x, fill: 0}", *(f"{{column: {taken[step[0]]}, fill: 0}}" for step in self.recipe if step[0] in taken)]
        lines = [f"name: {self.name()}", f"dataset: {{{', '.join(dataset)}}}"]
        if self.recipe:
            lines += ["recipe:"]
            lines += [f"  - {{name: {name}, {text.replace('TABLES', data)}}}" for name, text, _, _ in self.recipe]
        lines += ['labels: {good: "y > 0"}', f"features: {{dense: [{', '.join(dense)}], ids: [user], carry: [number]}}",
                  "embeddings: {user: {rows: 128}}",
                  f"batch: {{rows: {self.rows}, micro_rows: {self.micro}, epochs: {self.epochs}, seed: {self.seed}, "
                  f"shuffle: {self.shuffle}, segment_splits: {self.segment}}}"]
        train = [f"ranks: {self.ranks}", f"max_restarts: {self.max_restarts}", f"checkpoint: {{every_steps: {self.every}, keep: 1000}}"]
        train += [f"max_steps: {self.max_steps}"] if self.max_steps else []
        if self.patience:
            # No loss falls by 1000, so the run stops `patience` evaluations after the first one.
            train += [f"early_stop: {{patience: {self.patience}, metric: eval.log_loss, min_delta: 1000}}"]
        lines += [f"train: {{{', '.join(train)}}}", "resources: {memory_limit_mb: 512, loader_threads: 1}"]
        if self.has_evaluation:
            every = f", every_steps: {self.evaluates_every}" if self.is_built_in else ""  # a script decides that itself
            lines += [f'eval: {{dataset: {{where: "{TEST}"}}{every}}}']
        if self.is_built_in:
            model = {"logistic": "type: logistic, embedding_dim: 1", "mlp": "type: mlp, hidden: [64, 32]", "target_mean": "type: target_mean, keys: [user]"}
            lines += [f"model: {{{model[self.model]}}}"]
        else:
            lines += [f"command: [python3, {script}]"]
        return "\n".join(lines) + "\n"


def write_data(folder):
    """Writes all datasets and tables."""
    import pyarrow
    import pyarrow.parquet
    os.makedirs(folder)
    for name, (files, rows, group) in DATASETS.items():
        for file in range(files):
            one = [row(number) for number in range(file * rows, (file + 1) * rows)]
            path = os.path.join(folder, f"{name}{file}")
            if group is not None:
                columns = {key: [r[key] for r in one] for key in one[0]}
                pyarrow.parquet.write_table(pyarrow.table(columns), path + ".parquet", row_group_size=group)
                continue
            with open(path + ".csv", "w", encoding="utf-8") as out:
                out.write(",".join(one[0]) + "\n")
                out.writelines(",".join("" if value is None else str(value) for value in r.values()) + "\n" for r in one)
    for name, items in TABLES.items():
        with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8") as out:
            out.write("item,price\n")
            out.writelines(f"{item},{item / 4}\n" for item in items)
