"""The dialog of the ``a`` key: how many producers, how they start, route and are named; refusals name the field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Label

from engine.cluster.producer_commands import AddProducers
from engine.cluster.producer_events import ProducerPlan
from engine.errors import Rejection
from engine.routing.producer_settings import ACCESS_MODES
from themes import stylesheet
from tui.wording import short_topic

STARTS: Final = ("lazy", "eager")
ROUTERS: Final = ("round-robin", "single", "partial 3")
CLIENTS: Final = ("java", "python", "cpp")
_FIELD_OF: Final = {
    "count": "count",
    "client": "client",
    "accessMode": "access",
    "producerName": "producer-name",
}
"""Where a refusal belongs, by the engine's name of the argument; the router is the rest."""


class AddProducersScreen(ModalScreen[None]):
    """Stays open until they are created or escape is pressed; a refusal shows below the fields."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("down", "app.focus_next", "Next field", show=False),
        Binding("up", "app.focus_previous", "Previous field", show=False),
    ]

    def __init__(self, topic: str, proposed: ProducerPlan, do: Callable[[AddProducers], Rejection | None]) -> None:
        super().__init__()
        self._topic = topic
        self._proposed = proposed
        self._do = do

    def compose(self) -> ComposeResult:
        plan = self._proposed
        router = f"partial {plan.limit}" if plan.router == "partial" else plan.router
        fields = (
            ("count", "how many", str(plan.count), ()),
            ("start", "start: lazy or eager", "lazy" if plan.lazy else "eager", STARTS),
            ("router", "router: round-robin, single, partial LIMIT", router, ROUTERS),
            ("client", "client: java, python, cpp", plan.client, CLIENTS),
            ("access", "access mode: Shared, Exclusive, ...", plan.access_mode, ACCESS_MODES),
            ("producer-name", "name (nothing: brokers give one)", "", ()),
        )
        with Vertical(classes="dialog -dense"):
            for name, label, text, known in fields:
                yield Label(label, classes="dialog--label")
                suggester = SuggestFromList(known, case_sensitive=False) if known else None
                yield Input(text, id=name, suggester=suggester, compact=True)
            yield Label("", classes="dialog--error", markup=False)
            yield Label("enter creates, up and down change the field, escape cancels", classes="dialog--help")

    def on_mount(self) -> None:
        """Show where they will send; the cursor must not blink, so that a picture is a picture."""
        self.query_one(Vertical).border_title = f"add producers to {short_topic(self._topic)}"
        for field in self.query(Input):
            field.cursor_blink = False

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._complain("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Create them, or say what is wrong and where."""
        event.stop()
        plan = plan_typed({field.id or "": field.value.strip() for field in self.query(Input)})
        if isinstance(plan, Rejection):
            self._complain(plan.message, plan.field)
            return
        refused = self._do(AddProducers(self._topic, plan))
        if refused is None:
            self.dismiss()
        else:
            self._complain(str(refused), _FIELD_OF.get(refused.field, "router"))

    def _complain(self, text: str, field: str = "") -> None:
        label = self.query_one(".dialog--error", Label)
        label.update(text)
        label.set_class(bool(text), "-shown")
        if field:
            self.query_one(f"#{field}", Input).focus()

    def action_cancel(self) -> None:
        self.dismiss()


def plan_typed(texts: dict[str, str]) -> ProducerPlan | Rejection:
    """The plan that the fields spell; ``field`` of a refusal is the name of one of them.

    >>> plan_typed({"count": "2", "start": "lazy", "router": "partial 3"}).limit
    3
    >>> plan_typed({"count": "some"}).field
    'count'
    """
    count, start = texts.get("count", "1"), texts.get("start", "lazy")
    if not count.isascii() or not count.isdecimal() or len(count) > 9:
        return Rejection("SyntaxError", f"{count[:40]!r} is no number of producers", "count")
    if start not in STARTS:
        return Rejection("SyntaxError", f"producers start {' or '.join(STARTS)}, not {start[:40]!r}", "start")
    plan = ProducerPlan(
        count=int(count),
        name=texts.get("producer-name") or None,
        lazy=start == "lazy",
        client=texts.get("client") or "java",
        access_mode=texts.get("access") or "Shared",
    )
    router, _, limit = (texts.get("router") or ROUTERS[0]).partition(" ")
    if not limit:
        return replace(plan, router=router)
    if router != "partial" or not limit.strip().isdecimal():
        return Rejection("SyntaxError", "write round-robin, single, or partial with a limit: partial 3", "router")
    return replace(plan, router=router, limit=int(limit[:9]))
