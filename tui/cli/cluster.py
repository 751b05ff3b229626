"""A running cluster on the command line: read once, with progress, and what could not be read said on stderr."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from engine.errors import RingsideError
from tui.cli.options import Size, collected
from tui.cli.output import say
from tui.kit.secrecy import keep_secret

if TYPE_CHECKING:
    from tui.sources.cluster.reading import ClusterReading, Progress
    from tui.sources.cluster.source import Source


SETTINGS_ASSUMED: Final = (
    "the brokers' settings cannot be read; Pulsar's defaults are assumed where --set NAME=VALUE gives none"
)
_EVERY_S: Final = 0.2
_SHOWN: Final = 10
_CLEAR_LINE: Final = "\r\x1b[K"


class ProgressLine:
    """A line in the terminal that says how far a reading is; silent where stderr is not a terminal."""

    def __init__(self) -> None:
        self._shows = sys.stderr is not None and sys.stderr.isatty()
        self._next_s = 0.0
        self._written = False

    def __call__(self, progress: Progress) -> None:
        """Show it, a few times a second."""
        if not self._shows or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _EVERY_S
        sys.stderr.write(f"{_CLEAR_LINE}reading: {progress}")
        sys.stderr.flush()
        self._written = True

    def clear(self) -> None:
        """Clear the line for what is printed next."""
        if self._written:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()
            self._written = False


def read_once(source: Source) -> ClusterReading:
    """Read a cluster and say what is missing. Raises ``ClusterOutOfReachError``."""
    line = ProgressLine()
    try:
        reading = source.read(line)
    finally:
        line.clear()
    say_gaps(reading)
    return reading


def require_same_cluster(first: ClusterReading, reading: ClusterReading) -> None:
    """Raise ``RingsideError`` where another cluster answers at the address than at the first reading."""
    if reading.cluster and first.cluster and reading.cluster != first.cluster:
        raise RingsideError(f"{reading.origin} is cluster {reading.cluster!r} now, and was {first.cluster!r}")


def say_gaps(reading: ClusterReading) -> None:
    """What a reading lacks: requests without an answer by their kind, topics that were not requested, settings."""
    from tui.sources.cluster.outcomes import summed_up

    sentences = summed_up(reading.gaps)
    for sentence in sentences[:_SHOWN]:
        say(sentence)
    if len(sentences) > _SHOWN:
        say(f"and {len(sentences) - _SHOWN} more kinds of gaps")
    if reading.not_loaded:
        because = "no broker has them loaded" if reading.knows_loaded else "which topics are loaded cannot be read"
        say(
            f"{reading.not_loaded:,} topics are listed without statistics: {because}, and asking would load them"
            " (--ask-unloaded asks)"
        )
    if "settings" in reading.assumed:
        say(SETTINGS_ASSUMED)


_Command = TypeVar("_Command", bound=Callable[..., Any])
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(ms|s|m|h|d|)", re.IGNORECASE)
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Duration(click.ParamType[float]):
    """A time such as ``30s``, ``10m``, ``2h`` or ``500ms``, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds. Fails for any other text, and for 0."""
        if isinstance(value, int | float):
            return float(value)
        match = _DURATION.fullmatch(str(value).strip())
        seconds = float(match[1]) * _SECONDS[match[2].lower()] if match is not None else 0.0
        if seconds <= 0:
            self.fail(f"{str(value)[:40]!r} is not a time; write 30s, 10m, 2h or 500ms", param, ctx)
        return seconds


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """What the command line says of a running cluster, as it was typed."""

    given: dict[str, Any]

    @property
    def named(self) -> str | None:
        """Return an option that was given and has a meaning only for a running cluster; None without one."""
        given = {name for name, value in self.given.items() if value not in (None, (), False)}
        params = click.get_current_context().command.params
        return next((param.opts[0] for param in params if param.name in given), None)

    def source(
        self,
        url: str,
        *,
        namespaces: tuple[str, ...] = (),
        topic: str | None = None,
        settings: tuple[tuple[str, str], ...] = (),
    ) -> Source:
        """The cluster at an address, with what a command's own options say of it.

        Raises ``InputError`` for what cannot be used; reads files of secrets.
        """
        from tui.sources.cluster.access import AccessChoice, access_of
        from tui.sources.cluster.client import require_usable
        from tui.sources.cluster.pace import Limits
        from tui.sources.cluster.scope import Scope, require_namespaces
        from tui.sources.cluster.source import Source, require_settings

        given = self.given
        files = ("token_file", "basic_file", "client_conf", "ca_file", "cert_file", "key_file")
        usual = Limits()
        limits = Limits(
            at_once=given["at_once"] or usual.at_once,
            rate=given["rate"] or usual.rate,
            timeout_s=given["timeout"] or usual.timeout_s,
            deadline_s=max(usual.deadline_s, 4 * (given["timeout"] or 0)),
            max_answer_bytes=given["max_answer"] or usual.max_answer_bytes,
        )
        require_usable(limits)
        namespaces = (*namespaces, *given.get("cluster_namespaces", ()))
        require_namespaces(namespaces)
        scope = Scope(namespaces, topic or given.get("topic_pattern") or "", loads_topics=given["ask_unloaded"])
        settings = (*settings, *given.get("settings", ()))
        require_settings(settings)
        access = access_of(url, AccessChoice(**{name: given[name] for name in files}))
        keep_secret(access.secret if access.secret.parts else None)
        return Source(access, scope, limits, settings)


def require_no_cluster(choice: ClusterChoice, other: str | None = None) -> None:
    """Raise ``UsageError`` for an option about reading a cluster in a command that reads none."""
    named = choice.named or other
    if named is not None:
        raise click.UsageError(f"{named} is for a running cluster; give its address, http://HOST:PORT")


def cluster_options(
    *, namespace: bool = True, topic: bool = True, settings: bool = True
) -> Callable[[_Command], _Command]:
    """Add the options; the command gets them as ``cluster``.

    ``namespace``, ``topic``, ``settings``: whether it has none of its own.
    """
    options = [
        click.option("--token-file", metavar="FILE", help="URL: a file with the token. Also $RINGSIDE_TOKEN."),
        click.option("--basic-file", metavar="FILE", help="URL: a file with USER:PASSWORD."),
        click.option("--client-conf", metavar="FILE", help="URL: a client.conf, as pulsar-admin reads it."),
        click.option("--ca-file", metavar="FILE", help="URL: certificates of the CA that is trusted."),
        click.option("--cert-file", metavar="FILE", help="URL: the certificate to ask with."),
        click.option("--key-file", metavar="FILE", help="URL: its key."),
        click.option(
            "--timeout", type=Duration(), metavar="TIME", help="URL: how long to wait for an answer.  [default: 10s]"
        ),
        click.option("--at-once", type=int, metavar="N", help="URL: requests under way at most.  [default: 8]"),
        click.option("--rate", type=float, metavar="N", help="URL: requests a second at most.  [default: 200]"),
        click.option("--max-answer", type=Size(), metavar="SIZE", help="URL: the largest answer.  [default: 100MB]"),
        click.option(
            "--ask-unloaded", is_flag=True, help="URL: ask also for topics that are not loaded, which loads them."
        ),
    ]
    if namespace:
        options.append(
            click.option(
                "--namespace", "cluster_namespaces", multiple=True, metavar="TENANT/NAME", help="URL: only this one."
            )
        )
    if topic:
        options.append(
            click.option("--topic", "topic_pattern", metavar="PATTERN", help="URL: only topics like this (* and ?).")
        )
    if settings:
        from tui.cli.options import setting_pairs

        options.append(
            click.option(
                "--set",
                "settings",
                multiple=True,
                metavar="NAME=VALUE",
                callback=setting_pairs,
                help="URL: a setting of the brokers that they do not say. Repeatable.",
            )
        )

    def decorate(command: _Command) -> _Command:
        return collected(command, "cluster", ClusterChoice, *options)

    return decorate
