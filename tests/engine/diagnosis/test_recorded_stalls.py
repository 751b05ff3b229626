"""Every stall that was made on a real broker has its name and exit code 1, and its healthy twin has neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from engine.diagnosis.model import Verdict
from tests.engine.diagnosis.stalls import NAMES, stall
from tests.tui.cli.conftest import Run, run

__all__ = ["run"]

FAULTS: Final = tuple(name for name in NAMES if not name.endswith("-healthy"))
CAUSES: Final = {
    "never-acknowledged": {"sent_not_acknowledged"},
    "never-asked": {"consumer_never_asked"},
    "lost-partitions": {"consumer_lost_partitions"},
    "cursor-reset-failover": {"failover_active_no_permits"},
    "cursor-reset": {"no_permits"},
    "churn": {"redelivery_loop"},
}
RELEASES: Final = {"4.2.4", "5.0.1"}
FINE: Final = {Verdict.FINE.value, Verdict.BY_DESIGN.value}


def diagnosed(run: Run, name: str, folder: Path, *words: str) -> tuple[int, dict[str, object]]:
    for time, answers in stall(name).items():
        for path, answer in answers.items():
            file = folder / "dump" / time / f"{path}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(answer))
    ran = run("why", str(folder / "dump"), "--json", *words)
    return ran.code, json.loads(ran.out)


@pytest.mark.parametrize("name", FAULTS)
def test_a_stall_has_its_name(name: str, run: Run, tmp_path: Path) -> None:
    code, row = diagnosed(run, name, tmp_path)
    stall_name = name.partition("/")[2]
    expected = next(causes for prefix, causes in CAUSES.items() if stall_name.startswith(prefix))
    first = row["causes"][0]  # type: ignore[index]
    assert (code, row["subscription"]) == (1, "billing")
    assert first["id"] in expected
    assert first["verdict"] not in FINE
    assert first["by"] == ["worker-1"]


@pytest.mark.parametrize("name", FAULTS)
def test_nothing_is_wrong_with_its_twin(name: str, run: Run, tmp_path: Path) -> None:
    code, row = diagnosed(run, f"{name}-healthy", tmp_path)
    assert code == 0
    assert {cause["verdict"] for cause in row["causes"]} <= FINE  # type: ignore[attr-defined]


def test_there_are_five_faults_of_four_types_on_each_release_each_with_its_twin() -> None:
    faults = ("churn", "cursor-reset", "lost-partitions", "never-acknowledged", "never-asked")
    types = ("exclusive", "failover", "keyshared", "shared")
    expected = {f"{release}/{fault}-{type_}" for release in RELEASES for fault in faults for type_ in types}
    assert set(FAULTS) == expected
    assert {f"{name}-healthy" for name in FAULTS} == set(NAMES) - set(FAULTS)


@pytest.mark.parametrize("name", NAMES)
def test_answers_alone_show_the_line_of_the_release(name: str, run: Run, tmp_path: Path) -> None:
    _, row = diagnosed(run, name, tmp_path)
    release, _, _ = name.partition("/")
    judged = row["release"]
    assert judged["basis"] == "inferred"  # type: ignore[index]
    assert release.startswith(judged["rules"])  # type: ignore[index]
