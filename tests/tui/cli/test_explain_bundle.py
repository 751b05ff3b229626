"""``ringside explain bundle``: every broker with its filter and its chance, and what the next cycle makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run

BUNDLE = "fleet/positions/0x40000000_0x60000000"


def document_of(run: Run, *words: str) -> dict[str, Any]:
    ran = run("explain", "bundle", *words, "--json")
    assert ran.code == 0, ran.err
    document: dict[str, Any] = json.loads(ran.out)
    return document


def test_the_filter_that_leaves_a_broker_out_is_named_and_chances_add_up(run: Run) -> None:
    result = document_of(run, BUNDLE)
    assert (result["kind"], result["owner"], result["unload"]) == ("bundle", "broker-1:8080", "unloaded")
    brokers = {each["broker"]: each for each in result["brokers"]}
    # The first broker has four bundles of the namespace, the others one or two.
    assert (brokers["broker-1:8080"]["outcome"], brokers["broker-1:8080"]["filter"]) == ("filtered", "fewest-bundles")
    assert sum(row["chance"] for row in result["brokers"]) == pytest.approx(1)
    assert all(row["outcome"] == "candidate" for row in result["brokers"] if row["chance"])


def test_without_that_filter_the_strategy_compares_all(run: Run) -> None:
    result = document_of(run, BUNDLE, "--set", "loadBalancerDistributeBundlesEvenlyEnabled=false")
    assert {row["outcome"] for row in result["brokers"]} == {"candidate"}
    least = min(result["brokers"], key=lambda each: each["long_term_msgs_per_sec"])
    assert (least["chance"], result["reason"]) == (1.0, "least")


def test_a_bundle_that_stays_says_what_its_broker_is(run: Run) -> None:
    result = document_of(run, "ring/shed/0x20000000_0x40000000", str(RECORDINGS / "g-shed-modular-uniform"))
    assert (result["shedder"], result["unload"], result["broker_verdict"]) == (
        "UniformLoadShedder", None, "below-threshold",
    )  # fmt: skip


def test_isolation_forbids(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    for name in ("05-load-report-a.json.gz", "05-load-report-b.json.gz"):
        (folder / name).write_bytes((RECORDINGS / "g-shed-modular-uniform" / name).read_bytes())
    limits = {"policy_type": "min_available", "parameters": {"min_limit": "1", "usage_threshold": "80"}}
    only = {"namespaces": ["ring/.*"], "primary": ["192.0.2.1"], "secondary": [], "auto_failover_policy": limits}
    (folder / "namespaceIsolationPolicies.json").write_bytes(msgspec.json.encode({"only": only}))
    result = document_of(run, "0x20000000_0x40000000", str(folder))
    assert [row["outcome"] for row in result["brokers"]] == ["not-permitted"] * 2
    assert result["reason"] == "no-candidates"


@pytest.mark.parametrize(
    "words",
    [("0x0_0x1",), ("0x40000000_0x60000000",), (BUNDLE, "--placement", "absent"), (BUNDLE, "absent/")],
)
def test_what_cannot_be_explained_is_refused(run: Run, words: tuple[str, ...]) -> None:
    ran = run("explain", "bundle", *words)
    assert (ran.code, ran.out) == (2, "")


EXTENSIBLE = ("--shedder", "TransferShedder")
UNEVEN = (*EXTENSIBLE, "--set", "loadBalancerBrokerLoadTargetStd=0.1")


def test_the_extensible_manager_draws_among_the_brokers_clearly_below_the_mean(run: Run) -> None:
    result = document_of(run, BUNDLE, *EXTENSIBLE)
    assert (result["load_manager"], result["strategy"]) == ("extensible", "LeastResourceUsageWithWeight")
    loads = {row["broker"]: row["compared"] for row in result["brokers"]}
    assert loads == pytest.approx(
        {"broker-1:8080": 0.775, "broker-2:8080": 0.3, "broker-3:8080": 0.25, "broker-4:8080": 0.1875}
    )
    # The mean is 37.8 %, and ten percent points less is the limit.
    assert result["compared_limit"] == pytest.approx(sum(loads.values()) / 4 - 0.1)
    chances = [row["chance"] for row in result["brokers"]]
    assert chances == [0.0, 0.0, 0.5, 0.5]
    assert (result["skipped"], result["broker_verdict"], result["destination"]) == ("HitCount", None, None)


def test_the_first_cycle_that_acts_says_what_becomes_of_each_bundle(run: Run) -> None:
    """The threshold of hits is 3, so the fourth cycle in a row is the first that looks at pairs."""
    moved = document_of(run, "shop/orders/0x80000000_0xa0000000", *UNEVEN)
    assert (moved["cycle"], moved["owner"], moved["broker_verdict"], moved["verdict"], moved["destination"]) == (
        4, "broker-1:8080", "moves", "moved", "broker-4:8080",
    )  # fmt: skip
    assert (moved["figure"], moved["limit"]) == pytest.approx((0.775, 0.1875))
    late = document_of(run, BUNDLE, *UNEVEN)
    assert (late["verdict"], late["destination"]) == ("not-looked-at", None)
    at_once = document_of(run, BUNDLE, *UNEVEN, "--set", "loadBalancerSheddingConditionHitCountThreshold=0")
    assert at_once["cycle"] == 1


def test_a_bundle_of_the_emptier_broker_of_a_pair_stays(run: Run) -> None:
    taken = document_of(run, "fleet/positions/0x20000000_0x40000000", *UNEVEN)
    assert (taken["broker_verdict"], taken["verdict"]) == ("takes", None)


@pytest.mark.parametrize(
    ("settings", "skipped"),
    [
        (("loadBalancerEnabled=false",), "switched-off"),
        (("loadBalancerSheddingEnabled=false",), "switched-off"),
    ],
)
def test_the_extensible_manager_says_why_it_looks_at_nothing(run: Run, settings: tuple[str, ...], skipped: str) -> None:
    result = document_of(run, BUNDLE, *UNEVEN, *(word for each in settings for word in ("--set", each)))
    assert (result["skipped"], result["broker_verdict"], result["verdict"]) == (skipped, None, None)


def test_a_broker_at_its_maximum_of_topics_is_filtered_for_good(run: Run) -> None:
    """The extensible manager takes nobody back where a filter leaves no broker over; the modular one does."""
    at_most = ("--set", "loadBalancerBrokerMaxTopics=100")
    result = document_of(run, BUNDLE, *EXTENSIBLE, *at_most)
    by_broker = {row["broker"]: (row["outcome"], row["filter"]) for row in result["brokers"]}
    assert by_broker["broker-1:8080"] == ("filtered", "topics")
    assert [row["outcome"] for row in result["brokers"]][1:] == ["candidate"] * 3
    nobody = document_of(run, BUNDLE, *EXTENSIBLE, "--set", "loadBalancerBrokerMaxTopics=10")
    assert {(row["outcome"], row["filter"]) for row in nobody["brokers"]} == {("filtered", "topics")}
    assert nobody["reason"] == "no-candidates"


@pytest.mark.parametrize("words", [(), UNEVEN, (*EXTENSIBLE, "--set", "loadBalancerEnabled=false")])
def test_the_page_ends_with_what_becomes_of_the_bundle(run: Run, words: tuple[str, ...]) -> None:
    page = run("explain", "bundle", BUNDLE, *words).out
    shedder = "TransferShedder" if words else "ThresholdShedder"
    assert shedder in page.rpartition("\n\n")[2]


def test_the_page_has_a_line_for_each_broker(run: Run) -> None:
    page = run("explain", "bundle", BUNDLE).out
    assert all(page.count(f"broker-{at}:8080") >= 1 for at in (1, 2, 3, 4))
    assert run("explain", "bundle", BUNDLE, "--ascii").out.isascii()


def test_what_is_too_little_to_move_and_what_an_unload_interrupts_is_counted(run: Run) -> None:
    result = document_of(run, "shop/orders/0x00000000_0x10000000", "--scene", "uniform-never")
    assert (result["measure"], result["figure"], result["limit"]) == ("msgs-difference", 800, 50)
    assert (result["need"], result["need_measure"], result["least"]) == (160, "messages", 1000)
    assert [row["of_namespace"] for row in result["brokers"]] == [6, 2]
    assert result["interrupts"] == {
        "topics": 5, "producers": 5, "consumers": 5,
        "handovers": None, "draining_slots": None, "unacked_messages": None,
    }  # fmt: skip


def test_statistics_of_topics_beside_the_reports_count_hand_overs(run: Run) -> None:
    result = document_of(run, "0xc0000000_0xe0000000", str(RECORDINGS / "g-shed-modular-uniform"))["interrupts"]
    assert (result["topics"], result["producers"], result["handovers"], result["draining_slots"]) == (1, 1, 1, 0)


@pytest.mark.parametrize("words", [(BUNDLE,), ("shop/orders/0x00000000_0x10000000", "--scene", "uniform-never")])
def test_the_page_fits_80_columns(run: Run, words: tuple[str, ...]) -> None:
    ran = run("explain", "bundle", *words)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80


def test_a_topic_without_a_subscription_has_a_bundle_and_a_broker(run: Run) -> None:
    ran = run("explain", "t-1", str(RECORDINGS / "g-shed-modular-uniform"), "--json")
    document = json.loads(ran.out)
    assert (document["kind"], document["topic"], document["bundle"]) == (
        "unsubscribed", "persistent://ring/shed/t-1", "0xa0000000_0xc0000000",
    )  # fmt: skip
    assert document["broker"] in {"127.0.0.1:39025", "127.0.0.1:47845"}
    assert document["unload"]["producers"] == 1
