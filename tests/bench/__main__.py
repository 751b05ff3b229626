"""``make bench``: everything that is timed, as one table. Each row is set beside a peer that ran in the same run.

Nothing here fails for being slow: a loaded machine is slow, and the ratios tell more than the milliseconds.
"""

from __future__ import annotations

import sys

from tests.bench import dashboard_view, decode, repaint, ring_frame, start
from tests.bench.table import Row, lines


def main() -> None:
    """Run all and print the table."""
    rows: list[Row] = []
    for bench in (ring_frame, repaint, start, decode, dashboard_view):
        sys.stderr.write(f"{bench.__name__} …\n")
        rows += bench.rows()
    sys.stdout.write("\n".join(lines(rows)) + "\n")


if __name__ == "__main__":
    main()
