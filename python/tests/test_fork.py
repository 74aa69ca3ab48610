"""Child processes created by `fork`, which have none of their parent's threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from files import fixture

import executorch_format as ef

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# `ask` reads much data on all cores, and lists a folder with a multithreaded runtime. The alarm ends a child that waits for threads of its parent.
SCRIPT = """
import multiprocessing, os, signal, sys, threading, warnings
import executorch_format as ef
from executorch_format import catalog

# Python 3.12 and later warn of threads at each fork, which are those of the catalogue.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
folder, how = sys.argv[1:]
before, after = ef.Data.open(f"{folder}/before.ptd"), ef.Data.open(f"{folder}/after.ptd")

def ask(_=None):
    signal.alarm(100)
    return before.diff(after), len(before.report().to_html()), sorted(catalog.files(folder))

def spawned():
    child = os.fork()
    if not child:
        os._exit(0 if ask() == expected else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

expected = ask()
assert [one.kind for one in expected[0].differences] == ["moved"] * 8 and len(expected[2]) == 2
if how == "fork":
    assert spawned() == 0
elif how == "fork in a child":
    child = os.fork()
    if not child:
        os._exit(0 if ask() == expected and spawned() == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
elif how == "fork while threads work":
    done = threading.Event()
    def work():
        while not done.is_set():
            before.diff(after)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = [spawned() for _ in range(5)]
    done.set()
    for thread in threads:
        thread.join()
    assert codes == [0] * 5
else:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(ask, range(4)) == [expected] * 4
assert ask() == expected
print("done")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates two files with the same data under other keys, which is compared by its hashes."""
    made = tmp_path_factory.mktemp("fork")
    data = {f"t{index}": np.random.default_rng(index).random(1 << 17, np.float32) for index in range(8)}
    ef.Data.create(data).save(made / "before.ptd")
    ef.Data.create({f"other_{key}": array for key, array in data.items()}).save(made / "after.ptd")
    return made


@pytest.mark.parametrize("how", ["fork", "fork in a child", "fork while threads work", "multiprocessing"])
def test_children_get_the_answers_of_their_parent(how: str, folder: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(folder), how]
    assert subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout == "done\n"


def test_models_opened_before_a_fork_are_readable_after_it() -> None:
    program = ef.Program.open(fixture("1.5.1/add_mul/add_mul.pte"))
    child = os.fork()
    if not child:
        os._exit(0 if program.tensors["forward.0"].sum() is not None and not program.verify("runtime") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
