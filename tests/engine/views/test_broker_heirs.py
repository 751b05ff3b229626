"""The loss of brokers: what lands where, how full the others are then, and every single failure."""

from __future__ import annotations

import math

import pytest

from engine.balance.ahead.model import ShedStart
from engine.errors import Rejection
from engine.scenarios.broker_scenes import embedded_brokers
from engine.views.brokers.heirs import BrokerHeirsView, broker_heirs, broker_losses
from engine.views.brokers.model import BrokersInput, BrokersQuestion, Change
from engine.views.brokers.view import brokers_input, brokers_view, usages_of

MODULAR = BrokersQuestion()
EXTENSIBLE = BrokersQuestion(load_manager="extensible")
BROKERS = tuple(f"broker-{number}:8080" for number in (1, 2, 3, 4))


def given() -> BrokersInput:
    return brokers_input(embedded_brokers())


def heirs(*gone: str, question: BrokersQuestion = MODULAR) -> BrokerHeirsView:
    result = broker_heirs(given(), gone, question)
    assert isinstance(result, BrokerHeirsView), result
    return result


@pytest.mark.parametrize("question", [MODULAR, EXTENSIBLE], ids=["modular", "extensible"])
@pytest.mark.parametrize("broker", BROKERS)
def test_every_bundle_of_a_dead_broker_lands_once_and_nothing_is_lost(broker: str, question: BrokersQuestion) -> None:
    view = heirs(broker, question=question)
    before = next(load for load in given().inputs.loads if load.broker == broker)
    assert sorted(landing.bundle for _, landing in view.landings) == sorted(before.bundles)
    assert sum(heir.bundles for heir in view.heirs) == len(before.bundles) - view.unowned
    assert sum(heir.msgs_per_sec for heir in view.heirs) == pytest.approx(view.msgs_per_sec)
    assert {heir.broker for heir in view.heirs} == set(BROKERS) - {broker}
    for _, landing in view.landings:
        assert sum(landing.chances.values()) == pytest.approx(1)
        assert landing.destination in landing.chances


def test_the_same_as_the_forecast_says_of_a_death() -> None:
    answer = brokers_view(given(), BrokersQuestion(changes=(Change("dies", BROKERS[0]),)))
    assert not isinstance(answer, Rejection)
    (done,) = answer.changes
    view = heirs(BROKERS[0])
    assert {heir.broker: (heir.usage_before, heir.usage_after) for heir in view.heirs} == {
        usage.broker: (usage.before, usage.after) for usage in done.usages
    }
    assert [landing for _, landing in view.landings] == list(done.landings)


def test_several_die_one_after_the_other() -> None:
    view = heirs(*BROKERS[:3])
    assert [heir.broker for heir in view.heirs] == [BROKERS[3]]
    assert view.heirs[0].bundles >= 20
    # What landed on a broker that dies later lands again.
    assert len(view.landings) >= len({landing.bundle for _, landing in view.landings}) == 20


def test_single_failures_come_the_worst_first_and_agree_with_each_alone() -> None:
    losses = broker_losses(given(), MODULAR)
    assert not isinstance(losses, Rejection)
    assert sorted(loss.broker for loss in losses) == list(BROKERS)
    usages = [loss.usage_after for loss in losses]
    assert usages == sorted(usages, reverse=True)
    for loss in losses:
        view = heirs(loss.broker)
        assert (loss.fullest, loss.usage_after) == (view.heirs[0].broker, view.heirs[0].usage_after)
        assert (loss.bundles, loss.topics) == (len(view.landings), view.topics)
        assert math.isfinite(loss.usage_before)


@pytest.mark.parametrize(("gone", "code"), [(("absent:1",), "UnknownBroker"), (BROKERS, "LastBroker")])
def test_what_cannot_die_is_refused(gone: tuple[str, ...], code: str) -> None:
    result = broker_heirs(given(), gone, MODULAR)
    assert isinstance(result, Rejection)
    assert (result.error, result.field) == (code, "broker")


def test_rules_that_no_broker_starts_with_are_refused() -> None:
    assert isinstance(broker_losses(given(), BrokersQuestion(shedder="absent")), Rejection)


@pytest.mark.parametrize("known", BROKERS)
def test_a_loss_after_which_no_usage_is_known_comes_last_and_leaves_the_others_in_order(
    known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usage of one broker alone is known: without it none is, whichever place in the list it has."""

    def usages(start: ShedStart) -> dict[str, float]:
        return {broker: usage if broker == known else math.nan for broker, usage in usages_of(start).items()}

    monkeypatch.setattr("engine.views.brokers.heirs.usages_of", usages)
    losses = broker_losses(given(), MODULAR)
    assert not isinstance(losses, Rejection)
    after = [loss.usage_after for loss in losses]
    assert (losses[-1].broker, math.isnan(after[-1])) == (known, True)
    assert after[:-1] == sorted(after[:-1], reverse=True)
    (other,) = [broker for broker in BROKERS[:2] if broker != known][:1]
    assert heirs(other).heirs[0].broker == known
