"""What people do to an answer before they show it: each function makes another text of the same facts."""

from __future__ import annotations

import base64
import gzip
import html
import json
import pprint
import quopri
import random
import re
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote, unquote

import yaml

from tests.public_cases.answers import Recorded

_NAME: Final = r'"((?:[^"\\]|\\.)*)"\s*:'
_ARROW: Final = r"'\1' =>"
Wrapper = Callable[[Recorded], bytes]


def command(answer: Recorded) -> str:
    """The line of a terminal that asks for an answer: pulsar-admin where it has a command for it, else curl."""
    path, _, query = answer.path.partition("?")
    parts = path.strip("/").split("/")
    verbs = {"stats": "stats", "internalStats": "stats-internal", "partitioned-stats": "partitioned-stats"}
    if parts[-1] in verbs:
        topic = f"{parts[2]}://{parts[3]}/{parts[4]}/{unquote(parts[5])}"
        more = " --per-partition" if parts[-1] == "partitioned-stats" else ""
        return f"pulsar-admin topics {verbs[parts[-1]]}{more} {topic}"
    if parts[2] == "namespaces" and parts[-1] == "bundles":
        return f"pulsar-admin namespaces bundles {parts[3]}/{parts[4]}"
    return f"curl -s http://broker-1:8080{path}{'?' if query else ''}{query}"


def pretty(answer: Recorded) -> str:
    return json.dumps(answer.value, indent=2, ensure_ascii=False)


def prompted(answer: Recorded, text: str, prompt: str = "root@toolset-0:/pulsar# ", behind: str = "") -> bytes:
    return f"{prompt}{command(answer)}\n{text}\n{behind}".encode()


def _lines_mapped(answer: Recorded, change: Callable[[int, str], str]) -> bytes:
    lines = [change(number, line) for number, line in enumerate(pretty(answer).splitlines(), 1)]
    return prompted(answer, "\n".join(lines))


def plain_prompt(answer: Recorded) -> bytes:
    return prompted(answer, pretty(answer))


def prompt_on_both_sides(answer: Recorded) -> bytes:
    return prompted(answer, pretty(answer), "[me@host ~]$ bin/", "[me@host ~]$ ")


def kubectl(answer: Recorded) -> bytes:
    head = 'Defaulted container "broker" out of: broker, wait-zookeeper-ready (init)\n'
    line = f"$ kubectl exec -it pulsar-broker-0 -n pulsar -- bin/{command(answer)}\n"
    return (line + head + pretty(answer)).encode()


def jvm_warnings(answer: Recorded) -> bytes:
    warnings = (
        "OpenJDK 64-Bit Server VM warning: Options -Xverify:none and -noverify were deprecated in JDK 13.\n"
        "[0.004s][warning][gc] -XX:+PrintGCDetails is deprecated. Will use -Xlog:gc* instead.\n"
        "WARNING: An illegal reflective access operation has occurred\n"
        'SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder".\n'
    )
    return prompted(answer, warnings + pretty(answer))


def pip_and_python(answer: Recorded) -> bytes:
    head = (
        f">>> # {command(answer)}\nDEPRECATION: Python 2.7 reached the end of its life\n[notice] A new release of pip\n"
    )
    return (head + pretty(answer) + "\n>>> ").encode()


def logs_around(answer: Recorded) -> bytes:
    log = "2026-01-02T03:04:05,678+0000 [main] INFO  org.apache.pulsar.Tool - connected {retries=0} [id: 0x1]\n"
    return f"{log}$ {command(answer)}\n{log * 3}{pretty(answer)}\n{log * 2}".encode()


def logs_between_lines(answer: Recorded) -> bytes:
    log = "2026-01-02T03:04:05,678+0000 [io-1] WARN  o.a.p.client.impl.ClientCnx - slow answer"
    lines = pretty(answer).splitlines()
    for at in range(len(lines) // 3, 2, -40):
        lines.insert(at, log)
    return prompted(answer, "\n".join(lines))


def fenced(answer: Recorded) -> bytes:
    fences = f"```bash\n{command(answer)}\n```\n\n```json\n{pretty(answer)}\n```"
    return f"Here is what I see:\n\n{fences}\n\nAny idea?".encode()


def coloured(answer: Recorded) -> bytes:
    key, value, end = "\x1b[34;1m", "\x1b[1;39m", "\x1b[0m"

    def painted(match: re.Match[str]) -> str:
        text, colon, bracket = match.groups()
        return f"{key if colon else value}{text or bracket}{end}{colon or ''}"

    return prompted(answer, re.sub(r'("(?:[^"\\]|\\.)*")(\s*:)?|([{}\[\]])', painted, pretty(answer)))


def no_break_spaces(answer: Recorded) -> bytes:
    return _lines_mapped(answer, lambda _, line: re.sub(r"^ +", lambda match: "\u00a0" * len(match[0]), line))


def typographic(answer: Recorded) -> bytes:
    return prompted(answer, re.sub(r'"([^"\\]*)"', "“\\1”", pretty(answer)))


def comments(answer: Recorded) -> bytes:
    kinds = ("  // look at this", "  # here?", "  /* why */")
    return _lines_mapped(answer, lambda number, line: line + (kinds[number % 3] if number % 7 == 1 else ""))


def trailing_commas(answer: Recorded) -> bytes:
    return prompted(answer, re.sub(r"(?<=[\w\"\]}])\n(\s*[\]}])", ",\n\\1", pretty(answer)))


def missing_commas(answer: Recorded) -> bytes:
    return prompted(answer, re.sub(r",\n(\s*\")", "\n\\1", pretty(answer)))


def python_repr(answer: Recorded) -> bytes:
    return prompted(answer, repr(answer.value))


def python_pprint(answer: Recorded) -> bytes:
    return prompted(answer, pprint.pformat(answer.value, width=100, sort_dicts=False))


def as_yaml(answer: Recorded) -> bytes:
    return prompted(answer, yaml.safe_dump(answer.value, sort_keys=False))


def sorted_yaml(answer: Recorded) -> bytes:
    return prompted(answer, yaml.safe_dump(answer.value) + "...")


def compact_behind_the_command(answer: Recorded) -> bytes:
    text = json.dumps(answer.value, separators=(",", ":"))
    return f"me@host:~$ {command(answer)}\n{text}me@host:~$ ".encode()


def windows_lines(answer: Recorded) -> bytes:
    return b"\xef\xbb\xbf" + plain_prompt(answer).replace(b"\n", b"\r\n")


def utf_16(answer: Recorded) -> bytes:
    return plain_prompt(answer).decode().encode("utf-16")


def packed(answer: Recorded) -> bytes:
    return gzip.compress(plain_prompt(answer))


def curl_transcript(answer: Recorded) -> bytes:
    return (
        f"$ curl -v 'http://broker-1:8080{answer.path}'\n*   Trying 10.0.0.1:8080...\n> GET {answer.path} HTTP/1.1\n"
        "> Host: broker-1:8080\n>\n< HTTP/1.1 200 OK\n< Content-Type: application/json\n< broker-address: 10.0.0.1\n"
        f"<\n{{ [5 bytes data]\n{json.dumps(answer.value)}* Connection #0 to host broker-1 left intact\n"
    ).encode()


def quoted_mail(answer: Recorded) -> bytes:
    lines = f"$ {command(answer)}\n{pretty(answer)}".splitlines()
    return ("On Monday somebody wrote:\n" + "\n".join(f"> {line}" for line in lines) + "\n\nHello,\n").encode()


def numbered_by_cat(answer: Recorded) -> bytes:
    return _lines_mapped(answer, lambda number, line: f"{number:6}\t{line}")


def numbered_by_grep(answer: Recorded) -> bytes:
    return _lines_mapped(answer, lambda number, line: f"{number}:{line}")


def html_source(answer: Recorded) -> bytes:
    return html.escape(f"$ {command(answer)}\n{pretty(answer)}").encode()


def escaped_in_a_log(answer: Recorded) -> bytes:
    return prompted(answer, 'body="' + json.dumps(answer.value).replace('"', '\\"') + '"')


def hard_wrapped(answer: Recorded) -> bytes:
    text = json.dumps(answer.value, separators=(",", ":"))
    return prompted(answer, "\n".join(text[at : at + 80] for at in range(0, len(text), 80)))


def javascript(answer: Recorded) -> bytes:
    return prompted(answer, re.sub(r'"([A-Za-z_]\w*)"\s*:', "\\1:", pretty(answer)))


def diff_of_two(answer: Recorded) -> bytes:
    return _lines_mapped(answer, lambda _, line: f"+ {line}")


def typescript(answer: Recorded) -> bytes:
    typed = "pulsar-admon\x08\x08in".replace("on\x08\x08", "x\x08")
    line = command(answer).replace("pulsar-admin", typed, 1)
    return f"Script started on 2026-01-02\r\n\x1b]0;me@host\x07$ {line}\r\n{pretty(answer)}\r\nScript done".encode()


def watched(answer: Recorded) -> bytes:
    head = f"Every 2.0s: {command(answer)}      host-1: Mon Jan  5 10:11:12 2026\n\n"
    return (head + pretty(answer)).encode()


def in_a_table(answer: Recorded) -> bytes:
    return _lines_mapped(answer, lambda _, line: f"|{line}")


_SPELT: Final = {
    "snake": lambda name: re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(),
    "pascal": lambda name: name[:1].upper() + name[1:],
}
_KEPT: Final = frozenset({"metadata", "properties", "subscriptionProperties", "consumersAfterMarkDeletePosition"})
_NAMED: Final = frozenset({"lastStats", "bundleStats", "protocols", "topicHashPositions"})
_MAPS: Final = frozenset({"subscriptions", "partitions", "cursors", "replication"})


def respelt(value: Any, spelling: str, *, is_map: bool = False) -> Any:
    """The value with the names of members in another spelling; names of things stay."""
    if isinstance(value, list):
        return [respelt(item, spelling) for item in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for name, inner in value.items():
        kept = inner if name in _KEPT and not is_map else respelt(inner, spelling, is_map=not is_map and name in _MAPS)
        out[name if is_map else _SPELT[spelling](name)] = kept
    return out


def snake_case(answer: Recorded) -> bytes:
    return prompted(answer, repr(respelt(answer.value, "snake")))


def pascal_case(answer: Recorded) -> bytes:
    return prompted(answer, json.dumps(respelt(answer.value, "pascal"), indent=1))


def rust_debug(answer: Recorded) -> bytes:
    """Structs as Rust prints them for debugging, with snake_case members."""

    def written(value: Any, *, is_map: bool) -> str:
        if isinstance(value, dict):
            pairs = [(name, written(inner, is_map=name in _MAPS or name in _KEPT)) for name, inner in value.items()]
            if is_map:
                return "{" + ", ".join(f"{json.dumps(name)}: {inner}" for name, inner in pairs) + "}"
            return "Stats { " + ", ".join(f"{_SPELT['snake'](name)}: {inner}" for name, inner in pairs) + " }"
        if isinstance(value, list):
            return "[" + ", ".join(written(item, is_map=False) for item in value) + "]"
        if isinstance(value, str):
            return f"Some({json.dumps(value)})"
        return json.dumps(value)

    return prompted(answer, written(answer.value, is_map=False))


def python_dataclass(answer: Recorded) -> bytes:
    """Objects as Python prints dataclasses, with snake_case members."""

    def written(value: Any, *, is_map: bool) -> str:
        if isinstance(value, dict):
            pairs = [(name, written(inner, is_map=name in _MAPS or name in _KEPT)) for name, inner in value.items()]
            if is_map:
                return "{" + ", ".join(f"{name!r}: {inner}" for name, inner in pairs) + "}"
            return "Stats(" + ", ".join(f"{_SPELT['snake'](name)}={inner}" for name, inner in pairs) + ")"
        if isinstance(value, list):
            return "[" + ", ".join(written(item, is_map=False) for item in value) + "]"
        return repr(value)

    return prompted(answer, "result: " + written(answer.value, is_map=False))


def shuffled_members(answer: Recorded) -> bytes:
    chance = random.Random(7)

    # The order of subscriptions and partitions is a fact, that of members is none.
    def only_members(value: Any, *, is_map: bool = False) -> Any:
        if isinstance(value, list):
            return [only_members(item) for item in value]
        if not isinstance(value, dict):
            return value
        names = list(value)
        if not is_map:
            chance.shuffle(names)
        return {name: only_members(value[name], is_map=name in _MAPS or name in _NAMED) for name in names}

    return prompted(answer, json.dumps(only_members(answer.value)))


def _before_each_line(answer: Recorded, margin: str, head: str = "") -> bytes:
    lines = f"$ {command(answer)}\n{head}{pretty(answer)}".splitlines()
    return "\n".join(f"{margin}{line}" for line in lines).encode()


def container_log(answer: Recorded) -> bytes:
    return _before_each_line(answer, "2026-01-02T03:04:05.678901234Z stdout F ")


def stamped_log(answer: Recorded) -> bytes:
    return _before_each_line(answer, "2026-01-02T03:04:05.678901234Z ")


def journal(answer: Recorded) -> bytes:
    return _before_each_line(answer, "Jan  5 10:11:12 host-1 pulsar-check[4711]: ")


def compose(answer: Recorded) -> bytes:
    return _before_each_line(answer, "toolset-1  | ")


def kubectl_prefix(answer: Recorded) -> bytes:
    return _before_each_line(answer, "[pod/pulsar-toolset-0/toolset] ")


def quoted_twice(answer: Recorded) -> bytes:
    return _before_each_line(answer, "> > ", "```\n")


def numbered_by_a_page(answer: Recorded) -> bytes:
    return _lines_mapped(answer, lambda number, line: f"L{number} {line}")


def half_of_a_screen(answer: Recorded) -> bytes:
    return _lines_mapped(answer, lambda _, line: f"{line:90}│")


def tracker(answer: Recorded) -> bytes:
    code = f"{{code:json|title=what I see}}\n{pretty(answer)}\n{{code}}"
    return f"h3. Output\n{{noformat}}$ {command(answer)}{{noformat}}\n{code}\nthanks".encode()


def page(answer: Recorded) -> bytes:
    text = html.escape(f"$ {command(answer)}\n{pretty(answer)}")
    return f'<p class="q">Here:</p>\n<pre><code class="json">{text}\n</code></pre>'.encode()


def job_runner(answer: Recorded) -> bytes:
    text = pretty(answer)
    result = {"changed": True, "cmd": command(answer), "rc": 0, "stdout": text, "stdout_lines": text.splitlines()}
    return f"TASK [look] ***\nok: [node-1] => {json.dumps(result, indent=4)}\n".encode()


def json_log(answer: Recorded) -> bytes:
    lines = f"$ {command(answer)}\n{pretty(answer)}".splitlines()
    records = ({"log": f"{line}\n", "stream": "stdout", "time": "2026-01-02T03:04:05.6Z"} for line in lines)
    return "\n".join(map(json.dumps, records)).encode()


def progress_of_curl(answer: Recorded) -> bytes:
    head = "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n"
    bar = "\r100  5604  100  5604    0     0   273k      0 --:--:-- --:--:-- --:--:--  273k\n"
    return prompted(answer, f"{head}{bar}{json.dumps(answer.value)}")


def continued_command(answer: Recorded) -> bytes:
    words = " \\\n    ".join(command(answer).split(" "))
    return f"$ {words}\n{pretty(answer)}".encode()


def windows_quotes(answer: Recorded) -> bytes:
    """Typographic quotes in the bytes of an office program, where it has all characters."""
    text = typographic(answer).decode()
    try:
        return text.encode("cp1252")
    except UnicodeEncodeError:
        return text.encode()


def chat_export(answer: Recorded) -> bytes:
    said = f"look at this\n```$ {command(answer)}\n{pretty(answer)}```\nsince 9"
    return json.dumps(
        [{"type": "message", "text": said, "ts": "17.01"}, {"type": "message", "text": ":eyes:"}]
    ).encode()


def record_of_a_log_store(answer: Recorded) -> bytes:
    text = f"$ {command(answer)}\n{json.dumps(answer.value)}"
    return json.dumps({"_index": "logs", "_source": {"pod": "tool-1", "stream": "stdout", "message": text}}).encode()


def capture_of_a_browser(answer: Recorded) -> bytes:
    content = {"mimeType": "application/json", "text": json.dumps(answer.value)}
    request = {"method": "GET", "url": f"http://broker-1:8080{answer.path}"}
    entry = {"startedDateTime": "2026-01-02T03:04:05Z", "request": request, "response": {"content": content}}
    return json.dumps({"log": {"version": "1.2", "entries": [entry]}}, indent=1).encode()


def notebook(answer: Recorded) -> bytes:
    lines = [f"{line}\n" for line in pretty(answer).splitlines()]
    cell = {"cell_type": "code", "source": [f"!{command(answer)}"], "outputs": [{"name": "stdout", "text": lines}]}
    return json.dumps({"cells": [cell], "nbformat": 4}, indent=1).encode()


def logs_of_pods(answer: Recorded) -> bytes:
    return _before_each_line(answer, "pulsar-toolset-0 toolset ")


def build_log(answer: Recorded) -> bytes:
    return _before_each_line(answer, "[2026-01-02T03:04:05.678Z] ")


def quotes_that_only_close(answer: Recorded) -> bytes:
    return prompted(answer, re.sub(r'"([^"\\]*)"', "”\\1”", pretty(answer)), "[10:11] me\n")


def escaped_with_its_lines(answer: Recorded) -> bytes:
    return prompted(answer, "result: " + json.dumps(pretty(answer)))


def base64_lines(answer: Recorded) -> bytes:
    return base64.encodebytes(f"$ {command(answer)}\n{pretty(answer)}".encode())


def percent_encoded(answer: Recorded) -> bytes:
    return quote(f"$ {command(answer)}\n{json.dumps(answer.value)}").encode()


def quoted_printable(answer: Recorded) -> bytes:
    head = b"Content-Transfer-Encoding: quoted-printable\n\n"
    return head + quopri.encodestring(f"$ {command(answer)}\n{pretty(answer)}".encode())


def in_a_string_in_a_string(answer: Recorded) -> bytes:
    return prompted(answer, "msg=" + json.dumps(json.dumps(json.dumps(answer.value))))


def record_in_a_record(answer: Recorded) -> bytes:
    inner = json.dumps({"level": "info", "cmd": command(answer), "out": json.dumps(answer.value)})
    return json.dumps({"events": [{"timestamp": 1, "message": inner, "ingestionTime": 2}]}).encode()


def pair_of_logs(answer: Recorded) -> bytes:
    return f'ts=2026-01-02 cmd="{command(answer)}" body={json.dumps(json.dumps(answer.value))}\n'.encode()


def lines_of_a_job_runner(answer: Recorded) -> bytes:
    lines = [f"$ {command(answer)}", *pretty(answer).splitlines()]
    return ("ok: [n1] => " + json.dumps({"out.stdout_lines": lines}, indent=4)).encode()


def stream_of_a_log_store(answer: Recorded) -> bytes:
    lines = enumerate([f"$ {command(answer)}", *pretty(answer).splitlines()], 1767323045000000000)
    result = [{"stream": {"app": "x"}, "values": [[str(at), line] for at, line in lines]}]
    return json.dumps({"status": "success", "data": {"resultType": "streams", "result": result}}).encode()


def escaped_quotes(answer: Recorded) -> bytes:
    return prompted(answer, json.dumps(answer.value).replace('"', "\\u0022"))


def escaped_line_breaks(answer: Recorded) -> bytes:
    return prompted(answer, pretty(answer).replace("\n", "\\n"))


def python_bytes(answer: Recorded) -> bytes:
    return prompted(answer, repr(pretty(answer).encode()))


def perl_dumper(answer: Recorded) -> bytes:
    return prompted(answer, f"$VAR1 = {re.sub(_NAME, _ARROW, pretty(answer))};")


def elixir(answer: Recorded) -> bytes:
    text = re.sub(_NAME, _ARROW, json.dumps(answer.value))
    return prompted(answer, text.replace("{", "%{").replace("null", "nil"))


def full_width(answer: Recorded) -> bytes:
    return prompted(answer, pretty(answer).replace('":', '"：').replace(",\n", "，\n"))


def line_separators(answer: Recorded) -> bytes:
    return prompted(answer, pretty(answer).replace("\n", "\u2028"))


def one_line(answer: Recorded) -> bytes:
    return " ".join([f"$ {command(answer)}", *(line.strip() for line in pretty(answer).splitlines())]).encode()


def escaped_markdown(answer: Recorded) -> bytes:
    return prompted(answer, re.sub(r"([_\[\]{}*#])", r"\\\1", pretty(answer)))


def links_of_a_chat(answer: Recorded) -> bytes:
    return prompted(answer, re.sub(r'(persistent://[^"]+|http://[^"]+)', r"<\1>", pretty(answer)))


def links_of_a_mail(answer: Recorded) -> bytes:
    return prompted(answer, re.sub(r'((?:http|pulsar)://[^"/]+)', r"\1<\1>", pretty(answer)))


def page_with_colours(answer: Recorded) -> bytes:
    text = re.sub(_NAME, '<span class="nl">"\\1"</span><span class="p">:</span>', pretty(answer))
    return f"<div><pre><span>$</span> {command(answer)}\n{text}</pre></div>".encode()


def page_with_breaks(answer: Recorded) -> bytes:
    lines = (
        html.escape(line).replace(" ", "&nbsp;") for line in prompted(answer, pretty(answer)).decode().splitlines()
    )
    return f"<p>{'<br>'.join(lines)}</p>".encode()


def log_of_a_collector(answer: Recorded) -> bytes:
    return _before_each_line(answer, '2026-01-02T03:04:05Z {app="toolset", pod="t-0"} ')


def syslog(answer: Recorded) -> bytes:
    return _before_each_line(answer, "<134>1 2026-01-02T03:04:05.678Z host-1 check 4711 - - ")


def found_by_grep(answer: Recorded) -> bytes:
    return _before_each_line(answer, "out.txt:")


def ends_of_lines(answer: Recorded) -> bytes:
    return "\n".join(f"{line}$" for line in [f"$ {command(answer)}", *pretty(answer).splitlines()]).encode()


def table_of_a_database(answer: Recorded) -> bytes:
    return "\n".join(f" {line:120}+" for line in [f"$ {command(answer)}", *pretty(answer).splitlines()]).encode()


def box(answer: Recorded) -> bytes:
    lines = (f"│ {line:120} │" for line in [f"$ {command(answer)}", *pretty(answer).splitlines()])
    return "\n".join([f"╭{'─' * 122}╮", *lines, f"╰{'─' * 122}╯"]).encode()


def comparison(answer: Recorded) -> bytes:
    lines = [line if at % 9 else f"{line}\n-{re.sub('[0-9]', '7', line[1:])}\n+{line[1:]}"
             for at, line in enumerate((f" {line}" for line in pretty(answer).splitlines()), 1)]  # fmt: skip
    old_gone = "\n".join(line.partition("\n")[2] if "\n" in line else line for line in lines)
    return f"--- a\n+++ b\n@@ -1,9 +1,9 @@\n $ {command(answer)}\n{old_gone}".encode()


def pieces_of_http(answer: Recorded) -> bytes:
    data = json.dumps(answer.value)
    pieces = "".join(f"{len(data[at : at + 400]):x}\r\n{data[at : at + 400]}\r\n" for at in range(0, len(data), 400))
    head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return f"GET {answer.path} HTTP/1.1\r\nHost: x\r\n\r\n{head}{pieces}0\r\n\r\n".encode()


def in_an_envelope(answer: Recorded) -> bytes:
    return f"GET http://b:8080{answer.path}\n{json.dumps({'status': 200, 'data': answer.value})}".encode()


def yaml_in_a_mail(answer: Recorded) -> bytes:
    lines = [f"$ {command(answer)}", *yaml.safe_dump(answer.value, sort_keys=False).splitlines()]
    return "\n".join(f"> {line}" for line in lines).encode()


def yaml_below_a_name(answer: Recorded) -> bytes:
    return f"$ {command(answer)}\n{yaml.safe_dump({'result': answer.value}, sort_keys=False, indent=4)}".encode()


def java_text(answer: Recorded) -> bytes:
    """Objects as Java prints them: no quotes anywhere."""

    def written(value: Any, *, is_map: bool) -> str:
        if isinstance(value, dict):
            pairs = (f"{name}={written(inner, is_map=name in _MAPS or name in _KEPT)}" for name, inner in value.items())
            return f"{{{', '.join(pairs)}}}" if is_map else f"StatsImpl({', '.join(pairs)})"
        if isinstance(value, list):
            return f"[{', '.join(written(item, is_map=False) for item in value)}]"
        return value if isinstance(value, str) else json.dumps(value)

    return prompted(answer, written(answer.value, is_map=False))


def go_syntax(answer: Recorded) -> bytes:
    """Structs as Go prints them with their types."""

    def written(value: Any, *, is_map: bool) -> str:
        if isinstance(value, dict):
            pairs = [(name, written(inner, is_map=name in _MAPS or name in _KEPT)) for name, inner in value.items()]
            if is_map:
                return "map[string]utils.Stats{" + ", ".join(f"{json.dumps(name)}:{text}" for name, text in pairs) + "}"
            return "utils.Stats{" + ", ".join(f"{_SPELT['pascal'](name)}:{text}" for name, text in pairs) + "}"
        if isinstance(value, list):
            return f"[]utils.Stats{{{', '.join(written(item, is_map=False) for item in value)}}}"
        return json.dumps(value)

    return prompted(answer, written(answer.value, is_map=False))


ALL: Final[tuple[Wrapper, ...]] = (
    plain_prompt, prompt_on_both_sides, kubectl, jvm_warnings, pip_and_python, logs_around, logs_between_lines, fenced,
    coloured, no_break_spaces, typographic, comments, trailing_commas, missing_commas, python_repr, python_pprint,
    compact_behind_the_command, windows_lines, utf_16, packed, curl_transcript, quoted_mail, numbered_by_cat,
    numbered_by_grep, html_source, escaped_in_a_log, hard_wrapped, javascript, diff_of_two, typescript, watched,
    in_a_table, shuffled_members, container_log, stamped_log, journal, compose, kubectl_prefix, quoted_twice,
    numbered_by_a_page, half_of_a_screen, tracker, page, job_runner, json_log, progress_of_curl, continued_command,
    windows_quotes, chat_export, record_of_a_log_store, capture_of_a_browser, notebook, logs_of_pods, build_log,
    quotes_that_only_close, escaped_with_its_lines, base64_lines, percent_encoded, quoted_printable,
    in_a_string_in_a_string, record_in_a_record, pair_of_logs, lines_of_a_job_runner, stream_of_a_log_store,
    escaped_quotes, escaped_line_breaks, python_bytes, perl_dumper, elixir, full_width, line_separators, one_line,
    escaped_markdown, links_of_a_chat, links_of_a_mail, page_with_colours, page_with_breaks, log_of_a_collector, syslog,
    found_by_grep, ends_of_lines, table_of_a_database, box, comparison, pieces_of_http, in_an_envelope,
)  # fmt: skip
"""For answers of every kind."""
YAML: Final[tuple[Wrapper, ...]] = (as_yaml, yaml_in_a_mail, yaml_below_a_name)
OF_STATISTICS: Final[tuple[Wrapper, ...]] = (
    sorted_yaml, snake_case, pascal_case, rust_debug, python_dataclass, java_text, go_syntax,
)  # fmt: skip
"""Clients print statistics in their own spelling."""
