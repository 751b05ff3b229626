"""What a release brings where broker.conf says nothing: bundles of a new namespace, in invented and opened clusters."""

from __future__ import annotations

import pytest

from engine.admin.client_facts import ClientFacts
from engine.config import ReleaseBehaviour, behaviour_of, default_settings
from engine.scenarios.linting import reported_facts
from engine.scenarios.opening import BUNDLES_ASSUMED, open_moments
from engine.scenarios.synthetic import synthetic_state
from tests.engine.diagnosis.answers import consumer, moments, stats, stats_path


@pytest.mark.parametrize(
    ("version", "bundles"), [("2.11.0", 4), ("4.2.4", 4), ("5.0.0-M1", 4), ("5.0.0", 32), ("5.0", 32)]
)
def test_a_new_namespace_has_the_bundles_of_its_release(version: str, bundles: int) -> None:
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour)
    assert default_settings(behaviour).defaultNumberOfNamespaceBundles == bundles
    state = synthetic_state(3, 1, 2, release=version).state
    (namespace,) = state.namespaces.values()
    assert len(namespace.boundaries) - 1 == bundles
    assert state.settings.defaultNumberOfNamespaceBundles == bundles
    opened = open_moments(moments({stats_path(): stats("Failover", [consumer("a")])}), release=version)
    assert len(opened.state.namespaces["t/n"].boundaries) - 1 == bundles
    assert BUNDLES_ASSUMED in [note.code for note in opened.notes]


def test_bundles_that_are_asked_for_are_those_of_every_release() -> None:
    state = synthetic_state(3, 1, 2, bundles=7, release="5.0.0").state
    assert state.settings.defaultNumberOfNamespaceBundles == 7


def test_the_strategies_come_from_the_run_time_configuration() -> None:
    runtime = {
        "activeConsumerFailoverDelayTimeMillis": "1000",
        "loadBalancerLoadSheddingStrategy": "org.apache.pulsar.broker.loadbalance.impl.AvgShedder",
    }
    result = moments({
        stats_path(): stats("Failover", [consumer("a")]), "admin/v2/brokers/configuration/runtime": runtime
    })  # fmt: skip
    facts = reported_facts(result[-1].snapshot, open_moments(result).state, ClientFacts())
    assert (facts.shedder, facts.placement) == ("AvgShedder", "")
