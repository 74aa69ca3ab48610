"""The exception of this package."""

from __future__ import annotations


class Error(ValueError):
    """A file cannot be read, written or changed, or a method does not apply to it.

    It describes the first fault that was found. Errors of the operating system are `OSError`s.
    """

    path: str
    """The field, in the schema's names, such as `execution_plan[0].values[12]`; empty if it is about the whole file."""
    offset: int | None
    """Bytes from the start of the file, if known."""
    rule: str
    """The name of the broken rule: `pte verify --rules` lists all."""

    def __init__(self, message: str, path: str = "", offset: int | None = None, rule: str = "") -> None:
        super().__init__(message, path, offset, rule)
        self.path = path
        self.offset = offset
        self.rule = rule

    def __str__(self) -> str:
        return str(self.args[0])
