"""The scenes in the package: exactly what their sources give, and the twin recording proves what a key press shows."""

from __future__ import annotations

import gzip
import json
from importlib.resources import files

import pytest

from engine.bundles.curve import FlowRule
from engine.cluster.commands import AddConsumer, Command, KillConsumer, SetSetting
from engine.cluster.journal.invariants import faults
from engine.cluster.owners import active_consumers
from engine.cluster.timeline import Timeline
from engine.errors import InputError, Rejection
from engine.hashing import crc32_hash
from engine.scenarios.embedded import SCENES, embedded, embedded_default
from engine.views.bundles.view import curve_of
from engine.views.failover.dashboard import dashboard_view, partitions_of
from tests.engine.scenarios.recordings import recorded_actives
from tests.make_scenes import PIP_169_EXAMPLES, SOURCES

FLAG = "activeConsumerFailoverConsistentHashing"
LIMIT_BYTES = 500_000


def packed(name: str) -> bytes:
    return files("engine.scenarios").joinpath("scenes", f"{name}.json.gz").read_bytes()


def submitted(timeline: Timeline, *commands: Command) -> Timeline:
    for command in commands:
        timeline, rejection = timeline.submit(command)
        assert rejection is None, rejection
    return timeline


def shown_actives(timeline: Timeline) -> dict[str, str]:
    """Partition -> active consumer, as the screen shows it: opened rows of every consumer."""
    view = dashboard_view(timeline)
    return {
        row.name: consumer.name
        for consumer in view.consumers
        for row in partitions_of(timeline, 0, consumer.consumer_id)
    }


@pytest.mark.parametrize("name", [scene.name for scene in SCENES])
def test_a_packaged_scene_is_what_its_source_gives(name: str) -> None:
    assert json.loads(gzip.decompress(packed(name))) == SOURCES[name]()


def test_the_topics_of_pip_169_have_the_hashes_of_the_proposal() -> None:
    hashes = [
        [crc32_hash(f"persistent://{namespace}/{topic}") for topic in topics]
        for namespace, topics in PIP_169_EXAMPLES.items()
    ]
    assert hashes == [[10, 20, 80, 90, 100, 110]] * 2


@pytest.mark.parametrize(
    ("namespace", "settings", "rates", "proposed", "merged"),
    [
        ("pip-169/proposed", (30_000, 100), (3_500, 205e6), (105,), (106,)),
        ("pip-169/proposed", (1_100, 110), (3_500, 205e6), (105,), (96, 106)),
        ("pip-169/edited", (1_100, 110), (2_100, 210e6), (95,), (96,)),
    ],
)
def test_pip_169_is_cut_as_its_texts_say(
    namespace: str,
    settings: tuple[int, int],
    rates: tuple[float, float],
    proposed: tuple[int, ...],
    merged: tuple[int, ...],
) -> None:
    names = ("loadBalancerNamespaceBundleMaxMsgRate", "loadBalancerNamespaceBundleMaxBandwidthMbytes")
    changes = (SetSetting(name, str(value)) for name, value in zip(names, settings, strict=True))
    state = submitted(Timeline.start(embedded("pip-169").state), *changes).state
    expected: dict[FlowRule, tuple[int, ...]] = {"proposed": proposed, "merged": merged}
    for rule, cuts in expected.items():
        curve = curve_of(state, namespace, "0x00000000_0x00000200", rule)
        assert not isinstance(curve, Rejection)
        assert (curve.total_msgs_per_sec, curve.total_bytes_per_sec) == rates
        assert tuple(cut.position for cut in curve.cuts) == cuts


def test_the_scenes_are_small() -> None:
    assert sum(len(packed(scene.name)) for scene in SCENES) < LIMIT_BYTES


@pytest.mark.parametrize("name", [scene.name for scene in SCENES])
def test_a_scene_opens_without_a_problem(name: str) -> None:
    result = embedded(name)
    assert result.problems == () and not faults(result.state)
    assert result.source == f"scene {name}"


def test_the_default_scene_shows_what_the_broker_showed() -> None:
    timeline = Timeline.start(embedded_default().state)
    assert shown_actives(timeline) == recorded_actives("pip392-flag-off", 1)
    view = dashboard_view(timeline)
    assert [row.active_partitions for row in view.consumers] == [100] + [0] * 9


@pytest.mark.parametrize(("recording", "text"), [("pip392-flag-off", "false"), ("pip392-flag-on", "true")])
def test_the_recorded_twin_proves_the_flag_a_leave_and_a_join(recording: str, text: str) -> None:
    timeline = Timeline.start(embedded_default().state)
    timeline = submitted(timeline, SetSetting(FLAG, text))
    assert shown_actives(timeline) == recorded_actives(recording, 1)
    (gone,) = [consumer for consumer in timeline.state.subscriptions[0].consumers if consumer.name == "billing-3"]
    timeline = submitted(timeline, KillConsumer("billing", gone.consumer_id))
    assert shown_actives(timeline) == recorded_actives(recording, 2)
    timeline = submitted(timeline, AddConsumer("billing", "billing-10"))
    assert shown_actives(timeline) == recorded_actives(recording, 3)


def test_moves_on_screen_are_the_differences_of_the_recordings() -> None:
    before, after = recorded_actives("pip392-flag-on", 1), recorded_actives("pip392-flag-on", 2)
    different = sum(before[name] != after[name] for name in before)
    timeline = submitted(Timeline.start(embedded_default().state), SetSetting(FLAG, "true"))
    killed = next(consumer for consumer in timeline.state.subscriptions[0].consumers if consumer.name == "billing-3")
    timeline = submitted(timeline, KillConsumer("billing", killed.consumer_id))
    view = dashboard_view(timeline)
    assert view.events[-1].moved == different == int(view.ring.topic_moved.sum())
    assert view.events[-1].least == different, "the ring moves nothing but what the leaving one had"


def test_an_unknown_scene_is_refused_with_the_names() -> None:
    with pytest.raises(InputError, match="did you mean pip392"):
        embedded("pip39")


def test_nobody_is_asked_twice_for_one_state() -> None:
    state = embedded_default().state
    assert active_consumers(state, state.subscriptions[0]) is active_consumers(state, state.subscriptions[0])
