"""What producers with rates send to each partition, for the screen "producers"."""

from __future__ import annotations

from engine.cluster.producers.state import ProducerTopic
from engine.memo import Remembered
from engine.routing.producers.rates import flow_of, is_rated, peaks_of, sends
from engine.views.producers.model import RatesView

_views: Remembered[RatesView | None] = Remembered()


def rates_view(topic: ProducerTopic) -> RatesView | None:
    """The rates of a topic's partitions; None where no producer has a rate. O(producers x partitions)."""
    return _views.get((topic.producers,), (), lambda: _view(topic))


def _view(topic: ProducerTopic) -> RatesView | None:
    if not is_rated(topic.producers):
        return None
    flow = flow_of(topic.producers)
    msgs = flow.msgs_per_sec
    total = float(msgs.sum())
    hottest = int(msgs.argmax()) if total > 0 else -1
    fastest, part = _fastest(topic, hottest)
    return RatesView(
        msgs_per_sec=msgs,
        bytes_per_sec=flow.bytes_per_sec,
        hottest=hottest,
        busiest_over_average=float(msgs[hottest]) * len(msgs) / total if total > 0 else 0.0,
        without=int((msgs == 0).sum()),
        waiting_msgs_per_sec=flow.waiting,
        failing_msgs_per_sec=flow.failing,
        fastest=fastest,
        fastest_msgs_per_sec=part,
        peak_msgs_per_sec=peaks_of(topic.producers),
    )


def _fastest(topic: ProducerTopic, partition: int) -> tuple[int, float]:
    """The producer that sends a partition most, and its messages a second there; -1 and 0 for none."""
    parts = [sends(producer).get(partition, 0.0) for producer in topic.producers.producers]
    most = max(parts, default=0.0)
    return (parts.index(most), most) if most > 0 else (-1, 0.0)
