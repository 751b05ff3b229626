"""What changes in another release: rules, defaults of settings, and changes that no rule here expresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from msgspec.structs import fields

from engine.config import CLASSIC_KEY_SHARED, FLAG, ReleaseBehaviour
from engine.load_rules import LoadRules
from engine.releases import Release

BUNDLES: Final = "defaultNumberOfNamespaceBundles"
SYSTEM_BUNDLES: Final = "defaultNumberOfSystemNamespaceBundles"

ChangeKind = Literal["rule", "setting", "mended", "answers", "platform"]


@dataclass(frozen=True, slots=True)
class Changed:
    """A rule by its name in ``ReleaseBehaviour``, a setting, or another change by its name in ``CHANGES``.

    A setting is "" in a release that does not have it. ``keep`` is a line of broker.conf that keeps the old way,
    ``source`` names pull requests; both may be "".
    """

    kind: ChangeKind
    name: str
    before: str
    after: str
    keep: str = ""
    source: str = ""


_KEEP: Final = {
    ("knows_failover_consistent_hashing", "true"): (FLAG, "false"),
    ("key_shared_order", "draining-hashes"): (CLASSIC_KEY_SHARED, "true"),
}
"""(Rule, new form) -> the setting that keeps the old form; other rules have only the new form."""
_OLD_WAY: Final = {
    SYSTEM_BUNDLES: "4",
    "scalableTopicsEnabled": "false",
    "scalableTopicAutoScaleEnabled": "false",
    "managedLedgerBatchReadEnabled": "false",
}
"""What a setting that came is to be, so that a broker does as those without it did."""
LOAD: Final = "load."
"""How the rules of the load managers begin: they are a value of their own in ``ReleaseBehaviour``."""
_NO_RULES: Final = frozenset({"label", "load", "defaults"})


def rule_changes(before: ReleaseBehaviour, after: ReleaseBehaviour) -> tuple[Changed, ...]:
    """The rules that differ between two releases, by their names in ``ReleaseBehaviour``.

    >>> from engine.config import behaviour_of
    >>> [change.name for change in rule_changes(behaviour_of("4.0.6"), behaviour_of("4.0.7"))]
    ['sticky_gaps', 'draining_takes_back', 'load.bundles_compared']
    """
    old, new = _forms(before), _forms(after)
    changes = []
    for name in old:
        if old[name] != new[name]:
            setting, value = _KEEP.get((name, _text(new[name])), ("", ""))
            keep = f"{setting}={value}" if setting and not after.defaults.lacks(setting) else ""
            changes.append(Changed("rule", name, _text(old[name]), _text(new[name]), keep))
    return tuple(changes)


def _forms(behaviour: ReleaseBehaviour) -> dict[str, object]:
    """The form of every rule by its name, those of the load managers behind ``load.``."""
    names = [field.name for field in fields(ReleaseBehaviour) if field.name not in _NO_RULES]
    forms = {name: getattr(behaviour, name) for name in names}
    return forms | {f"{LOAD}{field.name}": getattr(behaviour.load, field.name) for field in fields(LoadRules)}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def defaults_changed(before: ReleaseBehaviour, after: ReleaseBehaviour) -> tuple[Changed, ...]:
    """The settings whose defaults differ between two releases, and those that only one of the two has.

    >>> from engine.config import behaviour_of
    >>> [change.name for change in defaults_changed(behaviour_of("4.2.4"), behaviour_of("4.2.5"))][0]
    'dispatcherDispatchMessagesInSubscriptionThread'
    """
    return tuple(
        Changed("setting", name, old.text, new.text, _kept(name, old.text, new.text))
        for (name, old), (_, new) in zip(before.defaults.entries, after.defaults.entries, strict=True)
        if old.value != new.value and name != FLAG  # a rule: knows_failover_consistent_hashing
    )


def _kept(name: str, before: str, after: str) -> str:
    """The line that keeps the old way; a release without the setting cannot be told."""
    value = before or _OLD_WAY.get(name, "")
    return f"{name}={value}" if value and after else ""


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """A change that is neither a rule nor a default here; ``before`` and ``after`` say what there is on either side.

    ``firsts``: the first release of each line that has it. ``source``: its pull request or proposal.
    """

    name: str
    kind: ChangeKind
    firsts: tuple[Release, ...]
    source: str
    before: str
    after: str
    keep: str = ""


_M1: Final = Release(5, 0, 0, milestone=1)
_5_0: Final = Release(5, 0, 0)
_SUMMER_2026: Final = (Release(4, 0, 13), Release(4, 2, 4), Release(5, 0, 0, milestone=2))
_AUTUMN_2026: Final = (Release(4, 0, 14), Release(4, 2, 5), Release(5, 0, 0, milestone=2))


def _mended(name: str, source: str, firsts: tuple[Release, ...]) -> ReleaseChange:
    return ReleaseChange(name, "mended", firsts, source, "can happen", "mended")


# After the release notes of 4.0.13, 4.0.14, 4.2.4, 4.2.5, 5.0.0-M1, 5.0.0-M2 and 5.0.0, and Pulsar's guide for upgrades
# to 5.0.x. What answers have and lack was compared on brokers of 4.2.4 and 5.0.1.
CHANGES: Final[tuple[ReleaseChange, ...]] = (
    _mended("failover_stall_after_handover", "#26174", _SUMMER_2026),
    _mended("key_shared_stall_at_look_ahead", "#26236", _SUMMER_2026),
    _mended("key_shared_stall_out_of_order", "#26268", _AUTUMN_2026),
    _mended("shared_permits_lost", "#26289", _AUTUMN_2026),
    _mended("unacked_counted_twice", "#26422", _AUTUMN_2026),
    _mended("key_shared_last_ack_race", "#26471", _AUTUMN_2026),
    _mended("key_shared_slow_socket", "#26635", (_5_0,)),
    _mended("shared_channel_not_writable", "#26630", (_5_0,)),
    _mended("shedding_by_former_leader", "#26253", _AUTUMN_2026),
    _mended("extensible_ownership_races", "#26520, #26363", _AUTUMN_2026),
    _mended("ownership_cache_races", "#26197", _AUTUMN_2026),
    ReleaseChange("key_hash_range_texts", "answers", (_5_0,), "#26687", "keyHashRanges", "keyHashRangeArrays only"),
    ReleaseChange("read_positions_of_joins", "answers", (_5_0,), "#26687", "in the answers", "gone"),
    ReleaseChange("backlog_age", "answers", (_5_0,), "", "absent", "in the answers"),
    ReleaseChange("broker_ids", "answers", (_5_0,), "", "absent", "in the answers"),
    ReleaseChange("extensible_bundle_metrics", "answers", _AUTUMN_2026, "#26192", "absent", "in the answers"),
    ReleaseChange("topic_metrics_dynamic", "answers", _AUTUMN_2026, "#21006", "by restart", "while the broker runs"),
    ReleaseChange(
        "unknown_load_manager", "platform", (_M1,), "#26031", "falls back to SimpleLoadManagerImpl", "broker stops"
    ),
    ReleaseChange(
        "shadow_topics", "platform", (_5_0,), "#26739", "always", "if enableShadowTopics", "enableShadowTopics=true"
    ),
    ReleaseChange("scalable_topics", "platform", (_5_0,), "PIP-460", "no such topics", "topic:// names, on by default"),
    ReleaseChange("segments_as_topics", "platform", (_5_0,), "PIP-460", "no such topics", "segment:// names"),
    ReleaseChange("scalable_migration", "platform", (_5_0,), "PIP-460", "not possible", "possible, and final"),
    ReleaseChange("server_java", "platform", (_M1,), "", "Java 17", "Java 21 or later"),
)


def other_changes(before: Release, after: Release) -> tuple[Changed, ...]:
    """The other changes between two releases, which an older release takes back.

    >>> [change.name for change in other_changes(Release(4, 2, 4), Release(4, 2, 5))][:2]
    ['key_shared_stall_out_of_order', 'shared_permits_lost']
    """
    rows = []
    for change in CHANGES:
        had, has = before.has(*change.firsts), after.has(*change.firsts)
        if had != has:
            sides = (change.before, change.after) if has else (change.after, change.before)
            rows.append(Changed(change.kind, change.name, *sides, change.keep if has else "", change.source))
    return tuple(rows)
