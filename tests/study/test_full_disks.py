"""Folders that cannot be written and disks that are full are told in words, before training."""

import os
import resource
import tempfile
from collections import namedtuple
from pathlib import Path

import pytest
import torch

from killed_training import Silent, StopError, Stopping
from residuum.errors import RecordError, ResiduumError
from residuum.results import Store
from residuum.study.chunking.data.corpus import Corpus, load_corpus
from residuum.study.chunking.experiment import Chunking
from residuum.study.chunking.settings import Settings
from residuum.study.running import run_all
from residuum.training import checkpoints
from residuum.training.checkpoints import CheckpointError

SAMPLE = load_corpus("sample")
FEW = Corpus("sample", SAMPLE.train[:24], SAMPLE.test[:6])
RUN = Settings(
    corpus="sample", relaxation="s-product", constraints=False, seed=0, hidden=8, epochs=3,
    batch=8, learning_rate=0.01,
)  # fmt: skip


class Untrained(Silent):
    """A watcher of a training that must not begin."""

    def epoch_is_over(self, _stage, _epoch, _curves):
        raise AssertionError


def train(store, watch=None):
    experiment = Chunking(FEW, None, torch.device("cpu"))
    run_all(experiment, [RUN], store, watch=watch or Silent())


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as store:
        yield store


def test_a_file_where_the_folder_of_checkpoints_should_be_is_noticed_before_training(store):
    store.path.with_name("runs.sqlite.checkpoints").write_text("mine")
    with pytest.raises(CheckpointError, match=r"expected a folder .* File exists.*same command"):
        train(store, Untrained())


def test_a_disk_that_is_too_small_is_noticed_before_training(store, monkeypatch):
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(checkpoints.shutil, "disk_usage", lambda _folder: usage(2**20))
    with pytest.raises(CheckpointError, match=r"expected 1\d MiB of free space .*, found 1\. "):
        train(store, Untrained())


def as_nobody(action):
    """Return what an action raises in a process that has no special rights."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            action()
            os.write(writer, b"nothing")
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return file.read()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("what", ["store", "folder", "checkpoints"])
def test_what_cannot_be_written_is_noticed_before_training(what):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Store(folder / "runs.sqlite"):
            pass
        kept = folder / "runs.sqlite.checkpoints"
        kept.mkdir()
        locked = {"store": folder / "runs.sqlite", "folder": folder, "checkpoints": kept}[what]
        for path in (folder, *folder.iterdir()):
            path.chmod(0o555 if path == locked else 0o777)

        def action():
            with Store(folder / "runs.sqlite") as store:
                train(store, Untrained())

        found = as_nobody(action)
        assert found.startswith("CheckpointError: " if what == "checkpoints" else "RecordError: ")
        assert "cannot be written" in found or "Permission denied" in found


@pytest.fixture
def small_files():
    """Let no file grow beyond a size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_fills_up_meanwhile_is_told_in_words_and_training_goes_on_later(
    store, small_files
):
    with pytest.raises(StopError):
        train(store, Stopping("Tag", 1))

    class Filling(Silent):
        def epoch_is_over(self, _stage, _epoch, _curves):
            small_files(1000)

    with pytest.raises(
        CheckpointError, match=r"File too large.* continues from the last checkpoints"
    ):
        train(store, Filling())
    small_files(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    epochs = []

    class Noting(Silent):
        def epoch_is_over(self, _stage, epoch, _curves):
            epochs.append(epoch)

    watch = Noting()
    train(store, watch)
    assert epochs == [2, 3]  # the checkpoint before is as it was
    assert watch.notes == []
    assert len(list(store)) == 1


def test_a_record_that_cannot_be_written_says_where_its_run_is_kept(store, monkeypatch):
    def full(_store, _record):
        raise RecordError("the disk is full; nothing was written")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "add", full)
        with pytest.raises(
            ResiduumError, match=r"disk is full.*\. The run is trained, and its checkpoint is in"
        ):
            train(store)
    train(store, Untrained())
    assert len(list(store)) == 1
