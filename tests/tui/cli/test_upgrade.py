"""``upgrade``: the same state under another release."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from engine.cluster.commands import SetRelease
from engine.cluster.state import ClusterState
from engine.compare.releases import CHANGES
from engine.compare.verdict import carried_out
from engine.config import LINES, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.load_rules import LoadRules
from engine.releases import SETTINGS
from engine.views.comparing.upgrade import SAMPLE
from engine.views.comparing.upgrade_rows import CHANGES as ABOUT_CHANGES
from engine.views.comparing.upgrade_rows import RULES
from engine.views.comparing.upgrade_rows import SETTINGS as ABOUT_SETTINGS
from tests.engine.scalable.scenes import write
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Run
from tui.sources.answers import opened

GAPS = str(RECORDINGS / "v4.0.0-c-keyshared-sticky-gaps")
DUMP = str(RECORDINGS / "a-failover-8p-hash")


TOPIC = "persistent://public/default/keys"
GAPPY = (
    f"topic add {TOPIC}",
    f"subscribe orders to {TOPIC}",
    "share sticky of orders",
    "add gappy ranges 0-9999,20000-29999 to orders",
)
"""One consumer with a gap of 10,000 slots between its ranges, and nobody behind them."""


def document_of(run: Run, *words: str) -> Any:
    ran = run("upgrade", *words, "--json")
    assert ran.code == 0, ran
    return json.loads(ran.out)


def rows_of(document: Any, *kinds: str) -> dict[str, Any]:
    return {row["name"]: row for row in document["rows"] if row["kind"] in kinds}


def test_rows_count_what_they_concern_here(run: Run) -> None:
    document = document_of(run, DUMP, "--pulsar", "4.2.4", "--to", "5.0.1")
    counts = {row["name"]: row["count"] for row in document["rows"]}
    assert document["difference"]["sums"]["moved"] == 0 and document["load"] is None
    assert (counts["notices_on_nonpersistent_change"], counts["dispatcherMaxReadBatchSize"]) == (0, 1)
    assert (counts["keySharedLookAheadMsgInReplayThresholdPerConsumer"], counts["flow_by_name"]) == (0, 4)
    assert counts["defaultNumberOfSystemNamespaceBundles"] is counts["maxUnloadPercentage"] is None
    blank = document_of(
        run, "--pulsar", "4.2.4", "--to", "5.0.1", "--apply", "topic add 'persistent://public/default/x ' partitions 2"
    )
    assert rows_of(blank, "rule")["blank_ends"]["count"] == 1


@pytest.mark.parametrize(
    ("setting", "release", "effect"),
    [
        ("defaultNumberOfNamespaceBundles=16", "5.0.1", "stays"),
        ("defaultNumberOfNamespaceBundles=4", "5.0.1", "follows"),
        ("subscriptionKeySharedUseClassicPersistentImplementation=true", "5.0.1", "ignored"),
    ],
)
def test_what_becomes_of_a_setting(run: Run, setting: str, release: str, effect: str) -> None:
    name, _, value = setting.partition("=")
    document = document_of(run, DUMP, "--pulsar", "4.2.4", "--set", setting, "--to", release)
    row = rows_of(document, "setting")[name]
    assert (row["effect"], row["in_force"]) == (effect, value)


def test_a_setting_that_the_model_does_not_read_is_as_brokers_reported_it(run: Run, tmp_path: Path) -> None:
    shutil.copy(RECORDINGS / "a-failover-8p-hash" / "09-partitioned-stats.json.gz", tmp_path)
    place = tmp_path / "admin" / "v2" / "brokers" / "configuration"
    place.mkdir(parents=True)
    (place / "runtime.json").write_text('{"dispatcherMaxReadBatchSize": "250", "maxUnloadPercentage": "0.2"}')
    rows = rows_of(document_of(run, str(tmp_path), "--pulsar", "4.2.4", "--to", "5.0.1"), "setting")
    names = ("dispatcherMaxReadBatchSize", "maxUnloadPercentage", "tlsHostnameVerificationEnabled")
    assert {name: (rows[name]["effect"], rows[name]["in_force"]) for name in names} == {
        "dispatcherMaxReadBatchSize": ("stays", "250"),
        "maxUnloadPercentage": ("follows", "0.2"),
        "tlsHostnameVerificationEnabled": ("follows", None),
    }


def test_the_classic_dispatcher_goes_with_5_0_and_its_keys_move(run: Run) -> None:
    classic = str(RECORDINGS / "c-keyshared-ring-classic")
    document = document_of(run, classic, "--to", "5.0.1")
    [keys] = document["keys"]
    assert (keys["slots_before"], keys["slots_after"]) == (2_147_483_646, 65_535)
    assert (keys["order_before"], keys["order_after"]) == ("recently-joined", "draining-hashes")
    # Who has a key before says nothing about who has it after: with three consumers two thirds of all keys move.
    assert keys["consumers"] == 3 and 0.63 < keys["sample_moved"] / keys["sample_keys"] < 0.70
    row = rows_of(document, "setting")["subscriptionKeySharedUseClassicPersistentImplementation"]
    assert (row["count"], row["in_force"], row["effect"], row["keep"]) == (1, "true", "ignored", "")
    assert not any("Classic" in each["keep"] for each in document["rows"])
    page = run("upgrade", classic, "--to", "5.0.1")
    assert page.code == 0 and "without a difference" not in page.out
    assert document_of(run, classic, "--to", "4.2.5")["keys"] == []


def test_sample_keys_go_where_the_selectors_say(run: Run) -> None:
    """The count of moved sample keys, by the look-up of single keys."""
    session = opened(str(RECORDINGS / "c-keyshared-ring-classic"))
    after = carried_out(session.state, SetRelease("5.0.1"))
    assert isinstance(after, ClusterState)
    selectors = [state.key_subscriptions[0].delivery.selector for state in (session.state, after)]
    moved = 0
    for number in range(SAMPLE):
        owners = [selector.owner(selector.slots.slot_of_key(b"key-%d" % number)) for selector in selectors]
        moved += owners[0] != owners[1]
    [keys] = document_of(run, str(RECORDINGS / "c-keyshared-ring-classic"), "--to", "5.0.1")["keys"]
    assert keys["sample_moved"] == moved


def test_an_older_ring_form_moves_keys_too(run: Run) -> None:
    [keys] = document_of(run, str(RECORDINGS / "v3.3.2-c-keyshared-ring"), "--to", "5.0.1")["keys"]
    assert keys["sample_moved"] > 3_000
    rules = rows_of(document_of(run, str(RECORDINGS / "v3.3.2-c-keyshared-ring"), "--to", "4.2.5"), "rule")
    assert rules["key_shared_order"]["keep"] == "subscriptionKeySharedUseClassicPersistentImplementation=true"


def test_shedding_ahead_by_either_release(run: Run) -> None:
    """Settings that have the old default get the new one: the new release sheds as with a broker.conf of its own."""
    load = document_of(run, str(RECORDINGS / "g-two-brokers"), "--pulsar", "4.2.4", "--to", "5.0.1")["load"]
    assert (load["brokers"], load["cycles"]) == (2, 20)
    assert (load["before"]["shedder"], load["after"]["shedder"]) == ("ThresholdShedder", "AvgShedder")
    assert (load["before"]["placement"], load["after"]["placement"]) == ("LeastLongTermMessageRate", "AvgShedder")


def test_a_flag_that_was_ignored_begins_to_count(run: Run) -> None:
    document = document_of(run, "--pulsar", "3.0.2", "--flag", "on", "--to", "5.0")
    assert document["difference"]["sums"]["moved"] > 0
    rule = rows_of(document, "rule")["knows_failover_consistent_hashing"]
    assert (rule["count"], rule["keep"]) == (1, "activeConsumerFailoverConsistentHashing=false")


def test_gaps_that_are_no_longer_served_have_their_slots_counted(run: Run) -> None:
    steps = [word for line in GAPPY for word in ("--apply", line)]
    document = document_of(run, "--pulsar", "4.0.0", "--to", "5.0", *steps)
    assert rows_of(document, "rule")["sticky_gaps"]["count"] == 1
    [gap] = document["gaps"]
    assert gap["after"] - gap["before"] == 10_000
    back = document_of(run, "--pulsar", "5.0", "--to", "4.0.0", *steps)
    [gap_back] = back["gaps"]
    assert (gap_back["before"], gap_back["after"]) == (gap["after"], gap["before"])
    assert all(row["keep"] == "" for row in back["rows"] if row["kind"] == "rule")


def test_a_release_beside_itself_changes_nothing(run: Run) -> None:
    document = document_of(run, DUMP, "--pulsar", "4.2.4", "--to", "4.2.4")
    assert document["rows"] == document["keys"] == document["gaps"] == []


@pytest.mark.parametrize("line", LINES, ids=repr)
def test_every_line_can_be_gone_to(run: Run, line: tuple[int, int]) -> None:
    version = f"{line[0]}.{line[1]}"
    assert not isinstance(behaviour_of(version), Rejection)
    assert document_of(run, GAPS, "--to", version)["after"] == version


def test_everything_that_can_change_has_a_meaning() -> None:
    rules = {field.name for field in fields(ReleaseBehaviour)} | {f"load.{field.name}" for field in fields(LoadRules)}
    assert {*RULES} == rules - {"label", "load", "defaults"}
    assert {*ABOUT_SETTINGS} == {*SETTINGS} - {"activeConsumerFailoverConsistentHashing"}
    assert {*ABOUT_CHANGES} == {change.name for change in CHANGES}


def test_scalable_topics_come_with_five_and_are_on(run: Run) -> None:
    document = document_of(run, DUMP, "--pulsar", "4.2.4", "--to", "5.0")
    settings = rows_of(document, "setting")
    assert {name: settings[name]["after"] for name in ("scalableTopicsEnabled", "scalableTopicAutoScaleEnabled")} == {
        "scalableTopicsEnabled": "true",
        "scalableTopicAutoScaleEnabled": "true",
    }
    platform = rows_of(document, "platform")
    assert {"scalable_topics", "segments_as_topics", "scalable_migration"} <= platform.keys()
    assert settings["scalableTopicsEnabled"]["keep"] == "scalableTopicsEnabled=false"
    assert "scalable_topics" not in rows_of(document_of(run, DUMP, "--pulsar", "5.0.0", "--to", "5.0.1"), "platform")


def test_going_back_counts_the_scalable_topics_that_no_broker_reads_then(run: Run, tmp_path: Path) -> None:
    dump = str(write(tmp_path, "holdup"))
    rows = rows_of(document_of(run, dump, "--to", "4.2"), "platform")
    assert (rows["scalable_topics"]["count"], rows["segments_as_topics"]["count"]) == (1, 3)


def test_an_unknown_release_is_refused(run: Run) -> None:
    assert run("upgrade", "--to", "1.0").code == 2
    assert run("upgrade").code == 2
