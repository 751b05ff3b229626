"""``ringside why`` names the cause of the worst subscription or of a named one; its exit code says if all is well."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from tests.engine.diagnosis.answers import consumer, stats
from tests.engine.diagnosis.samples import dump
from tests.tui.cli.conftest import Run
from tui.cli.commands.lint import lint_command
from tui.cli.commands.verify import verify_command
from tui.cli.commands.why import why_command


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A blocked subscription, at two moments."""
    dump("keyshared-draining-a", tmp_path / "dump")
    return str(tmp_path / "dump")


def test_without_a_name_the_worst_is_named_with_cause_numbers_and_mend(run: Run, folder: str) -> None:
    ran = run("why", folder)
    assert (ran.code, ran.err) == (1, "")
    assert "node-2 waits for node-1 at 38 slots" in " ".join(ran.out.split())
    assert all(word in ran.out for word in ("keyshared_draining", "to do", "read from", "worst slot 65165"))
    assert max(map(len, ran.out.splitlines())) <= 100


@pytest.mark.parametrize("name", ["fan-out", "sessions", "persistent://shop/trips-96/sessions", "node-2"])
def test_a_subscription_a_topic_and_a_consumer_can_be_named(run: Run, folder: str, name: str) -> None:
    document = json.loads(run("why", folder, name, "--json").out)
    assert (document["format"], document["moments"], document["subscription"]) == ("ringside.why/1", 2, "fan-out")
    assert document["causes"][0]["id"] == "keyshared_draining"
    assert {"topic_not_loaded", "no_consumers", "keyshared_lookahead"} <= {row["id"] for row in document["ruled_out"]}


def test_what_is_not_there_is_refused(run: Run, folder: str, tmp_path: Path) -> None:
    assert run("why", folder, "fan-in").code == 2
    assert run("why", folder, "--subscription", "node-2").code == 2
    (tmp_path / "bundles.json").write_text('{"boundaries": ["0x00000000", "0xffffffff"]}')
    assert "no subscription" in run("why", str(tmp_path / "bundles.json")).err


def test_the_embedded_cluster_is_uneven(run: Run) -> None:
    ran = run("why", "--json")
    assert (ran.code, json.loads(ran.out)["causes"][0]["id"]) == (1, "failover_idle_consumers")


def test_all_lists_every_subscription_the_worst_first(run: Run, tmp_path: Path) -> None:
    for name, backlog in (("x", 5), ("y", 0), ("z", 70)):
        place = tmp_path / f"admin/v2/persistent/t/n/{name}"
        place.mkdir(parents=True)
        shown = stats("Shared", [consumer("c")] if name == "y" else [], msgBacklog=backlog, topic={"msgInCounter": 9})
        shown["subscriptions"] = {f"of-{name}": shown["subscriptions"]["s"]}
        (place / "stats.json").write_text(json.dumps(shown))
    ran = run("why", str(tmp_path), "--all", "--json")
    result = [
        (row["subscription"], [cause["id"] for cause in row["causes"]][:1])
        for row in json.loads(ran.out)["subscriptions"]
    ]
    assert result == [("of-z", ["no_consumers"]), ("of-x", ["no_consumers"]), ("of-y", ["fine_idle"])]
    assert ran.code == 1
    assert [line.split()[0] for line in run("why", str(tmp_path), "--all").out.splitlines()] == [
        "VERDICT",
        "blocks",
        "blocks",
        "fine",
    ]


def test_names_from_outside_stay_text_and_are_quoted_in_commands(run: Run, tmp_path: Path) -> None:
    name = "s $(touch pwned) \x1b[31m"
    shown = stats("Shared", [], msgBacklog=3, topic={"msgInCounter": 9})
    shown["subscriptions"] = {name: shown["subscriptions"]["s"]}
    place = tmp_path / "admin/v2/persistent/t/n/x"
    place.mkdir(parents=True)
    (place / "stats.json").write_text(json.dumps(shown))
    ran = run("why", str(tmp_path))
    assert "\x1b" not in ran.out
    assert "'s $(touch pwned)" in " ".join(
        json.loads(run("why", str(tmp_path), "--json").out)["causes"][0]["fix"].split()
    )


def test_a_trace_of_keys_names_the_hot_one(run: Run, tmp_path: Path) -> None:
    folder = dump("hot-key-a", tmp_path / "dump")
    trace = tmp_path / "keys.txt"
    plain = json.loads(run("why", str(folder), "--json").out)
    assert plain["causes"][0]["id"] == "hot_key" and "hot_key" not in plain["causes"][0]["numbers"]
    owner = plain["causes"][0]["by"][0]
    lines = [f"key-{number}\t1" for number in range(40)]
    shares = []
    for number in range(40):
        trace.write_text("\n".join([*lines, f"key-{number}\t500"]))
        cause = json.loads(run("why", str(folder), "--keys", str(trace), "--json").out)["causes"][0]
        shares.append((cause["numbers"]["hot_key"], cause["numbers"]["hot_key_share"]))
    assert {share for _, share in shares} == {round(501 / 540, 4)}
    named = {key for key, _ in shares if key}
    assert named and named != {f"key-{number}" for number in range(40)}, owner


ALONE = stats("Shared", [], msgBacklog=5, msgOutCounter=3)
WELL = stats("Shared", [consumer("a")])
PARTITION = "persistent://public/default/pt-a-partition-1"


def test_a_file_about_the_topic_that_an_option_names(run: Run, tmp_path: Path) -> None:
    (tmp_path / "stats.json").write_text(json.dumps(ALONE))
    ran = run("why", "stats.json", "--topic", PARTITION, "--json")
    document = json.loads(ran.out)
    assert (ran.code, ran.err) == (1, "")
    assert (document["topic"], document["causes"][0]["topic"]) == (PARTITION.rpartition("-p")[0], PARTITION)
    assert PARTITION in document["causes"][0]["fix"]


def test_without_a_name_of_the_topic_lines_to_paste_have_none_either(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x-partition-1.json").write_text(json.dumps(ALONE))
    ran = run("why", "x-partition-1.json", "--json")
    fix = json.loads(ran.out)["causes"][0]["fix"]
    assert "--topic" in ran.err
    assert fix.endswith("-s s TOPIC") and "unknown" not in fix


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ((), None),
        (("--set", "maxUnackedMessagesPerConsumer=30"), 30),
        (("--set", "maxUnackedMessagesPerConsumer=31", "--pulsar", "2.11"), 31),
    ],
)
def test_a_file_can_be_judged_by_settings_that_options_give(
    run: Run, tmp_path: Path, given: tuple[str, ...], value: int | None
) -> None:
    full = consumer("a", unackedMessages=50_000, blockedConsumerOnUnackedMsgs=True)
    (tmp_path / "stats.json").write_text(json.dumps(stats("Shared", [full], msgBacklog=9)))
    ran = run("why", "stats.json", "--topic", PARTITION, *given, "--json")
    cause = json.loads(ran.out)["causes"][0]
    assert cause["setting"] == "maxUnackedMessagesPerConsumer"
    assert cause["setting_in_force"]["value"] == value
    assert run("why", "stats.json", "--topic", PARTITION, "--set", "maxUnackedMessagesPerBroker=7").code == 1
    assert run("why", "stats.json", "--topic", PARTITION, "--set", "noSuchSetting=7").code == 2


def test_harm_of_an_earlier_moment_is_said_first_and_in_lists_comes_before_what_is_fine(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "dump").mkdir()
    for at, (mended, blocked) in enumerate([(ALONE, WELL), (WELL, WELL)], 1):
        answer = {"persistent://t/n/z": mended, "persistent://t/m/a": blocked}
        (tmp_path / "dump" / f"{at}-all.json").write_text(json.dumps(answer))
    ran = run("why", "dump")
    assert ran.code == 0, "nothing blocks any more"
    assert 0 < ran.out.index("no_consumers") < ran.out.index("fine_idle")
    document = json.loads(run("why", "dump", "--json").out)
    assert (document["moments"], document["namespace"]) == (2, "t/n")
    assert (document["earlier"]["moment"], document["earlier"]["cause"]["id"]) == (1, "no_consumers")
    listed = json.loads(run("why", "dump", "--all", "--json").out)["subscriptions"]
    assert [row["namespace"] for row in listed] == ["t/n", "t/m"]
    assert "no_consumers" in run("why", "dump", "--all").out.splitlines()[1]


def only_for_clusters() -> list[tuple[str, click.Option]]:
    """The options of commands that read files too which have a meaning only for a running cluster."""
    commands = {"lint": lint_command, "why": why_command, "verify": verify_command}
    return [
        (name, param)
        for name, command in commands.items()
        for param in command.params
        if isinstance(param, click.Option) and (param.help or "").startswith("URL:")
    ]


@pytest.mark.parametrize(("command", "option"), only_for_clusters(), ids=lambda part: getattr(part, "name", part))
def test_an_option_about_a_cluster_is_refused_for_a_file_by_the_name_that_was_typed(
    run: Run, tmp_path: Path, command: str, option: click.Option
) -> None:
    (tmp_path / "stats.json").write_text(json.dumps(ALONE))
    value = {"duration": ("1s",), "integer": ("2",), "float": ("2",), "size": ("1MB",)}.get(option.type.name, ("x",))
    ran = run(command, "stats.json", option.opts[0], *(() if option.is_flag else value))
    assert ran.code == 2
    assert f"Error: {option.opts[0]} is for a running cluster" in ran.err


def test_by_which_release_it_was_judged_is_one_line_and_whole_with_what_was_ruled_out(run: Run) -> None:
    short, whole = (
        run("why", str(Path(__file__).parents[3] / "docs" / "examples" / "stuck"), *words).out.splitlines()
        for words in ((), ("--ruled-out",))
    )
    assert [line.startswith("Judged as Pulsar 4.2") for line in short].count(True) == 1
    assert len(next(line for line in short if "Judged as" in line)) <= 80
    assert not any("Judged as" in line for line in whole) and any("by its answers" in line for line in whole)
