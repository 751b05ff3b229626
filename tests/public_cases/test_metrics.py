"""The text of ``/metrics`` and ranges of Prometheus: what they prove is said, and what is missing stays unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from engine.admin.facts import NotReported
from engine.admin.files import AnswerFile
from engine.admin.moments import Moment, read_moments
from engine.diagnosis.metered import diagnosed_metrics
from engine.diagnosis.model import Verdict
from tests.tui.cli.conftest import Run

TOPIC: Final = "persistent://acme/shop/orders-partition-3"
LABELS: Final = f'cluster="c",namespace="acme/shop",topic="{TOPIC}"'


def text(backlog: float | str, *, out: int = 100, into: int = 500, consumers: int | None = 2, **more: float) -> str:
    """The metrics of one topic with the subscription ``billing``."""
    values = {"back_log": backlog, "unacked_messages": 7, **more}
    lines = [
        "# HELP pulsar_rate_in -",
        "# TYPE pulsar_rate_in gauge",
        f"pulsar_rate_in{{{LABELS}}} 12.5",
        f"pulsar_in_messages_total{{{LABELS}}} {into}",
        f'pulsar_out_messages_total{{{LABELS},subscription="billing"}} {out} 1764000000000',
        *(f'pulsar_subscription_{name}{{{LABELS},subscription="billing"}} {value}' for name, value in values.items()),
    ]
    if consumers is not None:
        lines.append(f'pulsar_subscription_consumers_count{{{LABELS},subscription="billing"}} {consumers}')
    return "\n".join(lines) + "\n"


def moments_of(*texts: str) -> tuple[Moment, ...]:
    return read_moments(*(AnswerFile(f"{number}-metrics.txt", one.encode()) for number, one in enumerate(texts, 1)))


def first_of(*texts: str) -> tuple[str, Verdict, dict[str, Any]]:
    (diagnosis,) = diagnosed_metrics(moments_of(*texts))
    assert diagnosis.first is not None
    assert (diagnosis.subscription, diagnosis.topic) == ("billing", TOPIC)
    return diagnosis.first.id, diagnosis.first.verdict, dict(diagnosis.first.numbers)


@pytest.mark.parametrize(
    ("shown", "cause", "verdict"),
    [
        (text(0), "fine_idle", Verdict.FINE),
        (text(40), "metrics_only", Verdict.CANNOT_TELL),
        (text(40, consumers=0), "no_consumers", Verdict.BLOCKS),
        (text(40, blocked_on_unacked_messages=1), "subscription_unacked_limit", Verdict.BLOCKS),
        (text(40, blocked_on_unacked_messages=0), "metrics_only", Verdict.CANNOT_TELL),
        (text("NaN"), "not_reported", Verdict.CANNOT_TELL),
    ],
)
def test_one_scrape_proves_backlog_block_and_whether_anybody_is_connected(
    shown: str, cause: str, verdict: Verdict
) -> None:
    assert first_of(shown)[:2] == (cause, verdict)


def test_two_scrapes_are_two_moments() -> None:
    cause, verdict, numbers = first_of(text(40, out=100, into=500), text(30, out=115, into=505))
    assert (cause, verdict, numbers["out"], numbers["in"]) == ("fine_catching_up", Verdict.FINE, 15, 5)
    cause, verdict, numbers = first_of(text(40, out=100, into=500), text(60, out=100, into=520))
    assert (cause, verdict, numbers["out"], numbers["in"]) == ("metrics_only", Verdict.CANNOT_TELL, 0, 20)


def test_a_counter_that_began_anew_counts_nothing() -> None:
    assert "out" not in first_of(text(40, out=100), text(40, out=3))[2]


def range_of(*points: tuple[float, int]) -> bytes:
    labels = {"topic": TOPIC, "subscription": "billing"}
    names = ("pulsar_subscription_back_log", "pulsar_out_messages_total")
    result = [{"metric": {"__name__": name, **labels}, "values": [[at, str(n)] for at, n in points]} for name in names]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def test_a_range_of_prometheus_is_its_first_and_last_moment() -> None:
    read = read_moments(AnswerFile("range.json", range_of((1764000000, 5), (1764000060, 9), (1764000120.5, 30))))
    assert [moment.at_ms for moment in read] == [1764000000000, 1764000120500]
    (diagnosis,) = diagnosed_metrics(read)
    assert diagnosis.first is not None
    assert (diagnosis.first.number("backlog"), diagnosis.first.number("out"), diagnosis.moments) == (30, 25, 2)


def test_an_instant_of_prometheus_is_one_moment() -> None:
    read = read_moments(AnswerFile("range.json", range_of((1764000000, 5))))
    assert len(read) == 1
    assert read[0].snapshot.metered[TOPIC].subscriptions[0].msg_backlog_entries == 5


def test_consumers_are_listed_only_where_all_are_named() -> None:
    consumer = 'subscription="billing",consumer_name="a",consumer_id="0"'
    named = f"pulsar_consumer_available_permits{{{LABELS},{consumer}}} 9\n"
    (one,) = moments_of(text(40, consumers=1) + named)
    (two,) = moments_of(text(40, consumers=2) + named)
    known, unknown = (moment.snapshot.metered[TOPIC].subscriptions[0].consumers for moment in (one, two))
    assert [(consumer.name, consumer.available_permits) for consumer in known] == [("a", 9)]
    assert isinstance(unknown, NotReported)


def test_a_partition_can_be_a_label_of_its_own() -> None:
    line = 'pulsar_subscription_back_log{topic="persistent://a/b/x",partition="2",subscription="s"} 4'
    (moment,) = read_moments(AnswerFile("metrics.txt", f"pulsar_x{{}} 1\n{line}\n".encode()))
    assert list(moment.snapshot.metered) == ["persistent://a/b/x-partition-2"]


@pytest.mark.parametrize(
    "bad", ["pulsar_rate_in{", 'pulsar_rate_in{topic="x} 1', "pulsar_rate_in{} 1e999999 x y", "\x00"]
)
def test_a_bad_line_loses_only_itself(bad: str) -> None:
    assert first_of(f"{text(40)}{bad}\n")[0] == "metrics_only"


@pytest.mark.parametrize("times", [("2026-11-01 10:00:00", "2026-11-01 10:01:00"), ("1793527200000", "1793527260000")])
def test_a_panel_that_grafana_exported_is_two_moments(times: tuple[str, str], run: Run, tmp_path: Path) -> None:
    labels = f'{{{LABELS},subscription="billing"}}'.replace('"', '""')
    series = ("back_log", "msg_rate_out", "blocked_on_unacked_messages")
    header = ",".join(["Time", *(f'"pulsar_subscription_{name}{labels}"' for name in series), '"Other"'])
    rows = [f"{time},{backlog},0,{blocked},x" for time, backlog, blocked in zip(times, (40, 50), (0, 1), strict=True)]
    (tmp_path / "panel.csv").write_text("\n".join([header, rows[0], "", "bad,row", rows[1]]) + "\n")
    ran = run("why", "panel.csv", "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["moments"], document["backlog"]) == (1, 2, 50)
    assert document["causes"][0]["id"] == "subscription_unacked_limit"
    (tmp_path / "panel.csv").write_text(f'{header}\n"{"x" * 200_000}\n{rows[1]}')
    assert run("why", "panel.csv").code == 2, "a cell without an end"
    nameless = header.replace("pulsar_subscription_back_log", "").replace("pulsar_subscription_", "x_")
    (tmp_path / "panel.csv").write_text("\n".join([nameless, *rows]))
    ran = run("why", "panel.csv")
    assert (ran.code, "Grafana" in ran.err) == (2, True)


@pytest.mark.parametrize("ending", [".txt", ".prom", ""])
def test_files_in_a_folder_are_read_and_the_exit_code_says_what_was_found(
    ending: str, tmp_path: Path, run: Run
) -> None:
    (tmp_path / f"1-metrics{ending}").write_text(text(40, out=100))
    (tmp_path / f"2-metrics{ending}").write_text(text(30, out=120))
    assert run("why", str(tmp_path)).code == 0
    (tmp_path / f"2-metrics{ending}").write_text(text(50, out=100, blocked_on_unacked_messages=1))
    ran = run("why", str(tmp_path), "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["moments"], document["causes"][0]["id"]) == (1, 2, "subscription_unacked_limit")


@pytest.mark.parametrize(
    ("shown", "rules", "code"),
    [
        (text(40, consumers=0), ["no_consumers"], 1),
        (text(40), ["metrics_only"], 0),
        (text("NaN"), ["not_reported"], 0),
        (text(0), [], 0),
    ],
)
def test_the_doctor_says_what_metrics_prove(shown: str, rules: list[str], code: int, tmp_path: Path, run: Run) -> None:
    (tmp_path / "metrics.txt").write_text(shown)
    ran = run("lint", "metrics.txt", "--json")
    findings = json.loads(ran.out)["findings"]
    assert (ran.code, [finding["rule"] for finding in findings]) == (code, rules)
    assert "pulsar-admin topics stats" in ran.err


@pytest.mark.parametrize("words", [("list", "metrics.txt"), ("metrics.txt", "--once")])
def test_what_cannot_be_pictured_names_what_opens_it(words: tuple[str, ...], tmp_path: Path, run: Run) -> None:
    (tmp_path / "metrics.txt").write_text(text(40))
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "ringside why" in ran.err and "ringside lint" in ran.err
