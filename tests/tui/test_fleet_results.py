"""The lists of a fleet: sorted and filtered without a row being made, exported, and opened as a state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from engine.cluster.invariants import faults
from engine.errors import InputError
from engine.scenarios.fleet_opening import open_fleet_part
from tests.tui.fleet_scenes import NAMES, NAMESPACE, large_result, small_result
from tui.sources.fleet_results import Listing, export, filtered, ordered, part_of, policies_of, read_results

MILLION = 1_000_000


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listing]:
    yield read_results(large_result(tmp_path_factory.mktemp("fleet"), MILLION)).subscriptions


def test_a_million_rows_are_sorted_filtered_and_counted_without_a_row_made(
    million: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a row nor a Python value of a column is made: order, filter and histogram stay in arrays."""
    monkeypatch.setattr(Listing, "row", lambda *_: pytest.fail("a row was made"))
    by_idle = ordered(million, "idle", descending=True)
    worst = ordered(by_idle, "max_over_mean", descending=True)
    found = filtered(worst, "NS-77")
    counts, low, high = found.histogram("max_over_mean")
    assert len(worst) == MILLION and len(found) == 11 * MILLION // 1000
    assert all(isinstance(each.rows, np.ndarray) and each.rows.dtype == np.int64 for each in (by_idle, worst, found))
    assert all(each.table is million.table for each in (by_idle, worst, found)), "columns are shared, not copied"
    numbers = found.values("max_over_mean")
    told = numbers[~np.isnan(numbers)]
    assert (np.diff(told) <= 0).all() and np.isnan(numbers[len(told) :]).all(), "the worst first, the untold last"
    assert counts.sum() == len(told) and (low, high) == (told.min(), told.max()) and found.highest("idle") == 4.0


def test_one_row_costs_one_row(million: Listing) -> None:
    """The row under the cursor is the one that the order says."""
    worst = ordered(million, "max_over_mean", descending=True)
    assert worst.row(0)["max_over_mean"] == worst.highest("max_over_mean")
    best = ordered(worst, "max_over_mean", descending=False)
    assert best.row(0)["max_over_mean"] == np.nanmin(million.values("max_over_mean"))


def test_a_filter_keeps_the_order_and_can_be_taken_away(tmp_path: Path) -> None:
    """Both names are looked through, whatever the case; nothing found is an empty list."""
    subscriptions = read_results(small_result(tmp_path / "out")).subscriptions
    turned = ordered(subscriptions, "subscription", descending=False)
    assert [turned.row(at)["subscription"] for at in range(3)] == ["billing", "loose", "orders"]
    orders = filtered(turned, "ORDERS")
    assert [orders.row(at)["subscription"] for at in range(len(orders))] == ["billing", "orders"]
    assert len(filtered(turned, "nothing")) == 0 and filtered(turned, "nothing").highest("idle") == 0.0
    assert filtered(turned, "").rows.tolist() == turned.rows.tolist()
    narrowed = ordered(orders, "max_over_mean", descending=False)
    assert [narrowed.row(at)["subscription"] for at in range(len(narrowed))] == ["orders", "billing"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_export_holds_the_rows_in_their_order(tmp_path: Path, ending: str) -> None:
    """What stands in the list stands in the file, and a file that is there is not written over."""
    listing = ordered(read_results(small_result(tmp_path / "out")).subscriptions, "subscription", descending=True)
    path = tmp_path / f"list{ending}"
    assert export(listing, path) == 3
    read = csv.read_csv(path) if ending == ".csv" else pq.read_table(path)
    assert read.column("subscription").to_pylist() == ["orders", "loose", "billing"]
    with pytest.raises(InputError, match="there already"):
        export(listing, path)
    with pytest.raises(InputError, match=r"neither .csv nor .parquet"):
        export(listing, tmp_path / "list.txt")
    with pytest.raises(InputError, match="cannot be written"):
        export(listing, tmp_path / "no" / f"list{ending}")


def test_a_missing_table_is_told_with_the_command_that_makes_it(tmp_path: Path) -> None:
    """An empty folder, and a damaged file."""
    with pytest.raises(InputError, match=r"no table worst_subscriptions; make it with ringside fleet"):
        read_results(tmp_path)
    folder = small_result(tmp_path / "out")
    (folder / "worst_namespaces" / "part-0.parquet").write_bytes(b"PAR1 half")
    with pytest.raises(InputError, match="worst_namespaces cannot be read"):
        read_results(folder)


def test_a_subscription_is_opened_as_the_brokers_told_it(tmp_path: Path) -> None:
    """Topics with their partitions, consumers in order, traffic, bundles, release and the rule in force."""
    folder = small_result(tmp_path / "out")
    opened = open_fleet_part(part_of(folder, NAMESPACE, "billing", consistent_hashing=True))
    state = opened.state
    assert not faults(state) and opened.source == f"out: {NAMESPACE}, subscription billing"
    (subscription,) = state.subscriptions
    assert [each.name for each in subscription.consumers] == list(NAMES)
    assert sorted(topic.partitions for topic in state.topics.values()) == [0, 4, 4, 4]
    assert state.settings.activeConsumerFailoverConsistentHashing and state.release.startswith("4.0")
    assert state.namespaces[NAMESPACE].boundaries == (0, 0x80000000, 0xFFFFFFFF)
    load = state.loads[f"persistent://{NAMESPACE}/order-1-partition-2"]
    assert (load.msg_rate_in, load.throughput_in_bytes_per_sec, load.unacked_messages) == (4.0, 200.0, 2)


def test_a_namespace_is_opened_with_all_its_subscriptions(tmp_path: Path) -> None:
    """Failover and Key_Shared side by side; a type that cannot be shown is said, also where bundles are untold."""
    folder = small_result(tmp_path / "out")
    state = open_fleet_part(part_of(folder, NAMESPACE)).state
    assert not faults(state)
    assert [each.key for each in state.subscriptions] == ["billing"]
    (shared,) = state.key_subscriptions
    assert [each.name for each in shared.consumers] == ["worker-0", "worker-1"]
    assert set(policies_of(read_results(folder), NAMESPACE)) == {"flag_on", "consistent-auto-split"}
    with pytest.raises(InputError, match="only those of type Shared"):
        open_fleet_part(part_of(folder, "shop/loose"))
    with pytest.raises(InputError, match="only those of type none"):
        open_fleet_part(part_of(folder, "shop/nowhere"))
