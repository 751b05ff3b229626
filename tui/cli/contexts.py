"""Running clusters as sessions, and those of the user's settings, for a dashboard that goes from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click
from msgspec.structs import replace

from engine.errors import InputError
from tui.cli.cluster import ClusterChoice, cluster_options
from tui.cli.config import configured, unknown_cluster
from tui.cli.output import keep_secret, kept_secret

if TYPE_CHECKING:
    from pathlib import Path

    from tui.kit.session import Opening, Session
    from tui.sources.cluster.redaction import Secret
    from tui.sources.cluster.source import Source

EVERY_S: Final = 10.0
WHOLE_EVERY_S: Final = 60.0
_MOST_BYTES: Final = 10_000


def opening_of(
    source: Source, every: float = EVERY_S, whole_every: float = WHOLE_EVERY_S, subscription: str | None = None
) -> Opening:
    """A running cluster as a session that is read again and again."""
    from tui.cli.pictures import Pictures
    from tui.kit.session import Opening
    from tui.sources.cluster.source import Feed, FirstReading

    pictures, first = Pictures(), FirstReading(source)

    def begun() -> Session:
        reading = first.read()
        session = pictures.session(reading, subscription)
        feed = Feed(source.follower(rounds=(every, whole_every)), every, pictures.newer, reading.cluster)
        return replace(session, feed=feed, stopped_at=reading.stopped_at)

    return Opening(source.access.origin, begun, first)


class NamedClusters:
    """Offers them, those opened last first, and opens one. Which ones were opened is kept for the next time."""

    @property
    def secret(self) -> Secret | None:
        """What must not be shown, of every cluster that was opened."""
        from tui.sources.cluster.redaction import Secret

        secret = kept_secret()
        return secret if isinstance(secret, Secret) else None

    def names(self) -> Sequence[str]:
        known = configured().clusters
        recent = [name for name in _recent() if name in known]
        return tuple(dict.fromkeys((*recent, *known)))

    def why_none(self) -> str:
        config = configured()
        if config.problems:
            return f"{config.path}: {config.problems[0]}"
        where = config.path or "the file that RINGSIDE_CONFIG names"
        return f"no cluster has a name; write [clusters.NAME] with its url into {where}"

    def opening(self, name: str) -> Opening:
        """Open one. Raises ``InputError`` for what its settings name and cannot be used."""
        source = source_of(name)
        _remember(name)
        return opening_of(source)


def source_of(name: str) -> Source:
    """A cluster of the settings, with their options. Raises ``InputError`` for what they name and cannot be used."""
    from tui.sources.cluster.redaction import Secret

    clusters, before = configured().clusters, kept_secret()
    if name not in clusters:
        raise unknown_cluster(f"@{name}", clusters)
    cluster = clusters[name]
    try:
        source: Source = _source.main([*cluster.options, cluster.url], standalone_mode=False)
    except click.ClickException as error:
        raise InputError(f"@{name}: {error.format_message()}") from None
    now = kept_secret()
    if isinstance(before, Secret):  # what is shown, and messages to come, may still be of the cluster before
        keep_secret(Secret(parts=(*before.parts, *(now.parts if isinstance(now, Secret) else ()))))
    return source


@click.command()
@click.argument("url")
@cluster_options()
def _source(*, url: str, cluster: ClusterChoice) -> Source:
    """Read the options of a cluster as every command that reads one does."""
    return cluster.source(url)


def _file() -> Path:
    from tui.sources.sessions import session_folder

    return session_folder().parent / "recent-clusters"


def _recent() -> list[str]:
    try:
        with _file().open(encoding="utf-8", errors="replace") as lines:
            return lines.read(_MOST_BYTES).splitlines()
    except (OSError, ValueError):
        return []


def _remember(name: str) -> None:
    """Put a name first. A disk that is full or read-only costs the order alone."""
    names = dict.fromkeys((name, *_recent()))
    with suppress(OSError, ValueError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text("".join(f"{each}\n" for each in names), encoding="utf-8")
