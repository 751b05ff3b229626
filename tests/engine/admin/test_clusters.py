"""Answers do not name their cluster: folders, kinds of answers and bundles decide it."""

from __future__ import annotations

from typing import Final

from engine.admin.clusters import Clusters, Kind, clusters_of, root_of, single_brokers

BUNDLES: Final = [frozenset({f"t/n/0x{at}"}) for at in range(4)]
LOADS: Final[tuple[Kind, ...]] = ("loads",)


def test_folders_of_single_brokers_are_put_together_by_their_bundles() -> None:
    files = [("b1", "eu/b1/x.json"), ("b2", "eu/b2/x.json"), ("b3", "us/x.json"), ("b4", "us/x.json")]
    assert single_brokers(files) == {"eu/b1/": "eu/b1/x.json", "eu/b2/": "eu/b2/x.json"}
    roots = dict.fromkeys(["eu/b1/", "eu/b2/", "us/"], LOADS)
    own = {"eu/b1/": BUNDLES[0], "eu/b2/": BUNDLES[1]}
    assert clusters_of(roots, own).by_folder == {"eu/": "eu", "us/": "us"}
    folders = clusters_of(roots, own, "folders")
    assert folders.by_folder == {"eu/b1/": "eu/b1", "eu/b2/": "eu/b2", "us/": "us"}
    assert clusters_of(roots, own, "one").by_folder == {"": ""}


def test_single_brokers_with_the_same_bundles_or_other_namespaces_stay_clusters_of_their_own() -> None:
    own = {"a/": BUNDLES[0] | BUNDLES[1], "b/": BUNDLES[1], "c/": frozenset({"u/n/0x0"}), "d/": frozenset[str]()}
    roots = dict.fromkeys(own, LOADS)
    assert clusters_of(roots, own).by_folder == {"a/": "a", "b/": "b", "c/": "c", "d/": "d"}
    system = {"a/": frozenset({"pulsar/system/0x0"}), "b/": frozenset({"pulsar/system/0x1"})}
    assert clusters_of(dict.fromkeys(system, LOADS), system).by_folder == {"a/": "a", "b/": "b"}


def test_a_cluster_of_some_folders_beside_others_is_named_by_all_of_its_own() -> None:
    own = {"a/": BUNDLES[0], "b/": BUNDLES[1], "c/": frozenset({"u/n/0x0"})}
    assert clusters_of(dict.fromkeys(own, LOADS), own).by_folder == {"a/": "a+b", "b/": "a+b", "c/": "c"}


def test_folders_with_the_same_kind_of_answer_are_clusters_and_others_are_parts_of_one() -> None:
    both: dict[str, tuple[Kind, ...]] = {"east/": ("statistics",), "west/": ("statistics", "settings")}
    assert clusters_of(both, {}).by_folder == {"east/": "east", "west/": "west"}
    by_kind: dict[str, tuple[Kind, ...]] = {"east/loads/": LOADS, "east/stats/": ("topics",), "west/": LOADS}
    clusters = clusters_of(by_kind, {})
    assert clusters.by_folder == {"east/": "east", "west/": "west"}
    assert clusters.of("east/config/x.json") == "east" and clusters.of("x.json") == ""
    assert clusters_of({"prod/": ("topics",)}, {}).by_folder == {"": "prod"}
    assert clusters_of({}, {}).by_folder == {"": ""}


def test_a_folder_with_answers_of_brokers_keeps_the_folders_below_it_that_have_none() -> None:
    topics: tuple[Kind, ...] = ("topics",)
    clusters = clusters_of({"": LOADS, "a/": topics, "b/": topics}, {})
    assert clusters.by_folder == {"": ""}
    clusters = clusters_of({"": LOADS, "a/": topics, "b/": ("loads",)}, {})
    assert [clusters.of(file) for file in ("x.json", "a/x.json", "b/x.json")] == ["", "", "b"]


def test_times_anywhere_in_a_path_do_not_make_a_cluster() -> None:
    names = [f"eu/2026-11-2{day}T09-48-07Z/b1/topics.json" for day in (1, 2)]
    assert {root_of(name) for name in names} == {"eu/b1/"}


def test_an_answer_for_all_brokers_holds_for_the_folders_below_it() -> None:
    clusters = Clusters({"eu/": "eu", "us/": "us"})
    assert clusters.concerned("eu/2026-11-22T09-48-07Z/admin/v2/brokers/configuration/runtime.json") == ("eu",)
    assert clusters.concerned("runtime.json") == ("eu", "us") and clusters.concerned("eu/b1/runtime.json") == ("eu",)
    assert Clusters({"": "", "us/": "us"}).concerned("runtime.json") == ("", "us")


def test_a_path_of_any_depth_has_a_cluster() -> None:
    deep = "d/" * 2000
    assert clusters_of({deep: LOADS, f"{deep}e/": LOADS}, {}).of(f"{deep}e/x.json") == f"{deep}e"


def test_a_folder_without_answers_of_whole_brokers_is_a_cluster_of_its_own() -> None:
    kinds: dict[str, tuple[Kind, ...]] = {
        "east/b1/": ("loads",), "east/b1/more/": ("topics",), "west/stats/": ("topics",), "west/": ("topics",),
        "rules/": ("settings",), "": ("topics",),
    }  # fmt: skip
    clusters = clusters_of(kinds, {}, "folders")
    assert clusters.by_folder == {"east/b1/": "east/b1", "west/": "west"}
    assert [clusters.of(f"{folder}x.json") for folder in kinds] == ["east/b1", "east/b1", "west", "west", "", ""]
    assert clusters_of({"": ("topics",)}, {}, "folders").by_folder == {"": ""}
