"""The files of the repository's tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "tests" / "data"
KINDS = {".pte", ".ptd", ".bpte", ".etdp", ".xnn"}


def _good(path: Path) -> bool:
    return path.suffix in KINDS and not {"malformed", "attacks", "releases"} & set(path.parts)


GOOD = sorted(path for path in DATA.rglob("*") if _good(path))
assert len(GOOD) > 100, "the files of the repository's tests are not here"

MALFORMED: list[dict[str, Any]] = json.loads((DATA / "malformed" / "manifest.json").read_text())


def name(path: Path) -> str:
    """Returns the name of a file in test identifiers."""
    return str(path.relative_to(DATA))


def fixture(path: str) -> Path:
    """Returns a file by its path in the folder of an ExecuTorch release: `1.5.1/add/add.pte`."""
    return DATA / path


def beside(path: Path, suffix: str) -> Path:
    """Returns a companion of a file."""
    return path.with_name(path.name + suffix)
