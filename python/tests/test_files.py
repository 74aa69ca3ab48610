"""Opening and saving files."""

from __future__ import annotations

import errno
import gzip
import importlib.metadata
import io
import os
import pathlib
import pickle
import shutil
import signal
import struct
import subprocess
import sys
import time
import urllib.request
import zipfile

import fsspec
import numpy as np
import pytest
from files import fixture

import executorch_format as ef

PATH = fixture("1.5.1/add_mul/add_mul.pte")


def test_opens_paths_bytes_and_file_objects() -> None:
    content = PATH.read_bytes()
    with PATH.open("rb") as opened:
        models = [
            ef.open(PATH),
            ef.open(str(PATH)),
            ef.open(PATH, mmap=False),
            ef.open(content),
            ef.open(bytearray(content)),
            ef.open(memoryview(content)),
            ef.open(memoryview(b"x" + content)[1:]),
            ef.open(io.BytesIO(content)),
            ef.open(opened),
        ]
    for model in models:
        assert isinstance(model, ef.Program)
        assert model.to_bytes() == content
        assert model.tensors["forward.0"].tolist() == models[0].tensors["forward.0"].tolist()  # type: ignore[attr-defined]
    assert [model.path for model in models] == [str(PATH)] * 3 + [None] * 5 + [str(PATH)]


def test_opens_file_objects_of_other_modules(tmp_path: pathlib.Path) -> None:
    with gzip.open(tmp_path / "model.pte.gz", "wb") as packed:
        packed.write(PATH.read_bytes())
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.write(PATH, "model.pte")
    # The types allow each of these, which mypy checks.
    with gzip.open(tmp_path / "model.pte.gz", "rb") as unpacked:
        assert ef.open(unpacked).to_bytes() == PATH.read_bytes()
    with zipfile.ZipFile(tmp_path / "model.zip").open("model.pte") as member:
        assert ef.Program.open(member).to_bytes() == PATH.read_bytes()
    with urllib.request.urlopen(PATH.as_uri()) as response:
        assert ef.open(response).to_bytes() == PATH.read_bytes()
    fsspec.filesystem("memory").pipe("/models/model.pte", PATH.read_bytes())
    with fsspec.open("memory://models/model.pte", "rb") as remote:
        assert ef.open(remote).to_bytes() == PATH.read_bytes()


@pytest.mark.parametrize("url", ["s3://bucket/model.pte", "https://example.org/model.pte", pathlib.Path("gs://bucket/model.pte")])
def test_a_url_is_not_a_path(url: str | pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"with fsspec.open\(url, 'rb'\) as file: ef.open\(file\)") as raised:
        ef.open(url)
    assert raised.value.filename == str(url)
    assert raised.value.errno == errno.ENOENT


def test_a_folder_can_be_called_like_a_url(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    (tmp_path / "s3:" / "model.pte").write_bytes(PATH.read_bytes())
    assert ef.open("s3://model.pte").file_size == PATH.stat().st_size


class Mine(ef.Program):
    """A user's class."""

    def weight(self) -> float:
        return float(self.tensors["forward.0"].sum())


def test_subclasses_open_as_themselves() -> None:
    mine = Mine.open(PATH)
    assert type(mine) is Mine
    assert mine.weight() == Mine.open(PATH.read_bytes()).weight()
    assert type(mine.strip()) is Mine
    assert type(mine.externalize()[0]) is Mine
    assert type(ef.open(PATH)) is ef.Program
    assert type(ef.Model.open(PATH)) is ef.Program
    with pytest.raises(ef.Error, match="expected a .pte, found a .ptd"):
        Mine.open(fixture("1.5.1/ptd_names/ptd_names.ptd"))


def test_version_is_that_of_the_installed_package() -> None:
    assert ef.__version__ == importlib.metadata.version("executorch-format")


def test_a_file_object_is_read_from_its_position() -> None:
    content = io.BytesIO(b"before" + PATH.read_bytes())
    content.seek(6)
    assert ef.open(content).file_size == PATH.stat().st_size


def test_opening_other_objects_raises(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        ef.open(tmp_path / "nothing.pte")
    with pytest.raises(IsADirectoryError):
        ef.open(tmp_path)
    with pytest.raises(TypeError):
        ef.open(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="opens? it with 'rb'|open it with 'rb'"):
        ef.open(io.StringIO("text"))  # type: ignore[arg-type]
    (tmp_path / "empty.pte").write_bytes(b"")
    for empty in (tmp_path / "empty.pte", b""):
        with pytest.raises(ef.Error):
            ef.open(empty)


def test_a_bytearray_can_change_after_opening() -> None:
    content = bytearray(PATH.read_bytes())
    model = ef.open(content)
    content[:] = bytes(len(content))
    assert model.to_bytes() == PATH.read_bytes()


def test_a_file_that_is_read_at_once_can_change(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "changes.pte"
    path.write_bytes(PATH.read_bytes())
    model = ef.open(path, mmap=False)
    path.write_bytes(b"")
    assert model.to_bytes() == PATH.read_bytes()


def test_save_over_the_file_that_is_open(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(PATH.read_bytes())
    model = ef.Program.open(path)
    model.set_metadata("get_version", 2).save(path)
    assert model.to_bytes() == PATH.read_bytes()
    assert ef.Program.open(path).metadata == {"get_version": 2}
    assert os.listdir(tmp_path) == ["model.pte"]


def big(size: int = 1 << 24) -> ef.Data:
    return ef.Data.create({"a": np.zeros(size, np.uint8)})


def test_progress_ends_with_all(tmp_path: pathlib.Path) -> None:
    data, steps = big(), []
    data.save(tmp_path / "big.ptd", progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (data.file_size, data.file_size)
    assert steps == sorted(steps)
    assert len(steps) > 2


def test_an_exception_in_a_callback_cancels_the_write(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "big.ptd"
    path.write_bytes(b"older")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        big().save(path, progress=stop)
    assert path.read_bytes() == b"older"
    assert os.listdir(tmp_path) == ["big.ptd"]


@pytest.mark.skipif(os.name == "nt", reason="a process gets Ctrl-C in another way there")
def test_ctrl_c_ends_a_write(tmp_path: pathlib.Path) -> None:
    # Shells start background jobs so that they ignore Ctrl-C.
    script = """
import signal, sys, numpy as np, executorch_format as ef
signal.signal(signal.SIGINT, signal.default_int_handler)
data = ef.Data.create({"a": np.zeros(1 << 24, np.uint8)})
print("ready", flush=True)
try:
    for _ in range(1000):
        data.save(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted")
"""
    command = [sys.executable, "-c", script, str(tmp_path / "big.ptd")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
    assert set(os.listdir(tmp_path)) <= {"big.ptd"}


def test_an_error_of_the_system_has_its_number_and_the_path(tmp_path: pathlib.Path) -> None:
    data = ef.Data.create({"a": np.zeros(2, np.float32)})
    (tmp_path / "file").write_bytes(b"")
    faults: list[tuple[str | pathlib.Path, type[OSError], int]] = [
        (tmp_path / "no" / "folder" / "model.pte", FileNotFoundError, errno.ENOENT),
        (tmp_path, IsADirectoryError, errno.EISDIR),
        (tmp_path / "file" / "model.pte", NotADirectoryError, errno.ENOTDIR),
        (tmp_path / ("long" * 100), OSError, errno.ENAMETOOLONG),
        (str(tmp_path / "nul\0"), OSError, errno.EINVAL),
        ("", FileNotFoundError, errno.ENOENT),
    ]
    for path, kind, number in faults:
        for save in (data.save, data.to_safetensors):
            with pytest.raises(kind) as raised:
                save(path)
            assert type(raised.value) is kind
            assert (raised.value.errno, raised.value.filename) == (number, str(path))
            assert number == errno.EINVAL or raised.value.strerror == os.strerror(number)


def test_save_is_byte_for_byte(tmp_path: pathlib.Path) -> None:
    for name in ("1.5.1/names/names.pte", "1.5.1/bundled/bundled.bpte", "1.5.1/etdump/etdump.etdp", "1.5.1/ptd_names/ptd_names.ptd"):
        ef.open(fixture(name)).save(tmp_path / "same")
        assert (tmp_path / "same").read_bytes() == fixture(name).read_bytes()


def test_many_models_need_few_open_files(tmp_path: pathlib.Path) -> None:
    script = """
import resource, sys, executorch_format as ef
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
models = [ef.open(sys.argv[1]) for _ in range(250)]
models[0].strip().save(sys.argv[2])
assert ef.open(sys.argv[2]).verify() is not None
"""
    subprocess.run([sys.executable, "-c", script, PATH, tmp_path / "saved.pte"], check=True)


def test_saves_a_mapped_file_whose_path_was_removed_or_replaced(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "big.ptd"
    big(1 << 20).replace("a", bytes(range(256)) * 4096).save(path)
    expected = path.read_bytes()
    model = ef.Data.open(path)
    path.unlink()
    model.save(tmp_path / "gone.ptd")
    big(1 << 20).save(path)
    model.save(tmp_path / "another.ptd")
    assert (tmp_path / "gone.ptd").read_bytes() == expected
    assert (tmp_path / "another.ptd").read_bytes() == expected
    ef.Data.open(tmp_path / "gone.ptd").rename({"a": "b"}).save(tmp_path / "renamed.ptd")
    assert ef.Data.open(tmp_path / "renamed.ptd").tensors["b"].tobytes() == bytes(range(256)) * 4096


@pytest.mark.skipif(os.name != "posix", reason="only a mapped file is known by its inode")
def test_save_does_not_undo_the_change_of_another_program(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(fixture("1.5.1/add_mul/add_mul.pte").read_bytes())
    program = ef.Program.open(path)
    # Saving again and again is no change of another program.
    program.set_metadata("get_one", 1).save(path)
    program.set_metadata("get_two", 2).save(path)
    ef.Program.open(path).set_metadata("get_three", 3).save(path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)
    with pytest.raises(OSError, match="another program changed it after it was opened"):
        program.set_metadata("get_four", 4).save(path)
    assert set(ef.Program.open(path).metadata) >= {"get_two", "get_three"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.pte"]


def test_a_small_hostile_file_is_not_written_as_a_large_one(tmp_path: pathlib.Path) -> None:
    large, count = 1 << 20, 120
    entries = {f"k{index}": bytes([index]) * (index + 1) for index in range(count)}
    data = bytearray(ef.Data.create({"large": np.arange(large // 4, dtype="u4"), **entries}).to_bytes())
    blobs = [blob for blob in ef.open(bytes(data)).blobs().blobs if blob.kind == "named" and blob.size != large]
    (base,) = struct.unpack_from("<Q", data, 32)
    for index, blob in enumerate(blobs):
        at = data.index(struct.pack("<QQ", blob.offset - base, blob.size))
        struct.pack_into("<QQ", data, at, 16 * index, large - 16 * count)
    overlapping = ef.Data.open(bytes(data))
    hostile = overlapping.merge(overlapping)
    with pytest.raises(ef.Error, match="64 MiB plus 32 times"):
        hostile.save(tmp_path / "out.ptd")
    with pytest.raises(ef.Error, match="64 MiB plus 32 times"):
        hostile.to_bytes()
    assert not list(tmp_path.iterdir())
    hostile.save(tmp_path / "out.ptd", any_size=True)
    assert (tmp_path / "out.ptd").stat().st_size > 100 * large


@pytest.mark.skipif(os.name != "posix", reason="Windows does not count links here")
def test_save_warns_about_a_broken_hard_link(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(fixture("1.5.1/add_mul/add_mul.pte").read_bytes())
    (tmp_path / "other.pte").hardlink_to(path)
    program = ef.Program.open(path)
    with pytest.warns(UserWarning, match="hard links: 1 other name keeps the old content"):
        program.save(path)


def test_errors_name_the_file_as_it_was_given(tmp_path: pathlib.Path) -> None:
    content = fixture("1.5.1/add/add.pte").read_bytes()
    cut = tmp_path / "cut.pte"
    cut.write_bytes(content[:500])
    for open_it in (ef.open, ef.Program.open, ef.Data.from_safetensors):
        with pytest.raises(ef.Error) as caught:
            open_it(cut)
        assert caught.value.file == str(cut)
        assert str(caught.value).startswith(f"{cut}: ")
    with pytest.raises(ef.Error, match="^execution_plan.*bad offset") as in_memory:
        ef.open(content[:500])
    assert in_memory.value.file is None and "model" not in str(in_memory.value)
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (str(copied), copied.file) == (str(caught.value), caught.value.file)
    with pytest.raises(ef.Error) as other:
        ef.Data.open(fixture("1.5.1/add/add.pte"))
    assert str(other.value) == f"{fixture('1.5.1/add/add.pte')}: expected a .ptd, found a .pte"
    record = tmp_path / "no.etrecord"
    record.write_bytes(b"no record")
    with pytest.raises(ef.Error) as unnamed:
        ef.Program.open(fixture("1.5.1/add/add.pte")).with_names(record)
    assert unnamed.value.file == str(record)


def test_models_in_memory_have_no_file_name() -> None:
    model = ef.open(fixture("1.5.1/add/add.pte").read_bytes())
    assert repr(model) == "<Program in memory: 1,072 bytes, 1 method (forward)>"
    assert repr(model.report()) == f"<Report on {model!r}>"
    bundle = ef.open(fixture("1.5.1/bundled/bundled.bpte"))
    assert repr(bundle) == "<Bundle 'bundled.bpte': 1,952 bytes, with <Program in memory: 1,440 bytes, 1 method (forward)>>"
    assert repr(ef.open(fixture("payloads/profile_xnnpack.etdp"))) == "<Trace 'profile_xnnpack.etdp': 888 bytes, 1 run>"
    payload = ef.open(fixture("payloads/v0.4.0_conv2d.0.xnn"))
    assert repr(payload) == "<Payload 'v0.4.0_conv2d.0.xnn': 1,424 bytes, XNNPACK, 3 nodes>"


def test_a_model_is_pickled_by_its_path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("net_portable.pte", "net_portable.etrecord"):
        shutil.copy(fixture(f"etrecord/{name}"), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    net = ef.Program.open("net_portable.pte", mmap=False).with_names()
    pickled = pickle.dumps(net)
    assert len(pickled) < 1000
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)
    assert type(again) is ef.Program and again.names == net.names and again._mmap is False
    assert again.tensors.entry("head.weight") == net.tensors.entry("head.weight")
    tensor = pickle.loads(pickle.dumps(net.tensors.entry("head.weight")))
    assert tensor == net.tensors.entry("head.weight") and (tensor.numpy() == net.tensors["head.weight"]).all()
    answer = net.memory()
    assert pickle.loads(pickle.dumps(answer)) == answer
    for other in (net.strip(), ef.open((tmp_path / "net_portable.pte").read_bytes())):
        with pytest.raises(TypeError, match="save it, and pickle what `open` returns"):
            pickle.dumps(other)
    with pytest.raises(TypeError, match="pickle the program"):
        pickle.dumps(net.methods["forward"])
    (tmp_path / "net_portable.pte").write_bytes(fixture("1.5.1/add/add.pte").read_bytes())
    with pytest.raises(ef.Error, match="bytes, and had"):
        pickle.loads(pickled)
