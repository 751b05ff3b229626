"""Labelled sentences, as explanations are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BYTES_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Remark:
    """One labelled sentence; the one with ``main`` set is the answer."""

    label: str
    text: str
    main: bool = False


def bytes_text(data: bytes) -> str:
    """Bytes in hexadecimal; many lose their middle.

    >>> bytes_text(b"ab"), bytes_text(bytes(30))
    ('61 62', '00 00 00 00 00 00 00 00 00 00 00 00 … 00 00 00 00 00 00 00 00 00 00 00 00')
    """
    if len(data) <= 2 * BYTES_SHOWN:
        return data.hex(" ")
    return f"{data[:BYTES_SHOWN].hex(' ')} … {data[-BYTES_SHOWN:].hex(' ')}"
