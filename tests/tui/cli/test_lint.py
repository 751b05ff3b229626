"""``ringside lint`` reports what is wrong, exits as asked, and keeps messages apart from data."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from engine.diagnosis.findings import CAUSE_RULES
from engine.lint import Severity, rule_ids
from engine.lint.doctor import ALL_RULES
from tests.engine.diagnosis.samples import HEALTHY, dump
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.cli.conftest import Answers, Run

PARTITIONS = [f"persistent://t/n/x-partition-{at}" for at in range(3)]


@pytest.mark.parametrize(
    ("fail_on", "code"), [([], 0), (["error"], 0), (["warning"], 1), (["info"], 1)], ids=["default", *"ewi"]
)
def test_the_exit_code_is_1_from_the_severity_that_was_asked_for(run: Run, fail_on: list[str], code: int) -> None:
    words = ["--fail-on", *fail_on] if fail_on else []
    ran = run("lint", "--names", "c-1,c-11", *words)
    assert (ran.code, ran.err) == (code, "")
    assert "1 finding (1 warning)" in ran.out


def test_errors_fail_by_default_and_clean_names_never(run: Run) -> None:
    assert run("lint", "--names", "c,c").code == 1
    ran = run("lint", "--names", "a,b", "--fail-on", "info")
    assert (ran.code, ran.out.strip(), ran.err) == (0, "2 names: no findings", "")


def test_text_is_grouped_by_severity_with_advice_and_counts(run: Run) -> None:
    ran = run("lint", *[f"x-{at}" for at in range(100)], "d", "d")
    lines = ran.out.splitlines()
    assert lines[0] == "102 names: 11 findings (1 error, 9 warnings, 1 info)"
    heads = [line for line in lines if line and not line.startswith(" ")][1:]
    assert heads == [
        "error failover-duplicate-names (1)",
        "warning failover-names-collide (9)",
        "info key-duplicate-names (1)",
    ]
    assert sum(line.startswith("  change:") for line in lines) == 3, "one advice for each rule"
    assert max(map(len, lines)) < 80


def test_what_is_the_same_in_several_places_is_said_once(run: Run, answers: Answers) -> None:
    consumers = [{"consumerName": name} for name in ("a", "b")]
    stats = {"msgRateIn": 1.0, "publishers": []}
    topics = {
        f"persistent://t/n/x{at}": {**stats, "subscriptions": {f"s{at}": {"type": "Failover", "consumers": consumers}}}
        for at in range(3)
    }
    Path("answers.json").write_text(json.dumps({"stats.json": topics}))
    lines = run("lint", "answers.json").out.splitlines()
    start = lines.index("info failover-flag-ignored (3)")
    assert [line[-1] for line in lines[start + 1 : start + 4]] == [",", ",", ":"]
    assert sum("the hash ring decides" in line for line in lines) == 1


def test_many_findings_of_a_rule_are_counted_and_json_has_all(run: Run) -> None:
    names = ",".join(f"x-{at}" for at in range(200))
    ran = run("lint", "--names", names)
    assert "  and 9 more; --json has all of them" in ran.out.splitlines()
    document = json.loads(run("lint", "--names", names, "--json").out)
    assert len([each for each in document["findings"] if each["rule"] == "failover-names-collide"]) == 19


def test_json_has_every_part_of_a_finding(run: Run, answers: Answers) -> None:
    path = answers(["c", "c"], PARTITIONS)
    ran = run("lint", str(path), "--flag", "on", "--json")
    assert ran.code == 1
    document = json.loads(ran.out)
    assert (document["format"], document["fail_on"], document["failed"]) == ("ringside.lint/1", "error", True)
    assert document["counts"] == {"error": 1, "warning": 0, "info": 1}, "and the answer lacks what waits"
    first = document["findings"][0]
    assert set(first) == {"rule", "severity", "what", "where", "numbers", "advice"}
    assert first["where"] == {
        "namespace": "t/n",
        "subscription": "billing",
        "bundle": "",
        "topic": "persistent://t/n/x",
        "consumer": "c",
        "topics": 1,
    }
    assert first["numbers"] == {"consumers": 2, "never_active": 1, "topics": 1}


def test_only_the_rules_and_the_namespace_that_were_asked_for(run: Run) -> None:
    folder = str(RECORDINGS / "f-inventory-2")
    everything = json.loads(run("lint", folder, "--json").out)["findings"]
    ran = run("lint", folder, "--json", "--rule", "failover-duplicate-names", "--rule", "key-duplicate-names")
    assert json.loads(ran.out)["findings"] == [each for each in everything if "duplicate" in each["rule"]]
    one = json.loads(run("lint", folder, "--json", "--namespace", "ring/audit-2026").out)["findings"]
    assert one == [each for each in everything if each["where"]["namespace"] == "ring/audit-2026"] != []


def test_the_rules_are_listed_with_what_they_are_about(run: Run) -> None:
    ran = run("lint", "--list")
    assert ran.code == 0
    causes = [rule.id for rule in CAUSE_RULES]
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == [*rule_ids(), *causes]
    rows = json.loads(run("lint", "--list", "--json").out)["rules"]
    every = (*ALL_RULES, *CAUSE_RULES)
    assert {row["rule"]: row["worst"] for row in rows} == {rule.id: rule.worst.label for rule in every}
    assert {row["worst"] for row in rows} <= {each.label for each in Severity}


def test_names_from_a_file_and_sticky_ranges_of_a_plan(run: Run, tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_text("c-1\nc-11\n")
    assert "failover-names-collide" in run("lint", "--names-from", str(names)).out
    plan = tmp_path / "plan"
    plan.write_text("a=0-40000\nb=40000-65535\n")
    ran = run("lint", "--names-from", str(plan), "--sticky")
    assert ran.code == 1
    assert "error key-overlaps (1)" in ran.out and "error key-gaps (1)" in ran.out
    as_json = tmp_path / "plan.json"
    as_json.write_text(
        json.dumps([{"name": "a", "ranges": [[0, 40_000]]}, {"name": "b", "ranges": [[40_001, 65_535]]}])
    )
    assert run("lint", "--names-from", str(as_json)).out.strip() == "2 names: no findings"


def test_names_are_words_one_word_with_commas_a_text_file_or_standard_input(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run("lint", "--names", "c-1,c-11,\u00e9").out
    (tmp_path / "names").write_bytes("\ufeffc-1\r\nc-11\r\n\r\n\u00e9".encode())
    for words in (["c-1", "c-11", "\u00e9"], ["c-1,c-11,\u00e9"], ["names"]):
        assert run("lint", *words).out == expected
    for words in (["-"], ["--names-from", "-"]):
        with (tmp_path / "names").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            assert run("lint", *words).out == expected


def test_answers_from_standard_input_are_judged_as_from_a_file(
    run: Run, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = answers(["c", "c"], PARTITIONS)
    expected = run("lint", str(path), "--json", "--flag", "on")
    with path.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        ran = run("lint", "-", "--json", "--flag", "on")
    assert expected.code == ran.code == 1
    assert json.loads(ran.out)["findings"] == json.loads(expected.out)["findings"]


@pytest.mark.parametrize(
    "text",
    [
        "<html>\n502\n</html>\n",
        "Bad Gateway\n",
        "activeConsumerFailoverConsistentHashing=true\n",
        "persistent://t/n/x\n",
        '{"half":',
        "[",
        "c-1\0",
        "",
    ],
)
def test_other_files_are_not_taken_for_a_list_of_names(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "other").write_text(text)
    ran = run("lint", "other")
    assert (ran.code, ran.out) == (2, "")


def test_the_place_of_what_is_nobody_s_alone_is_the_list_and_that_of_settings_all_brokers(run: Run) -> None:
    ran = run(
        "lint", *[f"x-{at:03}" for at in range(300)], "--set", "loadBalancerNamespaceBundleMaxBandwidthMbytes=2048"
    )
    lines = ran.out.splitlines()
    assert lines[lines.index("warning key-points-lost (1)") + 1] == "  these consumers together:"
    assert lines[lines.index("error bandwidth-limit-overflow (1)") + 1] == "  all brokers:"


def test_a_saved_session_is_judged_as_it_stands(run: Run, tmp_path: Path) -> None:
    journal = tmp_path / "kept"
    result = run(
        "new", "--consumers", "2", "--once", "--journal", str(journal), "--apply", "add billing-1", "--flag", "on"
    )
    assert result.code == 0
    ran = run("lint", str(journal))
    assert (ran.code, "failover-duplicate-names" in ran.out) == (1, True)


def test_the_load_manager_is_taken_from_the_option_where_no_answer_tells_it(run: Run) -> None:
    """Three topics of 800 messages/s where a bundle may carry 1,000: two boundaries."""
    bundles = {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}
    topics = {f"persistent://t/n/x{at}": {"msgRateIn": 800.0, "publishers": [], "subscriptions": {}} for at in range(3)}
    Path("answers.json").write_text(json.dumps({"stats.json": topics, "t-n-bundles.json": bundles}))
    words = ["lint", "answers.json", "--set", "defaultNamespaceBundleSplitAlgorithm=flow_or_qps_equally_divide"]
    words += ["--set", "loadBalancerNamespaceBundleMaxMsgRate=1000"]
    assert "info split-many-boundaries" in run(*words).out
    extensible = run(*words, "--load-manager", "extensible")
    assert (extensible.code, "error split-many-boundaries" in extensible.out) == (1, True)
    assert "no findings" in run(*words, "--load-manager", "modular").out


def test_what_is_wrong_with_one_file_is_reported_and_the_rest_is_judged(
    run: Run, answers: Answers, tmp_path: Path
) -> None:
    answers(["c", "c"], PARTITIONS)
    (tmp_path / "half.json").write_text('{"persistent://t/n/y": {"msgRateIn": 1.0, "subscr')
    (tmp_path / "short.json.gz").write_bytes(gzip.compress(b'{"boundaries": ["0x0", "0xffffffff"]}')[:20])
    ran = run("lint", str(tmp_path), "--flag", "on")
    assert (ran.code, "error failover-duplicate-names" in ran.out) == (1, True)
    assert "half.json" in ran.err and "short.json.gz" in ran.err
    assert "no answer has the bundles of t/n" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a FOLDER or FILE"),
        (["nowhere"], "no such file or folder"),
        (["nowhere.json", "else"], "no such file or folder"),
        (["--names", ""], "no consumer is named"),
        (["--names", "a", "--names-from", "x"], "choose one of them"),
        (["--names", "a", "b"], "an option names the consumers already"),
        (["--names", "a", "--sticky"], "--names-from"),
        (["--names", "a", "--namespace", "t/n"], "a list of names has none"),
        (["--names", "a", "--rule", "key-gap"], "did you mean key-gaps?"),
        (["--names", "a", "--set", "nothing"], "write it as in broker.conf"),
        (["--names", "a", "--set", "nothing=1"], "no broker setting 'nothing'"),
        (["--names", "a", "--pulsar", "1.2"], "older than 2.10"),
        (["--names-from", "nowhere"], "nowhere"),
        (["--fail-on", "never", "--names", "a"], "--fail-on"),
        (["a\0b"], "a"),
    ],
    ids=str,
)
def test_what_cannot_be_used_ends_with_2_and_a_sentence(run: Run, words: list[str], message: str) -> None:
    ran = run("lint", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err and "Traceback" not in ran.err


def test_an_unknown_namespace_is_refused_with_the_known_ones(run: Run, answers: Answers) -> None:
    ran = run("lint", str(answers(["c"], PARTITIONS)), "--namespace", "t/m")
    assert (ran.code, "there is 't/n'" in ran.err) == (2, True)


def test_an_empty_folder_and_a_folder_of_other_files_are_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = run("lint", "empty")
    assert (ran.code, "no .json or .json.gz file is in" in ran.err) == (2, True)
    (tmp_path / "empty" / "a.json").write_text("{}")
    assert run("lint", "empty").code == 2


@pytest.mark.parametrize(
    ("boundaries", "message"),
    [(["0x00000010", "0x00000020"], "must be 0xffffffff"), (["0x00000000"] * 2 + ["0xffffffff"], "an empty range")],
)
def test_boundaries_that_make_no_bundles_are_reported_and_all_else_is_judged(
    run: Run, answers: Answers, tmp_path: Path, boundaries: list[str], message: str
) -> None:
    answers(["c", "c"], PARTITIONS)
    (tmp_path / "t-n-bundles.json").write_text(json.dumps({"boundaries": boundaries}))
    ran = run("lint", str(tmp_path), "--flag", "on")
    assert (ran.code, "error failover-duplicate-names" in ran.out) == (1, True)
    assert message in ran.err and "these bundles are not judged" in ran.err


def test_names_with_control_characters_stay_on_one_line(run: Run) -> None:
    ran = run("lint", "--names", "a\x1b[31m,a\x1b[31m")
    assert "\x1b" not in ran.out and ran.code == 1


@pytest.mark.parametrize("text", ["null", "garbage", "3"])
def test_a_file_named_as_an_answer_is_no_list_of_names(run: Run, tmp_path: Path, text: str) -> None:
    """A broker's answer that went wrong passes no check: "1 name: no findings" would look like a clean bill."""
    (tmp_path / "orders.json").write_text(text)
    (tmp_path / "names.txt").write_text(text)
    ran = run("lint", str(tmp_path / "orders.json"))
    assert (ran.code, ran.out) == (2, "") and "orders.json: this is not an answer of a broker" in ran.err
    assert run("lint", str(tmp_path / "names.txt")).code == 0


def test_statistics_without_a_name_are_judged_as_those_of_the_topic_that_is_given(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the reader advises (``give --topic``) is there in the doctor too; a folder or names have no one topic."""
    subscription = {"type": "Failover", "consumers": [{"consumerName": "c-1"}, {"consumerName": "c-11"}]}
    file = tmp_path / "stats.json"
    file.write_text(json.dumps({"msgRateIn": 0.0, "publishers": [], "subscriptions": {"billing": subscription}}))
    unnamed = run("lint", str(file), "--fail-on", "warning")
    assert unnamed.code == 1 and "failover-names-collide (1)" in unnamed.out and "give --topic" in unnamed.err
    for words in ([str(file)], ["-"]):
        monkeypatch.setattr("tui.sources.answers.standard_input", lambda _limit: file.read_bytes())
        ran = run("lint", *words, "--topic", "orders", "--fail-on", "warning")
        assert ran.code == 1 and "failover-names-collide (1)" in ran.out
        assert ran.out.startswith(f"{words[0]} about persistent://public/default/orders: ")
    for wrong in ([str(file), str(file)], ["--names", "a,b"]):
        ran = run("lint", *wrong, "--topic", "orders")
        assert ran.code == 2 and "--topic" in ran.err


def test_what_blocks_in_answers_is_a_finding_with_its_numbers_and_can_be_asked_for_alone(
    run: Run, tmp_path: Path
) -> None:
    dump("keyshared-lookahead-a", tmp_path / "dump")
    words = ["lint", "dump", "--json"]
    result = json.loads(run(*words).out)["findings"]
    assert [(finding["rule"], finding["severity"]) for finding in result] == [
        ("keyshared_lookahead", "error"),
        ("keyshared_no_permits", "error"),
    ]
    assert (result[0]["numbers"]["limit"], result[0]["where"]["consumer"]) == (90, "app-2")
    alone = json.loads(run(*words, "--rule", "keyshared_no_permits").out)["findings"]
    assert [row["rule"] for row in alone] == ["keyshared_no_permits"]


@pytest.mark.parametrize("name", HEALTHY)
def test_the_doctor_finds_nothing_in_healthy_answers(run: Run, tmp_path: Path, name: str) -> None:
    dump(name, tmp_path / "dump")
    causes = [word for rule in CAUSE_RULES for word in ("--rule", rule.id)]
    ran = run("lint", "dump", "--fail-on", "info", *causes)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "dump: no findings")
