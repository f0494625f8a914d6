#!/usr/bin/env python3
"""Laws that are checked with clang's tools (packaging/setup --tests installs version 19 of each):

  tools.py format [--fix]        every C++ file has the format of .clang-format
  tools.py locks --build DIR     lock annotations hold: clang -Wthread-safety over the files that have
                                 some and the sources beside them
  tools.py naming --build DIR    names follow .clang-tidy, in the files that differ from the main
                                 branch

--root DIR is the checkout (default: the one of this file). --build DIR is a configured build directory;
only the flags in its compile_commands.json are used, not its objects. --all: naming of every file
(minutes).

Exit code 0: kept; 1: offences, one a line; 2: the law could not be checked.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

TOPS = ("backend", "daemon", "proto", "app", "tests")
ANNOTATION = re.compile(r"\bMR_(GUARDED_BY|PT_GUARDED_BY|REQUIRES|EXCLUDES|ACQUIRE|RELEASE|TRY_ACQUIRE)\b")
# Errors that make a unit unreadable, unlike errors that report an offence.
BROKEN = re.compile(r": (fatal )?error: (?!.*\[-Werror,-Wthread-safety)")
# Sources per translation unit. They share the parsing of headers, which takes most of the time.
UNIT = 8
# Files with other naming rules: peers of the loader's bench, libFuzzer's entry points, C.
NAMED_OTHERWISE = ("tests/bench/loader/peers/", "tests/fuzz/", "backend/feed/feed_reader.h", "backend/feed/feed_tensors.h", "backend/feed/link/run_link.h",
                   "backend/feed/feed_python.h", "tests/unit/ring/c_caller.c")
# Most seconds of processor time for naming. On a larger branch it checks a part of the files and says so.
NAMING_SECONDS = 180


class CannotLook(Exception):
    pass


def sources(root):
    """Every C++ file of the tree, relative to it."""
    return sorted(p.relative_to(root).as_posix() for top in TOPS for p in (root / top).rglob("*")
                  if p.suffix in (".cpp", ".h", ".c"))


def run(argv, **kw):
    try:
        return subprocess.run(argv, capture_output=True, text=True, **kw)
    except FileNotFoundError:
        raise CannotLook(f"{argv[0]} is not installed: packaging/setup --tests") from None


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, items))


def in_units(items, size=UNIT):
    return [items[i:i + size] for i in range(0, len(items), size)]


def check_format(root, fix=False):
    def look(files):
        mode = ["-i"] if fix else ["--dry-run"]
        return run(["clang-format-19", "--style=file", *mode, *files], cwd=root).stderr

    said = "".join(in_parallel(look, in_units(sources(root), 100)))
    return sorted({line.split(" warning:")[0] + " not as .clang-format says: tests/laws/tools.py format --fix"
                   for line in said.splitlines() if " warning: " in line or " error: " in line})


class Flags:
    """The compiler flags of a file, from the build's commands for its folder."""

    def __init__(self, root, build):
        commands = pathlib.Path(build) / "compile_commands.json"
        if not commands.exists():
            raise CannotLook(f"{commands} is not there: configure the build (cmake --preset release)")
        self.root, self.of_folder, self.of_file = root, {}, {}
        for entry in json.loads(commands.read_text()):
            if entry["file"].endswith(".c"):
                continue  # a folder's flags are those of its C++
            words = shlex.split(entry["command"])
            output = entry.get("output") or words[words.index("-o") + 1]
            folder = output.split("/CMakeFiles/")[0]
            flags = self.of_folder.setdefault(folder, [])
            for flag in self.wanted(words):
                if flag not in flags:
                    flags.append(flag)
            # A few files are compiled for newer processors.
            if newer := [word for word in words if re.fullmatch(r"-m(avx|fma|bmi)\w*", word)]:
                self.of_file[os.path.relpath(entry["file"], root)] = newer

    @staticmethod
    def wanted(words):
        """The flags for include paths, definitions and the standard; the others are for another compiler."""
        words = iter(words)
        for word in words:
            if word in ("-I", "-isystem"):
                yield word + next(words)
            elif word.startswith(("-I", "-D", "-isystem", "-std=")):
                yield word

    def of(self, paths):
        """Flags for one unit of files of the same folder."""
        folder = os.path.dirname(paths[0])
        if folder == "tests/support":  # for the tests of every room; LibTorch's headers bring a Protobuf of their own
            is_torch = any("<ATen/" in (self.root / path).read_text(errors="replace") for path in paths)
            known = list(dict.fromkeys(flag for flags in self.of_folder.values() for flag in flags
                                       if is_torch or "/torch/" not in flag))
        else:
            while folder and folder not in self.of_folder:
                folder = os.path.dirname(folder)
            known = self.of_folder.get(folder, ["-std=c++20"])
        return ["-xc++", "-fPIC", f"-I{self.root}", *known,
                *(flag for path in paths for flag in self.of_file.get(path, []))]


def by_folder(files, size):
    """Groups of at most `size` files of the same folder, folders in the order of their first file."""
    folders = {}
    for file in files:
        folders.setdefault(os.path.dirname(file), []).append(file)
    return [group for folder in folders.values() for group in in_units(sorted(folder), size)]


def several_at_once(root, flags, tool):
    """Returns a function that runs `tool` (unit file, flags -> text) over files in one translation unit, or over each file
    separately if they do not compile together (the same name in two anonymous namespaces)."""
    def unit(group):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "unit.cpp"
            path.write_text("".join(f'#include "{root / file}"\n' for file in group))
            return tool(str(path), flags.of(group))

    def together_or_each(group):
        said = unit(group)
        return "".join(unit([file]) for file in group) if len(group) > 1 and BROKEN.search(said) else said

    return together_or_each


def included(root, file):
    return set(re.findall(r'^\s*#\s*include\s*"([^"]+)"', (root / file).read_text(errors="replace"), re.M))


def annotated(root):
    """Files with lock annotations, and the sources beside them that include them."""
    files = sources(root)
    holding = {f for f in files if ANNOTATION.search((root / f).read_text(errors="replace"))} - {"backend/core/mutex.h"}
    folders = {os.path.dirname(f) for f in holding}
    beside = {f for f in files if f.endswith(".cpp") and os.path.dirname(f) in folders and
              any(os.path.dirname(h) == os.path.dirname(f) for h in included(root, f) & holding)}
    return sorted(holding | beside)


def offences_of(said, root, kinds):
    """The tool's lines of `kinds`, relative to the checkout, each once."""
    lines = {line.replace(f"{root}/", "") for line in said.splitlines() if re.search(kinds, line)}
    return sorted(lines)


def check_locks(root, build):
    flags = Flags(root, build)

    def tool(path, known):
        return run(["clang++-19", "-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety",
                    "-ferror-limit=0", *known, path], cwd=root).stderr

    work = several_at_once(root, flags, tool)
    files = annotated(root)
    if not files:
        return ["no file has a lock annotation: their macros have other names now, and this law checks nothing"]
    return offences_of("".join(in_parallel(work, by_folder(files, UNIT))), root, r": (fatal )?error: ")


def git(root, *arguments):
    p = run(["git", "-C", str(root), *arguments])
    return p.stdout.strip() if p.returncode == 0 else None


def base_commit(root):
    """The commit with which naming compares the tree; prints the reason if it is None."""
    if git(root, "rev-parse", "HEAD") is None:
        print("naming: no git history here: no file was checked")
        return None
    head = git(root, "rev-parse", "HEAD")
    for branch in ("origin/main", "main"):
        base = git(root, "merge-base", "HEAD", branch)
        # On the main branch itself, compare with an earlier commit of it.
        if base is not None and base != head:
            return base
    base = git(root, "rev-parse", "--verify", "--quiet", "HEAD~20")
    if not base:
        print("naming: fewer than 20 commits are here (a shallow clone?): no file was checked")
    return base or None


def changed(root):
    """Files that differ from the base, the newest change first."""
    base = base_commit(root)
    if base is None:
        return []
    def files(*arguments):
        return (git(root, *arguments) or "").splitlines()

    untracked = files("ls-files", "--others", "--exclude-standard")
    newest_first = [*files("diff", "--name-only", "HEAD"), *untracked,
                    *files("log", "--name-only", "--format=", f"{base}..HEAD")]
    differing = {*files("diff", "--name-only", "--diff-filter=d", base), *untracked} & set(sources(root))
    return [f for f in dict.fromkeys([*newest_first, *sorted(differing)]) if f in differing]


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check_naming(root, build, every=False):
    files = [f for f in (sources(root) if every else changed(root)) if not f.startswith(NAMED_OTHERWISE)]
    if not files:
        return []
    flags = Flags(root, build)
    wanted = set(files)
    skipped = []

    def tool(path, known):
        return run(["clang-tidy-19", "--quiet", f"--config-file={root}/.clang-tidy", "--header-filter=.*",
                    "--checks=-*,readability-identifier-naming", path, "--", "-Wno-everything", *known],
                   cwd=root).stdout

    work = several_at_once(root, flags, tool)

    def within_bound(group):
        if not every and spent() > NAMING_SECONDS:
            skipped.extend(group)
            return ""
        return work(group)

    said = "".join(in_parallel(within_bound, by_folder(files, UNIT)))
    print(f"naming: {len(files) - len(skipped)} of {len(files)} files checked"
          + (f"; the others are over the bound of {NAMING_SECONDS} s, --all checks them" if skipped else ""))
    found = offences_of(said, root, r"readability-identifier-naming|: error: ")
    return [line for line in found if line.split(":")[0] in wanted or " error: " in line]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("law", choices=("format", "locks", "naming"))
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2], type=pathlib.Path)
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    try:
        if arguments.law == "format":
            offences = check_format(root, arguments.fix)
        elif arguments.law == "locks":
            offences = check_locks(root, arguments.build)
        else:
            offences = check_naming(root, arguments.build, arguments.all)
    except CannotLook as reason:
        print(f"{arguments.law}: {reason}", file=sys.stderr)
        return 2
    print("\n".join(offences))
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
