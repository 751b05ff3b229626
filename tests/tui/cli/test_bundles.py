"""``ringside forecast``, with and without a curve, and ``suggest bundles``: for people, programs, and bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from engine.bundles.sizing import bundles_needed
from engine.config import SPLIT_ALGORITHMS
from engine.hashing import crc32_hash
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run

LAST = "0xc0000000_0xffffffff"
FORMS = (
    ("forecast", "scene"),
    ("forecast", "--curve", LAST, "scene"),
    ("suggest", "bundles", "--topics", "100", "--brokers", "8"),
)


@pytest.fixture(autouse=True)
def scene(tmp_path: Path) -> Path:
    """Two answers of a broker with four bundles, three of them above 40 messages a second."""
    folder = tmp_path / "scene"
    folder.mkdir()
    for name in ("02-broker-stats-topics.json", "02-bundles-before.json", "scenario.json"):
        packed = (RECORDINGS / "d-flow-msgrate-4x60" / f"{name}.gz").read_bytes()
        (folder / name).write_bytes(gzip.decompress(packed))
    return folder


@pytest.mark.parametrize("words", FORMS)
def test_text_fits_eighty_columns_and_ascii_is_ascii(run: Run, words: tuple[str, ...]) -> None:
    ran = run(*words)
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 100
    plain = run(*words, "--ascii")
    assert plain.out.isascii() and len(plain.out.splitlines()) == len(ran.out.splitlines())


@pytest.mark.parametrize("words", FORMS)
def test_json_is_one_document(run: Run, words: tuple[str, ...]) -> None:
    ran = run(*words, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert isinstance(json.loads(ran.out), dict)


def test_forecast_names_bundle_reason_cycle_seconds_trees_and_loops(run: Run) -> None:
    out = run("forecast", "scene").out
    assert "next split: 0x00000000_0x40000000" in out or "next split: 0x80000000_0xc0000000" in out
    assert "(900 s)" in out and "loadBalancerNamespaceBundleMaxMsgRate" in out
    assert all(algorithm in out for algorithm in SPLIT_ALGORITHMS)
    assert "repeats in vain with flow_or_qps_equally_divide" in out and "and it goes on" in out


def test_forecast_names_the_topic_that_is_counted_and_not_listed(run: Run) -> None:
    out = " ".join(run("forecast").out.split())
    assert "100 topics and __change_events" in out
    assert "of 101 topics" in out and "counted with __change_events" in out
    listed = run("forecast", "scene").out
    assert "61 topics" in listed and "__change_events" not in listed


def test_forecast_answers_for_another_load_manager_growth_brokers_and_intervals(run: Run) -> None:
    words = ("forecast", "scene", "--load-manager", "extensible", "--brokers", "3", "--growth", "1.1", "--cycles", "6")
    document = json.loads(run(*words, "--set", "loadBalancerSplitIntervalMinutes=2", "--json").out)
    assert (
        document["load_manager"] == "extensible"
        and len(document["brokers"]) == 3
        and document["growth_per_cycle"] == 1.1
    )
    assert (document["next_split"]["cycle"], document["next_split"]["at_seconds"]) == (4, 480.0)
    assert {tree["algorithm"] for tree in document["trees"]} == set(SPLIT_ALGORITHMS)


def test_curve_draws_both_rules_with_limit_and_cuts(run: Run) -> None:
    merged, proposed = (run("forecast", "scene", "--curve", LAST, *rule).out for rule in ((), ("--rule", "proposed")))
    assert "1 cut makes 2 pieces" in merged and "cut at 3877316650 (0xe71b282a)" in merged and "105MB/s" in merged
    assert "104.9 MB/s (100 binary megabytes)" in " ".join(merged.split())
    assert "which no Pulsar has" in proposed and "half of the total" in proposed and merged != proposed
    assert merged.count("┃") >= 10 and "╌" in merged
    hot = json.loads(run("forecast", "--curve", "HOT", "scene", "--json").out)
    assert hot["bundle"] == LAST and hot["positions"] == [3877316650] and hot["rule"] == "merged"


def test_occupancy_counts_bundles_and_brokers(run: Run) -> None:
    document = json.loads(run("forecast", "scene", "--brokers", "3", "--json").out)["occupancy"]
    assert list(document["per_bundle"].values()) == [14, 14, 18, 15] and sum(document["per_broker"].values()) == 61
    assert document["expected"]["brokers"] == 3


def test_bundles_needed_is_the_engines_answer(run: Run) -> None:
    words = ("suggest", "bundles", "--topics", "100", "--brokers", "8", "--max-over-mean", "1.5")
    assert json.loads(run(*words, "--json").out)["bundles"] == bundles_needed(100, 8).bundles  # type: ignore[union-attr]
    assert run(*words).out.startswith("34 bundles\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("forecast", "scene", "--brokers", "0"), "--brokers: 0 brokers own no bundle"),
        (("forecast", "scene", "--cycles", "0"), "--cycles: 0 cycles"),
        (("forecast", "scene", "--growth", "nan"), "--growth: a growth of nan"),
        (("forecast", "scene", "--growth", "inf"), "--growth: a growth of inf"),
        (("forecast", "scene", "--growth=-1"), "--growth: a growth of -1"),
        (("forecast", "scene", "--namespace", "no/where"), "--namespace: no namespace 'no/where'"),
        (
            ("forecast", "scene", "--set", "loadBalancerSplitIntervalMinutes=0"),
            "--set loadBalancerSplitIntervalMinutes: an interval of 0",
        ),
        (("forecast", "scene", "--set", "loadBalancerSplitIntervalMinutes=soon"), "is not a whole number"),
        (("forecast", "scene", "--set", "loadBalancerSplitInterval=1"), "no broker setting"),
        (("forecast", "--curve", "0x00000000_0x00000010", "scene"), "its bundles: 0x00000000_0x40000000"),
        (("forecast", "--curve", "no/where/0x00000000_0x00000010", "scene"), "no namespace 'no/where'"),
        (("suggest", "bundles", "scene", "--topics", "10", "--brokers", "1"), "give one or the other"),
        (("suggest", "bundles", "--topics", "0", "--brokers", "3"), "--topics: 0 topics need no bundles"),
        (("suggest", "bundles", "--topics", "9", "--brokers", "2", "--max-over-mean", "nan"), "--max-over-mean: "),
        (("suggest", "bundles", "--topics", "9", "--brokers", "2", "--idle-share=-1"), "-1.0 is not a share"),
    ],
)
def test_what_cannot_be_answered_names_the_option(run: Run, words: tuple[str, ...], message: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "") and message in ran.err


def test_a_bandwidth_limit_that_overflows_is_reported_and_the_forecast_goes_on_as_brokers_do(run: Run) -> None:
    ran = run("forecast", "scene", "--set", "loadBalancerNamespaceBundleMaxBandwidthMbytes=2048")
    assert ran.code == 0 and "next split" in ran.out
    assert "multiply in 32 bits and compare with -2147483648" in ran.err and "2047" in ran.err


@pytest.mark.parametrize("bad", ["-5.0", "NaN", "1e999"])
def test_a_bad_rate_in_a_file_is_named_and_the_other_topics_are_forecast(run: Run, scene: Path, bad: str) -> None:
    path = scene / "02-broker-stats-topics.json"
    stats = json.loads(path.read_text())
    name, topic = next(iter(next(iter(stats["ring/ddflowmsgrate4x60"].values()))["persistent"].items()))
    topic["msgRateIn"] = "here"
    path.write_text(json.dumps(stats).replace('"here"', bad))
    ran = run("forecast", "scene", "--json")
    assert ran.code == 0 and name in ran.err
    assert ("msgRateIn" in ran.err) or ("NaN" in ran.err)
    assert json.loads(ran.out)["topics"] == 60 and json.loads(ran.out)["next_split"] is not None


def test_topics_of_one_hash_are_reported(run: Run, tmp_path: Path) -> None:
    twins = ("persistent://public/default/834519937c", "persistent://public/default/97af07c5a1")
    assert crc32_hash(twins[0]) == crc32_hash(twins[1])
    rows = {name: {"msgRateIn": 5.0, "msgThroughputIn": 1.0, "subscriptions": {}} for name in twins}
    stats = {"public/default": {"0x00000000_0xffffffff": {"persistent": rows}}}
    (tmp_path / "twins.json").write_text(json.dumps(stats))
    for words in (("forecast", "twins.json"), ("forecast", "--curve", "LARGEST", "twins.json")):
        ran = run(*words)
        assert ran.code == 0 and f"{twins[0]}, {twins[1]} have the same CRC-32" in ran.err, ran


def test_without_a_bundle_the_hottest_one_is_split(run: Run) -> None:
    assert run("split") == run("split", "HOT")
    assert "0x40000000_0x80000000" in run("split").out
