"""The classes of `answers` are those of the JSON Schemas of the command's documents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from files import fixture
from test_answers import same

import executorch_format as ef


def test_the_classes_are_current() -> None:
    script = Path(__file__).parents[1] / "answers"
    made = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_a_profile_with_its_program_keeps_all_data_of_the_native_half() -> None:
    trace, program = ef.Trace.open(fixture("payloads/profile_xnnpack.etdp")), ef.Program.open(fixture("payloads/profile_xnnpack.pte"))
    profile = trace.profile(program)
    same(profile, trace._native.profile(program._native, None))
    assert any(event.node for run in profile.runs for event in run.events)
    assert any(event.runs and event.runs.backend for run in profile.runs for event in run.events)
