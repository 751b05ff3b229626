"""What unloads interrupt, counted from statistics of topics, as the views of brokers and their documents have it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from zlib import crc32

import pytest

from engine.admin.facts import BundleList, ConsumerFacts, DrainingHashFacts, Snapshot, SubscriptionFacts, TopicFacts
from engine.admin.interruptions import NOTHING_REPORTED, Interruption, Interruptions
from engine.admin.moments import read_moments
from engine.admin.shed_inputs import read_shed_inputs, shed_inputs_of
from engine.documents import document
from engine.views.brokers.document import brokers_document
from engine.views.brokers.model import BrokersQuestion, BrokersView, Change
from engine.views.brokers.view import brokers_frame, brokers_input, brokers_view

PAIR = Path(__file__).parents[2] / "samples" / "extensible-pair"
SURVIVOR, DEAD = "127.0.0.1:36459", "127.0.0.1:41569"
HALVES = BundleList((0, 0x80000000, 0xFFFFFFFF))
LOWER, UPPER = "t/n/0x00000000_0x80000000", "t/n/0x80000000_0xffffffff"


def topic(number: int, *subscriptions: SubscriptionFacts, publishers: int = 0) -> tuple[str, TopicFacts]:
    name = f"persistent://t/n/x-{number}"
    none = (0.0, 0.0, 0.0, 0.0, 0, 0)
    return name, TopicFacts(name, "persistent", "t/n", -1, *none, publishers, subscriptions, "stats", "x.json")


def consumers(count: int, *draining: int) -> tuple[ConsumerFacts, ...]:
    slots = tuple(DrainingHashFacts(slot) for slot in draining)
    return tuple(ConsumerFacts(f"c-{number}", draining=slots if not number else ()) for number in range(count))


def bundle_of(name: str) -> str:
    return LOWER if crc32(name.encode()) < 0x80000000 else UPPER


def test_topics_are_counted_in_the_bundle_of_their_hash() -> None:
    topics = dict(
        [
            topic(0, SubscriptionFacts("f", "Failover", consumers=consumers(3), unacked_messages=7), publishers=2),
            topic(1, SubscriptionFacts("e", "Exclusive", consumers=consumers(1), unacked_messages=0)),
            topic(2, SubscriptionFacts("nobody", "Failover", unacked_messages=0)),
            topic(3, SubscriptionFacts("k", "Key_Shared", consumers=consumers(2, 5, 9), unacked_messages=0)),
            topic(4, SubscriptionFacts("s", "Shared", consumers=consumers(4), unacked_messages=0)),
            *(topic(number) for number in range(5, 40)),
        ]
    )
    of = Interruptions(lambda: Snapshot("here", topics, bundles={"t/n": HALVES})).of
    both = [known for known in (of(LOWER), of(UPPER)) if known is not None]
    names = [bundle_of(name) for name in topics]
    assert [known.topics for known in both] == [names.count(LOWER), names.count(UPPER)]
    summed = [sum(getattr(known, field) for known in both) for field in Interruption.__struct_fields__]
    assert summed == [40, 2, 10, 2, 2, 7]
    first = of(bundle_of("persistent://t/n/x-0"))
    assert first is not None
    assert (first.producers, first.unacked_messages) == (2, 7)


def test_a_topic_is_where_its_broker_lists_it() -> None:
    name, facts = topic(0)
    other = ({LOWER, UPPER} - {bundle_of(name)}).pop()
    listed = Snapshot("here", {name: facts}, bundles={"t/n": HALVES}, bundle_of_topic={name: other.rpartition("/")[2]})
    assert Interruptions(lambda: listed).of(other) == Interruption(1, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("boundaries", [(), (0,), (0, 0xFFFFFFFF, 0x10000000), (0xF0000000, 0xFFFFFFFF)])
def test_without_usable_boundaries_a_topic_is_where_its_hash_is(boundaries: tuple[int, ...]) -> None:
    names = [topic(number) for number in range(20)]
    unknown = Snapshot("here", dict(names), bundles={"t/n": BundleList(boundaries)} if boundaries else {})
    result = Interruptions(lambda: unknown).of_all([LOWER, UPPER, "t/m/0x00000000_0xffffffff", "t/n/no-range"])
    here = [bundle_of(name) for name, _ in names]
    if boundaries != (0xF0000000, 0xFFFFFFFF):
        assert {bundle: known.topics for bundle, known in result.items()} == {
            bundle: here.count(bundle) for bundle in (LOWER, UPPER)
        }
    else:
        last = sum(crc32(name.encode()) >= 0xF0000000 for name, _ in names)
        assert sum(known.topics for known in result.values()) == len(names) - last
    assert NOTHING_REPORTED.of(LOWER) is None


def view_of(question: BrokersQuestion) -> BrokersView:
    view = brokers_view(brokers_input(read_shed_inputs(PAIR)), question)
    assert isinstance(view, BrokersView)
    return view


def failover_topics() -> dict[str, int]:
    """How many subscriptions with consumers each bundle of the recorded answers has, counted in the answers."""
    counts: dict[str, int] = {}
    for file in PAIR.rglob("topics.json"):
        for namespace, bundles in json.loads(file.read_bytes()).items():
            for bundle, domains in bundles.items():
                subscriptions = [
                    subscription
                    for topics in domains.values()
                    for stats in topics.values()
                    for subscription in stats["subscriptions"].values()
                ]
                active = [
                    subscription
                    for subscription in subscriptions
                    if subscription["type"] in ("Failover", "Exclusive") and subscription["consumers"]
                ]
                counts[f"{namespace}/{bundle}"] = len(active)
    return counts


def test_unloads_and_deaths_say_how_many_active_consumers_are_chosen_anew() -> None:
    question = BrokersQuestion(shedder="OverloadShedder", changes=(Change("joins"), Change("dies", DEAD)), cycles=2)
    view = view_of(question)
    expected = failover_topics()
    assert sum(expected.values()) == 24
    coming = brokers_frame(view, 0).next
    assert coming is not None
    assert coming.moves
    for move in coming.moves:
        assert move.interruption is not None
        assert move.interruption.handovers == expected[move.move.bundle]
    printed = document(brokers_document(view, ()))
    landings = printed["changes"][1]["landings"]
    assert {landing["bundle"]: landing["handovers"] for landing in landings} == {
        bundle: count for bundle, count in expected.items() if bundle in {landing["bundle"] for landing in landings}
    }
    moves = [move for cycle in printed["cycles"] for move in cycle["moves"]]
    assert [move["handovers"] for move in moves] == [expected[move["bundle"]] for move in moves]


def test_a_brokers_own_bundles_land_nowhere() -> None:
    (death,) = view_of(BrokersQuestion(changes=(Change("dies", DEAD),))).changes
    assert {landing.destination for landing in death.landings} == {SURVIVOR}
    assert [landing.bundle for landing in death.landings if DEAD in landing.bundle] == []
    assert len(death.landings) == 7


def test_of_several_moments_the_last_counts(tmp_path: Path) -> None:
    shutil.copytree(PAIR, tmp_path, dirs_exist_ok=True)
    (before,) = tmp_path.iterdir()
    later = shutil.copytree(before, tmp_path / "2026-11-26T18-40-24.903Z")
    for topics in later.rglob("topics.json"):
        topics.write_text("{}")
    seen = shed_inputs_of(moment.snapshot for moment in read_moments(tmp_path))
    read = read_shed_inputs(tmp_path)
    assert seen is not None
    bundles = [bundle for load in read.loads for bundle in load.bundles]
    assert read.interruptions.of_all(bundles) == seen.interruptions.of_all(bundles) == {}
    assert [load.bytes_per_sec for load in read.loads] == [load.bytes_per_sec for load in seen.loads] == [0.0, 0.0]
    assert read.problems == seen.problems == ()


def test_snapshots_and_files_count_the_same() -> None:
    seen = shed_inputs_of(moment.snapshot for moment in read_moments(PAIR))
    assert seen is not None
    bundles = [bundle for load in seen.loads for bundle in load.bundles]
    assert seen.interruptions.of_all(bundles) == read_shed_inputs(PAIR).interruptions.of_all(bundles)
    assert len(seen.interruptions.of_all(bundles)) >= 8
