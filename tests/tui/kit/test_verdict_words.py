"""The sentence about a change: what has no owner any more does not stay in place."""

from __future__ import annotations

import numpy as np
import pytest

from engine.cluster.commands import KillConsumer
from engine.compare.verdict import Verdict, evenness_of, judge, preview
from engine.views.comparing.heirs import HeirRow
from tests.engine.views.states import cluster
from tui.kit.verdict_words import loss_text, moved_text, shares_text


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


@pytest.mark.parametrize(
    ("before", "after", "judgement", "contrary"),
    [([6, 0, 0], [2, 2, 2], "better", 0), ([4, 4, 0, 0], [6, 1, 1, 0], "worse", 1), ([2, 2, 2], [4, 2, 0], "worse", 0)],
)
def test_a_figure_that_speaks_against_the_verdict_says_so(
    before: list[int], after: list[int], judgement: str, contrary: int
) -> None:
    sides = [evenness_of(np.array(counts), None, sum(counts)) for counts in (before, after)]
    word, judged_by = judge(sides[0], sides[1])
    assert word == judgement
    text = shares_text(Verdict(word, judged_by, sides[0], sides[1], 1, 1, sum(after), None, None, None))
    assert text.count("although") == contrary
    assert f"{sides[0].max_over_mean:.2f} → {sides[1].max_over_mean:.2f}" in text


@pytest.mark.parametrize(("gone", "overloaded"), [("b", "c"), ("a", None)])
def test_a_loss_names_who_is_overloaded_or_nobody(gone: str, overloaded: str | None) -> None:
    heirs = (HeirRow(1, "d", 1, 2, 9.0, 9.0), HeirRow(2, "c", 3, 6, 0.0, 0.0))
    sides = [evenness_of(np.array(counts), None, 6) for counts in ([3, 2, 1], [6, 0])]
    word = judge(*(sides if overloaded else sides[:1] * 2), lost=2)
    verdict = Verdict(*word, *(sides if overloaded else sides[:1] * 2), 2, 2, 6, None, None, None)
    text = loss_text(verdict, heirs, "partition")
    assert ("c has most" in text, "nobody" in text) == (overloaded is not None, overloaded is None)
