#!/usr/bin/env python3
"""Pages fit together: each relative link in README.md and docs/ names an existing file, and each #anchor one of its headings. Lines have at most
100 characters, except headings, tables, pictures, code, and lines that cannot be broken.

  links.py [--root DIR]

Exit code 0: kept; 1: offences, one a line.
"""
import argparse
import collections
import pathlib
import re
import sys
import urllib.parse

LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|<img[^>]*\ssrc=\"([^\"]+)\"")


def prose(text):
    """(line, text) outside of code."""
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def is_too_long(line):
    """Whether a line of prose has over 100 characters and could be broken: code in backquotes stays whole."""
    is_prose = not re.match(r"\s*(\||#|!\[)", line)
    return is_prose and len(line) > 100 and " " in re.sub(r"`[^`]*`", "", line).strip()


def anchors(text):
    """The headings' anchors as GitHub makes them: lower case, no punctuation, hyphens for blanks, -1, -2 for repeats."""
    seen, found = collections.Counter(), set()
    for _, line in prose(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
            slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            found.add(slug if seen[slug] == 0 else f"{slug}-{seen[slug]}")
            seen[slug] += 1
        found.update(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", line))
    return found


def offences(root):
    pages = {path: path.read_text(encoding="utf-8") for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))] if path.is_file()}
    known = {path.resolve(): anchors(text) for path, text in pages.items()}
    for path, text in pages.items():
        for number, line in prose(text):
            if is_too_long(line):
                yield f"{path.relative_to(root)}:{number}: {len(line)} characters: a line has at most 100"
            for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
                link = urllib.parse.unquote(match.group(1) or match.group(2))
                if re.match(r"[a-z]+:", link):
                    continue
                name, _, anchor = link.partition("#")
                target = (path.parent / name).resolve() if name else path.resolve()
                where = f"{path.relative_to(root)}:{number}: {link}"
                if not target.exists():
                    yield f"{where}: this file does not exist"
                elif anchor and target.suffix == ".md" and anchor not in known.setdefault(target, anchors(target.read_text(encoding="utf-8"))):
                    yield f"{where}: no heading makes this anchor"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    found = list(offences(parser.parse_args().root))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
