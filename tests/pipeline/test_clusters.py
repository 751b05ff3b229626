"""Two clusters with the same names in one folder: all rows of both are there, and each is judged by its own rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from pyspark.sql import SparkSession

from engine.cluster.owners import active_consumers
from engine.compare.verdict import evenness
from engine.errors import InputError
from engine.views.fleet.difference import fleet_difference
from engine.views.fleet.runs import result_at
from engine.views.fleet.summary import read_summary
from engine.views.fleet.tables import EVERY_TABLE
from pipeline.clusters import given_clusters
from pipeline.jobs import check_places, job_called
from pipeline.jobs.result import JobOptions, JobResult
from tests import fleet_results
from tests.pipeline.load_report_folders import report, save
from tui.cli.fleet.screen import session_of
from tui.fleet.screen import Chosen
from tui.sources.fleet_part import part_of
from tui.sources.fleet_runs import readers_of, runs_of

BUNDLE: Final = "0x00000000_0xffffffff"
PARTITIONS: Final = 12


def topics(cluster: str, consumers: int) -> dict[str, Any]:
    """What the only broker of a cluster prints: every cluster has the same partitions, and consumers of its own."""
    names = [{"consumerName": f"{cluster}-{letter}"} for letter in "abcdef"[:consumers]]
    stats = {
        "msgRateOut": 1.0,
        "publishers": [{"producerName": cluster, "clientVersion": "4.0.0"}],
        "subscriptions": {
            "failover": {"type": "Failover", "msgRateOut": 1.0, "consumers": names},
            "keys": {"type": "Key_Shared", "consumers": names},
        },
    }
    return {
        "shop/orders": {
            BUNDLE: {"persistent": {f"persistent://shop/orders/x-partition-{n}": stats for n in range(PARTITIONS)}}
        }
    }


def save_cluster(folder: Path, name: str, consumers: int, settings: Mapping[str, str], *, loads: bool = True) -> None:
    save(folder / "broker-stats-topics.json", topics(name, consumers))
    save(folder / "runtime-configuration.json", settings)
    if loads:
        save(folder / "load-report.json", report("broker:8080", [(f"shop/orders/{BUNDLE}", 1.0, PARTITIONS)], 10.0))


def run(spark: SparkSession, job: str, source: Path, target: Path, **options: str) -> JobResult:
    given = {name.replace("__", "."): value for name, value in options.items()}
    return job_called(job)(spark, source, target, JobOptions(given))


def query(target: Path, text: str) -> list[tuple[Any, ...]]:
    """The rows of a query in which ``{table}`` is a table of the result."""
    places = {name: fleet_results.sql(target, name) for name in fleet_results.tables(target)}
    return duckdb.sql(text.format(**places)).fetchall()


def rows_of(target: Path, table: str, rest: str = "") -> list[tuple[Any, ...]]:
    """The rows of one table by themselves, without what differs from run to run."""
    unlike = ", file" if table == "topics" else ""
    return query(target, f"select * exclude (snapshot_time{unlike}) from {{{table}}} {rest} order by all")


EAST: Final = {"activeConsumerFailoverConsistentHashing": "true"}
WEST: Final = {"loadBalancerNamespaceBundleMaxTopics": "10", "subscriptionKeySharedUseConsistentHashing": "false"}


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet of ``east`` and ``west``."""
    folder = tmp_path_factory.mktemp("clusters")
    save_cluster(folder / "in" / "east", "east", 2, EAST)
    save_cluster(folder / "in" / "west", "west", 3, WEST)
    result = run(spark, "run", folder / "in", folder / "out")
    assert result.summary["failed"] == {}
    return folder / "out"


def test_no_cluster_loses_a_row_to_another(both: Path) -> None:
    for table, east, west in (
        ("topics", 12, 12), ("subscriptions", 24, 24), ("consumers", 48, 72), ("publishers", 12, 12), ("brokers", 1, 1),
        ("bundles", 1, 1), ("bundle_loads", 1, 1), ("broker_loads", 1, 1), ("bundle_topics", 12, 12), ("files", 3, 3),
        ("worst_namespaces", 1, 1), ("balance_brokers", 1, 1), ("consumer_sets", 1, 1),
    ):  # fmt: skip
        counted = f"select cluster, count(*) from {{{table}}} group by all order by all"
        assert query(both, counted) == [("east", east), ("west", west)], table
    assert query(both, "select * from {quarantine}") == []
    held = "select cluster, sum(partitions) from {consumer_loads} where policy = 'flag_on' group by all order by all"
    assert query(both, held) == [("east", 12), ("west", 12)]
    names = "select distinct cluster, flag_on[:4] from {assignments} order by all"
    assert query(both, names) == [("east", "east"), ("west", "west")]


def test_the_settings_of_one_cluster_do_not_judge_another(both: Path) -> None:
    assert query(both, "select cluster, outcome from {bundle_loads} order by all") == [
        ("east", "below-limits"), ("west", "chosen"),
    ]  # fmt: skip
    in_force = "select distinct cluster, policy from {subscription_loads} where in_force order by all"
    assert query(both, in_force) == [("east", "flag_on"), ("west", "flag_off")]
    rules = fleet_results.document(both, "assign.json")["rules"]
    assert [(row["cluster"], row["consistent_hashing"]) for row in rules] == [("east", True), ("west", False)]
    modes = "select cluster, policy from {worst_subscriptions} where type = 'Key_Shared' order by all"
    assert query(both, modes) == [("east", "consistent_auto_split"), ("west", "auto_split")]


def test_each_cluster_has_what_it_has_alone(spark: SparkSession, tmp_path: Path, both: Path) -> None:
    """Every number of every table about namespaces, bundles and subscriptions."""
    save_cluster(tmp_path / "in" / "west", "west", 3, WEST)
    run(spark, "run", tmp_path / "in", tmp_path / "out")
    for table in ("subscription_loads", "consumer_loads", "bundle_loads", "bundle_splits", "occupancy", "findings",
                  "key_loads", "worst_subscriptions", "worst_namespaces", "bundle_topics", "topics"):  # fmt: skip
        rows = rows_of(both, table, "where cluster = 'west'")
        assert rows == rows_of(tmp_path / "out", table), table
        assert rows, table


def test_every_row_about_a_namespace_names_its_tenant(both: Path) -> None:
    for table in EVERY_TABLE:
        if table.name in ("imbalance_history", "broker_history"):
            continue
        if table.name not in fleet_results.tables(both):
            continue
        names = [row[0] for row in query(both, f"describe select * from {{{table.name}}}")]
        assert names[0] == "cluster" and names[-2:] == ["tenant", "snapshot_time"], table.name
        if "namespace" in names:
            own = "nullif(split_part(namespace, '/', 1), '')"
            wrong = f"select count(*) from {{{table.name}}} where tenant is distinct from {own}"
            assert query(both, wrong) == [(0,)], table.name


def test_one_cluster_opens_with_its_own_consumers_and_settings(both: Path) -> None:
    part = part_of(result_at(both), "west", "shop/orders", "failover")
    consumers = {
        consumer.name
        for facts in part.snapshot.topics.values()
        for subscription in facts.subscriptions
        for consumer in subscription.consumers
    }
    assert consumers == {"west-a", "west-b", "west-c"} and len(part.snapshot.topics) == PARTITIONS
    assert part.snapshot.settings is not None
    assert part.snapshot.settings.loadBalancerNamespaceBundleMaxTopics == 10
    east = part_of(result_at(both), "east", "shop/orders").snapshot.settings
    assert east is not None and east.loadBalancerNamespaceBundleMaxTopics != 10


def test_without_load_reports_folders_of_the_same_kind_are_clusters(spark: SparkSession, tmp_path: Path) -> None:
    for name, consumers in (("east", 2), ("west", 3)):
        save_cluster(tmp_path / "in" / name, name, consumers, {}, loads=False)
    result = run(spark, "import", tmp_path / "in", tmp_path / "out")
    assert result.summary["clusters"] == ["east", "west"]
    assert query(tmp_path / "out", "select cluster, count(*) from {topics} group by all order by all") == [
        ("east", 12), ("west", 12),
    ]  # fmt: skip
    assert query(tmp_path / "out", "select * from {quarantine}") == []


def test_content_decides_where_names_do_not_show_what_is_in_a_file(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("east", "west"):
        save(tmp_path / "in" / name / "dump.json", topics(name, 2))
    result = run(spark, "import", tmp_path / "in", tmp_path / "out")
    assert result.summary["clusters"] == ["east", "west"]
    assert query(tmp_path / "out", "select count(*) from {topics}") == [(24,)]


def test_brokers_in_folders_of_their_own_are_one_cluster_by_the_bundles_of_their_statistics(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What moved between them while it was recorded is one topic, and the row says that another broker has it."""
    stats = {"type": "Failover", "consumers": [{"consumerName": "a"}]}
    for broker, bundle, names in (("b1", "0x00000000_0x80000000", "xm"), ("b2", "0x80000000_0xffffffff", "ym")):
        listed = {f"persistent://t/n/{name}": {"subscriptions": {"s": stats}} for name in names}
        save(tmp_path / "in" / broker / "broker-stats-topics.json", {"t/n": {bundle: {"persistent": listed}}})
    result = run(spark, "import", tmp_path / "in", tmp_path / "out")
    assert result.summary["clusters"] == [""]
    assert query(tmp_path / "out", "select topic, broker from {topics} order by all") == [
        ("persistent://t/n/m", "b2"), ("persistent://t/n/x", "b1"), ("persistent://t/n/y", "b2"),
    ]  # fmt: skip
    aside = 'select "table", kind, sum("rows") from {quarantine} where "rows" > 0 group by all order by all'
    assert query(tmp_path / "out", aside) == [
        ("consumers", "contested", 1), ("subscriptions", "contested", 1), ("topics", "contested", 1),
    ]  # fmt: skip
    assert result.summary["problem_rows"] == 3


@pytest.mark.parametrize("form", ["option", "file"])
def test_clusters_can_be_named(spark: SparkSession, tmp_path: Path, form: str) -> None:
    for name in ("dc1/east", "dc2/west"):
        save_cluster(tmp_path / "in" / name, name[4:], 2, {})
    named = "dc1/east=shop-east,dc2=shop-west"
    if form == "file":
        named = str(tmp_path / "clusters.csv")
        Path(named).write_text("folder,cluster\ndc1/east,shop-east\ndc2/,shop-west\n")
    run(spark, "import", tmp_path / "in", tmp_path / "out", clusters=named)
    assert query(tmp_path / "out", "select cluster, count(*) from {topics} group by all order by all") == [
        ("shop-east", 12), ("shop-west", 12),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["several", "a=", "no-such-file.csv", ""])
def test_an_option_that_names_no_cluster_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        given_clusters(text)


def test_a_trace_belongs_to_the_cluster_of_its_folder_or_the_one_that_it_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name in ("east", "west"):
        save_cluster(tmp_path / "in" / name, name, 2, {})
    (tmp_path / "in" / "east" / "trace.csv").write_text("namespace,subscription,key\nshop/orders,keys,k\n")
    (tmp_path / "in" / "all.csv").write_text(
        "cluster,namespace,subscription,key\nwest,shop/orders,keys,k\nwest,shop/orders,keys,l\n"
    )
    run(spark, "import", tmp_path / "in", tmp_path / "out")
    run(spark, "keys", tmp_path / "in", tmp_path / "out", tables=str(tmp_path / "out"))
    rows = "select cluster, msgs from {key_spreads} where policy = 'auto_split' order by all"
    assert query(tmp_path / "out", rows) == [("east", 1), ("west", 2)]


def test_the_row_names_the_list_that_makes_its_number_and_enter_opens_it(spark: SparkSession, tmp_path: Path) -> None:
    """Many topics with a consumer of their own hide one whose four consumers leave all to one of them."""
    lists = {f"persistent://shop/orders/orders-{n}": [f"only-{n}"] for n in range(9)}
    lists["persistent://shop/orders/orders-x-partition-0"] = ["a", "b", "c", "d"]
    stats = {
        topic: {"subscriptions": {"s": {"type": "Failover", "msgRateOut": 8.0,
                                        "consumers": [{"consumerName": name} for name in names]}}}
        for topic, names in lists.items()
    }  # fmt: skip
    save(tmp_path / "in" / "broker-stats-topics.json", {"shop/orders": {BUNDLE: {"persistent": stats}}})
    run(spark, "import", tmp_path / "in", tmp_path / "out")
    for job in ("assign", "report"):
        run(spark, job, tmp_path / "out", tmp_path / "out")
    columns = (
        "busiest_over_average, improvable, idle, lists, worst_topic, worst_consumers, worst_active, spare_msg_rate"
    )
    (row,) = query(tmp_path / "out", f"select {columns} from {{worst_subscriptions}}")
    assert row == (4.0, False, 3, 10, "persistent://shop/orders/orders-x-partition-0", 4, 1, 6.0)
    session = session_of(result_at(tmp_path / "out"), Chosen("", "shop/orders", "s", topic=row[4]))
    state = session.timeline.state
    assert [len(moment.snapshot.topics) for moment in session.seen] == [len(lists)]
    assert {consumer.name for consumer in state.subscriptions[session.subscription].consumers} == set("abcd")
    owners = [active_consumers(state, subscription) for subscription in state.subscriptions]
    holding = sum(len({active.name for active in owned.values() if active}) for owned in owners)
    assert sum(len(each.consumers) for each in state.subscriptions) - holding == row[2]
    shown = evenness(state, state.subscriptions[session.subscription])
    assert (shown.max_over_mean, shown.consumers) == (row[0], row[5])


def test_nothing_usable_is_refused_and_the_earlier_result_stays(spark: SparkSession, tmp_path: Path) -> None:
    save_cluster(tmp_path / "in", "east", 2, {})
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "zero.json").write_text("")
    run(spark, "import", tmp_path / "in", tmp_path / "out")
    before = fleet_results.text_of(tmp_path / "out", "import.json")
    with pytest.raises(InputError, match=r"zero\.json"):
        run(spark, "import", tmp_path / "empty", tmp_path / "out")
    assert fleet_results.text_of(tmp_path / "out", "import.json") == before
    assert query(tmp_path / "out", "select count(*) from {topics}") == [(PARTITIONS,)]
    done = job_called("import")(spark, tmp_path / "empty", tmp_path / "out", JobOptions({"allow-empty": "true"}))
    assert done.summary["tables"]["topics"] == 0  # type: ignore[index]


@pytest.mark.parametrize("job", ["import", "run", "watch", "assign", "bundles", "lint", "report", "balance", "keys"])
def test_what_is_wrong_with_the_places_is_known_without_spark(job: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for source, target in ((tmp_path / "nowhere", tmp_path / "out"), (tmp_path / "empty", tmp_path / "file")):
        with pytest.raises(InputError):
            check_places(job, source, target, JobOptions())
    if job in ("import", "run", "watch"):
        save_cluster(tmp_path / "in", "east", 2, {})
        with pytest.raises(InputError):
            check_places(job, tmp_path / "in", tmp_path / "in", JobOptions())


@pytest.fixture(scope="module")
def quiet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two runs over one topic, with no load report, nothing to find and nothing to move."""
    folder = tmp_path_factory.mktemp("quiet")
    save(folder / "in" / "broker-stats-topics.json", {"t/n": {BUNDLE: {"persistent": {"persistent://t/n/x": {}}}}})
    for day in ("monday", "tuesday"):
        run(spark, "run", folder / "in", folder / day, lint__pulsar="4.0.7")
    return folder / "monday", folder / "tuesday"


def test_two_runs_without_any_finding_or_moved_partition_can_be_compared(quiet: tuple[Path, Path]) -> None:
    """And every table that a run can have is read where both runs have no row of it."""
    for table in ("findings", "assignments", "subscription_loads", "worst_subscriptions"):
        assert query(quiet[0], f"select count(*) from {{{table}}}") == [(0,)], table
    runs = tuple(map(result_at, quiet))
    readers, missing = readers_of(*runs)
    assert missing == ()
    difference = fleet_difference(*runs_of(*runs), readers, top=3)
    assert (difference.sums.moved, difference.sums.new_findings, difference.sums.topics_appeared) == (0, 0, 0)


def test_a_run_without_load_reports_goes_without_the_forecast(
    spark: SparkSession, quiet: tuple[Path, Path], tmp_path: Path
) -> None:
    summary = read_summary(fleet_results.text_of(quiet[0], "summary.json"))
    assert "balance" not in summary.jobs and summary.failed == {} and summary.worst_brokers == ()
    with pytest.raises(InputError, match="load-report"):
        run(spark, "balance", quiet[0], tmp_path / "out")
    assert not (tmp_path / "out" / "balance_clusters").exists()
