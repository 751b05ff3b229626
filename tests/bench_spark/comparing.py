"""Whether a job and its peer wrote the same rows, in whatever order; figures count only where they did."""

from __future__ import annotations

import duckdb


def check_same(what: str, columns: str, ours: str, peer: str) -> int:
    """The number of rows of two sources in SQL (a file pattern in quotes, or a query in brackets) with these columns.

    Raises ``AssertionError`` where number or content differ. O(rows).
    """
    with duckdb.connect() as engine:
        reported = [
            engine.execute(f"select count(*), sum(hash(({columns}))::hugeint) from {rows}").fetchall()
            for rows in (ours, peer)
        ]
    assert reported[0] == reported[1], f"{what} differ: {reported[0]} and {reported[1]}"
    return int(reported[0][0][0])
