"""States, events and commands as the bytes that a journal has of them, and back."""

from __future__ import annotations

from engine.cluster.commands import Command
from engine.cluster.events import Event
from engine.cluster.journal.codec import command_from_plain, event_from_plain, state_from_plain, state_to_plain
from engine.cluster.journal.plain import decode, encode, to_plain
from engine.cluster.state import ClusterState


def serialise_state(state: ClusterState) -> bytes:
    """The canonical bytes of a state; equal states give equal bytes."""
    return encode(state_to_plain(state))


def parse_state(data: bytes, source: str = "state") -> ClusterState:
    """The state of ``serialise_state``. Raises InputError with the place for anything else, a newer format included."""
    return state_from_plain(decode(data, source), source)


def serialise_event(event: Event) -> bytes:
    return encode(to_plain(event, tagged=True))


def parse_event(data: bytes, source: str = "event") -> Event:
    return event_from_plain(decode(data, source), source)


def serialise_command(command: Command) -> bytes:
    return encode(to_plain(command, tagged=True))


def parse_command_json(data: bytes, source: str = "command") -> Command:
    return command_from_plain(decode(data, source), source)
