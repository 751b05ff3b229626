"""``ringside verify``: compare the model with what brokers answered, and print what agrees and what differs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from engine.errors import InputError
from engine.verify import Difference, Fit, VerifyReport, answers_of, verify_answers, verify_folder
from tui.cli.cluster import ClusterChoice, cluster_options, require_no_cluster
from tui.cli.options import ascii_option, max_input_option, pulsar_option
from tui.cli.output import say, say_problems, write_out, write_page
from tui.kit.wording import safe_name
from tui.sources.nearby import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.sources.cluster.source import Source

SCHEMA_VERSION: Final = 2
SHOWN_DIFFERENCES: Final = 50
_NOTHING: Final = (
    "nothing in it can be compared. Save partitioned-stats or stats of topics with Failover, Exclusive or Key_Shared"
    " subscriptions, …/bundles, topicHashPositions, broker-stats/topics or load reports"
)


@click.command(name="verify")
@click.argument("folder", metavar="FOLDER | FILE | URL")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
@ascii_option
@pulsar_option("Use the rules of this release, whatever the folder says; for example 2.11.0 or 4.0.7.")
@max_input_option
@cluster_options()
@click.pass_context
def verify_command(
    ctx: click.Context,
    *,
    folder: str,
    as_json: bool,
    ascii_only: bool,
    pulsar: str | None,
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
        report = _verify_cluster(cluster.source(folder), pulsar)
    else:
        require_no_cluster(cluster)
        reason = missing(folder)
        if reason is not None:
            raise InputError(reason)
        report = verify_folder(folder, pulsar, limit_bytes=max_input)
    say_problems(report.problems)
    if as_json:
        write_out(json.dumps(as_document(report), ensure_ascii=False, indent=2))
    else:
        write_page(report_lines(report), ascii_only=ascii_only)
    if not report.compared:
        raise InputError(f"{folder}: {_NOTHING}")
    if report.differences:
        say(f"{_counted(len(report.differences), 'difference')} in {report.compared} facts")
        ctx.exit(report.exit_code)


def _verify_cluster(source: Source, pulsar: str | None) -> VerifyReport:
    from engine.admin.files import FilesRead
    from tui.cli.cluster import read_once

    reading = read_once(source)
    return verify_answers(answers_of(FilesRead(reading.files(), (), ()), reading.origin), pulsar)


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
    }[report.version_source]
    yield f"release rules: Pulsar {report.pulsar_version} ({source})"
    flag = "true" if report.consistent_hashing else "false"
    where = {
        "scenario.json": "from scenario.json",
        "run-time configuration": "from the run-time configuration",
        "tried": "unknown, so both were tried",
    }[report.flag_source]
    yield f"activeConsumerFailoverConsistentHashing={flag} ({where})"
    if report.fits:
        best = report.fits[0].differences
        fitting = [_fit(fit) for fit in report.fits if fit.differences == best]
        worse = [fit for fit in report.fits if fit.differences > best]
        others = [f"{_fit(fit)}: {_counted(fit.differences, 'difference')}" for fit in worse]
        verb = "fits" if len(fitting) == 1 else "fit equally well"
        yield f"{'; '.join(fitting)}: {verb} ({_counted(best, 'difference')})"
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
        for what, count in report.not_compared:
            yield f"  {count} × {what}"


def as_document(report: VerifyReport) -> dict[str, Any]:
    """The report as JSON values; ``version`` is the version of this form."""
    return {
        "version": SCHEMA_VERSION,
        "path": report.path,
        "rules": {
            "pulsarVersion": report.pulsar_version,
            "versionSource": report.version_source,
            "activeConsumerFailoverConsistentHashing": report.consistent_hashing,
            "flagSource": report.flag_source,
            "fits": [
                {
                    "nonPartitionedFailover": fit.nonpartitioned,
                    "activeConsumerFailoverConsistentHashing": fit.consistent_hashing,
                    "differences": fit.differences,
                }
                for fit in report.fits
            ],
            "undecided": report.undecided,
        },
        "compared": report.compared,
        "agree": report.agree,
        "facts": [
            {"kind": tally.kind.value, "compared": tally.compared, "agree": tally.agree} for tally in report.tallies
        ],
        "differences": [
            {
                "kind": difference.kind.value,
                "moment": difference.moment,
                "file": difference.file,
                "subject": difference.subject,
                "recorded": difference.recorded,
                "model": difference.modelled,
                "rule": difference.rule,
                "likelyReason": None if difference.likely is None else asdict(difference.likely),
            }
            for difference in report.differences
        ],
        "notCompared": [{"what": what, "count": count} for what, count in report.not_compared],
        "problems": [
            {
                "source": problem.source,
                "path": problem.path,
                "reason": problem.reason,
                "advice": problem.advice,
                "line": problem.line,
                "column": problem.column,
            }
            for problem in report.problems
        ],
        "exitCode": report.exit_code,
    }


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
