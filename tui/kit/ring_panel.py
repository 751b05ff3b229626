"""The hash space of the shown subscription in three views: ring, hash map, and one consumer lit."""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.timer import Timer

from engine.views.failover.model import RingView
from engine.views.reported.model import Comparison
from tui.drawing.arcs import IntArray, arcs_of, hash_label
from tui.drawing.glyphs import glyphs_of
from tui.drawing.hashmap import draw_hash_map
from tui.drawing.ring import draw_ring
from tui.drawing.ring_dots import MANY_DOTS, ascends, thinned
from tui.drawing.ring_picture import Dots, Flash, RingMode, RingPicture, TwoSides, freshness, ghost_strength
from tui.kit.bindings import Binding
from tui.kit.line_widget import LinePanel
from tui.kit.plain_text import set_subtitle, set_tooltip
from tui.kit.reported import BLOCKED_SIGN, comparison_text
from tui.kit.wording import percent, safe_name, short_topic

if TYPE_CHECKING:
    from tui.drawing.pointing import Pointed

FLASH_FRAME_SECONDS = 0.06
NAMED = 4
"""So many topics of a place are named."""
READABLE_CONSUMERS = 24
"""With more consumers many arcs are narrower than a pixel, so the hash map is shown unless the user chooses."""


class ViewMode(Enum):
    """The three views of one state; ``v`` goes from one to the next."""

    RING = "ring"
    HASH_MAP = "hash map"
    FOCUS = "focus"

    @classmethod
    def named(cls, view: str) -> ViewMode:
        """Return a view by the word that scripts have for it: ring, map or focus."""
        return cls.HASH_MAP if view == "map" else cls(view)

    def following(self) -> ViewMode:
        """The next one, and the first after the last."""
        modes = list(ViewMode)
        return modes[(modes.index(self) + 1) % len(modes)]


def _arc_at(points: IntArray, at: int) -> int:
    from tui.drawing.pointing import arc_at

    return arc_at(points, at)


class Owner(Protocol):
    """What the drawing must know of a consumer."""

    @property
    def consumer_id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def tag(self) -> str: ...

    @property
    def colour(self) -> int: ...


class RingPanel(LinePanel, can_focus=True):
    """One drawing for a state, a size and a view mode."""

    DEFAULT_CSS = """
    RingPanel { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,right", "select(1)", "Next consumer", show=False),
        Binding("up,k,left", "select(-1)", "Previous consumer", show=False),
    ]

    # Not ``reactive``: the panel paints itself only when the picture differs.
    flashes = True
    """Whether a change stands out for a moment."""
    few_words: var[tuple[str, ...]] = var(())
    """The rule in force in two words or three, for the middle of a small ring."""
    ring: var[RingView | None] = var(None)
    """What is drawn; None before the first state."""
    rows: var[tuple[Owner, ...]] = var(())
    """The consumers, for their colours and letter tags; owners in ``ring`` are positions in here."""
    weights: var[tuple[int, ...]] = var(())
    """How many partitions each consumer has, for a ring that decides nothing; () where that is not shown."""
    waiting: var[frozenset[int]] = var(frozenset())
    """Hashes where messages wait; they are marked."""
    marks: var[tuple[int, ...]] = var(())
    """Hashes where brokers reported that messages are held back, with or without a dot; they are marked too."""
    compared: var[Comparison | None] = var(None)
    """What brokers reported beside the model; None where nobody compared it."""
    blocked: var[frozenset[int]] = var(frozenset())
    """Ids of consumers that cannot be served by what brokers reported: a sign follows their letters."""
    selected: var[int] = var(-1)
    """Id of the selected consumer, lit in the focus view."""
    view_mode: var[ViewMode | None] = var(None)
    """The chosen view; None leaves it to the number of consumers."""
    topic: var[str] = var("")
    """The topic that stands out, "" for none."""
    heir_of: Callable[[Sequence[str], int, int], int | None] | None = None
    """Who gets a hash of the ring if its consumer goes: positions among the names on it. None where nobody inherits."""
    intensity: var[float] = var(0.0)
    """How fresh the last change is, 1 to 0: what changed flashes and settles."""
    ghost: var[float] = var(0.0)
    """How strong the ring before it still shows, 1 to 0."""
    dots: var[str] = var("partitions")

    _hovered: Offset | None = None
    _flash_timer: Timer | None = None
    _flash_began: float = 0.0

    @dataclass
    class Chosen(Message):
        """A consumer was clicked on."""

        consumer_id: int

    @dataclass
    class Step(Message):
        """The next or the previous consumer is to be selected."""

        by: int

    _picture: RingPicture | None = None
    _latest: RingPicture | None = None
    _before: RingPicture | None = None
    _drawn: IntArray | slice = slice(None)

    @property
    def view_mode_in_use(self) -> ViewMode:
        """The chosen view, or the one that the number of consumers suggests."""
        if self.view_mode is not None:
            return self.view_mode
        return ViewMode.HASH_MAP if len(self.rows) > READABLE_CONSUMERS else ViewMode.RING

    def watch_ring(self) -> None:
        """Draw another state; a flash begins with the picture before."""
        self._before = self._latest
        self.forget()  # first: the end of a flash would draw what is forgotten
        self._stop_flash()

    def watch_selected(self) -> None:
        if self.view_mode_in_use is ViewMode.FOCUS:
            self.forget()

    def watch_topic(self) -> None:
        self.forget()

    watch_few_words = watch_weights = watch_topic

    def watch_rows(self) -> None:
        self.forget()
        self._name_view()

    watch_view_mode = watch_waiting = watch_marks = watch_compared = watch_blocked = watch_colours = watch_rows

    def watch_dots(self) -> None:
        self._name_view()

    def watch_intensity(self) -> None:
        self.draw_next_frame()

    watch_ghost = watch_intensity

    def forget(self) -> None:
        """Draw and name the picture again."""
        self._picture = None
        super().forget()

    def _name_view(self) -> None:
        auto = " (auto)" if self.view_mode is None else ""
        glyphs = glyphs_of(self.ascii_only)
        dot = glyphs.marker if self.view_mode_in_use is ViewMode.HASH_MAP else glyphs.dot
        # Without colours dots are letters like everything else.
        legend = "" if self.colours.mono else f"{dot} {self.dots}, "
        legend += f"{glyphs.waiting} waiting, " if self.waiting else ""
        legend += f"{glyphs.waiting} reported blocked, " if self.marks or self.blocked else ""
        view = f"v: {self.view_mode_in_use.value}"
        room = self.size.width - 4
        forms = [f"{legend}{facts}{view}{auto}" for facts in (*self._compared_texts(), "")]
        forms += [f"{legend}{view}", view]
        set_subtitle(self, next((form for form in forms if len(form) <= room), view))

    def _compared_texts(self) -> tuple[str, ...]:
        """How many facts agree, or differ, the longest form first; nothing where none was compared."""
        compared = self.compared
        if compared is None or not compared.compared:
            return ()
        if not compared.disagreements:
            return (f"{comparison_text(compared)}, ",)
        hatch, count = glyphs_of(self.ascii_only).hatch, f"{len(compared.disagreements):,}"
        return (
            f"{hatch} {count} of {compared.compared:,} reported differ (V lists them), ",
            f"{hatch} {count} of {compared.compared:,} differ (V), ",
            f"{hatch} {count} differ, ",
        )

    def on_resize(self) -> None:
        self._name_view()

    def show_next_view(self) -> None:
        self.view_mode = self.following_view

    @property
    def following_view(self) -> ViewMode:
        """The view after the present one; one consumer is lit only where one is selected."""
        following = self.view_mode_in_use.following()
        return ViewMode.RING if following is ViewMode.FOCUS and self.selected < 0 else following

    def flash(self) -> None:
        """Let what the last step changed move and settle in SETTLED_S, and show what was before until GHOST_S.

        The next step starts this again.
        """
        ring = self.ring
        moved = ring is not None and bool(ring.changed_arcs.any() or ring.topic_moved.any())
        if not self.flashes or ring is None or not (moved or ring.sent):
            return
        self._stop_flash()
        self.ghost = 1.0 if moved else 0.0
        self.intensity = 1.0
        self._flash_began = get_running_loop().time()
        self._flash_timer = self.set_interval(FLASH_FRAME_SECONDS, self._settle)

    def _settle(self) -> None:
        # By the clock, not by the number of calls: where a frame takes long, the timer leaves calls out.
        elapsed_s = get_running_loop().time() - self._flash_began
        self.ghost = min(self.ghost, ghost_strength(elapsed_s))
        self.intensity = freshness(elapsed_s)
        if self.intensity == self.ghost == 0.0:
            self._stop_flash()

    def _stop_flash(self) -> None:
        if self._flash_timer is not None:
            self._flash_timer.stop()
            self._flash_timer = None
        self.intensity = self.ghost = 0.0

    # the mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say what is under the mouse."""
        offset = event.get_content_offset(self)
        if offset != self._hovered:
            self._hovered = offset
            set_tooltip(self, *(self._about(offset) if offset is not None else ()))

    def on_leave(self) -> None:
        self._hovered = None
        set_tooltip(self)

    def on_click(self, event: events.Click) -> None:
        """Select the consumer that was clicked on."""
        offset = event.get_content_offset(self)
        row = self._owner_in(self._pointed(offset)) if offset is not None else None
        if row is not None:
            self.post_message(self.Chosen(row.consumer_id))

    def _pointed(self, offset: Offset) -> Pointed | None:
        picture = self.picture()
        if picture is None or not len(picture.arcs.points):
            return None
        from tui.drawing.pointing import pointed

        as_map = self.view_mode_in_use is ViewMode.HASH_MAP
        return pointed(picture, self.size, offset, mono=self.colours.mono, as_map=as_map)

    def _owner_in(self, place: Pointed | None) -> Owner | None:
        """The consumer of a place; of several dots that of the first."""
        if place is None or self.ring is None:
            return None
        if place.owner is not None:
            return next((row for row in self.rows if row.colour == place.owner), None)
        if place.at is not None:
            owner = int(self.ring.point_owners[_arc_at(self.ring.points, place.at)])
        else:
            assert place.dots is not None, "it is one of the three"
            owner = int(self.ring.topic_owners[self._drawn][place.dots[0]])
        return self.rows[owner] if owner >= 0 else None

    def _about(self, offset: Offset) -> list[str]:
        place, ring = self._pointed(offset), self.ring
        if place is None or ring is None:
            return []
        row = self._owner_in(place)
        who = "nobody" if row is None else f"{row.tag} {safe_name(row.name)}"
        if place.owner is not None:
            return [who]
        if place.at is None:
            assert place.dots is not None, "it is one of the three"
            drawn = np.arange(len(ring.topic_hashes))[self._drawn]
            return [f"{who}: {self._named(drawn[place.dots])}"]
        at = _arc_at(ring.points, place.at)
        first, last = int(ring.points[at - 1]) + 1, int(ring.points[at])
        labels = (hash_label(each % ring.space_size, ring.space_size).strip() for each in (first, last))
        lines = [f"{who}: {' to '.join(labels)}, {percent(ring.share(first, last))} of the ring"]
        if not ring.lit:
            lines.append("the ring is not in force")
        elif self.heir_of is not None:
            names = [row.name for row in self.rows[: int(ring.point_owners.max()) + 1]]
            heir = self.heir_of(names, int(ring.point_owners[at]), last)
            lines += [f"heir: {safe_name(names[heir])}"] if heir is not None else []
        low, high = np.searchsorted(ring.topic_hashes, (first, last + 1))
        inside = np.arange(low, high) if first <= last else np.r_[low : len(ring.topic_hashes), 0:high]
        return [*lines, *([self._named(inside)] if len(inside) else [])]

    def _named(self, places: IntArray) -> str:
        assert self.ring is not None, "there are some of its topics"
        names = [short_topic(safe_name(self.ring.topic_names[at])) for at in places[:NAMED].tolist()]
        more = len(places) - len(names)
        return ", ".join(names) + (f" and {more:,} more" if more else "")

    def action_select(self, by: int) -> None:
        self.post_message(self.Step(by))

    def picture(self) -> RingPicture | None:
        """The state as the drawing wants it: owners by their lasting colour number instead of their position."""
        ring = self.ring
        if ring is None:
            return None
        if self._picture is None:
            self._picture = self._latest = self._make_picture(ring)
        return self._picture

    def _make_picture(self, ring: RingView) -> RingPicture:
        # A last entry of -1 lets position -1 (nobody) stay nobody.
        numbers = np.array([*(row.colour for row in self.rows), -1], dtype=np.int64)
        tags = [""] * (int(numbers.max()) + 1)
        # A ring of letters is full of them as it is: there the table alone has the sign.
        signed = frozenset() if self.colours.mono else self.blocked
        for row in self.rows:
            tags[row.colour] = row.tag + (BLOCKED_SIGN if row.consumer_id in signed else "")
        focus = next((row.colour for row in self.rows if row.consumer_id == self.selected), None)
        mode = RingMode.LIT if ring.lit else RingMode.MUTED
        if self.view_mode_in_use is ViewMode.FOCUS and focus is not None:
            mode = RingMode.FOCUS
        highlighted = ring.topic_names.index(self.topic) if self.topic and self.topic in ring.topic_names else None
        focused = next((at for at, row in enumerate(self.rows) if row.consumer_id == self.selected), None)
        self._drawn = self._dots_to_draw(ring, highlighted, focused if mode is RingMode.FOCUS else None)
        if highlighted is not None and not isinstance(self._drawn, slice):
            highlighted = int(np.flatnonzero(self._drawn == highlighted)[0])
        owners = numbers[ring.topic_owners[self._drawn]]
        hashes = ring.topic_hashes[self._drawn].astype(np.uint32)
        waiting = np.isin(hashes, list(self.waiting)) if self.waiting else None
        sides = None if mode is RingMode.FOCUS else self._sides(ring, numbers, len(tags))
        shares = np.zeros(len(tags), dtype=np.float64)
        for row, weight in zip(self.rows, self.weights, strict=False):
            shares[row.colour] = weight
        return RingPicture(
            arcs=arcs_of(ring.points, numbers[ring.point_owners], len(tags), ring.space_size),
            dots=Dots(hashes, owners.astype(np.int32), highlighted, waiting, np.array(self.marks, dtype=np.uint32)),
            # Both sides have their colours, whether the arcs decide anything or not.
            mode=mode if sides is None else RingMode.LIT,
            focus=focus if mode is RingMode.FOCUS else None,
            centre=ring.centre if sides is None else self._words_of_sides(),
            few=self.few_words if sides is None else self._words_of_sides()[:1],
            # While the ring decides nothing, the inner band shows who really has what.
            shares=shares if not ring.lit and shares.any() else None,
            tags=tuple(tags),
            sides=sides,
        )

    def _sides(self, ring: RingView, numbers: IntArray, consumers: int) -> TwoSides | None:
        """Both owners of each piece, where a fact differs."""
        compared = self.compared
        if compared is None or not len(compared.points):
            return None
        modelled, reported = (
            arcs_of(compared.points, numbers[owners], consumers, ring.space_size)
            for owners in (compared.modelled, compared.reported)
        )
        return TwoSides(modelled, reported, compared.differs)

    def _words_of_sides(self) -> tuple[str, ...]:
        """What the two rings are, for the middle."""
        assert self.compared is not None, "there are two sides"
        differ = f"{len(self.compared.disagreements):,} of {self.compared.compared:,} differ"
        return differ, "outside: the model", "inside: reported", "V lists them"

    @staticmethod
    def _dots_to_draw(ring: RingView, highlighted: int | None, focused: int | None) -> IntArray | slice:
        """The places of the topics to draw: all of them topic by topic, as long as they are not very many.

        Of several in one cell the last one is seen.
        """
        count = len(ring.topic_hashes)
        if count <= MANY_DOTS or not ascends(ring.topic_hashes):
            return slice(None) if ring.topic_numbers is None else np.argsort(ring.topic_numbers)
        masks = [ring.topic_moved]
        if focused is not None:
            masks.append(ring.topic_owners == focused)
        places = thinned(ring.topic_hashes, ring.space_size, *masks)
        return places if highlighted is None else np.union1d(places, [highlighted])

    def _flash_frame(self, ring: RingView) -> Flash | None:
        if self.intensity <= 0.0 and self.ghost <= 0.0:
            return None
        sent, dots = None, ring.topic_moved[self._drawn]
        if ring.sent:
            slots, owners = np.array(ring.sent, dtype=np.int64).T
            colours = np.array([row.colour for row in self.rows], dtype=np.int32)
            sent, dots = (
                Dots(slots.astype(np.uint32), colours[owners]),
                dots | np.isin(ring.topic_hashes[self._drawn], slots),
            )
        return Flash(self.intensity, before=self._before, ghost=self.ghost, sent=sent, dots=dots)

    def draw(self, width: int, height: int) -> list[Strip]:
        picture = self.picture()
        if picture is None or self.ring is None:
            return []
        draw = draw_hash_map if self.view_mode_in_use is ViewMode.HASH_MAP else draw_ring
        flash = self._flash_frame(self.ring)
        canvas = draw(picture, width, height, self.colours, ascii_only=self.ascii_only, flash=flash)
        if flash is not None and draw is draw_ring:
            from tui.drawing.ring_motion import draw_motion

            draw_motion(canvas, picture, flash, self.colours, ascii_only=self.ascii_only)
        return canvas.strips()
