"""Mutants that no test can notice, named with the reason in ``equivalent.toml``.

An entry is known by its file, function and changed lines, so it holds while they move; it covers every mutant that
makes the same change of the same line in that function. An entry without a mutant is a mistake.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.mutants.sites import Mutant

FILE: Final = Path(__file__).with_name("equivalent.toml")
_MEMBERS: Final = {"file", "function", "before", "after", "why"}

Key = tuple[str, str, str, str]


def read(path: Path = FILE) -> dict[Key, str]:
    """The reason by ``Mutant.key``."""
    results: dict[Key, str] = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", []):
        assert set(entry) == _MEMBERS, f"an entry has {sorted(_MEMBERS)}, not {sorted(entry)}"
        assert entry["why"].strip(), f"an entry without a reason: {entry}"
        key = (entry["file"], entry["function"], entry["before"], entry["after"])
        assert key not in results, f"named twice: {key}"
        results[key] = entry["why"]
    return results


def stale(named: Iterable[Key], mutants: Iterable[Mutant]) -> list[Key]:
    """The entries for the files of ``mutants`` that match none of them."""
    mutants = list(mutants)
    files, keys = {mutant.file for mutant in mutants}, {mutant.key for mutant in mutants}
    return [key for key in named if key[0] in files and key not in keys]


def as_entry(mutant: Mutant) -> str:
    """An entry to be pasted, its reason to be written."""
    members = zip(("file", "function", "before", "after"), mutant.key, strict=True)
    return "\n".join(["[[equivalent]]", *(f"{name} = {_text(value)}" for name, value in members), 'why = ""'])


def _text(value: str) -> str:
    if "'" not in value:
        return f"'{value}'"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
