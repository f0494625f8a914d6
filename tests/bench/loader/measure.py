"""One measured process: starts it on given cores, samples the memory of its process tree, ends the processes that it leaves,
and returns its JSON line."""
import ctypes
import json
import mmap
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import poll  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def children_of_all():
    children = {}
    for d in os.listdir("/proc"):
        if d.isdigit():
            try:
                with open(f"/proc/{d}/stat") as f:
                    s = f.read()
                children.setdefault(int(s[s.rindex(")") + 2:].split()[1]), []).append(int(d))
            except (OSError, ValueError):
                pass
    return children


def children_of(pid):
    """Children of all threads of a process (CONFIG_PROC_CHILDREN)."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as f:
            found += map(int, f.read().split())
    return found


HAS_CHILDREN = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


def tree(root):
    """A process and its descendants, found from parent to child, because a walk over all of /proc takes milliseconds from
    the measured process."""
    every, pids, waiting = {} if HAS_CHILDREN else children_of_all(), [], [root]
    while waiting:
        pids.append(waiting.pop())
        try:
            waiting += children_of(pids[-1]) if HAS_CHILDREN else every.get(pids[-1], [])
        except OSError:
            pass
    return pids


def become_reaper():
    """Orphans of the processes that we start become our children (PR_SET_CHILD_SUBREAPER), so that no process outlives its
    run."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def end_descendants():
    """Ends and reaps the processes of the last run, including its orphans. Only one run is in progress at a time."""
    for _ in range(50):
        left = tree(os.getpid())[1:]
        for pid in left[::-1]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        poll.pause(0.02)


def memory_mb(root):
    """Anonymous and shared pages of a process tree in MB; counts each shared page once, and no mapped files. For a single process it reads the
    kernel's counters: smaps_rollup walks the pages, which costs the measured process milliseconds of a core and holds a lock that page faults need."""
    pids, total = tree(root), 0
    name, fields = ("smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) if len(pids) > 1 else ("status", ("RssAnon:", "RssShmem:"))
    for pid in pids:
        try:
            with open(f"/proc/{pid}/{name}") as f:
                total += sum(int(line.split()[1]) for line in f if line.startswith(fields))
        except OSError:
            pass
    return total / 1024


WARM_BYTES = 1 << 30


def have_memory():
    """Writes a gigabyte and frees it. Within a second or two, the host of a virtual machine takes the memory that its guest
    leaves free, and returns it page by page at the first access. An access then takes 2 ms per megabyte instead of 0.1
    ms, and no measured program can change that."""
    with mmap.mmap(-1, WARM_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, WARM_BYTES, 4096):
            memory[at] = 1


def have_files(folder):
    """Reads all files below `folder` into the page cache. Returns how many megabytes were not in it. A machine may remove
    pages that were not used for some time (DAMON does so within minutes). The first process of a round would then pay for
    all."""
    def from_disk():
        with open("/proc/self/io") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("read_bytes:"))

    before, buffer = from_disk(), bytearray(1 << 20)
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), "rb", buffering=0) as f:
                while f.readinto(buffer):
                    pass
    return (from_disk() - before) / 1e6


def machine_cpu():
    """Processor seconds that the whole machine has been busy."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:8]]
    return (sum(v) - v[3] - v[4]) / TICK


def busy_now(seconds=0.3):
    """Share of the machine that is busy, 0 to 1."""
    before = machine_cpu()
    poll.pause(seconds)
    return (machine_cpu() - before) / seconds / os.cpu_count()


def await_quiet(seconds):
    until = time.time() + seconds
    while (busy := busy_now()) > 0.1 and time.time() < until:
        pass
    return busy


class Pace:
    """The present speed of the cores. Other machines on the same host slow them in phases of minutes that no counter of this
    machine shows. Work that computes suffers more than work that waits for memory. So a process starts only when the
    cores are about as fast as the fastest that this run has measured."""
    SLOW = 1.12  # a core is slow from this multiple of its best time

    def __init__(self, patience=600.0):
        self.best, self.left = {}, patience
        self.work = zlib.compress(bytes((i * i * 2654435761 >> 13) & 63 for i in range(1 << 20)), 1)

    def slowness(self, cores):
        """Time of fixed work on the slowest of the cores, as a multiple of the best so far on it."""
        before, worst = os.sched_getaffinity(0), 1.0
        for core in cores:
            os.sched_setaffinity(0, {core})
            times = []
            for _ in range(5):
                start = time.perf_counter()
                zlib.decompress(self.work)
                times.append(time.perf_counter() - start)
            took = sorted(times)[2]
            self.best[core] = min(took, self.best.get(core, took))
            worst = max(worst, took / self.best[core])
        os.sched_setaffinity(0, before)
        return worst

    def wait(self, cores, seconds):
        """Waits for at most `seconds`, and for `patience` in the whole run; returns the last slowness."""
        until = time.monotonic() + min(seconds, self.left)
        while (slow := self.slowness(cores)) > self.SLOW and time.monotonic() < until:
            poll.pause(0.5)
            self.left -= 0.5
        return slow


def cores_for(threads):
    return set(sorted(os.sched_getaffinity(0))[:threads])


def normalise(line, warmup, task):
    """The line of `millrace-loader stream --json` in the words of the peers' lines; they pass unchanged. Without `warmup` the whole
    stream counts, from the start of the process, shared out over its passes."""
    if "stream_hash" not in line:
        return dict(line, passes=1)
    passes = line["epochs"]
    is_whole = warmup is None
    return {"system": "millrace", "task": task, "threads": line["threads"], "passes": passes,
            "rows_scanned": line["rows_scanned"] // passes, "rows_kept": line["rows_kept"] // passes,
            # the last pass has nothing after it to read ahead for, so it is too fast: neither first nor last counts
            "seconds": [line["seconds"] / passes] if is_whole else line["epoch_seconds"][warmup:-1],
            "stream_seconds": line["stream_seconds"],
            # of the whole process, start and planning included, shared out over its passes
            "cpu_seconds": [line["cpu_seconds"] / passes] if is_whole else [line["cpu_seconds"] / passes] * (passes - warmup - 1),
            "launch_to_first_batch_seconds": line["first_batch_seconds"], "own_peak_rss_mb": line["peak_rss_mb"],
            "checksum": line["checksum"], "order_hash": line["order_hash"], "stages": line.get("stages")}


def run(command, *, threads, limit, warmup=0, task="", quiet_wait=0.0, pace=None, cgroup=None, cpuacct=None, folder=None):
    """Runs `command`; its last line of JSON as a dict, or {"failed": why}. Everything that it started has ended on return. `folder`: of the files that it reads."""
    busy = await_quiet(quiet_wait)
    cores = cores_for(threads)
    slow = pace.wait(cores, quiet_wait) if pace else 1.0
    env = dict(os.environ, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", RAY_USAGE_STATS_ENABLED="0")
    if cpuacct:
        name = "cpuacct.usage" if os.path.exists(os.path.join(cpuacct, "cpuacct.usage")) else "cpu.stat"
        env["BENCH_CPUACCT"] = os.path.join(cpuacct, name)

    def enter():
        os.sched_setaffinity(0, cores)
        for folder in filter(None, (cgroup, cpuacct)):
            with open(os.path.join(folder, "cgroup.procs"), "w") as f:
                f.write(str(os.getpid()))

    cold = have_files(folder) if folder else 0
    have_memory()
    result = {"busy_before": round(busy, 3), "slowness_before": round(slow, 2), "cold_mb_before": round(cold, 1), "cores": sorted(cores)}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start, machine0, used0 = time.time(), machine_cpu(), resource.getrusage(resource.RUSAGE_CHILDREN)
        env["BENCH_LAUNCHED"] = repr(start)
        try:
            p = subprocess.Popen(command, stdout=out, stderr=err, text=True, start_new_session=True, preexec_fn=enter, env=env)
        except (OSError, subprocess.SubprocessError) as e:
            return dict(result, failed=f"cannot start {command[0]}: {e}")
        peak, timed_out = 0.0, False
        try:
            while p.poll() is None:
                peak = max(peak, memory_mb(p.pid))
                if time.time() - start > limit:
                    timed_out = True
                    break
                try:
                    p.wait(0.25 if warmup is not None else 0.05)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            end_descendants()
            p.poll()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        ours = used.ru_utime + used.ru_stime - used0.ru_utime - used0.ru_stime
        result.update(process_seconds=round(time.time() - start, 2), process_cpu_seconds=round(ours, 2),
                      other_cpu_process_seconds=round(max(0.0, machine_cpu() - machine0 - ours), 2))
        out.seek(0), err.seek(0)
        text, errors = out.read().strip(), err.read().strip().splitlines()
    if timed_out:
        return dict(result, failed=f"over the limit of {limit:g} s")
    if p.returncode:
        return dict(result, failed=f"exit {p.returncode}: " + (errors or ["no message"])[-1][:300])
    try:  # one document (ours), or the last line of a log (peers)
        line = json.loads(text) if text.startswith("{") and "\n}" in text else json.loads([x for x in text.splitlines() if x.startswith("{")][-1])
        return dict(normalise(line, warmup, task), **result, peak_mb=round(peak, 1))
    except (ValueError, IndexError, KeyError) as e:
        return dict(result, failed=f"no JSON line that I can read ({type(e).__name__}: {e})")


def say(text):
    print(text, file=sys.stderr, flush=True)
