"""The wheels of packaging/wheel: their content, that two builds are equal, and that they work without this source tree.
wheel_test.py SOURCES WORK [unittest's arguments]"""
import email
import hashlib
import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zipfile

SOURCES, WORK = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
DIST = WORK / "dist"


def build(out):
    """Makes the wheels from build/release; returns their hashes by name."""
    done = subprocess.run([sys.executable, SOURCES / "packaging/wheel/build", "--no-build", "--out", out],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.glob("*.whl"))}


def builder():
    """Loads packaging/wheel/build as a module."""
    loader = importlib.machinery.SourceFileLoader("wheel_build", str(SOURCES / "packaging/wheel/build"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class Wheels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hashes = build(DIST)

    def member(self, wheel, suffix):
        with zipfile.ZipFile(next(DIST.glob(wheel + "-*.whl"))) as file:
            return file.read(next(name for name in file.namelist() if name.endswith(suffix))).decode()

    def test_are_of_every_python_and_small(self):
        self.assertEqual(sorted(self.hashes), [
            "millrace-0.1.0-py3-none-manylinux_2_34_x86_64.whl",
            "millrace_loader-0.1.0-py3-none-manylinux_2_34_x86_64.whl"])
        self.assertLess(sum(path.stat().st_size for path in DIST.glob("*.whl")), 70_000_000)
        for wheel in ("millrace", "millrace_loader"):
            self.assertIn("Root-Is-Purelib: false\n", self.member(wheel, "dist-info/WHEEL"))

    def test_the_module_asks_for_the_programs_of_its_version_and_for_nothing_else(self):
        needs = email.message_from_string(self.member("millrace", "METADATA")).get_all("Requires-Dist")
        self.assertEqual([need for need in needs if "extra ==" not in need], ["millrace-loader==0.1.0"])
        self.assertIsNone(email.message_from_string(self.member("millrace_loader", "METADATA")).get_all("Requires-Dist"))

    def test_built_again_have_the_same_bytes(self):
        self.assertEqual(build(WORK / "again"), self.hashes)

    def test_hold_every_library_that_the_loader_names(self):
        with zipfile.ZipFile(next(DIST.glob("millrace_loader-*.whl"))) as file:
            inside = {pathlib.PurePath(name).name for name in file.namelist()}
            files = {info.filename: info.external_attr >> 16 for info in file.infolist()}
        self.assertLessEqual({"libarrow.so.2600", "libarrow_compute.so.2600", "libarrow_s3.so.2600", "libparquet.so.2600",
                              "libsleef.so.3"}, inside)
        self.assertEqual({name: oct(mode & 0o777) for name, mode in files.items() if "/bin/" in name and mode & 0o777 != 0o755}, {})

    def test_hold_the_licence_of_everything_that_is_linked(self):
        text = (SOURCES / "packaging/cmake/archives.cmake").read_text() + (SOURCES / "packaging/cmake/dependencies.cmake").read_text()
        package_of = {"absl": "libabsl-dev", "yaml-cpp": "libyaml-cpp-dev", "xxhash": "libxxhash-dev", "zstd": "libzstd-dev",
                      "lz4": "liblz4-dev", "sqlite3": "libsqlite3-dev", "ncursesw": "libncurses-dev", "tinfo": "libncurses-dev",
                      "ssl": "libssl-dev", "crypto": "libssl-dev", "z": "zlib1g-dev"}
        linked = re.search(r"_millrace_archives\(MILLRACE_ARCHIVES\s+\$\{_absl\} ([^)]*)\)", text).group(1).split()
        self.assertEqual(set(linked) - set(package_of), set(), "name the package that holds its licence")
        wanted = {package_of[name] for name in linked} | {"libabsl-dev", "libgrpc-dev", "libprotobuf-dev", "libre2-dev",
                                                         "libc-ares-dev", "libsleef3", "curl", "arrow-LICENSE", "arrow-NOTICE"}
        with zipfile.ZipFile(next(DIST.glob("millrace_loader-*.whl"))) as file:
            held = {pathlib.PurePath(name).stem for name in file.namelist() if "/licenses/" in name}
        self.assertLessEqual(wanted, held)

    def test_a_program_of_other_sources_is_not_packed(self):
        module = builder()
        module.BUILD = WORK / "old"
        (module.BUILD / "bin").mkdir(parents=True, exist_ok=True)
        for name in module.PROGRAMS:
            program = module.BUILD / "bin" / name
            program.write_text(f"#!/bin/sh\necho {name} 0.1.0, build 0000000000000000\n")
            program.chmod(0o755)
        with self.assertRaisesRegex(SystemExit, "is of other sources .*build 0000000000000000.* are of build [0-9a-f]{16}"):
            module.check_build("0.1.0")

    def test_the_build_id_counts_the_programs_sources_and_no_python(self):
        tree = WORK / "sources"
        shutil.rmtree(tree, ignore_errors=True)
        for name in ("app", "backend", "daemon", "proto", "packaging"):
            shutil.copytree(SOURCES / name, tree / name)
        for name in ("CMakeLists.txt", "CMakePresets.json"):
            shutil.copy(SOURCES / name, tree / name)

        def build_id():
            return subprocess.run([tree / "packaging/build-id"], check=True, capture_output=True, text=True).stdout
        before = build_id()
        compiled = tree / "app/python/millrace/__pycache__"
        compiled.mkdir(exist_ok=True)
        (compiled / "_new.cpython-311.pyc").write_bytes(b"compiled")
        self.assertEqual(build_id(), before)
        with open(tree / "app/main/main.cpp", "a") as source:
            source.write("\n")
        self.assertNotEqual(build_id(), before)

    def test_work_where_nothing_of_this_tree_is(self):
        done = subprocess.run([SOURCES / "packaging/wheel/try", "--no-torch", "--here", "--dist", DIST],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"[0-9]+ rows in the order [0-9a-f]{32}\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
