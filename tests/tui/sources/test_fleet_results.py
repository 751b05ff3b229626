"""The lists of a fleet: sorted and filtered without a row being made, and exported as they stand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from engine.disk import Exported
from engine.errors import InputError
from engine.views.fleet import tables as schemas
from engine.views.fleet.runs import result_at
from tests import fleet_results
from tests.tui.fleet_scenes import large_result, small_result, with_brokers
from tui.fleet.columns import SUBSCRIPTIONS
from tui.sources.fleet_export import export
from tui.sources.fleet_listing import Columns, Haystack, Listing, filtered, ordered, whole
from tui.sources.fleet_results import BROKERS, FINDINGS, NAMESPACES, SET_ASIDE, FleetResults, read_results

MILLION = 1_000_000
numbers_or_none = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.0, 1.5]), st.floats(allow_nan=False))
texts = st.text(st.sampled_from("abcABC-/é\n0"), max_size=6)


def subscriptions(folder: Path) -> Listing:
    return read_results(result_at(folder)).listing(SUBSCRIPTIONS.table)


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listing]:
    yield subscriptions(large_result(tmp_path_factory.mktemp("fleet"), MILLION))


def test_a_million_rows_are_sorted_filtered_and_counted_without_a_row_made(
    million: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a row nor a Python value of a column is made: order, filter and histogram stay in arrays."""
    monkeypatch.setattr(Columns, "row", lambda *_: pytest.fail("a row was made"))
    by_idle = ordered(million, "idle", descending=True)
    worst = ordered(by_idle, "busiest_over_average", descending=True)
    result = filtered(worst, "NS-77")
    spread = result.histogram("busiest_over_average")
    assert len(worst) == MILLION and len(result) == 11 * MILLION // 1000
    assert all(isinstance(each.rows, np.ndarray) and each.rows.dtype == np.int64 for each in (by_idle, worst, result))
    assert all(each.columns is million.columns for each in (by_idle, worst, result)), "columns are shared, not copied"
    numbers = result.values("busiest_over_average")
    number = numbers[~np.isnan(numbers)]
    assert (np.diff(number) <= 0).all() and np.isnan(numbers[len(number) :]).all(), (
        "the worst first, the without_number last"
    )
    assert spread.counts.sum() == len(number) and spread.without_number == len(numbers) - len(number)
    assert (spread.edges[0], spread.edges[-1]) == (number.min(), number.max()) and million.columns.highest(
        "idle"
    ) == 4.0


def test_one_row_costs_one_row(million: Listing) -> None:
    """The row under the cursor is the one that the order says."""
    worst = ordered(million, "busiest_over_average", descending=True)
    assert worst.row(0)["busiest_over_average"] == million.columns.highest("busiest_over_average")
    best = ordered(worst, "busiest_over_average", descending=False)
    assert best.row(0)["busiest_over_average"] == np.nanmin(million.values("busiest_over_average"))


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers_or_none, max_size=40), st.booleans(), st.sets(st.integers(0, 39)))
def test_rows_stand_as_a_stable_sort_puts_them(values: list[float | None], descending: bool, dropped: set[int]) -> None:
    """Numbers of any digits, equal ones as the table has them, none last; also behind a filter."""
    mask = np.array([at not in dropped for at in range(len(values))], dtype=bool)
    columns = Columns(pa.table({"value": pa.array(values, pa.float64())}), ())
    for listing in (whole(columns), whole(columns).let_through(mask, "some")):
        places = listing.rows.tolist()
        reported = [at for at in places if values[at] is not None]
        expected = sorted(reported, key=lambda at: -(values[at] or 0.0) if descending else values[at] or 0.0)
        expected += [at for at in places if values[at] is None]
        assert ordered(listing, "value", descending=descending).rows.tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), texts), max_size=30), st.booleans())
def test_texts_are_sorted_by_their_bytes_coded_or_not(values: list[str | None], coded: bool) -> None:
    """Whether a column comes as a dictionary or as it is; without a text last."""
    column = pa.array(values, pa.string())
    listing = whole(Columns(pa.table({"name": column.dictionary_encode() if coded else column}), ("name",)))
    numbers = sorted(
        (at for at in range(len(values)) if values[at] is not None), key=lambda at: str(values[at]).encode()
    )
    without_number = [at for at in range(len(values)) if values[at] is None]
    assert ordered(listing, "name", descending=False).rows.tolist() == [*numbers, *without_number]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), texts), max_size=30), texts)
def test_typing_letter_by_letter_finds_what_a_search_of_the_whole_finds(values: list[str | None], typed: str) -> None:
    """Forward, and back again; the case means nothing, nothing is found across two rows."""
    hay = Haystack(pa.array(values, pa.string()))
    steps = [typed[:end] for end in range(len(typed) + 1)]
    for text in [*steps, *reversed(steps)]:
        expected = [text == "" or ("\n" not in text and text.lower() in (value or "").lower()) for value in values]
        assert hay.find(text).tolist() == expected


def test_a_filter_keeps_the_order_and_can_be_taken_away(tmp_path: Path) -> None:
    """Both names are looked through, whatever the case; nothing found is an empty list."""
    turned = ordered(subscriptions(small_result(tmp_path / "out")), "subscription", descending=False)
    assert [turned.row(at)["subscription"] for at in range(3)] == ["billing", "loose", "orders"]
    orders = filtered(turned, "ORDERS")
    assert [orders.row(at)["subscription"] for at in range(len(orders))] == ["billing", "orders"]
    nothing = filtered(turned, "nothing")
    assert len(nothing) == 0 and nothing.histogram("idle").counts.sum() == 0
    assert filtered(turned, "").rows.tolist() == turned.rows.tolist()
    narrowed = ordered(orders, "busiest_over_average", descending=False)
    assert [narrowed.row(at)["subscription"] for at in range(len(narrowed))] == ["orders", "billing"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("orders bill", ["billing"]),
        ("busiest/avg>1.25", ["billing"]),
        ("cons=2", ["orders", "loose"]),
        ("idle<1 type=key", ["orders"]),
        ("worst=warn", ["billing"]),
        ("parts>", ["billing", "orders", "loose"]),
        ("no-column>3", []),
        ("type>3", []),
    ],
)
def test_words_of_a_filter_must_all_fit(tmp_path: Path, text: str, found: list[str]) -> None:
    """Parts of names, and headings with a sign; half a number narrows nothing, what is no heading is part of a name."""
    listing = filtered(subscriptions(small_result(tmp_path / "out")), text, SUBSCRIPTIONS.labels)
    assert [listing.row(at)["subscription"] for at in range(len(listing))] == found


def test_a_histogram_grows_by_factors_where_numbers_are_far_apart() -> None:
    """``bar_of`` names the bar that counts a number; numbers of 0 or less are counted in the first one."""
    values = [0.0, 0.5, 1.0, 30.0, 4_000.0, None]
    spread = whole(Columns(pa.table({"v": pa.array(values)}), ())).histogram("v", 10)
    assert spread.by_factors and spread.without_number == 1 and spread.counts.sum() == 5
    assert spread.bar_of(0.0) == spread.bar_of(0.5) == 0 and spread.bar_of(4_000.0) == 9 and spread.bar_of(None) is None
    even = whole(Columns(pa.table({"v": pa.array([2.0, 2.0])}), ())).histogram("v", 10)
    assert not even.by_factors and even.counts.tolist() == [2, *[0] * 9]


@pytest.mark.parametrize("ending", [".csv", ".json", ".parquet"])
def test_an_export_holds_the_rows_in_their_order(tmp_path: Path, ending: str) -> None:
    """What stands in the list stands in the file, and a file that is there is not written over."""
    listing = ordered(subscriptions(small_result(tmp_path / "out")), "subscription", descending=True)
    listing = filtered(listing, "shop")
    path = tmp_path / f"list{ending}"
    assert export(listing, path) == Exported(3)
    if ending == ".json":
        rows = json.loads(path.read_text())
    else:
        rows = (csv.read_csv(path) if ending == ".csv" else pq.read_table(path)).to_pylist()
    assert [row["subscription"] for row in rows] == ["orders", "loose", "billing"]
    assert [row["msg_rate_out"] for row in rows] == [1.0, 1.0, 13.0] and set(rows[0]) == set(listing.columns.names)
    with pytest.raises(InputError, match="there already"):
        export(listing, path)
    with pytest.raises(InputError, match=r"none of .csv, .json, .parquet"):
        export(listing, tmp_path / "list.txt")
    with pytest.raises(InputError, match="cannot be written"):
        export(listing, tmp_path / "no" / f"list{ending}")


def test_findings_and_what_was_set_aside_are_exported_with_their_numbers(tmp_path: Path) -> None:
    """Numbers of a finding are a list, which CSV holds as JSON; each problem names its job."""
    results = read_results(result_at(small_result(tmp_path / "out")))
    assert export(results.listing(FINDINGS), tmp_path / "f.csv") == Exported(2)
    numbers = csv.read_csv(tmp_path / "f.csv").column("numbers")[0].as_py()
    assert json.loads(numbers) == [{"name": "points_kept", "value": 90.0}]
    export(results.listing(SET_ASIDE), tmp_path / "q.json")
    assert [row["job"] for row in json.loads((tmp_path / "q.json").read_text())] == ["import", "import"]


def test_a_missing_table_is_reported_with_the_command_that_makes_it(tmp_path: Path) -> None:
    """An empty folder, and a damaged file; lists that a job did not make are empty."""
    with pytest.raises(InputError, match=r"no result of a fleet; ringside fleet run"):
        result_at(tmp_path)
    fleet_results.put_table(tmp_path, "topics", schemas.TOPICS.columns_of([]))
    with pytest.raises(InputError, match=r"no table worst_subscriptions; make it with ringside fleet"):
        read_results(result_at(tmp_path))
    folder = small_result(tmp_path / "out")
    for name in (FINDINGS, SET_ASIDE):
        fleet_results.drop(folder, name)
        assert len(read_results(result_at(folder)).listing(name)) == 0
    fleet_results.parts(folder, NAMESPACES)[0].write_bytes(b"PAR1 half")
    with pytest.raises(InputError, match="worst_namespaces cannot be read"):
        read_results(result_at(folder))


def test_where_the_report_failed_what_the_other_jobs_found_is_listed(tmp_path: Path) -> None:
    folder = small_result(tmp_path / "out")
    fleet_results.drop(folder, SUBSCRIPTIONS.table, NAMESPACES, "summary.json")
    results = read_results(result_at(folder))
    assert "ringside fleet report" in results.complaint
    assert [len(results.listing(name)) for name in (SUBSCRIPTIONS.table, NAMESPACES, FINDINGS, SET_ASIDE)] == [
        0,
        0,
        2,
        2,
    ]


def test_where_only_brokers_were_looked_at_they_are_listed_first(tmp_path: Path) -> None:
    results = read_results(result_at(with_brokers(tmp_path / "ahead")))
    assert (results.first, len(results.listing(BROKERS)), len(results.listing(SUBSCRIPTIONS.table))) == (BROKERS, 4, 0)
    both = read_results(result_at(with_brokers(small_result(tmp_path / "out"))))
    assert (both.first, len(both.listing(BROKERS))) == (SUBSCRIPTIONS.table, 4)


def test_a_spoilt_summary_costs_the_header_and_no_list(tmp_path: Path) -> None:
    folder = small_result(tmp_path / "out")
    assert read_results(result_at(folder)).listed_flag() is True and read_results(result_at(folder)).complaint == ""
    fleet_results.put_document(folder, "summary.json", "[]")
    spoilt = read_results(result_at(folder))
    assert spoilt.summary is None and "not a summary" in spoilt.complaint and len(spoilt.listing(FINDINGS)) == 2
    fleet_results.drop(folder, "summary.json")
    assert "ringside fleet report" in read_results(result_at(folder)).complaint


def test_the_flag_is_that_of_the_row_else_that_of_the_fleet(tmp_path: Path) -> None:
    results = FleetResults(result_at(small_result(tmp_path / "out")))
    reported = [results.listed_flag(policy) for policy in ("flag_off", "flag_on", "auto_split", None)]
    assert reported == [False, True, True, True]


SPOILT: dict[str, Callable[[pa.Table], pa.Table]] = {
    "no columns idle": lambda table: table.drop_columns(["idle"]),
    "Multiple matches for FieldRef.Name(idle)": lambda table: table.append_column("idle", table.column("idle")),
    "has string in the column idle": lambda table: replaced(table, "idle", pa.array(["3"] * len(table))),
    "has rows without idle": lambda table: replaced(table, "idle", pa.nulls(len(table), pa.int64())),
    "without a bound in the column busiest_over_average": lambda table: replaced(
        table, "busiest_over_average", pa.array([float("inf")] * len(table))
    ),
}


def replaced(table: pa.Table, column: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(column), column, values)


@pytest.mark.parametrize("fault", SPOILT)
def test_a_table_that_no_job_wrote_is_refused_with_its_fault(fault: str, tmp_path: Path) -> None:
    (path,) = fleet_results.parts(small_result(tmp_path), "worst_subscriptions")
    pq.write_table(SPOILT[fault](pq.read_table(path)), path)
    with pytest.raises(InputError, match="worst_subscriptions") as refusal:
        read_results(result_at(tmp_path))
    assert fault in str(refusal.value)


def test_bytes_that_are_no_parquet_are_refused(tmp_path: Path) -> None:
    (path,) = fleet_results.parts(small_result(tmp_path), "worst_subscriptions")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        read_results(result_at(tmp_path))
