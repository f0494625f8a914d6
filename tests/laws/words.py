#!/usr/bin/env python3
"""PlainWords: turns of phrase that a reader has to read twice are banned from comments, docstrings, help texts, error
sentences and pages. So are other words for things that app/session/words.h names, in what the user interfaces show.

  words.py [--root DIR] [--count] [PATH...]

Without a path it checks the whole tree. A room must have exactly the number of turns that DEBTS grants it, so that the
figures fall. With paths, every turn in them is an offence. --count prints figures by turn.

Exit code 0: kept; 1: offences, one a line.
"""
import argparse
import ast
import collections
import io
import pathlib
import re
import sys
import tokenize

# Pattern, and the advice for what to write instead.
TURNS = [
    (r"\b(?:is|are|was|were|be|been) had\b", "'is had': say who has it, or 'is available'"),
    (r"\bof before\b", "'of before': earlier, previous"),
    (r"\b(?:goes?|going|went|gone) on from\b", "'go on from': resume from, continue from"),
    (r"\bbeg[iau]ns? anew\b|\bbeginning anew\b", "'begin anew': restart"),
    (r"\bin (?:the )?place of\b", "'in place of': instead of"),
    (r"\bmend(?:s|ed|ing)?\b", "'mend': fix"),
    (r"\bwithout a word\b", "'without a word': silently"),
    (r"\bnone where\b", "'none where': say the case in a sentence"),
    (r"\bthe ones? that\b", "'the one that': name the thing"),
    (r"(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|better\b|worse\b|other\b|need\b|way\b|such\b|room\b|doubt\b)[a-z]",
     "'is no X': is not an X, has no X"),
    (r"\bso (?:many|long|few|much)\b(?! that\b| as\b)", "'so many' that points at nothing: say the number"),
    (r"\b(?:stands?|stood)\b(?! for\b| still\b| in for\b| out\b)", "'stands': is"),
    (r"\b(?:lies|lie|lay)\b", "'lies': is"),
    (r"(?<!user )(?<!users )(?<!people )(?<!person )(?<!somebody )(?<!someone )(?<!anybody )(?<!engineers )\bwho(?:ever)?\b",
     "'who' for a thread or a program: name it"),
    (r"\bwhat comes\b", "'what comes': input, the next X"),
    (r"(?:^|[.:;] )Of (?!course\b)[a-z]", "a sentence that begins with 'Of': begin with its subject"),
]
PATTERNS = [(re.compile(pattern if "Of" in pattern else "(?i)" + pattern), advice) for pattern, advice in TURNS]

# Former words for things in app/session/words.h and the word for each: banned from what the user interfaces show.
SYNONYMS = [
    (r"\b[Mm]achines\b|\bMachine\b|\b(?:a|the) machine(?:'s)? ", "node"),
    (r"(?<!-)\b[Jj]obs?\b(?![.:])", "run"),
    (r"^Host$", "node"),
    (r"ROWS/S|Training speed", "samples/s"),
    (r"[Ww]ait(?:s|ing) for input", "waiting for data"),
    (r"[Ss]tanding still|(?:does|do) not get on\b", "stalled"),
    (r"\bETA\b", "time left"),
    (r"^Submitted$", "created"),
    (r"eval hash|^Evaluated on$|^Evaluation rows$|^Order of training rows$", "evaluation hash, order hash"),
    (r"^Scanned$|^Skipped by statistics$|^Kept by the recipe$|^Trained, all epochs$", "rows scanned, pruned, kept, trained"),
    (r"[Hh]id(?:e|es|den)\b (?:the )?runs?\b|is hidden\b|^hidden;", "delete"),
    (r"^Open (?:Launch|Runs|Watch|Data)\b", "go to"),
    (r"^Tick every", "tick all"),
]
FORMER = [(re.compile(pattern), f"a former word: '{word}' in app/session/words.h") for pattern, word in SYNONYMS]
FACES = ("app/cli/", "app/tui/", "app/gui/", "app/session/")

TOPS = ("app", "backend", "daemon", "docs", "packaging", "proto", "resources", "tests", "README.md")
# Texts of others, and lists of banned turns.
LEFT_OUT = ("docs/evidence/", "tests/laws/words.py", "tests/laws/words_test.py")
LEAST_SENTENCE = 12  # characters of a text between quotes: shorter ones are keys and names

# Turns that are left, by room and kind; the figures may only fall. The two texts: the verb "Lay" in tests/laws/commits.py,
# the name of a tag in tests/gui/live_test.cpp.
DEBTS = {"tests text": 2}


def cpp_parts(text):
    """(line, kind, text) of comments, each joined to a paragraph, and of texts between quotes, joined where they follow
    one another."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\\ ]{0,16})\(.*?\)(?P=d)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'|\S', re.S)
    parts, last = [], None
    for match in token.finditer(text):
        word = match.group()
        kind = "comment" if word.startswith(("//", "/*")) else "text" if word.startswith(('"', 'R"')) else None
        if kind is None:
            last = None
            continue
        line = text.count("\n", 0, match.start()) + 1
        body = re.sub(r"^//[/!]?<? ?|^/\*+|\*/$|\n\s*\*", " ", word) if kind == "comment" else word.removeprefix("R").strip('"').replace("\\n", " ")
        begins_row = text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip() == ""
        follows = last is not None and last[0] == kind and (kind == "text" or begins_row)
        if follows and line - last[1] <= 1:
            parts[-1][2] += (" " if kind == "comment" else "") + body.strip() if kind == "comment" else body
        else:
            parts.append([line, kind, body.strip() if kind == "comment" else body])
        last = (kind, line + word.count("\n"))
    return parts


def python_parts(text):
    parts = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                parts.append([token.start[0], "comment", token.string.lstrip("# ")])
        nodes = list(ast.walk(ast.parse(text)))
        strings = {id(node.value): "comment" for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                parts.append([node.lineno, strings.get(id(node), "text"), " ".join(node.value.split())])
    except (SyntaxError, tokenize.TokenError):
        pass
    return parts


def shell_parts(text):
    return [[number, "comment", line.split("#", 1)[1].strip()] for number, line in enumerate(text.split("\n"), 1)
            if re.match(r"\s*#(?!!)", line)]


def page_parts(text):
    parts, is_code = [], False
    for number, line in enumerate(text.split("\n"), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code:
            prose = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "X", line))
            parts.append([number, "page", prose.strip()])
    return parts


def parts_of(path, text):
    if path.suffix in (".cpp", ".h", ".c", ".proto"):
        return cpp_parts(text)
    if path.suffix == ".md":
        return page_parts(text)
    if path.suffix == ".py" or "python" in text[:text.find("\n") + 1]:
        return python_parts(text)
    return shell_parts(text) if text.startswith("#!") else []


def turns_in(path, text):
    """(line, kind, advice, where) of each banned turn."""
    is_face = path.as_posix().startswith(FACES)
    for line, kind, part in parts_of(path, text):
        for pattern, advice in FORMER if is_face and kind == "text" else ():
            for match in pattern.finditer(part):
                yield line, kind, advice, part[max(0, match.start() - 30):match.end() + 40].strip()
        if kind == "text" and (len(part) < LEAST_SENTENCE or " " not in part):
            continue
        for pattern, advice in PATTERNS:
            for match in pattern.finditer(part):
                yield line, kind, advice, part[max(0, match.start() - 30):match.end() + 40].strip()


def files_of(root, paths):
    for top in paths:
        path = root / top
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            name = file.relative_to(root).as_posix()
            if file.is_file() and not name.startswith(LEFT_OUT) and "/third_party/" not in name:
                try:
                    yield name, file.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue


def judge(root, paths, debts, is_count):
    """The exit code."""
    found = collections.defaultdict(list)
    for name, text in files_of(root, paths or [top for top in TOPS if (root / top).exists()]):
        for line, kind, advice, where in turns_in(pathlib.Path(name), text):
            found[f"{name.split('/')[0]} {kind}"].append((f"{name}:{line}: {advice}: ... {where} ...", advice))
    if is_count:
        for what, number in collections.Counter(advice for turns in found.values() for _, advice in turns).most_common():
            print(f"{number:5} {what}")
    is_kept = True
    for room in sorted(set(found) | set(debts)):
        turns, debt = found.get(room, []), debts.get(room, 0)
        if len(turns) != debt:
            is_kept = False
            if not is_count:
                print("\n".join(text for text, _ in turns))
            print(f"{room}: {len(turns)} banned turns, {debt} are granted"
                  + ("" if len(turns) > debt else ": lower the figure in DEBTS of tests/laws/words.py"))
    return 0 if is_kept else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--count", action="store_true")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    return judge(options.root, options.paths, {} if options.paths else DEBTS, options.count)


if __name__ == "__main__":
    sys.exit(main())
