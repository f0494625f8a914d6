"""The recipe tasks R1 to R15s as data: what each reads, what a mini-batch of it holds, what of its checksum can be compared. Shared by `run`, the budget,
the report and the peers; Millrace's specs of the same work are recipes/*.yaml."""
from typing import NamedTuple


class Task(NamedTuple):
    what: str
    data: str                     # folder of the data set (make_recipes.py)
    dense: tuple = ()             # a batch's float columns, in the order of Millrace's frames
    ids: tuple = ()               # its integer columns
    lists: tuple = ()
    hashes: bool = False          # ids are hashes. Each system has a different hash function, so sums of ids cannot be compared
    exports: str = ""             # writes a table: in the "order" of the files, or "sort"ed
    first: float = 0.5            # the most seconds until the first batch
    ratio: float = 1.3            # ratio of rows/s to the better peer

    def scaling(self, work):
        """The process from which the speed-up of two threads is computed (peers.json), where `work` is for example "2
        threads". A pass of a stream is short, so there are five; a table is written once."""
        return f"millrace, {work}, in file order" + ("" if self.exports else ", five passes")


COUNTS = tuple(f"i{j}" for j in range(1, 14))
TEXTS = tuple(f"c{j}" for j in range(1, 27))
EXPORTED = ("k", "user", "n", "y", "x", "time", "city", "item")
TASKS = {
    "R1": Task("Criteo-like: 13 log1p, 26 texts hashed, 3 bucketize", "criteo", COUNTS, (*TEXTS, "b1", "b2", "b3"), hashes=True, first=0.15, ratio=2.0),
    "R2": Task("26 text columns as ids", "criteo", (), TEXTS, hashes=True, ratio=2.0),
    "R3": Task("two regexp_extract, hashed", "events", ("x",), ("item_id", "browser"), hashes=True),
    "R4": Task("join, 5 M text keys", "events", ("x", "age", "score"), ("k",)),
    "R5": Task("as-of join, 2 M rows", "events", ("x", "price"), ("k",)),
    "R6": Task("CSV, 305 MB", "csv", ("amount", "x", "n", "hour"), ("user", "city", "url", "k"), hashes=True),
    "R7": Task("timestamps", "events", ("hour", "weekday", "idle", "seconds"), ("day",)),
    "R8": Task("case, pow, exp, like", "events", ("band", "root", "decay", "mobile", "by_mail")),
    "R9": Task("1,000 small files", "small", ("amount", "x", "n"), ("city", "k"), hashes=True),
    "R10": Task("300 of 3,000 columns", "wide", tuple(f"f{j:04d}" for j in range(0, 3000, 10))),
    "R11": Task("filter to 0.25 %", "events", ("x", "y"), ("user", "agent", "url", "k"), hashes=True),
    "R12": Task("anti join, 1.7 M text keys", "events", ("x", "y", "n"), ("k",)),
    "R13": Task("text functions, hashed", "events", ("x",), ("prefix", "shop", "town", "pair"), hashes=True),
    "R14": Task("wide lists: the last 100, hashed", "lists", (), ("k",), ("h0", "h1", "h2"), hashes=True),
    "R15": Task("export of 5 M rows", "events", exports="order"),
    "R15s": Task("export of 5 M rows, sorted by a text", "events", exports="sort"),
}


def glob_of(task):
    """Its files, in the folder that make_recipes.py has written."""
    data = TASKS[task].data
    return f"{data}/part-*.{'csv' if data == 'csv' else 'parquet'}"


def spec_of(task):
    """The file of Millrace's spec, in recipes/."""
    return task.rstrip("s").lower() + ".yaml"
