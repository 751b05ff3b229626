"""Each notice of a Key_Shared subscription is there when it is true, and not otherwise."""

from __future__ import annotations

from engine.views.keys.view import keys_view
from tests.engine.views.key_states import KEY, after


def told(*lines: str) -> dict[str, str]:
    return {notice.code: notice.text for notice in keys_view(after(*lines), KEY).notices}


def test_an_ordinary_ring_has_nothing_to_tell() -> None:
    assert told("add a", "add b", "send k") == {}


def test_consistent_sticky_ranges_are_said_to_be_a_technique_of_clients() -> None:
    assert told("share consistent-sticky points 4", "add a") == {
        "key-client-side": "consistent sticky ranges are a technique of clients: the broker sees STICKY ranges, and "
        "since they may not overlap, all nodes stop before the number of nodes changes"
    }


def test_gaps_are_counted_with_the_known_keys_in_them() -> None:
    found = told("share sticky", "add a ranges 0-9,20-29,40-49,60-65535", "send k-1")
    assert found == {"key-gaps": "30 slots have no owner ([10,19], [30,39], [50,59]): 0 of the known keys wait there"}
    most = told("share sticky", "add a ranges 0-9", "send k-1 k-2")
    assert most == {"key-gaps": "65,526 slots have no owner ([10,65535]): 2 of the known keys wait there"}
    assert "key-gaps" not in told("share sticky")


def test_a_release_that_serves_gaps_says_so() -> None:
    found = told("release 4.0.0", "share sticky", "add a ranges 0-9,20-29")
    assert found["key-gaps-served"] == (
        "Pulsar 4.0.0 keeps only the ends of ranges: a gap between two ranges of one consumer is its"
    )
    assert found["key-gaps"].startswith("65,506 slots have no owner ([30,65535])")
    assert "key-gaps-served" not in told("release 4.0.7", "share sticky", "add a ranges 0-9,20-29")


def test_K13_points_that_meet_are_told_where_join_order_decides() -> None:
    crowded = ("set subscriptionKeySharedConsistentHashingReplicaPoints 20000", "add a", "add b")
    found = told(*crowded)
    assert found["key-points-lost"].endswith(
        "meet others, and who joined first keeps them: the later a consumer joined, the less it has"
    )
    assert "of 40,000 points" in found["key-points-lost"]
    assert "key-points-lost" not in told("add a", "add b")


def test_K03_one_name_for_several_is_told_with_what_it_does_in_the_release() -> None:
    assert told("add a", "add a", 'add ""', 'add ""', "add b")["key-shared-names"] == (
        "one name for several consumers: 'a', ''; statistics by name cannot tell them apart"
    )
    assert told("release 2.11.0", "add a", "add a")["key-shared-names"] == (
        "one name for several consumers: 'a'; in this release they share every point and take turns"
    )


def test_out_of_order_delivery_is_told_where_it_can_happen() -> None:
    lines = ("subscribe loose to persistent://t/n/orders unordered",)
    notices = {each.code: each.text for each in keys_view(after(*lines), "loose").notices}
    assert notices["key-no-order"] == (
        "messages of a key can overtake each other here when consumers come and go: out-of-order delivery is allowed"
    )
