"""Group answers by cluster, from their folders and bundles: no answer names its cluster.

The dumps of a cluster are in one folder, by moment, maybe in folders by kind of answer. Sibling folders that have the
same kind of answer are recordings of different clusters, with one exception: if the answers of each broker were saved
in a folder of its own, sibling folders are one cluster when their brokers share namespaces but no bundle. Within a
cluster a bundle has one owner, whereas another cluster with the same namespaces has the same bundles again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

from engine.text import moment_ms, natural_key

Grouping = Literal["by-bundles", "folders", "one"]
GROUPINGS: Final[tuple[Grouping, ...]] = ("by-bundles", "folders", "one")
"""How folders are grouped: by the rule above, one cluster per folder with answers of whole brokers, or all in one."""
Kind = Literal["loads", "statistics", "topics", "settings"]
"""What tells recordings apart: load reports or metrics, the topics of a broker, statistics of topics, settings."""
_OF_BROKERS: Final[frozenset[Kind]] = frozenset({"loads", "statistics"})
_SYSTEM: Final = ("pulsar/", "sla-monitor/")
_MIRRORED: Final = re.compile(r"(?:^|/)(?:brokers/[^/]+/)?(?:admin|lookup)/v2/")
"""Answers that one broker was asked for are below its address, in the same dump."""


@dataclass(frozen=True)
class Clusters:
    """Folder (``root_of``) -> cluster: a file is of the cluster of the nearest of these folders above it."""

    by_folder: Mapping[str, str]

    def of(self, file: str) -> str:
        """The cluster of a file by its path; "" in a folder above those of several clusters. O(depth).

        >>> Clusters({"eu/": "eu", "us/": "us"}).of("eu/stats/x.json")
        'eu'
        """
        known = (self.by_folder[folder] for folder in _upwards(root_of(file)) if folder in self.by_folder)
        return next(known, "")

    def concerned(self, file: str) -> tuple[str, ...]:
        """The clusters for which an answer about no single broker holds: its own and those below its folder.

        >>> Clusters({"eu/": "eu", "us/": "us"}).concerned("runtime-configuration.json")
        ('eu', 'us')
        """
        root = root_of(file)
        own = {self.of(file)} if any(folder in self.by_folder for folder in _upwards(root)) else set()
        below = {cluster for folder, cluster in self.by_folder.items() if folder.startswith(root)}
        return tuple(sorted(own | below, key=natural_key)) or ("",)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(set(self.by_folder.values()), key=natural_key))


def root_of(name: str) -> str:
    """The folder of the dump that a file belongs to, ending in a slash: its path without times and request.

    >>> root_of("eu/2026-11-22T09-48-07Z/admin/v2/brokers/version.json"), root_of("eu/b/topics.json"), root_of("x.json")
    ('eu/', 'eu/b/', '')
    >>> root_of("eu/2026-11-22T09-48-07Z/brokers/b-1:8080/admin/v2/broker-stats/metrics.json")
    'eu/'
    """
    path = _MIRRORED.split(name)[0] if _MIRRORED.search(name) else name.rpartition("/")[0]
    return "".join(f"{part}/" for part in path.split("/") if part and moment_ms(part) is None)


def single_brokers(answers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Folder -> its last file, for folders with the answers of one broker that have sibling folders of that kind.

    ``answers``: broker and file, of answers of whole brokers. Only for these folders do bundles decide the cluster.
    """
    brokers: dict[str, set[str]] = {}
    last: dict[str, str] = {}
    for broker, file in answers:
        root = root_of(file)
        brokers.setdefault(root, set()).add(broker)
        last[root] = max(last.get(root, file), file, key=natural_key)
    alone = [root for root, names in brokers.items() if root and len(names) == 1]
    parents = [_parent(root) for root in alone]
    return {root: last[root] for root, parent in zip(alone, parents, strict=True) if parents.count(parent) > 1}


def clusters_of(
    kinds: Mapping[str, Collection[Kind]], bundles: Mapping[str, frozenset[str]], grouping: Grouping = "by-bundles"
) -> Clusters:
    """The clusters of a folder, from the ``kinds`` of answers in each folder (``root_of``) below it.

    ``bundles``: for each folder in :func:`single_brokers`, the bundles of its broker. O(pairs of sibling folders).

    >>> loads, low, high = ("loads",), frozenset({"t/n/0x0_0x8"}), frozenset({"t/n/0x8_0xf"})
    >>> clusters_of({"eu/b1/": loads, "eu/b2/": loads}, {"eu/b1/": low, "eu/b2/": high}).by_folder
    {'': 'eu'}
    >>> clusters_of({"eu/b1/": loads, "eu/b2/": loads}, {"eu/b1/": low, "eu/b2/": low}).by_folder
    {'eu/b1/': 'eu/b1', 'eu/b2/': 'eu/b2'}
    >>> clusters_of({"load-reports/": loads, "stats/": ("statistics",)}, {}).by_folder
    {'': ''}
    """
    known = {root: frozenset(own) for root, own in sorted(kinds.items(), key=lambda item: natural_key(item[0]))}
    if grouping == "one":
        return Clusters({"": ""})
    if grouping == "folders":
        return Clusters(_by_folder(known) or {"": ""})
    return Clusters(_Tree(known, bundles).whole())


def _by_folder(kinds: Mapping[str, frozenset[Kind]]) -> dict[str, str]:
    """Each folder with answers of whole brokers, and of the others with topics each that has none of those below it."""
    whole = [root for root, own in kinds.items() if own & _OF_BROKERS]
    others = [root for root, own in kinds.items() if "topics" in own and not {*_upwards(root)} & {*whole}]
    above = {"", *(folder for root in whole for folder in _upwards(root))}
    apart = ([folder for folder in _upwards(root) if folder not in above] for root in others)
    return {root: root.rstrip("/") for root in (*whole, *(folders[-1] for folders in apart if folders))}


@dataclass(frozen=True)
class _Below:
    """What is in a folder: the ``kinds`` of its answers, and its ``clusters``, which are ``several`` or one."""

    kinds: frozenset[Kind]
    clusters: Mapping[str, str]
    several: bool = False


class _Tree:
    """The folders with answers and those above them."""

    def __init__(self, kinds: Mapping[str, frozenset[Kind]], bundles: Mapping[str, frozenset[str]]) -> None:
        self._kinds, self._groups = kinds, _joined(bundles)
        self._children: dict[str, dict[str, None]] = defaultdict(dict, {"": {}})
        for root in kinds:
            for folder in _upwards(root):
                if folder:
                    self._children[_parent(folder)][folder] = None

    def whole(self) -> Mapping[str, str]:
        """Folder -> cluster for the whole tree."""
        found: dict[str, _Below] = {}
        folders = {"", *self._children, *(child for children in self._children.values() for child in children)}
        for folder in sorted(folders, key=lambda folder: folder.count("/"), reverse=True):
            found[folder] = self._below(folder, found)
        return found[""].clusters

    def _below(self, folder: str, found: Mapping[str, _Below]) -> _Below:
        all_kinds = self._kinds.get(folder, frozenset())
        own = all_kinds & _OF_BROKERS
        parts: dict[tuple[str, ...], list[_Below]] = defaultdict(list)
        for child in self._children.get(folder, ()):
            below = found[child]
            # Where this folder has the answers of brokers, folders without any have more about the same brokers.
            if below.several or below.kinds & _OF_BROKERS or not own:
                parts[self._groups.get(child, (child,))].append(below)
        recordings = [own, *(frozenset[Kind]().union(*(each.kinds for each in part)) for part in parts.values())]
        kinds = all_kinds.union(*recordings)
        several = any(each.several for part in parts.values() for each in part)
        if not several and not any(first & second for first, second in combinations(recordings, 2)):
            only = [child for group in parts for child in group if len(parts) == 1 and len(group) == 1]
            # So that another cluster beside it does not change its name.
            name = only[0] if only and not folder and not all_kinds else folder
            return _Below(kinds, {folder: name.rstrip("/")})
        clusters = {folder: folder.rstrip("/")} if own else {}
        for group, part in parts.items():
            joined = "+".join(member.rstrip("/") for member in group)
            clusters |= part[0].clusters if len(group) == 1 else dict.fromkeys(group, joined)
        return _Below(kinds, clusters, several=True)


def _joined(bundles: Mapping[str, frozenset[str]]) -> dict[str, tuple[str, ...]]:
    """Folder -> all folders of its cluster, of the folders with the answers of one broker."""
    own = {root: frozenset(filter(_is_users, names)) for root, names in bundles.items()}
    namespaces = {root: {name.rpartition("/")[0] for name in names} for root, names in own.items()}
    together = {root: [root] for root in sorted(own, key=natural_key)}
    for first, second in combinations(together, 2):
        if (
            together[first] is not together[second]
            and _parent(first) == _parent(second)
            and namespaces[first] & namespaces[second]
            and own[first].isdisjoint(own[second])
        ):
            joined = [*together[first], *together[second]]
            together.update(dict.fromkeys(joined, joined))
    return {root: tuple(sorted(same, key=natural_key)) for root, same in together.items()}


def _is_users(bundle: str) -> bool:
    # Every cluster has the system namespaces, and few of their bundles are loaded.
    return not bundle.startswith(_SYSTEM)


def _upwards(folder: str) -> Iterator[str]:
    """A folder and those above it, the top one ("") last."""
    yield folder
    while folder:
        folder = _parent(folder)
        yield folder


def _parent(root: str) -> str:
    above = root.rstrip("/").rpartition("/")[0]
    return f"{above}/" if above else ""
