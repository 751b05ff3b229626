"""Forecast the shedding of whole clusters: from raw answers to rows of brokers, unloads and loops.

The work runs inside a data source (``pipeline.sink``) on rows of ``balance_answers``, one cluster after another.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from engine.admin.files import AnswerFile
from engine.admin.shed_inputs import shed_inputs_of_answers
from engine.balance.brokers import weighted_usage
from engine.balance.leadership.state import namespace_of
from engine.errors import Problem, Rejection
from engine.text import natural_key
from engine.views.brokers.model import BrokersFrame, BrokersInput, BrokersQuestion, BrokersView, Numbers
from engine.views.brokers.view import brokers_frame, brokers_input, brokers_view, fullest_resource
from engine.views.fleet.tables import (
    BALANCE_ANSWERS,
    BALANCE_BROKERS,
    BALANCE_CLUSTERS,
    BALANCE_LOOPS,
    BALANCE_UNLOADS,
    LOAD_ANSWERS,
    QUARANTINE,
    Table,
)
from pipeline.batches import whole_groups
from pipeline.reading.rows import BAD, NOTE, Row, is_note, quarantine_row
from pipeline.runs import Parts
from pipeline.sink import NoAccount

WRITTEN: Final = (
    BALANCE_CLUSTERS, BALANCE_BROKERS, BALANCE_UNLOADS, BALANCE_LOOPS, BALANCE_ANSWERS, QUARANTINE
)  # fmt: skip
NO_FORECAST: Final = "no-forecast"
ANSWERS_TOGETHER: Final = 64
"""Answers in one table: few, since a load report can have some MB."""


@dataclass(frozen=True)
class BalanceWork:
    """The question to forecast for every cluster, and the release to use where reports name none."""

    question: BrokersQuestion
    release: str | None = None

    def __call__(self, batches: Iterator[Any], parts: Parts) -> NoAccount:
        for table in whole_groups(batches, ("cluster",), rows_together=ANSWERS_TOGETHER):
            answers: dict[str, list[AnswerFile]] = {}
            for cluster, body, file in zip(
                *(table[name].to_pylist() for name in ("cluster", "body", "file")), strict=True
            ):
                answers.setdefault(cluster, []).append(AnswerFile(file, body))
            parts.write(BALANCE_ANSWERS, table.select(BALANCE_ANSWERS.names))
            for cluster, files in answers.items():
                for written, rows in forecast_rows(
                    cluster, files, self.question, self.release, parts.snapshot_time
                ).items():
                    parts.write(written, written.columns_of(rows))
        return NoAccount()


def forecast_rows(
    cluster: str,
    files: Sequence[AnswerFile],
    question: BrokersQuestion,
    release: str | None = None,
    now: datetime | None = None,
) -> dict[Table, list[Row]]:
    """The rows of one cluster by table, from its answers in any order. Costs one forecast."""
    given = brokers_input(
        shed_inputs_of_answers(sorted(files, key=lambda file: natural_key(file.name))), release, cluster
    )
    answer: BrokersView | Rejection
    if not given.inputs.written:
        answer = Rejection("NoBrokers", "no load of a broker can be read in this folder")
    else:
        answer = brokers_view(given, question)
    problems = {QUARANTINE: [_problem_row(cluster, problem) for problem in given.problems]}
    if isinstance(answer, Rejection):
        return problems | {
            BALANCE_CLUSTERS: [_refused_cluster_row(cluster, given, question, answer.message)],
            BALANCE_BROKERS: _reported_broker_rows(cluster, given),
        }
    before, after = brokers_frame(answer, 0), brokers_frame(answer, len(answer.ahead.cycles))
    return problems | {
        BALANCE_CLUSTERS: [_cluster_row(cluster, given, answer, before, after)],
        BALANCE_BROKERS: _broker_rows(cluster, answer, before, after),
        BALANCE_UNLOADS: _unload_rows(cluster, answer, now),
        BALANCE_LOOPS: _loop_rows(cluster, answer),
    }


def _refused_cluster_row(cluster: str, given: BrokersInput, question: BrokersQuestion, refusal: str) -> Row:
    manager = "extensible" if given.inputs.is_extensible else "modular"
    shedder = question.shedder or given.settings.loadBalancerLoadSheddingStrategy
    nothing: Row = (0, 0.0, 0, 0.0, 0, 0, 0, None, None, None, None, None, [])
    return (cluster, manager, shedder, None, given.behaviour.label, *_counts(given), question.cycles, *nothing, refusal)


def _counts(given: BrokersInput) -> Row:
    loads = given.inputs.loads
    bundles = {name for load in loads for name in load.bundles}
    return (len(given.inputs.written), len(loads), len(bundles), sum(load.topics for load in loads))


def _cluster_row(
    cluster: str, given: BrokersInput, view: BrokersView, before: BrokersFrame, after: BrokersFrame
) -> Row:
    ahead = view.ahead
    return (
        cluster, view.load_manager, view.shedder, view.placement, given.behaviour.label, *_counts(given),
        view.question.cycles, len(ahead.moves), ahead.unloads_per_hour, sum(move.topics for move in ahead.moves),
        math.fsum(move.msgs_per_sec for move in ahead.moves), sum(move.returns for move in ahead.moves),
        len(view.loops), len(view.swaps), ahead.quiet_after,
        _most(row.usage for row in before.rows), _most(row.usage for row in after.rows),
        _finite(ahead.before.usage.max_over_mean), _finite(ahead.after.usage.max_over_mean),
        list(ahead.assumptions), None,
    )  # fmt: skip


def _reported_broker_rows(cluster: str, given: BrokersInput) -> list[Row]:
    """Rows of the brokers of a cluster without a forecast."""
    rules = given.behaviour.load
    return [
        (cluster, load.broker, _finite(weighted_usage(load, given.settings, rules, heap=True)), None,
         fullest_resource(load, given.settings, rules), len(load.bundles), len(load.bundles), load.topics,
         _finite(load.msgs_per_sec) or 0.0, _finite(load.bytes_per_sec) or 0.0, 0, 0, 0, 0, 0, NO_FORECAST, None,
         None, None, "")
        for load in given.inputs.loads
    ]  # fmt: skip


def _broker_rows(cluster: str, view: BrokersView, before: BrokersFrame, after: BrokersFrame) -> list[Row]:
    ahead = view.ahead
    at_end = {row.broker: row for row in after.rows}
    outcomes = _next_outcomes(before)
    loads = {load.broker: load for load in ahead.start.loads}
    leaving = Counter(move.source for move in ahead.moves)
    gained = Counter(move.destination for move in ahead.moves)
    returned = Counter(move.destination for move in ahead.moves if move.returns)
    soon = Counter(move.source for move in ahead.cycles[0].moves)
    interrupted: Counter[str] = Counter()
    for move in ahead.moves:
        interrupted[move.source] += move.topics
    return [
        (
            cluster, row.broker, _finite(row.usage), _finite(at_end[row.broker].usage),
            fullest_resource(loads[row.broker], ahead.start.settings, ahead.start.rules), row.bundles,
            at_end[row.broker].bundles, row.topics, _finite(row.msgs_per_sec) or 0.0,
            _finite(row.bytes_per_sec) or 0.0, soon[row.broker], leaving[row.broker], gained[row.broker],
            interrupted[row.broker], returned[row.broker], *outcomes[row.broker], view.shedder,
        )
        for row in before.rows
    ]  # fmt: skip


Outcome = tuple[str, str | None, float | None, float | None]


def _next_outcomes(before: BrokersFrame) -> dict[str, Outcome]:
    """Broker -> its outcome in the next cycle, with the measure, the figure and the limit that decided it, if any."""
    coming, brokers = before.next, [row.broker for row in before.rows]
    assert coming is not None, "a forecast has at least one cycle"
    if coming.skipped is not None:
        return dict.fromkeys(brokers, (coming.skipped, None, None, None))
    outcomes: dict[str, Outcome] = {}
    for left in coming.left_alone:
        if not left.bundle:
            outcomes.setdefault(left.broker, (str(left.why), *_decisive(left.numbers)))
    for left in coming.left_alone:  # for a broker above the limit, the first bundle that stays nevertheless
        outcomes.setdefault(left.broker, (str(left.why), *_decisive(left.numbers)))
    for move in coming.moves:
        outcomes[move.move.source] = ("sheds", *_decisive(move.numbers))
    return {broker: outcomes.get(broker, ("stays", None, None, None)) for broker in brokers}


def _decisive(numbers: Numbers | None) -> tuple[str | None, float | None, float | None]:
    return (None, None, None) if numbers is None else numbers.decisive


def _unload_rows(cluster: str, view: BrokersView, now: datetime | None) -> list[Row]:
    return [
        (
            cluster, cycle.number, now and now + timedelta(milliseconds=cycle.at_ms), move.bundle,
            namespace_of(move.bundle), move.source, move.destination,
            [{"name": broker, "value": chance} for broker, chance in move.chances.items()], move.topics,
            _finite(move.msgs_per_sec) or 0.0, _finite(move.bytes_per_sec) or 0.0, move.returns,
        )
        for cycle in view.ahead.cycles
        for move in cycle.moves
    ]  # fmt: skip


def _loop_rows(cluster: str, view: BrokersView) -> list[Row]:
    loops = [
        (
            cluster, "stays" if loop.kind == "unloaded-for-nothing" else "returns", loop.bundle,
            loop.detail.split(", "), loop.times, list(loop.cycles),
        )
        for loop in view.loops
    ]  # fmt: skip
    swaps = [
        (cluster, "swaps", "", [swap.first, swap.second], swap.there + swap.back, list(swap.cycles))
        for swap in view.swaps
    ]
    return [*loops, *swaps]


def _problem_row(cluster: str, problem: Problem) -> Row:
    if cluster and "/" not in problem.source:  # without a file it concerns the whole cluster
        problem = replace(problem, source=f"{cluster}/{problem.source}")
    return (cluster, "balance", *quarantine_row(problem, LOAD_ANSWERS.name, 0, NOTE if is_note(problem) else BAD))


def _most(usages: Iterator[float]) -> float | None:
    return max((usage for usage in usages if math.isfinite(usage)), default=None)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
