"""The base class of all answers."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any, NoReturn, SupportsIndex, TypeVar, Union, get_args, get_origin, get_type_hints, overload

T = TypeVar("T", bound="Answer")


class Answer:
    """An answer about a file: a frozen, hashable dataclass, whose `to_dict` is the JSON of the command `pte`."""

    @classmethod
    def _of(cls: type[T], data: Any) -> T:
        """Makes an answer from the native module's data."""
        return cls(**{field: make(data.get(key)) for field, key, make in _fields(cls)})

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data at every level."""
        return {key: _plain(getattr(self, field)) for field, key, _ in _fields(type(self))}

    def __repr__(self) -> str:
        parts = (f"{field}={_short(getattr(self, field))}" for field, _, _ in _fields(type(self)))
        return f"{type(self).__name__}({', '.join(parts)})"


A = TypeVar("A", bound=Answer, covariant=True)


class Answers(tuple[A, ...]):
    """A tuple of answers."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> A: ...
    @overload
    def __getitem__(self, index: slice, /) -> Answers[A]: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> A | Answers[A]:
        if isinstance(index, slice):
            return Answers(super().__getitem__(index))
        return super().__getitem__(index)

    def __repr__(self) -> str:
        """Shows the first answers, and the number of all."""
        most = 3
        shown = [text if len(text) <= 160 else text[:160] + "…" for text in map(repr, self[:most])]
        more = f", … {len(self)} in all" if len(self) > most else ""
        return f"Answers({', '.join(shown)}{more})"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns a list of dicts, for example for `pandas.DataFrame`."""
        return [answer.to_dict() for answer in self]


class Fields(dict[str, Any]):
    """A read-only, hashable dict in an answer."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("answers are immutable: `dict(…)` makes a mutable copy")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[Fields], tuple[dict[str, Any]]]:
        return Fields, (dict(self),)


def frozen(value: Any) -> Any:
    """Converts plain data to an immutable form: lists to tuples, dicts to `Fields`."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return Fields({key: frozen(item) for key, item in value.items()})
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Answer):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def counted(count: int, what: str) -> str:
    """Returns `1 input` or `2 inputs`."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def _short(value: Any) -> str:
    """Returns a `repr` of limited length, whatever the file contains."""
    if isinstance(value, (tuple, dict, list)) and len(value) > 8:
        return f"<{len(value)} items>"
    text = repr(value)
    if len(text) <= 400:
        return text
    return f"<{len(value)} items>" if isinstance(value, (tuple, dict, list)) else text[:400] + "…"


_Fields = tuple[tuple[str, str, Callable[[Any], Any]], ...]
_known: dict[str, _Fields] = {}


def _fields(cls: type[Answer]) -> _Fields:
    """Returns the name of each field in Python, its name in JSON, and the function that converts it from JSON."""
    if cls.__name__ not in _known:
        hints = get_type_hints(cls)
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        _known[cls.__name__] = tuple((f.name, f.name.rstrip("_"), _maker(hints[f.name])) for f in fields)
    return _known[cls.__name__]


def _same(value: Any) -> Any:
    return value


def _maker(hint: Any) -> Callable[[Any], Any]:
    if hint is Any:
        return frozen
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        makers = [maker for maker in map(_maker, arguments) if maker is not _same]
        if not makers:
            return _same
        return lambda value: None if value is None else makers[0](value)
    if origin is Answers:
        of = arguments[0]._of
        return lambda value: Answers(of(item) for item in value or ())
    if origin is tuple:
        return lambda value: tuple(value or ())
    if isinstance(hint, type) and issubclass(hint, Answer):
        return hint._of
    return _same
