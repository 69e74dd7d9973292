"""`data_files` unpacks files by their content; damaged, ambiguous and huge files are refused."""

import gzip
import io
import lzma
import random
import zipfile

import pytest

from residuum.errors import DataError
from residuum.study import data_files
from residuum.study.data_files import unpack

CONTENT = b"one line\nanother\n"


def _zip(*files: str, content: bytes = CONTENT) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("folder")
        for name in files:
            archive.writestr(name, content + name.encode())
    return written.getvalue()


@pytest.mark.parametrize("name", ["plain", "misnamed.gz"])
def test_content_is_read_by_what_it_is_not_by_its_name(tmp_path, name):
    (tmp_path / name).write_bytes(CONTENT)
    assert unpack(tmp_path / name) == CONTENT
    for pack in (gzip.compress, lzma.compress):
        (tmp_path / name).write_bytes(pack(CONTENT))
        assert unpack(tmp_path / name) == CONTENT


PACKED = gzip.compress(bytes(range(256)) * 40, mtime=0)  # the names of tests do not vary
FLIPPED = PACKED[:100] + bytes([PACKED[100] ^ 0xFF]) + PACKED[101:]


@pytest.mark.parametrize("content", [PACKED[:-9], PACKED[:3], FLIPPED, PACKED + b"rest"])
def test_damaged_gzip_is_refused(tmp_path, content):
    (tmp_path / "images.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"images\.gz` cannot be read"):
        unpack(tmp_path / "images.gz")


PACKED_BY_XZ = lzma.compress(bytes(range(256)) * 40)
FLIPPED_IN_XZ = PACKED_BY_XZ[:100] + bytes([PACKED_BY_XZ[100] ^ 0xFF]) + PACKED_BY_XZ[101:]


@pytest.mark.parametrize(
    "content",
    [PACKED_BY_XZ[:-9], PACKED_BY_XZ[:6], FLIPPED_IN_XZ, PACKED_BY_XZ + b"rest", 2 * PACKED_BY_XZ],
    ids=["cut", "start", "flipped", "rest", "twice"],
)
def test_damaged_xz_is_refused(tmp_path, content):
    (tmp_path / "a.xz").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.xz` cannot be read"):
        unpack(tmp_path / "a.xz")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="absent` cannot be read"):
        unpack(tmp_path / "absent")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_no_more_is_unpacked_than_any_file_should_have(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(data_files, "LARGEST_FILE", 1000)
    (tmp_path / "bomb").write_bytes(pack(bytes(1001)))
    with pytest.raises(DataError, match=r"bomb`: expected at most 1,000 bytes"):
        unpack(tmp_path / "bomb")
    (tmp_path / "bomb").write_bytes(pack(bytes(1000)))
    assert len(unpack(tmp_path / "bomb")) == 1000


def test_the_only_file_of_an_archive_needs_no_name(tmp_path):
    (tmp_path / "vectors").write_bytes(_zip("folder/only.txt"))
    assert unpack(tmp_path / "vectors") == CONTENT + b"folder/only.txt"


def test_a_member_is_found_by_its_name_in_any_folder(tmp_path):
    (tmp_path / "corpus.zip").write_bytes(_zip("README", "folder/train.txt", "folder/test.txt"))
    assert unpack(tmp_path / "corpus.zip", "test.txt") == CONTENT + b"folder/test.txt"


@pytest.mark.parametrize(
    ("files", "member", "words"),
    [
        (["a.txt", "b.txt"], None, r"one file in this archive, found 2 \(a.txt, b.txt\)"),
        (["a.txt", "b.txt"], "c.txt", r"one file called c.txt .*, found 0 \(a.txt, b.txt\)"),
        (["a.txt", "folder/a.txt"], "a.txt", r"found 2 \(a.txt, folder/a.txt\)"),
        ([], None, r"found 0 \(none\)"),
    ],
)
def test_an_archive_without_just_one_such_file_is_refused(tmp_path, files, member, words):
    (tmp_path / "corpus.zip").write_bytes(_zip(*files))
    with pytest.raises(DataError, match=words):
        unpack(tmp_path / "corpus.zip", member)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_that_would_be_unpacked_without_bounds_is_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "corpus.zip", "w", method) as archive:
        archive.writestr("a\n.txt", CONTENT)
    expected = (
        rf"corpus\.zip`: expected .* packed by deflate, found method {method} for 'a\\n\.txt'"
    )
    with pytest.raises(DataError, match=expected):
        unpack(tmp_path / "corpus.zip")


def test_an_archive_with_a_password_is_refused(tmp_path):
    content = bytearray(_zip("a.txt"))
    for start, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.rindex(start) + place] |= 1
    (tmp_path / "corpus.zip").write_bytes(content)
    with pytest.raises(DataError, match=r"corpus\.zip`: .* found a password for 'a\.txt'"):
        unpack(tmp_path / "corpus.zip")


def test_whatever_is_wrong_with_an_archive_is_said_in_words(tmp_path):
    chance = random.Random(20)
    sound = _zip("a.txt"), gzip.compress(CONTENT)
    refused = 0
    for number in range(1000):
        content = bytearray(sound[number % 2])
        content[chance.randrange(4, len(content))] ^= 1 << chance.randrange(8)
        (tmp_path / "odd").write_bytes(content)
        try:
            unpack(tmp_path / "odd")
        except DataError:
            refused += 1
    assert 300 < refused < 1000


@pytest.mark.parametrize("cut", [10, 60, 150])
def test_a_damaged_archive_is_refused(tmp_path, cut):
    (tmp_path / "corpus.zip").write_bytes(_zip("a.txt")[:cut])
    with pytest.raises(DataError, match=r"corpus\.zip` cannot be read"):
        unpack(tmp_path / "corpus.zip")
