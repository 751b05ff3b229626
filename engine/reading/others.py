"""What a file is that has no answer, and what would help instead."""

from __future__ import annotations

import re
from typing import Final

_HEAD_BYTES: Final = 1 << 16
_MAGIC: Final = (
    (b"\x89PNG", "is a picture"),
    (b"\xff\xd8\xff", "is a picture"),
    (b"GIF8", "is a picture"),
    (b"%PDF", "is a PDF"),
    (b"PK\x03\x04", "is a zip archive"),
    (b"\x28\xb5\x2f\xfd", "is packed with zstd"),
    (b"BZh", "is packed with bzip2"),
    (b"\xfd7zXZ", "is packed with xz"),
    (b"PAR1", "is a Parquet file"),
    (b"SQLite format 3", "is a database"),
    (b"\x7fELF", "is a program"),
)
_UNPACK: Final = "unpack it and name what is in it"
_STATISTICS: Final = "give what pulsar-admin topics stats or partitioned-stats --per-partition prints"
_FORMS: Final = (
    (r"Full thread dump|^\"[^\"\n]+\" (?:#\d+ )?(?:daemon )?prio=", "is a thread dump of a JVM", _STATISTICS),
    (r"^\s*num\s+#instances\s+#bytes", "is a heap histogram of a JVM", _STATISTICS),
    (r"^\s*(?:<!DOCTYPE html|<html|<head|<body)", "is a page of HTML",
     "the address may be that of a proxy or a login; ask the admin port, http://BROKER:8080"),
    (r"^\s*<\?xml", "is XML", _STATISTICS),
    (r"^# (?:HELP|TYPE) \w+|^pulsar_[a-z_]+\{", "is the text of /metrics", _STATISTICS),
    (r"^(?:apiVersion|kind): ", "is a manifest of Kubernetes", "give broker.conf, or the values of the chart"),
    (r"\A(?:\ufeff)?\"?Time\"?[,;]", "is a table of Grafana without the names of its metrics",
     "export the panel with the legend that Grafana gives, or give what pulsar-admin topics stats prints"),
    (r"^Content-Transfer-Encoding: base64", "is a mail in base64", "save its text, or what is attached to it"),
    (r"\bmap\[[^\s:\]]{1,200}:\{\w+:", "is a struct as Go prints it for debugging", "print it as JSON (json.Marshal)"),
    (r"^Array\n\(\n +\[", "is an array as PHP prints it", "print it as JSON (json_encode)"),
    (r"^OrderedDict\(\[\(", "is a dictionary as old Pythons print it", "print it as JSON (json.dumps)"),
    (r"^\{:msgRateIn ", "is a map as Clojure prints it", "print it as JSON"),
    (r"^\[msgRateIn:", "is a map as Groovy prints it", "print it as JSON (JsonOutput.toJson)"),
    (r"^\{MsgRateIn:\S+ Msg", "is a struct as Go prints it for debugging", "print it as JSON (json.Marshal)"),
    (r"^json(?:\.\w+|\[)[^\n]* = ", "is an answer that gron took apart", "give what gron --ungron makes of it"),
    (r"^#!", "is a script", "give what it prints"),
    (r"\A(?:[^\n\"{}]*\n){0,3}(?:[ \t]*\"\w{1,60}\"[ \t]*:[ \t]*[-\d.]{1,40},?[ \t]*\n){2,}\s*\Z",
     "is single lines of answers, as grep prints them",
     "give the whole answers: lines alone do not say whose they are"),
    (r"^-----BEGIN ", "is a key or a certificate", _STATISTICS),
    (r"^(?:HTTP/\d(?:\.\d)? )(?:4|5)\d\d", "is an error of HTTP", "ask again with a role that may read"),
    (r"^(?:Reason: |HTTP 4\d\d |HTTP 5\d\d )|PulsarAdminException", "is an error of the admin tool",
     "mend what it names, and ask again"),
    (r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\n]*(?:INFO|WARN|ERROR|DEBUG)", "is a log without an answer in it",
     _STATISTICS),
    (r"^[^\n,;\t]+(?:[,;\t][^\n,;\t]*){2,}\n[^\n,;\t]+(?:[,;\t][^\n,;\t]*){2,}\n", "is a table of values", _STATISTICS),
)  # fmt: skip
_COMMAND: Final = re.compile(
    r"\b(?:pulsar-admin|pulsarctl)[ \t]+[a-z][a-zA-Z-]{1,40}[ \t]+(?!\S*stats)[a-z][a-z-]{1,60}(?=\s)"
)
_COMPILED: Final = tuple((re.compile(pattern, re.MULTILINE), what, advice) for pattern, what, advice in _FORMS)


def named(data: bytes) -> tuple[str, str] | None:
    """Return what a file is, and what to give instead; None for a file of no known kind.

    >>> named(b"Full thread dump OpenJDK 64-Bit Server VM")[0]
    'is a thread dump of a JVM'
    """
    for magic, what in _MAGIC:
        if data.startswith(magic):
            return what, _UNPACK if "packed" in what or "archive" in what else _STATISTICS
    text = data[:_HEAD_BYTES].decode("utf-8", "replace")
    known = next(((what, advice) for form, what, advice in _COMPILED if form.search(text)), None)
    command = _COMMAND.search(text)
    if known is None and command is not None:
        return f"is what {' '.join(command[0].split())} prints, of which nothing is read here", _STATISTICS
    return known
