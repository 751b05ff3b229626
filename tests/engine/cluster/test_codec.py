"""Canonical bytes: one value, one form; whatever Python can hold comes back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.cluster.commands import Command, SplitBundle
from engine.cluster.events import (
    BundleWasSplit,
    ConsumerAdded,
    ConsumerRemoved,
    Event,
    NamespaceSeen,
    ReleaseChanged,
    SettingChanged,
    TopicAdded,
    TopicRemoved,
    TopicRepartitioned,
)
from engine.cluster.journal.codec import FORMAT
from engine.cluster.tables.topics import Load
from engine.config import BrokerSettings
from engine.errors import InputError
from tests.engine.cluster.commands_strategy import INT_32, any_text, commands
from tests.engine.cluster.support import AUDIT, ORDERS, after, cluster
from tests.journal_bytes import (
    parse_command_json,
    parse_event,
    parse_state,
    serialise_command,
    serialise_event,
    serialise_state,
)

NUMBERS = st.integers(0, 2**32 - 1)
RATES = st.floats(0, 1e18)


def events() -> st.SearchStrategy[Event]:
    text, cuts = any_text(), st.lists(NUMBERS, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ConsumerAdded, text, NUMBERS, text, INT_32),
        st.builds(ConsumerRemoved, text, NUMBERS),
        st.builds(SettingChanged, text, text),
        st.builds(ReleaseChanged, text),
        st.builds(TopicAdded, text, NUMBERS, st.lists(text, max_size=2).map(tuple)),
        st.builds(TopicRemoved, text),
        st.builds(TopicRepartitioned, text, NUMBERS),
        st.builds(NamespaceSeen, text, cuts),
        st.builds(BundleWasSplit, text, NUMBERS, NUMBERS, cuts, text),
    )


@given(command=commands())
def test_commands_come_back(command: Command) -> None:
    data = serialise_command(command)

    assert parse_command_json(data) == command
    assert serialise_command(parse_command_json(data)) == data


@given(event=events())
def test_events_come_back(event: Event) -> None:
    assert parse_event(serialise_event(event)) == event


@given(
    names=st.lists(any_text(), max_size=4),
    loads=st.builds(Load, RATES, RATES, RATES, RATES, NUMBERS, NUMBERS),
    label=any_text(),
)
def test_states_come_back_byte_for_byte(names: list[str], loads: Load, label: str) -> None:
    settings = BrokerSettings(defaultNamespaceBundleSplitAlgorithm=label)
    state = replace(cluster(names, loads={AUDIT: loads}, settings=settings), release=label)
    state = after(state, SplitBundle("shop/eu", "0x00000000_0x40000000", "range_equally_divide"))

    data = serialise_state(state)

    assert parse_state(data) == state
    assert serialise_state(parse_state(data)) == data


def test_keys_are_sorted_and_the_format_is_named() -> None:
    plain = json.loads(serialise_state(cluster()))

    assert plain["format"] == FORMAT == 2
    assert list(plain) == sorted(plain)
    assert list(plain["settings"]) == sorted(plain["settings"])


def of_format_1(**changes: object) -> bytes:
    """The state of ``cluster`` as it was written once: a row for each topic and for each partition with statistics."""
    plain = json.loads(serialise_state(cluster()))
    del plain["columns"]
    topics = [{"name": AUDIT, "partitions": 0}, {"name": ORDERS, "partitions": 6}]
    return json.dumps({**plain, "format": 1, "topics": topics, "loads": [], **changes}).encode()


def test_rows_of_the_first_format_are_read_and_a_whole_number_is_the_same_rate() -> None:
    state = parse_state(of_format_1(loads=[{"partition": AUDIT, "load": {"msg_rate_in": 5}}]))

    assert dict(state.topics) == dict(cluster().topics) and dict(state.loads) == {AUDIT: Load(5.0)}
    assert sorted(state.subscriptions[0].topics) == sorted(cluster().subscriptions[0].topics)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"partition": f"{ORDERS}-partition-6", "load": {}}, "does not exist"),
        ({"partition": ORDERS, "load": {}}, "does not exist"),
        ({"partition": AUDIT, "load": {"msg_rate_in": -1.0}}, "negative"),
        ({"partition": AUDIT, "load": {"backlog_entries": 2**63}}, "negative"),
    ],
)
def test_rows_of_the_first_format_that_cannot_be_are_refused(row: dict[str, object], reason: str) -> None:
    """They would not be in the columns, so they are judged before."""
    with pytest.raises(InputError, match=reason):
        parse_state(of_format_1(loads=[row]))


def test_settings_that_an_older_file_lacks_have_their_defaults() -> None:
    plain = json.loads(serialise_state(cluster()))
    del plain["settings"]["maxConsumersPerTopic"]

    assert parse_state(json.dumps(plain).encode()) == cluster()


def damaged(**changes: object) -> bytes:
    return json.dumps({**json.loads(serialise_state(cluster())), **changes}).encode()


@pytest.mark.parametrize(
    ("data", "piece"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not written by Ringside"),
        (damaged(format=FORMAT + 1), "use the newer one that wrote it"),
        (damaged(format=True), "not written by Ringside"),
        (damaged(columns=None), "columns are a recipe"),
        (of_format_1(topics=None), "topics is missing"),
        (of_format_1(topics=[{"name": 3}]), "$.topics[0]"),
        (of_format_1(topics=[]), "which does not exist"),
        (damaged(next_consumer_id=1), "not unique or not below 1"),
        (damaged(release={"code_points": [-1]}), "$.release"),
        (of_format_1(loads=[{"partition": "x"}]), "load is missing"),
        (of_format_1(loads=[{"partition": AUDIT, "load": {"msg_rate_in": {"float": "nan"}}}]), "no number"),
        (of_format_1(loads=[{"partition": "x", "load": {}}]), "which does not exist"),
        (damaged(namespaces=[]), "without bundles"),
        (damaged(namespaces=[{"name": "shop/eu", "initial_boundaries": [0, 5]}]), "last boundary"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_anything_else_is_refused_with_its_place(data: bytes, piece: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_state(data, "file.json")

    assert piece in str(caught.value)
    assert caught.value.problems


def test_an_event_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="is none of"):
        parse_event(b'{"type": "ConsumerVanished"}')
