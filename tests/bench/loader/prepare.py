"""Makes, once, what the comparison needs: the peers' virtual environment, the C++ peers, the reference data."""
import os
import re
import subprocess
import sys

import measure
from measure import say

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
LOCK = os.path.join(HERE, "requirements.lock")
LARGE_GROUPS = ["--rows", "2000000", "--files", "2", "--row-group", "1000000", "--columns", "d0.0|s[02][0-3]|h[05]"]
DATA = {"grouped": ("reference", []), "unsorted": ("reference-unsorted", ["--unsorted"]),
        "large": ("reference-large", ["--rows", "1600000", "--files", "16"]),
        # 1,500 columns, in row groups with as many values as the reference's row groups of 65,536 rows of 164 columns
        "wide": ("reference-1500", ["--like", "1500", "--row-group", "7168"]),
        "row_groups": ("reference-row-groups", LARGE_GROUPS), "row_groups_index": ("reference-row-groups-index", LARGE_GROUPS + ["--page-index"]),
        "recipes": ("recipes", []), "recipes_quick": ("recipes-quick", ["--quick"])}


def lists_of(columns):
    """How many of the columns of a data set hold lists (make_reference.py, features_of)."""
    return round((columns - 4) / 16)


class Failed(Exception):
    """Something that a run needs is missing. The text names it and says how to get it."""


def lock_groups():
    """{group: (needs, [requirement lines])} of requirements.lock."""
    groups, name = {}, None
    for line in open(LOCK):
        head = re.match(r"# \[(\w+)\](?: needs (\w+))?", line)
        if head:
            name = head[1]
            groups[name] = (head[2], [])
        elif name and "==" in line:
            groups[name][1].append(line)
    return groups


class Environment:
    """The virtual environment at `folder`. group(NAME) installs a group on first use. It returns None, or the reason why the
    installation failed."""

    def __init__(self, folder, offline=False):
        self.folder, self.offline, self.known = folder, offline, {}
        self.python = os.path.join(folder, "bin", "python")

    def make(self):
        if os.path.exists(self.python):
            return None
        base = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
        say(f"bench: making {self.folder}")
        made = subprocess.run([base, "-m", "venv", self.folder], capture_output=True, text=True)
        return None if made.returncode == 0 else "no virtual environment: " + ((made.stdout + made.stderr).strip().splitlines() or ["no message"])[-1]

    def group(self, name):
        if name not in self.known:
            self.known[name] = self.install(name)
        return self.known[name]

    def install(self, name):
        needs, lines = lock_groups()[name]
        why = self.group(needs) if needs else self.make()
        if why:
            return why
        stamp = os.path.join(self.folder, f".group-{name}")
        text = "".join(lines)
        if os.path.exists(stamp) and open(stamp).read() == text:
            return None
        if self.offline:
            return f"group {name} is not installed (--offline)"
        say(f"bench: installing {name}: {', '.join(x.split()[0] for x in lines)[:120]}")
        wish = stamp + ".txt"
        with open(wish, "w") as f:
            f.write(text)
        got = subprocess.run([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
                              "--require-hashes", "-r", wish], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        os.remove(wish)
        if got.returncode:
            errors = [x for x in got.stderr.strip().splitlines() if "ERROR" in x] or got.stderr.strip().splitlines() or ["no message"]
            return f"group {name} of requirements.lock cannot be installed: " + errors[0][:200]
        with open(stamp, "w") as f:
            f.write(text)
        return None


def data_set(environment, folder, kind):
    """The folder of a data set. It is written if it does not exist, and read into the page cache."""
    name, options = DATA[kind]
    script = "make_recipes.py" if kind.startswith("recipes") else os.path.join("..", "make_reference.py")
    path = os.path.join(folder, name)
    if not os.path.exists(os.path.join(path, "about.json")):
        why = environment.group("base")
        if why:
            raise Failed(f"the data cannot be made: {why}")
        say(f"bench: writing {path} (the {kind} data)")
        made = subprocess.run([environment.python, os.path.join(HERE, script), "--out", path, *options], stdout=sys.stderr)
        if made.returncode:
            raise Failed(f"{os.path.basename(script)} failed with {made.returncode}")
    measure.have_files(path)
    return path


def cpp_peers(folder):
    """arrow_scan and limits. build_peers builds them again if they are older than their sources."""
    return built(folder)


def two_threads(folder):
    """The program that compares one thread with two on this machine, built in the same way."""
    return built("--two-threads", folder)


def built(*arguments):
    """The reason why build_peers failed, or None."""
    made = subprocess.run([os.path.join(HERE, "build_peers"), *arguments], stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
    if made.returncode == 0:
        return None
    return "build_peers failed: " + (made.stderr.strip().splitlines() or ["no message"])[0][:200]


def machine():
    """One line about the machine, for the head of a report."""
    model = "unknown processor"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB, {os.uname().sysname} {os.uname().release}; commit {commit or 'unknown'}"
