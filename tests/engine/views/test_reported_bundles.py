"""Load reports alone: bundles with owner and rates, as the raw report has them."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from engine.admin.files import AnswerFile
from engine.admin.interruptions import Interruption
from engine.admin.moments import combined, read_moments
from engine.cluster.timeline import Timeline
from engine.errors import InputError
from engine.scenarios.opening import LOAD_REPORTS_ALONE, Opened, open_moments
from engine.views.failover.dashboard import dashboard_view
from engine.views.failover.model import BundleNode, DashboardView
from engine.views.reported.bundles import whereabouts_of, with_load_reports
from engine.views.reported.view import Reported
from tests.engine.diagnosis.answers import Stats, consumer

RECORDINGS = Path(__file__).parents[2] / "recordings"
ONE = RECORDINGS / "pip392-flag-on" / "03-load-report.json.gz"


def raw(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return document


def opened_with(*reports: dict[str, Any]) -> Opened:
    files = [AnswerFile(f"{at}-load-report.json", json.dumps(report).encode()) for at, report in enumerate(reports)]
    return open_moments(read_moments(*files))


def shown(opened: Opened) -> DashboardView:
    reported = Reported(opened.seen)
    return with_load_reports(dashboard_view(Timeline.start(opened.state)), reported, reported.last)


def roots(view: DashboardView) -> dict[str, BundleNode]:
    return {f"{node.namespace}/{node.range_text}": node for space in view.namespaces for node in space.roots}


def test_each_bundle_has_what_its_broker_reported() -> None:
    report = raw(ONE)
    view = shown(opened_with(report))
    assert roots(view).keys() == report["lastStats"].keys()
    for name, stats in report["lastStats"].items():
        load = roots(view)[name].reported
        assert load is not None
        assert (load.owner, load.topics, load.producers) == ("127.0.0.1:40983", stats["topics"], stats["producerCount"])
        assert load.msgs_per_sec == pytest.approx(stats["msgRateIn"] + stats["msgRateOut"])
        assert load.bytes_per_sec == pytest.approx(stats["msgThroughputIn"] + stats["msgThroughputOut"])
        assert roots(view)[name].topics == 0, "no topic is known, and none is made up"


def test_the_broker_has_its_own_numbers() -> None:
    report = raw(ONE)
    (broker,) = shown(opened_with(report)).brokers
    assert (broker.broker, broker.at_ms, broker.bundles) == ("127.0.0.1:40983", report["lastUpdate"], 4)
    assert broker.cpu == (report["cpu"]["usage"], report["cpu"]["limit"])
    assert broker.memory == (report["memory"]["usage"], report["memory"]["limit"])
    assert broker.msgs_per_sec == pytest.approx(report["msgRateIn"] + report["msgRateOut"], rel=1e-6)


def test_it_is_said_that_no_topic_is_known() -> None:
    opened = opened_with(raw(ONE))
    assert LOAD_REPORTS_ALONE in [note.code for note in opened.notes]
    assert len(opened.state.topics) == 0 and opened.problems == ()


def test_reports_of_two_brokers_give_each_its_bundles() -> None:
    first, second = raw(ONE), raw(ONE)
    names = list(first["lastStats"])
    first["lastStats"] = {name: first["lastStats"][name] for name in names[:2]}
    second["lastStats"] = {name: second["lastStats"][name] for name in names[2:]}
    first["bundles"], second["bundles"] = names[:2], names[2:]
    second["webServiceUrl"] = "http://other:8080"
    view = shown(opened_with(first, second))
    owners = {name: node.reported.owner for name, node in roots(view).items() if node.reported is not None}
    assert owners == {name: "127.0.0.1:40983" if name in names[:2] else "other:8080" for name in names}
    assert {broker.broker: broker.bundles for broker in view.brokers} == {"127.0.0.1:40983": 2, "other:8080": 2}


def test_a_bundle_of_nobody_has_no_numbers() -> None:
    report = raw(ONE)
    gone = next(name for name in report["lastStats"] if name.endswith("0x80000000"))
    del report["lastStats"][gone]
    report["bundles"].remove(gone)
    view = shown(opened_with(report))
    assert [name for name, node in roots(view).items() if node.reported is None] == [gone]


def test_beside_topics_their_sums_are_shown_and_nothing_else() -> None:
    stats = {"persistent://public/default/x": {"subscriptions": {}, "publishers": []}}
    named = AnswerFile("stats.json", json.dumps(stats).encode())
    opened = open_moments(read_moments(named, AnswerFile("load-report.json", json.dumps(raw(ONE)).encode())))
    view = shown(opened)
    assert view.brokers == () and [node.reported for node in roots(view).values() if node.reported] == []
    assert LOAD_REPORTS_ALONE not in [note.code for note in opened.notes]


def test_a_report_without_bundles_is_refused() -> None:
    report = raw(ONE)
    report["lastStats"], report["bundles"] = {}, []
    with pytest.raises(InputError, match="neither topics nor bundles"):
        opened_with(report)


LOWER, UPPER = "0x00000000_0x80000000", "0x80000000_0xffffffff"


def whereabouts(answers: dict[str, Any], topic: str, bundle: str, namespace: str = "t/n") -> Any:
    files = [AnswerFile(f"{path}.json", json.dumps(answer).encode()) for path, answer in answers.items()]
    return whereabouts_of(combined(read_moments(*files)), topic, namespace, bundle)


def stats(publishers: int, **subscriptions: Stats) -> Stats:
    return {"publishers": [{}] * publishers, "subscriptions": subscriptions}


def in_bundle(name: str) -> str:
    """By the CRC-32 of the name."""
    return LOWER if zlib.crc32(name.encode()) < 0x80000000 else UPPER


NAMES = [f"persistent://t/n/x{number}" for number in range(40)]
IN_LOWER = [name for name in NAMES if in_bundle(name) == LOWER][:3]
ELSEWHERE = next(name for name in NAMES if in_bundle(name) == UPPER)


def path(name: str) -> str:
    return f"admin/v2/persistent/t/n/{name.rpartition('/')[2]}/stats"


def test_everything_in_the_bundle_is_counted_and_nothing_else() -> None:
    two = [consumer("a"), consumer("b", drainingHashes=[{"hash": 9, "unackMsgs": 1, "blockedAttempts": 2}])]
    answers = {
        path(IN_LOWER[0]): stats(2, s={"type": "Failover", "consumers": two, "unackedMessages": 4}),
        path(IN_LOWER[1]): stats(
            0,
            s={"type": "Exclusive", "consumers": two[:1], "unackedMessages": 0},
            k={"type": "Key_Shared", "consumers": two, "unackedMessages": 3},
            none={"type": "Failover", "consumers": [], "unackedMessages": 0},
        ),
        path(ELSEWHERE): stats(9, s={"type": "Failover", "consumers": two, "unackedMessages": 90}),
    }
    place = whereabouts(answers, IN_LOWER[0], LOWER)
    assert place.unload == Interruption(2, 2, 5, 2, 2, 7)
    assert (place.broker, place.by_look_up) == ("", False)
    del answers[path(IN_LOWER[1])]["subscriptions"]["none"]["unackedMessages"]
    assert whereabouts(answers, IN_LOWER[0], LOWER).unload.unacked_messages is None
    assert whereabouts(answers, ELSEWHERE, UPPER).unload == Interruption(1, 9, 2, 1, 1, 90)
    assert whereabouts(answers, IN_LOWER[0], LOWER, "t/other").unload == Interruption(0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("bundle", ["", "nonsense"])
def test_without_a_bundle_nothing_is_said(bundle: str) -> None:
    assert whereabouts({path(ELSEWHERE): stats(1)}, ELSEWHERE, bundle) is None
