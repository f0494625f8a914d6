"""Compares a model's inputs with a stream's: names, tables and the steps that compute them."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

Input = Mapping[str, Any]


def taken(facts: Mapping[str, Any], inputs: Sequence[Input]) -> list[Input]:
    """Those of a spec's inputs that the model of a checkpoint's `module` takes."""
    features = {one["name"] for one in facts["features"]}
    vectors = set(facts.get("vectors", ()))

    def is_taken(one: Input) -> bool:
        if one["kind"] == "dense":
            return bool(facts.get("dense"))
        return one["name"] in (vectors if one["kind"] == "vector" else features)

    return [one for one in inputs if is_taken(one)]


def difference(model: Sequence[Input], stream: Sequence[Input]) -> str:
    """The first difference; "" if the stream provides what the model takes."""
    own, given = _names_of_dense(model), _names_of_dense(stream)
    if own and own != given:
        return _other_dense(own, given)
    there = {(one["kind"], one["name"]): one for one in stream}
    for one in model:
        other = there.get((one["kind"], one["name"]))
        if other is None:
            kinds = [kind for kind, name in there if name == one["name"] and kind != "dense"]
            return f"{_named(one)} is not there" + (f"; {one['name']!r} is of kind {kinds[0]}" if kinds else "")
        for what in ("rows", "vocabulary", "fill", "of"):
            if one.get(what) != other.get(what):
                return f"{_named(one)} has {_fact(what, one)} in the model and {_fact(what, other)} in the stream"
        if one["steps"] != other["steps"]:
            return _other_steps(one, other)
    return ""


def _names_of_dense(inputs: Sequence[Input]) -> list[str]:
    return [one["name"] for one in inputs if one["kind"] == "dense"]


def _other_dense(own: list[str], given: list[str]) -> str:
    lengths = sorted([len(own), len(given)])
    at = next((at for at, (first, second) in enumerate(zip(own, given)) if first != second), lengths[0])

    def name(names: list[str]) -> str:
        return repr(names[at]) if at < len(names) else "not there"

    return f"dense feature {at + 1} of {lengths[1]} is {name(own)} in the model and {name(given)} in the stream"


def _named(one: Input) -> str:
    return f"{one['kind']} {'feature ' if one['kind'] in ('dense', 'id', 'vector') else ''}{one['name']!r}"


def _fact(what: str, one: Input) -> str:
    value = one.get(what)
    if what == "rows":
        return "no table" if value is None else f"a table of {value:,} rows"
    if what == "vocabulary":
        return f"the vocabulary {value}" if value else "no vocabulary"
    return f"{'' if what == 'of' else what + ' '}{value}"


def _other_steps(one: Input, other: Input) -> str:
    own, given = list(one["steps"]), list(other["steps"])
    while own and given and own[0] == given[0]:
        own.pop(0)
        given.pop(0)

    def first(lines: list[str]) -> str:
        return f"`{lines[0]}`" if lines else "no further step"

    return f"{_named(one)} comes from {first(own)} in the model and from {first(given)} in the stream"
