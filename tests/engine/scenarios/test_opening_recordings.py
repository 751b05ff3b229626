"""Every step of every recording of a broker, of ten releases, opens as a valid state that names the same consumers."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from engine.admin.snapshot import read_answers
from engine.cluster.journal.invariants import faults
from engine.cluster.owners import active_consumers
from engine.cluster.timeline import Timeline
from engine.config import ReleaseBehaviour, behaviour_of
from engine.errors import InputError
from engine.scenarios.opening import Opened, open_snapshot
from engine.views.failover.dashboard import dashboard_view
from tests.engine.scenarios.recordings import RECORDINGS

RECORDED = sorted(path for path in RECORDINGS.iterdir() if (path / "scenario.json.gz").exists())
PARTITIONED = [path for path in RECORDED if re.search(r"(^|-)a-(failover|namesakes|priority|textorder)-", path.name)]


def steps(folder: Path) -> dict[str, list[Path]]:
    results: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.json.gz")):
        if step := re.match(r"\d+", path.name):
            results.setdefault(step[0], []).append(path)
    return results


def opened(folder: Path, files: list[Path], *, named: bool = True) -> Opened | None:
    """One step together with the scenario that names its answers; None where it names no topic.

    ``named`` False forgets the release.
    """
    named = {
        path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes())
        for path in [*files, folder / "scenario.json.gz"]
    }
    whole = b",".join(json.dumps(name).encode() + b":" + text for name, text in named.items() if text.strip())
    try:
        snapshot = read_answers(b"{" + whole + b"}")
        return open_snapshot(snapshot if named else replace(snapshot, version=None))
    except InputError:
        return None


def recorded_actives(files: list[Path]) -> dict[tuple[str, str], str]:
    """(Partition, subscription) -> active consumer, from partitioned-stats, read with nothing of this project."""
    result = {}
    for path in files:
        if path.name.endswith("-partitioned-stats.json.gz"):
            for name, partition in json.loads(gzip.decompress(path.read_bytes()))["partitions"].items():
                for subscription, reported in partition["subscriptions"].items():
                    if reported["type"] == "Failover" and "activeConsumerName" in reported:
                        result[name, subscription] = reported["activeConsumerName"]
    return result


@pytest.mark.parametrize("folder", RECORDED, ids=lambda path: path.name)
def test_every_step_opens_as_a_valid_state_and_has_a_screen(folder: Path) -> None:
    for files in steps(folder).values():
        result = opened(folder, files)
        if result is None:
            continue
        assert not faults(result.state)
        view = dashboard_view(Timeline.start(result.state), notes=result.notes)
        assert view.foot.partitions == len(view.ring.topic_names)
        codes = [note.code for note in result.notes]
        assert not {"differs-from-record", "record-unexplained"} & set(codes), [note.text for note in result.notes]


@pytest.mark.parametrize("folder", PARTITIONED, ids=lambda path: path.name)
def test_recorded_active_consumers_are_found_again(folder: Path) -> None:
    found_again = 0
    for files in steps(folder).values():
        recorded = recorded_actives(files)
        result = opened(folder, files) if recorded else None
        if result is None:
            continue
        for subscription in result.state.subscriptions:
            for name, active in active_consumers(result.state, subscription).items():
                if (name, subscription.name) in recorded:
                    assert active is not None and active.name == recorded[name, subscription.name]
                    found_again += 1
    assert found_again > 0


@pytest.mark.parametrize("folder", PARTITIONED, ids=lambda path: path.name)
def test_without_a_release_no_rule_is_taken_that_the_record_contradicts(folder: Path) -> None:
    """Where the newest rules do not give the recorded active consumers, those of an older release are taken."""
    for files in steps(folder).values():
        result = opened(folder, files, named=False)
        if result is not None:
            assert not {"differs-from-record", "record-unexplained"} & {note.code for note in result.notes}


def test_a_release_that_ignores_the_flag_is_found_by_its_active_consumers() -> None:
    folder = RECORDINGS / "v3.2.3-a-failover-6p-hash"
    last = [found for files in steps(folder).values() if (found := opened(folder, files, named=False)) is not None][-1]
    behaviour = behaviour_of(last.state.release)
    assert isinstance(behaviour, ReleaseBehaviour) and not behaviour.knows_failover_consistent_hashing
