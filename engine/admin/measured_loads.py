"""The load of brokers that refuse to report it: usage from their metrics, traffic from their lists of loaded topics.

The extensible load manager has no load report to give; it publishes usage and bundles in system topics. The same usage
is among the broker's metrics (``BrokerLoadData.toMetrics``), and its bundles' statistics are sums over their loaded
topics, which broker-stats lists with numbers cut to three decimals.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct, field

from engine.admin.facts import BrokerStats, TopicFacts, WrittenLoad
from engine.admin.mended_reports import quoted_numbers
from engine.admin.requests import request_of_path
from engine.admin.text import malformed, value_problem
from engine.errors import Decoded, Problem
from engine.text import counted, moment_ms

if TYPE_CHECKING:
    from engine.balance.limits import BundleStats

METRICS: Final = "metrics"
"""The resource of broker-stats that has a broker's usage."""
TOPICS: Final = "broker-stats-topics"
OWNED: Final = "ownedNamespaces"
"""The resource of a broker that has the bundles it owns."""
_OWN_ADDRESS: Final = re.compile(r"(?:^|/)brokers/([^/]+)/admin/v2/")
_NAMED_AFTER: Final = re.compile(r"([^/]*/)*(?:\d+-)?(?:metrics|broker-stats-topics)-([^/]+?)\.(?:json|txt)(?:\.gz)?")
_GAUGE: Final = re.compile(rb"^pulsar_lb_(\w+_usage)\{([^}]*)\} +(\S+)", re.MULTILINE)
_FULL_PERCENT: Final = 100.0
_MOST_PERCENT: Final = 1e6
_Percent = Annotated[float, msgspec.Meta(ge=0, le=_MOST_PERCENT)]


class MeasuredUsage(Struct, frozen=True):
    """What a broker measured last: percents of its resources, and the moving average of its load, 1.0 being full."""

    cpu_percent: float
    memory_percent: float
    direct_memory_percent: float
    bandwidth_in_percent: float
    bandwidth_out_percent: float
    load_average: float


class _Values(msgspec.Struct):
    cpu: _Percent | None = msgspec.field(name="brk_lb_cpu_usage", default=None)
    memory: _Percent | None = msgspec.field(name="brk_lb_memory_usage", default=None)
    direct_memory: _Percent | None = msgspec.field(name="brk_lb_directMemory_usage", default=None)
    bandwidth_in: _Percent | None = msgspec.field(name="brk_lb_bandwidth_in_usage", default=None)
    bandwidth_out: _Percent | None = msgspec.field(name="brk_lb_bandwidth_out_usage", default=None)
    load: _Percent | None = msgspec.field(name="brk_lb_resource_usage", default=None)


class _Metric(msgspec.Struct):
    metrics: msgspec.Raw
    dimensions: dict[str, Any] | None = None


_CPU: Final = b'"brk_lb_cpu_usage"'
_LOAD: Final = b'"brk_lb_resource_usage"'
_AVERAGE: Final = "max_ema"


def names_usage(data: bytes) -> bool:
    """Whether metrics have the average that only the extensible load manager keeps."""
    return _CPU in data and _AVERAGE.encode() in data


def decode_usage(data: bytes, source: str = "") -> Decoded[MeasuredUsage | None]:
    """Decode the usage in ``GET /admin/v2/broker-stats/metrics``; None of a broker with another load manager, or
    where a number is missing. O(length).
    """
    if not names_usage(data):
        return Decoded(None)
    try:
        metrics = msgspec.json.decode(data, type=list[_Metric])
    except msgspec.ValidationError as fault:
        return Decoded(None, (value_problem(source, "$", fault),), 1)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return Decoded(None, (malformed(data, source, fault),), 1)
    usage: _Values | None = None
    average: float | None = None
    for place, metric in enumerate(metrics):
        members = bytes(metric.metrics)
        # The leader prints statistics of all averages as well, with the same feature and another name.
        is_average = (metric.dimensions or {}).get("feature") == _AVERAGE and _LOAD in members
        if not is_average and _CPU not in members:
            continue
        try:
            values = msgspec.json.decode(metric.metrics, type=_Values)
        except (msgspec.DecodeError, UnicodeDecodeError) as fault:
            return Decoded(None, (value_problem(source, f"$[{place}].metrics", fault),), 1)
        if is_average:
            average = values.load
        else:
            usage = values
    if usage is None:
        return Decoded(None)
    given = (usage.cpu, usage.memory, usage.direct_memory, usage.bandwidth_in, usage.bandwidth_out, average)
    percents = [percent for percent in given if percent is not None]
    return Decoded(MeasuredUsage(*percents) if len(percents) == len(given) else None)


def usage_of_text(data: bytes) -> MeasuredUsage | None:
    """The usage in the text of ``/metrics``; None of a broker with another load manager, or where a gauge is missing.

    O(length).

    >>> usage_of_text(b'pulsar_lb_cpu_usage{broker="b"} 40') is None
    True
    """
    values: dict[bytes, float] = {}
    for name, labels, number in _GAUGE.findall(data):
        if name != b"resource_usage" or f'feature="{_AVERAGE}"'.encode() in labels:
            try:
                values[name] = float(number)
            except ValueError:
                continue
    names = (b"cpu", b"memory", b"directMemory", b"bandwidth_in", b"bandwidth_out", b"resource")
    numbers = [values[name + b"_usage"] for name in names if name + b"_usage" in values]
    is_whole = len(numbers) == len(names) and all(0 <= number <= _MOST_PERCENT for number in numbers)
    return MeasuredUsage(*numbers) if is_whole else None


def bundle_stats_of(loaded: BrokerStats) -> tuple[BundleStats, ...]:
    """The statistics of bundles as sums over their loaded topics, in the order of the list. O(topics).

    A number that a topic's statistics lack adds nothing; ``MeasuredLoads`` says so.
    """
    from engine.balance.limits import BundleStats

    topics: dict[str, list[TopicFacts]] = defaultdict(list)
    for name, place in loaded.places.items():
        topics[f"{place.namespace}/{place.bundle}"].append(loaded.topics[name])
    return tuple(
        BundleStats(
            bundle,
            len(members),
            sum(topic.publishers or 0 for topic in members),
            sum(len(subscription.consumers) for topic in members for subscription in topic.subscriptions),
            sum(topic.msg_rate_in_msgs_per_sec or 0.0 for topic in members),
            sum(topic.msg_rate_out_msgs_per_sec or 0.0 for topic in members),
            sum(topic.msg_throughput_in_bytes_per_sec or 0.0 for topic in members),
            sum(topic.msg_throughput_out_bytes_per_sec or 0.0 for topic in members),
        )
        for bundle, members in topics.items()
    )


class _Answers(Struct):
    """What one broker answered at one moment; ``loaded`` decodes its list of topics."""

    metrics: tuple[str, bytes] | None = None
    loaded: Callable[[], Decoded[BrokerStats]] = lambda: Decoded(BrokerStats({}, {}))


class MeasuredLoads(Struct):
    """Collects the answers of brokers that refuse to report their load, by their places in a mirror of the API."""

    _answers: dict[tuple[str, str], _Answers] = field(default_factory=lambda: defaultdict(_Answers))
    _owned: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=lambda: defaultdict(dict))
    ids: dict[str, str] = field(default_factory=dict)
    """Ids of brokers that files are named after by a shorter name, as ``a`` in ``metrics-a.txt``."""

    def take_metrics(self, name: str, data: bytes) -> bool:
        """Take an answer with metrics; False for those of a broker with another load manager."""
        data = quoted_numbers(data)
        if not names_usage(data):
            return False
        self._answers[dump_and_broker(name)].metrics = (name, data)
        return True

    def take_text(self, name: str, data: bytes) -> bool:
        """Take the text of ``/metrics`` of a broker that the file is named after; False for any other text."""
        from engine.reading.metrics_text import is_exposition

        if not is_exposition(data):
            return False
        if usage_of_text(data) is not None:
            self._answers[dump_and_broker(name)].metrics = (name, data)
        return True

    def take_loaded(self, name: str, loaded: Callable[[], Decoded[BrokerStats]]) -> None:
        """Take a list of loaded topics, decoded only where metrics go with it."""
        request = request_of_path(name)
        if (request is None and _NAMED_AFTER.fullmatch(name)) or (request is not None and request.what == TOPICS):
            self._answers[dump_and_broker(name)].loaded = loaded

    def take_owned(self, name: str, broker: str, bundles: Iterable[str]) -> None:
        """Take the bundles that a broker said it owns, with or without a loaded topic."""
        self._owned[dump_and_broker(name)[0]][broker] = tuple(bundles)

    def written(self, reports: Iterable[tuple[str, WrittenLoad]]) -> Decoded[tuple[tuple[str, WrittenLoad], ...]]:
        """The loads with the files of the metrics, in the order of the answers. O(topics).

        ``reports``: load reports with their files; a broker that has one in the same dump is not measured. The time
        is that of the moment's folder, 0 without one. The only broker of a cluster may be without a name in its place;
        it is the one that said what it owns.
        """
        problems: list[Problem] = []
        reported = {(dump_and_broker(name)[0], report.load.broker) for name, report in reports}
        loads = [
            (dump, load)
            for (dump, broker), answers in self._answers.items()
            if (load := self._load_of(dump, broker, answers, problems)) is not None
        ]
        good = tuple(load for dump, load in loads if (dump, load[1].load.broker) not in reported)
        return Decoded(good, tuple(problems))

    def _load_of(
        self, dump: str, place: str, answers: _Answers, problems: list[Problem]
    ) -> tuple[str, WrittenLoad] | None:
        if answers.metrics is None:
            return None
        from engine.admin.load_reports import LACKING, RATES, broker_id
        from engine.balance.brokers import ResourceUsage, report_of
        from engine.balance.settings import EXTENSIBLE_CLASS

        name, data = answers.metrics
        usage = Decoded(usage_of_text(data)) if data[:1] in (b"#", b"p") else decode_usage(data, name)
        problems += usage.problems
        if usage.good is None:
            return None
        owned = self._owned.get(dump, {})
        broker = broker_id(self.ids.get(place, place) or only_owner(owned))
        if not broker:
            reason = "no broker is named for these metrics"
            advice = "keep them below brokers/HOST:PORT/, as ringside record does"
            problems.append(Problem(name, "$", reason, advice))
            return None
        loaded = answers.loaded()
        problems += loaded.problems
        lacking = sum(
            topic.msg_rate_in_msgs_per_sec is None or topic.msg_rate_out_msgs_per_sec is None
            for topic in loaded.good.topics.values()
        )
        if lacking:
            problems.append(
                Problem(name, "$", f"the list of topics has no rates of {counted(lacking, 'topic')}", LACKING)
            )
        measured = usage.good

        def share(percent: float) -> ResourceUsage:
            return ResourceUsage(percent, _FULL_PERCENT)

        load = report_of(
            broker,
            bundle_stats_of(loaded.good),
            cpu=share(measured.cpu_percent),
            memory=share(measured.memory_percent),
            direct_memory=share(measured.direct_memory_percent),
            bandwidth_in=share(measured.bandwidth_in_percent),
            bandwidth_out=share(measured.bandwidth_out_percent),
            load_manager=EXTENSIBLE_CLASS,
            load_average=measured.load_average,
        )
        bundles = tuple(dict.fromkeys((*load.bundles, *owned.get(broker, ()))))
        lacks = frozenset({RATES}) if lacking else frozenset[str]()
        return name, WrittenLoad(replace(load, bundles=bundles), moment_of_dump(dump) or 0, lacks)


def dump_and_broker(name: str) -> tuple[str, str]:
    """The folder of the dump, and the broker whose address is above the answer or that the file is named after; ""
    for either that is not there.

    >>> dump_and_broker("eu/2026-11-22T09-48-07Z/brokers/b-1%3A8080/admin/v2/broker-stats/metrics.json")
    ('eu/2026-11-22T09-48-07Z', 'b-1:8080')
    >>> dump_and_broker("eu/09-metrics-a.txt.gz")
    ('eu', 'a')
    """
    named_after = _NAMED_AFTER.fullmatch(name)
    if named_after is not None:
        return (named_after[1] or "").strip("/"), named_after[2]
    match = _OWN_ADDRESS.search(name)
    before = name[: match.start()] if match else name.partition("admin/v2/")[0].strip("/")
    return before.strip("/"), unquote(match[1]) if match else ""


def only_owner(owners: Collection[str]) -> str:
    """The broker of answers without an address: the only one in the dump that said what it owns, or ""."""
    return next(iter(owners)) if len(owners) == 1 else ""


def moment_of_dump(dump: str) -> int | None:
    """The moment in the name of a dump's folder, in epoch milliseconds; None without one."""
    return moment_ms(dump.rpartition("/")[2])
