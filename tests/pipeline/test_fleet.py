"""Random fleets through Spark: every row agrees with the bulk engine and with the plain one."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.admin.inference import list_of
from engine.balance.limits import BundleStats, exceeded_limit
from engine.bundles.boundaries import NamespaceBundles, default_boundaries
from engine.bundles.loads import TopicLoad, topic_load
from engine.bundles.plan import SplitPlan
from engine.bundles.split import plan_split
from engine.config import FLAG, SPLIT_ALGORITHMS, BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import InputError, Rejection, RingsideError
from engine.failover.bulk import Changes, ConsumerList, carried_over
from engine.failover.bulk_policies import Policy
from engine.failover.choose import choose, rule_in_force
from engine.failover.model import Consumer
from engine.hashing import utf16_order
from engine.names import partitioned_name
from engine.views.fleet.runs import Manifest, result_at
from engine.views.fleet.summary import read_summary
from engine.views.fleet.tables import (
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    CONSUMER_SETS,
    LISTED,
    SETTINGS,
    SUBSCRIPTIONS,
    TOPICS,
)
from engine.views.fleet.tables import FINDINGS as FINDINGS_TABLE
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.rows import consumer_set_id
from pipeline.runs import new_run
from pipeline.stamps import new_run_id
from tests import fleet_results
from tests.engine.failover.scalar_policies import places
from tui.sources.fleet_results import FINDINGS, read_results

SETTING = {"loadBalancerNamespaceBundleMaxTopics": "12", "loadBalancerNamespaceBundleMaxMsgRate": "300"}
NAMESPACES = ("t/a", "t/b", "u/a", "u/empty")


class Fleet:
    """A random fleet: Failover (and other) subscriptions over topics of some namespaces, and their bundles."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.boundaries: dict[str, tuple[int, ...]] = {}
        for namespace in NAMESPACES:
            boundaries = default_boundaries(chance.choice([1, 3, 4, 16]))
            assert not isinstance(boundaries, Rejection)
            self.boundaries[namespace] = boundaries
        self.topics: dict[str, tuple[int, tuple[float, float, float, float]]] = {}
        for namespace in NAMESPACES[:3]:
            for number in range(chance.randint(20, 40)):
                domain, local = chance.choice(
                    [("persistent", "topic"), ("persistent", "tö pic"), ("non-persistent", "t")]
                )
                base = f"{domain}://{namespace}/{local}-{number}"
                count = chance.choice([0, 1, 3, 8])
                names = [(f"{base}-partition-{index}", index) for index in range(count)] or [(base, -1)]
                for name, index in names:
                    rates = (chance.choice([0.0, chance.expovariate(0.05)]), chance.expovariate(0.05), 1000.0, 2000.0)
                    self.topics[name] = (index, rates)
        self.subscriptions: dict[tuple[str, str], tuple[str, tuple[str, ...], float]] = {}
        # The last two sort by UTF-16 unit the other way round than by code point.
        pool = ["c", "c1", "c10", "c11", "é", "z", "z2", "\uffee", "\U0001f41f"]
        for group in range(6):
            kind = chance.choice(["Failover", "Failover", "Failover", "Shared"]) if group else "Failover"
            lists = [tuple(chance.choices(pool, k=chance.randint(0, 5))) for _ in range(2)]
            lists[0] = (*lists[0], "c1")  # so that it can be taken away
            for name in chance.sample(sorted(self.topics), k=len(self.topics) // 2):
                self.subscriptions[f"group-{group % 5}", name] = (kind, chance.choice(lists), chance.uniform(0, 50))

    def write(self, folder: Path) -> None:
        """The tables an import would have made."""
        sets = {names for _, names, _ in self.subscriptions.values()}
        consumers = Counter[str]()
        for (_, name), (_, names, _) in self.subscriptions.items():
            consumers[name] += len(names)
        with new_run(folder, "import", Manifest(new_run_id())) as draft:
            topics = [
                ("", name, name.partition(":")[0], space(name), parent(name, index), index, None, None, *rates,
                 0, 0, 2, consumers[name], "stats", "f") for name, (index, rates) in self.topics.items()
            ]  # fmt: skip
            draft.write(TOPICS, topics)
            subscriptions = [
                ("", group, name, space(name), parent(name, self.topics[name][0]), self.topics[name][0], kind,
                 len(names), consumer_set_id(names), None, rate, rate * 100, 0, 0, "f")
                for (group, name), (kind, names, rate) in self.subscriptions.items()
            ]  # fmt: skip
            draft.write(SUBSCRIPTIONS, subscriptions)
            draft.write(CONSUMER_SETS, [("", consumer_set_id(each), list(each)) for each in sets])
            bundles = [
                ("", f"{namespace}/{bundle}", namespace, str(bundle), place, bundle.lower, bundle.upper, "f")
                for namespace, bounds in self.boundaries.items()
                for place, bundle in enumerate(NamespaceBundles(namespace, bounds))
            ]
            draft.write(BUNDLES, bundles)
            listed = [("", "persistent://t/a/nobody-opened-it", "persistent", "t/a", False, "f"),
                      ("", "persistent://t/a/parent", "persistent", "t/a", True, "f")]  # fmt: skip
            draft.write(LISTED, listed)
            for table in (BUNDLE_REPORTS, BROKERS, SETTINGS):
                draft.write(table, [])


def parent(name: str, index: int) -> str:
    return partitioned_name(name) if index >= 0 else name


def space(name: str) -> str:
    return "/".join(name.partition("://")[2].split("/")[:2])


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    return fleet_results.rows(folder, table)


def assigned(folder: Path) -> list[dict[str, Any]]:
    """The rows of ``assignments`` once for each policy."""
    return [
        row | {
            "policy": policy.value, "active_consumer": row[policy.value],
            **{name: row[f"{policy.value}_{name}"] for name in ("position", "rule", "moved")},
        }
        for row in rows_of(folder, "assignments") for policy in Policy
    ]  # fmt: skip


def everything(out: Path) -> set[str]:
    """The tables and documents of the latest run."""
    return {*fleet_results.tables(out), *fleet_results.manifest(out)["documents"]}


def ran(spark: SparkSession, job: str, folder: Path, **settings: str) -> JobResult:
    named = {name.replace("_", "-") if name == "consumers_from" else name: value for name, value in settings.items()}
    return job_called(job)(spark, folder, folder, JobOptions(named))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fleet, Path]:
    result = Fleet(1)
    folder = tmp_path_factory.mktemp("fleet")
    result.write(folder)
    return result, folder


@pytest.fixture(scope="module")
def assigned_fleet(spark: SparkSession, fleet: tuple[Fleet, Path]) -> tuple[Fleet, Path, JobResult]:
    """Its own copy of the fleet, and what ``assign`` makes of it under every policy with nothing changed."""
    outcome, folder = fleet
    copy = folder.with_name("assigned")
    shutil.copytree(folder, copy)
    return outcome, copy, ran(spark, "assign", copy)


def units_of(fleet: Fleet) -> dict[tuple[str, str, tuple[str, ...]], list[tuple[str, int]]]:
    units: dict[tuple[str, str, tuple[str, ...]], list[tuple[str, int]]] = defaultdict(list)
    for (group, name), (kind, names, _) in fleet.subscriptions.items():
        if kind == "Failover":
            units[space(name), group, names].append((name, fleet.topics[name][0]))
    return {key: sorted(topics) for key, topics in units.items()}


def test_every_assignment_is_the_plain_engines(assigned_fleet: tuple[Fleet, Path, JobResult]) -> None:
    """All policies; loads are the sums of the rows, and moves are counted as they stand there."""
    compare_assignments(*assigned_fleet, Changes())


def test_every_assignment_after_changes_is_the_plain_engines(spark: SparkSession, fleet: tuple[Fleet, Path]) -> None:
    result = ran(spark, "assign", fleet[1], add="new", kill="c1")
    compare_assignments(*fleet, result, Changes(add=("new",), kill=("c1",)))


def compare_assignments(outcome: Fleet, folder: Path, result: JobResult, changes: Changes) -> None:
    changed = changes != Changes()
    found = {(row["subscription"], row["topic"], row["policy"]): row for row in assigned(folder)}
    expected = 0
    for (namespace, group, names), topics in units_of(outcome).items():
        before = list_of(names)
        after = changes.after((namespace, group, 0, ""), before) if changed else before
        same = carried_over([before], [after]).tolist()
        now = places(Policy.FLAG_OFF, before, topics)
        for policy in Policy:
            ours = places(policy, after, topics)
            for (topic, index), place, was in zip(topics, ours, now, strict=True):
                row = found[group, topic, policy.value]
                assert row["active_consumer"] == (after.names[place] if place >= 0 else None)
                assert row["active_before"] == (before.names[was] if was >= 0 else None)
                assert row["partition_index"] == index
                assert row["position"] == (place if place >= 0 else -1)
                assert row["msg_rate_out"] == outcome.subscriptions[group, topic][2]
                carried = same[was] if was >= 0 else len(after.names)
                assert row["moved"] == (carried != (place if place >= 0 else len(after.names)))
                rule = rule_in_force(index, consistent_hashing=policy is Policy.FLAG_ON)
                assert row["rule"] == rule.value
                expected += 1
    assert len(found) == expected
    assert result.summary["tables"]["assignments"] == expected // len(Policy)  # type: ignore[index]
    moved = {name: told["moved"] for name, told in result.summary["policies"].items()}  # type: ignore[attr-defined]
    assert (moved["flag_off"] > 0) is changed
    check_loads(folder, list(found.values()))


def test_partitions_that_change_owner_with_the_flag_are_counted_as_moved(
    assigned_fleet: tuple[Fleet, Path, JobResult],
) -> None:
    """Also where nobody comes or goes: the flag alone moves them."""
    outcome, _, result = assigned_fleet
    expected = 0
    for (_, _, names), topics in units_of(outcome).items():
        before = list_of(names)
        off, on = places(Policy.FLAG_OFF, before, topics), places(Policy.FLAG_ON, before, topics)
        expected += sum(one != other for one, other in zip(off, on, strict=True))
    policies: Any = result.summary["policies"]
    assert policies["flag_on"]["moved"] == expected > 0
    assert policies["flag_off"]["moved"] == 0


def check_loads(folder: Path, assignments: list[dict[str, Any]]) -> None:
    counts: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0, 0.0])
    moved: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
    for row in assignments:
        key = (row["namespace"], row["subscription"], row["policy"])
        moved[key][0] += 1
        moved[key][1] += row["moved"]
        if row["active_consumer"] is not None:
            entry = counts[(*key, row["active_consumer"])]
            entry[0] += 1
            entry[1] += row["msg_rate_out"]
    results: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0, 0.0])
    for row in rows_of(folder, "consumer_loads"):
        entry = results[row["namespace"], row["subscription"], row["policy"], row["consumer"]]
        entry[0] += row["partitions"]
        entry[1] += row["msg_rate_out"]
    for key, entry in results.items():
        assert entry == pytest.approx(counts[key])
    assert {key for key, entry in counts.items() if entry[0]} <= results.keys()
    loads = rows_of(folder, "subscription_loads")
    assert len(loads) == len(moved)
    for row in loads:
        key = (row["namespace"], row["subscription"], row["policy"])
        assert [row["partitions"], row["moved"]] == moved[key]
        assert row["least_moved"] <= row["moved"]
        assert 0 <= row["idle"] <= row["consumers"]


def split_again(topics: Sequence[TopicLoad], settings: BrokerSettings) -> bool:
    """Whether a load manager looks at a bundle of these topics, and finds it above a limit."""
    loaded = [topic for topic in topics if topic.has_stats]
    stats = BundleStats("t/n/0x00000000_0xffffffff", topics=len(loaded), producers=2 * len(loaded))
    rate, volume = (sum(getattr(topic, name) for topic in loaded) for name in ("msgs_per_sec", "bytes_per_sec"))
    return len(loaded) >= 2 and exceeded_limit(stats, rate, volume, settings) != "Unknown"


def test_started_again_a_job_writes_the_same_summary_byte_for_byte(
    spark: SparkSession, assigned_fleet: tuple[Fleet, Path, JobResult]
) -> None:
    _, folder, _ = assigned_fleet
    first = fleet_results.text_of(folder, "assign.json")
    ran(spark, "assign", folder)
    assert fleet_results.text_of(folder, "assign.json") == first


def test_a_wrong_option_is_refused_and_the_old_result_stays(
    spark: SparkSession, assigned_fleet: tuple[Fleet, Path, JobResult]
) -> None:
    _, folder, _ = assigned_fleet
    before = fleet_results.text_of(folder, "assign.json")
    for wrong in ({"kill": "nobody"}, {"policies": "best"}, {"colour": "red"}, {"pulsar": "1.0"}, {"flag": "maybe"}):
        with pytest.raises(InputError):
            ran(spark, "assign", folder, **wrong)
    with pytest.raises(InputError, match="no result of a fleet"):
        job_called("assign")(spark, folder / "nowhere", folder, JobOptions())
    assert fleet_results.text_of(folder, "assign.json") == before


def test_lists_from_a_file_replace_those_of_the_brokers(
    spark: SparkSession, fleet: tuple[Fleet, Path], tmp_path: Path
) -> None:
    """With priority levels and equal names; what is wrong in the file is reported and costs only its line."""
    result, folder = fleet
    lists = tmp_path / "lists.csv"
    lists.write_text(
        "\ufeffsubscription,consumer,priority_level,namespace\ngroup-0,a,1\ngroup-0,b,0\ngroup-0,b,0\n,x,0\n"
        "group-0,c,high\ngroup-0,c,--3\ngroup-0,c,9999999999\ngroup-0,d,0,t/z\ngroup-0,e,0,t/z\n"
    )
    ran(spark, "assign", folder, policies="pulsar", consumers_from=str(lists))
    new = ConsumerList(("a", "b", "b"), (1, 0, 0))
    outcome = {(row["subscription"], row["topic"], row["policy"]): row for row in assigned(folder)}
    for (_, group, names), topics in units_of(result).items():
        given = new if group == "group-0" else list_of(names)
        for policy in (Policy.FLAG_OFF, Policy.FLAG_ON):
            ours = places(policy, given, topics)
            for (topic, _), place in zip(topics, ours, strict=True):
                name = given.names[place] if place >= 0 else None
                assert outcome[group, topic, policy.value]["active_consumer"] == name
    rows = [row for row in rows_of(folder, "quarantine") if row["job"] == "assign"]
    assert sorted((row["rows"], row["kind"]) for row in rows) == [
        *[(0, "note")] * 2,  # the mark at the beginning, and the name that stands twice
        *[(1, "bad")] * 4,
        (2, "bad"),
    ]
    assert [row["reason"] for row in rows if row["rows"] == 2] == ["no Failover subscription is called 't/z/group-0'"]
    lists.write_text('{"group-zero": ["a"]}')
    with pytest.raises(InputError, match="no Failover subscription is called 'group-zero'"):
        ran(spark, "assign", folder, policies="pulsar", consumers_from=str(lists))


def test_every_bundle_is_loaded_judged_and_cut_as_the_plain_engine_does(
    spark: SparkSession, fleet: tuple[Fleet, Path]
) -> None:
    outcome, folder = fleet
    result = ran(spark, "bundles", folder, **SETTING)
    settings = BrokerSettings()
    for name, text in SETTING.items():
        changed = settings.with_setting(name, text)
        assert isinstance(changed, BrokerSettings)
        settings = changed
    topics: dict[str, list[TopicLoad]] = defaultdict(list)
    for name, (_, rates) in sorted(outcome.topics.items()):
        topics[space(name)].append(topic_load(name, *rates))
    unopened = topic_load("persistent://t/a/nobody-opened-it", has_stats=False)
    topics["t/a"] = sorted([*topics["t/a"], unopened], key=lambda topic: topic.name)
    placed = {row["topic"]: row for row in rows_of(folder, "bundle_topics")}
    assert placed.keys() == outcome.topics.keys() | {unopened.name}
    splits = {(row["bundle"], row["algorithm"]): row for row in rows_of(folder, "bundle_splits")}
    children: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of(folder, "bundle_children"):
        children[row["bundle"], row["algorithm"]].append(row)
    loads = {row["bundle"]: row for row in rows_of(folder, "bundle_loads")}
    compared = 0
    for namespace, bounds in outcome.boundaries.items():
        bundles = NamespaceBundles(namespace, bounds)
        inside: dict[str, list[TopicLoad]] = defaultdict(list)
        for topic in topics[namespace]:
            where = bundles[bundles.index_of(topic.hash)]
            inside[f"{namespace}/{where}"].append(topic)
            assert (placed[topic.name]["hash"], placed[topic.name]["bundle"]) == (topic.hash, f"{namespace}/{where}")
        for bundle in bundles:
            name = f"{namespace}/{bundle}"
            here = inside[name]
            load = loads[name]
            loaded = [topic for topic in here if topic.has_stats]
            assert (load["topics"], load["loaded_topics"]) == (len(here), len(loaded))
            assert load["msg_rate_in"] == pytest.approx(sum(topic.msg_rate_in for topic in here))
            assert (load["outcome"] == "too-few-topics") == (len(loaded) < 2)
            too_many = len(loaded) > 12 or load["msg_rate_in"] + load["msg_rate_out"] > 300
            assert (load["outcome"] == "chosen") == (too_many and len(loaded) >= 2)
            for algorithm in SPLIT_ALGORITHMS:
                row = splits[name, algorithm]
                positions = row["cuts"] if algorithm == "specified_positions_divide" else None
                if algorithm == "specified_positions_divide" and not positions:
                    assert len(here) < 2
                    continue
                chosen = settings.with_setting("defaultNamespaceBundleSplitAlgorithm", algorithm)
                assert isinstance(chosen, BrokerSettings)
                plan = plan_split(
                    namespace, bundles, str(bundle), algorithm, positions, topics=topics[namespace], settings=chosen
                )
                below = sorted(children[name, algorithm], key=lambda child: child["lower"])
                compared += compare_split(plan, row, below, here, settings)
    assert compared > 10
    assert result.summary["topics_in_no_bundle"] == 0


def compare_split(
    plan: SplitPlan | Rejection,
    row: dict[str, Any],
    below: list[dict[str, Any]],
    topics: Sequence[TopicLoad],
    settings: BrokerSettings,
) -> int:
    """One if the split happens, having compared its children; refusals agree as well."""
    if isinstance(plan, Rejection):
        assert (row["children"], row["over_limit"], below) == (0, 0, [])
        return 0
    assert row["cuts"] == list(plan.cuts or ())
    assert row["children"] == len(plan.children) == len(below)
    for child, result in zip(plan.children, below, strict=True):
        assert result["child"].endswith(str(child.bundle))
        assert result["topics"] == len(child.topics)
        assert result["msg_rate"] == pytest.approx(child.msgs_per_sec)
        assert result["throughput"] == pytest.approx(child.bytes_per_sec)
    assert row["over_limit"] == sum(
        split_again([topic for topic in topics if topic.name in child.topics], settings) for child in plan.children
    )
    return int(plan.changes)


def test_inferred_levels_and_lists_in_no_brokers_order_are_counted(
    assigned_fleet: tuple[Fleet, Path, JobResult],
) -> None:
    """Each list that is not sorted by name either has levels or is reported as not a broker's."""
    result, _, of_job = assigned_fleet
    summary = of_job.summary["inferred"]
    lists = [names for _, _, names in units_of(result)]
    unsorted = [names for names in lists if list(names) != sorted(names, key=utf16_order)]
    levelled = sum(any(list_of(names).levels) for names in lists)
    assert levelled > 0
    assert summary == {"with_priority_levels": levelled, "in_no_brokers_order": len(unsorted) - levelled}


def test_a_list_that_counts_up_is_assigned_as_one_level(spark: SparkSession, tmp_path: Path) -> None:
    names = [f"app-{number}" for number in range(12)]
    topics = [f"persistent://t/n/x-partition-{index}" for index in range(12)]
    with new_run(tmp_path, "import", Manifest(new_run_id())) as draft:
        rows = [
            ("", "s", topic, "t/n", "persistent://t/n/x", index, "Failover", 12, 1, None, 1.0, 9.0, 0, 0, "f")
            for index, topic in enumerate(topics)
        ]
        draft.write(SUBSCRIPTIONS, rows)
        draft.write(CONSUMER_SETS, [("", 1, names)])
    results: list[str] = []
    job_called("assign")(spark, tmp_path, tmp_path, JobOptions({"policies": "flag_off"}, results.append))
    rows_out = rows_of(tmp_path, "assignments")
    assert {row["topic"]: row["flag_off"] for row in rows_out} == dict(zip(topics, sorted(names), strict=True))
    assert {row[name] for row in rows_out for name in row if name.startswith("flag_on")} == {None}, "not asked for"
    assert any(line.endswith("1; each counts as one level") for line in results)


def statistics(topics: Sequence[tuple[str, int]], names: Sequence[str], version: str, *, flag: bool) -> dict[str, Any]:
    """What a broker of a release prints of topics with these consumers, by the scalar rule."""
    behaviour = behaviour_of(version)
    assert isinstance(behaviour, ReleaseBehaviour)
    results: dict[str, Any] = {}
    for topic, index in topics:
        connected = [Consumer(place, name, 0) for place, name in enumerate(names)]
        choice = choose(connected, topic, index, consistent_hashing=flag, behaviour=behaviour)
        assert choice is not None
        result = {
            "type": "Failover", "activeConsumerName": choice.active.name, "msgRateOut": 2.0,
            "consumers": [{"consumerName": each.name} for each in choice.order],
        }  # fmt: skip
        results[topic] = {"msgRateIn": 2.0, "subscriptions": {"s": result}}
    return results


def cluster(folder: Path, namespace: str, version: str, *, flag: bool, reports: bool) -> None:
    """The answers of one cluster: partitions and plain topics, with or without what says which rules it runs."""
    partitions = [(f"persistent://{namespace}/x-partition-{index}", index) for index in range(20)]
    plain = [(f"persistent://{namespace}/y-{number}", -1) for number in range(12)]
    (folder / "stats").mkdir(parents=True)
    result = statistics([*partitions, *plain], ["c-0", "c-1", "c-2"], version, flag=flag)
    (folder / "stats" / "topics.json").write_text(json.dumps(result))
    if reports:
        url = f"http://{folder.name}:8080"
        report = {"pulsarServiceUrl": "x", "webServiceUrl": url, "brokerVersionString": version, "lastStats": {}}
        (folder / "load-report.json").write_text(json.dumps(report))
        (folder / "dynamic.json").write_text(json.dumps({FLAG: str(flag).lower()}))


def test_every_cluster_is_under_the_rules_that_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    """Reported in load reports and configuration, or inferred from active consumers; no option is given."""
    source, out = tmp_path / "in", tmp_path / "out"
    for name, version, flag, reports in (
        ("old", "2.11.0", True, True), ("new", "4.2.4", True, True), ("silent-old", "2.11.0", False, False),
        ("silent-new", "4.2.4", True, False),
    ):  # fmt: skip
        cluster(source / name, f"t/{name}", version, flag=flag, reports=reports)
    job_called("import")(spark, source, out, JobOptions())
    summary: Any = ran(spark, "assign", out).summary
    assert summary["agreement"] == {"reported": 4 * 32, "agreeing": 4 * 32}
    assert summary["in_force"] == ["flag_off", "flag_on"]
    rules = {each["cluster"]: each for each in summary["rules"]}
    assert {(name, each["consistent_hashing"], each["release_basis"]) for name, each in rules.items()} == {
        ("old", False, "reported"), ("new", True, "reported"), ("silent-old", False, "inferred"),
        ("silent-new", True, "inferred"),
    }  # fmt: skip
    assert (rules["old"]["release"], rules["new"]["release"]) == ("2.11.0", "4.2.4")
    loads = {(row["namespace"], row["policy"]): row for row in rows_of(out, "subscription_loads")}
    now = [
        loads[f"t/{name}", policy]
        for name, policy in (
            ("old", "flag_off"), ("new", "flag_on"), ("silent-old", "flag_off"), ("silent-new", "flag_on"),
        )
    ]  # fmt: skip
    assert summary["now"] == {
        "idle": sum(row["idle"] for row in now),
        "worst_busiest_over_average": max(row["busiest_over_average"] for row in now if row["improvable"]),
    }  # fmt: skip
    assert loads["t/old", "flag_off"]["in_force"] and loads["t/new", "flag_on"]["in_force"]
    # Nothing moves under the rule in force, and a release without the flag moves nothing when it is set.
    assert loads["t/new", "flag_on"]["moved"] == loads["t/old", "flag_on"]["moved"] == 0
    assert loads["t/new", "flag_off"]["moved"] > 0
    rows = assigned(out)
    plain = {row["rule"] for row in rows if row["namespace"] == "t/old" and row["partition_index"] < 0}
    assert plain == {"first-connected"}


def test_a_job_that_fails_costs_its_own_tables_only(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    cluster(source, "t/n", "4.2.4", flag=False, reports=True)
    run = job_called("run")
    with new_run(out, "run", Manifest(new_run_id()), alone=True) as draft:
        draft.write(FINDINGS_TABLE, [])
        draft.write_json("lint.json", {})
    assert {"findings", "lint.json"} <= everything(out)

    def broken(*_: object) -> None:
        raise RingsideError("no memory")

    monkeypatch.setattr("pipeline.jobs.lint.run", broken)
    options = JobOptions({"assign.policies": "pulsar", "keep": "3"})
    result = run(spark, source, out, options)
    assert result.summary["failed"] == {"lint": "no memory"}
    summary = read_summary(fleet_results.text_of(out, "summary.json"))
    assert (summary.failed, "lint" in summary.jobs, "assign" in summary.jobs) == ({"lint": "no memory"}, False, True)
    assert everything(out).isdisjoint({"lint.json", "findings"})
    assert len(fleet_results.run_ids(out)) == 2 and fleet_results.manifest(out)["run_id"] == result.run_id
    assert rows_of(out, "assignments") != []
    # A report that fails leaves no summary of another run beside the new tables, nor does a job that is left out.
    assert "balance.json" in everything(out)
    for report in source.rglob("*load-report*"):
        report.unlink()
    monkeypatch.setattr("pipeline.jobs.reporting.run", broken)
    with pytest.raises(RingsideError, match="no memory"):
        run(spark, source, out, JobOptions({"assign.policies": "pulsar"}))
    gone = {"summary.json", "worst_subscriptions", "balance.json", "balance_brokers"}
    assert everything(out).isdisjoint(gone) and "assignments" in everything(out)
    opened = read_results(result_at(out))
    assert opened.complaint and len(opened.listing(FINDINGS)) == 0
