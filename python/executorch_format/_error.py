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
    file: str | None
    """The path of the file as it was given to the function that could not open it; `None` for bytes, and for a file that was opened."""

    def __init__(self, message: str, path: str = "", offset: int | None = None, rule: str = "", file: str | None = None) -> None:
        super().__init__(message, path, offset, rule, file)
        self.path = path
        self.offset = offset
        self.rule = rule
        self.file = file

    def _in(self, file: str | None) -> Error:
        """Returns the same error with the path of the file."""
        return type(self)(str(self.args[0]), self.path, self.offset, self.rule, file)

    def __str__(self) -> str:
        return f"{self.file}: {self.args[0]}" if self.file else str(self.args[0])
