"""Laws of the doctor: the order of answers plays no part, a namespace gives its subset, only what is asked is done."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.admin.client_facts import client_facts
from engine.admin.snapshot import read_answers
from engine.cluster.bundles import topic_loads
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.topics import Load, Topic
from engine.config import SPLIT_ALGORITHMS, BrokerSettings
from engine.errors import Rejection
from engine.failover.model import Consumer
from engine.lint import ALL_RULES, Finding, Reported, Severity, lint, rule_ids
from engine.lint.doctor import RuleSet, rule_set
from engine.lint.opened import namespace_cases, world_of
from engine.scenarios.linting import reported_facts
from engine.scenarios.opening import open_snapshot

SPACES = ("t/a", "t/b", "t/ab")
BUNDLES = (0, 0x40000000, 0x80000000, 0xFFFFFFFF)
names = st.sampled_from([f"c-{at}" for at in (1, 2, 10, 11, 12, 19)] + ["c", "worker"])
rates = st.sampled_from([0.0, 1.0, 700.0, 1300.0])


@st.composite
def topics(draw: st.DrawFn) -> tuple[str, int]:
    domain = draw(st.sampled_from(["persistent", "non-persistent"]))
    return f"{domain}://{draw(st.sampled_from(SPACES))}/x{draw(st.integers(0, 30))}", draw(st.integers(0, 3))


@st.composite
def states(draw: st.DrawFn) -> ClusterState:
    """Several namespaces with Failover subscriptions of colliding and equal names, and tight limits."""
    drawn = {name: Topic(name, partitions) for name, partitions in draw(st.lists(topics(), min_size=1, max_size=12))}
    loads = {
        partition: Load(msg_rate_in=draw(rates))
        for topic in drawn.values()
        for partition in topic.partition_names()
        if draw(st.integers(0, 4))
    }
    subscriptions = []
    for at, name in enumerate(drawn):
        consumers = tuple(Consumer(100 * at + i, each) for i, each in enumerate(draw(st.lists(names, max_size=5))))
        space = "/".join(name.partition("://")[2].split("/")[:2])
        subscriptions.append(Subscription(f"s#{at}", draw(st.sampled_from("sr")), space, (name,), consumers))
    algorithm = draw(st.sampled_from(SPLIT_ALGORITHMS))
    chosen = BrokerSettings(
        activeConsumerFailoverConsistentHashing=draw(st.booleans()),
        defaultNamespaceBundleSplitAlgorithm=algorithm,
        loadBalancerNamespaceBundleMaxTopics=2,
        loadBalancerNamespaceBundleMaxMsgRate=1000,
        loadBalancerNamespaceBundleMaxBandwidthMbytes=draw(st.sampled_from([100, 2048])),
    )
    return ClusterState(
        release=draw(st.sampled_from(["2.11.0", "4.0.0", "4.2.4"])),
        settings=chosen,
        topics=drawn,
        loads=loads,
        subscriptions=tuple(subscriptions),
        namespaces={space: Namespace(space, BUNDLES) for space in SPACES},
    )


def shuffled(state: ClusterState, seed: int) -> ClusterState:
    """The same with everything that has no order of its own in another one."""
    dice = random.Random(seed)

    def mixed(items: Any) -> list[Any]:
        shuffled_items = list(items)
        dice.shuffle(shuffled_items)
        return shuffled_items

    return structs.replace(
        state,
        topics=dict(mixed(state.topics.items())),
        loads=dict(mixed(state.loads.items())),
        subscriptions=tuple(replace(each, key=f"other-{each.key}") for each in mixed(state.subscriptions)),
        namespaces=dict(mixed(state.namespaces.items())),
    )


@settings(max_examples=60, deadline=None)
@given(states(), st.integers(0, 99))
def test_findings_do_not_depend_on_the_order_of_answers(state: ClusterState, seed: int) -> None:
    assert lint(state) == lint(shuffled(state, seed))


@settings(max_examples=60, deadline=None)
@given(states())
def test_a_namespace_gives_its_subset_and_all_of_them_together_give_everything(state: ClusterState) -> None:
    everything = lint(state)
    together: set[Finding] = set()
    for space in SPACES:
        narrowed = lint(state, namespace=space)
        assert list(narrowed) == [each for each in everything if each.where.namespace in ("", space)]
        together.update(narrowed)
    assert together == set(everything)


@settings(max_examples=40, deadline=None)
@given(states())
def test_one_rule_gives_its_part_and_the_worst_come_first(state: ClusterState) -> None:
    everything = lint(state)
    assert [each.severity for each in everything] == sorted((each.severity for each in everything), reverse=True)
    for rule in ALL_RULES:
        asked = rule_set([rule.id])
        assert isinstance(asked, RuleSet)
        assert list(lint(state, rules=asked)) == [finding for finding in everything if finding.rule == rule.id]


@settings(max_examples=40, deadline=None)
@given(states())
def test_the_topics_of_a_namespace_are_those_a_split_looks_at(state: ClusterState) -> None:
    told = Reported()
    for case in namespace_cases(state, world_of(state, told), told):
        assert tuple(case.topics) == tuple(topic_loads(state, case.namespace))


def test_F09_the_answers_of_brokers_give_the_same_in_any_order_of_files_and_topics() -> None:
    first, second = (_answer(space, ["c-1", "c-11"]) for space in ("t/a", "t/b"))
    findings = []
    for answers in ([first, second], [second, first]):
        snapshot = read_answers(*(json.dumps(answer).encode() for answer in answers))
        findings.append(lint(open_snapshot(snapshot, consistent_hashing=True).state))
    assert findings[0] == findings[1]
    assert [finding.where.namespace for finding in findings[0]] == ["t/a", "t/b"]


def _answer(space: str, consumers: list[str], client: str | None = None) -> dict[str, Any]:
    partitions = {
        f"persistent://{space}/x-partition-{at}": {
            "msgRateIn": 1.0,
            "publishers": [{"clientVersion": client}] if client else [],
            "subscriptions": {"sub": {"type": "Failover", "consumers": [{"consumerName": name} for name in consumers]}},
        }
        for at in range(2)
    }
    return {"msgRateIn": 2.0, "metadata": {"partitions": 2}, "partitions": partitions, "subscriptions": {}}


def test_rules_have_ids_of_their_own_and_an_unknown_one_is_refused_with_a_near_one() -> None:
    assert len(set(rule_ids())) == len(rule_ids()) >= 19
    refused = rule_set(["key-gap"])
    assert isinstance(refused, Rejection) and "did you mean key-gaps?" in refused.message


def test_an_empty_state_has_no_finding() -> None:
    assert lint(ClusterState()) == ()


def test_R01_producers_of_two_kinds_of_clients_are_seen_in_the_answers() -> None:
    java, python = _answer("t/a", ["c"], "Pulsar-Java-v4.0.7"), _answer("t/a", ["c"], "Pulsar-CPP-v4.2.0")
    last = "persistent://t/a/x-partition-1"
    java["partitions"][last] = python["partitions"][last]
    document = json.dumps(java).encode()
    snapshot = read_answers(document)
    state = open_snapshot(snapshot).state
    (finding,) = lint(state, reported_facts(snapshot, state, client_facts(document)))
    assert (finding.rule, finding.where.topic) == ("producers-mixed-key-routing", "persistent://t/a/x")
    assert finding.number("keys_apart_share") == 0.5


def test_bundles_that_no_answer_tells_are_not_judged() -> None:
    """Two topics above a limit of one: with the bundle list it is due, without it nobody knows what shares a bundle."""
    answer = _answer("t/a", ["c"])
    configured = {"loadBalancerNamespaceBundleMaxTopics": "1", "loadManagerClassName": "x.ModularLoadManagerImpl"}
    configured["defaultNamespaceBundleSplitAlgorithm"] = "specified_positions_divide"
    bundles = {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}
    rules = {}
    for told in (True, False):
        named: dict[str, Any] = {"stats.json": answer, "runtime.json": configured}
        named |= {"a-bundles.json": bundles} if told else {}
        document = json.dumps(named).encode()
        snapshot = read_answers(document)
        state = open_snapshot(snapshot).state
        rules[told] = [finding.rule for finding in lint(state, reported_facts(snapshot, state, client_facts(document)))]
    assert rules == {True: ["split-in-vain"], False: []}


def test_K10_ranges_of_two_consumers_that_overlap_in_an_answer_are_an_error_where_no_ring_shares_points() -> None:
    def consumer(name: str, start: int, end: int) -> dict[str, Any]:
        return {"consumerName": name, "keyHashRanges": [f"[{start}, {end}]"]}

    consumers = [consumer("a", 0, 40_000), consumer("b", 40_000, 65_535)]
    shared = {"type": "Key_Shared", "consumers": consumers}
    answer = {"persistent://t/a/x": {"msgRateIn": 0.0, "publishers": [], "subscriptions": {"s": shared}}}
    document = json.dumps(answer).encode()
    snapshot = read_answers(document)
    for release, expected in (("4.2.4", 1), ("3.0.2", 0)):
        state = open_snapshot(snapshot, release=release).state
        findings = lint(state, reported_facts(snapshot, state, client_facts(document)))
        overlaps = [finding for finding in findings if finding.rule == "key-overlaps"]
        shown = [(overlap.severity, overlap.number("slots")) for overlap in overlaps]
        assert shown == [(Severity.ERROR, 1.0)] * expected
