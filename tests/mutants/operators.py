"""The operators: from a node of the syntax tree to the nodes that it is replaced by, one at a time.

Most are mutmut's. Those of its operators are left out whose mutants end in a TypeError as soon as the line runs
(``x = None``, a positional argument left out or None): they triple the time and raise the score without a finding. The
ones for texts are left out because no test shall pin a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import libcst as cst
from mutmut.mutation import mutators

Operator = Callable[[Any], Iterable[cst.CSTNode]]

_SWAPPED_FUNCTIONS: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_CHANGED_BY_OTHERS: Final = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)
CHECKS: Final = frozenset({"strict"})
"""Arguments that only make a mistake loud, as ``zip(..., strict=True)`` does: they are assertions."""
COSTS: Final = frozenset({"copy", "count"})
"""Arguments of numpy that spare a copy or an allocation, and change no number."""
_OF_INT64: Final = frozenset({"arange", "array", "asarray", "cumsum", "full"})
"""Functions of numpy that make 64-bit integers of Python's and of other integers without being told."""


def leave_out_keyword_argument(node: cst.Call) -> Iterator[cst.CSTNode]:
    """``f(x, limit=3)`` to ``f(x)``: the default is used."""
    for at, argument in enumerate(node.args):
        if argument.keyword is None or _is_text(argument.value) or _changes_nothing(node, argument):
            continue
        yield node.with_changes(args=[*node.args[:at], *node.args[at + 1 :]])


def _changes_nothing(node: cst.Call, argument: cst.Arg) -> bool:
    """Whether a call without this keyword gives the same, but for its cost or for what it asserts."""
    assert argument.keyword is not None
    keyword = argument.keyword.value
    if keyword == "dtype" and isinstance(node.func, cst.Attribute) and isinstance(argument.value, cst.Attribute):
        return argument.value.attr.value == "int64" and node.func.attr.value in _OF_INT64
    return keyword in CHECKS or keyword in COSTS


def swap_function(node: cst.Call) -> Iterator[cst.CSTNode]:
    """``min`` to ``max``, ``any`` to ``all``, and back."""
    if isinstance(node.func, cst.Name) and node.func.value in _SWAPPED_FUNCTIONS:
        yield node.with_changes(func=cst.Name(_SWAPPED_FUNCTIONS[node.func.value]))


def add_instead_of_multiplying(node: cst.BinaryOperation) -> Iterator[cst.CSTNode]:
    """``a * b`` to ``a + b``: where one of the two is 1 in all tests, a division would be as right as the product."""
    if isinstance(node.operator, cst.Multiply):
        yield node.with_changes(operator=cst.Add())


def drop_call(node: cst.Expr) -> Iterator[cst.CSTNode]:
    """A call for its effect, as ``found.append(x)``, to ``pass``."""
    if isinstance(node.value, cst.Call):
        yield cst.Pass()


def negate(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """A condition that no other operator changes, as ``if ready``, to ``if not (ready)``."""
    if not isinstance(test, _CHANGED_BY_OTHERS):
        inner = test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        yield cst.UnaryOperation(cst.Not(whitespace_after=cst.SimpleWhitespace(" ")), inner)


def _is_text(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BaseString)


OPERATORS: Final[tuple[tuple[type[cst.CSTNode], Operator], ...]] = (
    (cst.BaseNumber, mutators.operator_number),
    (cst.Name, mutators.operator_name),
    (cst.AugAssign, mutators.operator_augmented_assignment),
    (cst.UnaryOperation, mutators.operator_remove_unary_ops),
    (cst.Call, mutators.operator_symmetric_string_methods_swap),
    (cst.Call, mutators.operator_unsymmetrical_string_methods_swap),
    (cst.CSTNode, mutators.operator_keywords),
    (cst.CSTNode, mutators.operator_swap_op),
    (cst.IfExp, mutators.operator_if_exp),
    (cst.Call, leave_out_keyword_argument),
    (cst.Call, swap_function),
    (cst.BinaryOperation, add_instead_of_multiplying),
    (cst.Expr, drop_call),
)
