"""Clusters that lie: every command that reads one, in a process with limits, and what was sent, shown and saved."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.hostile.judging import faults
from tests.hostile.limited import Ended, Job, Limited, limited
from tests.playing.server import RECORDED_BROKER, Played, failing, playing, recorded

PACKED: Final = Path(__file__).parent / "packed"
BROKERS: Final = "/admin/v2/brokers/standalone"
LOADED: Final = "/admin/v2/broker-stats/topics"
STATS: Final = "/partitioned-stats$"
LOOK_UP: Final = "lookup/v2/topic/persistent/public/default/orders"
COMMANDS: Final = (
    ("why", "{}"),
    ("lint", "{}", "--json"),
    ("verify", "{}"),
    ("live", "{}", "--once"),
    ("live", "{}", "--json"),
    ("exporter", "{}", "--once"),
    ("record", "{}", "dump"),
)
COMMANDS_OF_A_CASE: Final = 2
MEMORY_BYTES: Final = 300 * 10**6
"""What a command may have at most; the process that it begins in has a third of it."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is played for which paths, the code of the only gap, and options of the commands.

    ``HOST`` in a header is the server, ``CANARY`` another one that nobody may ask.
    """

    path: str = "^$"
    played: Played = field(default_factory=Played)
    gap: str = ""
    options: tuple[str, ...] = ()
    answers: Mapping[str, bytes] = field(default_factory=dict)


def packed(data: bytes, encoding: str) -> Played:
    return Played(data, headers={"Content-Encoding": encoding})


@cache
def bomb() -> bytes:
    """A few bytes of gzip for 400 MB: the same 10 MB again and again, packed twice only."""
    block, times, checksum = bytes(10**7), 40, 0
    packer = zlib.compressobj(9, wbits=31)
    first, again = (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    for _ in range(times):
        checksum = zlib.crc32(block, checksum)
    end = b"\x03\x00" + checksum.to_bytes(4, "little") + (times * len(block)).to_bytes(4, "little")
    return first + again * (times - 1) + end


def moved(target: str) -> Played:
    return Played(status=307, headers={"Location": target})


def with_topics(**changes: str) -> dict[str, bytes]:
    """The list of loaded topics with some under other names."""
    text = recorded()[LOADED].decode()
    for name, other in changes.items():
        assert f'"persistent://public/default/{name}"' in text
        text = text.replace(f'"persistent://public/default/{name}"', f'"persistent://public/default/{other}"')
    return {LOADED: text.encode()}


def with_subscriptions(*names: str) -> dict[str, bytes]:
    """A topic with these subscriptions and no consumers."""
    loaded: dict[str, Any] = json.loads(recorded()[LOADED])
    facts = next(iter(next(iter(loaded["public/default"].values()))["persistent"].values()))
    facts["subscriptions"] = {name: {"consumers": [], "type": "Failover"} for name in names}
    bundles = {"0x00000000_0x40000000": {"persistent": {"persistent://public/default/evil": facts}}}
    stats: dict[str, Any] = json.loads(recorded()["/admin/v2/persistent/public/default/orders/partitioned-stats"])
    (one, *_) = stats["partitions"].values()
    one["subscriptions"] = {name: {**one["subscriptions"]["billing"], "consumers": []} for name in names}
    lists = dict.fromkeys(
        (f"/admin/v2/{domain}/public/default{what}" for domain in ("persistent", "non-persistent")
         for what in ("", "/partitioned")), b"[]")  # fmt: skip
    return {
        **lists,
        LOADED: json.dumps({"public/default": bundles}).encode(),
        "/admin/v2/persistent/public/default/evil/stats": json.dumps(one).encode(),
    }


def names_of_namespaces(*names: str) -> dict[str, bytes]:
    """Namespaces of a tenant, all of them as the recorded one but without topics of their own."""
    answers = {"/admin/v2/namespaces/public": json.dumps([f"public/{name}" for name in ("default", *names)]).encode()}
    for name in names:
        namespace = f"/admin/v2/namespaces/public/{name}"
        answers |= {f"{namespace}{what}": recorded()[f"/admin/v2/namespaces/public/default{what}"]
                    for what in ("", "/bundles", "/antiAffinity")}  # fmt: skip
        answers |= dict.fromkeys((f"/admin/v2/{domain}/public/{name}{what}" for domain in ("persistent",
                                  "non-persistent") for what in ("", "/partitioned")), b"[]")  # fmt: skip
    return answers


CASES: Final = {
    "gzip-gzip-gzip": Case(
        "/version$", packed((PACKED / "three-gzips.bin").read_bytes(), "gzip, gzip, gzip"), "packed"
    ),
    "zstd": Case(STATS, packed((PACKED / "zstd.bin").read_bytes(), "zstd"), "packed"),
    "brotli": Case(STATS, packed(b"\x00" * 100, "br"), "packed"),
    "gzip-bomb": Case("/clusters$", packed(bomb(), "gzip"), "too-large"),
    "gzip-bomb-in-gzip": Case("/clusters$", packed(gzip.compress(bomb()), "gzip"), "not-json"),
    "gzip-damaged": Case("/clusters$", packed(bomb()[:-50_000], "gzip"), "too-large"),
    "brokers-bracket": Case("/brokers/standalone$", Played(b'["["]'), "malformed"),
    "brokers-empty-brackets": Case("/brokers/standalone$", Played(b'["[]:1", "[v1.x]:1"]'), "malformed"),
    "brokers-port": Case("/brokers/standalone$", Played(b'["127.0.0.1:99999", "127.0.0.1:-1"]'), "malformed"),
    "brokers-steps": Case("/brokers/standalone$", Played(b'["../../x", "a/b:1"]'), "malformed"),
    "brokers-punycode": Case(gap="unreachable", answers={BROKERS: f'["{RECORDED_BROKER}", "xn--a.b:1"]'.encode()}),
    "tenant-is-a-step": Case("/tenants$", Played(b'["..", "public", "pulsar"]'), "malformed"),
    "namespace-is-a-step": Case("/namespaces/public$", Played(b'["public/default", "../.."]'), "malformed"),
    "topic-surrogate": Case(gap="malformed", answers=with_topics(__change_events="\\ud800")),
    "runtime-number": Case("/configuration/runtime$", Played(b"1"), "malformed"),
    "runtime-number-and-a-setting": Case(
        "/configuration/runtime$", Played(b"1"), "malformed",
        ("--set", "activeConsumerFailoverConsistentHashing=false"),
    ),
    "redirect-dots": Case(STATS, moved(f"http://CANARY/admin/v2/../../{LOOK_UP}"), "redirect-refused"),
    "redirect-dots-at-home": Case(STATS, moved(f"http://HOST/admin/v2/%2e%2e/.%2E/{LOOK_UP}"), "redirect-refused"),
    "redirect-other-port": Case(STATS, moved("http://CANARY/admin/v2/x"), "redirect-refused"),
    "redirect-authoritative-escaped": Case(
        STATS, moved("http://HOST/admin/v2/persistent/public/default/orders/partitioned-stats?%61uthoritative=true"),
        "redirect-refused",
    ),
    "exporter-escape-and-its-text": Case(answers=with_subscriptions("a\x1b", "a\\x1b", "a\\x1b~1f858a18")),
    "exporter-names-of-300": Case(answers=with_subscriptions("x" * 300 + "1", "x" * 300 + "2")),
    "record-namespaces-a-and-a-json": Case(answers=names_of_namespaces("default.json", "default.JSON", ".default")),
}  # fmt: skip


@pytest.fixture(scope="module")
def runner() -> Iterator[Limited]:
    with limited() as running:
        yield running


def commands_of(name: str) -> list[tuple[str, ...]]:
    """The last command for all cases, and others for each."""
    others = COMMANDS[:-1]
    start = list(CASES).index(name) * COMMANDS_OF_A_CASE
    return [*(others[(start + at) % len(others)] for at in range(COMMANDS_OF_A_CASE)), COMMANDS[-1]]


@pytest.mark.xdist_group("hostile")
@pytest.mark.parametrize("name", CASES)
def test_every_command_ends_as_if_one_answer_were_missing(runner: Limited, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    (tmp_path / "token").write_text("tok-secret")
    with playing() as canary, playing(answers={**recorded(), **case.answers}) as server:
        headers = {name: text.replace("HOST", server.broker).replace("CANARY", canary.broker)
                   for name, text in case.played.headers.items()}  # fmt: skip
        server.faults = (failing(case.path, Played(case.played.body, case.played.status, headers)),)
        commands = tuple(
            (*(word.replace("{}", server.url) for word in form), "--token-file", "token", "--rate", "10000",
             *(case.options if form[0] != "record" else ()))
            for form in commands_of(name)
        )  # fmt: skip
        ended = [runner.run(Job((words,), str(tmp_path)))[0] for words in commands]
        assert canary.requests == []
        assert all(request.path.startswith("/admin/v2/") for request in server.requests)
        assert not [path for path in (request.path for request in server.requests) if "uthoritative" in path]
    result = [
        f"{' '.join(words[:1])}: {fault}"
        for words, each in zip(commands, ended, strict=True)
        for fault in [*faults(words, each, tmp_path / "dump", "servers"), *beyond_limits(each), *other_gaps(each, case)]
    ]
    assert not result, "\n".join(result)
    assert [each.code for each in ended if each.code not in (0, 1)] == []
    assert [folder.name for folder in (tmp_path / "dump").iterdir() if folder.name.startswith(".")] == []


def beyond_limits(ended: Ended) -> list[str]:
    return [f"{ended.peak_bytes:,} bytes of memory"] if ended.peak_bytes > MEMORY_BYTES else []


def other_gaps(ended: Ended, case: Case) -> list[str]:
    """What is said of requests without an answer, unless it is what the case is about."""
    said = [line for line in ended.err.splitlines() if " without an answer" in line or "cannot be used" in line]
    as_expected = [line for line in said if case.gap and f", {case.gap}" in line]
    return [line for line in said if line not in as_expected] + (["nothing is said"] if case.gap and not said else [])


def series(text: str) -> list[tuple[str, str]]:
    families = text_string_to_metric_families(text)
    return [(each.name, json.dumps(sorted(each.labels.items()))) for family in families for each in family.samples]


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("exporter")])
@pytest.mark.xdist_group("hostile")
def test_no_series_is_exported_twice(runner: Limited, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    with playing(answers={**recorded(), **case.answers}) as server:
        (ended,) = runner.run(Job((("exporter", server.url, "--once"),), str(tmp_path)))
    exported = series(ended.out)
    assert len(exported) == len(set(exported))
    subscriptions = {labels for family, labels in exported if family == "ringside_failover_consumers"}
    loaded = json.loads(case.answers[LOADED])["public/default"]["0x00000000_0x40000000"]["persistent"]
    assert len(subscriptions) == len(loaded["persistent://public/default/evil"]["subscriptions"])
