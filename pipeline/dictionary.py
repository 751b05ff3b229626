"""The data dictionary: every table of a fleet with its columns, as ``docs/tables.md`` has it.

``python -m pipeline.dictionary > docs/tables.md`` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Final

from engine.views.fleet.tables import EVERY_TABLE, STAMP, Column, Table

_HEAD: Final = """# The tables of a fleet

Written from the declarations in `engine/views/fleet/tables.py` by `python -m pipeline.dictionary > docs/tables.md`.
[fleets.md](fleets.md) says where the files are and how to read the latest run. The same comments are in the files,
where Spark shows them (`describe`). Types are Spark's; a question mark: a row may have none. Rates are messages a
second, throughputs bytes a second, as brokers measure them.
"""


def dictionary() -> str:
    """The page."""
    about = "The run that wrote the row: a partition of the table, so it is in the path."
    run = Column("run_id", "string", nullable=False, about=about)
    blocks = [
        _HEAD,
        "Every table ends with these columns.\n",
        *_rows([run, *STAMP]),
        *(_table(table) for table in EVERY_TABLE),
    ]
    return "\n".join(blocks)


def _table(table: Table) -> str:
    key = f" Key: {', '.join(table.key)}." if table.key else ""
    return "\n".join([f"\n## {table.name}\n\n{table.about}{key}\n", *_rows(table.columns)])


def _rows(columns: Iterable[Column]) -> Iterator[str]:
    yield "| column | type | meaning |\n|---|---|---|"
    for name, kind, nullable, about in columns:
        yield f"| `{name}` | `{kind}{'?' * nullable}` | {about.replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    sys.stdout.write(dictionary() + "\n")
