"""What brokers' metrics say of topics: the text of ``/metrics``, and what Prometheus answers to a query, as statistics.

Metrics have fewer members than statistics of topics, and no list of consumers unless brokers are set to name them
(``exposeConsumerLevelMetricsInPrometheus``). A value that is NaN is unknown.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

_BEGINS: Final = re.compile(rb"^(?:# (?:HELP|TYPE) )?pulsar_[a-zA-Z0-9_]+(?:\{| )", re.MULTILINE)
_TABLE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\"?Time\"?[,;]")
"""How a panel of Grafana begins as CSV."""
_INSTANT: Final = re.compile(r"(?<=\}) => | @\[[\d.]+\]\s*$")
"""What promtool puts around the value of an instant, in place of a space."""
_HEAD_BYTES: Final = 1 << 16
_MOST_MS: Final = 253_402_300_799_000
"""The end of the year 9999 in epoch milliseconds; Python knows no later times."""

_OF_TOPIC: Final[Mapping[str, str]] = {
    "pulsar_rate_in": "msgRateIn",
    "pulsar_rate_out": "msgRateOut",
    "pulsar_throughput_in": "msgThroughputIn",
    "pulsar_throughput_out": "msgThroughputOut",
    "pulsar_storage_size": "storageSize",
    "pulsar_storage_backlog_size": "backlogSize",
    "pulsar_in_messages_total": "msgInCounter",
    "pulsar_out_messages_total": "msgOutCounter",
    "pulsar_producers_count": "producerCount",
}
_OF_SUBSCRIPTION: Final[Mapping[str, str]] = {
    "pulsar_subscription_back_log": "msgBacklog",
    "pulsar_subscription_back_log_no_delayed": "msgBacklogNoDelayed",
    "pulsar_subscription_delayed": "msgDelayed",
    "pulsar_subscription_in_replay": "msgInReplay",
    "pulsar_subscription_unacked_messages": "unackedMessages",
    "pulsar_subscription_blocked_on_unacked_messages": "blockedSubscriptionOnUnackedMsgs",
    "pulsar_subscription_msg_rate_out": "msgRateOut",
    "pulsar_subscription_msg_throughput_out": "msgThroughputOut",
    "pulsar_subscription_msg_rate_redeliver": "msgRateRedeliver",
    "pulsar_subscription_msg_ack_rate": "messageAckRate",
    "pulsar_subscription_last_acked_timestamp": "lastAckedTimestamp",
    "pulsar_subscription_last_consumed_timestamp": "lastConsumedTimestamp",
    "pulsar_out_messages_total": "msgOutCounter",
}
_OF_CONSUMER: Final[Mapping[str, str]] = {
    "pulsar_consumer_msg_rate_out": "msgRateOut",
    "pulsar_consumer_msg_throughput_out": "msgThroughputOut",
    "pulsar_consumer_msg_ack_rate": "messageAckRate",
    "pulsar_consumer_unacked_messages": "unackedMessages",
    "pulsar_consumer_blocked_on_unacked_messages": "blockedConsumerOnUnackedMsgs",
    "pulsar_consumer_available_permits": "availablePermits",
}
_CONSUMERS: Final = "pulsar_subscription_consumers_count"
_READ: Final = frozenset({*_OF_TOPIC, *_OF_SUBSCRIPTION, *_OF_CONSUMER, _CONSUMERS})
_RATES: Final = re.compile("Rate|Throughput")
_FLAGS: Final = "blocked"


@dataclass(frozen=True, slots=True)
class _Sample:
    name: str
    labels: Mapping[str, str]
    value: float


def is_exposition(data: bytes) -> bool:
    """Whether a text is that of ``/metrics`` of a broker, by its beginning."""
    return _BEGINS.search(data[:_HEAD_BYTES]) is not None


def statistics_of_text(text: str) -> dict[str, Any]:
    """The statistics of topics in the text of ``/metrics``, by full name; a line that is not a sample is passed over.

    >>> line = 'pulsar_subscription_back_log{topic="persistent://t/n/x",subscription="s"} 3'
    >>> statistics_of_text(line)["persistent://t/n/x"]["subscriptions"]["s"]["msgBacklog"]
    3
    """
    lines = [_INSTANT.sub(" ", line) for line in text.splitlines() if line.partition("{")[0] in _READ]
    return _statistics(_parsed(lines))


def _parsed(lines: list[str]) -> Iterator[_Sample]:
    from prometheus_client.parser import text_string_to_metric_families

    for line in lines:
        try:
            found = [
                _Sample(sample.name, sample.labels, float(sample.value))
                for family in text_string_to_metric_families(line)
                for sample in family.samples
            ]
        except (ValueError, KeyError, IndexError, OverflowError):
            continue
        yield from found


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None
    values: list[tuple[float, str]] = []


class _Data(msgspec.Struct, rename={"kind": "resultType"}):
    kind: str
    result: list[_Series]


class _Query(msgspec.Struct):
    data: _Data


def instants(data: bytes) -> list[tuple[str, bytes]]:
    """The first and the last time of a range of Prometheus, each as the answer to a query of that instant.

    Times are those of folders of a dump (``2026-11-22T09-48-07.231Z``). Fewer than two for any other text.
    """
    query = _decoded(data)
    if query is None or query.data.kind != "matrix":
        return []
    times = sorted({at for series in query.data.result for at, _ in series.values if 0 <= at * 1000 <= _MOST_MS})
    found = []
    for at in dict.fromkeys((times[0], times[-1])) if times else ():
        result = [
            _Series(series.metric, (at, value)) for series in query.data.result for when, value in series.values
            if when == at
        ]  # fmt: skip
        stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        name = stamp.replace(":", "-").replace("+00-00", "Z")
        found.append((name, msgspec.json.encode({"data": {"resultType": "vector", "result": result}})))
    return found


def query_of_table(data: bytes) -> bytes | None:
    """A panel that Grafana exported as CSV as the range of Prometheus that it shows; None for any other text.

    Its columns are a time and series with the names of their metrics, as the legend has them that Grafana gives.
    """
    if not _TABLE.match(data):
        return None
    try:
        header, *rows = csv.reader(data.decode("utf-8", "replace").splitlines())
    except csv.Error:  # a cell without an end, or bytes that no table has
        return None
    series = {}
    for at, cell in enumerate(header):
        for sample in _parsed([f"{cell} 0"]) if cell.partition("{")[0] in _READ else ():
            series[at] = _Series({"__name__": sample.name, **sample.labels})
    for row in rows:
        time = _seconds(row[0]) if row else None
        if time is not None:
            for at in series.keys() & set(range(len(row))):
                series[at].values.append((time, row[at]))
    return msgspec.json.encode({"data": {"resultType": "matrix", "result": list(series.values())}}) if series else None


def _seconds(text: str) -> float | None:
    """A time of a table in epoch seconds: milliseconds, or a date without a zone, taken for UTC."""
    try:
        if text.isdecimal():
            return int(text[:20]) / 1000
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=time.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def statistics_of_query(data: bytes) -> dict[str, Any] | None:
    """The statistics of topics in an answer of Prometheus, the last values of a range; None for any other JSON."""
    query = _decoded(data)
    if query is None:
        return None
    samples = []
    for series in query.data.result:
        name = series.metric.get("__name__", "")
        at = series.value or (series.values[-1] if series.values else None)
        if at is not None and name in _READ:
            try:
                samples.append(_Sample(name, series.metric, float(at[1])))
            except ValueError:
                continue
    return _statistics(samples)


def _decoded(data: bytes) -> _Query | None:
    try:
        return msgspec.json.decode(data, type=_Query)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


@dataclass(slots=True)
class _Subscription:
    members: dict[str, Any] = field(default_factory=dict)
    consumers: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    count: int | None = None

    @property
    def statistics(self) -> dict[str, Any]:
        """Statistics; the list of consumers is there where all of them are known."""
        if self.count == 0 or (self.consumers and self.count in (None, len(self.consumers))):
            return {**self.members, "consumers": list(self.consumers.values())}
        return self.members


def _statistics(samples: Iterable[_Sample]) -> dict[str, Any]:
    topics: dict[str, dict[str, Any]] = {}
    subscriptions: dict[str, dict[str, _Subscription]] = {}
    for sample in samples:
        topic, name = _topic(sample.labels), sample.labels.get("subscription", "")
        if not topic or not math.isfinite(sample.value):
            continue
        members = topics.setdefault(topic, {})
        if not name:
            _put(members, _OF_TOPIC.get(sample.name), sample.value)
            continue
        subscription = subscriptions.setdefault(topic, {}).setdefault(name, _Subscription())
        consumer = sample.labels.get("consumer_name", "")
        if consumer and sample.name in _OF_CONSUMER:
            key = consumer, sample.labels.get("consumer_id", "")
            known = subscription.consumers.setdefault(key, {"consumerName": consumer})
            _put(known, _OF_CONSUMER[sample.name], sample.value)
        elif sample.name == _CONSUMERS:
            subscription.count = round(sample.value)
        elif not consumer:
            _put(subscription.members, _OF_SUBSCRIPTION.get(sample.name), sample.value)
    return {
        topic: {**members, "subscriptions": {name: it.statistics for name, it in subscriptions.get(topic, {}).items()}}
        for topic, members in topics.items()
    }


def _topic(labels: Mapping[str, str]) -> str:
    """The full name of a sample's topic; brokers can be set to print the partition as a label of its own."""
    topic, partition = labels.get("topic", ""), labels.get("partition", "")
    if "://" not in topic or not partition.isdecimal():
        return topic if "://" in topic else ""
    return topic if "-partition-" in topic else f"{topic}-partition-{partition}"


def _put(members: dict[str, Any], name: str | None, value: float) -> None:
    if name is None:
        return
    if name.startswith(_FLAGS):
        members[name] = value != 0
    else:
        members[name] = value if _RATES.search(name) else round(value)
