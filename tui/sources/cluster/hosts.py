"""Which hosts of a cluster a reading still asks: thousands of requests to one that is away would each wait as long."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tui.sources.cluster.outcomes import Fault, Gap

_GIVEN_UP_AFTER: Final = 3
"""After so many unanswered requests in a row a host is not asked again. While so many are away, each is asked once: it
is the network that is away, and not for a moment."""
_ALL_AWAY_AFTER: Final = 20
"""After so many brokers that are away, and none that answers, the others are not asked: brokers name hosts that may be
known only inside the cluster."""
_AWAY: Final = frozenset({Fault.UNREACHABLE, Fault.TIMEOUT, Fault.SLOW, Fault.CERTIFICATE})
_AT_ONCE: Final = frozenset({Fault.UNREACHABLE, Fault.CERTIFICATE})


class Hosts:
    """What is known of the hosts in one reading. ``home`` is the cluster's own address."""

    def __init__(self, home: str) -> None:
        self._home = home
        self.begin()

    def begin(self) -> None:
        """Forget what was, for another reading."""
        self._silent: dict[str, int] = {}
        self._away: dict[str, Gap] = {}
        self._down: dict[str, Gap] = {}
        self._is_any_there = False

    @property
    def may_be_tried_again(self) -> bool:
        return len(self._away) < _GIVEN_UP_AFTER

    def answered(self, origin: str) -> None:
        """Note that a host is there."""
        self._silent.pop(origin, None)
        self._away.pop(origin, None)
        self._is_any_there |= origin != self._home

    def missed(self, gap: Gap) -> None:
        """Note one try without an answer."""
        if gap.fault in _AWAY and gap.origin != self._home:
            self._away[gap.origin] = gap

    def gave_nothing(self, gap: Gap) -> None:
        """Note a request whose tries are over."""
        self._silent[gap.origin] = self._silent.get(gap.origin, 0) + (gap.fault in _AWAY)
        if gap.fault in _AT_ONCE or self._silent[gap.origin] >= _GIVEN_UP_AFTER:
            self._down.setdefault(gap.origin, gap)

    def why_not_asked(self, path: str, origin: str) -> Gap | None:
        """A gap in place of a request to a host that is given up; None where it is asked."""
        if origin in self._down:
            return replace(self._down[origin], path=path)
        if origin == self._home or self._is_any_there or len(self._away) < _ALL_AWAY_AFTER:
            return None
        reason = f"not asked, since {len(self._away)} other brokers are away and none has answered"
        return Gap(path, Fault.UNREACHABLE, reason, origin)
