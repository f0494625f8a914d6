"""Tables (Markdown) of the JSON lines of one run, and the check that all systems delivered the same rows."""
import statistics

import recipe_tasks

MASK = (1 << 64) - 1
TASKS = {"T0": "all 164 columns", "T0L": "T0, 1,600,000 rows", "T0u": "T0, unsorted files", "T1": "20 features and the label",
         "T1g": "T1, row groups of 1,000,000 rows",
         "T1i": "T1, row groups of 1,000,000 rows, with a page index",
         "T3": "T0 after a row filter and an anti-join", "T4": "T3 and a join with two million users", "T0s": "T0, rows shuffled"}


def good_runs(lines, task, peer):
    return [x for x in lines if x.get("task") == task and x.get("peer") == peer and "failed" not in x]


def passes_of(run):
    return list(zip(run["seconds"], run["cpu_seconds"]))


def times(checksum, n):
    """The checksum of n passes, computed from that of one pass. Every part is a sum."""
    rows, label, lengths, ids, lists, dense = checksum.split(":")
    return (int(rows) * n, int(label) * n, int(lengths) * n & MASK, int(ids, 16) * n & MASK, int(lists, 16) * n & MASK), float(dense) * n


def same(a, b):
    """Whether two runs delivered the same rows: integers exactly, floats to 1e-6. Millrace sums all its passes, the peers one. Tasks with
    hashes compare only the number of hashes, because each system has its own hash function."""
    (x, dx), (y, dy) = times(a["checksum"], b["passes"]), times(b["checksum"], a["passes"])
    if a["task"] in recipe_tasks.TASKS and recipe_tasks.TASKS[a["task"]].hashes and a["system"] != b["system"]:
        x, y = x[:3], y[:3]
    return x == y and abs(dx - dy) <= 1e-6 * max(1.0, abs(dx))


def references(lines):
    """{(task, rows scanned): the run that the others are compared with}: a peer's, if there is one; with the system as a third key its own first run."""
    out = {}
    for x in sorted(lines, key=lambda x: x.get("peer", "").startswith("millrace")):
        if x.get("checksum") and "failed" not in x:
            out.setdefault((x["task"], x["rows_scanned"]), x)
            out.setdefault((x["task"], x["rows_scanned"], x["system"]), x)
    return out


def disagreements(lines):
    lines = [x for x in lines if x.get("task") in TASKS or x.get("task") in recipe_tasks.TASKS]
    reference, rows, orders = references(lines), [], {}
    for x in lines:
        if x.get("checksum") and "failed" not in x:
            for r in (reference[x["task"], x["rows_scanned"]], reference[x["task"], x["rows_scanned"], x["system"]]):
                if not same(r, x):
                    rows.append(f"{x['task']}: {x['peer']} differs from {r['peer']}")
        if x.get("order_hash") and "failed" not in x:
            kind = next((k for k in ("requests shuffled", "in file order") if k in x["peer"]), "plain")
            orders.setdefault((x["task"], kind, x["passes"]), set()).add(x["order_hash"])
    return {"rows": list(dict.fromkeys(rows)), "order": [f"{k[0]} ({k[1]}): {len(v)} orders" for k, v in orders.items() if len(v) > 1]}


def task_table(lines, task):
    reference = references(lines)
    anchor = {}
    for threads in (1, 2):
        runs = good_runs(lines, task, f"arrow c++, {threads} thread{'s' if threads > 1 else ''}")
        if runs:
            anchor[threads] = statistics.median(r["rows_scanned"] / s for r in runs for s in r["seconds"])
    yield f"\n### {task}: {TASKS.get(task, '')}\n"
    yield "| system | passes | seconds: median (range) | rows/s scanned | x Arrow C++, same threads | CPU-s per M rows | peak MB | first batch, cold, s | same rows |"
    yield "|---|---|---|---|---|---|---|---|---|"
    others = []
    for peer in dict.fromkeys(x["peer"] for x in lines if x.get("task") == task):
        good = good_runs(lines, task, peer)
        if not good:
            failed = [x for x in lines if x.get("task") == task and x["peer"] == peer]
            yield f"| {peer} | 0 | not run: {failed[-1]['failed']} | | | | | | |"
            continue
        pairs = [p for r in good for p in passes_of(r)]
        seconds = [s for s, _ in pairs]
        n, median = good[0]["rows_scanned"], statistics.median(seconds)
        cold = [r["launch_to_first_batch_seconds"] for r in good if r.get("launch_to_first_batch_seconds")]
        sums = [r for r in good if r.get("checksum")]
        ok = "no batches" if not sums else "yes" if all(same(reference[task, r["rows_scanned"]], r) for r in sums) else "NO"
        base = anchor.get(good[0].get("bench_threads"))
        name = peer + (f" ({n:,} rows)" if n < 400_000 and any(x.get("rows_scanned", 0) > n for x in lines if x.get("task") == task) else "")
        failed = sum(1 for x in lines if x.get("task") == task and x.get("peer") == peer and "failed" in x)
        yield (f"| {name}{f' ({failed} failed)' if failed else ''} | {len(pairs)} | {median:.2f} ({min(seconds):.2f}-{max(seconds):.2f}) | {n / median:,.0f} | "
               f"{f'{n / median / base:.2f}' if base else ''} | {statistics.median(c for _, c in pairs) / n * 1e6:.2f} | {max(r['peak_mb'] for r in good):,.0f} | "
               f"{f'{statistics.median(cold):.2f}' if cold else ''} | {ok} |")
        others += [r["other_cpu_process_seconds"] / max(0.01, r["process_seconds"]) for r in good]
    whole = {}
    for x in lines:
        if x.get("task") == task and x.get("stream_seconds") and "failed" not in x:
            whole.setdefault(x["peer"], []).append(x["stream_seconds"] / x["passes"])
    if whole:
        yield "\nMillrace's whole stream, cold first pass and last one included, seconds a pass: " + "; ".join(f"{peer[10:]} {statistics.median(v):.2f}" for peer, v in whole.items()) + "."
    if others:
        yield f"\nOther work on the machine while these ran: {100 * statistics.median(others):.0f} % of one core (median), {100 * max(others):.0f} % at most."


CLASSES = (("dense", "100 float32"), ("ids", "53 int64"), ("lists", "10 list<int64>"))


def roofline(lines):
    """Memory, decompression, decode and our rate for each column class, on one thread. Empty without a line of `limits`."""
    full = [x for x in lines if x.get("task") == "limits" and "dense" in x]
    if not full:
        return
    m = full[-1]
    yield "\n### Roofline, one thread\n"
    yield f"memcpy {m['memcpy_gb_per_second']:.1f} GB/s cold (1 GiB), {m['memcpy_hot_gb_per_second']:.1f} GB/s hot (256 KiB); fresh memory {m['fresh_gb_per_second']:.1f} GB/s; page cache {m['page_cache_gb_per_second']:.2f} GB/s\n"
    yield "| columns | bytes a row decoded | pages alone (decompression), rows/s | Arrow record batches | typed reader | prototype, expanded | millrace, expanded | millrace, once | share of pages alone |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for key, name in (*CLASSES, ("all", "all")):
        c = m[key]
        ours = {}
        for kind in ("expanded", "once"):
            runs = good_runs(lines, "T0", f"millrace, 1 thread, lists {kind}") if key == "all" else good_runs(lines, "class", f"millrace, {key}, lists {kind}")
            if runs:
                ours[kind] = statistics.median(r["rows_scanned"] / s for r in runs for s in r["seconds"])
        cells = [f"{c[w]:,.0f}" for w in ("pages", "arrow", "typed", "hand")] + [f"{ours[k]:,.0f}" if k in ours else "" for k in ("expanded", "once")]
        share = f"{100 * max(ours.values()) / c['pages']:.0f} %" if ours else ""
        yield f"| {name} | {c['bytes_per_row']:,.0f} | " + " | ".join(cells) + f" | {share} |"
    yield f"\nA prototype without nulls, order or checks makes T0 batches with lists stored once at {m['prototype_rows_per_second']:,.0f} rows/s."
    for kind in ("once", "expanded"):
        runs = good_runs(lines, "T0", f"millrace, 1 thread, lists {kind}")
        stages = runs and runs[-1].get("stages")
        if stages:
            total = sum(s["busy_seconds"] for s in stages.values()) or 1
            parts = ", ".join(f"{name} {100 * s['busy_seconds'] / total:.0f} %" for name, s in sorted(stages.items(), key=lambda i: -i[1]["busy_seconds"]) if s["busy_seconds"] > 0)
            yield f"\nWhere our time goes (T0, 1 thread, lists {kind}): {parts}."


def budget_table(rows):
    yield "\n### Budget\n"
    yield "| what | needed | got | |"
    yield "|---|---|---|---|"
    for row in rows:
        yield "| " + " | ".join(str(x).replace("|", "/") for x in row) + " |"
