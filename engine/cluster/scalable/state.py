"""One scalable topic in the state: what happened to it, and what is folded from that.

As with producers, the history is the state; the fold (``engine.cluster.scalable.evolve``) is kept beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.cluster.scalable.events import ScalableTopicEvent

if TYPE_CHECKING:  # the rules are imported with the first topic
    from engine.cluster.scalable.running import Running


@dataclass(frozen=True, slots=True)
class ScalableTopic:
    """``happened`` is all that counts when two are compared; ``running`` is folded from it."""

    topic: str
    happened: tuple[ScalableTopicEvent, ...]
    running: Running = field(compare=False, repr=False)
