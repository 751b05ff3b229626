"""All mutants of a file. Not mutated, because no test shall notice:

* texts (with the numbers inside an f-string and the choice between two wordings: they are parts of a sentence),
  docstrings, annotations and type aliases;
* assertions, ``strict=True`` and arrays made read-only: a program that is right passes them, loosened or not;
* decorators, ``__repr__`` and sizes of caches: they change cost and looks, not an answer.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider, WhitespaceInclusivePositionProvider

from tests.mutants.operators import CHECKS, COSTS, OPERATORS, negate
from tests.mutants.rooms import ROOT

_TEXTS: Final = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
_NEVER: Final = (*_TEXTS, cst.Annotation, cst.Assert, cst.Decorator, cst.Import, cst.ImportFrom, cst.TypeAlias)
_NEVER_IN: Final = frozenset({"__repr__"})
_NEVER_CALLED: Final = frozenset({"cast", "TypeVar", "NewType", "lru_cache", "isinstance", "setflags"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. ``before`` and ``after`` are the changed lines without their indentation, joined by a space.

    ``function`` is the qualified name, "" for what is run on import. ``outer`` is the outermost function around the
    place, whose code can be exchanged in a running process; None where the change takes effect on import.
    A test that notices has run one of ``lines``: those of the statement (of a compound one: its head); of a default of
    an argument the function, of a private constant the file. Where nothing can be said they are empty.
    """

    file: str
    function: str
    line: int
    lines: range
    before: str
    after: str
    outer: str | None
    source: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a mutant is known by after its lines have moved."""
        return (self.file, self.function, self.before, self.after)


def mutants_of(path: Path, functions: Container[str] | None = None) -> list[Mutant]:
    """The mutants of one file in the order of its lines; each compiles. ``functions``: only those of these names."""
    text = path.read_text(encoding="utf-8")
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)  # nobody else has it
    visitor = _Sites(
        wrapper.module,
        text,
        path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name,
        functions,
    )
    wrapper.visit(visitor)
    return sorted(visitor.mutants, key=lambda mutant: mutant.line)


class _Sites(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider, WhitespaceInclusivePositionProvider)

    def __init__(self, module: cst.Module, text: str, file: str, wanted: Container[str] | None) -> None:
        super().__init__()
        self.wanted = wanted
        self.module = module
        self.file = file
        self.text = text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.mutants: list[Mutant] = []
        self.names: list[str] = []
        self.functions: list[tuple[str, cst.FunctionDef]] = []
        self.private = False
        self.statements: list[range] = []

    # Which nodes are passed over.

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, _NEVER) or self._is_type_alias(node):
            return False
        if isinstance(node, cst.Call) and _called(node) in _NEVER_CALLED:
            return False
        if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call) and _called(node.value) in _NEVER_CALLED:
            return False
        if isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value in CHECKS | COSTS:
            return False
        if isinstance(node, cst.FunctionDef) and node.name.value in _NEVER_IN:
            return False
        if isinstance(node, cst.IfExp) and _is_wording(node):
            return False
        self._enter(node)
        self._mutate(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef) and original_node.name.value not in _NEVER_IN:
            self.names.pop()
            if isinstance(original_node, cst.FunctionDef):
                self.names.pop()
                self.functions.pop()
        if self._is_statement(original_node) and self._entered(original_node):
            self.statements.pop()

    def _enter(self, node: cst.CSTNode) -> None:
        if self._is_statement(node) and not self.names:
            self.private = self.module.code_for_node(node).lstrip().startswith("_")
        if isinstance(node, cst.ClassDef):
            self.names.append(node.name.value)
        elif isinstance(node, cst.FunctionDef):
            self.names.append(node.name.value)
            self.functions.append((".".join(self.names), node))
            self.names.append("<locals>")
        if self._is_statement(node):
            self.statements.append(self._head(node))

    @staticmethod
    def _is_statement(node: cst.CSTNode) -> bool:
        return isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement)

    @staticmethod
    def _entered(node: cst.CSTNode) -> bool:
        return not (isinstance(node, cst.FunctionDef) and node.name.value in _NEVER_IN)

    def _is_type_alias(self, node: cst.CSTNode) -> bool:
        """``Name = int | str`` or ``Name = Callable[..., int]`` on the level of the module."""
        if self.names or not isinstance(node, cst.Assign):
            return False
        value = node.value
        return isinstance(value, cst.Subscript) or (
            isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.BitOr)
        )

    def _head(self, node: cst.CSTNode) -> range:
        place = self.get_metadata(PositionProvider, node)
        end = place.end.line
        if isinstance(node, cst.BaseCompoundStatement):
            body = getattr(node, "body", None)
            if isinstance(body, cst.IndentedBlock):
                end = max(place.start.line, self.get_metadata(PositionProvider, body.body[0]).start.line - 1)
        return range(place.start.line, end + 1)

    # How a node is changed.

    def _mutate(self, node: cst.CSTNode) -> None:
        if self.wanted is not None and self._function() not in self.wanted:
            return
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                for other in operator(node):
                    self._add(node, other)
        if isinstance(node, cst.If | cst.While | cst.CompIf):
            for other in negate(node.test):
                self._add(node.test, other)

    def _add(self, node: cst.CSTNode, other: cst.CSTNode) -> None:
        place = self.get_metadata(WhitespaceInclusivePositionProvider, node, None)
        if not isinstance(place, CodeRange):
            return
        start = self.starts[place.start.line - 1] + place.start.column
        end = self.starts[place.end.line - 1] + place.end.column
        if self._code(node) == self.text[start:end]:
            source = self.text[:start] + self._code(other) + self.text[end:]
        else:  # rare, and slow: a node that has lines of its own inside
            source = cst.ensure_type(self.module.deep_replace(node, other), cst.Module).code
        compile(source, self.file, "exec", dont_inherit=True)
        before, after, line = _changed_lines(self.text, source)
        name, outer, lines = self._place(node)
        self.mutants.append(Mutant(self.file, name, line, lines, before, after, outer, source))

    def _code(self, node: cst.CSTNode) -> str:
        """The code of a node as it is in the file, where its further lines are indented like its statement."""
        first = self.text[self.starts[self.statements[-1].start - 1] :] if self.statements else ""
        indent = first[: len(first) - len(first.lstrip(" "))]
        return self.module.code_for_node(node).replace("\n", f"\n{indent}")

    def _place(self, node: cst.CSTNode) -> tuple[str, str | None, range]:
        """The innermost function around a node, the outermost one if the node is in its body, and ``Mutant.lines``."""
        if not self.functions:
            return self._function(), None, self._whole(self.module) if self.private else range(0)
        outer_name, outer = self.functions[0]
        at = self.get_metadata(PositionProvider, node).start
        body = self.get_metadata(PositionProvider, outer.body).start
        if (at.line, at.column) < (body.line, body.column):
            return self._function(), None, self._whole(outer)
        return self._function(), outer_name, self.statements[-1]

    def _function(self) -> str:
        """The qualified name of the innermost function, else of the class."""
        return self.functions[-1][0] if self.functions else ".".join(self.names)

    def _whole(self, node: cst.CSTNode) -> range:
        place = self.get_metadata(PositionProvider, node)
        return range(place.start.line, place.end.line + 1)


def _called(node: cst.Call) -> str:
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    return name.value if isinstance(name, cst.Name) else ""


def _is_wording(node: cst.IfExp) -> bool:
    """``"s" if count != 1 else ""`` and the like: two texts of which one is a part of a sentence."""
    arms = (node.body, node.orelse)
    return all(isinstance(arm, _TEXTS) for arm in arms) and any(
        not isinstance(arm, cst.SimpleString) or " " in (text := str(arm.evaluated_value)) or len(text) < 3
        for arm in arms
    )


def _changed_lines(old: str, new: str) -> tuple[str, str, int]:
    """The lines that differ in the two texts, and the number of the first."""
    before, after = old.splitlines(), new.splitlines()
    first = 0
    while first < min(len(before), len(after)) and before[first] == after[first]:
        first += 1
    same_at_end = 0
    while (
        same_at_end < min(len(before), len(after)) - first
        and before[len(before) - 1 - same_at_end] == after[len(after) - 1 - same_at_end]
    ):
        same_at_end += 1
    return (
        " ".join(line.strip() for line in before[first : len(before) - same_at_end]),
        " ".join(line.strip() for line in after[first : len(after) - same_at_end]),
        first + 1,
    )
