"""``ringside verify``: compare the model with what brokers answered, and print what agrees and what differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from engine.admin.folders import FilesRead
from engine.config import FLAG
from engine.errors import InputError, accepted
from engine.text import counted
from engine.verify.answers import Answers, answers_of, read_folder
from engine.verify.compare import verify_answers
from engine.verify.report import Difference, Fit, VerifyReport
from tui.cli.cluster import ClusterChoice, cluster_options, require_no_cluster
from tui.cli.options import form_options, max_input_option, pulsar_option, setting_option
from tui.cli.output import Form, say, say_problems
from tui.kit.wording import safe_name
from tui.sources.nearby import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_DIFFERENCES: Final = 50
_NOTHING: Final = (
    "nothing in it can be compared. Save partitioned-stats or stats of topics with Failover, Exclusive or Key_Shared"
    " subscriptions, records and stats of scalable topics, …/bundles, topicHashPositions, broker-stats/topics or load"
    " reports"
)


@click.command(name="verify")
@click.argument("folder", metavar="FOLDER | FILE | URL")
@form_options
@pulsar_option("Use the rules of this release, whatever the folder says; for example 2.11.0 or 4.0.7.")
@click.option("--topic", metavar="NAME", help="The topic that FILE is about. URL: only topics like this (* and ?).")
@setting_option
@max_input_option
@cluster_options(topic=False, settings=False)
@click.pass_context
def verify_command(
    ctx: click.Context,
    *,
    folder: str,
    form: Form,
    pulsar: str | None,
    topic: str | None,
    settings: tuple[tuple[str, str], ...],
    max_input: int,
    cluster: ClusterChoice,
) -> None:
    """Compare the model with the answers of a broker that were saved in FOLDER, or that a running cluster gives now.

    FOLDER holds answers of the admin interface as .json or .json.gz files. Files whose names begin with the same number
    or the same time were saved at one moment. A URL (http://HOST:8080) is a running cluster, which is only read.

    Exit code 0: all that was compared agrees. 1: something differs. 2: nothing could be read or compared. 3: the
    cluster is out of reach.

    Example: ringside verify answers/ --pulsar 4.0.7
    """
    from tui.sources.cluster.addresses import is_url

    if is_url(folder):
        from tui.cli.cluster import read_once

        reading = read_once(cluster.source(folder, topic=topic, settings=settings))
        answers = answers_of(FilesRead(reading.files(), (), ()), reading.origin)
    else:
        require_no_cluster(cluster)
        answers = _overruled(_answers_at(folder, topic, max_input), settings)
    report = verify_answers(answers, pulsar)
    say_problems(report.problems)
    form.show(report, report_lines(report))
    if not report.compared:
        raise InputError(f"{folder}: {_NOTHING}")
    if report.differences:
        say(f"{counted(len(report.differences), 'difference')} in {report.compared} facts")
        ctx.exit(report.exit_code)


def _answers_at(path: str, topic: str | None, limit_bytes: int) -> Answers:
    """What is in a folder, or in a file about ``topic``. Raises ``InputError``."""
    if topic is not None:
        from tui.sources.answers import answers_about

        about = answers_about(topic, path, limit_bytes=limit_bytes)
        return answers_of(FilesRead(about.files, about.problems, ()), about.source)
    reason = missing(path)
    if reason is not None:
        raise InputError(reason)
    return read_folder(Path(path), limit_bytes=limit_bytes)


def _overruled(answers: Answers, settings: tuple[tuple[str, str], ...]) -> Answers:
    """The answers as if the brokers had these settings. Raises ``InputError``."""
    for name, text in settings:
        changed = accepted(answers.settings.with_setting(name, text), f"--set {name}={text}")
        answers = replace(answers, settings=changed, flag_source="asked for" if name == FLAG else answers.flag_source)
    return answers


def report_lines(report: VerifyReport) -> list[str]:
    """The report as text: the rules used, a line per kind of fact, the differences, what was not compared."""
    return [
        f"{report.path}",
        *_rules(report),
        "",
        *_tallies(report),
        *_differences(report.differences),
        *_not_compared(report),
    ]


def _rules(report: VerifyReport) -> Iterator[str]:
    source = {
        "asked for": "as asked for",
        "scenario.json": "from scenario.json",
        "broker": "as the broker says",
        "load report": "from a load report",
        "tried": "unknown, so the rules were tried",
    }[report.rules.release_source]
    yield f"release rules: Pulsar {report.rules.release} ({source})"
    flag = "true" if report.rules.consistent_hashing else "false"
    where = {
        "asked for": "as asked for",
        "scenario.json": "from scenario.json",
        "run-time configuration": "from the run-time configuration",
        "tried": "unknown, so both were tried",
    }[report.rules.flag_source]
    yield f"activeConsumerFailoverConsistentHashing={flag} ({where})"
    if report.rules.fits:
        best = report.rules.fits[0].differences
        fitting = [_fit(fit) for fit in report.rules.fits if fit.differences == best]
        worse = [fit for fit in report.rules.fits if fit.differences > best]
        others = [f"{_fit(fit)}: {counted(fit.differences, 'difference')}" for fit in worse]
        verb = "fits" if len(fitting) == 1 else "fit equally well"
        yield f"{'; '.join(fitting)}: {verb} ({counted(best, 'difference')})"
        if others:
            yield f"does not fit: {'; '.join(others)}"


def _fit(fit: Fit) -> str:
    partitioned = "ring" if fit.consistent_hashing else "modulo"
    return f"{partitioned} for partitions with {fit.nonpartitioned} for topics without"


def _tallies(report: VerifyReport) -> Iterator[str]:
    rows = [(tally.kind.value, tally.compared, tally.agree) for tally in report.tallies]
    rows.append(("all facts", report.compared, report.agree))
    width = max(len(kind) for kind, _, _ in rows)
    digits = max(len(str(compared)) for _, compared, _ in rows)
    for kind, compared, agree in rows:
        mark = "" if agree == compared else "   <- differs"
        yield f"{kind:<{width}}  compared {compared:>{digits}}, agree {agree:>{digits}}{mark}"


def _differences(differences: tuple[Difference, ...]) -> Iterator[str]:
    if not differences:
        return
    yield ""
    yield "differences"
    for difference in differences[:SHOWN_DIFFERENCES]:
        place = f" ({safe_name(difference.file)})" if difference.file else ""
        yield f"  {difference.kind.value}: {safe_name(difference.subject)}{place}"
        yield f"    recorded: {safe_name(difference.recorded)}"
        yield f"    model:    {safe_name(difference.modelled)}"
        yield f"    rule:     {safe_name(difference.rule)}"
        likely = "no known reason fits" if difference.likely is None else difference.likely.text
        yield f"    likely:   {safe_name(likely)}"
    if len(differences) > SHOWN_DIFFERENCES:
        yield f"  and {len(differences) - SHOWN_DIFFERENCES} more; --json has all of them"


def _not_compared(report: VerifyReport) -> Iterator[str]:
    if report.not_compared:
        yield ""
        yield "not compared"
        for what, count in report.not_compared.items():
            yield f"  {count} × {what}"
