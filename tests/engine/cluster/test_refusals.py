"""Every refusal in one table: the command, Pulsar's name of the refusal, its status, and a piece of the sentence."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

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
from engine.cluster.decide import decide
from engine.cluster.limits import MAX_PARTITIONS, MAX_POSITIONS, NAME_LIMIT_BYTES
from tests.engine.cluster.support import AUDIT, ORDERS, after, cluster, refusal

FIRST = "0x00000000_0x40000000"
LONG = "x" * (NAME_LIMIT_BYTES + 1)

REFUSED: list[tuple[Command, str, int, str]] = [
    (AddConsumer("nobody", "d"), "SubscriptionNotFound", 404, "known: 'billing'"),
    (AddConsumer("billing", LONG), "IllegalArgumentException", 0, "more than 65536 bytes"),
    (AddConsumer("billing", "\u20ac" * 21_846), "IllegalArgumentException", 0, "more than 65536 bytes"),
    (AddConsumer("billing", "d", 2**31), "IllegalArgumentException", 0, "32-bit"),
    (AddConsumer("billing", "d", -(2**31) - 1), "IllegalArgumentException", 0, "32-bit"),
    (KillConsumer("nobody", 0), "SubscriptionNotFound", 404, "no subscription 'nobody'"),
    (KillConsumer("billing", 9), "ServerMetadata", 0, "Consumer was not connected"),
    (RenameConsumer("nobody", 0, "d"), "SubscriptionNotFound", 404, "no subscription"),
    (RenameConsumer("billing", 9, "d"), "ServerMetadata", 0, "Consumer was not connected"),
    (RenameConsumer("billing", 0, LONG), "IllegalArgumentException", 0, "more than 65536 bytes"),
    (SetPriorityLevel("billing", 9, 1), "ServerMetadata", 0, "Consumer was not connected"),
    (SetPriorityLevel("billing", 0, 2**31), "IllegalArgumentException", 0, "32-bit"),
    (SetSetting("maxConsumers", "3"), "UnknownSetting", 0, "did you mean maxConsumersPer"),
    (SetSetting("maxconsumerspertopic", "3"), "UnknownSetting", 0, "did you mean maxConsumersPerTopic?"),
    (SetSetting("maxConsumersPerTopic", "many"), "IllegalArgumentException", 0, "whole number"),
    (SetSetting("maxConsumersPerTopic", str(2**31)), "IllegalArgumentException", 0, "whole number"),
    (SetSetting("activeConsumerFailoverConsistentHashing", "1"), "IllegalArgumentException", 0, "true or false"),
    (SetSetting("defaultNamespaceBundleSplitAlgorithm", LONG), "IllegalArgumentException", 0, "65536 bytes"),
    (SetRelease("four"), "UnknownVersion", 0, "write it like 4.0.7"),
    (SetRelease("2.9.1"), "UnknownVersion", 0, "older than 2.10"),
    (SetRelease("4.0.0-" + LONG), "IllegalArgumentException", 0, "65536 bytes"),
    (AddTopic("a/b"), "IllegalArgumentException", 0, "invalid short topic name"),
    (AddTopic("ftp://t/n/x"), "IllegalArgumentException", 0, "domain"),
    (AddTopic(" "), "IllegalArgumentException", 0, "topic"),
    (AddTopic(LONG), "IllegalArgumentException", 0, "65536 bytes"),
    (AddTopic("segment://t/n/p/0000-7fff-1"), "UnsupportedTopicDomain", 0, "no Failover dispatcher"),
    (AddTopic(ORDERS, 3), "RestException", 409, "This topic already exists"),
    (AddTopic("shop/eu/audit"), "RestException", 409, "This topic already exists"),
    (AddTopic("x", -1), "RestException", 406, "more than 0"),
    (AddTopic("x", MAX_PARTITIONS + 1), "TooManyPartitions", 406, "up to 100000"),
    (AddTopic("x-partition-a", 2), "RestException", 412, "should not contain '-partition-'"),
    (AddTopic(f"{ORDERS}-partition-2"), "RestException", 409, "named like a partition"),
    (AddTopic(f"{ORDERS}-partition-77"), "RestException", 409, "named like a partition"),
    (RemoveTopic("persistent://shop/eu/none"), "RestException", 404, "not found"),
    (RemoveTopic(f"{ORDERS}-partition-2"), "RestException", 412, "is a partition"),
    (RemoveTopic("a/b"), "IllegalArgumentException", 0, "invalid short topic name"),
    (RepartitionTopic(ORDERS, 5), "NotSupportedException", 0, "not support shrink topic partitions"),
    (RepartitionTopic(ORDERS, -5), "NotSupportedException", 0, "not support shrink topic partitions"),
    (RepartitionTopic(ORDERS, MAX_PARTITIONS + 1), "TooManyPartitions", 406, "up to 100000"),
    (RepartitionTopic(AUDIT, 5), "RestException", 409, "Topic is not partitioned topic"),
    (RepartitionTopic("persistent://shop/eu/none", 5), "RestException", 404, "not found"),
    (SplitBundle("no/ns", FIRST), "NotFound", 404, "does not exist"),
    (SplitBundle("shop/eu", "0x00000000_0x00000010"), "IllegalArgumentException", 412, "bundle"),
    (SplitBundle("shop/eu", "rubbish"), "IllegalArgumentException", 412, ""),
    (SplitBundle("shop/eu", FIRST, "no_such_algorithm"), "RestException", 412, "Unsupported"),
    (SplitBundle("shop/eu", FIRST, "specified_positions_divide"), "RestException", 412, "splitBoundaries"),
    (SplitBundle("shop/eu", FIRST, "specified_positions_divide", (2**63,)), "RestException", 400, "64-bit"),
    (SplitBundle("shop/eu", FIRST, None, (1,) * (MAX_POSITIONS + 1)), "TooManyPositions", 0, "up to 10000"),
    (SplitBundle("shop/eu", LONG), "IllegalArgumentException", 0, "65536 bytes"),
]


FLOW = SplitBundle("shop/eu", FIRST, "flow_or_qps_equally_divide")
TWICE = SplitBundle("shop/eu", FIRST, "specified_positions_divide", (100, 100))
BLANK_LAST, BLANK_FIRST = AddTopic("persistent://shop/eu/x ", 3), AddTopic("persistent://shop/eu/\tx", 3)
BY_RELEASE = [
    ("4.2.5", FLOW, "ClassCastException", 500),
    ("5.0.0-M1", FLOW, "ClassCastException", 500),
    ("5.0.1", FLOW, "NothingToSplit", 204),
    ("4.2.4", TWICE, "NeverAnswered", 0),
    ("4.2.5", TWICE, "IllegalArgumentException", 412),
    ("5.0.1", TWICE, "IllegalArgumentException", 412),
    ("5.0.1", BLANK_LAST, "RestException", 412),
    ("5.0.1", BLANK_FIRST, "RestException", 412),
    ("5.0.0", BLANK_LAST, "RestException", 412),
]
TAKEN = [
    ("4.2.5", BLANK_LAST),
    ("5.0.0-M1", BLANK_FIRST),
    ("5.0.1", AddTopic("persistent://shop/eu/x ")),
    ("5.0.1", AddTopic("persistent://shop/eu/ x")),
    ("5.0.1", AddTopic("persistent://shop/eu/x y", 3)),
    ("5.0.1", AddTopic("persistent://shop/eu/\u3000x", 3)),
]


@pytest.mark.parametrize(("release", "command", "error", "status"), BY_RELEASE)
def test_some_refusals_depend_on_the_release(release: str, command: Command, error: str, status: int) -> None:
    refused = refusal(replace(cluster(), release=release), command)
    assert (refused.error, refused.status) == (error, status)


@pytest.mark.parametrize(("release", "command"), TAKEN)
def test_names_with_blanks_that_a_release_takes(release: str, command: AddTopic) -> None:
    assert command.topic in after(replace(cluster(), release=release), command).topics


@pytest.mark.parametrize(("command", "error", "status", "piece"), REFUSED, ids=lambda value: repr(value)[:60])
def test_a_refusal_has_pulsars_name_and_status_and_says_why(
    command: Command, error: str, status: int, piece: str
) -> None:
    refused = refusal(cluster(), command)

    assert (error, status) == (refused.error, refused.status)
    assert piece in refused.message
    assert refused.field or status == 404, "a refusal names the argument at fault"
    assert len(refused.message) < 500, "a sentence, not the whole input"


def test_any_name_up_to_the_limit_is_welcome() -> None:
    """Empty, line breaks, emoji, halves of surrogate pairs, and names that exist already (Pulsar allows them)."""
    for name in ("", "a", "a\nb", "\U0001f600", "\ud800", "x" * NAME_LIMIT_BYTES, "\0"):
        assert len(decide(cluster(), AddConsumer("billing", name))) == 1


def test_negative_levels_are_taken_as_the_broker_takes_them() -> None:
    """The Java client refuses them, the broker does not."""
    assert len(decide(cluster(), AddConsumer("billing", "d", -(2**31)))) == 1


@pytest.mark.parametrize(
    "command",
    [
        RenameConsumer("billing", 1, "b"),
        SetPriorityLevel("billing", 1, 0),
        SetSetting("maxConsumersPerTopic", " 0 "),
        SetSetting("activeConsumerFailoverConsistentHashing", "FALSE"),
        SetSetting(
            "supportedNamespaceBundleSplitAlgorithms",
            ",".join(cluster().settings.supportedNamespaceBundleSplitAlgorithms),
        ),
        SetRelease(cluster().release),
        SetRelease(f"v{cluster().release}"),
        RepartitionTopic(ORDERS, 6),
    ],
    ids=repr,
)
def test_a_command_that_changes_nothing_is_accepted_without_events(command: Command) -> None:
    assert decide(cluster(), command) == ()
