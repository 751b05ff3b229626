"""The line at the top: the rule in force first, then flag, release, subscription, step and where the state is from."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from engine.views.model import RuleInForce, StatusView
from tui.ranked import KEPT, Part, Ranked, fitted_parts
from tui.wording import NOT_SAVED, flag_text, not_saved, safe_name, saved_text, shorten_middle

GAP = "  "


class StatusLine(Widget):
    """One line; what does not fit is left out, the least important first."""

    DEFAULT_CSS = """
    StatusLine { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    status: reactive[StatusView | None] = reactive(None)
    """What is told."""
    saved: reactive[str] = reactive("")
    """Where the steps are kept, in words; "" when nothing keeps them."""

    def render(self) -> Content:
        if self.status is None:
            return Content("")
        return Content.assemble(*status_parts(self.status, self.saved, self.size.width))


def status_parts(status: StatusView, saved: str, width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells, in the order they stand.

    Rule, flag, step and that steps are not saved stay longest; a long subscription is shortened before they go.
    """
    return fitted_parts(lambda cells: _parts(status, saved, cells), width)


def _parts(status: StatusView, saved: str, name_cells: int) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    rule_style = {RuleInForce.RING: "$good bold", RuleInForce.NOBODY: "$bad bold"}.get(status.rule, "$warn bold")
    flag_style = "$good" if status.consistent_hashing and status.flag_known else "$dim"
    subscription = "no Failover subscription"
    if status.subscription:
        subscription = shorten_middle(safe_name(status.subscription), name_cells)
    kind = f" ({status.subscription_type})" if status.subscription and status.subscription_type else ""
    several = ""
    if len(status.subscriptions) > 1 and status.subscription in status.subscriptions:
        several = f" [{status.subscriptions.index(status.subscription) + 1}/{len(status.subscriptions)} n p]"
    kept = saved_text(saved, status.steps)
    # Without a subscription nothing is decided, so there is no rule to tell.
    rule = f"{GAP}{status.rule_text}" if status.subscription else ""
    parts: list[Ranked] = [
        (5, " ringside", "$accent bold"),
        (KEPT, f" {subscription}", "bold"),
        (9, kind, "$dim"),
        (4, several, "$dim"),
        (0, rule, rule_style),
        (1, f"{GAP}{flag_text(status)}", flag_style),
        (6, f"{GAP}Pulsar {status.release}", ""),
        (2, f"{GAP}step {status.step}/{status.steps}", ""),
        (10, f"{GAP}seed {status.seed}", "$dim"),
        (7, f"{GAP}{safe_name(status.source)}", "$dim"),
        (1, f"{GAP}{NOT_SAVED}", "$bad bold")
        if not_saved(saved)
        else (KEPT if kept == NOT_SAVED else 8, f"{GAP}{kept}" if kept else "", "$dim"),
        (KEPT, f"{GAP}{status.problems} set aside" if status.problems else "", "$bad"),
    ]
    return [part for part in parts if part[1]]
