"""Files that are not what they claim to be are refused by name, with what was found."""

import gzip
import struct

import numpy as np
import pytest

from residuum.errors import DataError
from residuum.study.digits import idx
from residuum.study.digits.idx import decode_idx, unpack


def _idx(array: np.ndarray, kind: int = 8) -> bytes:
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, kind, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


IMAGES = np.arange(24).reshape(2, 3, 4)
SOUND = _idx(IMAGES)


@pytest.mark.parametrize("shape", [(24,), (4, 6), (2, 3, 4), (0, 3, 4)])
def test_what_was_written_is_read(tmp_path, shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    read = decode_idx(_idx(array), len(shape), tmp_path)
    assert read.dtype == np.uint8
    assert read.tolist() == array.tolist()
    assert not read.flags.writeable


def test_sizes_are_big_endian():
    content = bytes([0, 0, 8, 1, 0, 0, 1, 2]) + bytes(258)
    assert decode_idx(content, 1, "labels").shape == (258,)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "begin with 00 00 08 03, found nothing"),
        (b"\0\0", "found 00 00"),
        (b"<html>not found</html>", "found 3c 68 74 6d"),
        (_idx(IMAGES, kind=0x0D), "found 00 00 0d 03"),
        (_idx(IMAGES.reshape(6, 4)), "found 00 00 08 02"),
        (SOUND[:15], "3 sizes in 16 bytes, found 15 bytes"),
        (SOUND[:16], r"24 bytes of data \(2 × 3 × 4\), found 0 bytes"),
        (SOUND[:-1], "24 bytes .*, found 23 bytes"),
        (SOUND + b"!", "24 bytes .*, found 25 bytes"),
        (SOUND[:4] + b"\xff" * 12 + SOUND[16:], "79,228,162,458,924,105,385,300,197,375 bytes"),
    ],
)
def test_unsound_files_are_refused_with_what_was_found(tmp_path, content, words):
    with pytest.raises(DataError, match=words) as caught:
        decode_idx(content, 3, tmp_path / "broken-images")
    assert "broken-images" in str(caught.value)


@pytest.mark.parametrize("name", ["plain", "misnamed.gz"])
def test_content_is_read_by_what_it_is_not_by_its_name(tmp_path, name):
    (tmp_path / name).write_bytes(SOUND)
    assert unpack(tmp_path / name) == SOUND
    (tmp_path / name).write_bytes(gzip.compress(SOUND))
    assert unpack(tmp_path / name) == SOUND


PACKED = gzip.compress(bytes(range(256)) * 40)
FLIPPED = PACKED[:100] + bytes([PACKED[100] ^ 0xFF]) + PACKED[101:]


@pytest.mark.parametrize("content", [PACKED[:-9], PACKED[:3], FLIPPED, PACKED + b"rest"])
def test_damaged_gzip_is_refused(tmp_path, content):
    (tmp_path / "images.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"images\.gz` cannot be read"):
        unpack(tmp_path / "images.gz")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(DataError, match="absent` cannot be read"):
        unpack(tmp_path / "absent")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_no_more_is_unpacked_than_any_file_should_have(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(idx, "LARGEST_FILE", 1000)
    (tmp_path / "bomb").write_bytes(pack(bytes(1001)))
    with pytest.raises(DataError, match=r"bomb`: expected at most 1,000 bytes"):
        unpack(tmp_path / "bomb")
    (tmp_path / "bomb").write_bytes(pack(bytes(1000)))
    assert len(unpack(tmp_path / "bomb")) == 1000
