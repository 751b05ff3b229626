"""More questions of public threads, as pastes: cause, verdict and exit code, by what the threads found.

Written anew from the numbers of the reports; names are replaced, and members that play no part are left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.tui.cli.conftest import Run

Answer = dict[str, Any]
SENT_MS: Final = 1_643_845_638_551


def consumer(name: str, permits: int, unacked: int = 0, **more: Any) -> Answer:
    return {
        "consumerName": name, "availablePermits": permits, "unackedMessages": unacked,
        "blockedConsumerOnUnackedMsgs": False, "address": f"/10.1.1.7:{4000 + len(name)}",
        "connectedSince": "2022-02-02T22:44:27.600Z", **more,
    }  # fmt: skip


def counted(sent: int, acked_ms: int = 0) -> Answer:
    times = {"lastConsumedTimestamp": SENT_MS, "lastAckedTimestamp": acked_ms} if sent else {}
    return {"msgOutCounter": sent, "avgMessagesPerEntry": 1, **times}


def topic(type_: str, backlog: int, consumers: list[Answer], *, of_topic: Answer | None = None, **sub: Any) -> Answer:
    members = {"msgRateOut": 0.0, "msgRateRedeliver": 0.0, "type": type_, "msgBacklog": backlog, "unackedMessages": 0,
               "blockedSubscriptionOnUnackedMsgs": False, "msgDelayed": 0, **sub, "consumers": consumers}  # fmt: skip
    return {"msgRateIn": 0.0, "publishers": [], **(of_topic or {}), "subscriptions": {"lane": members}}


def shown(value: Answer, between: str = " : ") -> str:
    return json.dumps(value, indent=2, separators=(",", between))


def cursor(marked: str, read: str, written: str, **more: Any) -> Answer:
    flags = {"waitingReadOp": True, "pendingReadOps": 0, "active": True, "subscriptionHavePendingRead": True}
    place = {"markDeletePosition": marked, "readPosition": read, **flags, **more}
    return {"entriesAddedCounter": 9, "numberOfEntries": 9, "lastConfirmedEntry": written, "cursors": {"lane": place}}


def partitions(answer: Answer) -> Answer:
    named = {f"persistent://lake/main/hose-partition-{at}": answer for at in range(2)}
    return {"metadata": {"partitions": 2}, "partitions": named}


def first_of(run: Run, folder: Path, text: str, *, code: int) -> Answer:
    (folder / "paste.txt").write_text(text)
    ran = run("why", "paste.txt", "--json")
    assert ran.code == code, ran.out + ran.err
    row: Answer = json.loads(ran.out)
    return row


OUT_OF_PERMITS: Final = topic("Shared", 17_202, [
    consumer(f"node-{at}", 0, at * 401) for at in range(2)
], unackedMessages=401, msgRateRedeliver=6.1)  # fmt: skip
ONE_HELD: Final = topic("Shared", 1, [
    consumer("a", 1, **counted(0)), consumer("bb", 0, 1, **counted(1)), consumer("ccc", 1, **counted(0)),
], unackedMessages=1, msgOutCounter=1, lastConsumedTimestamp=SENT_MS, lastAckedTimestamp=0)  # fmt: skip
BLOCKED_WITH_NOTHING: Final = topic("Shared", 5_943, [
    consumer("a", 1000, blockedConsumerOnUnackedMsgs=True, **counted(109, SENT_MS)),
], msgOutCounter=109)  # fmt: skip
NEVER_ACKNOWLEDGED: Final = topic(
    "Exclusive", 4_000, [consumer("a", 0, **counted(4_000))], activeConsumerName="a", msgOutCounter=4_000,
    lastConsumedTimestamp=SENT_MS, lastAckedTimestamp=0, of_topic={"msgInCounter": 4_000},
)  # fmt: skip
SAME_NAME_THRICE: Final = topic(
    "Failover", 24, [{**consumer("svc", 1000, **counted(0)), "address": f"/h:{at}"} for at in range(3)],
    activeConsumerName="svc", msgOutCounter=0, of_topic={"msgInCounter": 105},
)  # fmt: skip
NOBODY_THERE: Final = topic("Shared", 301_266, [], msgOutCounter=7_697_026, of_topic={"count": 0, "msgInCounter": 0})
BELOW_ZERO: Final = topic("Shared", 2_201_844, [consumer("a", 981, -12)], unackedMessages=-12)
MINUS_TWO: Final = topic("Exclusive", -2, [consumer("a", 999, **counted(5_000))], activeConsumerName="a")
STICKY: Final = topic("Key_Shared", 3, [consumer("a", 1000, keyHashRanges=["[35891, 35899]"], **counted(0))],
                      keySharedMode="STICKY", msgOutCounter=0)  # fmt: skip
STILL: Final = topic("Shared", 803_777, [consumer("a", 1000)], of_topic={"msgRateIn": 122.2})
BATCHES: Final = topic(
    "Shared", 379, [consumer("a", 8_000, 1_256, msgOutCounter=78_401, avgMessagesPerEntry=4)], unackedMessages=1_256,
    msgRateOut=1_023.7, messageAckRate=1_003.7, msgInReplay=0, lastConsumedTimestamp=SENT_MS,
    lastAckedTimestamp=SENT_MS + 100, of_topic={"msgRateIn": 1_026.8},
)  # fmt: skip
SUMS: Final = {
    **topic("Shared", 295, [{"availablePermits": 0, "unackedMessages": 0}], msgOutCounter=999_678),
    "metadata": {"partitions": 30}, "partitions": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "cause", "verdict", "by", "code"),
    [
        pytest.param(shown(OUT_OF_PERMITS["subscriptions"])[2:-2], "no_permits", "cannot_tell", [],
                     1, id="380: a part of 2017 with permits of 0"),
        pytest.param(f"Topic stats:\n`{shown(ONE_HELD)}`\n\nand they just sit there.\n", "sent_not_acknowledged",
                     "cannot_tell", ["bb"], 1, id="14082: one is held, and the others ask"),
        pytest.param(shown(BLOCKED_WITH_NOTHING), "consumer_unacked_limit", "blocks", ["a"], 1,
                     id="22657: blocked with nothing unacknowledged"),
        pytest.param(shown(NEVER_ACKNOWLEDGED), "sent_not_acknowledged", "cannot_tell", ["a"], 1,
                     id="11979: Exclusive counts no unacknowledged messages"),
        pytest.param(shown(SAME_NAME_THRICE), "failover_active_not_served", "cannot_tell", [], 1,
                     id="7827: three of one name, the first long gone"),
        pytest.param(f"stats of that partition\n```\n{shown(NOBODY_THERE)}\n```", "no_consumers", "blocks", [], 1,
                     id="12800: one partition without consumers"),
        pytest.param(shown(BELOW_ZERO), "counts_do_not_add_up", "cannot_tell", ["a"], 1,
                     id="759: fewer than none unacknowledged"),
        pytest.param(shown(MINUS_TWO), "counts_do_not_add_up", "cannot_tell", [], 1, id="5543: a backlog below 0"),
        pytest.param(shown(STICKY), "keyshared_sticky_gap", "cannot_tell", [], 1,
                     id="15898: sticky ranges leave most slots to nobody"),
        pytest.param(f"STATS-INTERNAL:\n{shown(cursor('8:1', '8:2', '8:900000'))[2:-2]}\nSTATS:\n"
                     f"{shown(STILL['subscriptions'])[2:-2]}\n", "dispatcher_stalled", "cannot_tell", [], 1,
                     id="9788: fragments with labels between them"),
        pytest.param(shown(STILL), "dispatcher_stalled", "cannot_tell", [], 1, id="4900: 1000 permits and 800,000"),
        pytest.param(shown(BATCHES), "fine_keeping_up", "fine", [], 0, id="23908: batches on their way"),
        pytest.param("again:\n\n> bin/pulsar-admin topics partitioned-stats test\n> " +
                     "\n> ".join(shown(SUMS).splitlines()), "sums_only", "cannot_tell", [], 1,
                     id="10813: quoted sums of partitions"),
        pytest.param(shown(partitions(cursor("8:3404", "8:3405", "8:3404"))), "fine_idle", "fine", [], 0,
                     id="22709: cursors at the end"),
        pytest.param(shown(partitions(cursor("8:3000", "8:3100", "8:3404", waitingReadOp=False))), "cursors_only",
                     "cannot_tell", [], 1, id="cursors that are behind"),
        pytest.param(shown({"cursors": cursor("8:3000", "8:3100", "8:3404")["cursors"]})[2:-2], "cursors_only",
                     "cannot_tell", [], 1, id="the member with cursors alone"),
        pytest.param(shown(cursor("8:3000", "8:3100", "8:3404")["cursors"]), "cursors_only", "cannot_tell", [], 1,
                     id="a cursor alone"),
        pytest.param(shown(cursor("8:3000", "8:3100", "8:3404")["cursors"]["lane"]), "cursors_only", "cannot_tell", [],
                     1, id="a cursor without its name"),
    ],
)  # fmt: skip
def test_what_a_thread_found(
    run: Run, tmp_path: Path, text: str, cause: str, verdict: str, by: list[str], code: int
) -> None:
    first = first_of(run, tmp_path, text, code=code)["causes"][0]
    assert (first["id"], first["verdict"], first["by"]) == (cause, verdict, by)
    assert "unknown/unknown" not in first["fix"]


def test_5202_a_backlog_that_the_cursor_contradicts(run: Run, tmp_path: Path) -> None:
    busy = [consumer(f"node-{at}", 0, 150, **counted(16_800, SENT_MS)) for at in range(20)]
    stats = topic("Shared", 29_401, busy, unackedMessages=3_000, msgRateOut=93.3, of_topic={"msgRateIn": 102.4})
    text = f"{shown(stats)}\n{shown(cursor('9:50100', '9:53981', '9:53980'))}"
    row = first_of(run, tmp_path, text, code=1)
    first = row["causes"][0]
    assert (first["id"], row["moments"], first["numbers"]) == ("counts_do_not_add_up", 1, {"entries_left": 3_880})
    assert first["fields"] == ["msgBacklog", "markDeletePosition"]
    near = f"{shown({**stats})}\n{shown(cursor('9:30000', '9:53981', '9:53980'))}"
    assert first_of(run, tmp_path, near, code=1)["causes"][0]["id"] != "counts_do_not_add_up"


def _permits(backlog: int, permits: int, address: str = "/10.3.3.3:57108") -> str:
    only = {**consumer("lane-1", permits), "address": address}
    return shown(topic("Failover", backlog, [only], activeConsumerName="lane-1"))


def test_147_permits_that_fall_while_the_backlog_grows(run: Run, tmp_path: Path) -> None:
    """Statistics one after another that list the same connection are moments of one topic."""
    rounds = [_permits(0, 1024), _permits(3, 1021), _permits(9, 1015)]
    row = first_of(run, tmp_path, "The stats are:\n```\n" + "\n".join(rounds) + "\n```\n", code=1)
    first = row["causes"][0]
    assert (row["moments"], row["topics"], row["backlog"]) == (3, 1, 9)
    assert (first["id"], first["verdict"], first["by"]) == ("sent_not_acknowledged", "cannot_tell", ["lane-1"])
    assert set(first["fields"]) == {"msgBacklog", "availablePermits"}
    begun_as_json = first_of(run, tmp_path, "\n".join(rounds), code=1)
    assert (begun_as_json["moments"], begun_as_json["causes"][0]["id"]) == (3, "sent_not_acknowledged")
    places = [shown(cursor("8:1", "8:2", f"8:{at}")) for at in (1, 4, 10)]
    with_cursors = "\n".join(part for pair in zip(rounds, places, strict=True) for part in pair)
    row = first_of(run, tmp_path, with_cursors, code=1)
    assert (row["moments"], row["topics"], row["causes"][0]["id"]) == (3, 1, "waits_unexplained")
    still = first_of(run, tmp_path, "\n".join([_permits(3, 1021), _permits(9, 1021)]), code=1)
    assert still["causes"][0]["id"] == "waits_unexplained"
    apart = first_of(run, tmp_path, "\n".join([_permits(3, 1021), _permits(9, 1015, "/10.3.3.4:1")]), code=1)
    assert (apart["moments"], apart["topics"]) == (1, 2)


LOWERED: Final = topic(
    "Shared", 36_822, [consumer("a", 6, 10_001, blockedConsumerOnUnackedMsgs=True, **counted(10_002))],
    unackedMessages=10_001, msgOutCounter=1_106_459, msgRateOut=169.6, lastAckedTimestamp=0,
)  # fmt: skip
DRAINS: Final = {
    "type": "Key_Shared", "msgBacklog": 60,
    "consumers": [
        consumer("c1", 70, 30, drainingHashes=[{"hash": 2_862, "unackMsgs": 2, "blockedAttempts": 5}],
                 keyHashRangeArrays=[[12_000, 65_535]]),
        consumer("c2", 100, keyHashRangeArrays=[[0, 11_999]], drainingHashes=[]),
    ],
}  # fmt: skip
"""A subscription without msgInReplay."""
DROPS: Final = topic("Exclusive", 0, [consumer("a", 959, **counted(41))], msgOutCounter=41, activeConsumerName="a",
                     msgDropRate=0.37, of_topic={"msgInCounter": 78})  # fmt: skip
READER: Final = {
    "markDeletePosition": "19:187", "readPosition": "24:427", "waitingReadOp": False, "pendingReadOps": 0,
    "numberOfEntriesSinceFirstNotAckedMessage": 744_993, "subscriptionHavePendingRead": True, "state": "Uninitialized",
}  # fmt: skip
AT_END: Final = {"markDeletePosition": "546:690", "readPosition": "546:691", "waitingReadOp": True, "pendingReadOps": 0}
CUT_STATS: Final = (
    'stats:\n"lane" : {\n  "msgRateOut" : 0.0,\n  "msgBacklog" : 1150,\n'
    '  "blockedSubscriptionOnUnackedMsgs" : false,\n  "msgDelayed" : 0,\n\nstats-internal:\n\n'
)


@pytest.mark.parametrize(
    ("text", "cause", "numbers"),
    [
        pytest.param(shown(LOWERED), "consumer_unacked_limit", {"limit_at_most": 20_002, "unacked": 10_001},
                     id="21104: stopped far below the default, so another limit is in force"),
        pytest.param(shown(DRAINS), "keyshared_draining", {"in_replay": None, "worst_slot": 2_862},
                     id="23429: what waits in replay is not in the answer"),
        pytest.param(shown(DROPS), "messages_dropped", {"dropped_msgs_per_sec": 0.37}, id="18894: messages are lost"),
        pytest.param(shown({"reader-1": READER}), "cursors_only", {"in_hands": 744_992},
                     id="14869: a reader over several ledgers"),
        pytest.param(f"{CUT_STATS}{shown({'lane': AT_END})[1:-2]}", "counts_do_not_add_up", {"entries_left": 0},
                     id="8928: a cursor that waits at the end, below statistics cut in the middle"),
    ],
)  # fmt: skip
def test_what_a_thread_says_in_numbers(
    run: Run, tmp_path: Path, text: str, cause: str, numbers: dict[str, float | None]
) -> None:
    first = first_of(run, tmp_path, text, code=1)["causes"][0]
    assert (first["id"], {name: first["numbers"].get(name) for name in numbers}) == (cause, numbers)
    assert "maxUnackedMessagesOnConsumer" not in first["fields"]


def test_a_cursor_that_waits_at_the_end_has_nothing_left(run: Run, tmp_path: Path) -> None:
    first = first_of(run, tmp_path, shown({"lane": AT_END}), code=0)["causes"][0]
    assert (first["id"], first["fields"]) == ("fine_idle", ["markDeletePosition", "waitingReadOp"])
    behind = {**AT_END, "markDeletePosition": "546:600"}
    first = first_of(run, tmp_path, shown({"lane": behind}), code=1)["causes"][0]
    assert (first["id"], first["numbers"]["entries_left"]) == ("cursors_only", 90)


def _replicated(backlog: int, **more: Any) -> Answer:
    west = {"msgRateIn": 1_410.8, "msgRateOut": 0.0, "replicationBacklog": backlog, "connected": False, **more}
    return {"msgRateIn": 1_410.8, "publishers": [], "subscriptions": {}, "replication": {"west": west}}


def test_6438_what_waits_for_another_cluster_is_not_nothing(run: Run, tmp_path: Path) -> None:
    row = first_of(run, tmp_path, shown(_replicated(6_258_001)), code=1)
    first = row["causes"][0]
    assert (row["subscription"], row["type"], row["backlog"]) == ("pulsar.repl.west", "Replicator", 6_258_001)
    assert (first["id"], first["verdict"], first["waiting"]) == ("replication_behind", "cannot_tell", 6_258_001)
    lint = run("lint", "paste.txt", "--json")
    assert [finding["rule"] for finding in json.loads(lint.out)["findings"]] == ["replication_behind"]
    for answer in (_replicated(0), _replicated(9, connected=True, msgRateOut=5.0)):
        assert first_of(run, tmp_path, shown(answer), code=0)["causes"][0]["id"] == "fine_no_subscription"
    sends_nothing = first_of(run, tmp_path, shown(_replicated(9, connected=True)), code=1)["causes"][0]
    assert sends_nothing["fields"] == ["replicationBacklog", "connected", "msgRateOut"]


def test_a_part_of_an_answer_without_subscriptions_is_not_one_without_any(run: Run, tmp_path: Path) -> None:
    command = "$ bin/pulsar-admin topics stats persistent://a/b/c\n...\n"
    replication = shown({"replication": _replicated(4_163)["replication"]})[2:-2]
    row = first_of(run, tmp_path, f"{command}{replication},\n", code=1)
    assert (row["causes"][0]["id"], row["topic"], row["backlog"]) == ("replication_behind", "persistent://a/b/c", 4_163)
    for part in ({"replication": _replicated(0)["replication"]}, {"msgRateIn": 3.0, "publishers": []}):
        row = first_of(run, tmp_path, command + shown(part), code=1)
        assert (row["causes"][0]["id"], row["backlog"]) == ("not_reported", None)


def test_sums_over_partitions_say_what_waits_for_another_cluster(run: Run, tmp_path: Path) -> None:
    sums = {**_replicated(900), "metadata": {"partitions": 5}, "partitions": {}}
    text = f"> $ bin/pulsar-admin topics partitioned-stats a/b/c\n> {shown(sums)}".replace("\n", "\n> ")
    row = first_of(run, tmp_path, text, code=1)
    assert (row["causes"][0]["id"], row["topics"], row["backlog"]) == ("replication_behind", 5, 900)
    assert row["causes"][0]["fields"] == ["replicationBacklog"]


def test_the_same_command_with_a_name_of_release_1_is_the_same_topic(run: Run, tmp_path: Path) -> None:
    command = "$ bin/pulsar-admin persistent stats persistent://prop/standalone/ns/topic1\n"
    text = "".join(f"{command}{shown(topic('Shared', backlog, []))}\n\n# skipped\n" for backlog in (10, 0))
    row = first_of(run, tmp_path, text, code=0)
    assert (row["moments"], row["topics"], row["backlog"]) == (2, 1, 0)
    assert (row["causes"][0]["id"], row["causes"][0]["numbers"]) == ("fine_idle", {"backlog": 0})
    assert run("paste.txt", "--once").code == 2
    named = run("paste.txt", "--once", "--topic", "persistent://a/b/c")
    assert (named.code, "a/b/c" in named.out) == (0, True)


@pytest.mark.parametrize(("later", "verdict"), [(900, "blocks"), (700, "blocks"), (600, "cannot_tell")])
def test_a_replicator_that_stays_behind_blocks(run: Run, tmp_path: Path, later: int, verdict: str) -> None:
    command = "$ pulsar-admin topics stats persistent://a/b/c\n"
    text = "".join(f"{command}{shown(_replicated(backlog))}\n" for backlog in (700, later))
    row = first_of(run, tmp_path, text, code=1)
    assert (row["moments"], row["causes"][0]["verdict"]) == (2, verdict)


def test_47233_topics_that_a_loop_printed_with_its_own_numbers(run: Run, tmp_path: Path) -> None:
    rows = [f'"persistent://a/b/dml_{at}" | Storage: {at}673680489 bytes | Backlog: 56171694 msgs' for at in range(3)]
    loop = "$ for t in $(bin/pulsar-admin topics list a/b); do\n> echo $t\n> done\n"
    first = first_of(run, tmp_path, loop + "\n".join(rows) + "\n", code=1)["causes"][0]
    assert (first["id"], first["numbers"]) == ("no_statistics", {"topics": 3})


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--once"], "--topic persistent://TENANT/NAMESPACE/TOPIC"), (["lint"], ""), (["explain"], "TOPIC paste.txt")],
)
def test_an_answer_without_its_topic_says_what_to_type(run: Run, tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "paste.txt").write_text(shown(LOWERED))
    ran = run(*words, "paste.txt") if words != ["--once"] else run("paste.txt", *words)
    assert (ran.code == 2) is bool(said)
    assert said in ran.err


@pytest.mark.parametrize(
    "text",
    [
        "cursor info: cursorsLedgerId: 1085466\nmarkDeleteLedgerId: 1009812\n",
        "$ pulsar-admin topics stats persistent://a/b/c\nTopic not found\n\nReason: Topic not found\n",
        '{"reason": "Namespace does not exist"}',
        "$ grep Permits stats.txt\n" + '  "availablePermits" : 434,\n' * 3,
        "",
    ],
)
def test_what_is_not_an_answer(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "paste.txt").write_text(text)
    ran = run("why", "paste.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "Namespace does not exist" in ran.err or "reason" not in text


SLOTS: Final = {
    "drainingHashes": [{"hash": 30_000, "unackMsgs": 2, "blockedAttempts": 40}],
    "keyHashRangeArrays": [[0, 21_844]],
}
LATER: Final = {"keyHashRangeArrays": [[21_845, 43_689]]}
LAST: Final = {"keyHashRangeArrays": [[43_690, 65_535]]}
WAITING: Final = topic(
    "Key_Shared", 6, [consumer("a", 90, 2, **SLOTS), consumer("b", 90, **LATER), consumer("c", 90, **LAST)],
    msgInReplay=4, unackedMessages=2,
)  # fmt: skip


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "cut"])
@pytest.mark.parametrize("from_end", [False, True], ids=["end", "beginning"])
def test_consumers_that_are_whole_prove_what_they_prove_in_a_part_of_an_answer(
    run: Run, tmp_path: Path, from_end: bool, whole: bool
) -> None:
    """What a screen or a message had no room for is the beginning or the end, in the middle of a list of consumers."""
    text = shown(WAITING)
    if not whole:
        text = text[text.index('"msgRateOut"') :] if from_end else text[: text.index('"consumerName" : "c"') + 60]
    row = first_of(run, tmp_path, text, code=1)
    (first,) = row["causes"]  # and not that everything was sent, for 4 messages wait
    assert (first["id"], first["blocked"], first["by"]) == ("keyshared_draining", ["b"], ["a"])
    assert row["subscription"] == ("lane" if whole or not from_end else "unnamed")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ('"msgBacklog" : 24,\n"blockedSubscriptionOnUnackedMsgs" : false,\n"unackedMessages" : 24,',
         {"backlog": 24, "unacked": 24}),
        ('"unackedMessages" : 193\n}, {\n"consumerName" : "x",\n"availablePermits" : 0,\n"unackedMessages" : 150\n}, {',
         {}),
    ],
    ids=["14082: a subscription's own numbers", "5202: the middle of a list of consumers"],
)  # fmt: skip
def test_a_few_lines_from_the_middle_say_what_is_missing(
    run: Run, tmp_path: Path, text: str, numbers: dict[str, int]
) -> None:
    (first,) = first_of(run, tmp_path, text, code=1)["causes"]
    assert (first["id"], first["numbers"]) == ("not_reported", numbers)


def test_17493_entries_are_counted_over_all_ledgers(run: Run, tmp_path: Path) -> None:
    stored = [{"ledgerId": 1036, "entries": 50_000}, {"ledgerId": 1100, "entries": 7}, {"ledgerId": 1469, "entries": 0}]
    waiting = {"waitingReadOp": False, "subscriptionHavePendingRead": False}
    answer = cursor("1036:14082", "1036:14690", "1469:40222", **waiting) | {"ledgers": stored}
    (first,) = first_of(run, tmp_path, shown(answer), code=1)["causes"]
    assert first["numbers"] == {"entries_left": 35_917 + 7 + 40_223, "unread": 35_310 + 7 + 40_223}
    del answer["ledgers"][0]["entries"], answer["ledgers"][1]["ledgerId"]
    (first,) = first_of(run, tmp_path, shown(answer), code=1)["causes"]
    assert first["numbers"] == {}


@pytest.mark.parametrize("words", ["-gpb \\\n> persistent://public/default/hose", "-gpb true \\\n> hose"])
def test_a_command_goes_on_behind_a_second_prompt(run: Run, tmp_path: Path, words: str) -> None:
    row = first_of(run, tmp_path, f"$ pulsar-admin topics stats {words}\n{shown(topic('Shared', 5, []))}", code=1)
    assert row["topic"] == "persistent://public/default/hose"


def test_what_a_finding_says_to_run_is_understood(run: Run, tmp_path: Path) -> None:
    """The line records two moments of a topic that no file names, and gives its name with the folder."""
    waiting = topic("Key_Shared", 9, [consumer("a", 5, 1), consumer("b", 0, 2)], msgInReplay=6, unackedMessages=3)
    (first, *_) = first_of(run, tmp_path, shown(waiting), code=1)["causes"]
    assert "ringside why . --topic TOPIC" in first["fix"]
    for turn in (1, 2):
        (tmp_path / f"{turn}-stats.json").write_text(shown(waiting))
        (tmp_path / f"{turn}-internal.json").write_text(shown(cursor("1:2", "1:9", "1:11")))
    (tmp_path / "paste.txt").unlink()
    ran = run("why", ".", "--topic", "persistent://lake/main/hose", "--json")
    (row,) = json.loads(ran.out)["subscriptions"] if "subscriptions" in ran.out[:200] else [json.loads(ran.out)]
    assert (row["topic"], row["moments"]) == ("persistent://lake/main/hose", 2)


def test_10813_single_lines_of_internal_statistics_are_those_of_one_cursor(run: Run, tmp_path: Path) -> None:
    lines = '"lastConfirmedEntry" : "28:8934",\n:\n"markDeletePosition" : "28:8916",\n "readPosition" : "28:8935",\n'
    (first,) = first_of(run, tmp_path, f"All was dispatched.\n```\n{lines}```\n", code=1)["causes"]
    assert (first["id"], first["numbers"]) == ("cursors_only", {"entries_left": 18, "unread": 0})


@pytest.mark.parametrize("around", ["{}", "What we run:\n```\n{}```\nIs it right?\n", "```ini\n{}"])
def test_settings_between_code_fences_are_judged(run: Run, tmp_path: Path, around: str) -> None:
    settings = (
        "# how much\nloadBalancerBrokerThresholdShedderPercentage=10\n\nloadBalancerAutoBundleSplitEnabled=false\n"
    )
    (tmp_path / "paste.txt").write_text(around.format(settings))
    ran = run("lint", "paste.txt", "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert {finding["rule"] for finding in document["findings"]} == {"shedder-margin"}
