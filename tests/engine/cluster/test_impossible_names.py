"""A journal or a command brings no name that no broker has."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from engine.cluster.commands import AddTopic, SubscribeKeyShared
from engine.cluster.decide import decide
from engine.cluster.events import Event, NamespaceSeen, TopicAdded
from engine.cluster.evolve import objection
from engine.cluster.keys.state import KeySubscriptionCreated
from engine.errors import InputError, Rejection
from tests.engine.cluster.support import cluster
from tests.journal_bytes import parse_state, serialise_state

EVIL = "shop/eu;$(touch pwned)"


@pytest.mark.parametrize(
    "event",
    [
        TopicAdded(f"persistent://{EVIL}/x", 0, ()),
        TopicAdded("x", 0, ()),
        NamespaceSeen(EVIL, (0, 0xFFFFFFFF)),
        KeySubscriptionCreated("k", " ", "shop/eu", ()),
        KeySubscriptionCreated("k", "k", EVIL, ()),
    ],
    ids=str,
)
def test_an_event_of_a_journal_with_an_impossible_name_is_objected_to(event: Event) -> None:
    assert objection(cluster(), event)


def _evil_namespace(plain: dict[str, Any]) -> None:
    plain["namespaces"].append({"name": EVIL, "initial_boundaries": [0, 0xFFFFFFFF], "splits": []})


def _evil_subscription(plain: dict[str, Any]) -> None:
    plain["subscriptions"][0]["namespace"] = EVIL


def _blank_subscription(plain: dict[str, Any]) -> None:
    plain["subscriptions"][0]["name"] = " "


@pytest.mark.parametrize("spoil", [_evil_namespace, _evil_subscription, _blank_subscription])
def test_a_state_of_a_journal_with_an_impossible_name_is_refused(spoil: Callable[[dict[str, Any]], None]) -> None:
    plain = json.loads(serialise_state(cluster()))
    parse_state(json.dumps(plain).encode())
    spoil(plain)
    with pytest.raises(InputError, match=r"namespace|subscription"):
        parse_state(json.dumps(plain).encode())


def test_a_command_with_an_impossible_name_is_refused() -> None:
    state = cluster()
    for command in (
        AddTopic(f"persistent://{EVIL}/x", 1),
        SubscribeKeyShared("\u2003", "persistent://shop/eu/audit"),
        SubscribeKeyShared("s", f"persistent://{EVIL}/x"),
    ):
        assert isinstance(decide(state, command), Rejection), command
