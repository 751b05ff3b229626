"""Small Key_Shared subscriptions: as commands, so that every state is one the engine can be in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState, Namespace
from engine.cluster.timeline import Timeline
from tests.tui.screens_under_test import cluster
from tui.app import RingsideApp
from tui.keys.screen import KeysScreen
from tui.kit.session import Session

TOPIC: Final = "persistent://shop/orders/placed"
ORDERS: Final = tuple(f"order-{number}" for number in range(1, 41))
SUBSCRIBED: Final = (f"topic add {TOPIC}", f"subscribe orders to {TOPIC}")


def state_after(lines: Sequence[str], start: ClusterState | None = None) -> ClusterState:
    """The state that commands lead to; none of them may be refused."""
    empty = ClusterState(namespaces={"shop/orders": Namespace("shop/orders", (0, 0xFFFFFFFF))})
    timeline = Timeline.start(start or empty)
    for line in lines:
        command = parse_command(line, timeline.state, "orders")
        assert isinstance(command, Command), (line, command)
        timeline, refused = timeline.submit(command)
        assert refused is None, (line, refused)
    return timeline.state


def joined(count: int) -> tuple[str, ...]:
    """Commands that connect so many consumers."""
    return tuple(f"add worker-{number}" for number in range(count))


def sent(keys: Sequence[str] = ORDERS) -> tuple[str, ...]:
    """Commands that send the keys: the n-th of each ten n times, so that some have more traffic than others."""
    return tuple(f"send {key} times {1 + at % 5}" for at, key in enumerate(keys))


def in_mode(mode: str, consumers: int = 4, keys: Sequence[str] = ORDERS) -> ClusterState:
    """Everything sent, and all of it acknowledged."""
    acknowledged = ("ack all",) if keys else ()
    return state_after([*SUBSCRIBED, *joined(consumers), f"share {mode}", *sent(keys), *acknowledged])


def before_a_move(mode: str = "consistent-auto-split") -> ClusterState:
    """As ``in_mode``, but each key has messages that are on their way: who joins now makes keys wait."""
    return state_after([*SUBSCRIBED, *joined(3), f"share {mode}", *sent(), "wait 40"])


def with_a_gap() -> ClusterState:
    """Declared ranges with two gaps, and messages that wait there."""
    ranges = ("0-16383", "16384-32767", "40000-60000")
    workers = [f"add worker-{at} ranges {each}" for at, each in enumerate(ranges)]
    return state_after([*SUBSCRIBED, "share sticky", *workers, *sent(ORDERS[:24])])


def two_kinds() -> ClusterState:
    """A Failover subscription and a Key_Shared one."""
    return state_after([f"topic add {TOPIC}", f"subscribe orders to {TOPIC}", *joined_to(3)], cluster())


def joined_to(count: int) -> tuple[str, ...]:
    return tuple(f"add worker-{number} to orders" for number in range(count))


def keys_app(state: ClusterState | None = None, *lines: str, **how: Any) -> RingsideApp:
    """A still app in true colour on a state, after some commands that are steps of its timeline."""
    timeline = Timeline.start(in_mode("consistent-auto-split") if state is None else state, 7, "a test")
    app = RingsideApp(Session(timeline), **(dict[str, Any](animate=False, depth="truecolor") | how))
    for line in lines:
        refused = app.store.submit_line(line)
        assert refused is None, (line, refused)
    return app


def keys_screen(app: RingsideApp) -> KeysScreen:
    """The screen of the Key_Shared subscription, also below a dialog."""
    return next(screen for screen in app.screen_stack if isinstance(screen, KeysScreen))
