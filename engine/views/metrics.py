"""Metrics that only the model can compute: evenness, causes, disagreement, forecasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from engine.admin.moments import Moment
from engine.admin.shed_inputs import shed_inputs_of
from engine.answer import columns_of
from engine.cluster.state import ClusterState
from engine.compare.verdict import Evenness, evenness
from engine.diagnosis.model import Diagnosis
from engine.errors import Rejection
from engine.views.brokers.model import BrokersQuestion
from engine.views.brokers.view import brokers_input, brokers_view
from engine.views.bundles.model import BalanceQuestion
from engine.views.bundles.view import balance_view
from engine.views.scalable.figures import TopicFigures, figures_of, worst_first
from engine.views.scalable.model import ScalableView


@dataclass(frozen=True, slots=True)
class Sample:
    """One number, and the labels that identify it in its family, in the order in which they are written."""

    value: float
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers of one name and meaning. A counter's name has no ``_total``: that is written behind it."""

    name: str
    meaning: str
    samples: tuple[Sample, ...]
    kind: Literal["gauge", "counter", "info"] = "gauge"


MOST_SERIES: Final = 2_000
"""The most samples of one family: the worst are kept, and another metric counts those left out."""
FORECAST_TOPICS: Final = 20_000
"""With more topics there are no forecasts, since they take longer than a reading."""
CYCLES: Final = 20
_DRAINING: Final = "draining_slots"

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pictured:
    """One reading of a cluster: the opened state, the reported subscriptions and their diagnoses.

    ``agreement``: for each kind of fact, how many were compared with the model, and how many agree. ``scalable`` are
    the scalable topics as they were printed.
    """

    state: ClusterState
    seen: tuple[Moment, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    agreement: tuple[tuple[str, int, int], ...] = ()
    scalable: tuple[ScalableView, ...] = ()


def cluster_families(picture: Pictured) -> tuple[Family, ...]:
    """All figures of one reading. Costs the forecasts of splits and of unloads, where the cluster is not too large."""
    limited = _Limited()
    families = (
        *_of_subscriptions(picture.state, limited),
        *_of_causes(picture.diagnoses, limited),
        *_of_agreement(picture.agreement),
        *_of_scalable(picture.scalable, limited),
        *_of_splits(picture.state, limited),
        *_of_unloads(picture.seen, limited),
    )
    left_out = Family(
        "ringside_series_left_out",
        f"series beyond the {MOST_SERIES} worst of a family",
        tuple(Sample(count, (("family", name),)) for name, count in sorted(limited.left_out.items())),
    )
    return (*families, left_out)


class _Limited:
    """Keeps the first of many samples, and counts the others."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()

    def family(self, name: str, meaning: str, samples: Sequence[Sample]) -> Family:
        if len(samples) > MOST_SERIES:
            self.left_out[name] = len(samples) - MOST_SERIES
        return Family(name, meaning, tuple(samples[:MOST_SERIES]))


def _of_subscriptions(state: ClusterState, limited: _Limited) -> Iterable[Family]:
    """Failover subscriptions, the most uneven first."""
    rows: list[tuple[Labels, Evenness]] = [
        ((("namespace", subscription.namespace), ("subscription", subscription.name)), evenness(state, subscription))
        for subscription in state.subscriptions
    ]
    rows.sort(key=lambda row: (-max(row[1].max_over_mean, row[1].max_over_mean_rate or 0.0), row[0]))

    def family(name: str, meaning: str, values: Iterable[float | None]) -> Family:
        samples = [Sample(value, labels) for (labels, _), value in zip(rows, values, strict=True) if value is not None]
        return limited.family(f"ringside_failover_{name}", meaning, samples)

    evens = [even for _, even in rows]
    return (
        family("max_over_mean", "partitions of the busiest consumer over the mean", (e.max_over_mean for e in evens)),
        family(
            "max_over_mean_rate",
            "messages/s of the busiest consumer over the mean",
            (e.max_over_mean_rate for e in evens),
        ),
        family("idle_consumers", "consumers that could be active and have no partition", (e.idle for e in evens)),
        family("consumers", "consumers that can be active", (e.consumers for e in evens)),
    )


def _of_causes(diagnoses: Iterable[Diagnosis], limited: _Limited) -> Iterable[Family]:
    """What is wrong, by cause, and the subscriptions that are blocked, those with the largest backlog first."""
    by_cause: Counter[tuple[str, str]] = Counter()
    blocked: list[tuple[int, Sample]] = []
    draining: list[Sample] = []
    for diagnosis in diagnoses:
        labels: Labels = (("namespace", diagnosis.namespace), ("subscription", diagnosis.subscription))
        by_cause.update({(cause.id, cause.verdict.value) for cause in diagnosis.causes})
        if diagnosis.blocks and diagnosis.first is not None and diagnosis.backlog is not None:
            blocked.append((-diagnosis.backlog, Sample(diagnosis.backlog, (*labels, ("cause", diagnosis.first.id)))))
        for cause in diagnosis.causes:
            slots = dict(cause.numbers).get(_DRAINING)
            if isinstance(slots, int | float):
                draining.append(Sample(float(slots), labels))
                break
    blocked.sort(key=lambda row: (row[0], row[1].labels))
    draining.sort(key=lambda sample: (-sample.value, sample.labels))
    causes = [
        Sample(count, (("cause", cause), ("verdict", verdict))) for (cause, verdict), count in sorted(by_cause.items())
    ]
    return (
        limited.family("ringside_causes", "subscriptions by what is found about them", causes),
        limited.family("ringside_blocked_backlog", "messages that wait where a subscription is blocked", [
            sample for _, sample in blocked
        ]),
        limited.family("ringside_draining_slots", "Key_Shared slots whose former owner still drains", draining),
    )  # fmt: skip


def _of_agreement(agreement: Iterable[tuple[str, int, int]]) -> Iterable[Family]:
    counted = list(agreement)
    compared = [Sample(facts, (("fact", kind),)) for kind, facts, _ in counted]
    differ = [Sample(facts - agree, (("fact", kind),)) for kind, facts, agree in counted]
    return (
        Family("ringside_facts_compared", "facts of the brokers that the model was held against", tuple(compared)),
        Family("ringside_facts_differing", "those of which the model says something else", tuple(differ)),
    )


def _of_scalable(views: Sequence[ScalableView], limited: _Limited) -> Iterable[Family]:
    """The numbers of scalable topics, the worst first, what comes next of each, and what each broker has of them."""
    rows = worst_first(map(figures_of, views))
    for column in columns_of(TopicFigures):
        if column.kind.is_number:
            values = [(row.topic, getattr(row, column.name)) for row in rows]
            samples = [Sample(value, (("topic", topic),)) for topic, value in values if value is not None]
            meaning = (column.meaning[0].lower() + column.meaning[1:]).rstrip(".")
            yield limited.family(f"ringside_scalable_{column.name}", meaning, samples)
    steps = [
        Sample(1, (("topic", row.topic), ("action", row.next), ("reason", row.reason)))
        for row in rows
        if row.next != "none"
    ]
    yield limited.family("ringside_scalable_next_step", "what the next evaluation does", steps)
    controllers = Counter(view.controller for view in views if view.controller)
    owners = Counter(one.owner for view in views for one in view.segments if one.owner)
    for name, meaning, counts in (
        ("controllers", "scalable topics whose controller is a broker", controllers),
        ("broker_segments", "segments that a broker owns", owners),
    ):
        samples = [Sample(count, (("broker", broker),)) for broker, count in counts.most_common()]
        yield limited.family(f"ringside_scalable_{name}", meaning, samples)


def _of_splits(state: ClusterState, limited: _Limited) -> Iterable[Family]:
    """When the next bundle of each namespace splits, the soonest first; none for a namespace without a split ahead."""
    coming: list[Sample] = []
    if len(state.topics) <= FORECAST_TOPICS:
        for namespace in sorted(state.namespaces):
            view = balance_view(state, namespace, BalanceQuestion(cycles=CYCLES))
            if isinstance(view, Rejection):
                continue
            tree = next(candidate for candidate in view.trees if candidate.configured)
            split = tree.next_split()
            if split is not None:
                labels = (("namespace", namespace), ("bundle", split.range_text))
                coming.append(Sample(split.at_seconds, labels))
    coming.sort(key=lambda sample: (sample.value, sample.labels))
    return (limited.family("ringside_next_split_seconds", "seconds until the next bundle splits", coming),)


def _of_unloads(seen: Sequence[Moment], limited: _Limited) -> Iterable[Family]:
    """When each broker unloads its next bundle, by the load reports; none for one that keeps what it has."""
    inputs = shed_inputs_of(moment.snapshot for moment in seen)
    view = None if inputs is None else brokers_view(brokers_input(inputs), BrokersQuestion(cycles=CYCLES))
    if view is None or isinstance(view, Rejection):
        return ()
    first: dict[str, tuple[float, str]] = {}
    for cycle in view.ahead.cycles:
        for move in cycle.moves:
            first.setdefault(move.source, (cycle.at_ms / 1000, move.bundle))
    samples = [
        Sample(seconds, (("broker", broker), ("bundle", bundle)))
        for broker, (seconds, bundle) in sorted(first.items(), key=lambda item: (item[1], item[0]))
    ]
    busiest = [Sample(view.ahead.before.usage.max_over_mean)]
    return (
        limited.family("ringside_next_unload_seconds", "seconds until a broker unloads its next bundle", samples),
        limited.family("ringside_broker_usage_max_over_mean", "usage of the fullest broker over the mean", busiest),
    )
