"""Notices: what Pulsar's oddities do to the shown subscription, with the numbers the ring gives."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.cluster.timeline import Timeline
from engine.failover.ring import FailoverRing, colliding_names
from engine.views.failover.dashboard import dashboard_view
from engine.views.failover.model import Notice
from tests.engine.views.states import cluster


def notices(names: list[str], topics: dict[str, int], **more: object) -> dict[str, str]:
    view = dashboard_view(Timeline.start(cluster(names, topics, **more)))  # type: ignore[arg-type]
    return {notice.code: notice.text for notice in view.notices}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 130), min_size=1, max_size=25, unique=True))
def test_F09_collisions_by_name_are_exactly_the_shared_key_texts_of_the_ring(numbers: list[int]) -> None:
    ring = FailoverRing(tuple(sorted(f"c-{number}" for number in numbers)))
    by_claims: dict[str, set[str]] = {}
    for point in ring.collided_points():
        *others, winner = ring.claims(point)
        for claim in others:
            if claim.key == winner.key:
                by_claims.setdefault(ring.names[claim.owner_index], set()).add(ring.names[winner.owner_index])
    assert {name: set(winners) for name, winners in colliding_names(ring.names).items()} == by_claims


def test_F09_twenty_numbered_consumers_starve_number_1_and_the_notice_says_how_much() -> None:
    state = cluster([f"x-{at}" for at in range(20)], {"t": 50}, flag=True)
    view = dashboard_view(Timeline.start(state))
    (text,) = [notice.text for notice in view.notices if notice.code == "names-collide"]
    starved = next(row for row in view.consumers if row.name == "x-1")
    assert starved.ring_points == 10
    assert f"x-1 keeps 10 of 100 points and {starved.ring_share:.1%} of the ring" in text
    assert "an even share is 5.0%" in text and "x-11, x-12 and 7 more" in text
    assert [row.name for row in view.consumers if row.ring_points < 100] == ["x-1"]


def test_F09_padded_names_are_clean_and_modulo_only_foresees_the_loss() -> None:
    assert "names-collide" not in notices([f"x-{at:02}" for at in range(20)], {"t": 50}, flag=True)
    foreseen = notices([f"x-{at}" for at in range(20)], {"t": 50})["names-collide"]
    assert foreseen.endswith("it counts once the ring decides")


def test_F09_of_a_hundred_numbered_consumers_nine_are_named_or_counted() -> None:
    text = notices([f"x-{at}" for at in range(100)], {"t": 1}, flag=True)["names-collide"]
    assert len(re.findall(r"keeps 10 of 100", text)) == 3 and text.endswith("and 6 more")


def test_F10_of_equal_names_only_the_last_connected_can_be_active_on_the_ring() -> None:
    state = cluster(["a", "twin", "twin"], {"t": 200}, flag=True)
    view = dashboard_view(Timeline.start(state))
    twins = [row for row in view.consumers if row.name == "twin"]
    assert [(row.consumer_id, row.ring_points, row.active_partitions > 0) for row in twins] == [
        (1, 0, False),
        (2, 100, True),
    ]
    (text,) = [notice.text for notice in view.notices if notice.code == "duplicate-names"]
    assert "'twin' (2 consumers)" in text and "only the last connected" in text
    by_modulo = notices(["a", "twin", "twin"], {"t": 200})["duplicate-names"]
    assert "only the last" not in by_modulo, "modulo gives each of them its partitions"


def test_a_flag_that_the_release_does_not_know_is_reported() -> None:
    assert "Pulsar 4.0.0 does not know it" in notices(["a"], {"t": 2}, flag=True, release="4.0.0")["flag-unknown"]
    assert "flag-unknown" not in notices(["a"], {"t": 2}, flag=True, release="4.0.1")
    assert "flag-unknown" not in notices(["a"], {"t": 2}, flag=False, release="4.0.0")


def test_F03_topics_without_partitions_ignore_the_flag_and_this_is_reported() -> None:
    for flag in (False, True):
        assert (
            "1 topic without partitions goes by the hash ring"
            in notices(["a"], {"t": 2, "u": 0}, flag=flag)["flag-ignored"]
        )
    assert "connected first" in notices(["a"], {"u": 0, "v": 0}, release="2.11.0")["flag-ignored"]
    assert "flag-ignored" not in notices(["a"], {"t": 2})


def test_standbys_are_reported_with_their_level() -> None:
    text = notices(["a", "b", "c"], {"t": 2}, levels=[1, 5, 5])["standby"]
    assert text == "2 consumers stand by while one of level 1 is connected: b (level 5), c (level 5)"


def test_what_the_opening_noted_comes_last() -> None:
    noted = Notice("priorities-inferred", "sub: inferred")
    view = dashboard_view(Timeline.start(cluster(["a"], {"u": 0})), notes=[noted])
    assert [notice.code for notice in view.notices] == ["flag-ignored", "priorities-inferred"]


def test_an_ordinary_cluster_has_no_notice() -> None:
    assert notices(["a", "b"], {"t": 4}) == {} == notices([], {})
