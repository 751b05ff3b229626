"""What holds of the producers in every state: both sides of each connection know of it, names are told apart."""

from __future__ import annotations

from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState


def producer_faults(state: ClusterState) -> list[str]:
    """Everything that is wrong with the producers of a state, as sentences. O(producer objects)."""
    names = [each.topic for each in state.producer_topics]
    found = ["the producers of a topic are kept twice"] if len(set(names)) != len(names) else []
    for each in state.producer_topics:
        topic = state.topics.get(each.topic)
        if topic is None or topic.partitions != each.partitions:
            found.append(f"the producers of {each.topic!r} see {each.partitions} partitions, which it does not have")
        found += _connection_faults(each)
    return found


def _connection_faults(topic: ProducerTopic) -> list[str]:
    brokers, producers = topic.producers.topic, topic.producers.producers
    found = (
        [f"{topic.topic!r} counts its producers wrong"]
        if [p.number for p in producers] != [*range(len(producers))]
        else []
    )
    held = {(each.number, at) for each in producers for at, mine in each.started.items() if mine.connected}
    seen: set[tuple[int, int]] = set()
    for at, there in enumerate(brokers.connected):
        mine = {(each.owner, at) for each in there}
        if len(mine) != len(there) or len({each.producer_name for each in there}) != len(there):
            found.append(f"a producer or a name is connected twice to partition {at} of {topic.topic!r}")
        if there and at in brokers.failing:
            found.append(f"partition {at} of {topic.topic!r} is not served and has producers")
        seen |= mine
    if held != seen:
        found.append(f"producers and brokers of {topic.topic!r} know other connections: {sorted(held ^ seen)[:3]}")
    return found
