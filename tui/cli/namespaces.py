"""Which namespace and which bundle a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from engine.cluster.state import ClusterState


def namespace_of(named: str | None, state: ClusterState) -> str:
    """The named namespace, or the only one. Raises ``UsageError`` where several could be meant, or none is there."""
    if named is not None:
        return named
    if len(state.namespaces) != 1:
        names = ", ".join(sorted(state.namespaces)[:5]) or "none"
        raise click.UsageError(f"which namespace? name one with --namespace; there is {names}")
    return next(iter(state.namespaces))


def bundle_named(text: str, namespace: str | None, state: ClusterState) -> tuple[str, str]:
    """The namespace and the range of a bundle in force, given as a range, LARGEST or HOT, or NAMESPACE/RANGE.

    Raises ``InputError`` with the bundles there are, ``UsageError`` where several namespaces could be meant.
    """
    from engine.bundles.split import resolve_target
    from engine.cluster.bundles import topic_loads
    from engine.cluster.state import bundles_of
    from engine.errors import InputError, Rejection

    asked = text
    if namespace is None and text.count("/") == 2:
        namespace, _, text = text.rpartition("/")
    owner = namespace_of(namespace, state)
    if owner not in state.namespaces:
        raise InputError(f"{asked}: no namespace {owner!r} here; there is {', '.join(sorted(state.namespaces)[:8])}")
    bundles = bundles_of(state, owner)
    found = resolve_target(bundles, text, topic_loads(state, owner), "modular", None)
    if isinstance(found, Rejection):
        known = ", ".join(map(str, bundles.bundles[:8])) + (" ..." if len(bundles) > 8 else "")
        raise InputError(f"{asked}: {found.message}; its bundles: {known}, or LARGEST, or HOT")
    return owner, str(found.bundle)
