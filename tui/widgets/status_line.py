"""The line at the top: the rule in force first, then flag, release, subscription, step and where the state is from."""

from __future__ import annotations

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from engine.views.model import RuleInForce, StatusView
from tui.wording import NOT_SAVED, flag_text, not_saved, safe_name, saved_text, shorten_middle

Part = tuple[str, str]
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
    """Text and style of each part that fits ``width`` cells, in the order they stand."""
    rule_style = {RuleInForce.RING: "$good bold", RuleInForce.NOBODY: "$bad bold"}.get(status.rule, "$warn bold")
    flag_style = "$good" if status.consistent_hashing and status.flag_known else "$dim"
    subscription = shorten_middle(safe_name(status.subscription), 30) if status.subscription else "no subscription"
    kind = f" ({status.subscription_type})" if status.subscription and status.subscription_type else ""
    several = ""
    if len(status.subscriptions) > 1 and status.subscription in status.subscriptions:
        several = f" [{status.subscriptions.index(status.subscription) + 1}/{len(status.subscriptions)} n p]"
    kept = f"{GAP}{words}" if (words := saved_text(saved, status.steps)) else ""
    # (importance, text, style): 0 stays longest.
    parts: list[tuple[int, str, str]] = [
        (4, " ringside", "$accent bold"),
        (1, f" {subscription}", "bold"),
        (8, kind, "$dim"),
        (3, several, "$dim"),
        (0, f"{GAP}{status.rule_text}", rule_style),
        (2, f"{GAP}{flag_text(status)}", flag_style),
        (5, f"{GAP}Pulsar {status.release}", ""),
        (2, f"{GAP}step {status.step}/{status.steps}", ""),
        (9, f"{GAP}seed {status.seed}", "$dim"),
        (6, f"{GAP}{safe_name(status.source)}", "$dim"),
        (1, f"{GAP}{NOT_SAVED}", "$bad bold") if not_saved(saved) else (7, kept, "$dim"),
        (3, f"{GAP}{status.problems} set aside" if status.problems else "", "$bad"),
    ]
    shown = list(parts)
    while len(shown) > 1 and Content("".join(text for _, text, _ in shown)).cell_length > width:
        shown.remove(max(shown, key=lambda part: part[0]))
    return [(text, style) for _, text, style in shown if text]
