"""What the fleet screen says in sentences: what the fleet is, and the row under the cursor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.text import Text

from engine.keyshared.luck import Verdict
from engine.text import counted
from engine.views.fleet.runs import Trend, growth
from engine.views.fleet.summary import FleetSummary, unknown_of
from themes.palettes import Palette, hex_colour
from tui.fleet.columns import (
    BROKERS,
    FINDINGS,
    LISTS,
    NAMESPACES,
    SCALABLE,
    SET_ASIDE,
    SUBSCRIPTIONS,
    FleetList,
    severity_style,
    tabs_of,
)
from tui.kit.compared import compared_text
from tui.kit.plain_text import plain
from tui.kit.wording import at_least, in_out_rate, out_rate, quantity, safe_name, sparkline

SEVERITIES: Final = ("error", "warning", "info")
_MORE: Final = " …"
_NEWS_ONLY: Final = 3
_BRIEFEST: Final = 4
"""The lists' counts are in full (0), shortened (1), the most important alone (2), those of bad news alone (3), or left
out (4)."""


def fleet_sentence(
    name: str, summary: FleetSummary | None, listed: Mapping[str, int], width: int, over_runs: str = ""
) -> str:
    """What the fleet is, in as many words as fit; the first ones always. ``over_runs`` is how its topics grew."""
    pieces = [f"ringside fleet {safe_name(name)}"]
    if summary is None:
        pieces += [counted(listed[fleet_list.table], fleet_list.noun) for fleet_list in (SUBSCRIPTIONS, NAMESPACES)]
        return _fitting(pieces, width)
    totals = summary.totals
    pieces += [f"{job} FAILED" for job in sorted(summary.failed)]
    disagreeing = summary.agreement.reported - summary.agreement.agreeing
    if disagreeing:
        pieces.append(f"{disagreeing:,} of {summary.agreement.reported:,} reported active consumers DISAGREE")
    pieces += [
        *([counted(totals.clusters, "cluster")] if totals.clusters > 1 else []),
        counted(totals.brokers, "broker"),
        counted(totals.namespaces, "namespace"),
        f"{counted(totals.topics, 'topic')} {over_runs}".rstrip(),
        _rates({**asdict(totals), **{unknown_of(name): lacking for name, lacking in totals.unknown.items()}}),
        counted(totals.subscription_names, "subscription"),
        counted(totals.consumers, "consumer"),
        counted(totals.bundles, "bundle"),
    ]
    pieces += [_releases(summary)] if summary.rules else []
    return _fitting(pieces, width)


def _rates(row: Mapping[str, Any]) -> str:
    rate_in, rate_out = (
        at_least(quantity(row[name]), row.get(unknown_of(name))) for name in ("msg_rate_in", "msg_rate_out")
    )
    return f"{rate_in} in/s, {rate_out} out/s"


def _releases(summary: FleetSummary) -> str:
    """The releases whose rules are in force, with how they are known, those of most clusters first."""
    releases = Counter(f"Pulsar {safe_name(rule.release)} ({rule.release_basis})" for rule in summary.rules)
    return ", ".join(words for words, _ in releases.most_common(3))


def _fitting(pieces: Sequence[str], width: int) -> str:
    sentence = pieces[0]
    for piece in pieces[1:]:
        longer = f"{sentence} · {piece}"
        if len(longer) > width:
            return sentence + _MORE if len(sentence) + len(_MORE) <= width else sentence
        sentence = longer
    return sentence


def tabs_text(
    shown: FleetList, summary: FleetSummary | None, listed: Mapping[str, int], colours: Palette, width: int
) -> Text:
    """The lists with their digits and counts; findings by severity; the one that is shown is highlighted."""
    texts = (_tabs(shown, summary, listed, colours, brief) for brief in range(_BRIEFEST))
    return next((text for text in texts if text.cell_len <= width), _tabs(shown, summary, listed, colours, _BRIEFEST))


def _tabs(
    shown: FleetList, summary: FleetSummary | None, listed: Mapping[str, int], colours: Palette, brief: int
) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for at in tabs_of(shown, listed):
        fleet_list = LISTS[at]
        chosen = fleet_list.table == shown.table
        gap = " " if chosen and brief < _NEWS_ONLY else ""
        text.append(f" {at + 1} {fleet_list.title}{gap}", "bold reverse" if chosen else "")
        counts = _counts(fleet_list, summary, listed, colours, brief) if brief < _BRIEFEST else []
        for words, colour in counts:
            text.append(" ")
            text.append(words, f"{'bold ' if chosen else ''}{colour}")
        text.append(("   ", " ", "", "", "")[brief])
    return text


def _counts(
    shown: FleetList, summary: FleetSummary | None, listed: Mapping[str, int], colours: Palette, brief: int
) -> list[tuple[str, str]]:
    dim = hex_colour(colours.dim)
    if shown is FINDINGS and summary is not None:
        findings: Counter[str] = Counter()
        for finding in summary.findings:
            findings[finding.severity] += finding.count
        present = [word for word in SEVERITIES if findings[word]]
        kept = present[:1] if brief else present
        counts = [(f"{_number(findings[word], brief)} {word}", severity_style(word, colours)) for word in kept]
        more = [(f"+{quantity(findings.total() - findings[kept[0]])}", dim)] if brief == 1 and len(present) > 1 else []
        return [*counts, *more] or [("none", dim)]
    if shown is SET_ASIDE and summary is not None:
        bad = sum(row.rows for row in summary.quarantine if row.kind in ("bad", "contested"))
        others = sum(row.rows for row in summary.quarantine) - bad
        counts = [(f"{_number(bad, brief)} bad", hex_colour(colours.warn))] if bad else []
        if not brief and others:
            counts.append((f"{others:,} superseded", dim))
        elif others and not bad:
            counts.append((quantity(others), dim))
        return counts or [("none", dim)]
    number = listed.get(shown.table)
    return [] if number is None or brief == _NEWS_ONLY else [(_number(number, brief), dim)]


def _number(value: int, brief: int) -> str:
    return quantity(value) if brief else f"{value:,}"


MEASURE_NAMES: Final = ("topics", "in/s", "out/s", "stored bytes", "backlog bytes")
"""The measures of trends, as people call them."""


def measure_text(values: Sequence[float | None], lacking: Sequence[int]) -> str:
    """The last of the values of each run with its growth since the first, where neither lacks a topic's number."""
    last = at_least(quantity(values[-1]), lacking[-1])
    change = growth([value if not unknown else None for value, unknown in zip(values, lacking, strict=True)])
    return last if change is None else f"{last} {change:+.0%}"


def trend_text(trend: Trend, levels: str) -> str:
    """How a tenant or a cluster changed over the runs; ``levels`` are the signs of a sparkline."""
    who = f"tenant {safe_name(trend.tenant)}" if trend.tenant else f"cluster {safe_name(trend.cluster)}"
    measures = zip(MEASURE_NAMES, trend.values, trend.lacking, strict=True)
    pieces = (
        f"{name} {measure_text(values, lacking)} {sparkline(values, levels).strip()}".rstrip()
        for name, values, lacking in measures
        if values[-1] is not None
    )
    return f"{who}, {counted(len(trend.values[0]), 'run')}: {', '.join(pieces)}"


def about_row(shown: FleetList, row: Mapping[str, Any]) -> list[str]:
    """The row under the cursor in sentences, one a line."""
    if shown.table == SUBSCRIPTIONS.table:
        return [_subscription(row)]
    if shown.table == NAMESPACES.table:
        return [_namespace(row)]
    if shown.table == BROKERS.table:
        return [_broker(row)]
    if shown.table == SCALABLE.table:
        return [_scalable(row)]
    return _finding(row) if shown.table == FINDINGS.table else _problem(row)


def _cluster(row: Mapping[str, Any]) -> str:
    return f"{safe_name(row['cluster'])}: " if row["cluster"] else ""


def _subscription(row: Mapping[str, Any]) -> str:
    parts = [
        f"{_cluster(row)}{safe_name(row['namespace'])} {safe_name(row['subscription'])}: {row['type']}, "
        f"{counted(row['partitions'], 'partition')}, {counted(row['consumers'], 'consumer')}"
        + (f" in {row['lists']:,} different groups" if row.get("lists", 1) > 1 else "")
        + (f", {row['idle']:,} idle" if row["idle"] else ""),
    ]
    uneven, by_rate = row["busiest_over_average"], row["busiest_over_average_rate"]
    if uneven is not None:
        by_messages = by_rate is not None and row["type"] == "Failover" and row.get("lists", 1) == 1
        by_rate_text = f", {by_rate:,.2f} by messages" if by_messages else ""
        parts.append(f"the busiest has {uneven:,.2f} times its even share{by_rate_text}")
        if row.get("worst_topic") and row.get("lists", 1) > 1:
            local = row["worst_topic"].rpartition("/")[2]
            parts.append(f"worst: {safe_name(local)}, {row['worst_active']:,} of {row['worst_consumers']:,} active")
        if row.get("spare_msg_rate"):
            parts.append(f"an even spread gives {out_rate(row['spare_msg_rate'])} to less busy consumers")
    elif row["type"] == "Key_Shared":
        parts.append("no key trace shows how even it is")
    if row["findings"]:
        parts.append(f"{counted(row['findings'], 'finding')} ({row['worst_severity'] or 'unknown'})")
    if row.get("verdict") in Verdict.__members__:
        parts.append(Verdict[row["verdict"]].value)
    if row.get("msg_rate_out") is not None:
        waiting = row.get("msg_backlog_entries") or 0
        rate = at_least(quantity(row["msg_rate_out"]), row.get(unknown_of("msg_rate_out")))
        parts.append(f"{rate} out/s" + (f", {counted(waiting, 'entry', 'waits', 'wait')}" if waiting else ""))
    return "; ".join(parts)


def _namespace(row: Mapping[str, Any]) -> str:
    parts = [
        f"{_cluster(row)}{safe_name(row['namespace'])}: {counted(row['topics'], 'topic')}, "
        f"{counted(row['subscriptions'], 'subscription')}, {counted(row['bundles'], 'bundle')}"
        + (f", {row['bundles_to_split']:,} to split" if row["bundles_to_split"] else "")
    ]
    if row["worst_subscription"]:
        times = row["worst_busiest_over_average"]
        parts.append(f"the worst is {safe_name(row['worst_subscription'])} with {times:,.2f} times its even share")
    if row["findings"]:
        parts.append(f"{counted(row['findings'], 'finding')} ({row['worst_severity'] or 'unknown'})")
    parts.append(_rates(row))
    return "; ".join(parts)


def _broker(row: Mapping[str, Any]) -> str:
    cluster = f" of {safe_name(row['cluster'])}" if row["cluster"] else ""
    if row["usage"] is None:
        used = "its usage is not known"
    else:
        by = f" by {row['fullest'].replace('_', ' ')}" if row["fullest"] else ""
        after = f", {row['usage_after']:.0%} after the forecast" if row["usage_after"] is not None else ""
        used = f"{row['usage']:.0%} used{by}{after}"
    compared = ""
    if row["figure"] is not None:
        compared = f" ({compared_text(row.get('measure') or '', row['figure'], row['limit'])})"
    parts = [
        f"{safe_name(row['broker'])}{cluster}: {used}",
        f"next cycle of {row['shedder'] or 'its shedder'}: {row['next_outcome'].replace('-', ' ')}{compared}",
        f"{counted(row['bundles'], 'bundle')}, {counted(row['topics'], 'topic')}, {in_out_rate(row['msg_rate'])}",
    ]
    if row["unloads"]:
        interrupted = counted(row["topics_interrupted"], "topic")
        parts.append(f"in all cycles {counted(row['unloads'], 'unload')}, {interrupted} interrupted")
    if row["gained"]:
        back = f", {row['loops']:,} of them for the second time" if row["loops"] else ""
        parts.append(f"{counted(row['gained'], 'bundle')} arrive{back}")
    return "; ".join(parts)


def _scalable(row: Mapping[str, Any]) -> str:
    parts = [
        f"{_cluster(row)}{safe_name(row['topic'])}: {counted(row['segments'], 'segment')},"
        f" {counted(row['consumers'], 'consumer')}" + (f", {row['idle']:,} idle" if row["idle"] else "")
    ]
    for name, words in (
        ("stuck", "in a hand-over that never ends"),
        ("unattached", "without a consumer"),
        ("blocked", "waiting for older ones"),
    ):
        parts += [f"{counted(row[name], 'segment')} {words}"] if row[name] else []
    parts += [f"score {row['score']:,.2f}"] if row["score"] is not None else []
    parts += [f"{quantity(row['backlog'])} messages wait"] if row["backlog"] else []
    reason = f" ({row['reason']})" if row["reason"] else ""
    parts.append(f"next: {row['next']}{reason}")
    return "; ".join(parts)


def _finding(row: Mapping[str, Any]) -> list[str]:
    # A topic or a bundle names its namespace.
    first = () if row.get("bundle") or row.get("topic") else ("namespace",)
    places = (*(("cluster",) if row["cluster"] else ()), *first, "subscription", "bundle", "topic", "consumer")
    where = ", ".join(f"{label} {safe_name(row[label])}" for label in places if row.get(label))
    numbers = ", ".join(f"{number['name']} {number['value']:g}" for number in row.get("numbers") or ())
    lines = [f"{row['severity']}: {row['what']}", f"where: {where}"]
    return [*lines, f"what to do: {row.get('advice') or 'nothing'}", *([f"numbers: {numbers}"] if numbers else [])]


def _problem(row: Mapping[str, Any]) -> list[str]:
    line = f", line {row['line']}" if row.get("line") is not None else ""
    where = f"{safe_name(row['file'])} at {safe_name(row['place'])}{line}"
    lost = f"{counted(row['rows'], 'record')} of {row['table']} set aside" if row["rows"] else "nothing was lost"
    return [f"{row['reason']}", f"where: {where} ({lost}; job {row['job']})", f"what to do: {row['advice']}"]


def wrapped(sentences: Sequence[str], width: int, height: int) -> list[str]:
    """The sentences in at most ``height`` lines of ``width`` cells; what does not fit is marked.

    >>> wrapped(["one two three"], 8, 1), wrapped(["one", "two"], 8, 3)
    (['one …'], ['one', 'two'])
    """
    lines = [line.plain.rstrip() for sentence in sentences for line in plain(sentence).wrap(max(8, width))]
    if len(lines) <= height:
        return lines
    kept = lines[:height]
    words = kept[-1]
    while words and plain(words + _MORE).cell_length > max(8, width):
        words = words[:-1].rstrip() if " " not in words else words.rpartition(" ")[0]
    return [*kept[:-1], words + _MORE]
