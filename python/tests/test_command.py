"""The command `pte` that the wheel installs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from files import fixture

import executorch_format as ef

PATH = str(fixture("1.5.1/add_mul/add_mul.pte"))
MODULE = [sys.executable, "-m", "executorch_format"]
SCRIPT = [str(Path(sys.executable).with_name("pte"))]


def run(command: list[str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*command, *arguments], capture_output=True, check=False)


@pytest.mark.parametrize("command", [MODULE, SCRIPT], ids=["module", "script"])
def test_is_the_command(command: list[str], tmp_path: Path) -> None:
    assert run(command, "--version").stdout.startswith(b"pte ")
    info = run(command, "info", "--json", PATH)
    assert info.returncode == 0
    assert json.loads(info.stdout)["files"][0]["methods"][0]["name"] == "forward"
    assert run(command, "verify", PATH).returncode == 0
    assert run(command, "info", str(tmp_path / "nothing.pte")).returncode == 2
    (tmp_path / "bad.pte").write_bytes(b"nothing that is a model")
    bad = run(command, "verify", str(tmp_path / "bad.pte"))
    assert bad.returncode == 1
    assert b"identifier" in bad.stdout + bad.stderr


def test_standard_output_gets_all_bytes() -> None:
    # The output has no final line feed, so that only the end of the process flushes the rest.
    assert run(SCRIPT, "rewrite", PATH, "-o", "-").stdout == ef.open(PATH).to_bytes()


def test_answers_are_those_of_the_command() -> None:
    program = ef.Program.open(PATH)
    operators = json.loads(run(SCRIPT, "ops", "--json", PATH).stdout)["files"][0]
    assert operators["operators"] == program.operators().to_dict()["operators"]
    size = json.loads(run(SCRIPT, "size", "--json", PATH).stdout)["files"][0]
    assert size["file_size"] == program.size().file_size


@pytest.mark.skipif("PTE_WHEEL" not in os.environ, reason="only where a wheel is installed, as in `.ci/python`")
def test_needs_no_rust() -> None:
    assert shutil.which("cargo") is None
    assert shutil.which("rustc") is None
    assert run(SCRIPT, "--version").returncode == 0
    # The installed package, and not the one in the checkout.
    assert not Path(ef.__file__).is_relative_to(Path(__file__).parents[1])
