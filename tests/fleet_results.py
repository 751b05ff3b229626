"""Result folders of fleets, written and read by what their manifests say, without the code of the product."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

FORMAT: Final = "ringside.run/2"
RUN: Final = "20261128T000000Z-00000000"


def put_part(out: Path, name: str, run_id: str = RUN, part: int = 0) -> Path:
    """The file of a part of a table of a run, which is yet to be written; the run becomes the latest."""
    path = f"{name}/run_id={run_id}/part-{part}.parquet"
    (out / path).parent.mkdir(parents=True, exist_ok=True)
    known = _known(out, run_id)
    known["tables"][name] = sorted({*known["tables"].get(name, ()), path})
    _put(out, known)
    return out / path


def put_table(out: Path, name: str, rows: Any, run_id: str = RUN, part: int = 0) -> Path:
    """Write a ``pyarrow.Table`` as a part of a table of a run, which becomes the latest."""
    path = put_part(out, name, run_id, part)
    pq.write_table(rows, path)
    return path


def put_document(out: Path, name: str, text: bytes | str, run_id: str = RUN) -> None:
    """Add a JSON document to a run, which becomes the latest."""
    known = _known(out, run_id)
    known["documents"][name] = json.loads(text)
    _put(out, known)


def put_moment(out: Path, moment: datetime, run_id: str = RUN) -> None:
    """Say of which moment a run is."""
    _put(out, {**_known(out, run_id), "snapshot_time": moment.isoformat()})


def drop(out: Path, *names: str) -> None:
    """Take tables and documents out of the manifest of the latest run."""
    known = manifest(out)
    for name in names:
        known["tables"].pop(name, None)
        known["documents"].pop(name, None)
    _put(out, known)


def _known(out: Path, run_id: str) -> dict[str, Any]:
    path = out / "runs" / f"{run_id}.json"
    empty: dict[str, Any] = {"run_id": run_id, "tables": {}, "documents": {}, "format": FORMAT}
    return json.loads(path.read_bytes()) if path.exists() else empty


def _put(out: Path, known: dict[str, Any]) -> None:
    (out / "runs").mkdir(parents=True, exist_ok=True)
    (out / "runs" / f"{known['run_id']}.json").write_text(json.dumps(known))
    (out / "latest").write_text(f"{known['run_id']}\n")


def run_ids(out: Path) -> list[str]:
    return sorted(path.stem for path in (out / "runs").glob("*.json"))


def manifest(out: Path, run_id: str = "") -> dict[str, Any]:
    """The manifest of a run, by default of the latest."""
    named = run_id or (out / "latest").read_text().strip()
    known: dict[str, Any] = json.loads((out / "runs" / f"{named}.json").read_bytes())
    assert known["run_id"] == named
    return known


def tables(out: Path, run_id: str = "") -> set[str]:
    return set(manifest(out, run_id)["tables"])


def parts(out: Path, name: str, run_id: str = "") -> list[Path]:
    """The files of a table in their order; none without it."""
    return [out / path for path in manifest(out, run_id)["tables"].get(name, ())]


def frame(out: Path, name: str, columns: Sequence[str] | None = None, run_id: str = "") -> Any:
    """A table as a ``pyarrow.Table``."""
    names = None if columns is None else list(columns)
    files = [pq.ParquetFile(part).read(names) for part in parts(out, name, run_id)]
    return pa.concat_tables(files, promote_options="default")


def rows(out: Path, name: str, run_id: str = "") -> list[dict[str, Any]]:
    return [row for part in parts(out, name, run_id) for row in pq.ParquetFile(part).read().to_pylist()]


def sql(out: Path, name: str, run_id: str = "") -> str:
    """A table as DuckDB takes it after ``from``."""
    return f"read_parquet({[str(part) for part in parts(out, name, run_id)]}, hive_partitioning = false)"


def document(out: Path, name: str, run_id: str = "") -> dict[str, Any]:
    found: dict[str, Any] = manifest(out, run_id)["documents"][name]
    return found


def text_of(out: Path, name: str, run_id: str = "") -> bytes:
    """A document as bytes, equal for equal documents."""
    return json.dumps(document(out, name, run_id)).encode()
