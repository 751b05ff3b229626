"""Which broker may own which bundle, as the metadata of a cluster says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from engine.balance.filters import IsolationPolicy

PolicyKind = Literal["isolation", "groups", "domains"]
POLICY_KINDS: Final[tuple[PolicyKind, ...]] = ("isolation", "groups", "domains")


@dataclass(frozen=True, slots=True)
class ClusterPolicies:
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
        group = self.groups.get(namespace)
        if group is None:
            return None
        folded = _folded(group)
        return frozenset(name for name, other in self.groups.items() if _folded(other) == folded)


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
