"""What brokers reported of a Key_Shared subscription whose partitions differ: keys, explain, heirs, diff, suggest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.model import Consumer
from engine.keyshared.ownership import slots_by_consumer
from tests.engine.keyshared.selectors import auto_split
from tests.oracles.hashes import java_string_hash
from tests.tui.cli.conftest import Run

ORDERS = ("abc", "bca", "cab", "abc")
"""The order in which consumers joined each partition."""
TOPIC = "persistent://public/default/orders"
KEYS = [f"order-{number}" for number in range(40)]


def selector_of(order: str) -> AutoSplitSelector:
    selector = auto_split()
    for name in order:
        selector = selector.join(Consumer("abc".index(name), name))
    return selector


SELECTORS = [selector_of(order) for order in ORDERS]


def slots(partition: int, name: str) -> int:
    owned = slots_by_consumer(SELECTORS[partition])
    return sum(piece.count for piece in owned["abc".index(name)])


@pytest.fixture
def path(tmp_path: Path) -> str:
    def consumers(selector: AutoSplitSelector) -> list[dict[str, object]]:
        ranges = selector.ranges()
        return [
            {
                "consumerName": consumer.name,
                "keyHashRangeArrays": [[piece.start, piece.end] for piece in ranges[consumer.consumer_id]],
            }
            for consumer in selector.consumers
        ]

    partitions = {
        f"{TOPIC}-partition-{at}": {"subscriptions": {"s": {"type": "Key_Shared", "consumers": consumers(selector)}}}
        for at, selector in enumerate(SELECTORS)
    }
    file = tmp_path / "stats.json"
    file.write_text(json.dumps({"metadata": {"partitions": len(SELECTORS)}, "partitions": partitions}))
    return str(file)


def test_a_key_goes_to_the_owner_of_its_slot_in_its_own_partition(run: Run, path: str) -> None:
    for key in KEYS[:12]:
        document = json.loads(run("explain", "key", key, path, "--json").out)
        partition = java_string_hash(key) % 4
        owner = SELECTORS[partition].owner(SELECTORS[partition].slots.slot_of_key(key.encode()))
        assert document["route"]["partition"] == document["partition"] == partition
        assert document["explanation"]["owner"]["name"] == "abc"[owner if owner is not None else -1]
    plan = json.loads(run("explain", "key", "order-1", path, "--client", "python", "--json").out)
    assert plan["route"]["hashing"] == "BoostHash"


def test_each_partition_has_its_own_shares_and_keys(run: Run, path: str) -> None:
    words = [word for key in KEYS for word in ("--key", key)]
    for partition in range(4):
        document = json.loads(run("keys", path, "--partition", str(partition), *words, "--json").out)
        assert {row["name"]: row["slots"] for row in document["consumers"]} == {
            name: slots(partition, name) for name in "abc"
        }
        here = [key for key in KEYS if java_string_hash(key) % 4 == partition]
        assert (document["known_keys"], document["partition"]) == (len(here), partition)
        assert [row["keys"] for row in document["partitions"]["rows"]] == [
            sum(java_string_hash(key) % 4 == at for key in KEYS) for at in range(4)
        ]
    first = json.loads(run("keys", path, *words, "--json").out)
    assert first["partition"] == 0
    assert run("keys", path, "--partition", "4").code == 2
    assert run("keys", "--consumers", "a,b", "--partition", "0").code == 2


def test_the_losses_are_those_of_all_partitions_together(run: Run, path: str) -> None:
    document = json.loads(run("heirs", path, "--json").out)
    assert {row["name"]: row["items"] for row in document["losses"]} == {
        name: sum(slots(partition, name) for partition in range(4)) for name in "abc"
    }
    assert document["now"]["items"] == 4 * 65_535
    gone = json.loads(run("heirs", path, "a", "--json").out)
    left = [selector.leave(0) for selector in SELECTORS]
    then = [slots_by_consumer(selector) for selector in left]
    assert {row["name"]: row["items_after"] for row in gone["heirs"]} == {
        name: sum(piece.count for owned in then for piece in owned["abc".index(name)])
        for name in "bc"
        if sum(piece.count for owned in then for piece in owned["abc".index(name)])
        > sum(slots(partition, name) for partition in range(4))
    }
    assert gone["verdict"]["moved"] == sum(
        SELECTORS[at].owner(slot) != left[at].owner(slot) for at in range(4) for slot in range(1, 65_536)
    )


def test_a_step_is_compared_partition_by_partition(run: Run, path: str) -> None:
    ran = run("diff", "--in", path, "step:0", "apply:kill a", "--json")
    document = json.loads(ran.out)
    left = [selector.leave(0) for selector in SELECTORS]
    (one,) = document["subscriptions"]
    assert one["verdict"]["moved"] == sum(
        SELECTORS[at].owner(slot) != left[at].owner(slot) for at in range(4) for slot in range(1, 65_536)
    )
    assert "on both sides" not in run("diff", "--in", path, "step:0", "apply:kill a").out


def test_more_partitions_make_nothing_more_even(run: Run, path: str) -> None:
    refused = run("suggest", "partitions", path)
    assert refused.code == 2 and "every partition of s has all consumers" in " ".join(refused.err.split())
    assert json.loads(run("suggest", "consumers", path, "--json").out)["rows"]
