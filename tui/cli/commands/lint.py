"""``lint``: the doctor over recorded answers, a saved session, or a list of consumer names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import structs

from engine.errors import InputError, Problem, Rejection, system_reason
from engine.text import counted, shell_line
from tui.cli.cluster import ClusterChoice, cluster_options, require_no_cluster
from tui.cli.exits import FAILED, FINE
from tui.cli.options import (
    FLAG,
    WhatIf,
    fail_on_option,
    form_options,
    max_input_option,
    pulsar_option,
    setting_option,
)
from tui.cli.output import Form, say, say_problems
from tui.cli.plain import nearest
from tui.sources.nearby import STANDARD_INPUT, missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.admin.files import AnswerFile
    from engine.bundles.plan import LoadManager
    from engine.lint import Finding
    from engine.lint.doctor import RuleSet
    from tui.sources.consumer_files import NamedRanges

_LIKE_PATHS: Final = ("/", "\\", ".json", ".gz")


@dataclass(frozen=True, slots=True)
class _Checked:
    """The source, the findings, and the problems of the input."""

    source: str
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...] = ()


@click.command("lint")
@click.argument("words", nargs=-1, metavar="[FOLDER | FILE | URL | NAMES]")
@click.option("--names", metavar="NAME,...", help="Judge consumers of these names, in the order they connect.")
@click.option("--names-from", metavar="FILE", help="The same from a file: a name a line, or a JSON list.")
@click.option("--sticky", is_flag=True, help="Lines of --names-from are NAME=START-END,... (declared ranges).")
@fail_on_option
@click.option("--rule", "rule_ids", metavar="ID", multiple=True, help="Only this rule. Repeatable.")
@click.option("--list", "lists", is_flag=True, help="List the rules.")
@click.option("--topic", metavar="NAME", help="The topic that FILE is about, if the file does not name it.")
@max_input_option
@click.option("--namespace", metavar="TENANT/NAME", help="Only this namespace, and the brokers' settings.")
@click.option(
    "--load-manager",
    type=click.Choice(["modular", "extensible"]),
    help="The brokers' load manager, if no answer names it.",
)
@click.option("--flag", type=click.Choice(["on", "off"]), help=f"Shorthand for --set {FLAG}=true|false.")
@setting_option
@pulsar_option("Judge by the rules of this Pulsar version.")
@form_options
@cluster_options(namespace=False, topic=False, settings=False)
def lint_command(
    *, words: tuple[str, ...], fail_on: str, rule_ids: tuple[str, ...], lists: bool, form: Form, **given: Any
) -> int:
    """Look for defects: in the answers of brokers in FOLDER or FILE, a saved session, or a list of consumer names.

    NAMES are several words, or one with commas (c-1,c-2), or a text file with a name a line. A - is standard input,
    with answers or with names. A URL (http://HOST:8080) is a running cluster, which is only read. Each finding says
    what, where, how bad, and what to change.

    Exit code 0: no finding is as bad as --fail-on (default: error). 1: one is. 2: the input cannot be
    used. 3: the cluster is out of reach. What is wrong with parts of the input goes to stderr, and the rest is
    judged.

    Example: ringside lint answers/ --fail-on warning
    """
    from engine.diagnosis.findings import CAUSE_RULES
    from engine.lint.doctor import ALL_RULES, rule_set
    from engine.lint.model import severity_of
    from tui.cli.printers import lint as printer

    causes = {rule.id for rule in CAUSE_RULES}
    rules = rule_set([rule_id for rule_id in rule_ids if rule_id not in causes] if rule_ids else None)
    if isinstance(rules, Rejection):
        raise InputError(f"--rule: {rules.message} (--list shows all)")
    if lists:
        named = [rule for rule in (*ALL_RULES, *CAUSE_RULES) if not rule_ids or rule.id in rule_ids]
        return form.show(printer.rules_document(named), printer.rule_lines(named))
    checked = _checked(words, rules, {**given, "causes": rule_ids or None})
    say_problems(checked.problems)
    worst = severity_of(fail_on)
    return form.show(
        lambda: printer.lint_document(checked.source, checked.findings, checked.problems, fail_on=worst),
        printer.lint_lines(checked.source, checked.findings),
        FAILED if any(finding.severity >= worst for finding in checked.findings) else FINE,
    )


def _checked(words: tuple[str, ...], rules: RuleSet, given: dict[str, Any]) -> _Checked:
    """Judge what the words and options name. Raises ``InputError`` and ``UsageError``."""
    from tui.sources.cluster.addresses import is_url

    cluster: ClusterChoice = given["cluster"]
    if not any(map(is_url, words)):
        require_no_cluster(cluster)
    names_from: str | None = given["names_from"]
    if given["names"] is not None and names_from is not None:
        raise click.UsageError("--names and --names-from both name the consumers; choose one of them")
    if given["sticky"] and names_from is None:
        raise click.UsageError("--sticky says how lines of --names-from are read; give that too")
    if given["names"] is None and names_from is None:
        if len(words) == 1 and is_url(words[0]):
            return _of_answers(words, rules, given, None)
        if not words:
            raise click.UsageError("name a FOLDER or FILE with answers of a broker, or consumers with --names")
        piped = _piped(words, given["max_input"])
        listed = _listed(words, piped) if given["topic"] is None else None
        if listed is None:
            return _of_answers(words, rules, given, piped)
        named: Sequence[NamedRanges] = [(name, None) for name in listed]
    elif words:
        raise click.UsageError(f"{words[0]!r}: an option names the consumers already; leave out one of the two")
    elif names_from is not None:
        from tui.sources.consumer_files import read_consumers

        named = read_consumers(names_from, with_ranges=given["sticky"])
    else:
        from tui.sources.consumer_files import names_of_text

        named = [(name, None) for name in names_of_text(given["names"], "--names")]
    if given["topic"] is not None:
        raise click.UsageError("--topic names the topic of a FILE; a list of names has none")
    if given["namespace"] is not None:
        raise click.UsageError("--namespace narrows answers of a broker; a list of names has none")
    return _of_names(named, rules, given)


def _piped(words: tuple[str, ...], limit_bytes: int) -> bytes | None:
    """Standard input, read once, where one of the words asks for it."""
    from tui.sources.answers import standard_input

    return standard_input(limit_bytes) if STANDARD_INPUT in words else None


def _listed(words: tuple[str, ...], piped: bytes | None) -> Sequence[str] | None:
    """The names of consumers that the words are, or that a file of that name has; None where answers are meant.

    Several words, or one with commas, are names where none of them is a path or looks like one.
    """
    from tui.sources.consumer_files import is_name_list, listed_names, read_consumers

    if len(words) == 1 and piped is not None:
        return listed_names(piped)
    if len(words) == 1 and is_name_list(words[0]):
        return [name for name, _ in read_consumers(words[0], with_ranges=False)]
    names = words[0].split(",") if len(words) == 1 else words
    plain = all(missing(word) is not None and not any(mark in word for mark in _LIKE_PATHS) for word in words)
    return names if len(names) > 1 and plain else None


def _what_if(given: dict[str, Any]) -> WhatIf:
    flag = () if given["flag"] is None else ((FLAG, "true" if given["flag"] == "on" else "false"),)
    return WhatIf((*given["settings"], *flag), given["pulsar"], (), None, max_input=given["max_input"])


def _of_names(named: Sequence[NamedRanges], rules: RuleSet, given: dict[str, Any]) -> _Checked:
    from engine.cluster.state import ClusterState
    from engine.lint import NOTHING_REPORTED, lint_names
    from engine.lint.opened import world_of
    from tui.cli.session import ignored_settings, overruled

    if not named:
        raise InputError("no consumer is named; write --names a,b,c or a file with a name a line")
    what_if = _what_if(given)
    state = overruled(ClusterState(), what_if)
    for text in ignored_settings(state, what_if):
        say(text)
    world = world_of(state, NOTHING_REPORTED)
    names, declared = [name for name, _ in named], [ranges for _, ranges in named]
    findings = lint_names(names, world, declared=declared, rules=rules)
    return _Checked(counted(len(names), "name"), findings)


def _of_answers(paths: tuple[str, ...], rules: RuleSet, given: dict[str, Any], piped: bytes | None) -> _Checked:
    from dataclasses import replace

    from engine.lint import NOTHING_REPORTED, lint
    from engine.lint.model import in_order
    from engine.lint.opened import unfit_bundles
    from tui.cli.session import is_journal

    what_if = _what_if(given)
    if len(paths) == 1 and given["topic"] is None and is_journal(paths[0]):
        from tui.cli.session import reopened, resumed

        session = resumed(reopened(Path(paths[0]), reads_only=True), what_if)
        state, from_answers, source, problems = session.timeline.state, NOTHING_REPORTED, paths[0], session.problems
        reported: tuple[Finding, ...] = ()
    else:
        from engine.diagnosis.findings import findings_of
        from engine.diagnosis.why import why
        from engine.scenarios.linting import reported_facts
        from tui.cli.session import ignored_settings, overruled

        snapshot, opened, clients = _answers_of(paths, what_if, given, piped)
        reported = findings_of(why(opened.seen), given["causes"], namespace=given["namespace"])
        state, source, problems = overruled(opened.state, what_if), opened.source, opened.problems
        for text in ignored_settings(state, what_if):
            say(text)
        from_answers = reported_facts(snapshot, state, clients)
    manager: LoadManager | None = given["load_manager"]
    if manager is not None:
        from_answers = replace(from_answers, load_manager=manager)
    _require(given["namespace"], state.namespaces)
    for unfit in unfit_bundles(state):
        say(f"{unfit.message}; these bundles are not judged")
    findings = lint(state, from_answers, rules=rules, namespace=given["namespace"])
    return _Checked(source, in_order((*findings, *reported)), problems)


def _answers_of(
    paths: tuple[str, ...], what_if: WhatIf, given: dict[str, Any], piped: bytes | None
) -> tuple[Any, Any, Any]:
    """As ``_read``, of files or of a running cluster. Raises ``InputError`` and ``ClusterOutOfReachError``."""
    from tui.sources.cluster.addresses import is_url

    if len(paths) != 1 or not is_url(paths[0]):
        return _read(paths, what_if, piped, given["topic"])
    from engine.admin.client_facts import client_facts
    from engine.admin.moments import combined
    from engine.scenarios.opening import open_moments
    from tui.cli.cluster import read_once
    from tui.sources.cluster.reading import moments_read

    namespaces = (given["namespace"],) if given["namespace"] is not None else ()
    cluster: ClusterChoice = given["cluster"]
    reading = read_once(cluster.source(paths[0], namespaces=namespaces, topic=given["topic"]))
    moments = moments_read([reading], limit_bytes=what_if.max_input)
    opened = open_moments(moments, release=what_if.pulsar)
    return combined(moments), opened, client_facts(*reading.files(), limit_bytes=what_if.max_input)


def _read(paths: tuple[str, ...], what_if: WhatIf, piped: bytes | None, topic: str | None) -> tuple[Any, Any, Any]:
    """The snapshot, what is opened from it, and what it says about clients; ``piped`` is standard input, if a path is
    it.

    Raises ``InputError``.
    """

    from engine.admin.client_facts import client_facts
    from engine.admin.moments import combined, read_moments
    from engine.scenarios.opening import BUNDLES_ASSUMED, RELEASE_ASSUMED, open_moments, open_settings
    from tui.sources.answers import answers_about

    sources: list[str | bytes | AnswerFile] = []
    source = ""
    problems: tuple[Problem, ...] = ()
    if topic is not None:
        path = paths[0] if len(paths) == 1 else None
        about = answers_about(topic, path, piped, limit_bytes=what_if.max_input)
        sources, source, problems = list(about.files), about.source, about.problems
    for path in paths if topic is None else ():
        reason = missing(path)
        if reason is not None:
            raise InputError(f"{reason} (give names of consumers after --names)")
        sources.append(path if piped is None or path != STANDARD_INPUT else piped)
    try:
        moments = read_moments(*sources, limit_bytes=what_if.max_input, keeps_nameless=True)
        snapshot = combined(moments)
        listed = snapshot.topics or snapshot.known_names or snapshot.bundles
        if not listed and (snapshot.configuration or snapshot.sums or snapshot.metered):
            opened = structs.replace(open_settings(snapshot, release=what_if.pulsar), seen=tuple(moments))
            if snapshot.metered:
                say(
                    "metrics alone: types, active consumers, keys and settings are in none of them and are not judged;"
                    f" {shell_line('pulsar-admin', 'topics', 'stats', 'TOPIC')} prints them"
                )
        else:
            opened = open_moments(moments, release=what_if.pulsar)
        for note in opened.notes:
            if note.code == BUNDLES_ASSUMED:
                say(f"{note.text}; they are not judged")
            elif note.code == RELEASE_ASSUMED:
                say(note.text)
        opened = structs.replace(opened, source=source or opened.source, problems=(*problems, *opened.problems))
        return snapshot, opened, client_facts(*sources, limit_bytes=what_if.max_input)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        raise InputError(f"{', '.join(paths)}: {system_reason(error)}") from error


def _require(namespace: str | None, known: Sequence[str] | Any) -> None:
    if namespace is not None and namespace not in known:
        raise InputError(
            f"--namespace: the answers have nothing about {namespace!r}; there is {nearest(namespace, known)}"
        )
