"""What is done next: bindings of what is in front, those of other screens, text, commands, the mouse, other sizes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

from textual.app import App
from textual.command import CommandPalette
from textual.widget import Widget
from textual.widgets import Input

from tests.soak_ui.scenes import Launched
from tests.soak_ui.steps import CHECK, key_of, pasted, typed
from tests.soak_ui.texts import TEXTS
from tui.app import RingsideApp

SIZES: Final = {
    (80, 24): 30.0, (120, 40): 12.0, (200, 60): 2.0, (100, 30): 8.0, (60, 20): 6.0, (20, 5): 3.0, (40, 12): 4.0,
    (1, 1): 0.6, (300, 12): 0.6, (30, 60): 1.0, (79, 23): 3.0, (81, 25): 3.0, (119, 39): 1.0, (2, 50): 0.6,
    (132, 43): 1.0, (110, 10): 1.0,
}  # fmt: skip
"""How often each is chosen."""
LEAVING: Final = ("q", "ctrl+c", "ctrl+q")
"""They end a session, so they are pressed seldom."""
NAMED: Final = (
    "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab", "shift+tab", "enter", "escape", "space",
    "backspace", "delete", "ctrl+r", "ctrl+p", "ctrl+a", "ctrl+e", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+v", "ctrl+z",
    "ctrl+left", "ctrl+right", "shift+up", "shift+down", "shift+left", "shift+right", "shift+end", "f1", "f2", "f12",
    "ctrl+home", "ctrl+end", "insert", "ctrl+x", "ctrl+d", "ctrl+l", "ctrl+pageup", "ctrl+shift+left",
)  # fmt: skip
PRINTABLE: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/:?[]{}+-_.,;'\"\\|<>=!#$%&*()@^`~ "
MOVES: Final = ("up", "down", "left", "right", "enter", "tab", "home", "end", "pageup", "pagedown", "g", "G", "j", "k")
POINTING: Final = ("click", "double", "triple", "right", "middle", "ctrl-click", "shift-click", "move", "wheel-up",
                   "wheel-down", "wheel-left", "wheel-right", "down")  # fmt: skip
POINTING_WEIGHTS: Final = (8, 4, 1, 0.5, 0.5, 0.5, 0.5, 3, 2, 2, 0.3, 0.3, 0.5)
COMMANDS: Final = (
    "add {new}", "add {new} priority {n}", "add {new} ranges 0-99,200-65535", "kill {consumer}", "kill #{n}",
    "rename {consumer} to {new}", "priority {consumer} {n}", "set {setting}={n}", "toggle {setting}",
    "toggle activeConsumerFailoverConsistentHashing", "set activeConsumerFailoverConsistentHashing true",
    "set activeConsumerFailoverConsistentHashingReplicas {n}", "release {release}", "topic add {new}",
    "topic add persistent://shop/orders/{new} partitions {n}", "topic remove {topic}", "topic partitions {topic} {n}",
    "split {namespace} LARGEST", "split {namespace} HOT flow_or_qps_equally_divide", "split {namespace} LARGEST at {n}",
    "undo", "redo", "home", "end", "step {n}", "branch {n}", "subscribe {new} to {topic}",
    "subscribe {new} to {topic} unordered", "share {mode}", "share {mode} points {n}", "send {new}",
    "send a b c times {n}", "wait {n}", "ack all", "ack {consumer}", "ack {consumer} key a count {n}",
    "producer add", "producer add count {n} lazy partial 2", "producer send all times {n}", "producer send #0 key k",
    "producer close #{n}", "partition fail {n}", "partition recover {n}", "{new}", "{hostile}", "add {hostile}",
    "idle>{n}", "type=key", "[/]", "0x00000000", "billing",
)  # fmt: skip
SETTINGS: Final = (
    "loadBalancerNamespaceBundleMaxTopics", "loadBalancerNamespaceBundleMaxMsgRate", "defaultNumberOfNamespaceBundles",
    "subscriptionKeySharedUseConsistentHashing", "subscriptionKeySharedConsistentHashingReplicaPoints",
    "subscriptionKeySharedUseClassicPersistentImplementation", "defaultNamespaceBundleSplitAlgorithm", "nonsense",
)  # fmt: skip
MODES: Final = ("auto-split", "consistent-auto-split", "sticky", "consistent-sticky", "nonsense")
RELEASES: Final = ("4.2.4", "4.0.7", "3.0.2", "2.10.1", "5.0.0", "x")
NUMBERS: Final = ("0", "1", "2", "3", "5", "10", "40", "-1", "65536", "1e9", "99999999999999999999")
HOSTILE: Final = (
    "[/x]",
    "[@click=app.quit]a[/]",
    "'",
    '"a b"',
    "消費者",
    "\\",
    "a\tb",
    "#0",
    "x" * 260,
    "$(touch pwned)",
)
BURSTS: Final = (1, 2, 3, 4, 6, 10)
BURST_WEIGHTS: Final = (60, 14, 10, 8, 5, 3)
WAITS: Final = ("~", "~300", "~1200", "~20", "~3")
WAIT_WEIGHTS: Final = (80, 6, 2, 6, 6)


class Chooser:
    """One person at the keyboard for one session of about ``keys`` keys."""

    def __init__(self, seed: str, keys: int, *, check_every: int = 25) -> None:
        self._random = random.Random(seed)
        self._left = keys
        self._check_every = check_every
        self._until_check = check_every
        self._size = (80, 24)
        self._everywhere: list[str] = []

    def size(self) -> tuple[int, int]:
        """Another size."""
        (chosen,) = self._random.choices(list(SIZES), list(SIZES.values()))
        return chosen

    def __call__(self, launched: Launched) -> Sequence[str]:
        """What happens at once, and the wait behind it; nothing when there were enough keys."""
        if self._left <= 0:
            return ()
        self._size = tuple(launched.app.size)
        (count,) = self._random.choices(BURSTS, BURST_WEIGHTS)
        burst: list[str] = []
        while len(burst) < count:
            burst += self._some(launched.app)
        self._left -= len(burst)
        self._until_check -= len(burst)
        (wait,) = self._random.choices(WAITS, WAIT_WEIGHTS)
        if self._until_check <= 0 or self._left <= 0:
            self._until_check = self._check_every
            return (*burst, "~300", CHECK)
        return (*burst, wait)

    def _some(self, app: App[Any]) -> list[str]:
        choose, focused = self._random.random(), app.focused
        if isinstance(focused, Input):
            return self._text(app) if choose < 0.6 else self._any(app)
        if choose < 0.5:
            return [self._bound(app)]
        if choose < 0.66:
            return [self._random.choice(MOVES)]
        return self._any(app)

    def _any(self, app: App[Any]) -> list[str]:
        choose = self._random.random()
        if choose < 0.2:
            return [self._bound(app)]
        if choose < 0.34:
            return [self._not_leaving(self._random.choice(NAMED))]
        if choose < 0.46:
            return [self._not_leaving(key_of(self._random.choice(PRINTABLE)))]
        if choose < 0.76:
            return [self._pointed(app)]
        if choose < 0.84:
            return ["paste:" + self._random.choice(list(TEXTS))]
        if choose < 0.87:
            return ["size@{}x{}".format(*self.size())]
        if choose < 0.88:
            return [self._random.choice(("blur", "focus"))]
        return self._command(app)

    # keys

    def _bound(self, app: App[Any]) -> str:
        """A key that means something here."""
        try:
            keys = sorted(app.screen.active_bindings)
        except Exception:  # no screen yet
            keys = []
        known = self._everywhere
        known += [key for key in keys if key not in known]
        if not keys or self._random.random() < 0.1:
            keys = known or ["enter"]
        return self._not_leaving(self._random.choice(keys))

    def _not_leaving(self, key: str) -> str:
        return "escape" if key in LEAVING and self._random.random() < 0.97 else key

    # text

    def _text(self, app: App[Any]) -> list[str]:
        choose = self._random.random()
        if choose < 0.3:
            return [key_of(self._random.choice(PRINTABLE))]
        if choose < 0.5:
            return ["enter"]
        if choose < 0.56:
            return ["escape"]
        if choose < 0.66:
            return [self._random.choice(NAMED[:24])]
        if choose < 0.75:
            return ["paste:" + self._random.choice(list(TEXTS))]
        if isinstance(app.screen, CommandPalette):
            return [*typed(self._random.choice(("hel", "quit", "zo", "sh", "x", "add")))]
        text = self._words(app)
        if choose < 0.95:
            return ["ctrl+u", pasted(text), "enter"]
        return [*typed(text[:12]), "enter"]

    def _command(self, app: App[Any]) -> list[str]:
        return [self._random.choice(("colon", "colon", "slash", "f", "t", "a")), pasted(self._words(app)), "enter"]

    def _words(self, app: App[Any]) -> str:
        """A command that may well be carried out, with names that there are."""
        form = self._random.choice(COMMANDS)
        names: dict[str, list[str]] = {"consumer": [], "topic": [], "namespace": []}
        store = getattr(app, "store", None) if isinstance(app, RingsideApp) else None
        if store is not None:
            state = store.timeline.state
            names["namespace"] = sorted(state.namespaces)
            listed = (*state.subscriptions, *state.key_subscriptions)
            names["consumer"] = [
                f'"{consumer.name}"' for subscription in listed for consumer in subscription.consumers[:20]
            ]
            names["topic"] = [*list(state.topics)[:20]]
        pick = self._random.choice
        return form.format(
            new=f"{pick('abcdefgh')}-{self._random.randrange(30)}",
            hostile=pick(HOSTILE),
            n=pick(NUMBERS),
            setting=pick(SETTINGS),
            release=pick(RELEASES),
            mode=pick(MODES),
            **{what: pick(some) if some else "none" for what, some in names.items()},
        )

    # the mouse

    def _pointed(self, app: App[Any]) -> str:
        (how,) = self._random.choices(POINTING, POINTING_WEIGHTS)
        x, y = self._place(app)
        if how == "down" and self._random.random() < 0.7:
            to_x, to_y = self._place(app)
            return f"drag@{x},{y},{to_x},{to_y}"
        return f"{how}@{x},{y}"

    def _place(self, app: App[Any]) -> tuple[int, int]:
        """Somewhere on a widget, or anywhere."""
        width, height = self._size
        if self._random.random() < 0.7 and app.screen_stack:
            widgets = [widget for widget in _leaves(app) if widget.region.area]
            if widgets:
                region = self._random.choice(widgets).region
                x = region.x + self._random.randrange(max(1, region.width))
                y = region.y + self._random.randrange(max(1, region.height))
                if 0 <= x < width and 0 <= y < height:
                    return x, y
        return self._random.randrange(width), self._random.randrange(height)


def _leaves(app: App[Any]) -> list[Widget]:
    screen = app.screen
    return [widget for widget in screen.walk_children() if widget.is_on_screen or widget.display]
