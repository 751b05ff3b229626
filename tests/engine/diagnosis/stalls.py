"""Stalls made on a real broker and recorded twice, with the fault and without: ``tests.broker.stalls`` makes them.

A file holds one recording as ``{"moments": {time: {path of the request: answer}}}``.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "stalls"
NAMES: Final = tuple(
    sorted(path.relative_to(FOLDER).as_posix().removesuffix(".json.gz") for path in FOLDER.glob("*/*.json.gz"))
)
"""Release and stall, such as 4.2.4/churn-shared."""


@cache
def stall(name: str) -> dict[str, dict[str, Any]]:
    """The moments of one recording. Shared: do not change it."""
    moments: dict[str, dict[str, Any]] = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))[
        "moments"
    ]
    return moments
