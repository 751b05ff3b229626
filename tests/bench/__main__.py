"""``make bench``: everything that is timed, as one table. Each row is set beside a peer that ran in the same run.

Nothing here fails for being slow: a loaded machine is slow, and the ratios tell more than the milliseconds. Where one
benchmark fails, the others run; it is named at the end, and the exit code is 1.
``make bench ARGS="--json FILE"`` also writes the rows; ``ARGS="fleet_ring start"`` runs some of the benchmarks only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench import (
    compare,
    dashboard_view,
    decode,
    fleet_hash,
    fleet_ring,
    large_state,
    presses,
    refresh,
    ring_frame,
    shedding,
    start,
    why,
)
from tests.bench.going_on import Outcomes
from tests.bench.table import Row, lines, write_json

BENCHES: dict[str, Callable[[], list[Row]]] = {
    module.__name__.rpartition(".")[2]: module.rows
    for module in (
        ring_frame,
        presses,
        large_state,
        start,
        decode,
        dashboard_view,
        refresh,
        fleet_hash,
        fleet_ring,
        compare,
        why,
        shedding,
    )
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, or those named, print the table and return the exit code."""
    parser = argparse.ArgumentParser(prog="make bench", description="Timings as ratios against named peers.")
    parser.add_argument("bench", nargs="*", metavar="BENCH", help=f"of: {', '.join(BENCHES)}; all without any")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to this file")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.bench) - set(BENCHES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    rows: list[Row] = []
    outcomes = Outcomes()
    for name in given.bench or BENCHES:
        sys.stderr.write(f"{name} …\n")
        with outcomes.of(name):
            rows += BENCHES[name]()
    sys.stdout.write("\n".join(lines(rows)) + "\n")
    if given.json is not None:
        write_json(rows, given.json)
    return outcomes.code()


if __name__ == "__main__":
    sys.exit(main())
