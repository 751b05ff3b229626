"""One spoilt answer, or one spoilt member of a scenario, is found: with its kind, its place and both sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.verify.report import FactKind as Plain
from tests.lab.facts import StepFact as Step
from tests.lab.spoiling import Case, Found, cut, edit, let, plus, put, swap, table

SCENARIO: Final = "scenario.json"
SUB: Final = "subscriptions.sub"


def partition(index: int, member: str = "") -> str:
    return f"partitions.~-partition-{index}.{member}".rstrip(".")


def step(number: int, member: str) -> str:
    """The path of a member of a step, which are numbered from 1."""
    return f"steps.{number - 1}.{member}"


# Failover, notices and settings


def _another_active(subscription: Any) -> None:
    names = [consumer["consumerName"] for consumer in subscription["consumers"]]
    names.remove(subscription["activeConsumerName"])
    subscription["activeConsumerName"] = names[0]


def _swap_namesakes(consumers: Any) -> None:
    names = [consumer["consumerName"] for consumer in consumers]
    swap(*(at for at, name in enumerate(names) if names.count(name) == 2))(consumers)


def _level_all(consumers: Any) -> None:
    for consumer in consumers:
        consumer["priority_level"] = 0


def _swap_namesakes_everywhere(document: Any) -> None:
    for index in range(4):
        _swap_namesakes(document["partitions"][_named(document, index)]["subscriptions"]["sub"]["consumers"])


def _named(document: Any, index: int) -> str:
    names: list[str] = [*document["partitions"]]
    return next(name for name in names if name.endswith(f"-partition-{index}"))


FLAG: Final = "activeConsumerFailoverConsistentHashing"
ACTIVE: Final = Plain.ACTIVE_PARTITION


@table(
    Case("a-failover-3p-modulo", "07-partitioned-stats.json", put(f"{partition(1, SUB)}.activeConsumerName", "c-a"),
         [Found(ACTIVE, "c-a", "c-b", "modulo"), Plain.STANDBYS], verified={ACTIVE, Plain.STANDBYS}),
    Case("a-failover-8p-hash", "05-partitioned-stats.json", cut(f"{partition(0, SUB)}.activeConsumerName"),
         [Found(ACTIVE, "nobody")], verified={ACTIVE}),
    Case("b-failover-nonpartitioned-hash", "06-stats-t-4.json", let("subscriptions.^", _another_active),
         [Found(Plain.ACTIVE_NONPARTITIONED, about="/t-4 / "), Found(Plain.STANDBYS, about="/t-4 / ")]),
    Case("a-textorder-3p-hash", "05-partitioned-stats.json", let(f"{partition(2, SUB)}.consumers", list.reverse),
         [Plain.ORDER, Plain.STANDBYS, Plain.CONSUMER_ENTRIES]),
    # Their names are equal, so only the time of connecting distinguishes them.
    Case("a-namesakes-4p-hash", "04-partitioned-stats.json", edit(_swap_namesakes_everywhere),
         [Plain.ORDER] * 4),
    Case("a-failover-3p-hash", "06-partitioned-stats.json", let(f"{partition(0, SUB)}.consumers", list.pop),
         [Step.CONNECTED, Plain.CONSUMER_ENTRIES]),
    Case("a-priority-reversed-6p-modulo", SCENARIO, let("consumers_in_join_order", _level_all), [],
         {Plain.ORDER, ACTIVE, Plain.STANDBYS, Step.NOTICE}),
    Case("a-priority-001-8p-modulo", SCENARIO, put(step(3, "notices.1.0.1"), lambda is_active: not is_active),
         [Step.NOTICE], moment="3"),
    Case("a-priority-001-8p-modulo", SCENARIO, cut(step(3, "notices.1.0")), [Step.NOTICE], moment="3"),
    Case("a-priority-001-8p-modulo", SCENARIO, let(step(3, "notices.1"), lambda all_: all_.append(all_[0])),
         [Step.NOTICE], moment="3"),
    Case("a-priority-001-8p-hash", SCENARIO, put(step(4, "notices.0"), [["orders-partition-0", False]]),
         [Found(Step.NOTICE, "inactive", "no notice")]),
    Case("a-nonpersistent-delivery-hash", SCENARIO, put(step(4, "delivered.1"), {"0": 3}),
         [Found(Step.ACTIVE_BY_DELIVERY, "0:c-b", "2:c-c")]),
    Case("v4.0.0-a-failover-6p-hash", SCENARIO, put("flag_known_to_release", value=True),
         [Step.FLAG_KNOWN]),
    Case("pip392-flag-on", "02-runtime-configuration.json", put(FLAG, "false"), [Step.SETTING_IN_FORCE]),
    Case("a-failover-8p-modulo", SCENARIO, put(f"broker_settings.{FLAG}", "true"), [], {ACTIVE, Plain.STANDBYS}),
    *(
        Case(name, "04-partitioned-stats.json", change, [Step.CONNECTED, *others])
        for name, added_up in (("a-failover-3p-hash", [Plain.CONSUMER_ENTRIES]), ("a-priority-001-8p-modulo", []))
        for change, others in (
            (let("partitions.^.subscriptions", dict.clear), added_up),
            (put("partitions.^.subscriptions.sub.consumers", []), added_up),
            (put("partitions.^.subscriptions.sub.type", "Shared"), []),
            (put("partitions.^.subscriptions.sub.type", "Exclusive"), []),
        )
    ),
)  # fmt: skip
def test_failover(case: Case) -> None:
    case.check()


# Bundles and splits


def _boundary(old: str, new: str) -> Any:
    def change(boundaries: Any) -> None:
        boundaries[boundaries.index(old)] = new

    return let("boundaries", change)


def _move_a_topic(bundles: Any) -> None:
    one, other = list(bundles.values())[:2]
    name, topic = one["persistent"].popitem()
    other["persistent"][name] = topic


def _answered(answer: Any) -> None:
    del answer["no_answer_after_s"]
    answer["status"] = 204


@table(
    Case("d-bundles-4x60", "03-bundles-after.json", _boundary("0x6436e22e", "0x6436e22f"),
         [Step.SPLIT_TOPIC_COUNT, Step.BUNDLE_LIST], is_spread=True),
    Case("d-flow-bandwidth-4x30", "01-bundles.json", put("boundaries.2", "0x80000001"),
         [Step.BUNDLE_LIST] * 2, is_spread=True),
    Case("d-flow-bandwidth-4x30", "01-policies.json", put("bundles.boundaries.2", "0x80000001"),
         [Step.DEFAULT_BOUNDARIES, Step.BUNDLE_LIST], is_spread=True),
    Case("pip392-flag-on", "02-bundles.json", put("boundaries.1", "0x40000001"),
         [*[Step.BUNDLE_LIST] * 2, Plain.POLICIES], is_spread=True),
    Case("d-flow-msgrate-4x60", "03-bundles-after.json", _boundary("0x23b8ec31", "0x33b8ec31"),
         [Step.SPLIT_FLOW, Step.BUNDLE_LIST], is_spread=True),
    Case("d-bundles-4x60", "04-topicHashPositions.json", put("topicHashPositions.^", plus(1)),
         [Plain.HASH_POSITION], verified={Plain.HASH_POSITION}),
    Case("d-range-from-one-bundle", "05-broker-stats-topics.json", let("^", _move_a_topic),
         [Plain.TOPIC_BUNDLE], verified={Plain.TOPIC_BUNDLE}),
    *(
        Case("d-bundles-4x60", SCENARIO, put(step(number, f"answers.{place}.status"), status),
             [Step.REFUSAL_STATUS], moment=str(number))
        for number, place, status in ((9, 0, 204), (9, 1, 404), (9, 3, 200), (11, 0, 204))
    ),
    Case("v2.11.0-d-bundles-4x24", SCENARIO, put("splits.4.answer.status", 204),
         [Found(Step.REFUSAL_STATUS, "204", "412")]),
    Case("d-bundles-4x60", SCENARIO, let(step(12, "answers.0"), _answered), [Found(Step.NEVER_ANSWERED, "204")]),
)  # fmt: skip
def test_bundles(case: Case) -> None:
    case.check()


# Producers

FULL, BYNAME, KEYS = "e-pip79-6p", "e-pip79-6p-byname", "e-key-routing-6p"
OLDEST, RATES = "v2.11.0-e-pip79-6p", "v4.0.7-e-pip79-6p"
THREE = "03-partitioned-stats.json"
ENTRIES = Plain.PUBLISHER_ENTRIES


def _as_if_weighted(document: Any) -> None:
    """What one would expect of an average, and what Pulsar does not do."""
    document["averageMsgSize"] = document["msgThroughputIn"] / document["msgRateIn"]


def _merge_by_position(document: Any) -> None:
    for publisher in document["publishers"]:
        publisher["supportsPartialProducer"] = False
        del publisher["producerName"]
    del document["publishers"][2:]


def _publishers(change: Callable[[list[Any]], None]) -> Any:
    """A change to the producers of all partitions."""
    return let("partitions", lambda all_: change([one["publishers"] for _, one in sorted(all_.items())]))


def _open_one_more(there: list[Any]) -> None:
    empty = next((partition for partition in there if not partition), there[-1])
    empty.append({**next(filter(None, there))[0], "producerName": "lazy-x"})


def _start_twice(there: list[Any]) -> None:
    next(partition for partition in there if not partition).append(next(filter(None, there))[0])


def _start_elsewhere_too(there: list[Any]) -> None:
    """A lazy producer without a name, which is at one partition only, starts at a second one."""
    names = [one["producerName"] for publishers in there for one in publishers]
    alone = next(one for publishers in there for one in publishers if names.count(one["producerName"]) == 1)
    next(publishers for publishers in there if alone not in publishers).append(alone)


def _rename_the_first(there: list[Any]) -> None:
    next(filter(None, there))[0]["producerName"] = "aaa"


def _another_partition(number: int, key: str) -> Any:
    return let(step(number, "key_to_partition"), lambda keys: keys.update({key: (keys[key] + 1) % 6}))


def _one_message_more(document: Any) -> None:
    document["partitions"][_named(document, 5)]["msgInCounter"] += 1
    document["msgInCounter"] += 1


@table(
    *(
        Case(RATES, THREE, put(member, plus(1)), [Plain.PARTITIONED_SUM], verified={Plain.PARTITIONED_SUM})
        for member in ("msgRateIn", "msgThroughputIn", "msgInCounter", "bytesInCounter", "storageSize")
    ),
    *(
        Case(name, THREE, put(f"publishers.1.{member}", lambda value: value * 1.001),
             [Found(kind, about="publisher entry 2")])
        for name in (OLDEST, RATES)
        for member, kind in (
            ("msgRateIn", Plain.PUBLISHER_SUM),
            ("msgThroughputIn", Plain.PUBLISHER_SUM),
            ("averageMsgSize", Plain.PUBLISHER_AVERAGE),
        )
    ),
    Case(RATES, THREE, edit(_as_if_weighted), [Plain.PARTITIONED_AVERAGE]),
    *(
        Case(RATES, THREE, change, [Found(ENTRIES, None, "without a name, without a name, without a name")])
        for change in (
            let("publishers", list.pop),
            put("publishers.0.producerName", "feed-a"),
            put("publishers.0.supportsPartialProducer", value=True),
        )
    ),
    *(
        Case(name, file, edit(_merge_by_position), [ENTRIES])
        for name, file in (
            (BYNAME, "16-partitioned-stats.json"),
            ("v3.0.2-e-pip79-6p-byname", "05-partitioned-stats.json"),
        )
    ),
    *(
        Case(name, SCENARIO, put("broker_settings.aggregatePublisherStatsByProducerName", value), [],
             {Step.PRODUCER_FLAG}, moment="16")
        for name, value in ((FULL, "true"), (BYNAME, "false"))
    ),
    *(
        Case(name, f"{number:02}-partitioned-stats.json", _publishers(change), [Step.PRODUCER_PARTITIONS, *others])
        for name, number, added_up in ((FULL, 4, "---"), (BYNAME, 8, "---"), (FULL, 13, "E--"), (BYNAME, 16, "E-E"))
        for change, others in zip(
            (_open_one_more, lambda there: next(filter(None, there)).pop(0), _rename_the_first),
            ([ENTRIES] * (one == "E") for one in added_up),
            strict=True,
        )
    ),
    Case(FULL, "02-partitioned-stats.json", _publishers(_start_twice), [],
         {Step.PRODUCER_PARTITIONS, Step.PARTITION_MESSAGES}, is_spread=True),
    Case(FULL, SCENARIO, put(step(10, "options.lazy_start_partitioned_producers"), value=True),
         [Found(Step.PRODUCER_PARTITIONS, moment="10"), Found(Step.PRODUCER_PARTITIONS, moment="11")],
         {Step.PRODUCER_PARTITIONS}),
    *(
        Case(FULL, f"{number}-partitioned-stats.json", put(f"{partition(3)}.publishers.0.accessMode", mode),
             [Found(Step.PRODUCER_ACCESS_MODE, mode)])
        for number, mode in ((13, "Shared"), (10, "Exclusive"))
    ),
    Case(FULL, SCENARIO, cut(step(14, "client_result")),
         [Found(Step.PRODUCER_ANSWER, "accepted", "ProducerBusy", "exclusive producer: lazy-excl")]),
    Case(FULL, SCENARIO, put(step(10, "client_result"), "ProducerBusy: no"),
         [Found(Step.PRODUCER_ANSWER, "ProducerBusy", "accepted")]),
    Case(FULL, SCENARIO, put(step(11, "producer_name"), "standalone-0-3"),
         [Found(Step.PRODUCER_NAME, None, "standalone-0-0")]),
    # Brokers count the names they give: step 16 cannot have those of step 15, or of before.
    Case(FULL, "16-partitioned-stats.json", put(f"{partition(2)}.publishers.1.producerName", "standalone-0-1"),
         [Step.PRODUCER_PARTITIONS]),
    # Java would hash them to others.
    *(
        Case(name, SCENARIO, _another_partition(number, key), [Found(Step.KEY_PARTITION, about=f"key {key!r}"), *more])
        for name, number, key, more in (
            (KEYS, 2, "k7", [Step.PARTITION_MESSAGES] * 2),
            (KEYS, 2, "日本", [Step.PARTITION_MESSAGES] * 2),
            (OLDEST, 3, "k3", []),
        )
    ),
    Case(KEYS, SCENARIO, let(step(3, "partitions_in_order"), swap(4, 5)),
         [Found(Step.KEYLESS_PARTITION, about="message 5 of step 3"),
          Found(Step.KEYLESS_PARTITION, about="message 6 of step 3")]),
    Case(FULL, SCENARIO, put(step(6, "message_id"), "(6,0,1,-1)"),
         [Found(Step.KEYLESS_PARTITION, "1")], moment="6"),
    *(
        Case(name, f"{number}-partitioned-stats.json", edit(_one_message_more),
             [Found(Step.PARTITION_MESSAGES, *sides)])
        for name, number, sides in ((FULL, "04", "32"), (BYNAME, "09", "54"), (KEYS, "02", "87"))
    ),
    *(
        Case("a-failover-8p-hash", "07-partitioned-stats.json", change, [kind])
        for change, kind in (
            (let(f"{SUB}.consumers", lambda all_: all_.append(all_[0])), Plain.CONSUMER_ENTRIES),
            (put(f"{SUB}.consumers.0.consumerName", "c-x"), Plain.CONSUMER_ENTRIES),
            (put(f"{SUB}.msgBacklog", plus(1)), Plain.SUBSCRIPTION_SUM),
        )
    ),
    *(
        Case("e-java-partial-4p-9", SCENARIO, put(step(number, member), lambda place: (place + 1) % 4),
             [Found(Step.KEYLESS_PARTITION, about="message 10 of step")])
        for number, member in ((3, "partitions_in_order.9"), (4, "key_to_partition.k9"))
    ),
    *(
        Case(name, "14-partitioned-stats.json", _publishers(_start_elsewhere_too),
             [Step.PRODUCER_PARTITIONS] * 3, is_spread=True)
        for name in ("e-java-10p-bypos", "v5m1-e-java-6p-hash")
    ),
    Case("e-java-10p-bypos", SCENARIO, put(step(15, "client_result"), "ProducerFencedException: x"),
         [Found(Step.PRODUCER_ANSWER, "ProducerFenced")]),
)  # fmt: skip
def test_producers(case: Case) -> None:
    case.check()


# Key_Shared

GAPS: Final = "v4.0.7-c-keyshared-sticky-gaps"
DRAINING: Final = "c-keyshared-draining"
STICKY: Final = "c-keyshared-sticky"
CONSUMERS: Final = f"{SUB}.consumers"
ONE: Final = f"{CONSUMERS}.0"
RECEIVER: Final = Step.KEY_RECEIVER


def _as_texts(consumers: Any) -> None:
    for consumer in consumers:
        consumer["keyHashRanges"] = [f"[{start}, {end}]" for start, end in consumer.pop("keyHashRangeArrays")]


def _left_out(consumers: Any) -> None:
    consumers[0]["keyHashRangeArrays"].reverse()
    del consumers[1]["keyHashRangeArrays"]


def _overlap(consumers: Any) -> None:
    consumers[1]["keyHashRangeArrays"][0] = consumers[0]["keyHashRangeArrays"][0]


def _overlap_as_text(consumers: Any) -> None:
    start, end = consumers[0]["keyHashRanges"][3].strip("[]").split(",")
    consumers[1]["keyHashRanges"].append(f"[{int(start)}, {int(end) + 1}]")


def _key_5_of_step_7(spoilt: str) -> Any:
    """The sixth key of the first receiver: received by the second one instead, by nobody, or by both."""

    def change(received: Any) -> None:
        first, second = list(received.values())[:2]
        key = first[5] if spoilt == "twice" else first.pop(5)
        if spoilt != "lost":
            second.append(key)

    return let(step(7, "received"), change)


def _too_early(scenario: Any) -> None:
    later = scenario["steps"][-1]["received_by_all"]
    message = next(message for message in later if message[0] == "1" and message[1] == "k-11")
    later.remove(message)
    scenario["steps"][4]["delivered"]["s-b"].append(message)


def _drain_where_none_can(subscription: Any) -> None:
    consumer = subscription["consumers"][0]
    consumer["drainingHashes"] = [{"hash": 12000, "unackMsgs": 1, "blockedAttempts": 0}]
    consumer["unackedMessages"] = 1
    for one in (subscription, consumer):
        one["drainingHashesCount"] = one["drainingHashesUnackedMessages"] = 1


def _another_new_owner(steps: Any) -> None:
    for one in steps[5:]:
        one["received_by_others"]["d-b"].remove("k-5")
        one["received_by_others"]["d-c"].append("k-5")


HASHES: Final = f"{ONE}.drainingHashes"
_ONE_MORE: Final = {"hash": 5, "unackMsgs": 1, "blockedAttempts": 1}
_COUNTS: Final = (Plain.DRAINING_COUNT, Step.DRAINING_BLOCKED)
LOST, ADDED = ("does not drain", "1 messages"), ("1 messages", "does not drain")


@table(
    # Of the many ranges of a consumer only those that differ are shown, on both sides.
    *(
        Case(name, file, put(f"{ONE}.keyHashRangeArrays.0.1", plus(1)),
             [Found(Step.KEY_RANGES, f"[{start},{end + 1}]", f"[{start},{end}]")])
        for name, file, start, end in (
            ("c-keyshared-ring", "06-stats.json", 182, 1059),
            ("c-keyshared-autosplit", "08-stats.json", 0, 16384),
            (STICKY, "15-stats.json", 0, 9999),
            (DRAINING, "05-stats.json", 146, 332),
            (GAPS, "05-stats.json", 0, 9999),
        )
    ),
    *(
        Case(name, "07-stats.json", put(f"{CONSUMERS}.1.keyHashRanges.3", "[1, 2]"), [Found(Step.KEY_RANGES, "[1,2]")])
        for name in ("c-keyshared-ring-classic", "v3.0.2-c-keyshared-ring", "v3.3.6-c-keyshared-ring")
    ),
    Case("c-keyshared-ring-3points", "05-stats.json", let(CONSUMERS, _left_out),
         [Step.KEY_RANGES, Found(Step.KEY_RANGES, "nothing", about="consumer2")]),
    # A slot that nobody has, and slots that two have.
    Case("c-keyshared-autosplit", "05-stats.json", let(f"{ONE}.keyHashRangeArrays", list.pop), [Step.KEY_RANGES],
         verified={Plain.KEY_RANGES_COMPLETE}),
    *(
        Case(name, file, let(CONSUMERS, change), [Step.KEY_RANGES], verified={Plain.KEY_RANGES_DISJOINT, *more})
        for name, file, change, more in (
            ("c-keyshared-ring", "04-stats.json", _overlap, [Plain.KEY_RANGES_COMPLETE]),
            (STICKY, "04-stats.json", _overlap, []),
            ("v2.11.0-c-keyshared-ring", "04-stats.json", _overlap_as_text, []),
        )
    ),
    Case("v4.0.7-c-keyshared-autosplit", "05-stats.json", let(CONSUMERS, _as_texts),
         [Found(Step.KEY_RANGES_FORM, "keyHashRanges", "keyHashRangeArrays")]),
    Case(STICKY, "04-stats.json", put(f"{SUB}.keySharedMode", "AUTO_SPLIT"), [Step.KEY_SHARED_TERMS]),
    Case(STICKY, "04-stats.json", put(f"{SUB}.allowOutOfOrderDelivery", value=True), [Step.KEY_SHARED_TERMS]),
    *(
        Case("v3.0.7-c-keyshared-ring", "06-stats.json", change, [Step.CONNECTED])
        for change in (
            cut(ONE),
            put(f"{ONE}.consumerName", "ks-x"),
            let("subscriptions", dict.clear),
            put(f"{SUB}.type", "Shared"),
            put(CONSUMERS, []),
        )
    ),
    Case("c-keyshared-sticky-slot0", "02-stats.json", put(f"{ONE}.consumerName", "naught"),
         [Found(Step.CONNECTED, "naught, rest")]),
    Case("c-keyshared-ring", "05-stats.json", let(CONSUMERS, list.reverse),
         [Found(Plain.ORDER, "ks-d, ks-c, ks-b, ks-a")]),
    # In the oldest ring they have the same ranges: only the time of connecting distinguishes them.
    Case("v2.11.0-c-keyshared-ring", "05-stats.json", let(CONSUMERS, _swap_namesakes),
         [Found(Plain.ORDER, "2, 1", "1, 2")]),
    *(
        Case(name, SCENARIO, _key_5_of_step_7(spoilt), [RECEIVER], moment="7")
        for name in ("c-keyshared-ring", "v2.11.0-c-keyshared-autosplit", "v3.2.3-c-keyshared-ring")
        for spoilt in ("moved", "lost", "twice")
    ),
    # It then comes a second time, and one message fewer waits.
    Case(STICKY, SCENARIO, let(step(15, "received.s-b"), lambda keys: keys.append("k-9")),
         [Found(Step.KEY_WITHOUT_OWNER, "s-b", "nothing", "key k-9")], {Step.KEY_BACKLOG, RECEIVER}),
    Case(STICKY, SCENARIO, let(step(16, "received_by_gap"), list.pop), [Found(RECEIVER, "nothing")]),
    Case(GAPS, SCENARIO, let(step(12, "received_by_all"), list.pop), [Found(RECEIVER, "nothing")]),
    # Also where the model does not say when a message arrives: after all have left, it must.
    *(
        Case(f"{release}-c-keyshared-sticky-gaps", SCENARIO, cut("steps.-1.received_by_all.3"), [RECEIVER], moment="12")
        for release in ("v2.11.0", "v3.0.2", "v3.3.6", "v4.0.0")
    ),
    # 2.11.0 stops the whole subscription; later ones hold back what was sent after the newcomer came.
    *(
        Case(f"{release}-c-keyshared-sticky-gaps", SCENARIO, edit(_too_early),
             [Found(Step.KEY_HELD_BACK, "s-b", None, "key k-11, round 1", "5")], {Step.KEY_BACKLOG})
        for release in ("v2.11.0", "v3.0.2", "v3.2.3", "v3.3.2")
    ),
    Case(GAPS, SCENARIO, put(step(7, "earlier_now_received"), {"s-b": [["0", "k-0"]]}),
         [Found(RECEIVER, "s-b", None, "key k-0, round 0")]),
    *(
        Case(STICKY, SCENARIO, put(step(number, "wire_result.message"), text), [Step.JOIN_ANSWER], moment=str(number))
        for number, text in (
            (5, "Consumer's own ranges conflict: [30000,30010] overlaps with [30005, 30020]"),
            (6, "Range conflict with consumer Consumer{consumerName=s-a}"),
            (9, "Fixed hash range start > end"),
            (12, "Ranges for KeyShared policy must not be empty"),
            (14, "Subscription is of different type."),
        )
    ),
    *(
        Case(STICKY, SCENARIO,
             put(step(7, "wire_result.message"), lambda text, other=other: text.replace("Name=s-a", f"Name={other}")),
             [Step.JOIN_ANSWER])
        for other in ("s-b", "s-c")
    ),
    Case(STICKY, SCENARIO, put(step(14, "wire_result.error"), "ConsumerAssignError"), [Step.JOIN_ANSWER]),
    *(
        Case(STICKY, SCENARIO, put(step(8, member), "accepted"), [Found(Step.JOIN_ANSWER, "accepted")])
        for member in ("wire_result", "client_result")
    ),
    Case("v3.3.2-c-keyshared-sticky-gaps", SCENARIO,
         put(step(8, "wire_result"), {"error": "ConsumerAssignError", "message": "no"}),
         [Found(Step.JOIN_ANSWER, "ConsumerAssignError: no", "accepted")]),
    Case(STICKY, SCENARIO, put(step(13, "client_result"), "ValueError: Ranges for KeyShared policy with overlap."),
         [Found(Step.CLIENT_CHECK, None, "sent to the broker")]),
    # The step says that the consumer joined; by its ranges it could not.
    Case(STICKY, SCENARIO, put(step(3, "ranges"), [[9000, 19999]]), [Found(Step.JOIN_ANSWER, "accepted", moment="3")],
         {Step.JOIN_ANSWER, Step.CONNECTED, Plain.ORDER}),
    *(
        Case(DRAINING, "04-stats.json", put(f"{place}.{member}", plus(-1)),
             [Found(Plain.DRAINING_COUNT, None, "73 hashes with 73 messages"), *sum_differs],
             verified={Plain.DRAINING_COUNT})
        for place, sum_differs in ((SUB, []), (ONE, [Plain.DRAINING_COUNT]))
        for member in ("drainingHashesCount", "drainingHashesUnackedMessages")
    ),
    *(
        Case(DRAINING, "06-stats.json", change, [*(Found(Step.DRAINING_HASH, *sides) for sides in found), *others])
        for change, found, others in (
            (put(f"{HASHES}.0.hash", plus(1)), [LOST, ADDED], []),
            (cut(f"{HASHES}.0"), [LOST], _COUNTS),
            (let(HASHES, lambda all_: all_.append(_ONE_MORE)), [ADDED], _COUNTS),
        )
    ),
    Case(DRAINING, "03-stats.json", put(f"{HASHES}.4.unackMsgs", 3),
         [Found(Step.DRAINING_HASH, "3 messages", "1 messages"), Plain.DRAINING_COUNT]),
    Case(DRAINING, "05-stats.json", put(f"{HASHES}.4.blockedAttempts", 0), [Found(Step.DRAINING_BLOCKED, "72", "73")]),
    Case(DRAINING, "04-stats.json", put(f"{HASHES}.4.blockedAttempts", 2), [Found(Step.DRAINING_BLOCKED, "1", "0")]),
    *(
        Case(DRAINING, "07-stats.json", put(f"{place}.drainingHashesClearedTotal", plus(1)),
             [Step.DRAINING_CLEARED] * count)
        for place, count in ((SUB, 1), (ONE, 2))
    ),
    # STICKY never drains.
    Case(STICKY, "04-stats.json", let(SUB, _drain_where_none_can), [Step.DRAINING_HASH]),
    # The hash is listed still, so it cannot have gone.
    Case(DRAINING, SCENARIO, let(step(6, "received_by_others.d-b"), lambda keys: keys.append("k-50")), [],
         {Step.DRAINING_HASH, Step.DRAINING_CLEARED}, moment="6"),
    Case(DRAINING, SCENARIO, let("steps", _another_new_owner),
         [Found(RECEIVER, "d-c", "d-b", moment="6"), Found(RECEIVER, "d-c", "d-b", moment="7")]),
    *(
        Case(name, file, put(f"{SUB}.{member}", plus(1)), [Step.KEY_BACKLOG])
        for name, file, member in (
            (GAPS, "03-stats.json", "msgBacklog"),
            (GAPS, "05-stats.json", "msgInReplay"),
            ("v2.11.0-c-keyshared-sticky-gaps", "07-stats.json", "msgBacklog"),
            (DRAINING, "05-stats.json", "msgInReplay"),
        )
    ),
)  # fmt: skip
def test_key_shared(case: Case) -> None:
    case.check()
