"""Every kind of Key_Shared fact that is tampered with is found, with its place and both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Difference, FactKind, verify_folder
from tests.lab.copies import copy_of, edit

Change = Callable[[Any], None]
GAPS = "v4.0.7-c-keyshared-sticky-gaps"
DRAINING = "c-keyshared-draining"


def _spoil(tmp_path: Path, name: str, file: str, change: Change) -> tuple[Difference, ...]:
    """What differs after the change; before it nothing does."""
    folder = copy_of(name, tmp_path)
    assert verify_folder(folder).exit_code == 0
    edit(folder, file, change)
    report = verify_folder(folder)
    assert report.exit_code == 1
    assert report.agree == report.compared - len(report.differences)
    return report.differences


def _consumers(document: Any) -> Any:
    return document["subscriptions"]["sub"]["consumers"]


def _kinds(found: tuple[Difference, ...]) -> set[FactKind]:
    return {each.kind for each in found}


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
def test_another_range_bound_is_found(tmp_path: Path, name: str, file: str) -> None:
    """Of the many ranges of a consumer only those that differ are shown, on both sides."""
    bounds: list[tuple[int, int]] = []

    def change(document: Any) -> None:
        piece = _consumers(document)[0]["keyHashRangeArrays"][0]
        bounds.append((piece[0], piece[1]))
        piece[1] += 1

    found = _spoil(tmp_path, name, file, change)
    ((start, end),) = bounds
    assert [(each.kind, each.file, each.recorded, each.modelled) for each in found] == [
        (FactKind.KEY_RANGES, file, f"[{start},{end + 1}]", f"[{start},{end}]")
    ]


@pytest.mark.parametrize("name", ["c-keyshared-ring-classic", "v3.0.2-c-keyshared-ring", "v3.3.6-c-keyshared-ring"])
def test_another_range_written_as_text_is_found(tmp_path: Path, name: str) -> None:
    def change(document: Any) -> None:
        _consumers(document)[1]["keyHashRanges"][3] = "[1, 2]"

    found = _spoil(tmp_path, name, "07-stats.json", change)
    assert [(each.kind, each.recorded, each.step) for each in found] == [(FactKind.KEY_RANGES, "[1,2]", "7")]


def test_ranges_out_of_order_and_ranges_left_out_are_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        consumers = _consumers(document)
        consumers[0]["keyHashRangeArrays"].reverse()
        del consumers[1]["keyHashRangeArrays"]

    found = _spoil(tmp_path, "c-keyshared-ring-3points", "05-stats.json", change)
    assert [each.kind for each in found] == [FactKind.KEY_RANGES] * 2
    assert found[0].recorded.split(", ") == found[0].modelled.split(", ")[::-1]
    assert (found[1].recorded, found[1].subject[-9:]) == ("nothing", "consumer2")


def test_ranges_in_the_form_of_another_release_are_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        for consumer in _consumers(document):
            pairs = consumer.pop("keyHashRangeArrays")
            consumer["keyHashRanges"] = [f"[{start}, {end}]" for start, end in pairs]

    found = _spoil(tmp_path, "v4.0.7-c-keyshared-autosplit", "05-stats.json", change)
    assert [(each.kind, each.recorded, each.modelled) for each in found] == [
        (FactKind.KEY_RANGES_FORM, "keyHashRanges", "keyHashRangeArrays")
    ]


@pytest.mark.parametrize(("member", "value"), [("keySharedMode", "AUTO_SPLIT"), ("allowOutOfOrderDelivery", True)])
def test_another_mode_or_ordering_is_found(tmp_path: Path, member: str, value: object) -> None:
    def change(document: Any) -> None:
        document["subscriptions"]["sub"][member] = value

    found = _spoil(tmp_path, "c-keyshared-sticky", "04-stats.json", change)
    assert _kinds(found) == {FactKind.KEY_SHARED_TERMS}


@pytest.mark.parametrize("spoil", ["gone", "renamed", "no subscription", "Shared", "nobody"])
def test_a_consumer_that_should_be_there_is_missed(tmp_path: Path, spoil: str) -> None:
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

    found = _spoil(tmp_path, "v3.0.7-c-keyshared-ring", "06-stats.json", change)
    assert [(each.kind, each.file) for each in found] == [(FactKind.CONNECTED, "06-stats.json")]


def test_a_name_that_the_scenario_does_not_know_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        _consumers(document)[0]["consumerName"] = "naught"

    found = _spoil(tmp_path, "c-keyshared-sticky-slot0", "02-stats.json", change)
    assert [(each.kind, each.recorded) for each in found] == [(FactKind.CONNECTED, "naught, rest")]


def test_another_order_of_consumers_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        _consumers(document).reverse()

    found = _spoil(tmp_path, "c-keyshared-ring", "05-stats.json", change)
    assert [(each.kind, each.recorded) for each in found] == [(FactKind.ORDER, "ks-d, ks-c, ks-b, ks-a")]


def test_namesakes_in_the_wrong_order_are_found(tmp_path: Path) -> None:
    """In the oldest ring they have the same ranges: only the time of connecting tells them apart."""

    def change(document: Any) -> None:
        consumers = _consumers(document)
        first, second = (at for at, each in enumerate(consumers) if each["consumerName"] == "ks-b")
        consumers[first], consumers[second] = consumers[second], consumers[first]

    found = _spoil(tmp_path, "v2.11.0-c-keyshared-ring", "05-stats.json", change)
    assert [(each.kind, each.recorded, each.modelled) for each in found] == [(FactKind.ORDER, "2, 1", "1, 2")]


@pytest.mark.parametrize("spoil", ["moved", "lost", "twice"])
@pytest.mark.parametrize("name", ["c-keyshared-ring", "v2.11.0-c-keyshared-autosplit", "v3.2.3-c-keyshared-ring"])
def test_another_receiver_of_a_key_is_found(tmp_path: Path, name: str, spoil: str) -> None:
    keys: list[str] = []

    def change(scenario: Any) -> None:
        received = scenario["steps"][6]["received"]
        first, second = list(received)[:2]
        keys.append(received[first][5])
        if spoil != "twice":
            del received[first][5]
        if spoil != "lost":
            received[second].append(keys[0])

    (found,) = _spoil(tmp_path, name, "scenario.json", change)
    assert (found.kind, found.step, found.subject) == (FactKind.KEY_RECEIVER, "7", f"key {keys[0]}")
    assert (found.recorded == "nothing") == (spoil == "lost")
    assert (found.modelled in found.recorded) == (spoil == "twice")


def test_somebody_who_gets_an_ownerless_key_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][14]["received"]["s-b"].append("k-9")

    found = _spoil(tmp_path, "c-keyshared-sticky", "scenario.json", change)
    assert found[0].kind is FactKind.KEY_WITHOUT_OWNER
    assert (found[0].subject, found[0].recorded, found[0].modelled) == ("key k-9", "s-b", "nothing")
    # It then comes a second time, and one message fewer waits.
    assert _kinds(found[1:]) == {FactKind.KEY_BACKLOG, FactKind.KEY_RECEIVER}


@pytest.mark.parametrize(("member", "step"), [("received_by_gap", 15), ("received_by_all", 11)])
def test_a_message_that_is_lost_in_the_end_is_found(tmp_path: Path, member: str, step: int) -> None:
    name = "c-keyshared-sticky" if member == "received_by_gap" else GAPS

    def change(scenario: Any) -> None:
        scenario["steps"][step][member].pop()

    found = _spoil(tmp_path, name, "scenario.json", change)
    assert {FactKind.KEY_RECEIVER} <= _kinds(found) <= {FactKind.KEY_RECEIVER, FactKind.KEY_BACKLOG}
    assert {each.recorded for each in found if each.kind is FactKind.KEY_RECEIVER} == {"nothing"}


@pytest.mark.parametrize("release", ["v2.11.0", "v3.0.2", "v3.3.6", "v4.0.0"])
def test_a_message_lost_for_good_is_found_where_gaps_were_served(tmp_path: Path, release: str) -> None:
    """Also where the model does not say when a message arrives: after all have left, it must."""

    def change(scenario: Any) -> None:
        del scenario["steps"][-1]["received_by_all"][3]

    found = _spoil(tmp_path, f"{release}-c-keyshared-sticky-gaps", "scenario.json", change)
    assert {FactKind.KEY_RECEIVER} <= _kinds(found) <= {FactKind.KEY_RECEIVER, FactKind.KEY_BACKLOG}
    assert {each.step for each in found} == {"12"}


@pytest.mark.parametrize("release", ["v2.11.0", "v3.0.2", "v3.2.3", "v3.3.2"])
def test_a_newcomer_that_gets_what_older_messages_hold_back_is_found(tmp_path: Path, release: str) -> None:
    """2.11.0 stops the whole subscription; later ones hold back what was sent after the newcomer came."""
    messages: list[list[str]] = []

    def change(scenario: Any) -> None:
        step, later = scenario["steps"][4], scenario["steps"][-1]["received_by_all"]
        messages.append(next(message for message in later if message[0] == "1" and message[1] == "k-11"))
        later.remove(messages[0])
        step["delivered"]["s-b"].append(messages[0])

    found = _spoil(tmp_path, f"{release}-c-keyshared-sticky-gaps", "scenario.json", change)
    assert (found[0].kind, found[0].step, found[0].subject) == (FactKind.KEY_HELD_BACK, "5", "key k-11, round 1")
    assert found[0].recorded == "s-b"


def test_a_message_that_comes_twice_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][6]["earlier_now_received"] = {"s-b": [["0", "k-0"]]}

    (found,) = _spoil(tmp_path, GAPS, "scenario.json", change)
    assert (found.kind, found.subject, found.recorded) == (FactKind.KEY_RECEIVER, "key k-0, round 0", "s-b")


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
def test_another_text_of_a_refusal_is_found(tmp_path: Path, step: int, text: str) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][step - 1]["wire_result"]["message"] = text

    (found,) = _spoil(tmp_path, "c-keyshared-sticky", "scenario.json", change)
    assert (found.kind, found.step) == (FactKind.JOIN_ANSWER, str(step))
    assert found.recorded.endswith(text)


@pytest.mark.parametrize("other", ["s-b", "s-c"])
def test_a_refusal_that_names_another_consumer_is_found(tmp_path: Path, other: str) -> None:
    def change(scenario: Any) -> None:
        result = scenario["steps"][6]["wire_result"]
        result["message"] = result["message"].replace("consumerName=s-a", f"consumerName={other}")

    (found,) = _spoil(tmp_path, "c-keyshared-sticky", "scenario.json", change)
    assert f"consumerName={other}," in found.recorded
    assert "consumerName=s-a," in found.modelled


def test_another_error_of_a_refusal_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][13]["wire_result"]["error"] = "ConsumerAssignError"

    (found,) = _spoil(tmp_path, "c-keyshared-sticky", "scenario.json", change)
    assert found.modelled.startswith("ConsumerBusy: Subscription is of different type. Active subscription key_shared")


@pytest.mark.parametrize("result", ["wire_result", "client_result"])
def test_a_consumer_that_is_let_in_and_should_be_refused_is_found(tmp_path: Path, result: str) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][7][result] = "accepted"

    (found,) = _spoil(tmp_path, "c-keyshared-sticky", "scenario.json", change)
    assert (found.kind, found.recorded) == (FactKind.JOIN_ANSWER, "accepted")


def test_a_refusal_of_a_consumer_that_should_be_let_in_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][7]["wire_result"] = {"error": "ConsumerAssignError", "message": "no"}

    (found,) = _spoil(tmp_path, "v3.3.2-c-keyshared-sticky-gaps", "scenario.json", change)
    assert (found.recorded, found.modelled) == ("ConsumerAssignError: no", "accepted")


def test_a_client_that_refuses_good_ranges_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        scenario["steps"][12]["client_result"] = "ValueError: Ranges for KeyShared policy with overlap."

    (found,) = _spoil(tmp_path, "c-keyshared-sticky", "scenario.json", change)
    assert (found.kind, found.modelled) == (FactKind.CLIENT_CHECK, "sent to the broker")


def test_ranges_that_could_not_have_been_accepted_are_found(tmp_path: Path) -> None:
    """The step says that the consumer joined; by its ranges it could not."""

    def change(scenario: Any) -> None:
        scenario["steps"][2]["ranges"] = [[9000, 19999]]

    found = _spoil(tmp_path, "c-keyshared-sticky", "scenario.json", change)
    assert (found[0].kind, found[0].step, found[0].recorded) == (FactKind.JOIN_ANSWER, "3", "accepted")
    assert "Range conflict with consumer" in found[0].modelled


@pytest.mark.parametrize("place", ["subscription", "consumer"])
@pytest.mark.parametrize("member", ["drainingHashesCount", "drainingHashesUnackedMessages"])
def test_another_count_of_draining_hashes_is_found(tmp_path: Path, place: str, member: str) -> None:
    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        (subscription if place == "subscription" else subscription["consumers"][0])[member] -= 1

    found = _spoil(tmp_path, DRAINING, "04-stats.json", change)
    assert _kinds(found) == {FactKind.DRAINING_COUNT}
    assert "73 hashes with 73 messages" in {each.modelled for each in found}


@pytest.mark.parametrize("spoil", ["another", "lost", "added"])
def test_another_draining_hash_is_found(tmp_path: Path, spoil: str) -> None:
    def change(document: Any) -> None:
        hashes = _consumers(document)[0]["drainingHashes"]
        if spoil == "another":
            hashes[0]["hash"] += 1
        elif spoil == "lost":
            hashes.pop(0)
        else:
            hashes.append({"hash": 5, "unackMsgs": 1, "blockedAttempts": 1})

    found = _spoil(tmp_path, DRAINING, "06-stats.json", change)
    sides = {(each.recorded, each.modelled) for each in found if each.kind is FactKind.DRAINING_HASH}
    lost, added = ("does not drain", "1 messages"), ("1 messages", "does not drain")
    assert sides == {"another": {lost, added}, "lost": {lost}, "added": {added}}[spoil]


def test_another_number_of_messages_of_a_draining_hash_is_found(tmp_path: Path) -> None:
    def change(document: Any) -> None:
        _consumers(document)[0]["drainingHashes"][4]["unackMsgs"] = 3

    found = _spoil(tmp_path, DRAINING, "03-stats.json", change)
    assert [(each.recorded, each.modelled) for each in found if each.kind is FactKind.DRAINING_HASH] == [
        ("3 messages", "1 messages")
    ]


@pytest.mark.parametrize(("file", "attempts"), [("05-stats.json", 0), ("04-stats.json", 2)])
def test_a_hash_that_holds_back_nothing_or_too_early_is_found(tmp_path: Path, file: str, attempts: int) -> None:
    def change(document: Any) -> None:
        _consumers(document)[0]["drainingHashes"][4]["blockedAttempts"] = attempts

    (found,) = _spoil(tmp_path, DRAINING, file, change)
    assert found.kind is FactKind.DRAINING_BLOCKED
    assert (found.recorded, found.modelled) == (("72", "73") if attempts == 0 else ("1", "0"))


@pytest.mark.parametrize("place", ["subscription", "consumer"])
def test_another_total_of_cleared_hashes_is_found(tmp_path: Path, place: str) -> None:
    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        (subscription if place == "subscription" else subscription["consumers"][0])["drainingHashesClearedTotal"] += 1

    found = _spoil(tmp_path, DRAINING, "07-stats.json", change)
    assert _kinds(found) == {FactKind.DRAINING_CLEARED}


def test_hashes_that_drain_where_none_can_are_found(tmp_path: Path) -> None:
    """STICKY never drains."""

    def change(document: Any) -> None:
        subscription = document["subscriptions"]["sub"]
        consumer = subscription["consumers"][0]
        consumer["drainingHashes"] = [{"hash": 12000, "unackMsgs": 1, "blockedAttempts": 0}]
        consumer["unackedMessages"] = 1
        for each in (subscription, consumer):
            each["drainingHashesCount"] = each["drainingHashesUnackedMessages"] = 1

    found = _spoil(tmp_path, "c-keyshared-sticky", "04-stats.json", change)
    assert [each.kind for each in found] == [FactKind.DRAINING_HASH]


def test_a_key_that_reaches_others_before_its_hash_has_drained_is_found(tmp_path: Path) -> None:
    """The hash is listed still, so it cannot have gone."""

    def change(scenario: Any) -> None:
        scenario["steps"][5]["received_by_others"]["d-b"].append("k-50")

    found = _spoil(tmp_path, DRAINING, "scenario.json", change)
    assert {FactKind.DRAINING_HASH, FactKind.DRAINING_CLEARED} <= _kinds(found)
    assert {each.step for each in found} == {"6"}


def test_a_key_that_reaches_another_than_its_new_owner_is_found(tmp_path: Path) -> None:
    def change(scenario: Any) -> None:
        for step in scenario["steps"][5:]:
            others = step["received_by_others"]
            others["d-b"].remove("k-5")
            others["d-c"].append("k-5")

    found = _spoil(tmp_path, DRAINING, "scenario.json", change)
    assert [(each.kind, each.step, each.recorded, each.modelled) for each in found] == [
        (FactKind.KEY_RECEIVER, step, "d-c", "d-b") for step in ("6", "7")
    ]


@pytest.mark.parametrize(
    ("name", "file", "member"),
    [
        (GAPS, "03-stats.json", "msgBacklog"),
        (GAPS, "05-stats.json", "msgInReplay"),
        ("v2.11.0-c-keyshared-sticky-gaps", "07-stats.json", "msgBacklog"),
        (DRAINING, "05-stats.json", "msgInReplay"),
    ],
)
def test_another_number_of_messages_that_wait_is_found(tmp_path: Path, name: str, file: str, member: str) -> None:
    def change(document: Any) -> None:
        document["subscriptions"]["sub"][member] += 1

    found = _spoil(tmp_path, name, file, change)
    assert FactKind.KEY_BACKLOG in _kinds(found)
    assert _kinds(found) <= {FactKind.KEY_BACKLOG, FactKind.DRAINING_BLOCKED}
