"""What a recording of balancing lacks costs only itself, and what nothing can tell is counted, not guessed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.bundles import AveragesStored, BrokerReport, ReportWritten
from engine.hashing import java_string_hash
from tests.lab import FactKind, VerifyReport, verify_folder
from tests.lab.balance.reading_order import Agreement, Events, best_order
from tests.lab.copies import copy_of, edit

RANGE, EXT_RANGE = "g-autosplit-modular-range", "g-autosplit-extensible-range"
TWO = "g-two-brokers"
EVER = (-(2**62), 2**62)


def _counts(report: VerifyReport) -> dict[FactKind, int]:
    return {tally.kind: tally.compared for tally in report.tallies}


def test_an_unpacked_copy_is_read_as_the_packed_one(tmp_path: Path) -> None:
    report = verify_folder(copy_of(EXT_RANGE, tmp_path))
    assert report.exit_code == 0
    assert report.compared == 2225


def test_without_the_logs_reports_averages_and_cuts_are_compared(tmp_path: Path) -> None:
    folder = copy_of(RANGE, tmp_path)
    for letter in "ab":
        (folder / f"log-{letter}.txt").unlink()
    report = verify_folder(folder)
    assert report.exit_code == 0
    counts = _counts(report)
    assert counts[FactKind.STORED_AVERAGE] == 59
    assert counts[FactKind.AUTO_BOUNDARIES] == 16
    assert FactKind.SPLIT_CHOICE not in counts
    assert dict(report.not_compared)["decisions of the leader, whose log is not there"] == 16


def test_without_the_series_the_splits_are_counted_as_not_compared(tmp_path: Path) -> None:
    folder = copy_of(RANGE, tmp_path)
    (folder / "series.jsonl").unlink()
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert dict(report.not_compared)["splits that brokers made on their own"] == 16


@pytest.mark.parametrize("junk", ["{", "[]", "7", '{"path": 7}', '{"no": "path"}', "\x01", "{}{}"])
def test_a_line_of_the_series_that_cannot_be_read_costs_only_itself(tmp_path: Path, junk: str) -> None:
    folder = copy_of(RANGE, tmp_path)
    path = folder / "series.jsonl"
    path.write_text(f"{junk}\n{path.read_text()}\n\n")
    report = verify_folder(folder)
    assert (report.exit_code, report.compared) == (0, 932)
    assert [(problem.source, problem.path[:6]) for problem in report.problems] == [("series.jsonl", "line 1")]


@pytest.mark.parametrize("body", ['"text"', "null", "{", '{"lastStats": 7}'])
def test_a_report_that_cannot_be_read_is_told(tmp_path: Path, body: str) -> None:
    """What was decided after it does not fit any more."""
    folder = copy_of(RANGE, tmp_path)
    path = folder / "series.jsonl"
    line = {"t": 9999.0, "from": "metadata", "path": "/loadbalance/bundle-data/x", "mzxid": 9, "body": body}
    path.write_text(f"{path.read_text()}\n{json.dumps(line)}")
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert len(report.problems) == 1


@pytest.mark.parametrize("brokers", [7, [], {"a": 7}, {"a": {}}, None])
def test_odd_brokers_only_cost_what_is_about_owners(tmp_path: Path, brokers: object) -> None:
    folder = copy_of(TWO, tmp_path)
    edit(folder, "scenario.json", lambda scenario: scenario.update(brokers=brokers))
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert FactKind.LOOKUP_OWNER not in _counts(report)
    assert dict(report.not_compared)["look-ups of owners"] > 0


def test_odd_splits_of_a_scenario_are_missed_in_its_list(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["splits"][0]["new_boundaries"] = ["no number"]
        scenario["splits"][1]["new_boundaries"] = [7]

    folder = copy_of(RANGE, tmp_path)
    edit(folder, "scenario.json", change)
    report = verify_folder(folder)
    assert [(each.kind, each.recorded) for each in report.differences] == [(FactKind.AUTO_SPLIT_TOLD, "not told")] * 2


@pytest.mark.parametrize("hits", [0, 1])
def test_a_rate_printed_at_its_limit_is_not_judged(tmp_path: Path, hits: int) -> None:
    """60.00 of 60 may be 59.996 or 60.004: the broker knew, the log does not tell; later hits go on from its word."""
    folder = copy_of(EXT_RANGE, tmp_path)
    path = folder / "log-a.txt"
    pattern = r"(ring/flicker/0x00000000_0xffffffff\. Split condition hit count: )1( is .* Message Rate: )[\d.]+"
    text, count = re.subn(pattern, rf"\g<1>{hits}\g<2>60.00", path.read_text(), count=1)
    assert count == 1
    path.write_text(text)
    report = verify_folder(folder)
    assert [each for what, each in report.not_compared if "printed at its limit" in what] == [1]
    found = [(each.kind, each.recorded, each.modelled) for each in report.differences]
    assert found == ([] if hits == 1 else [(FactKind.HIT_COUNT, "2 hits", "1 hits")])


def test_a_log_of_something_else_is_no_cycle(tmp_path: Path) -> None:
    folder = copy_of(EXT_RANGE, tmp_path)
    (folder / "log-a.txt").write_text("no time here\n25:00:00.000 INFO  nothing\n\xff")
    report = verify_folder(folder)
    assert report.exit_code == 0
    assert _counts(report)[FactKind.HIT_COUNT] == 56


def test_the_four_numbers_of_the_five_automatic_recordings() -> None:
    """137 choices with their numbers, 172 averages (132 of them in the recorded order), 156 hit counts, 40 cuts."""
    recordings = Path(__file__).parents[1] / "recordings"
    total: dict[FactKind, int] = {}
    for folder in sorted(recordings.glob("g-autosplit-*")):
        for tally in verify_folder(folder).tallies:
            assert tally.agree == tally.compared
            total[tally.kind] = total.get(tally.kind, 0) + tally.compared
    assert total[FactKind.SPLIT_CHOICE] == total[FactKind.SPLIT_CHOICE_NUMBERS] == 137
    assert (total[FactKind.STORED_AVERAGE], total[FactKind.STORED_AVERAGE_OTHER_ORDER]) == (132, 40)
    assert total[FactKind.HIT_COUNT] == 156
    assert (total[FactKind.CYCLE_DECISION], total[FactKind.CYCLE_DECISION_WITHIN]) == (187, 3)
    assert total[FactKind.CYCLE_SPLIT] == 14
    assert total[FactKind.AUTO_BOUNDARIES] == total[FactKind.AUTO_SPLIT_TOLD] == 40


def test_a_report_of_a_map_that_once_held_more_is_no_difference(tmp_path: Path) -> None:
    """With twice the buckets the same names come in another order."""
    folder = copy_of(RANGE, tmp_path)
    names: list[tuple[str, ...]] = []

    def change(report: Any) -> None:
        def bucket(name: str) -> int:
            code = java_string_hash(name)
            return (code ^ (code >> 16)) % 64

        before = report["lastStats"]
        report["lastStats"] = {name: before[name] for name in sorted(before, key=bucket)}
        names.extend((tuple(before), tuple(report["lastStats"])))

    edit(folder, "03-load-report-a.json", change)
    assert names[0] != names[1]
    assert verify_folder(folder).exit_code == 0


def _report(at_ms: int, broker: str) -> ReportWritten:
    return ReportWritten(at_ms, BrokerReport(broker, ()))


def _readings(events: Events) -> tuple[tuple[str, int], ...]:
    return tuple((event.report.broker, len(event.already)) for event in events if isinstance(event, ReportWritten))


@pytest.mark.parametrize(
    "wanted", [(("a", 0), ("b", 0)), (("a", 1), ("b", 0)), (("b", 0), ("a", 0)), (("b", 1), ("a", 0))]
)
def test_every_way_to_read_two_reports_of_a_second_is_tried(wanted: tuple[tuple[str, int], ...]) -> None:
    def agreement(events: Events) -> Agreement:
        return Agreement(int(_readings(events) == wanted), *EVER)

    found, changes = best_order((_report(0, "a"), _report(900, "b")), agreement, 1)
    assert _readings(found) == wanted
    assert changes == (0 if wanted == (("a", 0), ("b", 0)) else 1)


def test_reports_further_apart_or_of_one_broker_keep_their_order() -> None:
    apart = (_report(0, "a"), _report(1001, "b"), _report(1500, "b"))

    def agreement(events: Events) -> Agreement:
        return Agreement(int(_readings(events)[0][0] == "b" or events[1] != apart[1]), *EVER)

    assert best_order(apart, agreement, 1) == (apart, 0)


def test_a_storing_may_come_after_a_report_of_its_second() -> None:
    events: Events = (AveragesStored(0), _report(16, "a"))

    def agreement(found: Events) -> Agreement:
        return Agreement(int(isinstance(found[0], ReportWritten)), *EVER)

    assert best_order(events, agreement, 1) == ((_report(0, "a"), AveragesStored(0)), 1)


def test_the_time_in_doubt_is_searched_first_and_then_what_follows_it() -> None:
    events = tuple(_report(at * 100, "ab"[at % 2]) for at in range(100))
    tried: list[Events] = []

    def agreement(found: Events) -> Agreement:
        tried.append(found)
        return Agreement(0, 5000, 5200)

    assert best_order(events, agreement, 1) == (events, 0)
    in_doubt, after = range(4000, 5201, 100), range(4200, 9900, 100)
    assert len(tried) == 1 + 3 * len(in_doubt) + 3 * len(after)


def test_an_endless_search_is_given_up() -> None:
    events = tuple(_report(at * 100, "ab"[at % 2]) for at in range(1000))
    tried: list[int] = []

    def agreement(_: Events) -> Agreement:
        tried.append(1)
        return Agreement(0, *EVER)

    assert best_order(events, agreement, 1) == (events, 0)
    assert len(tried) == 601
