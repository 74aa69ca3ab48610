"""The one exception of this package."""

from __future__ import annotations


class Error(ValueError):
    """A file cannot be read, written or changed, or a question does not go with its kind.

    It is the first fault that was found. What the operating system says is an `OSError`, as everywhere in Python.
    """

    path: str
    """The field, in the schema's names, such as `execution_plan[0].values[12]`; empty if it is about the whole file."""
    offset: int | None
    """Bytes from the start of the file, where they are known."""
    rule: str
    """The name of the rule that is broken: `pte verify --rules` says what each is."""

    def __init__(self, message: str, path: str = "", offset: int | None = None, rule: str = "") -> None:
        super().__init__(message, path, offset, rule)
        self.path = path
        self.offset = offset
        self.rule = rule

    def __str__(self) -> str:
        return str(self.args[0])
