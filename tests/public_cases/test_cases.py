"""Sixteen questions that people asked in public, as their inputs show them: cause, numbers and exit code of the answer.

Inputs are written anew from the numbers of the reports; names are replaced, and members that play no part are left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from engine.admin.inferred_release import ring_ranges
from engine.config import BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.keyshared.model import Consumer
from tests.tui.cli.conftest import Run

Answer = dict[str, Any]
ORDERS: Final = "persistent://depot/main/parcels"


def _why(run: Run, *words: str, code: int) -> list[dict[str, Any]]:
    """All diagnoses, the worst first, of a run with this exit code."""
    ran = run("why", *words, "--all", "--json")
    assert ran.code == code, ran.out + ran.err
    rows: list[dict[str, Any]] = json.loads(ran.out)["subscriptions"]
    return rows


def _first(row: dict[str, Any]) -> tuple[str, str]:
    cause = row["causes"][0]
    return cause["id"], cause["verdict"]


def _saved(folder: Path, answers: dict[str, Any]) -> str:
    for name, answer in answers.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(answer if isinstance(answer, str) else json.dumps(answer))
    return str(folder)


def _path(topic: str, kind: str = "stats") -> str:
    return f"admin/v2/{topic.replace('://', '/')}/{kind}.json"


def _consumer(name: str, permits: int, **more: Any) -> Answer:
    return {"consumerName": name, "availablePermits": permits, "blockedConsumerOnUnackedMsgs": False, **more}


def _topic(sub: str, consumers: list[Answer], *, topic: Answer | None = None, **members: Any) -> Answer:
    counts = {"msgBacklog": 0, "unackedMessages": 0, "msgDelayed": 0, "blockedSubscriptionOnUnackedMsgs": False}
    return {"msgRateIn": 0.0, "publishers": [], **(topic or {}), "subscriptions": {
        sub: {"msgRateOut": 0.0, **counts, **members, "consumers": consumers},
    }}  # fmt: skip


def _cursor(marked: str, read: str, **flags: Any) -> Answer:
    return {"markDeletePosition": marked, "readPosition": read, "active": True, **flags}


# Settings, lists and look-ups


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broker.conf", "# of 3.0.3\nloadBalancerSheddingEnabled=true\nloadManagerClassName=org.apache.pulsar.broker."
                        "loadbalance.impl.ModularLoadManagerImpl\nloadBalancerLoadSheddingStrategy=org.apache.pulsar."
                        "broker.loadbalance.impl.ThresholdShedder\n"),
        ("values.yaml", 'broker:\n  configData:\n    loadBalancerLoadSheddingStrategy: "org.apache.pulsar.broker.'
                        'loadbalance.impl.UniformLoadShedder"\n    maxUnloadPercentage: "0.5"\n'),
    ],
)  # fmt: skip
def test_broker_conf_and_helm_values(run: Run, tmp_path: Path, name: str, text: str) -> None:
    _saved(tmp_path, {name: text})
    ran = run("lint", name, "--json", "--pulsar", "3.0.3")
    assert (ran.code, [row["rule"] for row in json.loads(ran.out)["findings"]]) == (0, ["shedder-margin"])
    assert run("why", name).code == 2


def test_partitioned_lookup(run: Run, tmp_path: Path) -> None:
    owners = [0, 1, 1, 1, 0, 1, 1, 0]
    look_up = {f"{ORDERS}-partition-{at}": f"pulsar://node-{owner}:6650" for at, owner in enumerate(owners)}
    bounds = ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"]
    _saved(tmp_path, {"lookup.json": look_up, "bundles.json": {"boundaries": bounds, "numBundles": 4}})
    (namespace,) = json.loads(run(".", "--json").out)["namespaces"]
    assert (namespace["name"], namespace["topics"], namespace["bundles"]) == ("depot/main", 8, 4)
    assert sum(bundle["topics"] for bundle in namespace["roots"]) == 8
    assert {bundle["msgs_per_sec"] for bundle in namespace["roots"]} == {None}
    ran = run("why", ".", "--json")
    (cause,) = json.loads(ran.out)["causes"]
    assert (ran.code, cause["id"], cause["numbers"]) == (1, "no_statistics", {"topics": 8, "owners": 2, "bundles": 4})


# Pastes


ONE_LEFT_MS: Final = 1_761_321_567_588
"""When the last message was published; it went out 8 ms later, and 30 s before that the last one was acknowledged."""


def _one_left() -> Answer:
    def sub(name: str, backlog: int, consumed_ms: int, acked_ms: int) -> Answer:
        times = {"lastConsumedTimestamp": consumed_ms, "lastAckedTimestamp": acked_ms}
        member = _consumer(name, 995, unackedMessages=0, msgOutCounter=5, **times)
        return {"type": "Failover", "activeConsumerName": name, "msgBacklog": backlog, "unackedMessages": 0,
                "msgOutCounter": 5, "consumers": [member], **times}  # fmt: skip

    done_ms = ONE_LEFT_MS + 61_500_000
    unused = {"type": "Failover", "msgBacklog": 6, "unackedMessages": 0, "consumers": []}
    subs = {
        "sink": sub("f1", 1, ONE_LEFT_MS + 8, ONE_LEFT_MS - 30_189),
        "audit": sub("f9", 1, done_ms - 27_000, done_ms),
        "trial": unused,
    }
    return {"msgInCounter": 10, "publishers": [], "lastPublishTimeStamp": ONE_LEFT_MS, "subscriptions": subs}


INTERNAL: Final = {
    "entriesAddedCounter": 10,
    "lastConfirmedEntry": "94:9",
    "cursors": {"sink": _cursor("94:8", "94:10"), "audit": _cursor("94:9", "94:10"), "trial": _cursor("94:3", "94:5")},
}


@pytest.mark.parametrize("with_cursor", [True, False])
def test_failover_one_left(run: Run, tmp_path: Path, with_cursor: bool) -> None:
    partition = f"{ORDERS}-partition-1"
    _saved(tmp_path, {_path(partition): _one_left()})
    if with_cursor:
        _saved(tmp_path, {_path(partition, "internalStats"): INTERNAL})
    rows = {row["subscription"]: row for row in _why(run, str(tmp_path), code=1)}
    assert _first(rows["trial"]) == ("no_consumers", "blocks")
    assert _first(rows["sink"]) == ("sent_not_acknowledged", "blocks")
    cause = rows["sink"]["causes"][0]
    assert (cause["by"], cause["numbers"]["held"]) == (["f1"], 1)
    assert cause["numbers"]["held_for_s"] == pytest.approx(61_500, abs=1)
    audit = _first(rows["audit"])
    assert audit == ("fine_idle", "fine") if with_cursor else audit[1] == "cannot_tell"
    assert "unload" not in rows["audit"]["causes"][0]["fix"]


def test_failover_two_answers_in_a_file(run: Run, tmp_path: Path) -> None:
    def answer(backlog: int) -> str:
        member = _consumer("t1", 1024 - backlog, unackedMessages=0)
        return json.dumps(_topic("relay", [member], type="Failover", activeConsumerName="t1", msgBacklog=backlog))

    _saved(tmp_path, {"stats.txt": f"{answer(0)}\n1\n{answer(12)}\n"})
    (row,) = _why(run, "stats.txt", code=1)
    assert (row["topics"], row["backlog"], row["causes"][0]["verdict"]) == (2, 12, "cannot_tell")


@pytest.mark.parametrize("braces", [True, False])
def test_keyshared_fragment(run: Run, tmp_path: Path, braces: bool) -> None:
    members = [_consumer("k1", 786, unackedMessages=214), _consumer("k2", 1000, unackedMessages=0)]
    counts = {"msgBacklog": 31_022, "msgDelayed": 1_200, "unackedMessages": 214}
    text = json.dumps({f"{ORDERS}-partition-0": _topic("pull", members, topic={"msgRateIn": 99.3}, type="Key_Shared",
                                                       **counts)})  # fmt: skip
    _saved(tmp_path, {"paste.json": text if braces else text[1:-1]})
    (row,) = _why(run, "paste.json", code=1)
    cause = row["causes"][0]
    assert (_first(row), cause["by"], cause["blocked"]) == (("keyshared_recently_joined", "blocks"), ["k1"], ["k2"])
    numbers = {name: cause["numbers"][name] for name in ("waiting", "delayed", "unacked", "permits_of_k2")}
    assert numbers == {"waiting": 29_608, "delayed": 1_200, "unacked": 214, "permits_of_k2": 1_000}


def _pace(at_ms: int) -> Answer:
    """One worker that acknowledges 3.45 of 43.3 messages/s; its last message went out 135 s before that."""
    shown = {"messageAckRate": 3.45, "lastConsumedTimestamp": at_ms - 134_902, "lastAckedTimestamp": at_ms}
    member = _consumer("w1", 0, unackedMessages=532, msgOutCounter=1_500, **shown)
    counts = {"msgBacklog": 4_533, "unackedMessages": 532, "msgOutCounter": 1_500, "msgInReplay": 0}
    return _topic("work", [member], topic={"msgRateIn": 43.3, "msgInCounter": 5_501}, type="Shared", **counts, **shown)


SLOW_MS: Final = 1_742_646_448_165
PROMPT: Final = "ops@depot:~$ "


@pytest.mark.parametrize("name", ["session.txt", "session.log", "session"])
def test_paste_with_prompt(run: Run, tmp_path: Path, name: str) -> None:
    text = json.dumps(_pace(SLOW_MS), indent=2)
    line = f'{PROMPT}kubectl exec -it tools-0 -- bin/pulsar-admin topics stats {ORDERS}\nDefaulted container "tools"\n'
    _saved(tmp_path, {name: f"{line}{text}\n{PROMPT}"})
    (row,) = _why(run, name, code=1)
    assert (row["topic"], _first(row)) == (ORDERS, ("slow_consumer", "slows"))


def test_snake_case_is_fine(run: Run, tmp_path: Path) -> None:
    member = {"consumer_name": "a", "available_permits": 0, "unacked_messages": 0}
    sub = {"msg_backlog": 100, "type": "Failover", "active_consumer_name": "a", "consumers": [member]}
    _saved(tmp_path, {"stats.json": {"msg_rate_in": 12.5, "msg_rate_out": 0, "subscriptions": {"s": sub}}})
    (row,) = _why(run, "stats.json", code=1)
    assert (row["backlog"], row["causes"][0]["verdict"]) == (100, "cannot_tell")
    del sub["msg_backlog"]
    _saved(tmp_path, {"stats.json": {"subscriptions": {"s": sub}}})
    (row,) = _why(run, "stats.json", code=1)
    assert all("msgBacklog" not in cause["fields"] for cause in row["causes"])


def test_why_topic_option(run: Run, tmp_path: Path) -> None:
    _saved(tmp_path, {"stats.json": _one_left()})
    partition = f"{ORDERS}-partition-1"
    named = _why(run, "stats.json", "--topic", partition, code=1)
    assert {row["topic"] for row in named} == {ORDERS} and partition in named[0]["causes"][0]["fix"]
    nameless = _why(run, "stats.json", code=1)
    assert all("unknown" not in cause["fix"] for row in nameless for cause in row["causes"])
    assert nameless[0]["causes"][0]["fix"].endswith("-s trial TOPIC")


# Stalls and their look-alikes


def test_failover_partitions_lost_their_consumer(run: Run, tmp_path: Path) -> None:
    def partition(number: int) -> Answer:
        lost = number in (7, 21)
        members = [] if lost else [_consumer("app-3", 1_000, unackedMessages=0)]
        return _topic("main", members, type="Failover", activeConsumerName="app-3", msgBacklog=301_245 * lost,
                      lastConsumedTimestamp=1_636_953_000_000)  # fmt: skip

    answer = {"partitions": {f"{ORDERS}-partition-{number}": partition(number) for number in range(40)}}
    _saved(tmp_path, {_path(ORDERS, "partitioned-stats"): answer})
    (row,) = _why(run, str(tmp_path), code=1)
    cause = row["causes"][0]
    assert (_first(row), cause["by"], cause["topics"]) == (("consumer_lost_partitions", "blocks"), ["app-3"], 2)
    assert (cause["numbers"]["lost"], cause["waiting"], cause["numbers"]["partitions"]) == ("7, 21", 602_490, 40)
    assert "skip-all" not in json.dumps(row["causes"])
    explained = json.loads(run("explain", f"{ORDERS}-partition-7", str(tmp_path), "--json").out)
    nobody = {"consumers": 0, "active": None, "backlog": 301_245, "others_served": 38}
    assert explained["reported"] == nobody
    page = run("explain", f"{ORDERS}-partition-7", str(tmp_path)).out
    assert [line.split()[:2] for line in page.splitlines() if line.startswith(("reported", "active", "by rule"))] == [
        ["reported", "nobody:"], ["by", "rule"],
    ]  # fmt: skip
    assert run("explain", f"{ORDERS}-partition-8", str(tmp_path)).out.count("reported  ") == 0


def test_hot_partition_of_a_producer(run: Run, tmp_path: Path) -> None:
    topic = "non-persistent://depot/main/gauges"
    answer = {
        f"{topic}-partition-{number}": {"msgRateIn": 3_512.47 * (not number), "publishers": [{}], "subscriptions": {}}
        for number in range(6)
    }
    _saved(tmp_path, {"stats.json": answer})
    (row,) = _why(run, "stats.json", code=1)
    numbers = row["causes"][0]["numbers"]
    assert _first(row) == ("producer_hot_partition", "uneven")
    assert (numbers["busiest"], numbers["without_messages"], numbers["producers"]) == (3_512.47, 5, 1)
    assert "explain route" in row["causes"][0]["fix"]
    findings = json.loads(run("lint", "stats.json", "--json").out)["findings"]
    assert "producer_hot_partition" in [finding["rule"] for finding in findings]
    even = {name: {**shown, "msgRateIn": 585.0} for name, shown in answer.items()}
    _saved(tmp_path, {"stats.json": even})
    (row,) = _why(run, "stats.json", code=0)
    assert _first(row) == ("fine_no_subscription", "fine")


def test_partitioned_stats_without_partitions(run: Run, tmp_path: Path) -> None:
    member = {"availablePermits": 46_854, "unackedMessages": 243, "msgRateOut": 262.46}
    counts = {"msgBacklog": 53_210, "msgInReplay": 812, "unackedMessages": 972, "msgRateOut": 1_050.0}
    sums = _topic("batcher", [member] * 4, topic={"msgRateIn": 1_040.0}, type="Key_Shared", **counts,
                  nonContiguousDeletedMessagesRanges=1_400)  # fmt: skip
    _saved(tmp_path, {_path(ORDERS, "partitioned-stats"): {**sums, "metadata": {"partitions": 50}, "partitions": {}}})
    (row,) = _why(run, str(tmp_path), code=1)
    numbers = row["causes"][0]["numbers"]
    assert (_first(row), "--per-partition" in row["causes"][0]["fix"]) == (("sums_only", "cannot_tell"), True)
    assert [numbers[name] for name in ("backlog", "in_replay", "unacked", "deleted_ranges", "in_rate", "out_rate",
                                       "partitions")] == [53_210, 812, 972, 1_400, 1_040, 1_050, 50]  # fmt: skip


def test_partitioned_stats_of_producers_without_partitions(run: Run, tmp_path: Path) -> None:
    sums = {"msgRateIn": 3_512.47, "publishers": [{"msgRateIn": 3_512.47, "producerId": 0}], "subscriptions": {}}
    _saved(tmp_path, {_path(ORDERS, "partitioned-stats"): {**sums, "metadata": {"partitions": 6}, "partitions": {}}})
    (row,) = _why(run, str(tmp_path), code=1)
    assert (_first(row), row["causes"][0]["numbers"]["publishers"]) == (("sums_only", "cannot_tell"), 1)


@pytest.mark.parametrize(("per_entry", "cause"), [(47, "keyshared_batches"), (1, "keyshared_few_keys")])
def test_keyshared_batches_not_keys(run: Run, tmp_path: Path, per_entry: int, cause: str) -> None:
    def at(out: int) -> Answer:
        sent = {"r1": out, "r2": 2_100, "r3": 0, "r4": 0}
        members = [
            _consumer(name, 1_000, unackedMessages=0, msgOutCounter=count, avgMessagesPerEntry=per_entry * bool(count),
                      keyHashRangeArrays=[[16_384 * number, 16_384 * number + 16_383]])
            for number, (name, count) in enumerate(sent.items())
        ]  # fmt: skip
        counted = {"msgOutCounter": out + 2_100, "msgInReplay": 0, "keySharedMode": "AUTO_SPLIT"}
        return _topic("fold", members, topic={"msgInCounter": out + 2_100}, type="Key_Shared", **counted)

    moments = {
        f"2025-03-22T12-2{7 + at}-30Z/{_path(ORDERS)}": answer for at, answer in enumerate((at(98_000), at(196_000)))
    }
    (row,) = _why(run, _saved(tmp_path, moments), code=1)
    assert (_first(row), row["causes"][0]["blocked"]) == ((cause, "uneven"), ["r2", "r3", "r4"])
    if per_entry > 1:
        numbers = row["causes"][0]["numbers"]
        assert (numbers["messages_per_entry"], numbers["out"], numbers["entries"]) == (47, 98_000, 2_085)
        assert "KEY_BASED" in row["causes"][0]["fix"]
        assert "keyshared_few_keys" not in [other["id"] for other in row["causes"]]


def test_keyshared_old_unacked_one(run: Run, tmp_path: Path) -> None:
    members = [_consumer(name, permits, unackedMessages=held) for name, permits, held in
               (("p1", 607, 0), ("p2", 1_000, 0), ("p3", 998, 1))]  # fmt: skip
    _saved(tmp_path, {_path(ORDERS): _topic("q", members, type="Key_Shared", msgBacklog=2_324, unackedMessages=1)})
    (row,) = _why(run, str(tmp_path), code=1)
    cause = row["causes"][0]
    assert (_first(row), cause["by"]) == (("keyshared_recently_joined", "cannot_tell"), ["p3"])
    numbers = [cause["numbers"][f"permits_of_p{at}"] for at in (1, 2, 3)]
    assert (cause["numbers"]["waiting"], numbers) == (2_323, [607, 1_000, 998])


def _joining(into: int) -> Answer:
    behaviour = behaviour_of("2.10.4")
    assert isinstance(behaviour, ReleaseBehaviour)
    names = ("n-1", "n-2", "n-3")
    settings = BrokerSettings(subscriptionKeySharedUseConsistentHashing=True)
    ranges = ring_ranges(tuple(Consumer(at, name) for at, name in enumerate(names)), settings, behaviour)
    assert ranges is not None
    joined = ("4093623:177000", "4093623:177604", "4093623:177604")
    members = [
        _consumer(name, 1_000 - (not at), unackedMessages=int(not at), msgOutCounter=(6_000, 3_000, 0)[at],
                  readPositionWhenJoining=joined[at], connectedSince=f"2023-09-13T06:10:0{at}Z",
                  keyHashRanges=[f"[{piece.start}, {piece.end}]" for piece in ranges[at]])
        for at, name in enumerate(names)
    ]  # fmt: skip
    sub = {"type": "Key_Shared", "keySharedMode": "AUTO_SPLIT", "allowOutOfOrderDelivery": False,
           "msgOutCounter": 9_000, "msgBacklog": 5_210 + into, "unackedMessages": 1,
           "consumersAfterMarkDeletePosition": {"n-2": joined[1], "n-3": joined[2]}}  # fmt: skip
    return _topic("task", members, topic={"msgRateIn": 20.0, "msgInCounter": 14_210 + into}, **sub)


@pytest.mark.parametrize("kind", ["dump", "dump-with-release", "stats"])
def test_keyshared_recently_joined(run: Run, tmp_path: Path, kind: str) -> None:
    partition = f"{ORDERS}-partition-9"
    if kind == "stats":
        _saved(tmp_path, {_path(partition): _joining(0)})
    for at, into in enumerate((0, 600)) if kind != "stats" else ():
        cursor = {"entriesAddedCounter": 1, "lastConfirmedEntry": f"4093623:{182_000 + into}",
                  "cursors": {"task": _cursor("4093623:176790", "4093623:177610", subscriptionHavePendingRead=True,
                                              waitingReadOp=False, pendingReadOps=0)}}  # fmt: skip
        answers: dict[str, Any] = {_path(partition): _joining(into), _path(partition, "internalStats"): cursor}
        if kind == "dump-with-release":
            answers["admin/v2/brokers/version.json"] = json.dumps("2.10.4")
        _saved(tmp_path / f"2023-09-13T06-20-{30 * at:02}Z", answers)
    (row,) = _why(run, str(tmp_path), code=1)
    cause = row["causes"][0]
    assert (_first(row), cause["blocked"], cause["by"]) == (
        ("keyshared_recently_joined", "blocks"), ["n-2", "n-3"], ["n-1"],
    )  # fmt: skip
    assert cause["numbers"]["joined_at_n-2"] == "4093623:177604"
    assert cause["numbers"].get("mark_delete") == (None if kind == "stats" else "4093623:176790")
    assert [other["id"] for other in row["causes"]] == ["keyshared_recently_joined"]


def test_shared_read_that_never_ends(run: Run, tmp_path: Path) -> None:
    for at in (0, 1):
        members = [
            _consumer(f"v-{number}", 1_000 - number, unackedMessages=0, msgOutCounter=1_000) for number in range(6)
        ]
        counts = {"msgBacklog": 1_843 + 120 * at, "msgOutCounter": 50_000, "msgInReplay": 0}
        stats = _topic("jobs", members, topic={"msgInCounter": 5_501 + 120 * at}, type="Shared", **counts)
        cursor = _cursor(
            "900:3156", "900:3157", subscriptionHavePendingRead=True, waitingReadOp=False, pendingReadOps=0
        )
        internal = {
            "entriesAddedCounter": 1,
            "lastConfirmedEntry": f"900:{5_000 + 120 * at}",
            "cursors": {"jobs": cursor},
        }
        _saved(
            tmp_path / f"2026-08-28T13-40-{30 * at:02}Z",
            {_path(ORDERS): stats, _path(ORDERS, "internalStats"): internal},
        )
    (row,) = _why(run, str(tmp_path), code=1)
    cause = row["causes"][0]
    assert (_first(row), len(cause["blocked"])) == (("dispatcher_stalled", "blocks"), 6)
    assert [cause["numbers"][name] for name in ("in", "out", "unread", "permits")] == [120, 0, 1_964, 5_985]
    assert {"waitingReadOp", "pendingReadOps", "subscriptionHavePendingRead"} <= set(cause["fields"])
    assert f"topics unload {ORDERS}" in cause["fix"] and "cannot see it" in cause["fix"]
    assert json.loads(run("lint", str(tmp_path), "--json").out)["findings"][0]["rule"] == "dispatcher_stalled"


def test_shared_slow_not_stuck(run: Run, tmp_path: Path) -> None:
    _saved(tmp_path / "first", {_path(ORDERS): _pace(SLOW_MS)})
    (row,) = _why(run, str(tmp_path / "first"), code=1)
    numbers = row["causes"][0]["numbers"]
    assert (_first(row), [cause["id"] for cause in row["causes"]]) == (("slow_consumer", "slows"), ["slow_consumer"])
    assert [numbers[name] for name in ("acks_per_s", "in_per_s", "unacked", "unread", "drain_s")] == [
        3.45, 43.3, 532, 4_001, 1_314,
    ]  # fmt: skip
    later = 1_742_646_770_306
    since = ("04:46:19.2Z", "12:32:49.4Z", "12:32:49.5Z", "12:32:50.2Z", "12:32:50.887614294Z")
    sent = (3_000, 1_000, 1_000, 501, 0)
    members = [
        _consumer(f"w{at + 1}", 1_000, unackedMessages=0, msgOutCounter=sent[at],
                  connectedSince=f"2025-03-22T{since[at]}",
                  lastConsumedTimestamp=(later if at == 3 else later - 7_000) if sent[at] else 0, lastAckedTimestamp=0)
        for at in range(5)
    ]  # fmt: skip
    done = _topic("work", members, topic={"msgInCounter": 5_501}, type="Shared", msgOutCounter=5_501, msgInReplay=0,
                  lastConsumedTimestamp=later, lastAckedTimestamp=later + 356_838)  # fmt: skip
    _saved(tmp_path / "dump", {f"2025-03-22T12-27-30Z/{_path(ORDERS)}": _pace(SLOW_MS)})
    _saved(tmp_path / "dump", {f"2025-03-22T12-39-00Z/{_path(ORDERS)}": done})
    (row,) = _why(run, str(tmp_path / "dump"), code=0)
    assert (row["earlier"]["cause"]["id"], _first(row)) == ("slow_consumer", ("newcomer_gets_nothing", "by_design"))
    cause = row["causes"][0]
    assert (cause["blocked"], cause["numbers"]["connected_after_ms"]) == (["w5"], 581)
    assert [cause["numbers"][f"sent_to_w{at}"] for at in (1, 2, 3, 4)] == [3_000, 1_000, 1_000, 501]
    assert "w5" in run("why", str(tmp_path / "dump"), "w5").out
