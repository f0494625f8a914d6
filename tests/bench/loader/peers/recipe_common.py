"""What the Polars and DuckDB programs of the tasks R1 to R15s share: arguments, files, the batch, one timed pass."""
import argparse
import glob
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import common  # noqa: E402
import recipe_tasks  # noqa: E402

BUCKETS = 1_000_000
BOUNDARIES = {"b1": ("i1", [1, 2, 4, 8, 16, 32, 64, 128]), "b2": ("i5", [1, 10, 100, 1000, 10000, 100000]), "b3": ("i13", [1, 3, 9, 27, 81, 243, 729])}
# The ids of the other tasks: (name, buckets).
HASHED = {"R3": {"item_id": BUCKETS, "browser": 1000}, "R6": {"user": BUCKETS, "city": 1000, "url": BUCKETS}, "R9": {"city": 1000},
          "R11": {"user": BUCKETS, "agent": 10_000, "url": BUCKETS}, "R13": {"prefix": 100_000, "shop": 10_000, "town": 1000, "pair": 10_000}}


class Arguments(argparse.ArgumentParser):
    def __init__(self, description):
        super().__init__(description=description)
        self.add_argument("--data", required=True, help="the folder that make_recipes.py has written")
        self.add_argument("--task", choices=list(recipe_tasks.TASKS), required=True)
        self.add_argument("--threads", type=int, default=2)
        self.set_defaults(warmup=0, epochs=1)  # a whole process is one pass
        self.add_argument("--output", help="file that R15 and R15s write")


def files(args):
    return sorted(glob.glob(os.path.join(args.data, recipe_tasks.glob_of(args.task))))


def rows(args):
    """Number of rows in the task's data set."""
    with open(os.path.join(args.data, "about.json")) as f:
        return json.load(f)["rows"][recipe_tasks.TASKS[args.task].data]


def table(args, name):
    return os.path.join(args.data, "events", name + ".parquet")


def measure(system, version, args, record_batches):
    """`record_batches()` builds the pipeline and delivers its Arrow batches."""
    task = recipe_tasks.TASKS[args.task]

    def epoch():
        for b in common.rebatch(record_batches()):
            yield common.assemble(b, task.dense, task.ids, task.lists)

    common.measure(system, version, args, epoch, scanned=rows(args), cpu_clock=time.process_time)


def measure_export(system, version, args, export):
    """`export()` writes the table of R15 or R15s. The benchmark reads its rows again."""
    cpu, start = time.process_time(), time.perf_counter()
    export()
    print(json.dumps({"system": system, "version": version, "task": args.task, "threads": args.threads, "rows_scanned": rows(args), "rows_kept": rows(args), "seconds": [round(time.perf_counter() - start, 4)],
                      "cpu_seconds": [round(time.process_time() - cpu, 3)]}), flush=True)
