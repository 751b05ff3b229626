"""Key_Shared with declared ranges: what overlaps is refused by the model and by the broker alike, gaps are accepted."""

from __future__ import annotations

import random

from engine.admin.facts import SubscriptionFacts
from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.keyshared.ownership import owned_ranges
from tests.broker.conftest import Brokers
from tests.broker.driving import driven
from tests.broker.wire import RefusedError

SETTINGS = {
    "activeConsumerFailoverConsistentHashing": "true",
    "subscriptionKeySharedUseConsistentHashing": "false",
    "activeConsumerFailoverDelayTimeMillis": "0",
}
SLOTS = 65_536
PIECE = SLOTS // 16


def declared(facts: SubscriptionFacts) -> dict[str, list[tuple[int, int]]]:
    return {consumer.name: sorted(consumer.key_hash_ranges) for consumer in facts.consumers}


def test_who_may_declare_which_ranges(brokers: Brokers, steps: int, seed: int) -> None:
    draw = random.Random(seed)
    name = f"sticky-{seed}"
    topic = f"persistent://public/default/{name}"
    refusals = 0
    with driven(brokers(SETTINGS), name, "Key_Shared", {name: 0}, seed) as driving:
        driving.join("first", ranges=[(0, PIECE - 1)])
        driving.seen()
        timeline = driving.opened()
        for number in range(3 * steps):
            here = driving.consumers
            if len(here) > 1 and draw.random() < 0.3:
                gone = draw.choice(here)
                line, ranges = f'kill "{gone}"', None
            else:
                start = draw.randrange(0, SLOTS - PIECE, PIECE // 2)
                ranges = [(start, start + draw.choice((PIECE // 2, PIECE)) - 1)]
                line = f'add "s-{number}" ranges {ranges[0][0]}-{ranges[0][1]}'
            (key,) = (
                subscription.key for subscription in timeline.state.key_subscriptions if subscription.name == name
            )
            command = parse_command(line, timeline.state, key)
            assert isinstance(command, Command), command
            timeline, refused = timeline.submit(command)
            if ranges is None:
                driving.kill(gone)
                assert refused is None
            else:
                try:
                    driving.join(f"s-{number}", ranges=ranges)
                except RefusedError:
                    driving.kill(f"s-{number}")
                    assert refused is not None, f"the broker refuses {line!r} (seed {seed})"
                    refusals += 1
                else:
                    assert refused is None, f"the model refuses {line!r} (seed {seed}): {refused}"
            (subscription,) = (
                subscription for subscription in timeline.state.key_subscriptions if subscription.name == name
            )
            names = {consumer.consumer_id: consumer.name for consumer in subscription.consumers}
            owned = owned_ranges(subscription.delivery.selector)
            predicted = {
                names[owner]: [(piece.start, piece.end) for piece in pieces] for owner, pieces in owned.items()
            }
            assert driving.seen_as(declared, predicted) == predicted, line
    assert refusals
    assert topic in driving.dispatchers
