"""Series of a cluster and brokers' logs: the good part is kept, the bad one named."""

from __future__ import annotations

import json

from tests.lab.balance.broker_log import LoggedNumbers, cycles, leader_lines
from tests.lab.balance.series import decode_series

EVIL = "evil/ns;$(touch pwned)"
RANGE = "0x00000000_0xffffffff"


def _line(path: str, body: object, order: int, **more: object) -> str:
    text = json.dumps(body)
    return json.dumps(
        {"t": 1.5, "from": "metadata", "path": path, "mzxid": order, "written_t": 1.25, "body": text} | more
    )


def test_a_series_is_put_in_the_order_of_the_writes() -> None:
    """Times are those of the write, in ms; lines that somebody only saw are others."""
    report = {"lastStats": {"t/n/0x00000000_0xffffffff": {"topics": 3, "msgRateIn": 1.5}}, "numTopics": 3}
    average = {
        "maxSamples": 10,
        "numSamples": 1,
        "msgRateIn": 1.0,
        "msgRateOut": 0.0,
        "msgThroughputIn": 9.0,
        "msgThroughputOut": 0.0,
    }
    bundles = {"bundles": {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}}
    lines = [
        _line("/loadbalance/brokers/b:2", report, 9),
        _line("/loadbalance/brokers/b:1", report, 7),
        _line("/loadbalance/bundle-data/t/n/0x0_0x9", {"shortTermData": average, "longTermData": average}, 8),
        _line("/admin/local-policies/t/n", bundles, 6, version=4),
        _line("/admin/local-policies/t/n", bundles, 5, **{"from": "metadata-note"}),
        _line("/loadbalance/leader", {}, 1),
    ]
    decoded = decode_series("\n".join(lines).encode())
    assert decoded.problems == ()
    series = decoded.good
    assert [(report.broker, report.at_ms, report.report.bundles[0].topics) for report in series.reports] == [
        ("b:1", 1250, 3),
        ("b:2", 1250, 3),
    ]
    assert [average.bundle for average in series.averages] == ["t/n/0x0_0x9"]
    assert series.averages[0].data.long_term.throughput_in_bytes_per_sec == 9.0
    assert [(one.boundaries, one.version) for one in series.lists] == [((0, 0xFFFFFFFF), 4)]
    assert series.others == 2


def test_the_leader_logs_numbers_with_all_their_digits() -> None:
    words = (
        "11:40:37.721 INFO  BundleSplitStrategy - The bundle t/n/0x0_0x9 is considered to be unload. Topics: 2/8,"
        " Sessions: (1+3)/40, Message Rate: 99.92755673830763/60 (msgs/s), Message Throughput: 5.2E-4/100 (MB/s)\n"
        "11:40:37.800 WARN  ModularLoadManagerImpl - Bundle t/n/0x0_0x9 has been removed, skip split this bundle\n"
        "11:40:37.900 INFO  ModularLoadManagerImpl - 2 brokers being considered for assignment of t/n/0x0_0x9\n"
    )
    chosen, gone = leader_lines(words)
    assert chosen.numbers == LoggedNumbers(2, 1, 3, 99.92755673830763, 5.2e-4)
    assert (gone.word, gone.at_ms - chosen.at_ms, gone.numbers) == ("gone", 79, None)


def test_a_cycle_ends_with_its_decisions_and_an_unfinished_one_is_left_out() -> None:
    numbers = "Topics: 9/8, Sessions: (8+1)/40, Message Rate: 206.93/60 (msgs/s), Message Throughput: 0.03/100 (MB/s)"
    name, plan = "00:00:01.000 INFO  Strategy - ", "00:00:01.000 INFO  SplitScheduler - "
    words = "\n".join(
        [
            f"{plan}Load balancer enabled: true, Split enabled: true.",
            f"{name}Can't split broker:t/n/0x1_0x2. The topic count is less than 2.",
            f"{name}Can't split broker:t/n/0x2_0x3. Split condition hit count: 2 is less than or equal to threshold: 3."
            f" {numbers}.",
            f"{name}Splitting bundle: t/n/0x3_0x4. {numbers}",
            f"{name}Can't split broker:t/n/0x3_0x4. The size of split boundaries is not 1. splitBoundary:[5, 7]",
            f"{name}Splitting bundle: t/n/0x4_0x5. {numbers}",
            f"{name}Can't continue the split cycle.Too many bundles split in this cycle 1 / 1.",
            f"{plan}Split Decisions: [SplitDecision(split=Split[serviceUnit=t/n/0x4_0x5, sourceBroker=b:1,"
            " splitServiceUnitToDestBroker={0x6_0x5=Optional.empty, 0x4_0x6=Optional.empty}], label=Success,"
            " reason=MsgRate)]",
            f"{plan}Load balancer enabled: true, Split enabled: true.",
            f"{name}Can't split broker:t/n/0x1_0x2. The topic count is less than 2.",
        ]
    )
    (cycle,) = cycles(words)
    assert [(line.word, line.hits, line.boundaries) for line in cycle.lines] == [
        ("too-few-topics", 0, ()),
        ("hits", 2, ()),
        ("not-one-boundary", 0, (5, 7)),
        ("taken", 0, ()),
    ]
    assert cycle.lines[2].numbers == LoggedNumbers(9, 8, 1, 206.93, 0.03)
    assert cycle.stopped
    assert [(decision.bundle, decision.reason, decision.children) for decision in cycle.decisions] == [
        ("t/n/0x4_0x5", "MsgRate", ("0x4_0x6", "0x6_0x5"))
    ]


def test_a_series_keeps_the_lines_of_names_that_can_be() -> None:
    average = dict.fromkeys(("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut"), 0.0)
    average |= {"maxSamples": 10, "numSamples": 1}
    stored = {"shortTermData": average, "longTermData": average}
    bundles = {"bundles": {"boundaries": ["0x00000000", "0xffffffff"]}}
    report = {"lastStats": {f"t/n/{RANGE}": {}, f"{EVIL}/{RANGE}": {}}}
    bodies = [
        (f"/loadbalance/bundle-data/{EVIL}/{RANGE}", stored),
        (f"/loadbalance/bundle-data/t/n/{RANGE}", stored),
        (f"/admin/local-policies/{EVIL}", bundles),
        ("/admin/local-policies/t/n", bundles),
        ("/loadbalance/brokers/b:1", report),
    ]
    lines = [json.dumps({"path": path, "from": "metadata", "body": json.dumps(body)}) for path, body in bodies]
    decoded = decode_series("\n".join(lines).encode(), "series")
    assert [average.bundle for average in decoded.good.averages] == [f"t/n/{RANGE}"]
    assert [one.namespace for one in decoded.good.lists] == ["t/n"]
    assert [bundle.bundle for bundle in decoded.good.reports[0].report.bundles] == [f"t/n/{RANGE}"]
    assert [problem.path.split(":")[0].split("$")[0].strip() for problem in decoded.problems] == [
        "line 1", "line 3", "line 5.lastStats[\"evil/ns;",
    ]  # fmt: skip
