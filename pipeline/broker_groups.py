"""Which answers come from the same group of brokers, and which release and flag those brokers reported.

Answers of one cluster are saved in one folder, with its load reports and its configuration somewhere in it. So a file
belongs to the nearest folder above it in which brokers reported a release or the flag; where only the top folder has
such reports, every folder right in it is a group of its own, for which all these reports are candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from engine.admin.clusters import Grouping, clusters_of, root_of, single_brokers
from engine.admin.measured_loads import OWNED, dump_and_broker
from engine.admin.namespaces import decode_owned
from engine.admin.requests import request_of_path
from engine.config import CURRENT, DEFAULTS, FLAG, BrokerSettings, ReleaseBehaviour, behaviour_of, default_settings
from engine.errors import InputError, Rejection
from pipeline.schemas import BROKERS, BUNDLE_REPORTS, LOAD_ANSWERS, SETTINGS
from pipeline.storage import Place
from pipeline.tables import rows_of

_T = TypeVar("_T")


@dataclass(frozen=True)
class BrokerGroups:
    """Folders with reports of their own: the releases and flags reported in and below each; "" is the top folder."""

    releases: dict[str, frozenset[str]]
    flags: dict[str, frozenset[bool]]

    @cached_property
    def folders(self) -> set[str]:
        """Every folder with reports except the top one."""
        return (self.releases.keys() | self.flags.keys()) - {""}

    def group_of(self, file: str) -> str:
        """The group of a file by its path relative to the folder that was read. O(depth).

        >>> groups = BrokerGroups({"": frozenset({"4.2.4"}), "a": frozenset({"4.2.4"})}, {})
        >>> [groups.group_of(file) for file in ("a/stats/x.json", "b/stats/x.json", "x.json")]
        ['a', 'b', '']
        """
        above = list(_folders_of(file))
        own = next((folder for folder in above if folder in self.folders), None)
        if own is not None:
            return own
        return above[-2] if len(above) > 1 else ""

    def releases_of(self, group: str) -> frozenset[str]:
        """The releases that brokers of a group reported, else those reported in the nearest folder above it."""
        return _nearest(self.releases, group)

    def flags_of(self, group: str) -> frozenset[bool]:
        """The values of the flag that brokers of a group reported, as for releases."""
        return _nearest(self.flags, group)


def broker_groups(source: Place) -> BrokerGroups:
    """What brokers reported, from the tables ``brokers`` and ``settings`` of an import under ``source``. O(reports)."""
    versions = rows_of(source / BROKERS.name, "version", "file")
    settings = rows_of(source / SETTINGS.name, "value", "file", filters=[("name", "=", FLAG)])
    return BrokerGroups(
        _by_folder((file, version) for version, file in versions if version),
        _by_folder((file, value == "true") for value, file in settings if value in ("true", "false")),
    )


def reported_release(source: Place) -> ReleaseBehaviour:
    """The release that all brokers run, else the newest that is known."""
    versions = {version for (version,) in rows_of(source / BROKERS.name, "version")}
    known = [behaviour_of(version) for version in sorted(versions)]
    only = known[0] if len(set(map(repr, known))) == 1 else CURRENT
    return CURRENT if isinstance(only, Rejection) else only


def settings_of(source: Place, given: Mapping[str, str], behaviour: ReleaseBehaviour) -> BrokerSettings:
    """The settings that brokers reported, with those given on top; the others have the defaults of the release.

    Raises ``InputError`` for one that cannot be set.
    """
    settings = default_settings(behaviour)
    for name, value in dict(rows_of(source / SETTINGS.name, "name", "value")).items():
        changed = settings.with_setting(name, value) if name in DEFAULTS else settings
        settings = settings if isinstance(changed, Rejection) else changed
    for name, value in given.items():
        changed = settings.with_setting(name, value)
        if isinstance(changed, Rejection):
            raise InputError(str(changed))
        settings = changed
    return settings


def clusters_of_loads(tables: Place, grouping: Grouping = "by-bundles") -> dict[str, str]:
    """The cluster of every folder with load reports, or metrics in place of them, in an import.

    Reads bundles only where they decide it: those of reports, and those that a broker with metrics owns.
    """
    answers = [(str(broker), str(file)) for broker, file in rows_of(tables / LOAD_ANSWERS.name, "broker", "file")]
    reports = [(broker, file) for broker, file in answers if broker]
    deciding = {file: root for root, file in single_brokers(reports).items()} if grouping == "by-bundles" else {}
    bundles: dict[str, set[str]] = {root: set() for root in deciding.values()}
    chosen = [("file", "in", list(deciding))]
    for bundle, file in rows_of(tables / BUNDLE_REPORTS.name, "bundle", "file", filters=chosen) if deciding else ():
        bundles[deciding[file]].add(bundle)
    of_owners = _files_of_owners(answers, deciding)
    chosen = [("file", "in", list(of_owners))]
    for body, file in rows_of(tables / LOAD_ANSWERS.name, "body", "file", filters=chosen) if of_owners else ():
        bundles[of_owners[file]].update(decode_owned(body, file).good)
    roots = {root_of(file) for _, file in reports}
    return clusters_of(roots, {root: frozenset(own) for root, own in bundles.items()}, grouping)


def _files_of_owners(answers: Iterable[tuple[str, str]], deciding: Mapping[str, str]) -> dict[str, str]:
    """File -> folder, for lists of the bundles that a broker owns, each in the dump of the metrics that decide."""
    folders = {(dump_and_broker(file)[0], broker): deciding[file] for broker, file in answers if file in deciding}
    files: dict[str, str] = {}
    for broker, file in answers:
        request = request_of_path(file) if not broker else None
        if request is not None and request.what == OWNED:
            folder = folders.get((dump_and_broker(file)[0], request.broker))
            if folder is not None:
                files[file] = folder
    return files


def _by_folder(reported: Iterable[tuple[str, _T]]) -> dict[str, frozenset[_T]]:
    """What files report, by the folders above them."""
    values: dict[str, set[_T]] = {}
    for file, value in reported:
        for folder in _folders_of(file):
            values.setdefault(folder, set()).add(value)
    return {folder: frozenset(below) for folder, below in values.items()}


def _nearest(by_folder: dict[str, frozenset[_T]], group: str) -> frozenset[_T]:
    return next((by_folder[folder] for folder in _folders_of(f"{group}/") if folder in by_folder), frozenset())


def _folders_of(file: str) -> Iterator[str]:
    """Every folder above a file, the nearest first and "" last.

    >>> list(_folders_of("a/b/x.json"))
    ['a/b', 'a', '']
    """
    folder = file.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""
