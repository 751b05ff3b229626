"""``python -m tests.fuzz``: read mutated input for some seconds, or one input again."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.campaign import Bench, Failure, bench, drawn, keep
from tests.fuzz.corpus import ROOT, WEIGHTS

FIRST_REPORT_S = 20.0
AT_ONCE = 10


def main() -> int:
    """0 where nothing was found, 1 where something was."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, help="stop after so many, whatever the time")
    parser.add_argument("--number", type=int, help="only the input of this number")
    parser.add_argument("--kind", choices=list(WEIGHTS), action="append", help="only inputs of this kind; repeatable")
    parser.add_argument("--into", type=Path, default=ROOT / "hostile", help="folder for inputs that failed")
    parser.add_argument("--most", type=int, default=20, help="stop after so many sorts of failures")
    asked = parser.parse_args()
    with bench() as place:
        return _fuzz(asked, place)


def _fuzz(asked: argparse.Namespace, place: Bench) -> int:
    kinds = tuple(asked.kind or WEIGHTS)
    known: set[tuple[str, str]] = set()
    start, report_at = time.monotonic(), FIRST_REPORT_S
    number = failures = inputs = 0
    while True:
        numbers = range(number, number + AT_ONCE) if asked.number is None else (asked.number,)
        result = place.failures([drawn(asked.seed, number, kinds) for number in numbers])
        inputs += len(numbers)
        number += len(numbers)
        for drawn_as, failure in zip(numbers, result, strict=True):
            failures += failure is not None
            if failure is not None and (failure.case.kind, failure.sort) not in known:
                known.add((failure.case.kind, failure.sort))
                _tell(place.smallest(failure), asked, drawn_as)
        spent = time.monotonic() - start
        if spent >= report_at:
            _say(_line(place, inputs, failures, spent))
            report_at = spent * 2
        over = inputs >= asked.inputs if asked.inputs is not None else spent >= asked.seconds
        if over or asked.number is not None or len(known) >= asked.most:
            break
    _say(_line(place, inputs, failures, time.monotonic() - start))
    return 1 if failures else 0


def _tell(failure: Failure, asked: argparse.Namespace, number: int) -> None:
    path = keep(failure, asked.into)
    only = "".join(f" --kind {kind}" for kind in asked.kind or ())
    _say(f"\nFOUND {failure.fault}\n  by ringside {' '.join(failure.form)}")
    _say(
        f"  python -m tests.fuzz --seed {asked.seed} --number {number}{only}, shrunk with {failure.runs} runs to {path}"
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _line(place: Bench, inputs: int, failures: int, spent: float) -> str:
    busy = max(place.cpu_s, 0.01)
    return (
        f"{spent:.0f} s ({busy:.0f} s of CPU in readers): {inputs} inputs, {place.runs} runs, {failures} failures;"
        f" {inputs / max(spent, 0.01):.1f} inputs/s ({inputs / busy:.0f} a second of CPU)"
    )


if __name__ == "__main__":
    sys.exit(main())
