"""Bundles, traces and payloads."""

from __future__ import annotations

from functools import cached_property

from executorch_format._answer import counted
from executorch_format._model import Model
from executorch_format._program import Program
from executorch_format.answers import Profile


class Bundle(Model):
    """A program with test cases (.bpte). The test cases are in `summary`."""

    kind = "bpte"

    @cached_property
    def program(self) -> Program:
        """The program inside."""
        return Program(self._native.program())

    def _contents(self) -> str:
        return f"with {self.program!r}"


class Trace(Model):
    """A profile of runs (.etdp)."""

    kind = "etdp"

    def profile(self, program: Program | None = None, *, method: str | None = None) -> Profile:
        """Returns the times of all runs, with the instructions of the program that ran, if it is given."""
        return Profile._of(self._native.profile(None if program is None else program._native, method))


    def _contents(self) -> str:
        return counted(sum(run["name"] == "Execute" for run in self.summary["runs"]), "run")


class Payload(Model):
    """An XNNPACK payload in a file of its own. `tree` returns its graph."""

    kind = "payload"

    def _contents(self) -> str:
        return f"XNNPACK, {counted(sum(kind['calls'] for kind in self.summary['operators']), 'node')}"
