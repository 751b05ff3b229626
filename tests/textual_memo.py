"""What Textual works out anew for each app and each widget, worked out once for all tests.

Each app parses the style sheets of all its widgets, and each widget, at each change of a class, looks through hundreds
of rules for those that apply to it. With the same rules and the same place among the same kinds of widgets the answer
is the same. A third of the time of a screen's tests went there, and into caches of lines that nobody looked into.
Nothing here decides anything: each answer is the one that Textual gave the first time.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final

import pytest
from rich.segment import Segment
from textual.cache import FIFOCache
from textual.css.model import RuleSet, Selector
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.reactive import Reactive
from textual.strip import Strip

Rules = dict[str, Any]

ALWAYS_SET: Final = ("layout", "display")
"""A layout belongs to one widget, and whether one is shown its parent remembers too."""
CACHES_OF_STRIPS: Final = {
    "_divide_cache": 4,
    "_crop_cache": 16,
    "_style_cache": 16,
    "_filter_cache": 4,
    "_line_length_cache": 4,
    "_crop_extend_cache": 4,
    "_offsets_cache": 4,
}


@contextmanager
def sharing() -> Iterator[None]:
    """Let all apps that run inside share what is the same for them."""
    with pytest.MonkeyPatch.context() as patch:
        _share_parsing(patch)
        _Applying().share(patch)
        _make_caches_of_strips_late(patch)
        _read_reactives_directly(patch)
        yield


def _share_parsing(patch: pytest.MonkeyPatch) -> None:
    """Equal style sheets with equal variables are parsed once; rules are only read afterwards.

    A rule is looked up by its identity some forty thousand times for one app, so that is not done in Python.
    """
    real = Stylesheet._parse_rules
    parsed: dict[Any, Any] = {}

    @wraps(real)
    def once(self: Stylesheet, *given: Any, **named: Any) -> Any:
        key = (given, frozenset(named.items()), frozenset(self._variables.items()))
        if key not in parsed:
            parsed[key] = real(self, *given, **named)
        return parsed[key]

    patch.setattr(Stylesheet, "_parse_rules", once)
    patch.setattr(RuleSet, "__hash__", object.__hash__)


class _Choice:
    """The rules that name a kind of widget, and what was chosen from them for each place such a widget was in."""

    def __init__(self, rules: list[RuleSet], node: DOMNode) -> None:
        self.flags = {name: getattr(node, name) for name in _FLAGS}
        self.results: dict[Hashable, Rules | None] = {}
        self._selectors: list[Selector] = [
            selector for rule in rules for selectors in rule.selector_set for selector in selectors.selectors
        ]
        self._states: dict[Hashable, tuple[str, ...]] = {}

    def place_of(self, node: DOMNode) -> Hashable:
        """All that these rules can ask of a widget and of those around it."""
        place: list[Hashable] = []
        for on_the_way in node.css_path_nodes:
            kind = (type(on_the_way), on_the_way._id, frozenset(on_the_way._classes))
            states = self._states.get(kind)
            if states is None:
                states = self._states[kind] = self._states_asked_of(on_the_way)
            place.append(kind)
            place.extend([on_the_way.has_pseudo_class(name) for name in states])
        return tuple(place)

    def _states_asked_of(self, node: DOMNode) -> tuple[str, ...]:
        """Pseudo classes: of those that no selector asks of such a widget nothing depends."""
        return tuple(
            sorted({n for s in self._selectors if s.pseudo_classes and s._check(node) for n in s.pseudo_classes})
        )


_FLAGS: Final = ("_has_hover_style", "_has_focus_within", "_has_order_style", "_has_odd_or_even")


class _Applying:
    """Remembers the rules that ``Stylesheet.apply`` chose, and the results of ``Stylesheet.replace_rules``."""

    def __init__(self) -> None:
        self._choices: dict[tuple[RuleSet, ...], dict[Hashable, _Choice]] = {}
        self._chosen: dict[int, Rules] = {}
        """By the identity of a widget, while Textual chooses."""
        self._settled: dict[int, tuple[Rules, Rules]] = {}
        """By the identity of chosen rules, those rules and what they become in the styles of a widget."""
        self._apply: Any = Stylesheet.apply
        self._replace: Any = Stylesheet.replace_rules

    def share(self, patch: pytest.MonkeyPatch) -> None:
        memo = self

        @wraps(Stylesheet.apply)
        def apply(self: Stylesheet, node: DOMNode, *, animate: bool = False, cache: object = None) -> None:
            memo.apply(self, node, animate=animate)

        def replace_rules(node: DOMNode, rules: Rules, animate: bool = False) -> None:
            memo.replace(node, rules, animate=animate)

        patch.setattr(Stylesheet, "apply", apply)
        patch.setattr(Stylesheet, "replace_rules", staticmethod(replace_rules))

    def apply(self, sheet: Stylesheet, node: DOMNode, *, animate: bool) -> None:
        choices = self._choices_of(sheet)
        kind = (type(node), node._id, frozenset(node._classes))
        choice = choices.get(kind)
        if choice is not None:
            place = choice.place_of(node)
            if place in choice.results:
                for name, flag in choice.flags.items():
                    setattr(node, name, flag)
                rules = choice.results[place]
                if rules is not None:
                    sheet.replace_rules(node, rules, animate=animate)
                    self._chosen.pop(id(node), None)
                sheet._process_component_classes(node)
                return
        place = None if choice is None else place
        self._chosen.pop(id(node), None)  # of another node that was there before: no rule may apply to this one
        self._apply(sheet, node, animate=animate)
        rules = self._chosen.pop(id(node), None)
        if choice is None:
            rules_map = sheet.rules_map
            named = {rule: None for name in rules_map.keys() & node._selector_names for rule in rules_map[name]}
            choice = choices[kind] = _Choice(list(named), node)
            place = choice.place_of(node)
        choice.results[place] = rules

    def _choices_of(self, sheet: Stylesheet) -> dict[Hashable, _Choice]:
        rules = sheet.rules
        known: Any = sheet.__dict__.get("_choices_of_tests")
        if known is None or known[0] is not rules:
            known = sheet.__dict__["_choices_of_tests"] = (rules, self._choices.setdefault(tuple(rules), {}))
        choices: dict[Hashable, _Choice] = known[1]
        return choices

    def replace(self, node: DOMNode, rules: Rules, *, animate: bool) -> None:
        self._chosen[id(node)] = rules
        if animate and "transitions" in rules:
            self._replace(node, rules, animate=True)
            return
        base = node.styles.base
        current: Any = base._rules
        known = self._settled.get(id(rules))
        if known is None:
            self._replace(node, rules)
            self._settled[id(rules)] = (rules, {n: v for n, v in current.items() if n not in ALWAYS_SET})
            return
        settled = known[1]
        if not current and not node._is_mounted:
            current.update(settled)
            base._updates += len(settled)
            for name in ALWAYS_SET:
                if name in rules:
                    setattr(base, name, rules[name])
        else:
            for name in current.keys() | rules.keys():
                if name not in settled or current.get(name) is not settled[name] or name.startswith("scrollbar_"):
                    setattr(base, name, rules.get(name))
        node.notify_style_update()


def _make_caches_of_strips_late(patch: pytest.MonkeyPatch) -> None:
    """A line has seven caches, and most lines are painted once: a cache is made when it is first used."""

    def start(self: Strip, segments: Iterable[Segment], cell_length: int | None = None) -> None:
        self._segments = list(segments)
        self._cell_length = cell_length
        self._render_cache = None
        self._link_ids = None
        self._cell_count = None

    def make(self: Strip, name: str) -> FIFOCache[Any, Any]:
        if name not in CACHES_OF_STRIPS:
            raise AttributeError(name)
        cache: FIFOCache[Any, Any] = FIFOCache(CACHES_OF_STRIPS[name])
        setattr(self, name, cache)
        return cache

    patch.setattr(Strip, "__init__", start)
    patch.setattr(Strip, "__getattr__", make, raising=False)


def _read_reactives_directly(patch: pytest.MonkeyPatch) -> None:
    """A value that is set and not computed is read some thousand times for one picture."""
    real: Any = Reactive.__get__

    def read(self: Reactive[Any], obj: Any, kind: type[Any]) -> Any:
        if obj is not None:
            value = obj.__dict__.get(self.internal_name, real)
            if value is not real and not hasattr(obj, self.compute_name):
                return value
        return real(self, obj, kind)

    patch.setattr(Reactive, "__get__", read)
