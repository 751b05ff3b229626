"""The grammar: what can be typed, what is printed, and that the printed form reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.cluster.commands import (
    AddConsumer,
    AddTopic,
    Command,
    End,
    GoTo,
    Home,
    KillConsumer,
    Redo,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    SplitBundle,
    SwitchBranch,
    TimelineCommand,
    Undo,
)
from engine.cluster.grammar.reading import COMMAND_FORMS, parse_command
from engine.cluster.grammar.text import command_text
from engine.cluster.grammar.words import LINE_LIMIT_CHARS, quote, split_words
from engine.cluster.state import ClusterState, Subscription
from engine.errors import Rejection
from engine.failover.model import Consumer
from tests.engine.cluster.commands_strategy import any_text, commands
from tests.engine.cluster.support import cluster

READ: list[tuple[str, Command | TimelineCommand]] = [
    ("add d", AddConsumer("billing", "d")),
    ("  add   d\t", AddConsumer("billing", "d")),
    ("add d priority 2", AddConsumer("billing", "d", 2)),
    ("add d priority -1 to other", AddConsumer("other", "d", -1)),
    ("add d to other priority 2", AddConsumer("other", "d", 2)),
    ("add priority priority 3 to to", AddConsumer("to", "priority", 3)),
    ('add \'a "b" \\n\' to "x\\ty"', AddConsumer("x\ty", 'a "b" \\n')),
    ('add ""', AddConsumer("billing", "")),
    ("add #3", AddConsumer("billing", "#3")),
    ("kill b", KillConsumer("billing", 1)),
    ("kill #1 of other", KillConsumer("other", 1)),
    ("rename a to z", RenameConsumer("billing", 0, "z")),
    ("rename #7 to z of other", RenameConsumer("other", 7, "z")),
    ("priority c 4", SetPriorityLevel("billing", 2, 4)),
    ("set maxConsumersPerTopic 3", SetSetting("maxConsumersPerTopic", "3")),
    ("set maxConsumersPerTopic=3", SetSetting("maxConsumersPerTopic", "3")),
    ("set x ''", SetSetting("x", "")),
    (
        "toggle activeConsumerFailoverConsistentHashing",
        SetSetting("activeConsumerFailoverConsistentHashing", "true"),
    ),
    ("release 4.0.1", SetRelease("4.0.1")),
    ("topic add shop/eu/x", AddTopic("shop/eu/x")),
    ("topic add shop/eu/x partitions 8", AddTopic("shop/eu/x", 8)),
    ("topic remove shop/eu/x", RemoveTopic("shop/eu/x")),
    ("topic partitions shop/eu/x 9", RepartitionTopic("shop/eu/x", 9)),
    ("split shop/eu/0x0_0x10", SplitBundle("shop/eu", "0x0_0x10")),
    ("split shop/eu LARGEST", SplitBundle("shop/eu", "LARGEST")),
    ("split shop/eu/HOT", SplitBundle("shop/eu", "HOT")),
    ("split shop/eu HOT range_equally_divide", SplitBundle("shop/eu", "HOT", "range_equally_divide")),
    (
        "split shop/eu/0x0_0x10 specified_positions_divide at 0x7, 9",
        SplitBundle("shop/eu", "0x0_0x10", "specified_positions_divide", (7, 9)),
    ),
    ("split shop/eu LARGEST at 5", SplitBundle("shop/eu", "LARGEST", None, (5,))),
    ("undo", Undo()),
    ("redo", Redo()),
    ("home", Home()),
    ("end", End()),
    ("step 12", GoTo(12)),
    ("branch 2", SwitchBranch(2)),
]


@pytest.mark.parametrize(("line", "command"), READ)
def test_a_line_is_read(line: str, command: Command | TimelineCommand) -> None:
    assert parse_command(line, cluster()) == command


WRONG: list[tuple[str, str, str, str]] = [
    ("", "SyntaxError", "", "known: ack, add, branch"),
    ("# a comment", "UnknownCommand", "#", "known: ack, add"),
    ("ad d", "UnknownCommand", "ad", "did you mean add?"),
    ("add", "SyntaxError", "add", "NAME is missing"),
    ("add a b", "SyntaxError", "b", "'b' is too much"),
    ("add a priority", "SyntaxError", "priority", "N is missing"),
    ("add a priority high", "SyntaxError", "high", "whole number"),
    ("add a priority 1 priority 2", "SyntaxError", "priority", "is given twice"),
    ("add 'a", "SyntaxError", "'a", "column 5 is not closed"),
    ('add "a\\q"', "SyntaxError", "\\q", "unknown escape"),
    ("kill nobody", "UnknownConsumer", "nobody", "no consumer of billing"),
    ('kill "#1"', "UnknownConsumer", "#1", "no consumer of billing"),
    ("kill twin", "AmbiguousConsumer", "twin", "use one of #3, #4"),
    ("kill twim", "UnknownConsumer", "twim", "did you mean twin?"),
    ("kill a of", "SyntaxError", "of", "SUBSCRIPTION is missing"),
    ("rename a z", "SyntaxError", "z", "the word 'to' is missing"),
    ("rename a", "SyntaxError", "a", "the word 'to' is missing"),
    ("set x", "SyntaxError", "x", "VALUE is missing"),
    ("toggle maxConsumersPerTopic", "UnknownSetting", "maxConsumersPerTopic", "true or false"),
    (
        "toggle activeConsumerFailoverConsistentHash",
        "UnknownSetting",
        "activeConsumerFailoverConsistentHash",
        "mean active",
    ),
    ("topic grow x", "SyntaxError", "grow", "write topic add, remove or partitions"),
    ("topic add x partitions many", "SyntaxError", "many", "whole number"),
    ("split t/n", "SyntaxError", "t/n", "RANGE, LARGEST or HOT is missing"),
    ("split t/n LARGEST at 1,x", "SyntaxError", "x", "position 'x'"),
    ("split t/n LARGEST at", "SyntaxError", "at", "N,N is missing"),
    ("step", "SyntaxError", "step", "N is missing"),
    ("undo 3", "SyntaxError", "3", "too much"),
    ("add " + "x" * LINE_LIMIT_CHARS, "CommandTooLong", "", "at most"),
]


@pytest.mark.parametrize(("line", "error", "word", "piece"), WRONG, ids=lambda value: value[:40])
def test_a_line_that_cannot_be_read_names_the_word_at_fault(line: str, error: str, word: str, piece: str) -> None:
    command = parse_command(line, cluster(["a", "b", "c", "twin", "twin"]))

    assert isinstance(command, Rejection)
    assert (error, word) == (command.error, command.field)
    assert piece in command.message


def test_the_subscription_in_view_is_meant_unless_another_is_named() -> None:
    state = cluster()
    other = Subscription("other", "other", "shop/eu", (), (Consumer(3, "b"),))
    state = replace(state, subscriptions=(*state.subscriptions, other), next_consumer_id=4)

    assert parse_command("kill b", state, "other") == KillConsumer("other", 3)
    assert parse_command("kill b of billing", state, "other") == KillConsumer("billing", 1)
    unsaid = parse_command("kill b", state)
    assert isinstance(unsaid, Rejection) and "'billing', 'other'" in unsaid.message


@given(command=commands())
def test_a_printed_command_reads_back_as_itself_anywhere(command: Command) -> None:
    line = command_text(command)

    assert "\n" not in line and line.isprintable(), "one printable line"
    assert parse_command(line, ClusterState()) == command


@given(names=st.lists(any_text(), min_size=1, max_size=5), data=st.data())
def test_a_command_printed_for_people_reads_back_where_it_was_printed(names: list[str], data: st.DataObject) -> None:
    """With names instead of ids and without the sole subscription; equal names keep their ids."""
    state = cluster(names)
    consumer_id = data.draw(st.integers(0, len(names) - 1))
    for command in (
        KillConsumer("billing", consumer_id),
        RenameConsumer("billing", consumer_id, data.draw(any_text())),
        SetPriorityLevel("billing", consumer_id, 3),
        AddConsumer("billing", data.draw(any_text()), data.draw(st.integers(0, 2))),
    ):
        assert parse_command(command_text(command, state), state) == command


@pytest.mark.parametrize("command", [Undo(), Redo(), Home(), End(), GoTo(0), GoTo(99), SwitchBranch(3)], ids=repr)
def test_a_printed_timeline_command_reads_back(command: TimelineCommand) -> None:
    assert parse_command(command_text(command), ClusterState()) == command


@given(text=any_text(), reserved=any_text())
def test_any_text_is_one_word(text: str, reserved: str) -> None:
    words = split_words(quote(text, [reserved]))

    assert isinstance(words, tuple)
    assert [word.text for word in words] == [text]
    assert words[0].quoted or text != reserved


@given(line=st.text(st.sampled_from("abt#'\"\\ u0\n=,/-12"), max_size=30) | any_text())
def test_any_line_gives_a_command_or_a_refusal(line: str) -> None:
    for verb in ("", *(f"{verb} " for verb in COMMAND_FORMS), "topic add ", "split t/n LARGEST at "):
        assert parse_command(verb + line, cluster()) is not None
