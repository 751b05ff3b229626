"""Checkers of scalable topics: who gets which segment, and the whole way from a key to its consumer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.errors import Rejection
from engine.scalable.buckets import Attached, bucket_of, bucket_owners
from engine.scalable.coordinator import Coordinator
from engine.scalable.dealing import Grant, deal
from engine.scalable.model import attached_name
from engine.scalable.routing import hashes_of_key, router
from tests.golden.families.scalable import laid_out, operated
from tests.golden.harness import Line, checks


def _grants(grants: Sequence[Grant]) -> list[Any]:
    return [[one.segment_id, one.buckets] if one.buckets else one.segment_id for one in grants]


@checks("segment_assign")
def segment_assign(line: Line) -> None:
    given = line["in"]
    kind = given["type"]
    coordinator = Coordinator(
        laid_out(given["start"], []), drain_rule=kind == "STREAM", checkpoint=kind == "CHECKPOINT"
    )
    for at, (operation, expected) in enumerate(zip(given["ops"], line["out"]["steps"], strict=True)):
        name, *words = operation
        match name:
            case "register":
                coordinator = coordinator.register(words[0])
            case "unregister":
                coordinator = coordinator.unregister(words[0])
            case "unregister-other-id":
                pass
            case "disconnect":
                coordinator = coordinator.disconnect(words[0])
            case "expire":
                coordinator = coordinator.expire(words[0])
            case "poll":
                coordinator = coordinator.check(words[0])
            case "restore":
                coordinator = coordinator.restore(words[0])
            case "checker":
                coordinator = coordinator.with_drain_rule()
            case "checkpoint":
                coordinator = coordinator.as_checkpoint()
            case _:
                layout = operated(coordinator.layout, operation)
                coordinator = coordinator if isinstance(layout, Rejection) else coordinator.with_layout(layout)
        counts = coordinator.counts()
        present = coordinator.present.grants if coordinator.present is not None else {}
        seen = {
            "assignment": [[one, _grants(grants)] for one, grants in present.items()],
            "epoch": coordinator.layout.epoch,
            "blocked": list(coordinator.blocked),
            "counts": [counts.active, counts.idle, counts.disconnected, counts.blocked],
            "sharesBuckets": coordinator.shares_buckets,
        }
        if "sent" in expected:
            seen["sent"] = [_grants(coordinator.grants(words[0]))]
        assert seen == expected, (at, operation)


@checks("key_consumer")
def key_consumer(line: Line) -> None:
    given, out = line["in"], line["out"]
    layout = laid_out(given["start"], given["ops"])
    dealt = deal(layout, given["consumers"], given["drained"])
    assert [[name, _grants(grants)] for name, grants in dealt.grants.items()] == out["assignment"]
    routes = router(list(layout.segments.values()))
    found = []
    for key in given["keys"]:
        segment = routes.of_key(key)
        assert not isinstance(segment, Rejection)
        bucket = bucket_of(segment.bucket_splits, hashes_of_key(key).bucket_hash)
        owners = dealt.owners(segment.segment_id)
        attached = {Attached(attached_name(one, segment.segment_id), at): one for at, one in enumerate(owners)}
        owner = bucket_owners(list(attached), segment.buckets)[bucket]
        found.append([segment.segment_id, bucket, owner and attached[owner]])
    assert found == out["keys"]
