"""A path that is not there, and what may have been meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

STANDARD_INPUT: Final = "-"
_CUTOFF: Final = 0.8
_HOST_AND_PORT: Final = re.compile(r"(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}/?")


def missing(path: str, names: Iterable[str] = (), kind: str = "command") -> str | None:
    """Why ``path`` cannot be opened, as a sentence with the nearest names; None when something is there.

    ``names`` are those of another ``kind`` that could have been meant.
    """
    words = list(names)
    if not path:
        return "an empty name is not a file or folder; was a variable of the shell empty?"
    if _HOST_AND_PORT.fullmatch(path) is not None and not Path(path).exists():
        return f"{path}: no such file or folder; an address of a running cluster is written http://{path}"
    try:
        if path == STANDARD_INPUT or Path(path).exists():
            return None
        if Path(path).is_symlink():
            return f"{path}: is a link that leads nowhere; name the {'file' if words else 'file or folder'} itself"
    except (OSError, ValueError):
        return None  # reading it will say what is wrong with it
    near = difflib.get_close_matches(path, list(dict.fromkeys([*words, *_neighbours(path)])), n=3, cutoff=_CUTOFF)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{path}: no such file{',' if words else ' or'} folder{f' or {kind}' if words else ''}{meant}"


def _neighbours(path: str) -> Iterator[str]:
    """The paths of the files in the same folder, relative or absolute as ``path`` is."""
    try:
        for entry in Path(path).parent.iterdir():
            yield str(Path(path).with_name(entry.name))
    except (OSError, ValueError):
        return
