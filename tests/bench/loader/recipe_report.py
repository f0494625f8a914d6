"""The recipe tasks as tables: a line for each task, a table for each number of threads."""
import statistics

import recipe_tasks
import report

KINDS = {"registers": "arithmetic in registers", "cache": "192 kB a core", "copy": "copying 64 MB"}  # of peers/two_threads.cpp


def peers_of(threads):
    words = "1 thread" if threads == 1 else f"{threads} threads"
    return [f"millrace, {words}, in file order", f"millrace, {words}, shuffled", f"polars, {words}", f"duckdb, {words}"]


def figures(lines, task, peer):
    """One process's Mrows/s with range, CPU-seconds per million rows, time to the first batch and peak MB, or None if no run
    succeeded."""
    runs = report.good_runs(lines, task, peer)
    if not runs:
        return None
    rates = [r["rows_scanned"] / s / 1e6 for r in runs for s in r["seconds"]]
    firsts = [r["launch_to_first_batch_seconds"] for r in runs if r.get("launch_to_first_batch_seconds")]
    rests = [r["seconds"][0] - r["launch_to_first_batch_seconds"] for r in runs if r.get("launch_to_first_batch_seconds")]
    return {"rest": statistics.median(rests) if rests else None, "rate": statistics.median(rates), "range": (min(rates), max(rates)), "cpu": statistics.median(c / r["rows_scanned"] * 1e6 for r in runs for c in r["cpu_seconds"]),
            "first": statistics.median(firsts) if firsts else None, "peak": max(r["peak_mb"] for r in runs)}


def rate_cell(got):
    if not got:
        return ""
    spread = f"{got['range'][0]:.2f}-{got['range'][1]:.2f}; " if got["range"][0] < got["range"][1] else ""
    return f"{got['rate']:.2f} ({spread}{got['cpu']:.2f})"


def row(lines, task, threads, differing):
    got = [figures(lines, task, peer) for peer in peers_of(threads)]
    ours, _, *theirs = got
    best = max((g["rate"] for g in theirs if g), default=None)
    over = f"{ours['rate'] / best:.2f}x" if ours and best else ""
    firsts = " / ".join(f"{g['first']:.2f}" if g and g["first"] is not None else "-" for g in got)
    peaks = " / ".join(f"{g['peak']:,.0f}" if g else "-" for g in got)
    rows = "NO" if any(d.startswith(task + ":") for d in differing) else "counts" if recipe_tasks.TASKS[task].hashes else "yes"
    return f"| {task} {recipe_tasks.TASKS[task].what} | {' | '.join(map(rate_cell, got))} | {over} | {firsts} | {peaks} | {rows} |"


def two_threads(lines):
    """{kind of work: [speed-up of two threads over one, for each round]}."""
    runs = report.good_runs(lines, "limits", "two threads")
    return {kind: [r[kind] for r in runs] for kind in KINDS} if runs else {}


def limit_of_two_threads(lines):
    """The best speed-up of two threads over one in any round, for work that does not wait for memory, or None if it was not
    measured."""
    got = two_threads(lines)
    return max(got["registers"] + got["cache"]) if got else None


def scaling_table(lines, measured):
    """The speed-up of two threads over one: of the machine, and of the tasks."""
    machine = two_threads(lines)
    yield "\n### Recipes, two threads over one\n"
    if machine:
        yield "The machine, by processor time, median (range) of the rounds: " + "; ".join(f"{words} {statistics.median(machine[k]):.2f}x ({min(machine[k]):.2f}-{max(machine[k]):.2f})" for k, words in KINDS.items()) + ".\n"
    yield "| task | Millrace, five passes (R15: one) | two processes | one pass | one pass from its first batch on | CPU-s a row, one pass | Polars | DuckDB |"
    yield "|---|---|---|---|---|---|---|---|"
    for task in measured:
        work = recipe_tasks.TASKS[task]
        processes = figures(lines, task, work.scaling("2 processes"))
        long = [figures(lines, task, work.scaling(words)) for words in ("1 thread", "2 threads")]
        (one, two), *others = ([figures(lines, task, f"{system}, {words}{order}") for words in ("1 thread", "2 threads")]
                               for system, order in (("millrace", ", in file order"), ("polars", ""), ("duckdb", "")))
        both = one and two
        ours = [f"{two['rate'] / one['rate']:.2f}x" if both else "", f"{one['rest'] / two['rest']:.2f}x" if both and one["rest"] and two["rest"] else "",
                f"{two['cpu'] / one['cpu']:.2f}x" if both else ""]
        rates = [f"{b['rate'] / a['rate']:.2f}x" if a and b else "" for a, b in (long, (long[0], processes), *others)]
        yield f"| {task} | {' | '.join(rates[:2] + ours + rates[2:])} |"


def tables(lines):
    measured = [t for t in recipe_tasks.TASKS if any(x.get("task") == t for x in lines)]
    differing = report.disagreements(lines)["rows"]
    for threads in (1, 2):
        shown = [t for t in measured if any(report.good_runs(lines, t, peer) for peer in peers_of(threads))]
        if not shown:
            continue
        yield f"\n### Recipes, {threads} thread{'s' if threads > 1 else ''}: Mrows/s of a whole stream, median (range; CPU-s per M rows)\n"
        yield "| task | Millrace, in file order | Millrace, shuffled | Polars | DuckDB | over the better | first batch, s, of the four | peak MB, of the four | same rows |"
        yield "|---|---|---|---|---|---|---|---|---|"
        yield from (row(lines, t, threads, differing) for t in shown)
    if {1, 2} <= {x.get("bench_threads") for x in lines if x.get("task") in measured}:
        yield from scaling_table(lines, measured)
    failed = dict.fromkeys((x["task"], x["peer"], x["failed"]) for x in lines if x.get("task") in measured and "failed" in x)
    yield from (f"\n{task}, {peer}: not run: {why}" for task, peer, why in failed)
    if any(recipe_tasks.TASKS[t].hashes for t in measured):
        yield "\n\"counts\": rows, labels, list lengths and floats agree; ids are hashes, of which every system has a function of its own."
