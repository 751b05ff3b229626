"""Bugs to plant in the engine: each is a slip of the pen that somebody could make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from msgspec.structs import replace

import engine.bundles.columns
import engine.bundles.split
import engine.cluster.journal.file
import engine.failover.choose
import engine.failover.ring
import engine.keyshared.autosplit
import engine.keyshared.delivery_state
import engine.keyshared.draining
import engine.keyshared.ring
import engine.keyshared.sticky
import engine.ring
import engine.routing.producers.producer
import engine.routing.routers
from engine.cluster.timeline import Timeline

Plant = Callable[[pytest.MonkeyPatch], None]


def equal_points_do_not_count(patch: pytest.MonkeyPatch) -> None:
    """``<=`` for ``<`` where a hash looks for its point."""
    ring = engine.failover.ring.FailoverRing

    def owner_index(self: Any, hash_value: int) -> int:
        at = int(np.searchsorted(self.points, hash_value, side="right"))
        return int(self.owners[0 if at == len(self.points) else at])

    patch.setattr(ring, "owner_index", owner_index)


def past_the_end_is_the_last_point(patch: pytest.MonkeyPatch) -> None:
    """No wrap."""
    ring = engine.failover.ring.FailoverRing

    def owner_index(self: Any, hash_value: int) -> int:
        at = int(np.searchsorted(self.points, hash_value, side="left"))
        return int(self.owners[min(at, len(self.points) - 1)])

    patch.setattr(ring, "owner_index", owner_index)


def names_in_order_of_code_points(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine.failover.choose, "utf16_order", lambda name: name)


def the_upper_half_goes_to_the_newcomer(patch: pytest.MonkeyPatch) -> None:
    selector = engine.keyshared.autosplit.AutoSplitSelector
    join_all = selector.join_all

    def join(self: Any, newcomer: Any) -> Any:
        joined = join_all(self, (newcomer,))
        if not self.owners:
            return joined
        swapped = list(joined.owners)
        at = swapped.index(newcomer.consumer_id)
        swapped[at], swapped[at + 1] = swapped[at + 1], swapped[at]
        return type(joined)(**{**_fields(joined), "owners": tuple(swapped)})

    patch.setattr(selector, "join", join)


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def the_last_claimant_keeps_a_point(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine.ring.Ring, "_owning", lambda self, hash_value, claimants: claimants - 1)


def nothing_drains(patch: pytest.MonkeyPatch) -> None:
    draining = engine.keyshared.draining.DrainingHashes
    patch.setattr(draining, "blocks", lambda self, slot, consumer_id: (False, self))


def undo_forgets_a_step(patch: pytest.MonkeyPatch) -> None:
    state_at = Timeline.state_at
    patch.setattr(Timeline, "state_at", lambda self, step: state_at(self, max(0, step - (0 < step < self.cursor))))


def one_consumer_that_is_left_still_waits(patch: pytest.MonkeyPatch) -> None:
    """``< 1`` for ``<= 1``."""
    joined = engine.keyshared.delivery_state.RecentlyJoined
    leave = joined.leave
    patch.setattr(joined, "leave", lambda self, consumer_id, left: leave(self, consumer_id, left + 1 if left else 0))


def a_range_inside_another_is_free(patch: pytest.MonkeyPatch) -> None:
    """Only end points inside a range conflict with it, not a range around it."""
    patch.setattr(engine.keyshared.sticky.LegacyStickySelector, "_surrounding", lambda self, start, end: None)


def a_bundle_has_its_upper_end(patch: pytest.MonkeyPatch) -> None:
    """``<=`` for ``<``."""
    columns = engine.bundles.columns
    patch.setattr(columns, "includes", lambda bundle, hashes: (bundle.lower <= hashes) & (hashes <= bundle.upper))


def the_cut_is_one_too_high(patch: pytest.MonkeyPatch) -> None:
    cut = engine.bundles.split.topic_count_equally_divide

    def raised(topics: Any) -> Any:
        result = cut(topics)
        return None if result is None else (result[0] + 1,)

    patch.setattr(engine.bundles.split, "topic_count_equally_divide", raised)


def a_lazy_start_costs_no_turn(patch: pytest.MonkeyPatch) -> None:
    create = engine.routing.producers.producer.create

    def forgetful(settings: Any, router: Any, *rest: Any, **named: Any) -> Any:
        step = create(settings, router, *rest, **named)
        return replace(step, producer=replace(step.producer, router=router))

    patch.setattr(engine.routing.producers.producer, "create", forgetful)


def the_cursor_is_not_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine.cluster.journal.file, "cursor_line", lambda tip, cursor: b"")


PLANTS: Final[dict[Plant, int]] = {
    equal_points_do_not_count: 32,
    past_the_end_is_the_last_point: 114,
    names_in_order_of_code_points: 89,
    the_upper_half_goes_to_the_newcomer: 23,
    the_last_claimant_keeps_a_point: 58,
    nothing_drains: 22,
    one_consumer_that_is_left_still_waits: 15,
    a_range_inside_another_is_free: 9,
    a_bundle_has_its_upper_end: 6,
    the_cut_is_one_too_high: 1,
    a_lazy_start_costs_no_turn: 3,
    undo_forgets_a_step: 0,
    the_cursor_is_not_written: 2,
}
"""Each with the number of an episode that is known to show it."""
