"""Every JSON document that is printed is what its schema says, and a spoilt one is not."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

import engine
import tui
from engine.balance.ahead.model import Assumption
from engine.balance.leadership.shedding import UnloadOutcome
from engine.balance.limits import SplitReason
from engine.balance.shedding.model import BrokerOutcome
from engine.balance.splitting.loops import LoopKind
from engine.balance.splitting.model import AttemptOutcome
from engine.verify.report import FactKind
from tests.engine.diagnosis.answers import consumer, stats
from tests.engine.scalable import scenes
from tests.engine.scenarios.recordings import RECORDINGS
from tests.manual import entries
from tests.schemas import DOCUMENTS, schema_of
from tests.tui.cli.conftest import Run
from tests.tui.fleet_runs import both_days
from tui.cli.commands import ringside

PLAN = str(Path(__file__).parents[3] / "docs" / "plan.toml")
LOADS = ("open", str(RECORDINGS / "pip392-flag-on" / "03-load-report.json.gz"))
KEYS = ("--consumers", "a,b", "--generated", "30")
WORDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "dashboard": ((), ("new", "--consumers", "0"), ("open", "failover"), LOADS),
    "keys": (("new", "--keys", "20"), ("open", "draining"), ("open", "draining", "--apply", "kill d-a")),
    "producers": (("new", "--producers", "3"),),
    "subscription": (("open", "shared"), ("open", "shared", "--subscription", "s")),
    "bundles": (
        ("forecast",),
        ("forecast", "scene"),
        ("forecast", "scene", "--load-manager", "extensible", "--cycles", "6", "--growth", "1.5"),
        ("forecast", "scene", "--set", "loadBalancerNamespaceBundleMaxMsgRate=10", "--pulsar", "2.11.0"),
    ),
    "split": (("split", "LARGEST"),),
    "curve": (("forecast", "--curve", "LARGEST"),),
    "bundles-needed": (("suggest", "bundles", "--topics", "9", "--brokers", "2"),),
    "ranges": (("ranges", "--nodes", "2"), ("ranges", "--nodes", "2", "--generated", "5", "--node", "1")),
    "plan": (
        ("plan", "--nodes", "4", "--to", "5"),
        ("plan", "--nodes", "5", "--to", "3", "--leaving", "0,2", "--generated", "40", "--key", "hex:ff"),
        ("plan", "--nodes", "1", "--to", "2", "--points", "1"),
    ),
    "lint": (
        ("lint", "scene"),
        ("lint", "--names", "c-1,c-10,c-1,c-2", "--fail-on", "info"),
        ("lint", "--names", "a"),
        ("lint", str(RECORDINGS / "f-inventory-2")),
    ),
    "why": (
        ("why",),
        ("why", str(RECORDINGS / "c-keyshared-draining")),
        ("why", str(RECORDINGS / "a-priority-100-3p-hash")),
        ("why", str(RECORDINGS / "f-inventory-2"), "--all"),
    ),
    "list": (
        ("list",),
        ("list", str(RECORDINGS / "f-inventory-2"), "--filter", "idle>0"),
        ("list", str(RECORDINGS / "c-keyshared-draining")),
        ("list", str(RECORDINGS / "e-pip79-6p")),
    ),
    "explain": (
        ("explain", "topic-1"),
        ("explain", "topic-1", "--flag", "on"),
        ("explain", "topic-1", "--apply", "add zz priority 1"),
        ("explain", "key", "a", "--consumers", "a,b,c"),
        ("explain", "bundle", "fleet/positions/0x40000000_0x60000000"),
        ("explain", "key", "a", "--consumers", "a,a,b", "--mode", "auto-split", "--pulsar", "2.11.0"),
        ("explain", "key", "a", "--consumers", "a,a,b", "--pulsar", "2.11.0"),
        ("explain", "key", "a", "--ranges", "a=0-9", "--ranges", "b=20-30"),
        ("explain", "key", "a", "--consumers", "a,b", "--partitions", "12", "--client", "rust"),
        ("explain", "key", "a", "--partitions", "12", "--client", "php"),
        ("explain", "jobs", "mixed", "--subscription", "s"),
        ("explain", "jobs", "mixed", "--subscription", "alone"),
    ),
    "setting": (("explain", "setting", "maxUnloadPercentage"),),
    "route": (
        ("explain", "route", "k", "--partitions", "4"),
        ("explain", "route", "hex:00ff", "--partitions", "4"),
        ("explain", "route", "--no-key", "--partitions", "4", "--partial", "2", "--router", "partial"),
    ),
    "partitions": (("partitions", "--from", "3", "--to", "4", "--key", "k"), ("partitions", "--from", "3")),
    "key-spread": (("keys", *KEYS), ("keys", str(RECORDINGS / "c-keyshared-draining"))),
    "key-consumer": (("keys", "--of", "a", *KEYS),),
    "rules": (("lint", "--list"),),
    "scripts": (("demo",),),
    "verify": (
        ("verify", str(RECORDINGS / "a-failover-3p-hash")),
        ("verify", str(RECORDINGS / "a-failover-3p-modulo"), "--pulsar", "2.11.0"),
        ("verify", "spoilt"),
        ("verify", str(RECORDINGS / "c-keyshared-ring")),
        ("verify", str(RECORDINGS / "g-two-brokers")),
    ),
    "heirs": (
        ("heirs", "--flag", "on"),
        ("heirs", "billing-1", "--flag", "on"),
        ("heirs", str(RECORDINGS / "c-keyshared-ring")),
    ),
    "broker-heirs": (
        ("heirs", "--brokers"),
        ("heirs", "--broker", "broker-1:8080", "--broker", "broker-2:8080"),
        ("heirs", str(RECORDINGS / "g-shed-modular-uniform"), "--brokers"),
    ),
    "brokers": (
        ("brokers", "--json"),
        ("brokers", "--json", "--kill", "broker-1:8080", "--add", "1", "--shedder", "TransferShedder"),
        ("brokers", str(RECORDINGS / "g-shed-modular-uniform"), "--json", "--cycles", "3"),
        *(
            ("brokers", "reports", "--json", *words)
            for words in (
                ("--cycles", "3"),
                ("--shedder", "TransferShedder", "--set", "loadBalancerCPUResourceWeight=0"),
                ("--shedder", "AvgShedder", "--set", "minUnloadMessage=1"),
                ("--pulsar", "2.11.0", "--shedder", "ThresholdShedder"),
            )
        ),
    ),
    "diff": (
        ("diff", "rule:modulo", "rule:ring"),
        ("diff", str(RECORDINGS / "f-inventory-2"), "rule:ring"),
        ("diff", str(RECORDINGS / "c-keyshared-ring"), "apply:kill ks-b"),
    ),
    "fleet-diff": (("fleet", "diff", "monday", "tuesday"), ("fleet", "diff", "tuesday", "monday")),
    "suggest": (
        ("suggest", "flag"),
        ("suggest", "partitions", "--up-to", "3"),
        ("suggest", "points", str(RECORDINGS / "c-keyshared-ring")),
        ("suggest", "bundles", "--brokers", "3", "--up-to", "8"),
        ("suggest", "names", "--for", "any", "--prefix", "web", "--count", "3", "--max-over-mean", "1.2"),
        ("suggest", "consumers", "--up-to", "3"),
    ),
    "check": (("check", PLAN), ("check", "missed.toml")),
    "upgrade": (
        ("upgrade", "--to", "5.0"),
        ("upgrade", str(RECORDINGS / "v4.0.0-c-keyshared-sticky-gaps"), "--pulsar", "4.0.0", "--to", "5.0"),
    ),
    "migration": (
        ("explain", "migration", "t/n/x", "--partitions", "3", "--key", "k", "--key", "hex:ff"),
        ("explain", "migration", "topic-7", str(RECORDINGS / "pip392-flag-on")),
    ),
    "scalable": (
        ("scalable", "segments", "--key", "k"),
        ("scalable", "segments", "orders", "--key", "order-1", "--key", ""),
        ("scalable", "segments", "--all"),
    ),
    "script": (
        ("demo", "pip392", "--headless"),
        ("demo", "keys-blocked", "--headless"),
        ("demo", "producers-partial", "--headless"),
        ("demo", "failing.ringside", "--headless"),
    ),
}


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path) -> None:
    """A scene with hot bundles, a recording that a broker could not have made, and a script that fails."""
    scene, spoilt = tmp_path / "scene", tmp_path / "spoilt"
    scene.mkdir()
    spoilt.mkdir()
    for name in ("02-broker-stats-topics.json", "02-bundles-before.json", "scenario.json"):
        packed = (RECORDINGS / "d-flow-msgrate-4x60" / f"{name}.gz").read_bytes()
        (scene / name).write_bytes(gzip.decompress(packed))
    for file in (RECORDINGS / "a-failover-3p-modulo").iterdir():
        (spoilt / file.name).write_bytes(file.read_bytes())
    path = spoilt / "07-partitioned-stats.json.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b'"c-a"', b'"c-z"')))
    (spoilt / "broken.json").write_text("{")
    shared = tmp_path / "mixed" / "admin/v2/persistent/t/n/jobs"
    shared.mkdir(parents=True)
    full = consumer("b", blockedConsumerOnUnackedMsgs=True)
    answer = stats("Shared", [consumer("a"), full, consumer("c", availablePermits=0)])
    answer["subscriptions"]["alone"] = stats("Failover", [consumer("d")])["subscriptions"]["s"] | {"type": "Exclusive"}
    answer["subscriptions"]["keys"] = stats("Key_Shared", [consumer("e")])["subscriptions"]["s"]
    del answer["subscriptions"]["s"]["msgOutCounter"]
    (shared / "stats.json").write_text(json.dumps(answer))
    draining = gzip.decompress((RECORDINGS / "c-keyshared-draining" / "05-stats.json.gz").read_bytes())
    _dump(tmp_path / "draining", [draining])
    who = [consumer("a"), consumer("b", availablePermits=0, blockedConsumerOnUnackedMsgs=True)]
    for kind in ("Failover", "Shared"):
        moments = [stats(kind, who[:count], activeConsumerName="a", msgBacklog=count) for count in (1, 2)]
        _dump(tmp_path / kind.lower(), [json.dumps(moment).encode() for moment in moments])
    reports = tmp_path / "reports"
    reports.mkdir()
    for name in ("05-load-report-a.json.gz", "05-load-report-b.json.gz", "scenario.json.gz"):
        (reports / name).write_bytes((RECORDINGS / "g-shed-modular-uniform" / name).read_bytes())
    both_days(tmp_path)
    scenes.write(tmp_path / "segments", "manual", "2026-11-27T15-14-16Z", "2026-11-27T15-14-58Z")
    missed = (
        '[[namespaces]]\nname = "t/n"\nbrokers = 1\ntopics = 9\n[namespaces.goals]\nmax_over_mean = 1\nsurvive = 1\n'
    )
    (tmp_path / "missed.toml").write_text(missed)
    (tmp_path / "failing.ringside").write_text(
        "scene pip392\nkill nobody\nexpect totals.idle_consumers = 3\nexpect status.rule = ring\n"
    )


def _dump(folder: Path, moments: list[bytes]) -> None:
    for at, answer in enumerate(moments):
        place = folder / f"2026-11-22T09-48-{at:02}Z" / "admin" / "v2" / "persistent" / "t" / "n" / "x"
        place.mkdir(parents=True)
        (place / "stats.json").write_bytes(answer)


def faults(document: Any, name: str) -> list[str]:
    return [fault.message for fault in Draft202012Validator(schema_of(name)).iter_errors(document)]


def printed(run: Run, words: tuple[str, ...]) -> Any:
    ran = run(*words, "--json")
    assert ran.code in (0, 1), ran
    return json.loads(ran.out)


@pytest.mark.parametrize(("name", "words"), [(name, words) for name in WORDS for words in WORDS[name]], ids=repr)
def test_what_is_printed_is_valid(run: Run, name: str, words: tuple[str, ...]) -> None:
    document = printed(run, words)
    assert re.fullmatch(rf"ringside\.{name}/\d", document["format"])
    assert faults(document, name) == []


PRINTED_ELSEWHERE = {
    "open": "without its name",
    "replay": "as open prints it",
    "live": "as open prints it, of a running cluster",
}


def test_every_command_that_prints_json_is_tried_here() -> None:
    words = [words for some in WORDS.values() for words in some]
    tried = {" ".join(words[:count]) for words in words for count in (1, 2)} | PRINTED_ELSEWHERE.keys()
    printing = {
        entry.name.removeprefix("ringside").strip()
        for entry in entries(ringside)
        if any(name.split()[0] == "--json" for name, _ in entry.options)
    }
    assert len(printing) > 25
    # A job prints what it keeps on the disk.
    assert {name for name in printing - tried if name and not name.startswith("fleet ")} == set()


@cache
def words_in_code() -> frozenset[str]:
    """Texts in the code, and the names of members of its enumerations, as documents spell them."""
    found: set[str] = set()
    for folder in (Path(engine.__file__).parent, Path(tui.__file__).parent):
        for file in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.add(node.value)
                if isinstance(node, ast.Name):
                    found.add(node.id.lower())
    return frozenset(found)


def listed(schema: Any, place: str) -> Iterator[tuple[str, str]]:
    """Every text that a schema lists as one of several."""
    for key, value in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if key == "enum":
            yield from ((place, text) for text in value if isinstance(text, str))
        if isinstance(value, dict | list):
            yield from listed(value, f"{place}.{key}")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_lists_no_word_that_the_code_does_not_have(name: str) -> None:
    known = words_in_code()
    assert [place for place in listed(schema_of(name), name) if place[1] not in known] == []


def spoilt(document: Any) -> Iterator[tuple[str, Any]]:
    """The document with one member gone, of another type, or too much, at the top and one level below."""
    places: list[tuple[str, ...]] = [(key,) for key in document]
    places += [(key, inner) for key, value in document.items() if isinstance(value, dict) for inner in value]
    for place in places:
        for label, change in (("gone", None), ("another type", object), ("misspelt", str)):
            result = copy.deepcopy(document)
            owner = result
            for key in place[:-1]:
                owner = owner[key]
            value = owner.pop(place[-1])
            if change is object:
                owner[place[-1]] = {"no": "such"} if not isinstance(value, dict) else 7
            elif change is str:
                owner[place[-1] + "s"] = value
            yield f"{'.'.join(place)} {label}", result


OPEN = frozenset({"per_bundle", "per_broker", "view"})
"""Members that hold what they hold: their own members are names."""


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name not in ("dashboard", "keys", "producers")])
def test_a_spoilt_document_is_not_valid(run: Run, name: str) -> None:
    whole = printed(run, WORDS[name][min(1, len(WORDS[name]) - 1)])
    document = {key: value[:3] if isinstance(value, list) else value for key, value in whole.items()}
    assert faults(document, name) == []
    schema = Draft202012Validator(schema_of(name))
    accepted = [label for label, found in spoilt(document) if schema.is_valid(found)]
    assert [label for label in accepted if label.split(".")[0] not in OPEN] == []


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name not in ("dashboard", "keys", "producers")])
def test_rows_of_lists_are_held_to_the_schema_too(run: Run, name: str) -> None:
    document = printed(run, WORDS[name][min(1, len(WORDS[name]) - 1)])
    lists = [key for key, value in document.items() if isinstance(value, list) and value]
    assert lists
    for key in lists:
        assert faults({**document, key: [*document[key], {"no": "such"}]}, name), key


def test_every_schema_is_one_and_says_what_each_member_is() -> None:
    for name in DOCUMENTS:
        schema = schema_of(name)
        Draft202012Validator.check_schema(schema)
        assert list(undescribed(schema, name)) == []


def undescribed(schema: Any, place: str) -> Iterator[str]:
    for key, member in schema.get("properties", {}).items():
        if not member.get("description"):
            yield f"{place}.{key}"
        yield from undescribed(member, f"{place}.{key}")
    for name, part in schema.get("$defs", {}).items():
        yield from undescribed(part, name)
    for number, part in enumerate(schema.get("oneOf", ())):
        yield from undescribed(part, f"{place}|{number}")
    if isinstance(schema.get("items"), dict):
        yield from undescribed(schema["items"], f"{place}[]")


def test_the_words_of_a_schema_are_those_there_are() -> None:
    bundles, brokers = (
        {name: part["properties"] for name, part in schema_of(document)["$defs"].items()}
        for document in ("bundles", "brokers")
    )
    attempt = bundles["AttemptRow"]
    assert attempt["outcome"]["enum"] == list(get_args(AttemptOutcome))
    assert attempt["reason"]["enum"] == list(get_args(SplitReason))
    assert bundles["LoopRow"]["kind"]["enum"] == list(get_args(LoopKind))
    assert schema_of("brokers")["properties"]["assumptions"]["items"]["enum"] == list(get_args(Assumption))
    assert brokers["UnloadLeft"]["why"]["enum"] == list(get_args(UnloadOutcome))
    assert brokers["BrokerVerdict"]["outcome"]["enum"] == list(get_args(BrokerOutcome))
    facts = schema_of("verify")["$defs"]["Tally"]["properties"]
    assert facts["kind"]["enum"] == [kind.value for kind in FactKind]


def test_a_schema_is_printed_by_its_name(run: Run) -> None:
    names = run("schema").out.split()
    assert names
    for name in names:
        assert json.loads(run("schema", name).out) == schema_of(name)
    assert run("schema", "nothing").code == 2
