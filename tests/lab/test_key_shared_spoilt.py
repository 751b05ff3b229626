"""Every kind of Key_Shared fact that is spoilt is found, with its place and both sides."""

from __future__ import annotations

from typing import Any

import pytest

from engine.verify.report import FactKind
from tests.lab.facts import StepFact
from tests.lab.reports import kinds, spoilt

GAPS = "v4.0.7-c-keyshared-sticky-gaps"
DRAINING = "c-keyshared-draining"


def _consumers(document: Any) -> Any:
    return document["subscriptions"]["sub"]["consumers"]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("c-keyshared-ring", "06-stats.json"),
        ("c-keyshared-autosplit", "08-stats.json"),
        ("c-keyshared-sticky", "15-stats.json"),
        (DRAINING, "05-stats.json"),
        (GAPS, "05-stats.json"),
    ],
)
def test_another_range_bound_is_found(name: str, file: str) -> None:
    """Of the many ranges of a consumer only those that differ are shown, on both sides."""
    bounds: list[tuple[int, int]] = []

    def change(document: Any) -> None:
        piece = _consumers(document)[0]["keyHashRangeArrays"][0]
        bounds.append((piece[0], piece[1]))
        piece[1] += 1

    differences = spoilt(name, file, change)
    ((start, end),) = bounds
    assert [
        (difference.kind, difference.file, difference.recorded, difference.modelled) for difference in differences
    ] == [(StepFact.KEY_RANGES, file, f"[{start},{end + 1}]", f"[{start},{end}]")]


@pytest.mark.parametrize("name", ["c-keyshared-ring-classic", "v3.0.2-c-keyshared-ring", "v3.3.6-c-keyshared-ring"])
def test_another_range_written_as_text_is_found(name: str) -> None:
    def change(document: Any) -> None:
        _consumers(document)[1]["keyHashRanges"][3] = "[1, 2]"

    differences = spoilt(name, "07-stats.json", change)
    assert [(difference.kind, difference.recorded, difference.moment) for difference in differences] == [
        (StepFact.KEY_RANGES, "[1,2]", "7")
    ]


def test_ranges_out_of_order_and_ranges_left_out_are_found() -> None:
    def change(document: Any) -> None:
        consumers = _consumers(document)
        consumers[0]["keyHashRangeArrays"].reverse()
        del consumers[1]["keyHashRangeArrays"]

    differences = spoilt("c-keyshared-ring-3points", "05-stats.json", change)
    assert [difference.kind for difference in differences] == [StepFact.KEY_RANGES] * 2
    assert differences[0].recorded.split(", ") == differences[0].modelled.split(", ")[::-1]
    assert (differences[1].recorded, differences[1].subject[-9:]) == ("nothing", "consumer2")


def test_ranges_in_the_form_of_another_release_are_found() -> None:
    def change(document: Any) -> None:
        for consumer in _consumers(document):
            pairs = consumer.pop("keyHashRangeArrays")
            consumer["keyHashRanges"] = [f"[{start}, {end}]" for start, end in pairs]

    differences = spoilt("v4.0.7-c-keyshared-autosplit", "05-stats.json", change)
    assert [(difference.kind, difference.recorded, difference.modelled) for difference in differences] == [
        (StepFact.KEY_RANGES_FORM, "keyHashRanges", "keyHashRangeArrays")
    ]


@pytest.mark.parametrize(("member", "value"), [("keySharedMode", "AUTO_SPLIT"), ("allowOutOfOrderDelivery", True)])
def test_another_mode_or_ordering_is_found(member: str, value: object) -> None:
    def change(document: Any) -> None:
        document["subscriptions"]["sub"][member] = value

    differences = spoilt("c-keyshared-sticky", "04-stats.json", change)
    assert kinds(differences) == {StepFact.KEY_SHARED_TERMS}


@pytest.mark.parametrize("spoil", ["gone", "renamed", "no subscription", "Shared", "nobody"])
def test_a_consumer_that_should_be_there_is_missed(spoil: str) -> None:
    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        if spoil == "gone":
            subscription["consumers"].pop(0)
        elif spoil == "renamed":
            subscription["consumers"][0]["consumerName"] = "ks-x"
        elif spoil == "no subscription":
            document["subscriptions"].clear()
        elif spoil == "nobody":
            subscription["consumers"] = []
        else:
            subscription["type"] = spoil

    differences = spoilt("v3.0.7-c-keyshared-ring", "06-stats.json", change)
    assert [(difference.kind, difference.file) for difference in differences] == [(StepFact.CONNECTED, "06-stats.json")]


def test_a_name_that_the_scenario_does_not_know_is_found() -> None:
    def change(document: Any) -> None:
        _consumers(document)[0]["consumerName"] = "naught"

    differences = spoilt("c-keyshared-sticky-slot0", "02-stats.json", change)
    assert [(difference.kind, difference.recorded) for difference in differences] == [
        (StepFact.CONNECTED, "naught, rest")
    ]


def test_another_order_of_consumers_is_found() -> None:
    def change(document: Any) -> None:
        _consumers(document).reverse()

    differences = spoilt("c-keyshared-ring", "05-stats.json", change)
    assert [(difference.kind, difference.recorded) for difference in differences] == [
        (FactKind.ORDER, "ks-d, ks-c, ks-b, ks-a")
    ]


def test_namesakes_in_the_wrong_order_are_found() -> None:
    """In the oldest ring they have the same ranges: only the time of connecting distinguishes them."""

    def change(document: Any) -> None:
        consumers = _consumers(document)
        first, second = (at for at, one in enumerate(consumers) if one["consumerName"] == "ks-b")
        consumers[first], consumers[second] = consumers[second], consumers[first]

    differences = spoilt("v2.11.0-c-keyshared-ring", "05-stats.json", change)
    assert [(difference.kind, difference.recorded, difference.modelled) for difference in differences] == [
        (FactKind.ORDER, "2, 1", "1, 2")
    ]


@pytest.mark.parametrize("spoil", ["moved", "lost", "twice"])
@pytest.mark.parametrize("name", ["c-keyshared-ring", "v2.11.0-c-keyshared-autosplit", "v3.2.3-c-keyshared-ring"])
def test_another_receiver_of_a_key_is_found(name: str, spoil: str) -> None:
    keys: list[str] = []

    def change(scenario: Any) -> None:
        received = scenario["steps"][6]["received"]
        first, second = list(received)[:2]
        keys.append(received[first][5])
        if spoil != "twice":
            del received[first][5]
        if spoil != "lost":
            received[second].append(keys[0])

    (difference,) = spoilt(name, "scenario.json", change)
    assert (difference.kind, difference.moment, difference.subject) == (StepFact.KEY_RECEIVER, "7", f"key {keys[0]}")
    assert (difference.recorded == "nothing") == (spoil == "lost")
    assert (difference.modelled in difference.recorded) == (spoil == "twice")


def test_somebody_who_gets_an_ownerless_key_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][14]["received"]["s-b"].append("k-9")

    differences = spoilt("c-keyshared-sticky", "scenario.json", change)
    assert differences[0].kind is StepFact.KEY_WITHOUT_OWNER
    assert (differences[0].subject, differences[0].recorded, differences[0].modelled) == ("key k-9", "s-b", "nothing")
    # It then comes a second time, and one message fewer waits.
    assert kinds(differences[1:]) == {StepFact.KEY_BACKLOG, StepFact.KEY_RECEIVER}


@pytest.mark.parametrize(("member", "step"), [("received_by_gap", 15), ("received_by_all", 11)])
def test_a_message_that_is_lost_in_the_end_is_found(member: str, step: int) -> None:
    name = "c-keyshared-sticky" if member == "received_by_gap" else GAPS

    def change(scenario: Any) -> None:
        scenario["steps"][step][member].pop()

    differences = spoilt(name, "scenario.json", change)
    assert {StepFact.KEY_RECEIVER} <= kinds(differences) <= {StepFact.KEY_RECEIVER, StepFact.KEY_BACKLOG}
    assert {difference.recorded for difference in differences if difference.kind is StepFact.KEY_RECEIVER} == {
        "nothing"
    }


@pytest.mark.parametrize("release", ["v2.11.0", "v3.0.2", "v3.3.6", "v4.0.0"])
def test_a_message_lost_for_good_is_found_where_gaps_were_served(release: str) -> None:
    """Also where the model does not say when a message arrives: after all have left, it must."""

    def change(scenario: Any) -> None:
        del scenario["steps"][-1]["received_by_all"][3]

    differences = spoilt(f"{release}-c-keyshared-sticky-gaps", "scenario.json", change)
    assert {StepFact.KEY_RECEIVER} <= kinds(differences) <= {StepFact.KEY_RECEIVER, StepFact.KEY_BACKLOG}
    assert {difference.moment for difference in differences} == {"12"}


@pytest.mark.parametrize("release", ["v2.11.0", "v3.0.2", "v3.2.3", "v3.3.2"])
def test_a_newcomer_that_gets_what_older_messages_hold_back_is_found(release: str) -> None:
    """2.11.0 stops the whole subscription; later ones hold back what was sent after the newcomer came."""
    messages: list[list[str]] = []

    def change(scenario: Any) -> None:
        step, later = scenario["steps"][4], scenario["steps"][-1]["received_by_all"]
        messages.append(next(message for message in later if message[0] == "1" and message[1] == "k-11"))
        later.remove(messages[0])
        step["delivered"]["s-b"].append(messages[0])

    differences = spoilt(f"{release}-c-keyshared-sticky-gaps", "scenario.json", change)
    assert (differences[0].kind, differences[0].moment, differences[0].subject) == (
        StepFact.KEY_HELD_BACK,
        "5",
        "key k-11, round 1",
    )
    assert differences[0].recorded == "s-b"


def test_a_message_that_comes_twice_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][6]["earlier_now_received"] = {"s-b": [["0", "k-0"]]}

    (difference,) = spoilt(GAPS, "scenario.json", change)
    assert (difference.kind, difference.subject, difference.recorded) == (
        StepFact.KEY_RECEIVER,
        "key k-0, round 0",
        "s-b",
    )


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (5, "Consumer's own ranges conflict: [30000,30010] overlaps with [30005, 30020]"),
        (6, "Range conflict with consumer Consumer{consumerName=s-a}"),
        (9, "Fixed hash range start > end"),
        (12, "Ranges for KeyShared policy must not be empty"),
        (14, "Subscription is of different type."),
    ],
)
def test_another_text_of_a_refusal_is_found(step: int, text: str) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][step - 1]["wire_result"]["message"] = text

    (difference,) = spoilt("c-keyshared-sticky", "scenario.json", change)
    assert (difference.kind, difference.moment) == (StepFact.JOIN_ANSWER, str(step))
    assert difference.recorded.endswith(text)


@pytest.mark.parametrize("other", ["s-b", "s-c"])
def test_a_refusal_that_names_another_consumer_is_found(other: str) -> None:
    def change(scenario: Any) -> None:
        result = scenario["steps"][6]["wire_result"]
        result["message"] = result["message"].replace("consumerName=s-a", f"consumerName={other}")

    (difference,) = spoilt("c-keyshared-sticky", "scenario.json", change)
    assert f"consumerName={other}," in difference.recorded
    assert "consumerName=s-a," in difference.modelled


def test_another_error_of_a_refusal_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][13]["wire_result"]["error"] = "ConsumerAssignError"

    (difference,) = spoilt("c-keyshared-sticky", "scenario.json", change)
    assert difference.modelled.startswith(
        "ConsumerBusy: Subscription is of different type. Active subscription key_shared"
    )


@pytest.mark.parametrize("result", ["wire_result", "client_result"])
def test_a_consumer_that_is_let_in_and_should_be_refused_is_found(result: str) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][7][result] = "accepted"

    (difference,) = spoilt("c-keyshared-sticky", "scenario.json", change)
    assert (difference.kind, difference.recorded) == (StepFact.JOIN_ANSWER, "accepted")


def test_a_refusal_of_a_consumer_that_should_be_let_in_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][7]["wire_result"] = {"error": "ConsumerAssignError", "message": "no"}

    (difference,) = spoilt("v3.3.2-c-keyshared-sticky-gaps", "scenario.json", change)
    assert (difference.recorded, difference.modelled) == ("ConsumerAssignError: no", "accepted")


def test_a_client_that_refuses_good_ranges_is_found() -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][12]["client_result"] = "ValueError: Ranges for KeyShared policy with overlap."

    (difference,) = spoilt("c-keyshared-sticky", "scenario.json", change)
    assert (difference.kind, difference.modelled) == (StepFact.CLIENT_CHECK, "sent to the broker")


def test_ranges_that_could_not_have_been_accepted_are_found() -> None:
    """The step says that the consumer joined; by its ranges it could not."""

    def change(scenario: Any) -> None:
        scenario["steps"][2]["ranges"] = [[9000, 19999]]

    differences = spoilt("c-keyshared-sticky", "scenario.json", change)
    assert (differences[0].kind, differences[0].moment, differences[0].recorded) == (
        StepFact.JOIN_ANSWER,
        "3",
        "accepted",
    )
    assert "Range conflict with consumer" in differences[0].modelled


@pytest.mark.parametrize("place", ["subscription", "consumer"])
@pytest.mark.parametrize("member", ["drainingHashesCount", "drainingHashesUnackedMessages"])
def test_another_count_of_draining_hashes_is_found(place: str, member: str) -> None:
    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        (subscription if place == "subscription" else subscription["consumers"][0])[member] -= 1

    differences = spoilt(DRAINING, "04-stats.json", change)
    assert kinds(differences) == {FactKind.DRAINING_COUNT}
    assert "73 hashes with 73 messages" in {difference.modelled for difference in differences}


@pytest.mark.parametrize("spoil", ["another", "lost", "added"])
def test_another_draining_hash_is_found(spoil: str) -> None:
    def change(document: Any) -> None:
        hashes = _consumers(document)[0]["drainingHashes"]
        if spoil == "another":
            hashes[0]["hash"] += 1
        elif spoil == "lost":
            hashes.pop(0)
        else:
            hashes.append({"hash": 5, "unackMsgs": 1, "blockedAttempts": 1})

    differences = spoilt(DRAINING, "06-stats.json", change)
    sides = {
        (difference.recorded, difference.modelled)
        for difference in differences
        if difference.kind is StepFact.DRAINING_HASH
    }
    lost, added = ("does not drain", "1 messages"), ("1 messages", "does not drain")
    assert sides == {"another": {lost, added}, "lost": {lost}, "added": {added}}[spoil]


def test_another_number_of_messages_of_a_draining_hash_is_found() -> None:
    def change(document: Any) -> None:
        _consumers(document)[0]["drainingHashes"][4]["unackMsgs"] = 3

    differences = spoilt(DRAINING, "03-stats.json", change)
    assert [
        (difference.recorded, difference.modelled)
        for difference in differences
        if difference.kind is StepFact.DRAINING_HASH
    ] == [("3 messages", "1 messages")]


@pytest.mark.parametrize(("file", "attempts"), [("05-stats.json", 0), ("04-stats.json", 2)])
def test_a_hash_that_holds_back_nothing_or_too_early_is_found(file: str, attempts: int) -> None:
    def change(document: Any) -> None:
        _consumers(document)[0]["drainingHashes"][4]["blockedAttempts"] = attempts

    (difference,) = spoilt(DRAINING, file, change)
    assert difference.kind is StepFact.DRAINING_BLOCKED
    assert (difference.recorded, difference.modelled) == (("72", "73") if attempts == 0 else ("1", "0"))


@pytest.mark.parametrize("place", ["subscription", "consumer"])
def test_another_total_of_cleared_hashes_is_found(place: str) -> None:
    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        (subscription if place == "subscription" else subscription["consumers"][0])["drainingHashesClearedTotal"] += 1

    differences = spoilt(DRAINING, "07-stats.json", change)
    assert kinds(differences) == {StepFact.DRAINING_CLEARED}


def test_hashes_that_drain_where_none_can_are_found() -> None:
    """STICKY never drains."""

    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        consumer = subscription["consumers"][0]
        consumer["drainingHashes"] = [{"hash": 12000, "unackMsgs": 1, "blockedAttempts": 0}]
        consumer["unackedMessages"] = 1
        for one in (subscription, consumer):
            one["drainingHashesCount"] = one["drainingHashesUnackedMessages"] = 1

    differences = spoilt("c-keyshared-sticky", "04-stats.json", change)
    assert [difference.kind for difference in differences] == [StepFact.DRAINING_HASH]


def test_a_key_that_reaches_others_before_its_hash_has_drained_is_found() -> None:
    """The hash is listed still, so it cannot have gone."""

    def change(scenario: Any) -> None:
        scenario["steps"][5]["received_by_others"]["d-b"].append("k-50")

    differences = spoilt(DRAINING, "scenario.json", change)
    assert {StepFact.DRAINING_HASH, StepFact.DRAINING_CLEARED} <= kinds(differences)
    assert {difference.moment for difference in differences} == {"6"}


def test_a_key_that_reaches_another_than_its_new_owner_is_found() -> None:
    def change(scenario: Any) -> None:
        for step in scenario["steps"][5:]:
            others = step["received_by_others"]
            others["d-b"].remove("k-5")
            others["d-c"].append("k-5")

    differences = spoilt(DRAINING, "scenario.json", change)
    assert [
        (difference.kind, difference.moment, difference.recorded, difference.modelled) for difference in differences
    ] == [(StepFact.KEY_RECEIVER, step, "d-c", "d-b") for step in ("6", "7")]


@pytest.mark.parametrize(
    ("name", "file", "member"),
    [
        (GAPS, "03-stats.json", "msgBacklog"),
        (GAPS, "05-stats.json", "msgInReplay"),
        ("v2.11.0-c-keyshared-sticky-gaps", "07-stats.json", "msgBacklog"),
        (DRAINING, "05-stats.json", "msgInReplay"),
    ],
)
def test_another_number_of_messages_that_wait_is_found(name: str, file: str, member: str) -> None:
    def change(document: Any) -> None:
        document["subscriptions"]["sub"][member] += 1

    differences = spoilt(name, file, change)
    assert StepFact.KEY_BACKLOG in kinds(differences)
    assert kinds(differences) <= {StepFact.KEY_BACKLOG, StepFact.DRAINING_BLOCKED}
