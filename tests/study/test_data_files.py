"""`data_files` finds files in the user's folder, then on a mirror; or an error says what to do."""

import hashlib
import sys
import types
from pathlib import Path

import pooch
import pytest

from residuum.errors import DataError, ResiduumError
from residuum.study.data_files import DataFile, find_files

WORDS = DataFile(
    "words.gz", "corpus", "ab" * 32, ("https://one.example/", "https://two.example/"), ("words",)
)
TAGS = DataFile("tags.gz", "corpus", "cd" * 32, ("https://one.example/",))


@pytest.fixture
def own(monkeypatch, tmp_path):
    folder = tmp_path / "own"
    (folder / "corpus").mkdir(parents=True)
    monkeypatch.setenv("RESIDUUM_DATA", str(folder))
    return folder


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("RESIDUUM_DATA", raising=False)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("RESIDUUM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def mirrors(monkeypatch):
    """Addresses that answer, by what they raise or None; and a list of the calls."""
    answers, calls = {}, []

    def retrieve(url, known_hash, fname, path):
        calls.append((url, known_hash))
        if answers[url] is not None:
            raise answers[url]
        path.mkdir(parents=True, exist_ok=True)
        (path / fname).write_bytes(b"downloaded")
        return str(path / fname)

    monkeypatch.setitem(sys.modules, "pooch", types.SimpleNamespace(retrieve=retrieve))
    return answers, calls


@pytest.mark.parametrize("place", ["words.gz", "words", "corpus/words.gz", "corpus/words"])
def test_a_file_is_found_in_the_folder_or_its_part_under_any_of_its_names(own, place):
    (own / place).write_bytes(b"")
    assert find_files([WORDS]) == [own / place]


def test_a_folder_of_that_name_is_no_file(own):
    (own / "words.gz").mkdir()
    (own / "corpus" / "words").write_bytes(b"")
    assert find_files([WORDS]) == [own / "corpus" / "words"]


def test_files_come_in_the_order_they_were_asked_for(own):
    (own / "tags.gz").write_bytes(b"")
    (own / "words").write_bytes(b"")
    assert find_files([TAGS, WORDS]) == [own / "tags.gz", own / "words"]


@pytest.mark.usefixtures("cache")
def test_a_misspelt_folder_is_not_passed_over(monkeypatch, tmp_path, mirrors):
    monkeypatch.setenv("RESIDUUM_DATA", str(tmp_path / "dtaa"))
    with pytest.raises(DataError, match="dtaa`, but there is no such folder"):
        find_files([WORDS])
    assert not mirrors[1]


def test_what_the_folder_lacks_is_downloaded_into_the_cache_with_its_checksum(own, cache, mirrors):
    (own / "tags.gz").write_bytes(b"")
    answers, calls = mirrors
    answers["https://one.example/words.gz"] = None
    assert find_files([WORDS, TAGS]) == [cache / "data" / "corpus" / "words.gz", own / "tags.gz"]
    assert calls == [("https://one.example/words.gz", "sha256:" + "ab" * 32)]


@pytest.mark.parametrize("failure", [OSError("no route"), ValueError("hash differs")])
@pytest.mark.usefixtures("no_folder")
def test_the_second_mirror_is_asked_if_the_first_fails(cache, mirrors, failure):
    answers, calls = mirrors
    answers["https://one.example/words.gz"] = failure
    answers["https://two.example/words.gz"] = None
    assert find_files([WORDS]) == [cache / "data" / "corpus" / "words.gz"]
    assert len(calls) == 2


@pytest.mark.usefixtures("no_folder", "cache")
def test_without_a_network_the_error_names_every_missing_file_each_mirror_and_what_to_do(mirrors):
    answers, _ = mirrors
    answers["https://one.example/words.gz"] = OSError("no route")
    answers["https://two.example/words.gz"] = ValueError("other bytes " * 100)
    with pytest.raises(ResiduumError) as caught:
        find_files([WORDS, TAGS])
    message = str(caught.value)
    for words in ("words.gz, tags.gz", "into a folder and name it in RESIDUUM_DATA", "no route"):
        assert words in message
    assert "https://one.example/: " in message
    assert "https://two.example/: other bytes" in message
    assert len(message) < 1000


@pytest.mark.usefixtures("cache")
def test_without_pooch_the_error_names_the_extra_and_the_folder_that_lacks_it(monkeypatch, own):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError) as caught:
        find_files([WORDS])
    message = str(caught.value)
    assert "pip install 'residuum[study]'" in message
    assert f"`{own}` (RESIDUUM_DATA) lacks words.gz" in message


@pytest.mark.usefixtures("no_folder")
def test_nothing_is_downloaded_when_nothing_may_be_kept(monkeypatch, mirrors):
    monkeypatch.setenv("RESIDUUM_CACHE", "")
    with pytest.raises(DataError, match="RESIDUUM_CACHE"):
        find_files([WORDS])
    assert not mirrors[1]


@pytest.mark.usefixtures("no_folder", "cache")
def test_pooch_itself_keeps_what_is_right_and_fetches_it_once(monkeypatch):
    """Against the library as it is, with only its downloader replaced."""
    asked = []

    def deliver(url, output_file, _pooch):
        asked.append(url)
        Path(output_file).write_bytes(b"right" if "two" in url else b"wrong")

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda *_, **__: deliver)
    file = DataFile("words", "corpus", hashlib.sha256(b"right").hexdigest(), WORDS.mirrors)
    for _ in range(2):
        (path,) = find_files([file])
        assert path.read_bytes() == b"right"
    assert asked == ["https://one.example/words", "https://two.example/words"]
