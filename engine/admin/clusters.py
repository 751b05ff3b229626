"""Group the loads of brokers by cluster, from their folders and bundles: no load report and no metrics name a cluster.

The dumps of a cluster are in one folder, by moment. If the answers of each broker were saved in a folder of its own,
sibling folders are one cluster when their brokers share namespaces but no bundle: within a cluster a bundle has one
owner, whereas another cluster with the same namespaces has the same bundles again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from engine.admin.files import moment_ms
from engine.text import natural_key

Grouping = Literal["by-bundles", "folders", "one"]
GROUPINGS: Final[tuple[Grouping, ...]] = ("by-bundles", "folders", "one")
"""How folders are grouped: by the rule above, one cluster per folder, or all in one cluster."""
_SYSTEM: Final = ("pulsar/", "sla-monitor/")
_MIRRORED: Final = re.compile(r"(?:^|/)(?:brokers/[^/]+/)?(?:admin|lookup)/v2/")
"""Answers that one broker was asked for are below its address, in the same dump."""


def root_of(name: str) -> str:
    """The folder of the dump that a file belongs to, ending in a slash: its path without time and request.

    >>> root_of("eu/2026-11-22T09-48-07Z/admin/v2/brokers/version.json"), root_of("eu/b/topics.json"), root_of("x.json")
    ('eu/', 'eu/b/', '')
    >>> root_of("eu/2026-11-22T09-48-07Z/brokers/b-1:8080/admin/v2/broker-stats/metrics.json")
    'eu/'
    """
    path = _MIRRORED.split(name)[0] if _MIRRORED.search(name) else name.rpartition("/")[0]
    parts = [part for part in path.split("/") if part]
    if parts and moment_ms(parts[-1]) is not None:
        parts.pop()
    return "".join(f"{part}/" for part in parts)


def single_brokers(reports: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Folder -> its last file, for folders with the loads of one broker that have sibling folders of that kind.

    ``reports``: broker and file, of a load report or of metrics in place of one. Only for these folders do bundles
    decide the cluster.
    """
    brokers: dict[str, set[str]] = {}
    last: dict[str, str] = {}
    for broker, file in reports:
        root = root_of(file)
        brokers.setdefault(root, set()).add(broker)
        last[root] = max(last.get(root, file), file, key=natural_key)
    alone = [root for root, names in brokers.items() if root and len(names) == 1]
    parents = [_parent(root) for root in alone]
    return {root: last[root] for root, parent in zip(alone, parents, strict=True) if parents.count(parent) > 1}


def clusters_of(
    roots: Iterable[str], bundles: Mapping[str, frozenset[str]], grouping: Grouping = "by-bundles"
) -> dict[str, str]:
    """The cluster of each folder (``root_of``) with loads of brokers; a cluster's name has no slash at its end.

    ``bundles``: for each folder in :func:`single_brokers`, the bundles of its broker. O(pairs of sibling folders).

    >>> bundles = {"eu/b1/": frozenset({"t/n/0x0_0x8"}), "eu/b2/": frozenset({"t/n/0x8_0xf"})}
    >>> clusters_of(bundles, bundles), clusters_of(bundles, dict.fromkeys(bundles, bundles["eu/b1/"]))
    ({'eu/b1/': 'eu', 'eu/b2/': 'eu'}, {'eu/b1/': 'eu/b1', 'eu/b2/': 'eu/b2'})
    """
    known = sorted(set(roots), key=natural_key)
    if grouping == "one":
        return dict.fromkeys(known, _common_folder(known))
    together = {root: [root] for root in known}
    if grouping == "by-bundles":
        own = {root: frozenset(filter(_is_users, names)) for root, names in bundles.items()}
        namespaces = {root: {name.rpartition("/")[0] for name in names} for root, names in own.items()}
        candidates = [root for root in known if root in own]
        for at, root in enumerate(candidates):
            for other in candidates[:at]:
                if (
                    together[root] is not together[other]
                    and _parent(root) == _parent(other)
                    and namespaces[root] & namespaces[other]
                    and own[root].isdisjoint(own[other])
                ):
                    joined = [*together[other], *together[root]]
                    together.update(dict.fromkeys(joined, joined))
    return {root: root.rstrip("/") if len(same) == 1 else _name_of(same, known) for root, same in together.items()}


def _name_of(same: list[str], known: list[str]) -> str:
    """The name of a cluster: the folder that holds all its folders, or their names if it holds others as well."""
    parent = _parent(same[0])
    others = [root for root in known if root not in same and root.startswith(parent)]
    return parent.rstrip("/") if not others else "+".join(sorted((root.rstrip("/") for root in same), key=natural_key))


def related_to(cluster: Iterable[str], file: str) -> bool:
    """Whether an answer about no single broker applies to a cluster: it is in, above or below one of its folders.

    >>> [related_to(["eu/b1/", "eu/b2/"], file) for file in ("eu/runtime.json", "eu/b2/runtime.json", "us/x.json")]
    [True, True, False]
    """
    root = root_of(file)
    return any(own.startswith(root) or (own and root.startswith(own)) for own in cluster)


def _is_users(bundle: str) -> bool:
    # Every cluster has the system namespaces, and few of their bundles are loaded.
    return not bundle.startswith(_SYSTEM)


def _parent(root: str) -> str:
    above = root.rstrip("/").rpartition("/")[0]
    return f"{above}/" if above else ""


def _common_folder(roots: list[str]) -> str:
    common = roots[0] if roots else ""
    for root in roots:
        while not root.startswith(common):
            common = _parent(common)
    return common.rstrip("/")
