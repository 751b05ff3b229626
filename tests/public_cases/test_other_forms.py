"""Other things that people have: look-ups, lists, sums over partitions, settings in files and charts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.admin.snapshot import read_answers
from engine.diagnosis.model import Verdict
from engine.diagnosis.sums import diagnosed_sums
from tests.tui.cli.conftest import Run

NAMES: Final = [f"persistent://acme/shop/orders-partition-{at}" for at in range(4)]
BROKERS: Final = ["pulsar://b-0:6650", "pulsar://b-1:6650"] * 2
OWNERS: Final = dict(zip(NAMES, BROKERS, strict=True))
BUNDLES: Final = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2}


def _table(rows: dict[str, str]) -> str:
    border = "+----+----+"
    return "\n".join(
        [border, "| topic | broker |", border, *(f"| {name} | {url} |" for name, url in rows.items()), border]
    )


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(OWNERS),
        "$ pulsar-admin topics partitioned-lookup acme/shop/orders\n" + json.dumps(OWNERS, indent=2),
        "\n".join(f'"{name}"    {url}' for name, url in OWNERS.items()),
        "\n".join(f"{name} : {url}" for name, url in OWNERS.items()),
        _table(OWNERS),
        "".join(f"$ pulsar-admin topics lookup {name}\n{url}\n" for name, url in OWNERS.items()),
    ],
)
def test_look_ups_name_topics_and_owners(text: str) -> None:
    read = read_answers(AnswerFile("x.txt", text.encode()))
    assert dict(read.owners) == OWNERS


def test_look_ups_name_the_namespace_of_the_bundles_beside_them(tmp_path: Path) -> None:
    (tmp_path / "lookup.json").write_text(json.dumps(OWNERS))
    (tmp_path / "bundles.json").write_text(json.dumps(BUNDLES))
    read = read_answers(tmp_path)
    assert (read.known_names, list(read.bundles), read.problems) == (set(NAMES), ["acme/shop"], ())


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(NAMES),
        "\n".join(NAMES),
        "\n".join(f'"{name}"' for name in NAMES),
        "$ pulsar-admin topics list acme/shop\n" + "\n".join(NAMES) + "\n$ ",
        "+----+\n| TOPIC |\n+----+\n" + "\n".join(f"| {name} |" for name in NAMES) + "\n+----+",
    ],
)
def test_lists_of_topics_are_read_in_any_form(text: str) -> None:
    assert read_answers(AnswerFile("topics.txt", text.encode())).known_names == set(NAMES)


def test_bundles_and_brokers_are_named_by_their_commands() -> None:
    text = (
        f"$ pulsar-admin namespaces bundles acme/shop\n{json.dumps(BUNDLES)}\n"
        '$ pulsar-admin brokers list c\n"b-0:8080"\n"b-1:8080"\n'
    )
    read = read_answers(AnswerFile("x.txt", text.encode()))
    assert list(read.bundles) == ["acme/shop"]
    assert read.living is not None and read.living[1] == {"b-0:8080", "b-1:8080"}


@pytest.mark.parametrize("spelling", ["msg_rate_in", "MsgRateIn"])
def test_other_spellings_are_read_and_names_of_things_are_kept(spelling: str) -> None:
    consumer = {"consumer_name": "a", "available_permits": 3, "metadata": {"msg_backlog": "x"}}
    sub = {"msg_backlog": 100, "type": "Failover", "active_consumer_name": "a", "consumers": [consumer]}
    value = {spelling: 12.5, "subscriptions": {"msg_backlog": sub}}
    topic = read_answers(AnswerFile("x.json", json.dumps({NAMES[0]: value}).encode())).topics[NAMES[0]]
    (read,) = topic.subscriptions
    assert topic.msg_rate_in_msgs_per_sec == 12.5
    assert (read.name, read.msg_backlog_entries, read.active_consumer_name) == ("msg_backlog", 100, "a")
    assert (read.consumers[0].name, read.consumers[0].available_permits) == ("a", 3)


def _sums(consumers: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    sub = {"msgRateOut": 1050.0, "msgBacklog": 900, "msgInReplay": 12, "unackedMessages": 72, "type": "Key_Shared"}
    sub |= {"nonContiguousDeletedMessagesRanges": 14, "consumers": consumers, **more}
    return {"msgRateIn": 1040.0, "subscriptions": {"s": sub}, "metadata": {"partitions": 50}, "partitions": {}}


@pytest.mark.parametrize(
    ("value", "cause", "verdict", "code"),
    [
        (_sums([{"availablePermits": 1}]), "sums_only", Verdict.CANNOT_TELL, 1),
        (_sums([]), "no_consumers", Verdict.BLOCKS, 1),
        (_sums([{}], msgBacklog=0), "fine_idle", Verdict.FINE, 0),
    ],
)
def test_sums_say_what_is_certain(
    run: Run, tmp_path: Path, value: dict[str, Any], cause: str, verdict: Verdict, code: int
) -> None:
    text = f"$ pulsar-admin topics partitioned-stats acme/shop/orders\n{json.dumps(value)}"
    (diagnosis,) = diagnosed_sums(read_moments(AnswerFile("x.txt", text.encode())))
    first = diagnosis.causes[0]
    assert (first.id, first.verdict, first.topic) == (cause, verdict, "persistent://acme/shop/orders")
    numbers = ("backlog", "in_replay", "unacked", "deleted_ranges", "in_rate", "out_rate", "partitions")
    waiting = value["subscriptions"]["s"]["msgBacklog"]
    assert [first.number(name) for name in numbers] == [waiting, 12, 72, 14, 1040.0, 1050.0, 50]
    (tmp_path / "x.txt").write_text(text)
    ran = run("why", "x.txt")
    assert ran.code == code and "--per-partition" in ran.out + ran.err
    ran = run("lint", "x.txt", "--json", "--fail-on", "error")
    assert ran.code == (verdict is Verdict.BLOCKS) and "--per-partition" in ran.out + ran.err
    rules = [finding["rule"] for finding in json.loads(ran.out)["findings"]]
    assert rules == [cause] * (verdict is not Verdict.FINE)


@pytest.mark.parametrize("words", [("list", "x.txt"), ("x.txt", "--once")])
def test_what_cannot_be_pictured_names_what_opens_it(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "x.txt").write_text(f"$ pulsar-admin topics partitioned-stats a/b/c\n{json.dumps(_sums([{}]))}")
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert all(name in ran.err for name in ("ringside why", "ringside lint", "--per-partition"))


def test_sums_count_beside_statistics_of_another_topic(run: Run, tmp_path: Path) -> None:
    fine = {"msgRateIn": 0.0, "subscriptions": {"t": {"type": "Shared", "msgBacklog": 0, "consumers": []}}}
    (tmp_path / "a.txt").write_text(f"$ pulsar-admin topics stats acme/shop/other\n{json.dumps(fine)}")
    (tmp_path / "b.txt").write_text(
        f"$ pulsar-admin topics partitioned-stats acme/shop/orders\n{json.dumps(_sums([]))}"
    )
    ran = run("why", ".", "--json")
    assert (ran.code, json.loads(ran.out)["causes"][0]["id"]) == (1, "no_consumers")
    ran = run("why", ".", "s", "--json")
    assert (ran.code, json.loads(ran.out)["subscription"]) == (1, "s")
    rows = json.loads(run("why", ".", "--all", "--json").out)["subscriptions"]
    assert [row["subscription"] for row in rows] == ["s", "t"]


def test_sums_are_never_topics_of_their_own() -> None:
    text = f"$ pulsar-admin topics partitioned-stats acme/shop/orders\n{json.dumps(_sums([{}]))}"
    read = read_answers(AnswerFile("x.txt", text.encode()))
    assert (dict(read.topics), list(read.sums)) == ({}, ["persistent://acme/shop/orders"])


CONF: Final = (
    "# as kept\nloadBalancerEnabled=true\n\nloadManagerClassName=org.apache.pulsar.broker.loadbalance.impl.ModularLoad"
    "ManagerImpl\n! another comment\nloadBalancerBrokerThresholdShedderPercentage = 25\nmaxUnloadPercentage=0.3\n"
)
VALUES: Final = """
bookkeeper:
  configData:
    maxUnloadPercentage: "0.9"
broker:
  replicaCount: 2
  configData:
    PULSAR_MEM: "-Xmx1g"
    PULSAR_PREFIX_loadBalancerBrokerThresholdShedderPercentage: "25"
    loadBalancerEnabled: true
    maxUnloadPercentage: 0.3
"""
ENVIRONMENT: Final = (
    "PULSAR_MEM=-Xmx1g\nexport PULSAR_PREFIX_loadBalancerBrokerThresholdShedderPercentage=25\n"
    "PULSAR_PREFIX_maxUnloadPercentage='0.3'\nPULSAR_PREFIX_loadBalancerEnabled=true\n"
)
MANIFEST: Final = """
apiVersion: v1
kind: ConfigMap
data:
  PULSAR_PREFIX_loadBalancerBrokerThresholdShedderPercentage: "25"
  maxUnloadPercentage: "0.3"
  loadBalancerEnabled: "true"
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broker.conf", CONF),
        ("values.yaml", VALUES),
        ("broker.env", ENVIRONMENT),
        ("map.yml", MANIFEST),
        ("map.json", json.dumps({"kind": "ConfigMap", "data": {"broker.conf": CONF, "other": "x"}})),
        ("session.txt", f"➜  infra git:(main) ✗ kubectl exec broker-0 -- env | grep -i pulsar\n{ENVIRONMENT}"),
    ],
)
def test_settings_are_the_run_time_configuration(run: Run, tmp_path: Path, name: str, text: str) -> None:
    known = read_answers(AnswerFile(name, text.encode())).configuration
    names = ("loadBalancerBrokerThresholdShedderPercentage", "maxUnloadPercentage", "loadBalancerEnabled")
    assert [known[setting] for setting in names] == ["25", "0.3", "true"]
    (tmp_path / name).write_text(text)
    findings = json.loads(run("lint", name, "--json", "--pulsar", "4.2.4").out)["findings"]
    found = {(finding["rule"], finding["severity"]) for finding in findings}
    assert found == {("setting-without-use", "info"), ("shedder-margin", "info")}


@pytest.mark.parametrize(
    ("lines", "rule", "severity", "code"),
    [
        ("loadBalancerSheddingEnable=true", "setting-unknown", "warning", 0),
        ("streamingDispatch=true", "setting-not-in-release", "warning", 0),
        ("loadBalancerAvgShedderLowThreshold=20", "setting-without-use", "info", 0),
        ("loadBalancerSheddingIntervalMinutes=5\nloadBalancerEnabled=false", "settings-fight", "warning", 0),
        ("loadBalancerLoadSheddingStrategy=a.b.TransferShedder", "settings-fight", "error", 1),
        ("maxUnackedMessagesPerConsumer=9\nmaxUnackedMessagesPerSubscription=5", "settings-fight", "warning", 0),
        (
            "defaultNumberOfNamespaceBundles=200\nloadBalancerNamespaceMaximumBundles=128",
            "settings-fight",
            "warning",
            0,
        ),
    ],
)
def test_settings_are_judged_by_themselves(
    run: Run, tmp_path: Path, lines: str, rule: str, severity: str, code: int
) -> None:
    (tmp_path / "broker.conf").write_text(
        f"loadBalancerReportUpdateThresholdPercentage=10\nmaxTopicsPerNamespace=0\n{lines}\n"
    )
    ran = run("lint", "broker.conf", "--json", "--pulsar", "4.2.4")
    found = {finding["rule"]: finding["severity"] for finding in json.loads(ran.out)["findings"]}
    assert (found.pop(rule), ran.code) == (severity, code)
    assert found.keys() <= {"shedder-margin"}


def test_a_broker_s_own_configuration_has_no_finding_about_names() -> None:
    from engine.lint.model import World
    from engine.lint.rules.settings import SETTING_NOT_READ, SETTING_UNKNOWN
    from engine.lint.setting_names import is_read, spans

    runtime = Path(__file__).parents[1] / "playing/standalone/admin/v2/brokers/configuration/runtime.json"
    configuration = json.loads(runtime.read_bytes())
    assert [name for name in configuration if name not in spans() or not is_read(name, "4.2.4")] == []
    world = World(configuration=configuration)
    assert [*SETTING_UNKNOWN.check(world), *SETTING_NOT_READ.check(world)] == []


@pytest.mark.parametrize(
    "text",
    [
        '$ pulsar-admin topics stats acme/shop/orders | jq .subscriptions\n{"s": {"msgBacklog": 9, "type": "Shared",'
        ' "consumers": []}}',
        "$ pulsar-admin topics stats acme/shop/orders\n"
        "{s=SubscriptionStatsImpl(msgBacklog=9, type=Shared, consumers=[])}",
        '{"s": {"msgBacklog": 9, "type": "Shared", "consumers": []}, "t": {"msgBacklog": 0, "consumers": []}}',
    ],
)
@pytest.mark.parametrize("command", ["why", "lint"])
def test_subscriptions_alone_are_read(run: Run, tmp_path: Path, text: str, command: str) -> None:
    (tmp_path / "x.txt").write_text(text)
    ran = run(command, "x.txt", "--json")
    document = json.loads(ran.out)
    first = document["causes"][0]["id"] if command == "why" else document["findings"][0]["rule"]
    assert (ran.code, first) == (1, "no_consumers")


@pytest.mark.parametrize(
    ("text", "numbers", "by", "command"),
    [
        (json.dumps(OWNERS), {"topics": 4, "owners": 2}, ["pulsar://b-0:6650", "pulsar://b-1:6650"],
         "partitioned-stats --per-partition persistent://acme/shop/orders"),
        ("$ pulsar-admin topics lookup persistent://acme/shop/a\npulsar://b-1:6650\n", {"topics": 1, "owners": 1},
         ["pulsar://b-1:6650"], "topics stats persistent://acme/shop/a"),
        (f"$ pulsar-admin namespaces bundles acme/shop\n{json.dumps(BUNDLES)}\n$ ", {"bundles": 2}, [],
         "topics list acme/shop"),
        ("$ pulsarctl topics list acme/shop\n| TOPIC NAME | PARTITIONED ? |\n"
         "| persistent://acme/shop/a | N |\n| persistent://acme/shop/b | Y |\n", {"topics": 2}, [],
         "topics stats persistent://acme/shop/a"),
        ("$ pulsar-admin brokers list c\nb-0:8080\nb-1:8080\n", {"brokers": 2}, [], "broker-stats topics"),
        ("$ pulsar-admin namespaces get-max-unacked-messages-per-consumer acme/shop\n5000\n", {}, [],
         "topics list acme/shop"),
        ("$ pulsar-admin topics get-max-unacked-messages-on-consumer persistent://acme/shop/a -ap\n5000\n",
         {"topics": 1}, [], "topics stats persistent://acme/shop/a"),
    ],
)  # fmt: skip
def test_answers_without_statistics_say_what_they_prove_and_what_to_record(
    run: Run, tmp_path: Path, text: str, numbers: dict[str, int], by: list[str], command: str
) -> None:
    (tmp_path / "x.txt").write_text(text)
    ran = run("why", str(tmp_path / "x.txt"), "--json")
    (cause,) = json.loads(ran.out)["causes"]
    assert (ran.code, cause["id"], cause["verdict"]) == (1, "no_statistics", Verdict.CANNOT_TELL.value)
    assert (cause["numbers"], cause["by"]) == (numbers, by)
    assert cause["fix"].endswith(command)


@pytest.mark.parametrize(
    ("command", "printed", "words"),
    [
        ("namespaces get-backlog-quotas acme/shop",
         {"destination_storage": {"limit": -1, "limitSize": 10_737_418_240, "policy": "producer_exception"}},
         ("10.7 GB", "(producer_exception)")),
        ("topics get-backlog-quotas acme/shop/a", {"message_age": {"limitTime": 3600, "policy": "x"}}, ("3,600 s",)),
        ("namespaces get-retention acme/shop", {"retentionTimeInMinutes": 4320, "retentionSizeInMB": -1}, ("4,320",)),
        ("topicPolicies get-retention acme/shop/a", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0}, ("delete",)),
        ("namespaces get-message-ttl acme/shop", 300, ("300 s",)),
        ("namespaces get-subscription-expiration-time acme/shop", 90, ("90 min",)),
        ("namespaces get-dispatch-rate acme/shop", {"dispatchThrottlingRateInMsg": 100, "ratePeriodInSecond": 2},
         ("100 messages", "2 seconds")),
        ("topics get-max-unacked-messages-on-consumer acme/shop/a", 0, ("no consumer stops",)),
        ("topics get-max-unacked-messages-on-subscription acme/shop/a", 70, (" 70 ",)),
        ("topics subscriptions acme/shop/a", "billing\naudit", ("billing and audit",)),
        ("topics subscriptions acme/shop/a", '"billing"', ("billing",)),
        ("topics subscriptions acme/shop/a", ["billing", "audit"], ("billing and audit",)),
    ],
)  # fmt: skip
def test_a_policy_says_what_it_does(
    run: Run, tmp_path: Path, command: str, printed: Any, words: tuple[str, ...]
) -> None:
    text = printed if isinstance(printed, str) else json.dumps(printed, indent=1)
    (tmp_path / "x.txt").write_text(f"$ pulsar-admin {command}\n{text}\n$ \n")
    ran = run("why", str(tmp_path / "x.txt"), "--json")
    (cause,) = json.loads(ran.out)["causes"]
    assert (ran.code, cause["id"], cause["fields"]) == (1, "no_statistics", ["policies"])
    assert all(word in cause["what"] for word in words)


@pytest.mark.parametrize("value", [{"x": {"limitSize": 10**400, "limitTime": 10**400}}, {"x": [1]}, [1], None, 10**400])
def test_a_policy_that_says_nothing_that_can_be_is_named_and_no_more(run: Run, tmp_path: Path, value: Any) -> None:
    (tmp_path / "x.txt").write_text(f"$ pulsar-admin namespaces get-backlog-quotas acme/shop\n{json.dumps(value)}\n")
    ran = run("why", str(tmp_path / "x.txt"), "--json")
    assert ran.code in (1, 2) and "Traceback" not in ran.err
    assert ran.code == 2 or json.loads(ran.out)["causes"][0]["id"] == "no_statistics"


def test_a_policy_that_is_asked_for_alone_is_the_limit_in_force() -> None:
    text = (
        "$ pulsar-admin namespaces get-max-unacked-messages-per-consumer acme/shop\n5000\n"
        "$ pulsar-admin topics get-max-unacked-messages-on-subscription persistent://acme/shop/a\n70\n"
    )
    read = read_answers(AnswerFile("x.txt", text.encode()))
    assert read.namespace_policies == {"acme/shop": {"max_unacked_messages_per_consumer": 5000}}
    assert read.topic_policies == {"persistent://acme/shop/a": {"maxUnackedMessagesOnSubscription": 70}}


@pytest.mark.parametrize(
    "command", ["namespaces get-retention acme/shop", "topics get-permissions acme/shop/a", "namespaces list acme"]
)
def test_what_a_known_command_prints_is_named_where_nothing_is_read_of_it(
    run: Run, tmp_path: Path, command: str
) -> None:
    (tmp_path / "x.txt").write_text(f"$ pulsar-admin {command}\nsomething\n")
    ran = run("why", str(tmp_path / "x.txt"))
    assert ran.code == 2
    assert "pulsar-admin " + " ".join(command.split()[:2]) in ran.err


@pytest.mark.parametrize(
    "value",
    [
        {"topic": "persistent://acme/shop/a", "stats": {"msgRateIn": 1.0, "subscriptions": {}}},
        [{"name": "persistent://acme/shop/a", "data": {"msgRateIn": 1.0, "subscriptions": {}}}],
        {"at": "2026-01-02", "topicName": "persistent://acme/shop/a", "msgRateIn": 1.0, "subscriptions": {}},
    ],
)
def test_a_member_beside_an_answer_names_its_topic(value: object) -> None:
    read = read_answers(AnswerFile("x.json", json.dumps(value).encode()))
    assert {name: topic.msg_rate_in_msgs_per_sec for name, topic in read.topics.items()} == {
        "persistent://acme/shop/a": 1.0
    }
