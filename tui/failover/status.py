"""The line at the top: the rule in force first, then flag, release, subscription, step and where the state is from."""

from __future__ import annotations

from engine.views.failover.model import RuleInForce, StatusView
from tui.failover.words import flag_text
from tui.kit.status_line import GAP, KEPT, Part, Ranked, fitted_parts, place_among, saved_part, step_part
from tui.kit.wording import safe_name, shorten_middle


def status_parts(status: StatusView, saved: str, width: int, title: str = "") -> list[Part]:
    """Text and style of each part that fits ``width`` cells, in their order.

    ``title`` is what the subscription is called where that is not its key. Rule, flag, step and that steps are not
    saved stay longest; a long name is shortened before they go.
    """
    return fitted_parts(lambda cells: _parts(status, saved, cells, title), width)


def _parts(status: StatusView, saved: str, name_cells: int, title: str) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    rule_style = _rule_style(status)
    flag_style = rule_style.removesuffix(" bold") if status.consistent_hashing and status.flag_known else "$dim"
    subscription = "no Failover subscription"
    if status.subscription:
        subscription = shorten_middle(title or safe_name(status.subscription), name_cells)
    kind = f" ({status.subscription_type})" if status.subscription and status.subscription_type else ""
    several = ""
    if status.subscription in status.subscriptions:
        several = place_among(status.subscriptions.index(status.subscription), len(status.subscriptions))
    # Without a subscription nothing is decided, so no rule is shown.
    rule = f"{GAP}{status.rule_text}" if status.subscription else ""
    parts: list[Ranked] = [
        (5, " ringside", "$accent bold"),
        (KEPT, f" {subscription}", "bold"),
        (9, kind, "$dim"),
        (4, several, "$dim"),
        (0, rule, rule_style),
        (1, f"{GAP}{flag_text(status)}", flag_style),
        (6, f"{GAP}Pulsar {status.release}", ""),
        step_part(status.step, status.steps),
        (10, f"{GAP}seed {status.seed}", "$dim"),
        (7, f"{GAP}{safe_name(status.source)}", "$dim"),
        saved_part(saved, status.steps, 8),
        (KEPT, f"{GAP}{status.problems} set aside" if status.problems else "", "$bad"),
    ]
    return [part for part in parts if part[1]]


def _rule_style(status: StatusView) -> str:
    """Either rule is good as long as the other one would not be better."""
    if status.rule is RuleInForce.NOBODY:
        return "$bad bold"
    if status.flag_change is None:
        return "bold"
    return "$warn bold" if status.flag_change == "better" else "$good bold"
