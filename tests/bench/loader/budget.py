"""The speed budget as data: each row names its measurement, its limit and its result.

A row is judged on the JSON lines of one run. A row that compares two rates takes their ratio in each round, in which the two processes run one after
the other, and then the median of the rounds, because a machine's speed drifts over an hour. All other rows take medians. The result of a row is
"holds", "MISSED", "not run" (a peer or a run that it needs failed; counts as a miss) or "not measured" (nobody asked for it, or the product has no
switch for it yet; does not count).
"""
import statistics

import recipe_report
import recipe_tasks
from report import good_runs

ONE, TWO = "millrace, 1 thread", "millrace, 2 threads"
ONCE, EXPANDED = ", lists once", ", lists expanded"
ARROW = {ONE: "arrow c++, 1 thread", TWO: "arrow c++, 2 threads"}
TORCH = ["torch DataLoader, in process", "torch DataLoader, in process, 2 Arrow threads"]
RAY = ["ray data, collate_fn", "ray data, packed"]

RECIPE_PEERS = {ONE: ["polars, 1 thread", "duckdb, 1 thread"], TWO: ["polars, 2 threads", "duckdb, 2 threads"]}


def recipe_rows(name, task):
    """The rows of a recipe task. The stream that does the same work as the peers, in file order, is judged; the shuffled
    stream is only reported."""
    both, order = ((ONE, "1 thread"), (TWO, "2 threads")), ", in file order"
    yield from ((f"{name}, {t}: rate over the better of Polars and DuckDB", "ratio", name, us + order, RECIPE_PEERS[us], task.ratio) for us, t in both)
    yield from ((f"{name}, {t}: CPU-s per M rows, below both", "cpu", name, us + order, RECIPE_PEERS[us], None) for us, t in both)
    yield f"{name}: 2 threads over 1", "scaling", name, task.scaling("2 threads"), [task.scaling("1 thread")], 1.8
    if not task.exports:
        yield from ((f"{name}, {t}: first batch from a cold start", "first", name, us + order, [], task.first) for us, t in both)
        yield f"{name}, 2 threads, shuffled: rate over the better of Polars and DuckDB", "report", name, TWO + ", shuffled", RECIPE_PEERS[TWO], None


# (what, kind, task, ours, peers, needed). If needed is None, the row is only reported. The best of several peers counts.
ROWS = [
    *[(f"T0, lists stored once, {t[10:]}: rate over Arrow C++", "ratio", "T0", t + ONCE, [ARROW[t]], 2.8) for t in (ONE, TWO)],
    *[(f"T0, lists expanded, {t[10:]}: rate over Arrow C++", "ratio", "T0", t + EXPANDED, [ARROW[t]], 2.0) for t in (ONE, TWO)],
    ("T0, lists stored once, 2 threads: over the best in-process DataLoader", "ratio", "T0", TWO + ONCE, TORCH, 3.0),
    ("T0, lists stored once, 2 threads: over DataLoader with workers", "ratio", "T0", TWO + ONCE, ["torch DataLoader, 2 workers"], 6.0),
    ("T0, lists stored once, 2 threads: over Ray Data, 1.6 M rows", "ratio", "T0L", TWO + ONCE, RAY, 7.0),
    ("T0, lists stored once, 2 threads: over Ray Data, 0.4 M rows (with its start-up)", "ratio", "T0", TWO + ONCE, RAY, 8.0),
    ("T0, lists stored once, 1 thread: share of the page floor", "floor", "T0", ONE + ONCE, [], 0.55),
    *[(f"T0, lists stored once, {t[10:]}: CPU-s per M rows, below every peer's", "cpu", "T0", t + ONCE, [], None) for t in (ONE, TWO)],
    ("T0, lists stored once: 2 threads over 1", "ratio", "T0", TWO + ONCE, [ONE + ONCE], 1.85),
    ("T0, lists expanded: 2 threads over 1", "report", "T0", TWO + EXPANDED, [ONE + EXPANDED], None),
    *[(f"{task}, lists expanded, 2 threads: rate over Arrow C++", "ratio", task, TWO + EXPANDED, [ARROW[TWO]], need)
      for task, need in (("T1", 1.5), ("T3", 3.0), ("T4", 3.0))],
    ("T0s, rows shuffled, 2 threads: rate over Arrow C++", "ratio", "T0s", TWO + EXPANDED, [ARROW[TWO]], 3.0),
    *[(f"{task}, lists stored once, 2 threads: rate over Arrow C++", "report", task, TWO + ONCE, [ARROW[TWO]], None) for task in ("T1", "T3", "T4")],
    ("T0s, requests shuffled, lists stored once, 2 threads: over Arrow C++ (rows)", "report", "T0s", TWO + ", requests shuffled" + ONCE, [ARROW[TWO]], None),
    *[(f"{task}, lists expanded, 1 thread: rate over Arrow C++", "report", task, ONE + EXPANDED, [ARROW[ONE]], None) for task in ("T1", "T3", "T4", "T0s", "T0u")],
    ("T0, unsorted files, 2 threads: rate over Arrow C++", "ratio", "T0u", TWO + EXPANDED, [ARROW[TWO]], 1.4),
    *[(f"T0, lists stored once, {t[10:]}: first batch from a cold start", "first", "T0", t + ONCE, [ARROW[t]], 0.4) for t in (ONE, TWO)],
    ("T1g, row groups of a million rows, lists stored once, 2 threads: first batch from a cold start", "first", "T1g", TWO + ONCE, [], 1.0),
    ("T1g, row groups of a million rows, lists stored once, 2 threads: peak memory", "memory", "T1g", TWO + ONCE, [], 4000),
    *[(f"{task}, lists expanded, 2 threads: rate over Arrow C++", "report", task, TWO + EXPANDED, [ARROW[TWO]], None) for task in ("T1g", "T1i")],
    ("T0s, rows shuffled, 2 threads: first batch from a cold start", "first", "T0s", TWO + EXPANDED, [ARROW[TWO]], 0.4),
    ("T0, lists stored once, 1 thread: peak memory, below Arrow's", "memory", "T0", ONE + ONCE, [ARROW[ONE]], None),
    ("T0, lists expanded, 1 thread: peak memory, below Arrow's", "memory", "T0", ONE + EXPANDED, [ARROW[ONE]], None),
    ("shuffle: requests, lists stored once, 2 threads: cost in rate", "cost", "T0", TWO + ONCE, [("T0s", TWO + ", requests shuffled" + ONCE)], 0.10),
    *[row for name, task in recipe_tasks.TASKS.items() for row in recipe_rows(name, task)],
]
UNMEASURED = [("counters: cost in CPU-seconds", "< 2 %", "tests/bench/loader/costs measures it"),
              ("deterministic order: cost in CPU-seconds", "< 3 %", "tests/bench/loader/costs measures it"),
              ("S3 with 30 ms latency, share of local rate", ">= 90 %", "tests/bench/loader/s3 measures it"),
              ("1,500 columns, rate x columns against 164", "within 20 %", "tests/bench/loader/wide measures it"),
              ("100,000 files, plan", "< 20 s cold, < 2 s cached", "tests/bench/loader/many_files measures it")]


def is_needed(task, peer):
    """Whether this process's figures are judged or reported in a row."""
    pairs = [pair for _, _, of, ours, peers, _ in ROWS for pair in [(of, ours)] + [p if isinstance(p, tuple) else (of, p) for p in peers]]
    return peer.startswith("millrace") or (task, peer) in pairs


def across_tasks():
    """[((task, ours), (other task, theirs))]: pairs of different tasks that a row compares."""
    return [((task, ours), other) for _, _, task, ours, peers, _ in ROWS for other in peers if isinstance(other, tuple)]


class Figures:
    """Medians over the lines of one run."""

    def __init__(self, lines):
        self.lines = lines

    def runs(self, task, peer):
        return good_runs(self.lines, task, peer)

    def why_not(self, task, peer):
        failed = [x["failed"] for x in self.lines if x.get("task") == task and x.get("peer") == peer and "failed" in x]
        return f"{peer}: {failed[-1]}" if failed else None

    def rates(self, task, peer):
        """For each round, the median of its passes."""
        return {r.get("round", 0): statistics.median(r["rows_scanned"] / s for s in r["seconds"]) for r in self.runs(task, peer)}

    def rate(self, task, peer):
        """The median of all passes."""
        runs = self.runs(task, peer)
        return runs and statistics.median(r["rows_scanned"] / s for r in runs for s in r["seconds"])

    def stream_rates(self, task, peer):
        """For each round, the rate of the whole stream, including the first pass with cold caches and the last pass."""
        return {r.get("round", 0): r["rows_scanned"] * r["passes"] / r["stream_seconds"] for r in self.runs(task, peer)}

    def floors(self):
        return {x.get("round", 0): x["floor_rows_per_second"] for x in self.lines if x.get("task") == "limits" and "floor_rows_per_second" in x}

    def cpu(self, task, peer):
        runs = self.runs(task, peer)
        return runs and statistics.median(c / r["rows_scanned"] * 1e6 for r in runs for c in r["cpu_seconds"])

    def median(self, task, peer, key):
        values = [r[key] for r in self.runs(task, peer) if key in r]
        return statistics.median(values) if values else None

    def peers(self, task):
        return list(dict.fromkeys(x["peer"] for x in self.lines if x.get("task") == task))

    def floor(self):
        """The median of all rounds, or None if there is none."""
        return statistics.median(self.floors().values()) if self.floors() else None


def ratio(ours, theirs):
    """Median of the ratios of the rounds that both have, or the ratio of the medians if they share no round."""
    shared = [ours[r] / theirs[r] for r in ours if r in theirs]
    return statistics.median(shared) if shared else statistics.median(ours.values()) / statistics.median(theirs.values())


def judge(f, row):
    """(needed, got, verdict) of a row."""
    what, kind, task, ours, peers, needed = row
    both = [(task, ours)] + [p if isinstance(p, tuple) else (task, p) for p in peers]
    missing = [b for b in both if not f.runs(*b)]
    if f.runs(task, ours) and kind == "ratio" and len(missing) < len(peers) and task not in recipe_tasks.TASKS:
        missing = []  # the best of those that succeeded counts
    if missing:
        why = next(filter(None, (f.why_not(*b) for b in missing)), None)
        return text_of(kind, needed), why or "left out of this run", "not run" if why else "not measured"
    if kind == "scaling":
        return judge_scaling(f, task, ours, peers[0], needed)
    if kind in ("ratio", "report"):
        best = max((p for p in peers if f.runs(task, p)), key=lambda p: f.rate(task, p))
        got = ratio(f.rates(task, ours), f.rates(task, best))
        return text_of(kind, needed), f"{got:.2f}x", verdict(None if needed is None else got >= needed)
    if kind == "floor":
        if not f.floors():
            why = f.why_not("limits", "limits")
            return text_of(kind, needed), why or "left out of this run", "not run" if why else "not measured"
        got = ratio(f.rates(task, ours), f.floors())
        return text_of(kind, needed), f"{100 * got:.1f} % of {f.floor():,.0f} rows/s", verdict(got >= needed)
    if kind == "cpu":
        others = {p: f.cpu(task, p) for p in peers or f.peers(task) if not p.startswith("millrace") and f.runs(task, p) and f.runs(task, p)[0].get("checksum")}
        if not others:
            return "below every peer", "no peer was run", "not measured"
        least, got = min(others, key=others.get), f.cpu(task, ours)
        return f"< {others[least]:.2f} ({least})", f"{got:.2f}", verdict(got < others[least])
    if kind == "first":
        got, *arrow = (f.median(task, p, "launch_to_first_batch_seconds") for p in (ours, *peers))
        return f"< {needed:g} s", f"{got:.2f} s" + "".join(f" (Arrow C++ {a:.2f} s)" for a in arrow), verdict(got < needed)
    if kind == "memory" and needed:
        got = max(r["peak_mb"] for r in f.runs(task, ours))
        return f"< {needed:,.0f} MB", f"{got:,.0f} MB", verdict(got < needed)
    if kind == "memory":
        got, arrow = (max(r["peak_mb"] for r in f.runs(task, p)) for p in (ours, peers[0]))
        return f"< {arrow:,.0f} MB", f"{got:,.0f} MB", verdict(got < arrow)
    got = 1 - ratio(f.stream_rates(*both[1]), f.stream_rates(task, ours))  # whole streams, so that passes that come in bursts favour neither side
    return f"< {100 * needed:.0f} %", f"{100 * got:.1f} %", verdict(got < needed)


SHARE_OF_MACHINE = 0.95


def judge_scaling(f, task, ours, theirs, needed):
    """A machine cannot be asked for more than it has: its two cores may share execution units, or other machines on the host
    may slow them. Two measures show what it has: two processes of the task side by side in the same round, and work that
    does not wait for memory."""
    machine, got = recipe_report.limit_of_two_threads(f.lines), ratio(f.rates(task, ours), f.rates(task, theirs))
    processes = f.rates(task, recipe_tasks.TASKS[task].scaling("2 processes"))
    if got < needed and processes:
        share = ratio(f.rates(task, ours), processes)
        return f"{text_of('ratio', needed)}, or {100 * SHARE_OF_MACHINE:.0f} % of two processes' rate", f"{got:.2f}x, {100 * share:.0f} %", verdict(share >= SHARE_OF_MACHINE)
    if machine is not None and SHARE_OF_MACHINE * machine < needed:
        least = SHARE_OF_MACHINE * machine
        return f">= {least:.2f}x, {100 * SHARE_OF_MACHINE:.0f} % of the machine's {machine:.2f}x", f"{got:.2f}x", verdict(got >= least)
    return text_of("ratio", needed), f"{got:.2f}x", verdict(got >= needed)


def text_of(kind, needed):
    if needed is None:
        return "reported" if kind == "report" else "below the peer"
    return {"ratio": f">= {needed:g}x", "scaling": f">= {needed:g}x", "floor": f">= {100 * needed:.0f} %", "first": f"< {needed:g} s", "memory": f"< {needed:,.0f} MB", "cost": f"< {100 * needed:.0f} %"}[kind]


def verdict(holds):
    return "-" if holds is None else "holds" if holds else "MISSED"


def judge_all(lines, disagreements):
    """[(what, needed, got, verdict)]; the checks of rows and order come first."""
    f = Figures(lines)
    out = [("every system delivered the same rows (checksums)", "the same", "; ".join(disagreements["rows"]) or "the same", verdict(not disagreements["rows"])),
           ("one order for any number of threads (order hashes)", "the same", "; ".join(disagreements["order"]) or "the same", verdict(not disagreements["order"]))]
    asked = {x["task"] for x in lines if "task" in x}
    has_reference = bool(asked - {"limits", *recipe_tasks.TASKS})
    out += [(row[0], *judge(f, row)) for row in ROWS if (row[2] in asked if row[2] in recipe_tasks.TASKS else has_reference)]
    return out + [(what, needed, why, "not measured") for what, needed, why in UNMEASURED if has_reference]
