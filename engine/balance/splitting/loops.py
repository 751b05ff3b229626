"""What goes round in circles: attempts without effect that repeat, splits that part nothing, bundles that come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from engine.answer import about
from engine.balance.splitting.extensible import FAILURES
from engine.balance.splitting.model import Attempt, Balance, BalanceVerdict
from engine.bundles.boundaries import BundleRange

LoopKind = Literal[
    "repeats-without-effect",  # the same attempt, or the same failure to find a boundary, cycle after cycle
    "namespace-full",  # above a limit, and refused because the namespace has its maximum of bundles
    "parts-nothing",  # splits one after the other that leave all topics on one side
    "unloaded-for-nothing",  # unloaded, and owned by the same broker again
    "returns-to-former-owner",  # a bundle that is back at a broker it had left
]
NO_EFFECT: Final = frozenset({"no-change", "refused", "never-answered", "too-narrow"})
FRUITLESS: Final = FAILURES | {"threw"}


@dataclass(frozen=True, slots=True)
class Loop:
    """Something that repeats. ``bundle`` is a full name, of a full namespace its name.

    ``lasts``: it was still going on in the last cycle. ``detail``: the outcome that repeats, or the owners in order.
    """

    kind: Annotated[LoopKind, about("What repeats.")]
    bundle: Annotated[str, about("Its full name.")]
    cycles: Annotated[tuple[int, ...], about("The cycles it was seen in, ascending.")]
    times: Annotated[int, about("How often.")]
    lasts: bool
    detail: str = ""

    @property
    def way(self) -> Annotated[list[str], about("Its owners in order.")]:
        return self.detail.split(", ")


def find_loops(balance: Balance) -> tuple[Loop, ...]:
    """Everything in a simulation that goes round in circles, by kind, then by first appearance. O(cycles × bundles)."""
    return (*_fruitless(balance), *_full(balance), *_parting_nothing(balance), *_unloads(balance))


def _fruitless(balance: Balance) -> Iterable[Loop]:
    seen: dict[str, list[int]] = {}
    why: dict[str, str] = {}
    before: tuple[BalanceVerdict, ...] = ()
    fruitless: list[BalanceVerdict] = []
    for cycle in balance.cycles:
        for run in cycle.runs:
            for attempt in run.attempts:
                if attempt.outcome in NO_EFFECT:
                    seen.setdefault(attempt.bundle, []).append(cycle.number)
                    why[attempt.bundle] = attempt.outcome
            if run.verdicts is not before:
                # Very many runs share what they found; nothing is worth looking at twice.
                before = run.verdicts
                fruitless = [verdict for verdict in run.verdicts if verdict.outcome in FRUITLESS]
            for verdict in fruitless:
                seen.setdefault(verdict.bundle, []).append(cycle.number)
                why[verdict.bundle] = verdict.outcome
    return _loops("repeats-without-effect", seen, balance, why)


def _full(balance: Balance) -> Iterable[Loop]:
    seen: dict[str, list[int]] = {}
    for cycle in balance.cycles:
        for namespace in dict.fromkeys(name for run in cycle.runs for name in run.full_namespaces):
            seen.setdefault(namespace, []).append(cycle.number)
    return _loops("namespace-full", seen, balance, {})


def _loops(
    kind: LoopKind, seen: Mapping[str, Sequence[int]], balance: Balance, why: Mapping[str, str]
) -> Iterable[Loop]:
    for name, numbers in seen.items():
        cycles = tuple(dict.fromkeys(numbers))
        if len(cycles) > 1:
            yield Loop(kind, name, cycles, len(numbers), _is_last(cycles[-1], balance), why.get(name, ""))


def _is_last(number: int, balance: Balance) -> bool:
    return number == balance.cycles[-1].number


def _parting_nothing(balance: Balance) -> Iterable[Loop]:
    """Chains of two and more splits in which each left one side without topics, named by the first parent."""
    topics = balance.start.topics
    chain_of: dict[BundleRange, list[tuple[int, Attempt]]] = {}
    chains: list[list[tuple[int, Attempt]]] = []
    for number, attempt in balance.splits:
        parent = BundleRange(attempt.children[0].lower, attempt.children[-1].upper)
        full = [child for child in attempt.children if len(topics.rows_by_hash(child))]
        if len(full) != 1:
            continue
        chain = chain_of.pop(parent, None)
        if chain is None:
            chain = []
            chains.append(chain)
        chain.append((number, attempt))
        chain_of[full[0]] = chain
    for chain in chains:
        if len(chain) > 1:
            cycles = tuple(dict.fromkeys(number for number, _ in chain))
            yield Loop("parts-nothing", chain[0][1].bundle, cycles, len(chain), _is_last(cycles[-1], balance))


def _unloads(balance: Balance) -> Iterable[Loop]:
    for cycle in balance.cycles:
        for move in cycle.moves:
            if move.came_back:
                lasts = _is_last(cycle.number, balance)
                yield Loop("unloaded-for-nothing", move.bundle, (cycle.number,), 1, lasts, move.to_broker)
    namespace = balance.start.bundles.namespace
    history = [{f"{namespace}/{bundle}": broker for bundle, broker in cycle.owners} for cycle in balance.cycles]
    yield from returning_bundles(history)


def returning_bundles(history: Sequence[Mapping[str, str]]) -> tuple[Loop, ...]:
    """Bundles that came back to a broker they had left, in snapshots of bundle to broker, simulated or recorded.

    ``cycles`` are the places of the snapshots, from 1, at which the bundle was back at a former owner. A snapshot
    without the bundle says nothing about it. O(snapshots × bundles).

    >>> [(loop.bundle, loop.cycles, loop.detail) for loop in returning_bundles([{"x": "a"}, {"x": "b"}, {"x": "a"}])]
    [('x', (3,), 'a, b, a')]
    """
    ways: dict[str, list[str]] = {}
    back: dict[str, list[int]] = {}
    for number, owners in enumerate(history, 1):
        for bundle, broker in owners.items():
            way = ways.setdefault(bundle, [])
            if way and way[-1] == broker:
                continue
            if broker in way:
                back.setdefault(bundle, []).append(number)
            way.append(broker)
    return tuple(
        Loop(
            "returns-to-former-owner",
            bundle,
            tuple(numbers),
            len(numbers),
            numbers[-1] == len(history),
            ", ".join(ways[bundle]),
        )
        for bundle, numbers in back.items()
    )
