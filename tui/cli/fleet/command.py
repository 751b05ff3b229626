"""``ringside fleet``: the jobs over what a whole installation printed, on this machine or on a Spark cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from engine.errors import InputError, system_reason
from engine.text import visible
from engine.views.fleet.options import RUN, Option, job_of, options_of
from tui.cli.exits import FAILED, FINE
from tui.cli.fleet.diff import diff_runs
from tui.cli.fleet.folder import result_folder, result_in
from tui.cli.options import Output, ascii_option, json_option, output_options
from tui.cli.output import say, write_out, write_page

if TYPE_CHECKING:
    from engine.views.fleet.runs import ResultFolder
    from engine.views.fleet.summary import FleetSummary
    from pipeline.jobs.result import JobResult
    from pipeline.progress import Progress

_JOBS: Final[Mapping[str, str]] = {
    "run": "All jobs below but watch, one after another, from answers and key traces to the summary.",
    "import": "Read raw answers of brokers into tables.",
    "assign": "Assign every partition of every Failover subscription under each policy.",
    "keys": "Fold key traces to slots and show who gets what in every mode of Key_Shared.",
    "bundles": "Put topics into bundles, add their loads up, and show where each would be cut.",
    "lint": "Let the doctor look at every subscription, key space and namespace.",
    "balance": "Forecast the next cycles of shedding of every cluster from the loads of its brokers.",
    "scalable": "Show who has which segment of every scalable topic, and the next automatic step of each.",
    "report": "Sum a result folder up on one page, the worst first.",
    "watch": "Import dumps as they arrive in a folder, with a history of imbalance.",
}
_WITH_PAGE: Final = ("run", "report")
_EPILOG: Final = """\b
IN is a folder of answers (import, run, watch), of key traces (keys) or of tables (the others; balance also takes
answers); OUT is where the result is put, all at once. Both are paths or URIs: file://, s3a://, hdfs://, gs://,
abfss://. Exit codes: 0 fine, 1 a failure, or a condition of --fail-on, 2 usage or input, 130 and 143
stopped from outside; bad records are in the table quarantine and stop nothing.
"""
_SET: Final = "Of Spark, as spark.KEY=VALUE."
_SETTINGS: Final = "A setting of the brokers by its exact name, or of Spark (spark.KEY=VALUE)."
_SET_OF_RUN: Final = f"{_SETTINGS} An option that only one job has is JOB.KEY=VALUE."
_WITH_SETTINGS: Final = ("keys", "bundles", "lint", "balance")


@click.group("fleet", epilog=_EPILOG)
def fleet_command() -> None:
    """Whole fleets: from what the brokers of an installation printed to who consumes what, how uneven it is, and what
    is defective.

    Example: ringside fleet run dumps/ results/
    """


def _options(job: str, command: Callable[..., int]) -> Callable[..., int]:
    """What every job has, and the options that ``engine.views.fleet.options`` declares."""
    about = _SET_OF_RUN if job == RUN else _SETTINGS if job in _WITH_SETTINGS else _SET
    decorators: tuple[Callable[[Callable[..., int]], Callable[..., int]], ...] = (
        click.argument("target", metavar="OUT"),
        click.argument("source", metavar="IN"),
        click.option("--master", metavar="URL", help="A Spark master; without it this machine with all its cores."),
        click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help=f"{about} May be repeated."),
        *(_option(option) for option in reversed(options_of(job))),
        ascii_option,
        json_option,
    )
    for decorate in decorators:
        command = decorate(command)
    return command


def _option(option: Option) -> Callable[[Callable[..., int]], Callable[..., int]]:
    if not option.metavar:
        return click.option(f"--{option.name}", is_flag=True, help=option.about)
    return click.option(f"--{option.name}", metavar=option.metavar, multiple=option.is_repeated, help=option.about)


def _given(job: str, values: Mapping[str, Any]) -> dict[str, str]:
    """The options that were given, as the job takes them; ``values`` are click's."""
    given: dict[str, str] = {}
    for option in options_of(job):
        value = values[option.name.replace("-", "_")]
        if value:
            own = job_of(option) if job == RUN else ""
            text = ",".join(value) if option.is_repeated else value if option.metavar else "true"
            given[f"{own}.{option.name}" if own else option.name] = text
    return given


def _fail_on(job: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """What makes a finished job exit with 1; only ``lint`` judges without being asked to."""
    about = {
        "lint": "Exit 1 if a finding is as bad as info, warning or error.  [default: error]",
        "import": "Exit 1 if quarantined>N or quarantined>N% is true.",
        "assign": "Exit 1 if busiest_over_average>N, idle>N or disagreement>N is true; may be repeated.",
        "balance": "Exit 1 if broker_usage>PERCENT, unloads>N or loops>N is true; may be repeated.",
        "scalable": f"Exit 1 if {_OF_SEGMENTS} is true; may be repeated.",
        "report": _EVERY_CONDITION,
        "run": _EVERY_CONDITION,
    }
    return click.option("--fail-on", "fail_on", metavar="CONDITION", multiple=True, help=about[job])


_JUDGED: Final = ("run", "report", "lint", "import", "assign", "balance", "scalable")
_OF_SEGMENTS: Final = "blocked>N, stuck>N, unattached>N, uncovered>N, score>N or flaps>N (within an hour)"
_EVERY_CONDITION: Final = (
    "Exit 1 at such a finding (info, warning, error) or if busiest_over_average>N, idle>N, disagreement>N, "
    "quarantined>N, quarantined>N%, broker_usage>PERCENT, unloads>N, loops>N, or of scalable topics "
    f"{_OF_SEGMENTS} is true; may be repeated."
)


def _report_files(command: Callable[..., int]) -> Callable[..., int]:
    """The reports that jobs with a page also write for other programs."""
    for decorate in (
        click.option("--openmetrics", metavar="FILE", help="Write the figures as OpenMetrics too."),
        click.option("--owners", metavar="FILE", help="CSV with tenant or namespace, and owner: their label there."),
        click.option(
            "--junit", metavar="FILE", help="Write JUnit XML too: jobs, conditions, worst subscriptions and findings."
        ),
    ):
        command = decorate(command)
    return command


_EXAMPLES: Final = {
    "run": "ringside fleet run dumps/ results/ --fail-on 'idle>0'",
    "import": "ringside fleet import dumps/ tables/",
    "assign": "ringside fleet assign tables/ results/ --add c-10",
    "keys": "ringside fleet keys tables/ results/",
    "bundles": "ringside fleet bundles tables/ results/",
    "lint": "ringside fleet lint tables/ results/ --fail-on warning",
    "balance": "ringside fleet balance tables/ results/ --cycles 60 --fail-on 'loops>0'",
    "scalable": "ringside fleet scalable tables/ results/",
    "report": "ringside fleet report results/ results/",
    "watch": "ringside fleet watch arriving/ tables/",
}


def _command_of(job: str, about: str) -> click.Command:
    lines = {"lint": _findings, "assign": _policies, "balance": _balance}.get(job, _tables)

    def invoke(
        *,
        source: str,
        target: str,
        master: str | None,
        settings: tuple[str, ...],
        as_json: bool,
        ascii_only: bool,
        fail_on: tuple[str, ...] = (),
        junit: str | None = None,
        openmetrics: str | None = None,
        owners: str | None = None,
        **values: Any,
    ) -> int:
        from pipeline.session import need_pyspark

        asked = _settings(settings) | _given(job, values)
        need_pyspark()
        from engine.views.fleet.conditions import conditions_of, failures_of, figures_of_result, figures_of_summary
        from engine.views.fleet.summary import fleet_families
        from tui.cli.fleet.page import junit_text
        from tui.cli.openmetrics import exposition
        from tui.cli.reports import JUNIT_MARK, METRICS_MARK, check_report, write_report

        for path, mark, option in ((junit, JUNIT_MARK, "--junit"), (openmetrics, METRICS_MARK, "--openmetrics")):
            if path is not None:
                check_report(path, mark, option)
        named = None if owners is None else _owners(owners)
        conditions = conditions_of(job, fail_on or (("error",) if job == "lint" else ()))
        result = _done(job, source, target, master, asked)
        if as_json:
            write_out(_json(result, target))
        elif job in _WITH_PAGE:
            write_page(_page(_results_of(result, target)), ascii_only=ascii_only)
        else:
            write_page(lines(result), ascii_only=ascii_only)
        figures = figures_of_result(result)
        if job in _WITH_PAGE:
            summary = _read(_results_of(result, target))
            figures = figures_of_summary(summary) if job == "report" else figures
            if junit is not None:
                write_report(junit, junit_text(summary, figures, conditions), JUNIT_MARK, "--junit")
            if openmetrics is not None:
                write_report(openmetrics, exposition(fleet_families(summary, named)), METRICS_MARK, "--openmetrics")
        failures = failures_of(figures, conditions)
        for reason in failures:
            say(f"{job}: {reason}")
        return FAILED if failures else FINE

    decorated = _fail_on(job)(invoke) if job in _JUDGED else invoke
    decorated = _report_files(decorated) if job in _WITH_PAGE else decorated
    text = f"{about}\n\nExample: {_EXAMPLES[job]}"
    return click.command(job, short_help=about, help=text)(_options(job, decorated))


def _owners(path: str) -> Mapping[str, str]:
    """The owners in a file. Raises ``InputError``."""
    from engine.views.fleet.summary import read_owners

    try:
        return read_owners(Path(path).read_text("utf-8", "replace"))
    except OSError as fault:
        raise InputError(f"--owners {path} cannot be read: {system_reason(fault)}") from fault
    except InputError as fault:
        raise InputError(f"--owners {path}: {fault}") from fault


def _tables(result: JobResult) -> Iterator[str]:
    yield result.sentence


def _policies(result: JobResult) -> Iterator[str]:
    """The effect of the change under each policy; a folder that has only assignments gets no page."""
    import msgspec

    from engine.views.fleet.summary import Agreement, ClusterRules, PolicyTotals
    from tui.cli.fleet.page import policy_lines, rule_lines

    yield result.sentence
    in_force: Any = result.summary["in_force"]
    policies: Any = result.summary["policies"]
    totals = [PolicyTotals(name, in_force=name in in_force, **numbers) for name, numbers in policies.items()]
    groups = [msgspec.convert(rule, ClusterRules) for rule in result.summary["rules"]]  # type: ignore[attr-defined]
    yield from rule_lines(groups, msgspec.convert(result.summary["agreement"], Agreement))
    yield from policy_lines(sorted(totals, key=lambda total: total.policy))[:-1]


def _balance(result: JobResult) -> Iterator[str]:
    """The result of the load balancers in numbers; brokers and unloads are in the tables."""
    totals = _counts(result, "totals")
    yield result.sentence
    yield (
        f"  {totals['clusters']:,} clusters, {totals['brokers']:,} brokers, the fullest at {totals['max_usage']:.0%}; "
        f"{totals['unloads']:,} unloads in {totals['cycles']:,} cycles ({totals['next_unloads']:,} in the next), "
        f"{totals['topics_interrupted']:,} topics interrupted, {totals['loops']:,} bundles go round"
    )


def _findings(result: JobResult) -> Iterator[str]:
    """The number of findings of each severity and rule; the findings themselves are in the table."""
    from tui.cli.plain import table
    from tui.cli.printers.lint import counts_text

    yield f"{result.job}: {counts_text(_counts(result, 'severities'))}"
    yield from table([(f"  {rule}", f"{count:,}") for rule, count in _counts(result, "rules").items()], ("<", ">"))


def _counts(result: JobResult, name: str) -> Mapping[str, int]:
    counts = result.summary[name]
    assert isinstance(counts, dict)
    return counts


def _settings(texts: tuple[str, ...]) -> dict[str, str]:
    """The options as a mapping. Raises ``UsageError`` for one without a value."""
    wrong = [text for text in texts if "=" not in text]
    if wrong:
        raise click.UsageError(f"--set takes KEY=VALUE, not {wrong[0]!r}")
    return dict(text.split("=", 1) for text in texts)


def _done(job: str, source: str, target: str, master: str | None, settings: Mapping[str, str]) -> JobResult:
    """Run one job in a session of its own. Spark and Arrow are imported only here."""
    from pipeline.jobs import check_places, job_called
    from pipeline.jobs.options import SPARK, check_options
    from pipeline.jobs.result import JobOptions
    from pipeline.progress import watching_tasks
    from pipeline.session import open_session
    from pipeline.storage import check_place, is_small, place_for, place_of, scheme_of

    check_options(job, settings)
    for text in (source, target):
        check_place(text)
    own = {name: value for name, value in settings.items() if not name.startswith(SPARK)}
    of_spark = {name: value for name, value in settings.items() if name.startswith(SPARK)}
    if {scheme_of(source), scheme_of(target)} <= {"", "file"}:  # a store needs the settings of the session
        check_places(job, place_of(source), place_of(target), JobOptions(own))
    # The files that a watch will read may not exist yet.
    small = job != "watch" and is_small(source)
    with _progress(job) as (narrate, show):
        narrate("starting Spark …")
        with open_session(master, of_spark, small=small) as spark:
            places = place_for(spark, source), place_for(spark, target)
            with watching_tasks(spark, show) as watch:
                return job_called(job)(spark, *places, JobOptions(own, narrate, watch=watch))


@contextmanager
def _progress(job: str) -> Iterator[tuple[Callable[[str], None], Callable[[Progress], None]]]:
    """Where the job reports its progress: a live line on a terminal, else plain lines on standard error."""
    import sys

    from pipeline.progress import NowAndThen, progress_text

    if sys.stderr is None or not sys.stderr.isatty():
        yield say, NowAndThen(say)
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.SpinnerColumn(), bars.TimeElapsedColumn(), bars.TextColumn("{task.description}", markup=False)
    )  # fmt: skip
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(job, total=None)

        def narrate(text: str) -> None:
            if not text.endswith("…"):
                progress.console.print(visible(text), markup=False, highlight=False)
            progress.update(task, description=visible(text))

        def show(seen: Progress) -> None:
            progress.update(task, description=visible(progress_text(seen)))

        yield narrate, show


def _results_of(result: JobResult, target: str) -> ResultFolder:
    """Where the result is, opened with the settings that the job had."""
    return result_folder(target) if result.place is None else result_in(result.place, result.run_id)


def _json(result: JobResult, target: str) -> str:
    import json

    if result.job in _WITH_PAGE:
        return _summary(_results_of(result, target)).decode()
    return json.dumps(result.summary, indent=1, ensure_ascii=False, sort_keys=True, default=list)


def _page(results: ResultFolder) -> list[str]:
    from engine.views.fleet.runs import history_of, trends_of
    from tui.cli.fleet.page import fleet_lines

    return fleet_lines(_read(results), trends_of(history_of(results)))


def _read(results: ResultFolder) -> FleetSummary:
    from engine.views.fleet.summary import FILE_NAME, read_summary

    return read_summary(_summary(results), f"{results}/{FILE_NAME}")


def _summary(results: ResultFolder) -> bytes:
    from engine.views.fleet.summary import FILE_NAME

    try:
        return results.document(FILE_NAME)
    except FileNotFoundError as error:
        make = "make one with ringside fleet run or ringside fleet report"
        raise InputError(f"{results} holds no {FILE_NAME}; {make}") from error


@click.command("open", short_help="Open a result folder on the screen, or print its summary.")
@click.argument("target", metavar="OUT")
@click.option("--run", "run_id", metavar="RUN_ID", default="", help="Another run than the latest.")
@output_options
def open_fleet(*, target: str, run_id: str, output: Output) -> int:
    """Show what is worst in the result folder OUT, sorted and filtered at will; enter opens a row in the simulator.

    OUT is a path or a URI as the jobs take it; keys and endpoint of S3 come from where AWS's tools take them. With
    --once or --json the summary is printed. Needs no Spark.

    Example: ringside fleet open results/
    """
    results = result_folder(target, run_id)
    if output.on_screen:
        from tui.cli.exits import why_no_screen
        from tui.cli.fleet.screen import open_fleet_screen

        why_not = why_no_screen()
        if why_not is not None:
            raise InputError(why_not)

        return open_fleet_screen(results, output)
    as_json, ascii_only = output.json, output.ascii_only
    lines = _page(results)
    if as_json:
        write_out(_summary(results).decode())
    else:
        write_page(lines, ascii_only=ascii_only)
    return FINE


for _job, _about in _JOBS.items():
    fleet_command.add_command(_command_of(_job, _about))
fleet_command.add_command(open_fleet)
fleet_command.add_command(diff_runs)
