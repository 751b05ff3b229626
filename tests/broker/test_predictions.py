"""Before each change the engine says what a real broker will do, and afterwards the broker is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.admin.facts import SubscriptionFacts
from engine.cluster.owners import active_consumers
from engine.cluster.state import ClusterState
from engine.keyshared.ownership import owned_ranges
from tests.broker.conftest import Brokers
from tests.broker.driving import driven
from tests.lab.folder import find_folders
from tests.lab.reports import compared_once
from tests.tui.cli.conftest import Run, run

__all__ = ["run"]
MODULO_AND_RING = {
    "activeConsumerFailoverConsistentHashing": "false",
    "subscriptionKeySharedUseConsistentHashing": "true",
    "aggregatePublisherStatsByProducerName": "true",  # producers play no part elsewhere: no broker of its own for that
}
RING_AND_AUTO_SPLIT = {
    "activeConsumerFailoverConsistentHashing": "true",
    "subscriptionKeySharedUseConsistentHashing": "false",
}
AT_ONCE = {"activeConsumerFailoverDelayTimeMillis": "0"}
PARTITIONS = 12


def active(facts: SubscriptionFacts) -> object:
    return facts.active_consumer_name


@pytest.mark.parametrize("settings", [MODULO_AND_RING, RING_AND_AUTO_SPLIT], ids=["modulo", "ring"])
@pytest.mark.parametrize("levels", [(0,), (0, 1, 2)], ids=["one-level", "levels"])
def test_who_is_active(
    brokers: Brokers,
    settings: dict[str, str],
    levels: tuple[int, ...],
    steps: int,
    seed: int,
    predictions: list[int],
) -> None:
    kind = f"{'ring' if settings is RING_AND_AUTO_SPLIT else 'modulo'}-{len(levels)}-{seed}"
    topics = {f"many-{kind}": PARTITIONS, f"one-{kind}": 0, f"two-{kind}": 0}
    with driven(brokers({**settings, **AT_ONCE}), f"failover-{kind}", "Failover", topics, seed, levels) as driving:
        driving.drive(steps, lambda state: actives_of(state, driving.subscription), active)
        assert driving.predictions == steps * (PARTITIONS + 2)
    predictions.append(driving.predictions)


def actives_of(state: ClusterState, name: str) -> dict[str, object]:
    """The active consumer of each partition and topic, by the model."""
    (subscription,) = (subscription for subscription in state.subscriptions if subscription.name == name)
    return {topic: chosen and chosen.name for topic, chosen in active_consumers(state, subscription).pairs()}


def ranges_of(state: ClusterState, name: str, topic: str) -> dict[str, object]:
    """The hash ranges of each consumer, by the model."""
    (subscription,) = (subscription for subscription in state.key_subscriptions if subscription.name == name)
    names = {consumer.consumer_id: consumer.name for consumer in subscription.consumers}
    owned = owned_ranges(subscription.delivery.selector)
    return {topic: {names[owner]: [(piece.start, piece.end) for piece in pieces] for owner, pieces in owned.items()}}


def reported_ranges(facts: SubscriptionFacts) -> object:
    return {consumer.name: sorted(consumer.key_hash_ranges) for consumer in facts.consumers}


@pytest.mark.parametrize("settings", [MODULO_AND_RING, RING_AND_AUTO_SPLIT], ids=["ring", "auto-split"])
def test_who_has_which_hash_ranges(
    brokers: Brokers, settings: dict[str, str], steps: int, seed: int, predictions: list[int]
) -> None:
    kind = f"{'split' if settings is RING_AND_AUTO_SPLIT else 'ring'}-{seed}"
    topic = f"persistent://public/default/keys-{kind}"
    broker = brokers({**settings, **AT_ONCE})
    with driven(broker, f"keys-{kind}", "Key_Shared", {f"keys-{kind}": 0}, seed) as driving:
        driving.drive(steps, lambda state: ranges_of(state, driving.subscription, topic), reported_ranges)
        assert driving.predictions == steps
    predictions.append(driving.predictions)


def test_what_is_recorded_of_a_real_broker_agrees_with_the_model(run: Run, brokers: Brokers, seed: int) -> None:
    broker = brokers({**RING_AND_AUTO_SPLIT, **AT_ONCE})
    topics = {f"recorded-{seed}": PARTITIONS}
    with driven(broker, f"recorded-{seed}", "Failover", topics, seed) as driving:
        for name in ("a", "b", "c"):
            driving.join(name)
        driving.seen()
        assert run("record", broker.url, "dump", "--ask-unloaded").code == 0
        of_cluster = run("verify", broker.url, "--json", "--ask-unloaded")
    of_dump = run("verify", "dump", "--json")
    assert (of_cluster.code, of_dump.code) == (0, 0)
    facts = {fact["kind"]: fact for fact in json.loads(of_dump.out)["facts"]}
    assert facts["active consumer of a partition"]["compared"] >= PARTITIONS
    assert json.loads(of_dump.out)["rules"]["release_source"] == "broker"
    assert len(list(Path("dump").iterdir())) == 1


@pytest.mark.parametrize(("kind", "partitions", "compared"), [("Failover", 3, 6), ("Key_Shared", 0, 2)])
def test_a_prediction_that_fails_is_kept_for_the_readers(
    run: Run, brokers: Brokers, seed: int, tmp_path: Path, kind: str, partitions: int, compared: int
) -> None:
    broker = brokers({**RING_AND_AUTO_SPLIT, **AT_ONCE})
    name = f"wrong-{kind}-{seed}"
    with driven(broker, name, kind, {name: partitions}, seed) as driving:
        driving.found = tmp_path / "found"
        driving.settle_s = 0.0
        with pytest.raises(AssertionError, match="model and broker differ"):
            driving.drive(1, lambda state: {}, active)
    (folder,) = (tmp_path / "found").iterdir()
    assert (folder / "step.txt").read_text().startswith("add ")
    assert run("verify", str(folder / "dump")).code == 0
    assert json.loads(run("why", str(folder / "dump"), "--json").out)["moments"] == 2
    (lab,) = find_folders(tmp_path)
    report = compared_once(lab)
    assert report.compared >= compared
    assert report.differences == ()
    assert report.problems == ()
