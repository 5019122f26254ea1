"""What a person sees in `truecost demo person`: scikit-learn's handwritten digits as images."""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from truecost.learning.corpora import handwritten

SCALE = 24  # pixels of the image for one of the 8 x 8


@contextmanager
def images() -> Iterator[str]:
    """A folder with an image of each digit, `ID.png`, as long as it is needed."""
    with TemporaryDirectory() as folder:
        digits = handwritten()
        for name, pixels in zip(digits.ids, digits.features.reshape(-1, 8, 8), strict=True):
            (Path(folder) / f"{name}.png").write_bytes(png(pixels))
        yield folder


def png(pixels: npt.NDArray[np.float64]) -> bytes:
    """A grey image, dark on light; `pixels` between 0 (paper) and 1 (ink)."""
    grey = (255 * (1 - np.kron(pixels, np.ones((SCALE, SCALE))))).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)  # no filter
    head = struct.pack(">2I5B", *grey.shape[::-1], 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
