"""A command as a line of the grammar; ``engine.cluster.grammar`` reads it back."""

from __future__ import annotations

from typing import Final

from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    Command,
    KillConsumer,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    SplitBundle,
)
from engine.cluster.state import ClusterState
from engine.cluster.timeline_commands import End, GoTo, Home, Redo, SwitchBranch, TimelineCommand, Undo
from engine.cluster.words import quote

OPTION_WORDS: Final = frozenset({"at", "bundle", "of", "partitions", "priority", "to"})
"""Words that begin an option; a value of that spelling is written in quotes where an option could stand."""

BUNDLE_WORDS: Final = ("LARGEST", "HOT")


def command_text(command: Command | TimelineCommand, state: ClusterState | None = None) -> str:
    """One line that reads back as the same command.

    Without a state a consumer is written ``#ID`` and its subscription always named, so the line reads back anywhere.
    With the state it is about to act on, names are used where they are unique and a sole subscription is left out.

    >>> command_text(AddConsumer("billing", "worker 1", 2))
    'add "worker 1" priority 2 to billing'
    >>> command_text(SplitBundle("t/n", "0x00000000_0x80000000", "specified_positions_divide", (7, 9)))
    'split t/n/0x00000000_0x80000000 specified_positions_divide at 7,9'
    """
    match command:
        case AddConsumer(key, name, level):
            priority = f" priority {level}" if level else ""
            return f"add {quote(name)}{priority}{_subscription('to', key, state)}"
        case KillConsumer(key, consumer_id):
            return f"kill {_consumer(key, consumer_id, state)}{_subscription('of', key, state)}"
        case RenameConsumer(key, consumer_id, name):
            who = _consumer(key, consumer_id, state)
            return f"rename {who} to {quote(name)}{_subscription('of', key, state)}"
        case SetPriorityLevel(key, consumer_id, level):
            return f"priority {_consumer(key, consumer_id, state)} {level}{_subscription('of', key, state)}"
        case SetSetting(name, text):
            return f"set {quote(name)} {quote(text)}"
        case SetRelease(version):
            return f"release {quote(version)}"
        case AddTopic(topic, partitions):
            return f"topic add {quote(topic)}" + (f" partitions {partitions}" if partitions else "")
        case RemoveTopic(topic):
            return f"topic remove {quote(topic)}"
        case RepartitionTopic(topic, partitions):
            return f"topic partitions {quote(topic)} {partitions}"
        case SplitBundle():
            return _split_text(command)
        case _:
            return _timeline_text(command)


def _timeline_text(command: TimelineCommand) -> str:
    match command:
        case GoTo(step):
            return f"step {step}"
        case SwitchBranch(branch):
            return f"branch {branch}"
        case Undo() | Redo() | Home() | End():
            return type(command).__name__.lower()


def _split_text(command: SplitBundle) -> str:
    algorithm = f" {quote(command.algorithm, OPTION_WORDS)}" if command.algorithm is not None else ""
    positions = f" at {','.join(map(str, command.positions))}" if command.positions else ""
    slashes = command.namespace.count("/")
    if command.bundle in BUNDLE_WORDS and slashes < 2:
        target = f"{quote(command.namespace)} {command.bundle}"
    elif command.bundle and "/" not in command.bundle and slashes == 1:
        target = quote(f"{command.namespace}/{command.bundle}")
    else:
        # Any two texts fit in here, also those that no broker has.
        target = f"{quote(command.namespace)} bundle {quote(command.bundle)}"
    return f"split {target}{algorithm}{positions}"


def _consumer(key: str, consumer_id: int, state: ClusterState | None) -> str:
    for subscription in state.subscriptions if state is not None else ():
        if subscription.key == key:
            names = [each.name for each in subscription.consumers if each.consumer_id == consumer_id]
            if len(names) == 1 and sum(each.name == names[0] for each in subscription.consumers) == 1:
                return quote(names[0])
    return f"#{consumer_id}"


def _subscription(word: str, key: str, state: ClusterState | None) -> str:
    sole = state is not None and [each.key for each in state.subscriptions] == [key]
    return "" if sole else f" {word} {quote(key)}"
