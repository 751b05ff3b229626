"""Which broker may own which bundle, as the metadata of a cluster says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from engine.balance.filters import IsolationPolicy

PolicyKind = Literal["isolation", "groups", "domains"]
POLICY_KINDS: Final[tuple[PolicyKind, ...]] = ("isolation", "groups", "domains")


class ClusterPolicies(Struct, frozen=True, dict=True):  # without slots: they leave no room for what is computed once
    """What the metadata says about who may own what.

    ``isolation`` in the order in which policies are tried; ``groups``: anti-affinity group by namespace; ``domains``:
    failure domain by broker. ``non_persistent``: bundles that hold non-persistent topics. ``unknown``: the kinds that
    nothing was read about, which are empty here and may not be there.
    """

    isolation: tuple[IsolationPolicy, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)
    non_persistent: Collection[str] = ()
    unknown: tuple[PolicyKind, ...] = ()

    def same_group(self, namespace: str) -> frozenset[str] | None:
        """All namespaces of a namespace's anti-affinity group, itself included; None for one without a group.

        >>> policies = ClusterPolicies(groups={"shop/orders": "payments", "shop/bills": "Payments"})
        >>> sorted(policies.same_group("shop/bills"))
        ['shop/bills', 'shop/orders']
        """
        return self._group_of.get(namespace)

    @cached_property
    def _group_of(self) -> Mapping[str, frozenset[str]]:
        """The namespaces of each namespace's group. Computed once: every bundle that is placed asks. O(namespaces)."""
        folded = {group: _folded(group) for group in set(self.groups.values())}
        members: dict[str, list[str]] = {}
        for name, group in self.groups.items():
            members.setdefault(folded[group], []).append(name)
        same = {group: frozenset(names) for group, names in members.items()}
        return {name: same[folded[group]] for name, group in self.groups.items()}


def _folded(text: str) -> str:
    """What ``String.equalsIgnoreCase`` compares: each character on its own, raised and lowered again.

    >>> _folded("STRASSE") == _folded("stra\u017fse"), _folded("STRASSE") == _folded("straße")
    (True, False)
    """
    return "".join(_lowered(_raised(char)) for char in text)


def _raised(char: str) -> str:
    upper = char.upper()
    return upper if len(upper) == 1 else char  # one that becomes two is left alone


def _lowered(char: str) -> str:
    return char.lower()[0]  # only of a dotted capital I there are two, and the first one is it
