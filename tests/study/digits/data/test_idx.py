"""Files that are not what they claim to be are refused by name, with what was found."""

import struct

import numpy as np
import pytest

from residuum.errors import DataError
from residuum.study.digits.data.images import decode_idx


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
        (
            SOUND[:4] + b"\xff" * 12 + SOUND[16:],
            "at most 67,108,864 bytes in all, found 4294967295 ×",
        ),
        (SOUND[:4] + bytes(4) + b"\xff" * 8, "found 0 × 4294967295 × 4294967295"),
    ],
)
def test_unsound_files_are_refused_with_what_was_found(tmp_path, content, words):
    with pytest.raises(DataError, match=words) as caught:
        decode_idx(content, 3, tmp_path / "broken-images")
    assert "broken-images" in str(caught.value)
