"""`millrace.params`: the parameters of the run's spec, from the launcher's MILLRACE_PARAMS.

Read once, at the first use. Threads: any.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from ._errors import MillraceError

_VARIABLE = "MILLRACE_PARAMS"


class Params:
    """The values of `params`, by attribute (`params.lr`) or item (`params["lr"]`, `params["window.days"]`); read-only.

    A value is a text, a number or a bool. A list becomes a tuple, a map another `Params`, and a date its text
    (`2024-03-07`). A parameter called `get` or `keys`, like the two methods, is available only as an item.
    """

    __slots__ = ("_name", "_values")

    def __init__(self, values: dict[str, Any] | None = None, name: str = "params") -> None:
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_name", name)

    def _all(self) -> dict[str, Any]:
        if self._values is None:
            object.__setattr__(self, "_values", _read())
        values: dict[str, Any] = self._values
        return values

    def _of(self, name: str) -> Any:
        value = self._all()[name]
        if isinstance(value, dict):
            return Params(value, f"{self._name}.{name}")
        return tuple(value) if isinstance(value, list) else value

    def _unknown(self, name: str) -> str:
        known = ", ".join(self._all())
        where = "" if known or _VARIABLE in os.environ else \
            f": this process is not of a run, and {_VARIABLE} (JSON) is not set"
        return f"{self._name} has no {name!r}{where}{'; known: ' + known if known else ''}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._all():
            raise AttributeError(self._unknown(name))
        return self._of(name)

    def __getitem__(self, name: str) -> Any:
        first, dot, rest = name.partition(".")
        if first not in self._all():
            raise KeyError(self._unknown(first))
        value = self._of(first)
        if not dot:
            return value
        if not isinstance(value, Params):
            raise KeyError(f"{self._name}.{first} is not a map, and has no {rest!r}")
        return value[rest]

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or `default` if the run has no parameter of this name."""
        return self[name] if name in self else default

    def keys(self) -> Iterator[str]:
        """The names, so that `dict(params)` works."""
        return iter(self._all())

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self._name} is read-only; the spec, its variations and `--set params.{name}=...` set values")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __repr__(self) -> str:
        return f"Params({self._all()!r})"


def _read() -> dict[str, Any]:
    text = os.environ.get(_VARIABLE, "{}")
    try:
        values = json.loads(text)
    except ValueError as error:
        raise MillraceError(f"{_VARIABLE} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise MillraceError(f"{_VARIABLE} must be a JSON object, as in {{\"lr\": 0.1}}")
    return values


params = Params()
