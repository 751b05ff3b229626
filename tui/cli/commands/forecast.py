"""``forecast``: which bundle splits next, why, and when; or the traffic of a bundle along the hash axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import click
from msgspec.structs import replace

from engine.errors import InputError, Rejection, accepted
from engine.text import counted
from tui.cli.options import WhatIf, form_options, what_if_options
from tui.cli.output import Form, say, say_problems, speaks_unicode
from tui.cli.plain import BY_JSON, PageColumn, and_more, listing, wrapped
from tui.kit.wording import BUSIEST, bytes_per_sec, in_out_rate, safe_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.balance.settings import BalanceSettings
    from engine.bundles.curve import FlowCurve, FlowRule
    from engine.views.bundles.model import AttemptRow, BalanceView, BundleRow, TreeRow
    from tui.kit.session import Session


SIZE: Final = (79, 18)
RULES: Final = {
    "merged": "flow_or_qps_equally_divide as merged: filled from the left, and cut before a limit is passed",
    "proposed": "the rule as first proposed, which no Pulsar has: one cut where half of the traffic is passed",
}


def curve_lines(namespace: str, curve: FlowCurve, *, ascii_only: bool) -> list[str]:
    """The rule, the drawing, and a sentence for each fact."""
    from engine.views.bundles.words import curve_texts
    from tui.drawing.flow_cells import flow_cells
    from tui.kit.flow_words import flow_picture

    width, height = SIZE
    cells = flow_cells(flow_picture(curve), width, height, ascii_only=ascii_only)
    return [
        f"bundle {curve.bundle} of namespace {safe_name(namespace)}",
        *wrapped(RULES[curve.rule]),
        "",
        *cells.lines(),
        "",
        "area: messages; line: bytes; the dashes: where one of them reaches its limit",
        *(line for text in curve_texts(curve) for line in wrapped(text, rest="  ")),
    ]


ATTEMPTS_SHOWN: Final = 30


@click.command("forecast")
@click.argument("path", required=False, metavar="[FILE | FOLDER]", type=click.Path())
@click.option("--namespace", metavar="NAME", help="tenant/namespace; needed where there are several.")
@click.option("--cycles", metavar="K", type=int, default=20, show_default=True, help="How many cycles ahead.")
@click.option("--brokers", metavar="N", type=int, default=2, show_default=True, help="How many brokers there are.")
@click.option(
    "--load-manager", type=click.Choice(["modular", "extensible"]), default="modular", show_default=True,
    help="Which load manager the brokers have.",
)  # fmt: skip
@click.option(
    "--growth", metavar="X", type=float, default=1.0, show_default=True,
    help="By what the traffic is multiplied at each full interval: 1.1 is ten percent more.",
)  # fmt: skip
@click.option(
    "--curve", "bundle", metavar="BUNDLE", help="Instead: the traffic of BUNDLE along the hash axis, limits and cuts."
)
@click.option(
    "--rule", type=click.Choice(["merged", "proposed"]), default="merged", show_default=True,
    help="With --curve: the rule as merged, or as first proposed (no Pulsar has that one).",
)  # fmt: skip
@form_options
@what_if_options
def forecast_command(
    *,
    path: str | None,
    namespace: str | None,
    cycles: int,
    brokers: int,
    load_manager: Literal["modular", "extensible"],
    growth: float,
    bundle: str | None,
    rule: FlowRule,
    form: Form,
    what_if: WhatIf,
) -> int:
    """Forecast the automatic splits of a namespace: the next one with reason and time, and K cycles of each algorithm.

    Traffic goes on as it is, or grows. --set also takes the intervals of the load managers, such as
    loadBalancerReportUpdateMaxIntervalMinutes=1 or loadBalancerSplitIntervalMinutes=5. Topics in bundles and on
    brokers are compared with chance.

    With --curve it sums up the traffic of one bundle as flow_or_qps_equally_divide does, and shows where it cuts:
    BUNDLE is a range such as 0x00000000_0x40000000, LARGEST or HOT, or tenant/namespace/RANGE.

    Examples: ringside forecast dump/ --namespace shop/orders --cycles 10; ringside forecast dump/ --curve HOT
    """
    from engine.views.bundles.model import BalanceQuestion
    from engine.views.bundles.view import balance_view
    from tui.cli.session import answers_of, namespace_of

    rest, intervals = _intervals(what_if.settings)
    session = answers_of(path, replace(what_if, settings=rest))
    if bundle is not None:
        return _show_curve(bundle, session, namespace, rule, form=form)
    state = session.timeline.state
    view = balance_view(
        state,
        namespace_of(namespace, session.timeline),
        BalanceQuestion(brokers, load_manager, cycles, growth, intervals),
    )
    if isinstance(view, Rejection):
        raise InputError(f"{_option(view.field)}: {view.message}")
    say_problems(session.problems)
    say_rejections(view.problems, view.bad_topics)
    from engine.views.bundles.document import balance_document

    return form.show(lambda: balance_document(view), lambda: forecast_lines(view))


def _show_curve(bundle: str, session: Session, namespace: str | None, rule: FlowRule, *, form: Form) -> int:
    from engine.views.bundles.document import CurveDocument
    from engine.views.bundles.view import curve_of
    from tui.cli.session import bundle_named

    owner, range_text = bundle_named(bundle, namespace, session.timeline)
    curve = accepted(curve_of(session.timeline.state, owner, range_text, rule), bundle)
    say_problems(session.problems)
    say_rejections(curve.problems, curve.bad_topics)
    only_ascii = form.ascii_only or not speaks_unicode()
    return form.show(CurveDocument(owner, curve), lambda: curve_lines(owner, curve, ascii_only=only_ascii))


def say_rejections(problems: Sequence[Rejection], bad_topics: int) -> None:
    """What is wrong with the input or odd about the settings, each with its field; then how much was left out."""
    for problem in dict.fromkeys(problems):
        say(str(problem))
    if bad_topics:
        say(f"{bad_topics} topic{'s were' if bad_topics > 1 else ' was'} left out; the others are counted in full")


def _intervals(settings: Sequence[tuple[str, str]]) -> tuple[tuple[tuple[str, str], ...], BalanceSettings]:
    """The settings that give cycles their times, separated from the others. Raises ``InputError``."""
    from msgspec.structs import fields

    from engine.balance.settings import BalanceSettings
    from engine.config import DEFAULTS

    own = {field.name for field in fields(BalanceSettings)} - set(DEFAULTS)
    changed: dict[str, Any] = {}
    for name, text in settings:
        if name in own:
            if not text.strip().lstrip("+-").isdecimal() or abs(int(text)) >= 2**31:
                raise InputError(f"--set {name}={text}: {text!r} is not a whole number of 32 bits")
            changed[name] = int(text)
    return tuple(pair for pair in settings if pair[0] not in own), BalanceSettings(**changed)


def _option(field: str) -> str:
    return f"--set {field}" if field.startswith("loadBalancer") else f"--{field.replace('_', '-')}"


def forecast_lines(view: BalanceView) -> list[str]:
    """Everything the screen "bundles" shows, from the question to the number of bundles it would take."""
    from tui.bundles.words import status_texts

    return [
        *wrapped(f"namespace {safe_name(view.namespace)}: {status_texts(view)[0]}"),
        "",
        *_next(view),
        "",
        *_now(view),
        "",
        *_trees(view),
        "",
        *_course(view.configured),
        *_loops(view),
        "",
        *_occupancy(view),
    ]


def _next(view: BalanceView) -> Iterator[str]:
    from engine.views.bundles.words import span_text

    tree = view.configured
    if view.idle:
        yield from wrapped(f"nothing splits: {view.idle}")
        return
    split = tree.next_split()
    if split is None:
        yield f"no bundle splits within {counted(view.question.cycles, 'cycle')}"
        attempt = tree.next_attempt()
        if attempt is not None:
            text = f"cycle {attempt.cycle}: {attempt.range_text} {attempt.sentence}"
            yield from wrapped(text, first="  ", rest="    ")
        return
    yield f"next split: {split.range_text}"
    yield f"  when: cycle {split.cycle}, {span_text(split.at_seconds)} from now ({split.at_seconds:,.0f} s)"
    yield from wrapped(split.why, first="  why:  ", rest="    ")
    yield from wrapped(split.sentence, first="  what: ", rest="    ")


def _now(view: BalanceView) -> list[str]:
    from engine.views.bundles.view import balance_frame
    from engine.views.bundles.words import amount_text
    from tui.bundles.words import share_text

    def limit(row: BundleRow) -> str:
        reason, measured, most = row.nearest.reason, row.nearest.measured, row.nearest.limit
        return f"{amount_text(reason, measured)} of {amount_text(reason, most)}{' !' if row.over else ''}"

    columns: list[PageColumn[BundleRow]] = [
        ("bundle", "<", lambda row: row.range_text),
        ("topics", ">", lambda row: str(row.topics)),
        ("in+out/s", ">", lambda row: in_out_rate(row.msgs_per_sec).partition(" ")[0]),
        ("B/s", ">", lambda row: bytes_per_sec(row.bytes_per_sec).removesuffix("B/s")),
        ("of limit", ">", lambda row: share_text(row.nearest.share)),
        ("", "<", limit),
    ]
    return listing(balance_frame(view, view.configured.algorithm, 0).leaves, columns)


def _trees(view: BalanceView) -> Iterator[str]:
    yield f"after {counted(view.question.cycles, 'cycle')}:"
    columns: list[PageColumn[TreeRow]] = [
        ("algorithm", "<", lambda tree: tree.algorithm + (" (configured)" if tree.configured else "")),
        ("splits", ">", lambda tree: str(len(tree.splits))),
        ("bundles", ">", lambda tree: str(tree.bundles)),
        ("empty", ">", lambda tree: str(tree.empty_bundles)),
        ("hottest", "<", lambda tree: f"{tree.hottest} {in_out_rate(tree.hottest_msgs_per_sec)}"),
    ]
    yield from listing(view.trees, columns, indent="  ")


def _course(tree: TreeRow) -> Iterator[str]:
    """Each attempt in the cycle in which it first occurs; repetitions are listed once."""
    from engine.views.bundles.words import span_text

    again: dict[tuple[str, str], list[AttemptRow]] = {}
    for attempt in tree.attempts:
        again.setdefault((attempt.range_text, attempt.sentence), []).append(attempt)
    if not again:
        return
    yield f"attempts with {tree.algorithm}:"
    for (range_text, words), attempts in list(again.items())[:ATTEMPTS_SHOWN]:
        more = f" ({len(attempts)} times, the last in cycle {attempts[-1].cycle})" if len(attempts) > 1 else ""
        first = f"  cycle {attempts[0].cycle}, {span_text(attempts[0].at_seconds)}: "
        yield from wrapped(f"{range_text} {words}{more}", first=first, rest="    ")
    yield from and_more(len(again) - ATTEMPTS_SHOWN, BY_JSON)


def _loops(view: BalanceView) -> Iterator[str]:
    for tree in view.trees:
        for place, loop in enumerate(tree.loops):
            if not place:
                yield ""
                yield f"repeats in vain with {tree.algorithm}:"
            yield from wrapped(f"! {loop.sentence}", first="  ", rest="    ")


def _occupancy(view: BalanceView) -> Iterator[str]:
    from engine.bundles.sizing import EVEN_ENOUGH
    from engine.views.bundles.words import assumed_text
    from tui.bundles.words import occupancy_texts

    for text in (*occupancy_texts(view.occupancy), assumed_text(view)):
        if text:
            yield from wrapped(text)
    if view.needed.problem is None:
        brokers = counted(view.question.brokers, "broker")
        yield from wrapped(
            f"{counted(view.needed.bundles, 'bundle')} would do for {brokers} ({BUSIEST} up to {EVEN_ENOUGH:g}); there"
            f" {'is' if view.bundles == 1 else 'are'} {view.bundles:,}"
        )
