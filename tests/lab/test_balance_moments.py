"""Statistics that are older than the lists beside them, and rates that are known with three decimals only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.admin.topics import decode_broker_stats_topics
from engine.config import CURRENT, BrokerSettings
from engine.hashing import crc32_hash
from engine.verify.report import Ledger, Rules
from tests.lab.balance.lists import ListHistory, compare_splits
from tests.lab.balance.owners import MEANWHILE
from tests.lab.balance.records import AutomaticSplit, BalanceRecords
from tests.lab.balance.series import SeenTopics, Series, WrittenList
from tests.lab.compare import compare_folder
from tests.lab.facts import StepFact
from tests.lab.folder import Folder, recording
from tests.lab.reports import differences_of, report_of

EXT_FLOW = "g-autosplit-extensible-flow"
WHOLE, LOWER, UPPER = "0x00000000_0xffffffff", "0x00000000_0x7fffffff", "0x7fffffff_0xffffffff"
FLICKER = "[1139022709, 2271720232, 3152829005]"


def _cluster(steps: list[tuple[float, dict[str, list[str]], list[str], list[str]]], interval_s: int = 10) -> Folder:
    """Two brokers: for each step its time, what each owns, the bundles in the statistics of a, and requests before."""
    files: dict[str, Any] = {}
    recorded: list[Any] = []
    for number, (at_s, owned, loaded, requests) in enumerate(steps, 1):
        answers: list[Any] = [
            {"t": at_s - 0.5, "from": "a", "request": f"PUT /admin/v2/namespaces/t/n/{request}", "status": 204}
            for request in requests
        ]
        files[f"{number}-stats.json"] = {
            "t/n": {bundle: {"persistent": {_topic_in(bundle): {"msgRateIn": 1.0}}} for bundle in loaded}
        }
        stats = {"t": at_s, "from": "a", "request": "GET /admin/v2/broker-stats/topics", "status": 200}
        answers.append({**stats, "file": f"{number}-stats.json"})
        for broker, bundles in owned.items():
            files[f"{number}-owned-{broker}.json"] = {f"t/n/{bundle}": {} for bundle in bundles}
            request = f"GET /admin/v2/brokers/c/{broker}:80/ownedNamespaces"
            file = f"{number}-owned-{broker}.json"
            answers.append({"t": at_s, "from": broker, "request": request, "status": 200, "file": file})
        recorded.append({"step": number, "t": at_s, "answers": answers})
    brokers = {letter: {"id": f"{letter}:80"} for letter in "ab"}
    settings = {"statsUpdateFrequencyInSecs": str(interval_s)}
    files["scenario.json"] = {"scenario": "made", "pulsar_version": "4.2.4", "broker_settings": settings}
    files["scenario.json"] |= {"brokers": brokers, "steps": recorded}
    return Folder("made", {name: json.dumps(document).encode() for name, document in files.items()})


def _topic_in(bundle: str) -> str:
    """A topic of ``t/n`` whose hash is in a bundle: x0 is in the lower half, x2 in the upper one."""
    return f"persistent://t/n/{'x2' if bundle == UPPER else 'x0'}"


@pytest.mark.parametrize(("loaded", "owned"), [(WHOLE, []), (LOWER, [UPPER]), (WHOLE, [UPPER])])
def test_statistics_may_be_older_than_a_split_with_unload(loaded: str, owned: list[str]) -> None:
    """The children are unloaded: one of them, or both, have no owner yet when the list is made."""
    before = (0.0, {"a": [WHOLE], "b": []}, [WHOLE], [])
    after = (4.0, {"a": owned, "b": []}, [loaded], [f"{WHOLE}/split?unload=true"])
    report = compare_folder(_cluster([before, after]))
    assert (report.differences, report.not_compared[MEANWHILE]) == ((), 1)


def test_statistics_may_be_older_than_a_transfer_that_no_request_names() -> None:
    before = (0.0, {"a": [WHOLE], "b": []}, [WHOLE], [])
    after = (4.0, {"a": [], "b": [WHOLE]}, [WHOLE], [])
    report = compare_folder(_cluster([before, after]))
    assert (report.differences, report.not_compared[MEANWHILE]) == ((), 1)


def test_topics_that_stay_longer_than_an_interval_are_found() -> None:
    before = (0.0, {"a": [WHOLE], "b": []}, [WHOLE], [])
    unloaded = (4.0, {"a": [], "b": [WHOLE]}, [WHOLE], [f"{WHOLE}/unload"])
    later = (24.0, {"a": [], "b": [WHOLE]}, [WHOLE], [])
    (difference,) = differences_of(_cluster([before, unloaded, later]))
    assert (difference.kind, difference.moment) == (StepFact.LOADED_BY_OWNER, "3")


def test_topics_at_a_broker_that_never_owned_their_bundle_are_found() -> None:
    (difference,) = differences_of(_cluster([(0.0, {"a": [], "b": [WHOLE]}, [WHOLE], [])]))
    assert difference.kind is StepFact.LOADED_BY_OWNER


def test_bundles_of_the_state_channel_are_not_in_the_lists_of_an_extensible_broker() -> None:
    def rename(scenario: Any) -> None:
        manager = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"
        scenario["broker_settings"]["loadManagerClassName"] = manager

    stats = {"pulsar/system": {WHOLE: {"persistent": {"persistent://pulsar/system/x": {"msgRateIn": 1.0}}}}}
    folder = _cluster([(0.0, {"a": [], "b": []}, [], [])]).with_file("1-stats.json", json.dumps(stats))
    assert compare_folder(folder.with_scenario(rename)).differences == ()
    assert [difference.kind for difference in differences_of(folder)] == [StepFact.LOADED_BY_OWNER]


@pytest.mark.parametrize("cuts", ["[1139022709, 3152829005]", "[1139022709, 2271720232]", "[2271720232, 3152829005]"])
def test_a_cycle_whose_sums_meet_the_limit_exactly_may_cut_in_several_ways(cuts: str) -> None:
    """Four topics of 30 msg/s and a limit of 60: any two of them may be one too many, by what no decimal shows."""
    folder = recording(EXT_FLOW)
    text = folder.files["log-a.txt"].decode()
    assert FLICKER in text
    report = compare_folder(folder.with_file("log-a.txt", text.replace(FLICKER, cuts, 1)))
    assert (report.differences, report.compared) == ((), report_of(EXT_FLOW).compared)


@pytest.mark.parametrize(("rate", "kind"), [(30.0, "AUTO_BOUNDARIES_WITHIN"), (29.99, "AUTO_BOUNDARIES")])
def test_an_automatic_split_whose_sums_meet_the_limit_exactly_agrees_within_the_rates(rate: float, kind: str) -> None:
    """Four topics of 30 msg/s and a limit of 60, cut after the first and after the third: 60 is not above 60."""
    names = sorted((f"persistent://t/n/x{number}" for number in range(4)), key=crc32_hash)
    hashes = [crc32_hash(name) for name in names]
    cuts = tuple(one + (other - one) // 2 + 1 for one, other in (hashes[:2], hashes[2:]))
    answer = json.dumps({"t/n": {WHOLE: {"persistent": {name: {"msgRateIn": rate} for name in names}}}})
    stats = decode_broker_stats_topics(answer.encode()).good
    lists = [WrittenList(5000 * at, at, "t/n", (0, *cuts[: 2 * at], 0xFFFFFFFF), at) for at in (0, 1)]
    series = Series(lists=tuple(lists), topics=(SeenTopics(4000, "a", stats), SeenTopics(6000, "a", stats)))
    records = BalanceRecords(series, (AutomaticSplit("t/n", WHOLE, cuts),), files=("series.jsonl",))
    settings = BrokerSettings(
        loadBalancerNamespaceBundleMaxMsgRate=60, defaultNamespaceBundleSplitAlgorithm="flow_or_qps_equally_divide"
    )
    ledger = Ledger()
    compare_splits(ListHistory(series, ledger), records, Rules(CURRENT, settings), ledger)
    assert ledger.compared[StepFact[kind]] == 1
    assert [difference.kind for difference in ledger.differences] == ([StepFact.AUTO_BOUNDARIES] if rate < 30 else [])
