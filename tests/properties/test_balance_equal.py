"""What the simulation of balancing keeps and remembers changes no result: an oracle looks at everything again."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.balance.averages import BundleData, new_bundle_data
from engine.balance.limits import BundleStats
from engine.balance.splitting.forecast import simulate
from engine.balance.splitting.leader import RunningLeader
from engine.balance.splitting.model import Balance
from engine.balance.splitting.modular import BrokerReport
from engine.balance.splitting.start import BalanceStart
from engine.config import BrokerSettings
from tests.lab.balance.leader import LeaderMemory, report_written
from tests.oracles.balance import simulated
from tests.properties.test_balance_laws import RATES, starts
from tests.releases import known as known_release
from tests.soak.balancing import compare_cycles, space_of
from tests.soak.tally import Tally


def modular(start: BalanceStart, brokers: int) -> BalanceStart:
    return replace(start, load_manager="modular", brokers=tuple(f"broker-{at}:8080" for at in range(brokers)))


@given(starts(), st.integers(1, 9), st.sampled_from([1, 2, 3, 5, 11, 12, 13, 30]), st.sampled_from(["4.2.4", "5.0.1"]))
@settings(max_examples=80, deadline=None)
def test_a_cycle_of_the_modular_load_manager_is_that_of_looking_at_every_report_again(
    start: BalanceStart, cycles: int, brokers: int, release: str
) -> None:
    start = replace(modular(start, brokers), behaviour=known_release(release))
    balance = simulate(start, cycles)
    assert isinstance(balance, Balance)
    compare_cycles(balance, simulated(space_of(start), "modular", cycles), Tally())


@given(starts(), st.integers(1, 9))
@settings(max_examples=80, deadline=None)
def test_a_cycle_of_the_extensible_load_manager_is_that_of_counting_hits(start: BalanceStart, cycles: int) -> None:
    start = replace(start, load_manager="extensible")
    balance = simulate(start, cycles)
    assert isinstance(balance, Balance)
    compare_cycles(balance, simulated(space_of(start), "extensible", cycles), Tally())


NAMES = [f"t/n/0x{at}0000000_0x{at + 1}0000000" for at in range(4)]


@st.composite
def reports(draw: st.DrawFn) -> BrokerReport:
    """A broker's report; two brokers may name the same bundle, as after a move."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
    stats = (BundleStats(name, draw(st.integers(0, 4)), 0, 0, draw(RATES), 0.0, draw(RATES)) for name in names)
    return BrokerReport(f"b:{draw(st.integers(0, 13))}", tuple(stats))


@st.composite
def known(draw: st.DrawFn) -> dict[str, BundleData]:
    return {
        name: new_bundle_data(
            num_long_samples=draw(st.integers(1, 3)), start=BundleStats(name, msg_rate_in=draw(RATES))
        )
        for name in draw(st.sets(st.sampled_from(NAMES)))
    }


@given(known(), st.lists(reports(), max_size=30), st.data())
@settings(max_examples=80, deadline=None)
def test_the_running_leader_remembers_and_chooses_what_the_leader_does(
    averages: dict[str, BundleData], written: list[BrokerReport], data: st.DataObject
) -> None:
    rules = BrokerSettings(
        loadBalancerNamespaceBundleMaxTopics=3,
        loadBalancerNamespaceBundleMaxMsgRate=60,
        loadBalancerNamespaceMaximumBundles=data.draw(st.sampled_from([2, 5, 9])),
    )
    memory, running = LeaderMemory((), averages), RunningLeader.starting(rules, averages)
    for report in written:
        count = data.draw(st.integers(1, 6))
        memory, choice = report_written(memory, report, {"t/n": count}, rules)
        running.written(report)
        assert running.decision("t/n", count) == choice
        assert set(running.averages.place) == set(memory.averages)
        for name, kept in memory.averages.items():
            assert running.averages.at(name) == kept.long_term
