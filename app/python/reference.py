#!/usr/bin/env python3
"""Makes docs/reference/python.md from the docstrings: app/python/reference.py > docs/reference/python.md"""
import inspect
import os
import re
import sys
import textwrap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import millrace  # noqa: E402

HEAD = """# `import millrace`

`app/python/reference.py` makes this page from the module's docstrings. [The
guide](../guides/pytorch.md) shows how the module is used.
"""


def signature(name: str, function: object) -> str:
    """The call's signature: without `self`, without `None` for options, without a result of None."""
    told = inspect.signature(function)  # type: ignore[arg-type]
    parts, is_marked = [], False
    for one in told.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not is_marked:
            parts.append("*")
        is_marked = is_marked or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        stars = {one.VAR_KEYWORD: "**", one.VAR_POSITIONAL: "*"}.get(one.kind, "")
        parts.append(f"{stars}{one.name}: {one.annotation}"
                     + (f" = {one.default!r}" if one.default is not one.empty else ""))
    result = "" if told.return_annotation in ("None", None) else f" -> {told.return_annotation}"
    return f"`{name}({', '.join(parts)}){result}`"


def wrapped(text: str, indent: str = "") -> str:
    """The text in lines of at most 100 characters."""
    return textwrap.fill(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def paragraphs(text: str, title: str = "") -> str:
    """A docstring as Markdown, after a title: a line with an indented block below it becomes a list item."""
    out = []
    for block in re.split(r"\n\n(?!    )|(?<!    )\n\n(?=    import)", inspect.cleandoc(text)):
        if re.search(r"^\S.*\n    ", block):
            for point in re.split(r"\n(?=\S)", block):
                head, _, body = point.partition("\n")
                out.append(wrapped(f"- `{head}`: {' '.join(body.split())}", "  ") if body else "\n" + wrapped(head))
            out.append("")
            continue
        if block.startswith("    "):
            out.append("```python\n" + inspect.cleandoc(block) + "\n```\n")
        else:
            out.append(wrapped(("" if out else title) + " ".join(block.split())) + "\n")
    return "\n".join(out).rstrip() + "\n"


def members(cls: type) -> list[str]:
    """Attributes with docstrings, properties and methods, in source order; those of a private base class come first."""
    source = inspect.getsource(cls)
    found = []
    pattern = r'^    (\w+): ([\w\[\], .|]+?)(?: = [^\n]+)?\n(?:    """(.*?)""")?'
    for match in re.finditer(pattern, source, re.M | re.S):
        if match.group(3) or match.group(1) in getattr(cls, "__dataclass_fields__", {}):
            told = f": {' '.join((match.group(3) or '').split())}" if match.group(3) else ""
            found.append((source.index(match.group(0)), wrapped(f"**`{match.group(1)}`** ({match.group(2)}){told}") + "\n"))
    for name, value in vars(cls).items():
        is_shown = not name.startswith("_") or name in ("__len__", "__iter__", "__getitem__")
        function = value.fget if isinstance(value, property) else value
        if not is_shown or not inspect.isfunction(function) or not function.__doc__:
            continue
        title = f"`{name}`" if isinstance(value, property) else signature(name, function)
        title = {"__len__": "`len(...)`", "__getitem__": "`[...]`", "__iter__": "`for ... in`"}.get(name, title)
        found.append((source.index(f"def {name}("), paragraphs(function.__doc__, f"**{title}**: ")))
    hidden = [base for base in cls.__bases__ if base.__name__.startswith("_") and base.__module__.startswith("millrace.")]
    return [text for base in hidden for text in members(base)] + [text for _, text in sorted(found)]


def main() -> None:
    """Prints the page."""
    out = [HEAD, paragraphs(millrace.__doc__ or "")]
    names = [name for name in millrace.__all__ if not name.startswith("_")]
    for name in sorted(names, key=lambda one: (inspect.isclass(getattr(millrace, one)),
                                               list(names).index(one))):
        value = getattr(millrace, name)
        if inspect.isclass(value):
            out.append(f"## `{name}`\n\n{paragraphs(value.__doc__ or '')}")
            out += members(value)
        elif not inspect.isroutine(value):
            out.append(f"## `millrace.{name}`: {type(value).__name__}\n\n"
                       f"{wrapped(type(value).__doc__.partition(chr(10))[0])}\n")
        else:
            out.append(f"## {signature('millrace.' + name, value)}\n\n{paragraphs(value.__doc__ or '')}")
    print("\n".join(out).rstrip())


if __name__ == "__main__":
    main()
