#!/usr/bin/env python3
"""Each law of tools.py finds its planted offence. Needs clang's tools (packaging/setup --tests) and git."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tools  # noqa: E402

GUARDED = """#pragma once
#include "backend/core/mutex.h"
class Counter {
 public:
    int count() %s;

 private:
    millrace::Mutex mutex_;
    int count_ MR_GUARDED_BY(mutex_) = 0;
};
"""


class Planted(unittest.TestCase):
    """A checkout of its own with the tree's settings and a room `backend/planted`."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="millrace-laws-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(ROOT / name, self.root)
        self.build = self.root / "build"
        self.build.mkdir()
        words = ["c++", "-O2", f"-I{ROOT}", "-std=c++20", "-c", "-o", "backend/planted/CMakeFiles/planted.dir/a.cpp.o"]
        (self.build / "compile_commands.json").write_text(json.dumps([{"command": " ".join(words), "file": "a.cpp"}]))

    def write(self, name, text):
        path = self.root / "backend/planted" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", "-C", self.root, *name, *arguments], check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "--allow-empty", "-m", "one")


class Format(Planted):
    def test_a_line_that_is_not_formatted_is_seen(self):
        self.write("a.cpp", "int  f( );\n")
        self.write("b.cpp", "int f();\n")
        offences = tools.check_format(self.root)
        self.assertEqual({o.split(":")[0] for o in offences}, {"backend/planted/a.cpp"})

    def test_fix_mends_it(self):
        self.write("a.cpp", "int  f( );\n")
        tools.check_format(self.root, fix=True)
        self.assertEqual(tools.check_format(self.root), [])


class Locks(Planted):
    def test_a_guarded_field_that_is_read_without_its_lock_is_seen(self):
        self.write("counter.h", GUARDED % "const")
        self.write("counter.cpp", '#include "backend/planted/counter.h"\nint Counter::count() const { return count_; }\n')
        self.assert_seen("counter.cpp")

    def test_a_lock_that_the_caller_does_not_hold_is_seen(self):
        self.write("counter.h", GUARDED % "MR_REQUIRES(mutex_)")
        self.write("counter.cpp", '#include "backend/planted/counter.h"\nint Counter::count() { return count_; }\n')
        self.write("other.cpp", '#include "backend/planted/counter.h"\nint f(Counter& c) { return c.count(); }\n')
        self.assert_seen("other.cpp")

    def test_what_holds_is_not(self):
        self.write("counter.h", GUARDED % "")
        self.write("counter.cpp", '#include "backend/planted/counter.h"\n'
                                  "int Counter::count() {\n    millrace::MutexLock lock(mutex_);\n    return count_;\n}\n")
        self.assertEqual(self.offences(), [])

    def test_files_that_do_not_stand_together_are_looked_at_alone(self):
        self.write("counter.h", GUARDED % "const")
        same = '#include "backend/planted/counter.h"\nnamespace {\nint one() { return 1; }\n}\nint %s() { return one(); }\n'
        self.write("a.cpp", same % "a")
        self.write("b.cpp", same % "b")
        self.assertEqual(self.offences(), [])
        self.write("b.cpp", same % "b" + "int Counter::count() const { return count_; }\n")
        self.assert_seen("b.cpp")

    def test_a_tree_without_annotations_is_an_offence(self):
        self.write("a.cpp", "int f();\n")
        self.assertEqual(len(tools.check_locks(self.root, self.build)), 1)

    def offences(self):
        include = self.build / "compile_commands.json"
        include.write_text(include.read_text().replace(f"-I{ROOT}", f"-I{self.root} -I{ROOT}"))
        return tools.check_locks(self.root, self.build)

    def assert_seen(self, name):
        offences = self.offences()
        self.assertTrue(any(o.startswith(f"backend/planted/{name}:") and "thread-safety" in o for o in offences), offences)


class Naming(Planted):
    OLD = "int WrongBefore();\n"

    def plant(self, commits):
        self.git("init")
        self.write("old.cpp", self.OLD)
        for _ in range(commits):
            self.commit()

    def names(self):
        return {o.split(":")[0] for o in tools.check_naming(self.root, self.build)}

    def test_a_wrong_name_in_a_file_that_differs_from_main_is_seen(self):
        self.plant(1)
        self.git("checkout", "-b", "work")
        self.write("new.cpp", "int WrongName();\n")
        self.commit()
        self.write("uncommitted.h", "#pragma once\nstruct lowerCase {};\n")
        self.write("right.cpp", "int rightName();\n")
        self.assertEqual(self.names(), {"backend/planted/new.cpp", "backend/planted/uncommitted.h"})

    def test_on_main_itself_the_last_twenty_commits_count(self):
        self.plant(3)
        self.write("new.cpp", "int WrongName();\n")
        for _ in range(20):
            self.commit()
        self.assertEqual(self.names(), {"backend/planted/new.cpp"})

    def test_without_history_it_says_so_and_looks_at_nothing(self):
        self.write("new.cpp", "int WrongName();\n")
        said = subprocess.run([sys.executable, ROOT / "tests/laws/tools.py", "naming", "--root", self.root, "--build",
                               self.build], capture_output=True, text=True,
                              env=dict(os.environ, GIT_CEILING_DIRECTORIES=str(self.root.parent)))
        self.assertEqual((said.returncode, said.stdout.strip()),
                         (0, "naming: no git history here: no file was checked"))

    def test_a_shallow_history_says_so(self):
        self.plant(1)
        self.assertEqual(self.names(), set())


class Answers(unittest.TestCase):
    def test_a_build_that_is_not_configured_is_no_pass(self):
        said = subprocess.run([sys.executable, ROOT / "tests/laws/tools.py", "locks", "--build", "/nowhere"],
                              capture_output=True, text=True)
        self.assertEqual(said.returncode, 2)
        self.assertIn("configure the build", said.stderr)


if __name__ == "__main__":
    unittest.main()
