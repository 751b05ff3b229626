"""The figures of a cluster are those of the model, in a text that another reader of OpenMetrics understands."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from engine.admin.moments import read_moments
from engine.diagnosis.why import diagnose_all
from engine.errors import Rejection
from engine.scenarios.embedded import embedded
from engine.scenarios.opening import open_moments
from engine.scenarios.synthetic import synthetic_state
from engine.views import metrics as cluster_metrics
from engine.views.metrics import Family, Pictured, Sample, cluster_families
from engine.views.reported.view import Reported
from engine.views.scalable.figures import figures_of
from engine.views.scalable.view import last_views
from tests.engine.scalable.scenes import moments_of
from tests.engine.scenarios.recordings import RECORDINGS
from tui.cli.openmetrics import LONGEST_LABEL, exposition

Read = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Read:
    """Every sample by its name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def figures(picture: Pictured) -> Read:
    return read(exposition(cluster_families(picture)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.text() | st.sampled_from(["a\x1b", "a\\x1b", "z" * 999, "z" * 998]), st.floats(allow_nan=False)),
        max_size=8,
        unique_by=lambda each: each[0],
    ),
)
def test_any_label_and_any_number_is_read_back(given_: list[tuple[str, float]]) -> None:
    samples = tuple(Sample(value, (("name", name),)) for name, value in given_)
    result = read(exposition([Family("x", 'quoted " and \\ and\nmore', samples)]))
    assert sorted(result.values()) == sorted(value for _, value in given_)


def test_a_label_is_that_of_one_name_only() -> None:
    names = {"a\x1b", "a\\x1b", "\ud800", "z" * 300 + "1", "z" * 300 + "2"}
    for _ in range(3):
        text = exposition([Family("x", "y", tuple(Sample(1, (("name", name),)) for name in sorted(names)))])
        labels = {value for (_, ((_, value),)) in read(text)}
        assert len(labels) == len(names) and max(map(len, labels)) <= LONGEST_LABEL
        names |= labels


def test_the_same_series_is_written_once() -> None:
    text = exposition([Family("x", "y", (Sample(1, (("name", "a"),)), Sample(2, (("name", "a"),))))])
    assert read(text) == {("x", (("name", "a"),)): 1.0}


def test_what_commands_a_terminal_is_no_label_and_no_label_is_long() -> None:
    text = exposition([Family("x", "y", (Sample(1, (("a", "\x1b[2J\r\n"), ("b", "z" * 10_000))),))])
    assert "\x1b" not in text and "\r" not in text and len(text) < 500
    assert math.isnan(read(exposition([Family("x", "y", (Sample(math.nan),))]))["x", ()])


def test_a_counter_has_its_suffix_and_an_empty_family_is_left_out() -> None:
    text = exposition([Family("a", "b", (Sample(3),), "counter"), Family("empty", "c", ())])
    assert read(text) == {("a_total", ()): 3.0}
    assert "empty" not in text


def test_evenness_is_that_of_the_subscription() -> None:
    # 100 topics of one partition under modulo: all of them are the first of ten consumers'.
    result = figures(Pictured(embedded("pip392").state))
    (labels,) = {labels for name, labels in result if name == "ringside_failover_consumers"}
    assert result["ringside_failover_max_over_mean", labels] == 10.0
    assert result["ringside_failover_idle_consumers", labels] == 9
    assert result["ringside_failover_consumers", labels] == 10


def test_what_blocks_and_what_drains_is_counted_by_its_cause() -> None:
    moments = read_moments(RECORDINGS / "c-keyshared-draining")
    reported = Reported(moments)
    diagnoses = tuple(diagnose_all(reported.subscriptions(reported.last).values()))
    result = figures(Pictured(open_moments(moments).state, (), diagnoses))
    causes = {dict(labels)["cause"]: value for (name, labels), value in result.items() if name == "ringside_causes"}
    assert causes == {cause.id: 1.0 for diagnosis in diagnoses for cause in diagnosis.causes}
    draining = [value for (name, _), value in result.items() if name == "ringside_draining_slots"]
    expected = [dict(cause.numbers)["draining_slots"] for diagnosis in diagnoses for cause in diagnosis.causes
                if "draining_slots" in dict(cause.numbers)]  # fmt: skip
    assert draining == expected[:1]


def test_the_next_split_is_that_of_the_forecast() -> None:
    result = figures(Pictured(embedded("flow-split").state))
    coming = {labels: value for (name, labels), value in result.items() if name == "ringside_next_split_seconds"}
    # The report of the first cycle comes after a quarter of an hour.
    assert [(dict(labels)["bundle"], value) for labels, value in coming.items()] == [("0x00000000_0x40000000", 900.0)]


def test_agreement_is_what_was_compared_and_what_differs() -> None:
    result = figures(Pictured(embedded("pip392").state, agreement=(("active", 10, 7), ("order", 3, 3))))
    assert result["ringside_facts_compared", (("fact", "active"),)] == 10
    assert result["ringside_facts_differing", (("fact", "active"),)] == 3
    assert result["ringside_facts_differing", (("fact", "order"),)] == 0


def test_the_next_unload_of_a_broker_comes_from_its_load_reports() -> None:
    moments = read_moments(RECORDINGS / "g-shed-modular-uniform")
    result = figures(Pictured(open_moments(moments).state, moments))
    assert result["ringside_broker_usage_max_over_mean", ()] >= 1 or math.isnan(
        result["ringside_broker_usage_max_over_mean", ()]
    )


def test_of_many_series_the_worst_are_kept_and_the_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_metrics, "MOST_SERIES", 3)
    state = synthetic_state(6, 4, 3).state
    (only,) = state.subscriptions
    many = tuple(
        replace(only, key=f"s-{at}", name=f"s-{at}", consumers=only.consumers[: 1 + at % 3]) for at in range(9)
    )
    result = figures(Pictured(structs.replace(state, subscriptions=many)))
    kept = [labels for name, labels in result if name == "ringside_failover_max_over_mean"]
    assert len(kept) == 3
    assert result["ringside_series_left_out", (("family", "ringside_failover_max_over_mean"),)] == 6
    values = [result["ringside_failover_max_over_mean", labels] for labels in kept]
    assert values == sorted(values, reverse=True)


def test_a_large_cluster_is_not_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_metrics, "FORECAST_TOPICS", 10)
    assert not [name for name, _ in figures(Pictured(embedded("flow-split").state)) if "split" in name]


def test_scalable_topics_are_measured_one_by_one(tmp_path: Path) -> None:
    views = [view for name in ("order", "manual") for view in last_views(moments_of(tmp_path / name, name)).values()]
    printed = tuple(view for view in views if not isinstance(view, Rejection))
    result = figures(Pictured(embedded("pip392").state, scalable=printed))
    numbers = figures_of(printed[1])
    of_manual = {name: value for (name, labels), value in result.items() if ("topic", numbers.topic) in labels}
    assert of_manual["ringside_scalable_segments"] == numbers.segments > 1
    assert of_manual["ringside_scalable_sealed"] == numbers.sealed
    assert of_manual["ringside_scalable_consumers"] == numbers.consumers
    brokers = {name: value for (name, labels), value in result.items() if dict(labels).get("broker")}
    assert brokers["ringside_scalable_controllers"] == 1
    assert brokers["ringside_scalable_broker_segments"] >= numbers.segments
