"""English for the screen of a reported subscription: its status line, the sentence above, and one consumer in full."""

from __future__ import annotations

from engine.text import counted
from engine.views.reported.subscription import SubscriptionRow, SubscriptionStatus, SubscriptionView
from tui.kit.reported import moment_text, obstacle_texts, seen_text, sums_text
from tui.kit.status_line import GAP, KEPT, Part, Ranked, RankedLine, fitted_parts, place_among, saved_part
from tui.kit.wording import Remark, namespace_suffix, safe_name, shorten_middle

NOBODY = "nobody connected"


def type_text(kind: str) -> str:
    """The type of a subscription; nobody has one where nobody has connected since the topic was loaded."""
    return NOBODY if kind == "None" else kind


class ReportedStatusLine(RankedLine[SubscriptionStatus]):
    """The status of this kind of screen."""

    def parts(self, status: SubscriptionStatus, width: int) -> list[Part]:
        return fitted_parts(lambda cells: _parts(status, self.saved, cells), width)


def _parts(status: SubscriptionStatus, saved: str, name_cells: int) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    keys = status.subscriptions
    several = place_among(keys.index(status.subscription), len(keys)) if status.subscription in keys else ""
    parts: list[Ranked] = [
        (6, " ringside", "$accent bold"),
        (KEPT, f" {shorten_middle(safe_name(status.subscription), name_cells)}", "bold"),
        (4, namespace_suffix(status.subscription, status.namespace, keys), "$dim"),
        (4, several, "$dim"),
        (0, f"{GAP}{type_text(status.type)}, as reported", "$warn bold"),
        (7, f"{GAP}Pulsar {status.release}", ""),
        (2, f"{GAP}step {status.step}/{status.steps}", ""),
        (8, f"{GAP}{safe_name(status.source)}" if status.source else "", "$dim"),
        saved_part(saved, status.steps, 11),
    ]
    return [part for part in parts if part[1]]


def reported_hint(view: SubscriptionView) -> str:
    """What is to be seen, and the key that shows more."""
    seen = view.reported
    kind = type_text(view.status.type)
    steps = " Steps of the simulation change nothing of it." if view.status.step else ""
    return (
        f"{kind}: nothing is computed here; {seen_text(seen.time)},"
        f" {counted(seen.dispatchers, 'topic')}, backlog {seen.backlog:,}. w says why nothing arrives.{steps}"
    )


def consumer_remarks(row: SubscriptionRow, view: SubscriptionView) -> tuple[Remark, ...]:
    """All that was reported of one consumer."""
    seen = row.reported
    obstacles = obstacle_texts(seen, view.consumers)[0]
    remarks = [
        Remark("of", f"{safe_name(row.name)} of {safe_name(view.status.subscription)} ({view.status.type})"),
        Remark("seen", seen_text(view.reported.time).removeprefix("seen ")),
        Remark("blocked" if obstacles else "fine", obstacles or "it asks for messages and is not blocked", main=True),
        Remark("permits", f"{seen.permits:,}"),
        Remark("unacked", f"{seen.unacked:,}"),
        Remark("rate", f"{seen.msgs_per_sec:,.1f} messages per second"),
        Remark("got", moment_text(seen.last_consumed_ms)),
        Remark("acked", moment_text(seen.last_acked_ms)),
        Remark("since", safe_name(seen.connected_since) if seen.connected_since else "unknown"),
        Remark("client", safe_name(seen.client_version) if seen.client_version else "unknown"),
        Remark("address", safe_name(seen.address) if seen.address else "unknown"),
        Remark("all", sums_text(view.reported)),
    ]
    return tuple(remarks)
