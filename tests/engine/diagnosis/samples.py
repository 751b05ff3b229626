"""Recordings of faults made on a real broker, and their healthy twins: as dumps, and what was wrong in each.

A file holds one recording as ``{"cause": ..., "moments": {time: {path of the request: answer}}}``: the two moments with
the fault, or two without one. ``python -m tests.engine.diagnosis.samples RECORDING...`` packs recordings so.
"""

from __future__ import annotations

import gzip
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent / "samples"
NAMES: Final = tuple(sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz")))
FAULTS: Final = tuple(name for name in NAMES if not name.endswith("-healthy"))
HEALTHY: Final = tuple(name for name in NAMES if name.endswith("-healthy"))


@cache
def sample(name: str) -> dict[str, Any]:
    """One packed recording. Shared: do not change it."""
    document: dict[str, Any] = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    return document


def dump(name: str, folder: Path, *, moments: int | None = None) -> Path:
    """Write a recording as a dump, with the last ``moments`` of it, and return the folder."""
    result = sorted(sample(name)["moments"].items())
    for time, answers in result[-moments:] if moments is not None else result:
        for path, answer in answers.items():
            file = folder / time / f"{path}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(answer))
    return folder


def mended_dump(fault: str, healthy: str, folder: Path) -> Path:
    """A dump of a fault with the moments of its healthy twin after it, as if it had been mended: under its names."""
    renamed = list(zip(_names(healthy), _names(fault), strict=True))
    dump(fault, folder)
    for time, answers in sample(healthy)["moments"].items():
        for path, answer in answers.items():
            name, text = path, json.dumps(answer)
            for theirs, ours in renamed:
                name, text = name.replace(theirs, ours), text.replace(theirs, ours)
            file = folder / time / f"{name}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return folder


def _names(name: str) -> tuple[str, str, str]:
    """Namespace, topic and subscription of a recording of one topic."""
    answers = sample(name)["moments"][max(sample(name)["moments"])]
    path = next(path for path in answers if path.endswith("/stats"))
    _, _, _, tenant, namespace, topic, _ = path.split("/")
    (subscription,) = answers[path]["subscriptions"]
    return f"{tenant}/{namespace}", topic, subscription


def packed(recording: Path) -> bytes:
    """A recorded scenario in the form of this folder."""
    scenario = json.loads((recording / "scenario.json").read_text())
    steps = [step for step in scenario["steps"] if any("file" in answer for answer in step.get("answers", []))]
    healthy = scenario.get("cause") is None
    expected = [step for step in steps if step.get("fault") is not healthy]
    if healthy:
        expected = expected[-2:]
    moments: dict[str, dict[str, Any]] = {}
    for step in expected:
        answers = moments.setdefault(step["at"].replace(":", "-").replace("+00-00", "Z"), {})
        for answer in step["answers"]:
            method, _, path = answer["request"].partition(" ")
            if method == "GET" and "file" in answer:
                data = (recording / answer["file"]).read_bytes()
                text = gzip.decompress(data) if answer["file"].endswith(".gz") else data
                try:
                    answers[path.lstrip("/").replace("?", "@")] = json.loads(text)
                except json.JSONDecodeError:  # the range of a bundle is plain text
                    answers[path.lstrip("/").replace("?", "@")] = text.decode()
    document = {"cause": scenario.get("cause"), "moments": moments}
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), mtime=0)


if __name__ == "__main__":
    for argument in map(Path, sys.argv[1:]):
        (FOLDER / f"{argument.name.removeprefix('why-')}.json.gz").write_bytes(packed(argument))
