"""The keys document: valid against its schema in every state, and the same facts as the view."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_keys
from engine.views.keys.document import keys_document
from engine.views.keys.view import keys_view
from tests.engine.views.key_states import KEY, after
from tests.schemas import schema_of


def waiting() -> Timeline:
    keys = " ".join(f"k{number}" for number in range(60))
    return after("add a", f'send {keys} ""', "add b", f"send {keys}", "wait 50", "kill a")


STATES: dict[str, Callable[[], Timeline]] = {
    "nobody": after,
    "nobody, and messages": lambda: after('send k "" hex:00ff'),
    "no name": lambda: after('add ""', "add ä", 'send "" k'),
    "draining": waiting,
    "undone": lambda: waiting().undo(),
    "gaps": lambda: after("share sticky", "add a ranges 0-99,200-299", "send k1 k2 k3"),
    "sharing points": lambda: after("release 2.11.0", "add c-1", "add c-11", "send a b c", "kill c-1"),
    "other slots": lambda: after("add a", "send k", "set subscriptionKeySharedUseClassicPersistentImplementation true"),
    "nodes": lambda: after("share consistent-sticky points 4", "add a", "add b", "add c", "send k times 9"),
    "halved": lambda: after("share auto-split", "add a", "add b", "add c", "kill a"),
    "a thousand": lambda: Timeline.start(synthetic_keys(1_000, 20).state),
}


def document_of(timeline: Timeline) -> Any:
    return keys_document(keys_view(timeline, timeline.state.key_subscriptions[0].key))


@pytest.mark.parametrize("name", STATES)
def test_a_document_is_valid_and_survives_json(name: str) -> None:
    document = document_of(STATES[name]())
    written = json.loads(json.dumps(document, allow_nan=False))
    assert written == document
    assert [fault.message for fault in Draft202012Validator(schema_of("keys")).iter_errors(written)] == []


@pytest.mark.parametrize("name", ["draining", "gaps", "halved", "nodes", "a thousand"])
def test_the_pieces_of_all_consumers_and_the_gaps_are_the_hash_space_once(name: str) -> None:
    document = document_of(STATES[name]())
    pieces = [piece for row in document["consumers"] for piece in row["pieces"]]
    pieces += [[gap["start"], gap["end"]] for gap in document["gaps"]]
    assert sum(end - start + 1 for start, end in pieces) == document["totals"]["slots"]
    assert len({slot for start, end in pieces for slot in (start, end)} & {0}) == 0
    for each in document["consumers"]:
        assert sum(end - start + 1 for start, end in each["pieces"]) == each["slots"]


def test_ids_stand_where_the_view_has_positions() -> None:
    timeline = waiting()
    document, view = document_of(timeline), keys_view(timeline, KEY)
    assert [row["consumer_id"] for row in document["consumers"]] == [1]
    assert {row["consumer_id"] for row in document["keys"]} == {1}
    nobody = document_of(after('send k ""'))
    assert [(row["key"], row["consumer"], row["consumer_id"]) for row in nobody["keys"]] == [
        ("", None, None),
        ("k", None, None),
    ]
    assert [(row["owner"], row["since_ms"], row["reason"]) for row in nobody["waits"]] == [
        (None, None, "no consumer")
    ] * 2
    assert document["totals"]["waiting"] == view.foot.waiting
