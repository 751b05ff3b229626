"""Load reports do not name their cluster: folders and bundles decide it."""

from __future__ import annotations

from typing import Final

from engine.admin.clusters import clusters_of, related_to, single_brokers

BUNDLES: Final = [frozenset({f"t/n/0x{at}"}) for at in range(4)]


def test_folders_of_single_brokers_are_put_together_by_their_bundles() -> None:
    files = [("b1", "eu/b1/x.json"), ("b2", "eu/b2/x.json"), ("b3", "us/x.json"), ("b4", "us/x.json")]
    assert single_brokers(files) == {"eu/b1/": "eu/b1/x.json", "eu/b2/": "eu/b2/x.json"}
    roots = ["eu/b1/", "eu/b2/", "us/"]
    own = {"eu/b1/": BUNDLES[0], "eu/b2/": BUNDLES[1]}
    assert clusters_of(roots, own) == {"eu/b1/": "eu", "eu/b2/": "eu", "us/": "us"}
    assert clusters_of(roots, own, "folders") == {"eu/b1/": "eu/b1", "eu/b2/": "eu/b2", "us/": "us"}
    assert set(clusters_of(roots, own, "one").values()) == {""}


def test_single_brokers_with_the_same_bundles_or_other_namespaces_stay_clusters_of_their_own() -> None:
    roots = ["a/", "b/", "c/", "d/"]
    own = {"a/": BUNDLES[0] | BUNDLES[1], "b/": BUNDLES[1], "c/": frozenset({"u/n/0x0"}), "d/": frozenset[str]()}
    assert clusters_of(roots, own) == {"a/": "a", "b/": "b", "c/": "c", "d/": "d"}
    system = {"a/": frozenset({"pulsar/system/0x0"}), "b/": frozenset({"pulsar/system/0x1"})}
    assert clusters_of(["a/", "b/"], system) == {"a/": "a", "b/": "b"}


def test_a_cluster_of_some_folders_beside_others_is_named_by_all_of_its_own() -> None:
    own = {"a/": BUNDLES[0], "b/": BUNDLES[1], "c/": frozenset({"u/n/0x0"})}
    assert clusters_of(own, own) == {"a/": "a+b", "b/": "a+b", "c/": "c"}


def test_an_answer_for_all_brokers_holds_for_the_folders_below_it() -> None:
    assert related_to(["eu/b1/"], "eu/2026-11-22T09-48-07Z/admin/v2/brokers/configuration/runtime.json")
    assert related_to(["eu/"], "eu/b1/runtime.json") and related_to([""], "runtime.json")
    assert not related_to(["eu/"], "us/runtime.json")
