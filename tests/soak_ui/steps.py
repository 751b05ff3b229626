"""What a person and a terminal can do to the app, each as one word: a line of them is a session that can be replayed.

::

    x  up  ctrl+p  left_square_bracket    a key by Textual's name
    click@10,5  double@…  triple@…        the left button; also right@, middle@, ctrl-click@ and shift-click@
    drag@10,5,30,8                        press, move, release
    down@10,5                             press and do not release
    move@10,5  wheel-up@…  wheel-down@…   the mouse; also wheel-left@ and wheel-right@
    paste:huge  paste=kill%20a            a text by its name (see ``texts``), or itself
    size@80x24                            another size of the terminal
    blur  focus                           the terminal is in front, or not
    ~  ~300                               wait until all is done, or so many milliseconds of simulated time
    =                                     compare with the headless twin

What has no ``~`` between happens at once.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote

from textual import events
from textual.app import App
from textual.geometry import Size
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.message import Message

from tests.soak_ui.terminal import RecordingDriver
from tests.soak_ui.texts import TEXTS

SETTLED_MS: Final = 120
"""So long ``~`` waits: several of the timers that arrange and paint."""
WAIT: Final = "~"
CHECK: Final = "="

_BUTTONS: Final = {"click": 1, "double": 1, "triple": 1, "middle": 2, "right": 3, "ctrl-click": 1, "shift-click": 1}
_TIMES: Final = {"double": 2, "triple": 3}
_WHEELS: Final = {
    "wheel-up": (events.MouseScrollUp, 0, -1),
    "wheel-down": (events.MouseScrollDown, 0, 1),
    "wheel-left": (events.MouseScrollLeft, -1, 0),
    "wheel-right": (events.MouseScrollRight, 1, 0),
}
POINTING: Final = (*_BUTTONS, *_WHEELS, "move", "down")
"""Words that are followed by ``@x,y``."""


def is_input(step: str) -> bool:
    """Whether a step comes from outside: waits and comparisons do not count as keys."""
    return not step.startswith((WAIT, CHECK)) or (len(step) > 1 and step[0] == CHECK)


def kind_of(step: str) -> str:
    """What a step is in a table of kinds.

    >>> [kind_of(step) for step in ("x", "click@1,2", "paste:huge", "paste=a", "size@80x24")]
    ['x', 'click', 'paste', 'paste', 'size']
    """
    for mark in "@:=":
        head, result, _ = step.partition(mark)
        if result and head:
            return head
    return step


def milliseconds(step: str) -> int:
    """How long a waiting step waits."""
    return int(step[1:]) if len(step) > 1 else SETTLED_MS


def pasted(text: str) -> str:
    """The step that pastes a text.

    >>> pasted("kill a")
    'paste=kill%20a'
    """
    # A name may have half a character.
    return "paste=" + quote(text, safe="/,#-._()[]{}@!$&*+;:<>|~", errors="surrogatepass")


def key_of(character: str) -> str:
    """The step that types a character.

    >>> [key_of(character) for character in "a/ ["]
    ['a', 'slash', 'space', 'left_square_bracket']
    """
    return _character_to_key(character)


def post(app: App[Any], step: str) -> None:
    """Let a step reach the app in the way that the terminal's driver goes."""
    driver = app._driver
    assert driver is not None
    if step.startswith("size@"):
        width, _, height = step.removeprefix("size@").partition("x")
        size = Size(int(width), int(height))
        if isinstance(driver, RecordingDriver):
            driver.show((size.width, size.height))
        driver._size = size
        driver.send_message(events.Resize(size, size))
        return
    for message in messages_of(step):
        driver.process_message(message)


def messages_of(step: str) -> Iterator[Message]:
    """What the terminal's driver makes of a step."""
    head, pointed, place = step.partition("@")
    if pointed and head == "drag":
        x, y, to_x, to_y = (int(number) for number in place.split(","))
        yield from _pressed(x, y)
        yield _mouse(events.MouseMove, (x + to_x) // 2, (y + to_y) // 2, 1)
        yield _mouse(events.MouseMove, to_x, to_y, 1)
        yield _mouse(events.MouseUp, to_x, to_y, 1)
    elif pointed and head in POINTING:
        x, y = (int(number) for number in place.split(","))
        yield from _pointed(head, x, y)
    elif step.startswith("paste:"):
        yield events.Paste(TEXTS[step.removeprefix("paste:")])
    elif step.startswith("paste="):
        yield events.Paste(unquote(step.removeprefix("paste="), errors="surrogatepass"))
    elif step == "blur":
        yield events.AppBlur()
    elif step == "focus":
        yield events.AppFocus()
    else:
        yield events.Key(step, _character_of(step))


def _pointed(head: str, x: int, y: int) -> Iterator[Message]:
    if head == "move":
        yield _mouse(events.MouseMove, x, y, 0)
    elif head == "down":
        yield from _pressed(x, y)
    elif head in _WHEELS:
        kind, by_x, by_y = _WHEELS[head]
        yield _mouse(kind, x, y, 0, delta=(by_x, by_y))
    else:
        how = {"ctrl": head == "ctrl-click", "shift": head == "shift-click"}
        yield _mouse(events.MouseMove, x, y, 0)
        for _ in range(_TIMES.get(head, 1)):
            yield _mouse(events.MouseDown, x, y, _BUTTONS[head], **how)
            yield _mouse(events.MouseUp, x, y, _BUTTONS[head], **how)


def _pressed(x: int, y: int) -> Iterator[Message]:
    yield _mouse(events.MouseMove, x, y, 0)
    yield _mouse(events.MouseDown, x, y, 1)


def _mouse(
    kind: Callable[..., events.MouseEvent],
    x: int,
    y: int,
    button: int,
    *,
    ctrl: bool = False,
    shift: bool = False,
    delta: tuple[int, int] = (0, 0),
) -> events.MouseEvent:
    return kind(None, x, y, *delta, button, shift, False, ctrl, x, y, None)


def _character_of(key: str) -> str | None:
    if len(key) == 1:
        return key
    name = REPLACED_KEYS.get(key, key)
    try:
        return unicodedata.lookup(_get_unicode_name_from_key(name).replace("_", " "))
    except KeyError:
        return None


@dataclass(frozen=True, slots=True)
class Session:
    """All that it takes to replay: where it begins, how large the terminal is, and what is done."""

    scene: str
    size: tuple[int, int]
    steps: tuple[str, ...]

    @property
    def keys(self) -> int:
        return sum(map(is_input, self.steps))

    def with_steps(self, steps: Sequence[str]) -> Session:
        return Session(self.scene, self.size, tuple(steps))

    def __str__(self) -> str:
        width, height = self.size
        return f"{self.scene} {width}x{height} {' '.join(self.steps)}"


def session_of(line: str) -> Session:
    """What a line says.

    >>> str(session_of("three-splits 80x24 b end end ~"))
    'three-splits 80x24 b end end ~'
    """
    scene, size, *steps = line.split()
    width, _, height = size.partition("x")
    return Session(scene, (int(width), int(height)), tuple(steps))


def typed(text: str) -> Iterable[str]:
    """A key for every character."""
    return map(key_of, text)
