"""Real input to begin with: recordings, samples, journals of the shipped scripts, and the hostile files."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.fuzz.case import RECORDINGS, RESULTS, Case, of_bytes

ROOT: Final = Path(__file__).resolve().parents[1]
LARGEST_BYTES: Final = 20_000
WEIGHTS: Final[Mapping[str, int]] = {
    "answers": 30, RECORDINGS: 20, "journals": 24, "scripts": 8, "consumers": 6, "keys": 4, "lists": 4, "traces": 4,
    RESULTS: 8,
}  # fmt: skip
_PLAIN: Final[Mapping[str, Mapping[str, bytes]]] = {
    "keys": {"keys.txt": b"key-1\nhex:00ff\t5\nbase64:AP8=\ntext:\nkey-1\t9\n"},
    "consumers": {
        "names.txt": b"c-1\nc-2\nc-3\n",
        "sticky.txt": b"c-1=0-9,20-29\nc-2=30-65535\n",
        "names.json": b'["c-1","c-2"]',
        "ranges.json": b'[{"name":"a","ranges":[[0,9],[20,29]]},{"node":1,"ranges":[[30,65535]]}]',
    },
    "lists": {
        "lists.csv": b"namespace,subscription,consumer,priority_level\nt/n,s,a,0\nt/n,s,b,1\n,s,c,0\n",
        "lists.json": b'{"s":["a","b"],"t":["c"]}',
    },
    "traces": {
        "trace.csv": b"namespace,subscription,key,count\nt/n,s,k-1,5\nt/n,s,k-2,\n",
        "trace.jsonl": b'{"namespace":"t/n","subscription":"s","key":"k-1","count":5}\n{"key_base64":"AP8="}\n'
        b'{"producer_name":"p","sequence_id":7,"subscription":"s"}\n',
        "base64.csv": b"subscription,ordering_key,key_base64\ns,o,AP8=\n",
    },
}


@cache
def seeds(kind: str) -> tuple[Case, ...]:
    """The inputs of one kind, always in the same order."""
    result = [of_bytes(kind, name, data) for name, data in _PLAIN.get(kind, {}).items()]
    if kind == "answers":
        result += _answers()
    if kind == RECORDINGS:
        return tuple(_recordings())
    if kind == RESULTS:
        return tuple(_results())
    if kind == "journals":
        result += _journals()
    if kind == "scripts":
        folder = ROOT.parent / "engine" / "scenarios" / "scripts"
        result += [of_bytes(kind, path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
    if kind == "traces":
        result.append(Case(kind, "trace.parquet", _parquet()))
    hostile = [path for path in sorted((ROOT / "hostile" / kind).iterdir()) if path.is_file()]
    small = [path for path in hostile if path.stat().st_size <= LARGEST_BYTES]
    return (*result, *(of_bytes(kind, path.name, path.read_bytes()) for path in small))


def _answers() -> list[Case]:
    """For each kind of answer, by its name in a recording, some from different recordings."""
    by_kind: dict[str, list[Case]] = {}
    for path in sorted((ROOT / "recordings").glob("*/*.json.gz")):
        what = path.name.lstrip("0123456789-").removesuffix(".json.gz")
        if len(by_kind.setdefault(what, [])) < 4:
            data = gzip.decompress(path.read_bytes())
            if len(data) <= LARGEST_BYTES:
                by_kind[what].append(of_bytes("answers", f"{what}.json", data))
    return [case for cases in by_kind.values() for case in cases]


def _recordings() -> list[Case]:
    """Small recordings, each with its scenario and with its other files as what is changed."""
    result: list[Case] = []
    for folder in sorted((ROOT / "recordings").iterdir())[::4]:
        files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.json.gz"))}
        if len(files) > 14 or sum(map(len, files.values())) > LARGEST_BYTES:
            continue
        for name, data in files.items():
            others = {other: each for other, each in files.items() if other != name}
            case = of_bytes(RECORDINGS, name, data, others)
            result += [case] * (len(files) if name == "scenario.json.gz" else 1)
    return result


def _results() -> list[Case]:
    """What the jobs of a fleet leave, with each of its files as what is changed."""
    from tests.tui.fleet_scenes import small_result

    with TemporaryDirectory() as name:
        folder = small_result(Path(name))
        files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*"))}
    return [
        of_bytes(RESULTS, name, data, {other: content for other, content in files.items() if other != name})
        for name, data in files.items()
    ]


def _journals() -> list[Case]:
    from engine.cluster.journal.lines import cursor_line, header_line, step_line
    from engine.scenarios.script.run import SHIPPED_SCRIPTS, run_script, shipped_script

    results: list[Case] = []
    for name in SHIPPED_SCRIPTS:
        timeline = [timeline for _, timeline in run_script(shipped_script(name))][-1]
        data = header_line(timeline) + b"".join(map(step_line, timeline.log))
        if timeline.log:
            data += cursor_line(timeline.log[-1].number, 0)
        results.append(of_bytes("journals", f"{name}.journal", data))
    return results


def _parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"subscription": ["s", "s"], "key": ["a", "b"], "count": [1, 2]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()
