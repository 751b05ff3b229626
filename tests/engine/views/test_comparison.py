"""What brokers reported beside the model: counted, cut into pieces of the hash space, and silent where both agree."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.cluster.timeline import Timeline
from engine.hashing import HASH_SPACE_SIZE
from engine.scenarios.opening import Opened, open_moments
from engine.views.failover.dashboard import dashboard_view
from engine.views.failover.model import DashboardView
from engine.views.reported.model import Comparison
from engine.views.reported.view import Reported, subject_of, with_reported
from tests.engine.views.test_reported import keys_shown, main_view
from tests.tui.reported_scenes import actives_that_differ, draining_moments, ranges_that_differ

PATH = "admin/v2/persistent/ring/aafailover8phash/orders/partitioned-stats.json"


def compared(view: DashboardView) -> Comparison:
    assert view.reported is not None
    assert view.reported.comparison is not None
    return view.reported.comparison


def opened(*files: AnswerFile) -> Opened:
    return open_moments(read_moments(*files))


@pytest.mark.parametrize("rule", ["hash", "modulo"])
@pytest.mark.parametrize("count", [0, 1, 3, 8])
def test_as_many_differ_as_were_reported_otherwise(rule: str, count: int) -> None:
    view = main_view(opened(*actives_that_differ(f"a-failover-8p-{rule}", count)))
    comparison = compared(view)
    assert (comparison.compared, len(comparison.disagreements), comparison.agree) == (8, count, 8 - count)
    assert int(comparison.differs.sum()) == count
    assert len(comparison.points) == (8 if count else 0)


def test_each_difference_has_both_sides_and_the_rule() -> None:
    view = main_view(opened(*actives_that_differ("a-failover-8p-modulo", 2)))
    names = [row.name for row in view.consumers]
    owners = dict(zip(view.ring.topic_names, view.ring.topic_owners.tolist(), strict=True))
    for disagreement in compared(view).disagreements:
        assert disagreement.modelled == names[owners[disagreement.topic]]
        assert disagreement.reported in names
        assert disagreement.reported != disagreement.modelled
        assert (disagreement.subscription, disagreement.rule) == ("sub", view.status.rule_text)


def test_a_piece_lies_around_each_topic_with_its_owners() -> None:
    view = main_view(opened(*actives_that_differ("a-failover-8p-hash", 3)))
    comparison, ring = compared(view), view.ring
    assert np.all(np.diff(comparison.points) > 0)
    assert comparison.points[-1] < HASH_SPACE_SIZE
    reported = {disagreement.topic: disagreement.reported for disagreement in comparison.disagreements}
    names = [row.name for row in view.consumers]
    for topic, place, owner in zip(
        ring.topic_names, ring.topic_hashes.tolist(), ring.topic_owners.tolist(), strict=True
    ):
        piece = int(np.searchsorted(comparison.points, place)) % len(comparison.points)
        assert comparison.modelled[piece] == owner
        assert names[comparison.reported[piece]] == reported.get(topic, names[owner])
        assert bool(comparison.differs[piece]) == (topic in reported)


def test_a_partition_with_other_consumers_is_not_compared() -> None:
    stats, flag = actives_that_differ("a-failover-8p-hash", 1)
    data = json.loads(stats.data)
    partition = data["partitions"][next(iter(data["partitions"]))]["subscriptions"]["sub"]
    partition["consumers"].pop()
    view = main_view(opened(AnswerFile(stats.name, json.dumps(data).encode()), flag))
    assert (compared(view).compared, compared(view).disagreements) == (7, ())


def test_what_no_answer_names_is_not_compared() -> None:
    stats, flag = actives_that_differ("a-failover-8p-hash", 1)
    data = json.loads(stats.data)
    for partition in data["partitions"].values():
        del partition["subscriptions"]["sub"]["activeConsumerName"]
    view = main_view(opened(AnswerFile(stats.name, json.dumps(data).encode()), flag))
    assert compared(view).compared == 0


def test_of_a_running_cluster_only_what_two_readings_say_counts() -> None:
    stats, flag = actives_that_differ("a-failover-8p-hash", 3)
    right, _ = actives_that_differ("a-failover-8p-hash", 0)
    counts = []
    for answers in ((stats,), (right, stats), (stats, stats)):
        files = [
            AnswerFile(f"2026-11-22T09-48-0{at}Z/{file.name}", file.data)
            for at, answer in enumerate(answers)
            for file in (answer, flag)
        ]
        result = opened(*files)
        timeline = Timeline.start(result.state)
        view = dashboard_view(timeline)
        subject = subject_of(timeline, view.status.subscription)
        assert subject is not None
        reported = Reported(result.seen, settled_only=True)
        comparison = compared(with_reported(view, reported, reported.last, subject))
        counts.append((comparison.compared, len(comparison.disagreements)))
    assert counts == [(0, 0), (5, 0), (8, 3)]


def test_a_step_of_the_simulation_leaves_the_comparison_behind() -> None:
    view = main_view(opened(*actives_that_differ("a-failover-8p-hash", 3)), "kill c-a")
    assert view.reported is not None
    assert view.reported.comparison is None


def test_ranges_that_no_mode_gives_differ_slot_by_slot() -> None:
    file = ranges_that_differ()
    view = keys_shown(opened(file))
    assert view.reported is not None
    comparison = view.reported.comparison
    assert comparison is not None
    (subscription,) = json.loads(file.data)["subscriptions"].values()
    names = [row.name for row in view.consumers]
    owner_of = {}
    for consumer in subscription["consumers"]:
        for start, end in consumer["keyHashRangeArrays"]:
            owner_of.update(dict.fromkeys(range(start, end + 1), consumer["consumerName"]))
    pieces = np.searchsorted(comparison.points, np.arange(1, 65_536))
    assert [names[at] for at in comparison.reported[pieces].tolist()] == [owner_of[slot] for slot in range(1, 65_536)]
    assert np.array_equal(comparison.differs, comparison.reported != comparison.modelled)
    assert (comparison.compared, len(comparison.disagreements)) == (3, 2)


def test_reported_ranges_that_a_mode_gives_agree() -> None:
    view = keys_shown(open_moments(draining_moments()))
    assert view.reported is not None
    assert view.reported.comparison is not None
    assert view.reported.comparison.compared >= 2
    assert view.reported.comparison.disagreements == ()
