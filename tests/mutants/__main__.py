"""The command ``make mutants``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tests.mutants import equivalents
from tests.mutants.baseline import BaselineError, measure
from tests.mutants.rooms import ROOMS, Room
from tests.mutants.sites import Mutant, mutants_of
from tests.mutants.trial import use_plain_hypothesis
from tests.mutants.trying import try_out

NEEDED_PERCENT: Final = 95.0
EPILOG: Final = """
A survivor is printed as its place, the line before (-) and after (+). Kill it by a test of the room that states a
property or a number, or name it in tests/mutants/equivalent.toml with the reason why nothing can notice it
(--entries prints the survivors in that form). Texts, assertions, annotations and decorators are not mutated.
Ends with 1 if a room is below 95 % or an entry of equivalent.toml matches no mutant any more.
"""


@dataclass(slots=True)
class Score:
    """The mutants of one room by outcome, and the seconds of CPU time that trying them took."""

    room: str
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def percent(self) -> float:
        """The part that was noticed, of those that can be."""
        noticed = self.outcomes["killed"] + self.outcomes["timeout"]
        return 100.0 * noticed / max(1, noticed + self.outcomes["survived"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants of rooms out, print survivors as they come and one line for each room."""
    options = _parser().parse_args(arguments)
    use_plain_hypothesis()
    rooms = [ROOMS[name] for name in options.room or ROOMS]
    if options.tests:
        rooms = [replace(room, tests=tuple(options.tests), families=()) for room in rooms]
    scores: list[Score] = []
    mistakes = 0
    try:
        for room in rooms:
            mutants = _chosen(room, options.file, options.line)
            if options.list:
                for mutant in mutants:
                    _show(mutant, "")
            elif mutants:
                score, wrong = _try_room(room, mutants, options)
                scores.append(score)
                mistakes += wrong
    except BaselineError as failure:
        print(f"mutants: {failure}", file=sys.stderr)
        return 1
    _show_scores(scores)
    return 1 if mistakes or any(score.percent < NEEDED_PERCENT for score in scores) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make mutants",
        description="Change the engine's rules in one place at a time and count the changes that no test notices.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "room", nargs="*", choices=[[], *ROOMS], metavar="ROOM", help=f"of: {', '.join(ROOMS)}; all without any"
    )
    parser.add_argument("--file", action="append", help="only mutants of this file, as engine/ranges.py; repeatable")
    parser.add_argument("--line", type=int, help="only mutants of this line")
    parser.add_argument(
        "--tests",
        action="append",
        help="try only these files of the room's tests; repeatable (what survives them may not survive the others)",
    )
    parser.add_argument("--jobs", type=int, default=1, help="trials at a time (1)")
    parser.add_argument("--list", action="store_true", help="print the mutants, try none")
    parser.add_argument("--verbose", action="store_true", help="print every mutant with the test that noticed it")
    parser.add_argument("--entries", action="store_true", help="print survivors as entries of equivalent.toml")
    parser.add_argument(
        "--with-equivalent", action="store_true", help="try the named equivalents too: none may be killed"
    )
    return parser


def _chosen(room: Room, files: Sequence[str] | None, line: int | None) -> list[Mutant]:
    return [
        mutant
        for path in room.paths()
        if not files or any(path.as_posix().endswith(name) for name in files)
        for mutant in mutants_of(path)
        if line is None or mutant.line == line
    ]


def _try_room(room: Room, mutants: list[Mutant], options: argparse.Namespace) -> tuple[Score, int]:
    named = equivalents.read()
    mistakes = 0
    if options.line is None:
        for key in equivalents.stale(named, mutants):
            mistakes += 1
            print(f"{equivalents.FILE.name}: no such mutant any more: {key}")
    score = Score(room.name)
    score.outcomes["equivalent"] = sum(mutant.key in named for mutant in mutants)
    tried = [mutant for mutant in mutants if options.with_equivalent or mutant.key not in named]
    baseline = measure(room)
    cost = sum(baseline.seconds.values())
    print(f"{room.name}: {len(tried)} mutants, {len(baseline.seconds)} tests of {cost:.0f} s", file=sys.stderr)
    for done, (mutant, result) in enumerate(try_out(tried, room.arguments(), baseline, options.jobs), start=1):
        score.seconds += result.seconds
        if options.verbose:
            place = f"{mutant.file}:{mutant.line}"
            print(f"{place} {result.outcome} {result.killer} {result.seconds:.2f} s: {mutant.after}", file=sys.stderr)
        if mutant.key in named:
            if result.outcome != "survived":
                mistakes += 1
                print(f"{equivalents.FILE.name}: not equivalent, {result.killer} notices it: {mutant.key}")
            continue
        score.outcomes[result.outcome] += 1
        if result.outcome == "survived" and options.entries:
            print(equivalents.as_entry(mutant), end="\n\n", flush=True)
        elif result.outcome == "survived":
            _show(mutant, "" if baseline.running(mutant) or not mutant.lines else "no test of the room runs this")
        if done % 100 == 0:
            print(f"{room.name}: {done} of {len(tried)}, {score.seconds:.0f} s of CPU time", file=sys.stderr)
    return score, mistakes


def _show(mutant: Mutant, remark: str) -> None:
    place = f"{mutant.file}:{mutant.line}" + (f" in {mutant.function}" if mutant.function else "")
    print(place + (f" ({remark})" if remark else ""))
    print(f"  - {mutant.before}\n  + {mutant.after}", flush=True)


def _show_scores(scores: Sequence[Score]) -> None:
    columns = ("killed", "timeout", "survived", "equivalent")
    if scores:
        print("room       " + "".join(f"{column:>12}" for column in columns) + "       score   CPU time")
    for score in scores:
        counts = "".join(f"{score.outcomes[column]:>12}" for column in columns)
        print(f"{score.room:<11}{counts}{score.percent:>10.1f} %{score.seconds:>9.0f} s")


if __name__ == "__main__":
    sys.exit(main())
