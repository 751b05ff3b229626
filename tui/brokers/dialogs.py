"""The dialog of the screen of brokers: settings of the load managers, one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical

from engine.balance.settings import LoadSettings
from engine.errors import Rejection
from tui.kit.dialog import Dialog
from tui.kit.plain_text import PlainLabel
from tui.kit.prompt import TypedLine

Pairs = tuple[tuple[str, str], ...]
THRESHOLDS: Final[dict[str, tuple[str, ...]]] = {
    "ThresholdShedder": (
        "loadBalancerBrokerThresholdShedderPercentage",
        "loadBalancerBundleUnloadMinThroughputThreshold",
        "loadBalancerHistoryResourcePercentage",
    ),
    "OverloadShedder": ("loadBalancerBrokerOverloadedThresholdPercentage",),
    "UniformLoadShedder": (
        "loadBalancerMsgRateDifferenceShedderThreshold",
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
        "maxUnloadPercentage",
        "minUnloadMessage",
    ),
    "AvgShedder": (
        "loadBalancerAvgShedderLowThreshold",
        "loadBalancerAvgShedderHighThreshold",
        "loadBalancerAvgShedderHitCountLowThreshold",
        "loadBalancerAvgShedderHitCountHighThreshold",
    ),
    "TransferShedder": (
        "loadBalancerBrokerLoadTargetStd",
        "loadBalancerSheddingConditionHitCountThreshold",
        "loadBalancerMaxNumberOfBrokerSheddingPerCycle",
        "loadBalanceSheddingDelayInSeconds",
    ),
}
"""What rules when each shedder acts; what all of them know is added below."""
OTHER: Final = "other"


class SettingsScreen(Dialog[Pairs]):
    """The thresholds of a shedder with their values, and one line for any other setting (NAME=VALUE)."""

    def __init__(self, shedder: str, settings: LoadSettings, accept: Callable[[Pairs], Rejection | None]) -> None:
        super().__init__(f"settings of {shedder}", accept)
        self._names = (*THRESHOLDS.get(shedder, ()), "loadBalancerSheddingGracePeriodMinutes")
        self._texts = {name: _text(getattr(settings, name)) for name in self._names}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide"):
            for name in self._names:
                yield PlainLabel(name, classes="dialog--label")
                yield TypedLine(self._texts[name], id=name, max_length=20)
            yield PlainLabel("another one, NAME=VALUE", classes="dialog--label")
            yield TypedLine("", id=OTHER)
            yield PlainLabel("", classes="dialog--error")
            yield PlainLabel("enter takes them over, tab next field, escape cancels", classes="dialog--help")

    def submit(self) -> None:
        pairs = [(name, text) for name in self._names if (text := self.text_of(name).strip()) != self._texts[name]]
        other = self.text_of(OTHER).strip()
        if other:
            name, sign, text = other.partition("=")
            if not sign:
                self.complain("write NAME=VALUE, such as loadBalancerCPUResourceWeight=0.5", OTHER)
                return
            pairs.append((name.strip(), text.strip()))
        for name, text in pairs:
            refused = LoadSettings().with_setting(name, text)
            if isinstance(refused, Rejection):
                self.complain(str(refused), self.field_of(refused))
                return
        self.finish(tuple(pairs))

    def field_of(self, refused: Rejection) -> str:
        return refused.field if refused.field in self._names else OTHER


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
