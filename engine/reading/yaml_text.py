"""YAML as JSON: the same answer as another tool prints it, and the values of a Helm chart.

Only the events of a parser are used, so that nothing is constructed and nothing recurses. Plain words are read as JSON
reads them and not as YAML 1.1 does, where ``94:10`` is a number to the base 60 and ``no`` is false. References to other
nodes, with which a short text can stand for a huge one, are refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final

from engine.errors import Rejection
from engine.reading.lenient import DEEPEST

MAX_YAML_CHARS: Final = 4 * 1024**2
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LITERALS: Final = {"true": "true", "false": "false", "null": "null", "~": "null", "": "null", "True": "true",
                    "False": "false", "Null": "null", ".nan": "NaN", ".NaN": "NaN"}  # fmt: skip


_SIGN: Final = re.compile(
    r"^([ ]*)(?:- )?(?:msgRateIn|msg_rate_in|msgBacklog|msg_backlog|subscriptions|entriesAddedCounter|boundaries"
    r"|configData|data|environment|env|PULSAR_PREFIX_\w+|loadBalancer\w+|loadManagerClassName|activeConsumerFailover\w+"
    r"|(?:non-)?persistent://[^\s]{1,600}):(?:[ ]+[^,{\[\n]*|[ ]*)$",
    re.MULTILINE,
)
"""Names that answers and values of a chart have, as YAML writes them."""
_LINE: Final = re.compile(
    r"[ ]*(?:- )*(?:(?:\"[^\"]*\"|'[^']*'|[^\s#:'\"{}\[\]][^:]{0,600}|(?:non-)?persistent://\S+):(?:\s.*)?"
    r"|#.*|---|- .*|[\[{}\],].*)?"
)
_SENTENCE: Final = re.compile(r"[A-Z]{2,}[A-Z :]*:|\S*[$#%>]\s")


def yaml_block(text: str) -> str:
    """Return the lines of a text that are YAML of a known form, "" without any: from the first known name back and on.

    >>> yaml_block("$ show\\nmsgRateIn: 0.0\\nsubscriptions:\\n  s:\\n    msgBacklog: 1\\n$ ").count(":")
    4
    """
    match = _SIGN.search(text)
    if match is None or len(text) > MAX_YAML_CHARS:
        return ""
    lines = text.splitlines()
    first = last = text.count("\n", 0, match.start())
    while first > 0 and lines[first - 1].strip() not in ("", "---") and _is_yaml(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and _is_yaml(lines[last + 1]):
        last += 1
    return "\n".join(lines[first : last + 1])


def _is_yaml(line: str) -> bool:
    # A long text goes on in the next line, with deeper indentation than its name.
    return line.startswith("  ") or (_LINE.fullmatch(line.rstrip()) is not None and _SENTENCE.match(line) is None)


@dataclass(slots=True)
class _Node:
    is_list: bool
    parts: list[str] = field(default_factory=list)
    key: str | None = None


def json_of_yaml(text: str) -> list[str] | Rejection:
    """Return each document of a YAML text as JSON. O(length)."""
    if len(text) > MAX_YAML_CHARS:
        return Rejection("TooLarge", f"has more than {MAX_YAML_CHARS:,} characters of YAML")
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents: list[str] = []
    stack: list[_Node] = []
    try:
        for event in yaml.parse(text, Loader=loader):
            match event:
                case yaml.AliasEvent():
                    return Rejection("Alias", f"line {event.start_mark.line + 1} refers to another part of the text")
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    if len(stack) >= DEEPEST:
                        return Rejection("TooDeep", f"is nested more than {DEEPEST} levels deep")
                    stack.append(_Node(isinstance(event, yaml.SequenceStartEvent)))
                case yaml.ScalarEvent():
                    _take(stack, documents, event.value, is_plain=event.style in (None, ""))
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    node = stack.pop()
                    inside = ",".join(node.parts)
                    _put(stack, documents, f"[{inside}]" if node.is_list else f"{{{inside}}}")
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        return Rejection("YAML", f"{place}{getattr(fault, 'problem', None) or 'is not YAML'}")
    except (RecursionError, ValueError):
        return Rejection("YAML", "is not YAML that can be read")
    return documents


def _take(stack: list[_Node], documents: list[str], value: str, *, is_plain: bool) -> None:
    if stack and not stack[-1].is_list and stack[-1].key is None:
        stack[-1].key = value
        return
    if is_plain and value in _LITERALS:
        text = _LITERALS[value]
    elif is_plain and _NUMBER.fullmatch(value):
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False)
    _put(stack, documents, text)


def _put(stack: list[_Node], documents: list[str], value: str) -> None:
    if not stack:
        documents.append(value)
        return
    node = stack[-1]
    if node.is_list:
        node.parts.append(value)
    elif node.key is None:
        node.key = value  # a list or an object as a name, which no answer has
    else:
        node.parts.append(f"{json.dumps(node.key, ensure_ascii=False)}:{value}")
        node.key = None
