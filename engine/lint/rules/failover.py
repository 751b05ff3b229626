"""Rules about Failover subscriptions: names, and the flag of consistent hashing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from engine.failover.choose import Rule as ActiveRule
from engine.failover.ring import POINTS_PER_CONSUMER, colliding_names, failover_ring
from engine.lint.model import Finding, Rule, Severity, SubscriptionCase
from engine.text import counted, listed

_DUPLICATE_NAMES_ADVICE: Final = "give every consumer its own name, or let the client generate one"


def duplicate_names(case: SubscriptionCase) -> Iterator[Finding]:
    """Consumers of one name in a Failover subscription (bug pattern F10).

    One finding for each name that several consumers of the best priority level have. O(n) for n consumers.

    Equal names have equal points, and the consumer that connected last owns them all: an error where the ring decides.
    Elsewhere each of them gets its part, and only statistics cannot distinguish them.

    >>> from engine.failover.model import Consumer
    >>> from engine.lint.model import World
    >>> two = (Consumer(1, "c"), Consumer(2, "c"))
    >>> case = SubscriptionCase(World(), "t/n", "s", "persistent://t/n/x", two, 3, 1)
    >>> [finding.severity.label for finding in duplicate_names(case)]
    ['error']
    """
    ring_topics = case.ring_topics
    for name, count in Counter(case.names).items():
        if count == 1:
            continue
        numbers = (("consumers", count), ("never_active", count - 1 if ring_topics else 0), ("topics", ring_topics))
        start = f"{count} consumers are named {name!r}"
        if ring_topics:
            rest = "the other gets nothing" if count == 2 else f"the other {count - 1} get nothing"
            where = f"the ring of {counted(ring_topics, 'topic')}" if case.topic else "a ring"
            what = f"{start}: on {where} only the last connected of them can ever be active, {rest}"
            yield Finding(
                DUPLICATE_NAMES.id,
                Severity.ERROR,
                what,
                case.where_of(name),
                numbers,
                _DUPLICATE_NAMES_ADVICE,
            )
        else:
            what = f"{start}: statistics do not show which of them is active; on a ring only one could ever be"
            yield Finding(
                DUPLICATE_NAMES.id,
                Severity.INFO,
                what,
                case.where_of(name),
                numbers,
                _DUPLICATE_NAMES_ADVICE,
            )


DUPLICATE_NAMES: Final = Rule(
    "failover-duplicate-names",
    "several consumers of a Failover subscription have one name",
    Severity.ERROR,
    "review of #23583; #7827",
    duplicate_names,
)


_FLAG_IGNORED_ADVICE: Final = (
    "expect neither modulo nor the order of connecting there: ask which consumer a topic goes to, and choose names"
    " with the ring in mind"
)


def flag_ignored(case: SubscriptionCase) -> Iterator[Finding]:
    """Topics without partitions go by the ring although the flag is off (bug pattern F03).

    One finding for a subscription that has such topics and more than one consumer who could be active. O(n log n).

    Since 3.0 the setting is about partitions only. Before, and where it is on, these topics go as it suggests.

    >>> from engine.failover.model import Consumer
    >>> from engine.lint.model import World
    >>> two = (Consumer(1, "a"), Consumer(2, "b"))
    >>> case = SubscriptionCase(World(), "t/n", "s", "persistent://t/n/x", two, partitioned=5, unpartitioned=7)
    >>> [finding.number("topics") for finding in flag_ignored(case)]
    [7]
    """
    flag = case.world.settings.activeConsumerFailoverConsistentHashing
    if flag or not case.unpartitioned or case.rule(-1) is not ActiveRule.RING or len(case.names) < 2:
        return
    what = (
        f"{counted(case.unpartitioned, 'topic')} without partitions: the hash ring decides, although"
        " activeConsumerFailoverConsistentHashing is false: the setting is about partitions only"
    )
    numbers = (("topics", case.unpartitioned), ("of_topics", case.unpartitioned + case.partitioned))
    yield Finding(FLAG_IGNORED.id, Severity.INFO, what, case.where, numbers, _FLAG_IGNORED_ADVICE)


FLAG_IGNORED: Final = Rule(
    "failover-flag-ignored",
    "topics without partitions go by the ring while the flag is off",
    Severity.INFO,
    "#19502, #24747, #20752",
    flag_ignored,
)


def flag_unknown(case: SubscriptionCase) -> Iterator[Finding]:
    """The flag is on, and the release does not know it (bug pattern F03): topics go as if it were not there.

    One finding for a subscription with topics that the ring does not decide, and consumers to choose from.

    Partitions go by modulo, and before 3.0 topics without partitions to whoever connected first, of any priority level.
    O(n log n) for n consumers. A release without PIP-392 ignores the line in broker.conf without a word.

    >>> from engine.config import BrokerSettings, behaviour_of
    >>> from engine.failover.model import Consumer
    >>> from engine.lint.model import World
    >>> old = World(BrokerSettings(activeConsumerFailoverConsistentHashing=True), behaviour_of("4.0.0"))
    >>> two = (Consumer(1, "a"), Consumer(2, "b"))
    >>> case = SubscriptionCase(old, "t/n", "s", "persistent://t/n/x", two, 5, 0)
    >>> [finding.number("topics") for finding in flag_unknown(case)]
    [5]
    """
    world = case.world
    if not world.settings.activeConsumerFailoverConsistentHashing or world.flag_in_force:
        return
    parts = case.partitioned if len(case.names) > 1 else 0
    others = case.unpartitioned if case.rule(-1) is not ActiveRule.RING and len(case.consumers) > 1 else 0
    if not parts + others:
        return
    effects = [f"modulo decides for {counted(parts, 'partitioned topic')}"] if parts else []
    if others:
        effects.append(f"the consumer that connected first has {counted(others, 'topic')} without partitions")
    what = (
        f"activeConsumerFailoverConsistentHashing is true, but Pulsar {world.behaviour.label} does not know it:"
        f" {' and '.join(effects)}"
    )
    advice = "run 4.0.1, 3.3.3, 3.0.8 or later of these lines, or take the setting out of broker.conf"
    yield Finding(FLAG_UNKNOWN.id, Severity.WARNING, what, case.where, (("topics", parts + others),), advice)


FLAG_UNKNOWN: Final = Rule(
    "failover-flag-unknown",
    "the flag is on, but this release does not know it",
    Severity.WARNING,
    "PIP-392, #23584",
    flag_unknown,
)


_NAMES_COLLIDE_ADVICE: Final = (
    "give all numbers one width (c-01, c-02) or end the names with no digit (c-1x): then no name is another one with"
    " digits behind it"
)


def names_collide(case: SubscriptionCase) -> Iterator[Finding]:
    """Numbered names take points of the failover ring from each other (bug pattern F09).

    One finding for each name that loses points: how many, and its share of the ring beside an even one.

    ``lost_share`` is the part of its own points that it loses, ``share`` the part of the ring that is left to it.

    Without a collision O(n) for n names, else that and a ring of them, O(n log n) for 100 n points. Where modulo
    decides it is only to be known: the loss begins with the flag.

    >>> from engine.failover.model import Consumer
    >>> from engine.lint.model import World
    >>> three = tuple(Consumer(at, name) for at, name in enumerate(("c-1", "c-11", "c-2")))
    >>> (found,) = names_collide(SubscriptionCase(World(), "t/n", "s", "persistent://t/n/x", three, 0, 1))
    >>> found.where.consumer, found.number("points_lost"), found.severity.label
    ('c-1', 10, 'warning')
    """
    losers = colliding_names(case.names)
    if not losers:
        return
    names = tuple(dict.fromkeys(case.names))
    ring = failover_ring(names)
    counts, shares, even = ring.point_counts(), ring.shares(), 1 / len(names)
    decides = case.ring_topics > 0
    effect = "" if decides else "; it counts once the ring decides"
    for at, name in enumerate(names):
        if name not in losers:
            continue
        lost = POINTS_PER_CONSUMER - counts[at]
        what = (
            f"{name} loses {lost} of its {POINTS_PER_CONSUMER} points to {listed(losers[name])}, and keeps"
            f" {shares[at]:.2%} of the failover ring (even: {even:.2%}): a point is name and number written together,"
            f" and {losers[name][0]} with 0 behind it is {name} with {losers[name][0][-1]}0{effect}"
        )
        numbers = (
            ("points_lost", lost),
            ("points_kept", counts[at]),
            ("points", POINTS_PER_CONSUMER),
            ("lost_share", lost / POINTS_PER_CONSUMER),
            ("share", shares[at]),
            ("even_share", even),
        )
        severity = Severity.WARNING if decides else Severity.INFO
        yield Finding(NAMES_COLLIDE.id, severity, what, case.where_of(name), numbers, _NAMES_COLLIDE_ADVICE)


NAMES_COLLIDE: Final = Rule(
    "failover-names-collide",
    "numbered names collide on the failover ring, and one of them loses points",
    Severity.WARNING,
    "AbstractDispatcherSingleActiveConsumer.makeHashRing; the same in Key_Shared was #22050",
    names_collide,
)
