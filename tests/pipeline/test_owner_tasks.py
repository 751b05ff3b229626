"""What a task of ``assign`` holds at a time: some units with their rings, and some sums."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.config import CURRENT
from pipeline.runs import Folders, Parts
from pipeline.tables import PartWriter
from pipeline.transforms.owners import _pieces, _Task
from pipeline.transforms.units import SUMMED, SUMS, UNITS, FleetUnits, SlotSums

COUNT, SLOTS = 12, 4


@pytest.fixture
def fleet(tmp_path: Path) -> FleetUnits:
    """Units of three consumers, thus of four slots."""
    writer = PartWriter(UNITS, tmp_path, 0)
    names, levels = ["a", "b", "c"], [0, 0, 0]
    rows = [
        (unit, "g", "t/n", f"s{unit:02}", 1, "x", SLOTS * unit, SLOTS * (unit + 1), names, levels, None, None)
        for unit in range(COUNT)
    ]
    writer.write(UNITS.columns_of(rows))
    writer.close()
    return FleetUnits(tmp_path / writer.name, {"g": (CURRENT, False)})


@pytest.mark.parametrize(("most_slots", "sizes"), [(10, [2, 2, 3, 2, 3]), (16, [3, 4, 4, 1]), (1000, [12])])
def test_a_piece_has_as_many_units_as_their_slots_allow(fleet: FleetUnits, most_slots: int, sizes: list[int]) -> None:
    """Or one more; each unit is there with all of its rows, in whatever order they come."""
    units = np.random.default_rng(1).permutation(np.repeat(np.arange(COUNT), 3))
    batches = [pa.record_batch({"unit": units[begin : begin + 7]}) for begin in range(0, len(units), 7)]
    pieces = list(_pieces(iter(batches), replace(fleet, most_slots=most_slots)))
    assert [len(np.unique(here)) for _, here in pieces] == sizes
    assert np.concatenate([here for _, here in pieces]).tolist() == sorted(units.tolist())
    assert all(rows["unit"].to_pylist() == here.tolist() for rows, here in pieces)


@pytest.mark.parametrize(("most_slots", "kept"), [(10, [1, 2, 3]), (16, [0, 1, 2, 3])])
def test_units_that_come_back_stay_while_there_is_room(
    fleet: FleetUnits, most_slots: int, kept: list[int], tmp_path: Path
) -> None:
    task = _Task(replace(fleet, most_slots=most_slots), Parts(Folders(tmp_path, "one", "assign"), None, 0))
    assert task.at_hand(np.array([0, 1, 2])).units.tolist() == [0, 1, 2]
    assert task.at_hand(np.array([1, 2, 3])).units.tolist() == kept
    assert task.at_hand(np.array([1, 3])).units.tolist() == kept


@pytest.mark.parametrize(
    ("most_sums", "others", "groups"),
    [(20, True, 2), (20, False, 1), (1000, True, 1)],
    ids=["other units are written", "those of the same units are added", "all have room"],
)
def test_sums_are_written_when_they_are_too_many(
    fleet: FleetUnits, most_sums: int, others: bool, groups: int, tmp_path: Path
) -> None:
    """Six times those of two units, thus of eight slots."""
    pairs = [np.array([0, 1]) + (2 * number if others else 0) for number in range(6)]
    sums = np.arange(1.0, 1 + len(SUMMED) * 2 * SLOTS).reshape(len(SUMMED), 2 * SLOTS)
    folders = Folders(tmp_path, "one", "assign", frozenset({SUMS.name}))
    (tmp_path / folders.work).mkdir(parents=True)
    with Parts(folders, None, 0) as parts:
        task = _Task(replace(fleet, most_sums=most_sums), parts)
        for pair in pairs:
            task.add("flag_on", task.at_hand(pair), sums)
        task.closed()
        ((_, path),) = parts.close()
    part = tmp_path / path
    assert pq.read_metadata(part).num_row_groups == groups
    expected = Counter(unit for pair in pairs for unit in pair.tolist())
    result = SlotSums([part]).of("flag_on", 0, SLOTS * COUNT).reshape(len(SUMMED), COUNT, SLOTS)
    for unit in range(COUNT):
        half = sums[:, SLOTS * (unit % 2) : SLOTS * (unit % 2 + 1)]
        assert (result[:, unit] == expected[unit] * half).all()
