"""One subscription at the controller, event by event: who is registered, what is known as drained, the present deal.

After ``SubscriptionCoordinator`` and ``ConsumerSession`` of Pulsar 5.0.1. Time is the caller's: an event for the grace
period and one for the drain check.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from engine.scalable.dealing import Deal, Grant, deal
from engine.scalable.model import Layout

GRACE_PERIOD_SECONDS = 60
FIRST_DRAIN_CHECK_SECONDS = 2
LAST_DRAIN_CHECK_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Counts:
    """What the controller's metrics count."""

    active: int
    idle: int
    disconnected: int
    blocked: int


@dataclass(frozen=True, slots=True)
class Coordinator:
    """``sessions`` say of each name whether it is connected. ``check_pending``: a drain check will come.

    ``drain_rule`` and ``checkpoint`` can both hold, for a name that is used for both kinds of consumers. ``present`` is
    the deal in force, None before the first one. ``served`` and ``blocked_count`` are for metrics, which count what was
    true when all was dealt last: the consumers with segments, and the segments that waited.
    """

    layout: Layout
    drain_rule: bool = False
    checkpoint: bool = False
    sessions: Mapping[str, bool] = field(default_factory=dict)
    drained: frozenset[int] = frozenset()
    check_pending: bool = False
    present: Deal | None = None
    served: frozenset[str] = frozenset()
    blocked_count: int = 0

    @property
    def shares_buckets(self) -> bool:
        return self.drain_rule and not self.checkpoint

    def register(self, name: str) -> Coordinator:
        """A consumer comes, or comes back within its grace period: then nothing is dealt.

        A STREAM consumer's brings the drain rule with it, a CHECKPOINT consumer's makes the subscription such a group.
        """
        came = replace(self, sessions={**self.sessions, name: True})
        if name not in self.sessions:
            return came._dealt(check=True)
        return replace(came, served=self.served | {name} if self.grants(name) else self.served - {name})

    def unregister(self, name: str) -> Coordinator:
        """A consumer says that it leaves: its segments are dealt again at once."""
        if name not in self.sessions:
            return self
        left = replace(self, sessions={one: connected for one, connected in self.sessions.items() if one != name})
        return left._dealt()

    def disconnect(self, name: str) -> Coordinator:
        """A connection is lost: nothing moves until the grace period is over."""
        return replace(self, sessions={**self.sessions, name: False}) if name in self.sessions else self

    def expire(self, name: str) -> Coordinator:
        """A grace period is over."""
        return self if self.sessions.get(name) else self.unregister(name)

    def restore(self, names: Iterable[str]) -> Coordinator:
        """A new controller reads the names back as just lost."""
        return replace(self, sessions={**dict.fromkeys(names, False), **self.sessions})._dealt()

    def with_drain_rule(self) -> Coordinator:
        """The subscription once a STREAM consumer has registered."""
        return self if self.drain_rule else replace(self, drain_rule=True)._dealt(check=True)

    def as_checkpoint(self) -> Coordinator:
        """The subscription once a CHECKPOINT consumer has registered; nobody is informed of what that changes."""
        group = replace(self, checkpoint=True)
        return replace(group, present=group._deal())

    def with_layout(self, layout: Layout) -> Coordinator:
        """The subscription after a change of the layout."""
        return replace(self, layout=layout)._dealt(check=True)

    def check(self, without_backlog: Collection[int]) -> Coordinator:
        """The drain check, which finds these segments without a backlog."""
        if not self.check_pending:
            return self
        found = {one for one in without_backlog if one in self.layout.segments and not self.layout.segments[one].active}
        if found <= self.drained:
            return replace(self, check_pending=self._something_left())
        return replace(self, drained=self.drained | found)._dealt(check=True)

    def grants(self, name: str) -> tuple[Grant, ...]:
        """What a registered consumer has at present."""
        return self.present.grants.get(name, ()) if self.present is not None else ()

    @property
    def blocked(self) -> tuple[int, ...]:
        """The segments that wait for an ancestor, as statistics show them."""
        if self.present is None or self.checkpoint or not self.drain_rule:
            return ()
        return self.present.waiting

    def counts(self) -> Counts:
        connected = [name for name, there in self.sessions.items() if there]
        active = sum(1 for name in connected if name in self.served)
        return Counts(active, len(connected) - active, len(self.sessions) - len(connected), self.blocked_count)

    def _something_left(self) -> bool:
        sealed = (one.segment_id for one in self.layout.segments.values() if not one.active)
        return self.drain_rule and bool(self.sessions) and any(one not in self.drained for one in sealed)

    def _deal(self) -> Deal:
        return deal(self.layout, self.sessions, self.drained, drain_rule=self.drain_rule, checkpoint=self.checkpoint)

    def _dealt(self, *, check: bool = False) -> Coordinator:
        """Everything dealt again; ``check`` makes the next drain check the first of a new row."""
        known = replace(self, drained=self.drained & self.layout.segments.keys())
        present = known._deal()
        grants = present.grants
        return replace(
            known,
            present=present,
            served=frozenset(name for name in grants if grants[name]),
            blocked_count=len(present.waiting) if self.sessions and self.drain_rule else 0,
            check_pending=known._something_left() if check else self.check_pending and bool(self.sessions),
        )
