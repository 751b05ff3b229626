"""The dialogs of the screen of producers: creating some, sending by them, and their rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.suggester import SuggestFromList
from textual.widgets import Input

from engine.cluster.commands import AddProducers, SendByProducers, SetProducerRate
from engine.cluster.producers.state import ProducerPlan
from engine.errors import Rejection
from engine.routing.producers.settings import ACCESS_MODES, DEFAULT_MSG_SIZE_BYTES
from tui.kit.bindings import Binding
from tui.kit.dialog import Dialog
from tui.kit.plain_text import PlainLabel
from tui.kit.prompt import TypedLine
from tui.kit.wording import short_topic, shorten_middle

STARTS: Final = ("lazy", "eager")
ROUTERS: Final = ("round-robin", "single", "partial 3")
CLIENTS: Final = ("java", "python", "cpp")
_FIELD_OF: Final = {
    "count": "count",
    "client": "client",
    "accessMode": "access",
    "producerName": "producer-name",
}
"""The fields that refusals are about, by the engine's name of the argument; all others are about the router."""


class AddProducersScreen(Dialog[AddProducers]):
    """Asks how many producers to create, and how they start, route and are named."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Create")]

    def __init__(self, topic: str, proposed: ProducerPlan, accept: Callable[[AddProducers], Rejection | None]) -> None:
        super().__init__(f"add producers to {short_topic(topic)}", accept)
        self._topic = topic
        self._proposed = proposed

    def compose_box(self) -> ComposeResult:
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
                yield PlainLabel(label, classes="dialog--label")
                suggester = SuggestFromList(known, case_sensitive=False) if known else None
                yield TypedLine(text, id=name, suggester=suggester)
            yield PlainLabel("", classes="dialog--error")

    def submit(self) -> None:
        plan = plan_typed({field.id or "": field.value.strip() for field in self.query(Input)})
        if isinstance(plan, Rejection):
            self.complain(plan.message, plan.field)
            return
        self.finish(AddProducers(self._topic, plan))

    def field_of(self, refused: Rejection) -> str:
        return _FIELD_OF.get(refused.field, "router")


def plan_typed(texts: dict[str, str]) -> ProducerPlan | Rejection:
    """The plan that the fields spell; ``field`` of a refusal is the name of one of them.

    >>> plan_typed({"count": "2", "start": "lazy", "router": "partial 3"}).limit
    3
    >>> plan_typed({"count": "some"}).field
    'count'
    """
    count, start = texts.get("count", "1"), texts.get("start", "lazy")
    if not count.isascii() or not count.isdecimal() or len(count) > 9:
        return Rejection("SyntaxError", f"{count[:40]!r} is not a number of producers", "count")
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


class SendByProducersScreen(Dialog[SendByProducers]):
    """Asks what the producer with a number sends, or every producer where that is None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Send")]

    def __init__(
        self, topic: str, number: int | None, who: str, key: str, accept: Callable[[SendByProducers], Rejection | None]
    ) -> None:
        super().__init__(f"send by {shorten_middle(who, 40)}", accept)
        self._topic = topic
        self._number = number
        self._key = key

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield PlainLabel("how many messages", classes="dialog--label")
            yield TypedLine("1", id="times", restrict=r"[0-9]*", max_length=9)
            yield PlainLabel("key (nothing: no key, so the router decides)", classes="dialog--label")
            yield TypedLine(self._key, id="key")
            yield PlainLabel("", classes="dialog--error")

    def submit(self) -> None:
        times = self.text_of("times")
        if not times:
            self.complain("write how many messages are sent, 1 or more", "times")
            return
        key = self.text_of("key") or None
        self.finish(SendByProducers(self._topic, self._number, key, int(times)))

    def field_of(self, refused: Rejection) -> str:
        return "key" if refused.field == "key" else "times"


class ProducerRateScreen(Dialog[SetProducerRate]):
    """Asks what the producer with a number sends a second, or every producer where that is None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Set")]

    def __init__(
        self,
        topic: str,
        number: int | None,
        who: str,
        msgs_per_sec: float,
        accept: Callable[[SetProducerRate], Rejection | None],
    ) -> None:
        super().__init__(f"rate of {shorten_middle(who, 40)}", accept)
        self._topic = topic
        self._number = number
        self._msgs_per_sec = msgs_per_sec

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog -dense"):
            yield PlainLabel("messages a second (0: none)", classes="dialog--label")
            yield TypedLine(f"{self._msgs_per_sec:g}", id="msgs", restrict=r"[0-9.]*", max_length=12)
            yield PlainLabel("bytes of each", classes="dialog--label")
            yield TypedLine(str(DEFAULT_MSG_SIZE_BYTES), id="size", restrict=r"[0-9]*", max_length=9)
            yield PlainLabel("key of all (nothing: no key, so the router decides)", classes="dialog--label")
            yield TypedLine("", id="key")
            yield PlainLabel("or how many keys in turn", classes="dialog--label")
            yield TypedLine("", id="keys", restrict=r"[0-9]*", max_length=9)
            yield PlainLabel("", classes="dialog--error")

    def submit(self) -> None:
        try:
            rate = float(self.text_of("msgs"))
        except ValueError:
            self.complain("write how many messages a second, such as 900 or 0.5", "msgs")
            return
        size, key, keys = self.text_of("size"), self.text_of("key") or None, int(self.text_of("keys") or 0)
        if not size:
            self.complain("write how many bytes a message has", "size")
        elif key is not None and keys:
            self.complain("one key or several in turn; leave one field empty", "keys")
        else:
            self.finish(SetProducerRate(self._topic, self._number, rate, int(size), key, keys))

    def field_of(self, refused: Rejection) -> str:
        return {"key": "key", "keys": "keys", "size": "size", "size_bytes": "size"}.get(refused.field, "msgs")
