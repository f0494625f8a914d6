#!/usr/bin/env python3
"""words.py, links.py and commits.py find each planted offence, and no offence in correct text."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import commits  # noqa: E402
import links  # noqa: E402
import words  # noqa: E402

# One offence for each turn, in the order of TURNS.
PLANTED = ("A worker is had elsewhere.", "the state of before", "It goes on from step 3.", "The stream begins anew.", "a file in place of it",
           "This was mended.", "It ends without a word.", "a number, none where it is not known", "It takes the one that is oldest.",
           "It is no file.", "after so many seconds", "The name stands in the file.", "The file lies there.", "The thread who waits for it.",
           "It reads what comes.", "Of several files the first.")
# One former word of each synonym, in their order.
FORMER = ("Machines", "No job is selected.", "Host", "ROWS/S", "waiting for input", "standing still", "  ETA ", "Submitted",
          "eval hash", "Kept by the recipe", "hide runs that have ended", "Open Launch", "Tick every variation")
PLAIN = ("A lost worker's segments start elsewhere. Users who wait see why. It is no longer there, and rank0 stands still. "
         "It stands for a row. Of course it ends.")


def turns(name, text):
    return [(line, kind) for line, kind, _, _ in words.turns_in(pathlib.Path(name), text)]


class PlainWords(unittest.TestCase):
    def test_each_turn_is_seen_where_people_read(self):
        self.assertEqual(len(PLANTED), len(words.TURNS))
        for sentence in PLANTED:
            for name, text, kind in (("a.cpp", f"int a;\n/// {sentence}\n", "comment"), ("a.h", f'int a;\nauto x = "{sentence}";\n', "text"),
                                     ("a.proto", f"\n// {sentence}\n", "comment"), ("a.py", f"\nx = 1  # {sentence}\n", "comment"),
                                     ("a.py", f'\ndef f():  """{sentence}"""\n', "comment"), ("a.py", f'\nx = "{sentence} {{}}"\n', "text"),
                                     ("a.md", f"\n{sentence}\n", "page"), ("a", f"#!/bin/sh\n# {sentence}\n", "comment")):
                self.assertEqual(turns(name, text), [(2, kind)], (name, sentence))

    def test_a_former_word_is_seen_in_what_a_user_interface_shows(self):
        self.assertEqual(len(FORMER), len(words.SYNONYMS))
        for word in FORMER:
            self.assertEqual(turns("app/gui/a.cpp", f'\nauto x = tr("{word}");\n'), [(2, "text")], word)
            self.assertEqual(turns("app/gui/a.cpp", f"\n// {word}\n"), [], word)
            self.assertEqual(turns("backend/a.cpp", f'\nauto x = "{word}";\n'), [], word)
        for right in ("this machine", "job.json", "--job", "--host HOST", "rows/s"):
            self.assertEqual(turns("app/cli/a.cpp", f'\nauto x = "{right}";\n'), [], right)

    def test_plain_sentences_code_and_links_are_left_alone(self):
        for name in ("a.cpp", "a.md", "a.py"):
            mark = {"a.cpp": "// ", "a.md": "", "a.py": "# "}[name]
            self.assertEqual(turns(name, mark + PLAIN + "\n"), [], name)
        self.assertEqual(turns("a.cpp", "int lies = stands(who);\n"), [])
        self.assertEqual(turns("a.md", "```\nwho lies\n```\n`who` [a](lies.md)\n"), [])

    def test_sentences_over_several_lines_are_read_as_one(self):
        self.assertEqual(turns("a.cpp", "\n// It goes on\n// from there.\n"), [(2, "comment")])
        self.assertEqual(turns("a.cpp", '\nauto x = f("it goes on "\n           "from there");\n'), [(2, "text")])
        self.assertEqual(turns("a.cpp", "\nint a;  ///< goes on\nint b;  ///< from there\n"), [])

    def test_a_room_must_have_as_many_as_it_is_granted(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "app").mkdir()
            (root / "app/a.h").write_text("// It is had.\n")
            found = list(words.files_of(root, ["app"]))
            self.assertEqual(found, [("app/a.h", "// It is had.\n")])
            for debts, kept in (({}, 1), ({"app comment": 1}, 0), ({"app comment": 2}, 1)):
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    self.assertEqual(words.judge(root, [], debts, False), kept, debts)
                self.assertEqual(said.getvalue().startswith("app/a.h:1: "), kept == 1)


class Links(unittest.TestCase):
    def test_files_and_headings_that_are_not_there_are_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/a.md").write_text("# One `thing`, twice\n## One thing twice\n[self](#one-thing-twice-1)\n```\n# no heading\n```\n")
            right = "[a](docs/a.md) [b](docs/a.md#one-thing-twice) [c](https://x.y/z) `[d](none.md)`\n"
            (root / "README.md").write_text(right)
            self.assertEqual(list(links.offences(root)), [])
            (root / "README.md").write_text(right + "[e](docs/b.md) [f](docs/a.md#no-heading)\n<img src=\"none.png\">\n")
            self.assertEqual([one.split(": ")[0:2] for one in links.offences(root)],
                             [["README.md:2", "docs/b.md"], ["README.md:2", "docs/a.md#no-heading"], ["README.md:3", "none.png"]])

    def test_only_prose_that_can_be_broken_is_too_long(self):
        sentence = 21 * "word "
        for line in ("# " + sentence, "| " + sentence, "![a picture](" + sentence, "`" + sentence + "`", 101 * "x", 20 * "word "):
            self.assertFalse(links.is_too_long(line), line)
        for line in (sentence, "- " + sentence, "`a b` " + sentence):
            self.assertTrue(links.is_too_long(line), line)


class Commits(unittest.TestCase):
    def test_long_subjects_and_those_without_room_or_verb_are_seen(self):
        self.assertEqual(list(commits.offences(["cli: Add --name", "gui/runs, tui: Show ages"])), [])
        for wrong in ("cli: Add " + 64 * "x", "Add --name", "cli: Added --name", "cli: add --name", "cli: The name of a run"):
            self.assertEqual(len(list(commits.offences([wrong]))), 1, wrong)


if __name__ == "__main__":
    unittest.main()
