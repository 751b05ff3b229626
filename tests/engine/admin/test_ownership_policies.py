"""Isolation policies, failure domains and anti-affinity groups out of a mirror of the admin API."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from engine.admin.ownership_policies import OwnershipPolicies
from engine.admin.requests import request_of_path
from engine.admin.snapshot import read_answers
from engine.balance.leadership.policies import ClusterPolicies

MIRROR = "2026-11-22T09-48-07.231Z/admin/v2"
DOMAINS = f"{MIRROR}/clusters/c/failureDomains.json"


def gathered(*answers: tuple[str, bytes]) -> tuple[ClusterPolicies | None, int]:
    policies = OwnershipPolicies()
    for name, data in answers:
        assert policies.take(name, data)
    return policies.gathered, len(policies.problems)


def test_domains_are_of_brokers_and_a_scheme_is_no_part_of_an_id() -> None:
    data = json.dumps({"east": {"brokers": ["b1:8080", "http://b2:8080/"]}, "west": {"brokers": ["b3:8080"]}}).encode()
    policies, problems = gathered((DOMAINS, data))
    assert policies is not None
    assert policies.domains == {"b1:8080": "east", "b2:8080": "east", "b3:8080": "west"}
    assert (policies.unknown, problems) == (("isolation", "groups"), 0)


def test_a_domain_of_its_own_is_added_and_a_broker_keeps_its_first() -> None:
    whole = (DOMAINS, b'{"east":{"brokers":["b1:8080"]}}')
    one = (f"{MIRROR}/clusters/c/failureDomains/west.json", b'{"brokers":["b2:8080","b1:8080"]}')
    policies, problems = gathered(whole, one)
    assert policies is not None
    assert policies.domains == {"b1:8080": "east", "b2:8080": "west"}
    assert problems == 1


@pytest.mark.parametrize(
    ("data", "group", "problems"),
    [
        (b"spread", "spread", 0),
        (b'"spread"\n', "spread", 0),
        (gzip.compress(b"spread", mtime=0), "spread", 0),
        (b"", None, 0),
        (b"null", None, 0),
        (b'{"reason":"no"}', None, 1),
        (b"<html>", None, 1),
        (b"\xff\xfe", None, 0),
        (b"x" * 1001, None, 1),
    ],
)
def test_the_group_of_a_namespace_is_plain_text(data: bytes, group: str | None, problems: int) -> None:
    policies, result = gathered((f"{MIRROR}/namespaces/t/n/antiAffinity.json", data))
    assert policies is not None
    assert policies.groups == ({} if group is None else {"t/n": group})
    assert (policies.unknown, result) == (("isolation", "domains"), problems)


def test_the_namespaces_of_a_group_are_a_list_and_bad_names_are_left_out() -> None:
    name = f"{MIRROR}/namespaces/c/antiAffinity/spread@tenant=t.json"
    policies, problems = gathered((name, b'["t/a", "t/b", 7, "no namespace"]'))
    assert policies is not None
    assert policies.groups == {"t/a": "spread", "t/b": "spread"}
    assert problems == 2


def test_a_namespace_may_be_called_antiaffinity() -> None:
    request = request_of_path(f"{MIRROR}/namespaces/t/antiAffinity/bundles.json")
    assert request is not None
    assert (request.what, request.namespace) == ("bundles", "t/antiAffinity")


def test_a_later_answer_takes_the_place_of_an_earlier_one() -> None:
    group = f"{MIRROR}/namespaces/t/n/antiAffinity.json"
    policies, _ = gathered(
        (DOMAINS, b'{"east":{"brokers":["b1:8080"]}}'), (group, b"g"), (group, b""), (DOMAINS, b"{}")
    )
    assert policies is not None
    assert (policies.domains, policies.groups) == ({}, {})


def test_a_broker_without_policies_answers_with_a_reason() -> None:
    name = f"{MIRROR}/clusters/c/namespaceIsolationPolicies.json"
    policies, problems = gathered((name, b'{"reason":"NamespaceIsolationPolicies for cluster c does not exist"}'))
    assert policies is not None
    assert (policies.isolation, policies.unknown, problems) == ((), ("groups", "domains"), 0)


@pytest.mark.parametrize("data", [b"[1]", b'"x"', b"7", b"{", b'{"east":[]}'])
def test_what_is_not_an_object_of_domains_is_set_aside(data: bytes) -> None:
    policies, problems = gathered((DOMAINS, data))
    assert policies is None or policies.domains == {}
    assert problems == 1


def test_a_snapshot_has_them(tmp_path: Path) -> None:
    files = {
        "clusters/c/failureDomains.json": '{"east":{"brokers":["b1:8080"]}}',
        "clusters/c/namespaceIsolationPolicies.json": json.dumps(
            {
                "p": {
                    "namespaces": ["t/.*"],
                    "primary": ["b1"],
                    "secondary": [],
                    "auto_failover_policy": {"policy_type": "min_available", "parameters": {"min_limit": "1"}},
                }
            }
        ),
        "namespaces/t/n/antiAffinity.json": "spread",
        "namespaces/t/n/bundles.json": '{"boundaries":["0x00000000","0xffffffff"],"numBundles":1}',
    }
    for name, text in files.items():
        path = tmp_path / "admin/v2" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    snapshot = read_answers(tmp_path)
    assert snapshot.problems == ()
    assert snapshot.ownership is not None
    assert snapshot.ownership.groups == {"t/n": "spread"}
    assert snapshot.ownership.domains == {"b1:8080": "east"}
    (policy,) = snapshot.ownership.isolation
    assert (policy.namespaces, policy.primary, policy.min_limit) == (("t/.*",), ("b1",), 1)
    assert snapshot.ownership.unknown == ()
