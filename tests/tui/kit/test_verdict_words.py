"""The sentence about a change: what has no owner any more does not stay in place."""

from __future__ import annotations

import pytest

from engine.cluster.commands import KillConsumer
from engine.compare.verdict import Verdict, preview
from tests.engine.views.states import cluster
from tui.kit.verdict_words import moved_text


@pytest.mark.parametrize(("consumers", "moved"), [(["a"], 0), (["a", "b"], 1)])
def test_partitions_of_a_consumer_that_leaves_do_not_stay(consumers: list[str], moved: int) -> None:
    verdict = preview(cluster(consumers, {"orders": 2}), KillConsumer("sub", 0), "sub")
    assert isinstance(verdict, Verdict)
    assert verdict.moved == moved
    assert "nothing moves" not in moved_text(verdict)


def test_a_standby_that_leaves_moves_nothing() -> None:
    verdict = preview(cluster(["a", "b"], {"orders": 2}, levels=[0, 1]), KillConsumer("sub", 1), "sub")
    assert isinstance(verdict, Verdict)
    assert "nothing moves" in moved_text(verdict)
