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


def told(run: Run, *words: str) -> dict[str, Any]:
    ran = run("explain", "bundle", *words, "--json")
    assert ran.code == 0, ran.err
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_the_filter_that_leaves_a_broker_out_is_named_and_chances_add_up(run: Run) -> None:
    found = told(run, BUNDLE)
    assert (found["kind"], found["owner"], found["unload"]) == ("bundle", "broker-1:8080", "unloaded")
    brokers = {each["broker"]: each for each in found["brokers"]}
    # The first broker has four bundles of the namespace, the others one or two.
    assert (brokers["broker-1:8080"]["outcome"], brokers["broker-1:8080"]["filter"]) == ("filtered", "fewest-bundles")
    assert sum(each["chance"] for each in found["brokers"]) == pytest.approx(1)
    assert all(each["outcome"] == "candidate" for each in found["brokers"] if each["chance"])


def test_without_that_filter_the_strategy_compares_all(run: Run) -> None:
    found = told(run, BUNDLE, "--set", "loadBalancerDistributeBundlesEvenlyEnabled=false")
    assert {each["outcome"] for each in found["brokers"]} == {"candidate"}
    least = min(found["brokers"], key=lambda each: each["long_term_msgs_per_sec"])
    assert (least["chance"], found["reason"]) == (1.0, "least")


def test_a_bundle_that_stays_says_what_its_broker_is(run: Run) -> None:
    found = told(run, "ring/shed/0x20000000_0x40000000", str(RECORDINGS / "g-shed-modular-uniform"))
    assert (found["shedder"], found["unload"], found["broker_verdict"]) == (
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
    found = told(run, "0x20000000_0x40000000", str(folder))
    assert [each["outcome"] for each in found["brokers"]] == ["not-permitted"] * 2
    assert found["reason"] == "no-candidates"


@pytest.mark.parametrize(
    "words",
    [("0x0_0x1",), ("0x40000000_0x60000000",), (BUNDLE, "--shedder", "TransferShedder"), (BUNDLE, "absent/")],
)
def test_what_cannot_be_explained_is_refused(run: Run, words: tuple[str, ...]) -> None:
    ran = run("explain", "bundle", *words)
    assert (ran.code, ran.out) == (2, "")


def test_the_page_has_a_line_for_each_broker(run: Run) -> None:
    page = run("explain", "bundle", BUNDLE).out
    assert all(page.count(f"broker-{at}:8080") >= 1 for at in (1, 2, 3, 4))
    assert run("explain", "bundle", BUNDLE, "--ascii").out.isascii()
