"""The command `pte`."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from executorch_format._native import run


def main() -> NoReturn:
    """Runs the command with the arguments of the process. Ctrl-C ends it like any other command."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run(sys.argv))
