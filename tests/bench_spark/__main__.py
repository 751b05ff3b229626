"""``make bench-spark``: the jobs of the pipeline beside DuckDB, numpy and msgspec, as ratios ours / peer in one run.

``ARGS="assign --partitions 1000000"`` runs some of it, or smaller. CPU seconds are those of the driver, its JVM and
all workers together; read them where the machine has other things to do as well. Where one benchmark fails, the others
run; it is named at the end, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pipeline.session import open_session
from tests.bench.going_on import Outcomes
from tests.bench_spark.benches import HEADING, THREADS, Benches, Line, Sizes, exponent, text_of
from tests.bench_spark.spending import peak_mb

NAMES = ("assign", "bundles", "keys", "imports", "growth", "whole")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, or those named, print the table line by line and return the exit code."""
    default = Sizes()
    parser = argparse.ArgumentParser(prog="make bench-spark", description="The fleet jobs beside their peers.")
    parser.add_argument("bench", nargs="*", metavar="BENCH", help=f"of: {', '.join(NAMES)}; all without any")
    parser.add_argument("--partitions", type=int, default=default.partitions)
    parser.add_argument("--topics", type=int, default=default.topics)
    parser.add_argument("--events", type=int, default=default.events)
    parser.add_argument("--document-topics", type=int, default=default.document_topics)
    parser.add_argument("--grown", type=int, nargs="+", default=default.grown, metavar="PARTITIONS")
    parser.add_argument("--fleet", type=int, default=default.fleet, metavar="PARTITIONS")
    parser.add_argument("--rounds", type=int, default=default.rounds)
    parser.add_argument("--folder", type=Path, help="where inputs and results are made; a temporary one without")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the lines to this file")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.bench) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    sizes = Sizes(
        given.partitions, given.topics, given.events, given.document_topics,
        grown=tuple(given.grown), rounds=given.rounds, fleet=given.fleet,
    )  # fmt: skip
    result: list[Line] = []
    outcomes = Outcomes()
    driver = {"spark.driver.memory": "4g"}
    with (
        tempfile.TemporaryDirectory(dir=given.folder) as folder,
        open_session(settings=driver, cores=THREADS) as spark,
    ):
        sys.stdout.write(HEADING + "\n")
        for name in given.bench or NAMES:
            lines: list[Line] = []
            with outcomes.of(name):
                for line in getattr(Benches(spark, Path(folder), sizes), name)():
                    lines.append(line)
                    sys.stdout.write(text_of(line) + "\n")
                    sys.stdout.flush()
            if name == "growth" and len(lines) > 1:
                sys.stdout.write(f"CPU time grows with the {exponent(lines, sizes.grown):.2f}th power of the size\n")
            memory = ", ".join(f"{kind} {size:,} MB" for kind, size in sorted(peak_mb().items()))
            sys.stdout.write(f"most memory so far: {memory}\n")
            result += lines
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(line) for line in result], indent=1) + "\n", encoding="utf-8")
    return outcomes.code()


if __name__ == "__main__":
    sys.exit(main())
