"""Input that is large, endless, or no file at all, made here and read in a process with 1 GB and 30 s of CPU time."""

from __future__ import annotations

import gzip
import json
import os
import socket
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.cluster.commands import SetSetting
from engine.cluster.events import SettingChanged
from engine.cluster.journal.lines import cursor_line, header_line, step_line
from engine.cluster.limits import MAX_STEPS
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Step, Timeline
from engine.errors import InputError
from engine.input import UNMEASURED_BYTES
from pipeline.reading.files import find_answers
from pipeline.reading.traces import find_traces
from tests.hostile.judging import faults
from tests.hostile.limited import Ended, Job, Limited, limited

TOPIC = "persistent://public/default/orders"
STATS = '{"msgRateIn":1.0,"publishers":[],"subscriptions":{"s":{"type":"Failover","consumers":[{"consumerName":"c"}]}}}'
pytestmark = pytest.mark.xdist_group("hostile")

Read = Callable[..., Ended]


@pytest.fixture(scope="module")
def runner() -> Iterator[Limited]:
    with limited() as running:
        yield running


@pytest.fixture
def read(runner: Limited, tmp_path: Path) -> Read:
    """Read one thing with one command, and find nothing wrong with how that ends."""

    def reading(name: str, *words: str, kind: str = "large") -> Ended:
        (ended,) = runner.run(Job((words or (name, "--once"),), str(tmp_path)))
        assert faults(words or (name, "--once"), ended, tmp_path / name, kind) == []
        return ended

    return reading


def zeros_packed(path: Path, size: int) -> None:
    """A gzip file that unpacks to ``size`` zeros, made without unpacking them: blocks of deflate are repeated."""
    block = 1 << 20
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.flush()
    with path.open("wb") as file:
        file.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + first)
        for _ in range(size // block - 1):
            file.write(again)
        file.write(end + bytes(8))


def test_ten_gigabytes_in_a_gzip_file_of_ten_megabytes(read: Read, tmp_path: Path) -> None:
    zeros_packed(tmp_path / "bomb.json", 10 * 10**9)
    assert 8 * 10**6 < (tmp_path / "bomb.json").stat().st_size < 12 * 10**6
    ended = read("bomb.json")
    assert ended.code == 2 and "NUL" in ended.err


def test_ten_gigabytes_of_blanks_are_measured_and_refused(read: Read, tmp_path: Path) -> None:
    """No first byte betrays them, so their size has to."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = b" " * 10**7
    with (tmp_path / "blanks.json").open("wb") as file:
        for _ in range(25):
            file.write(packer.compress(piece))
        file.write(packer.flush())
    ended = read("blanks.json", "blanks.json", "--once", "--max-input", "200MB")
    assert ended.code == 2 and "--max-input is 200 MB" in ended.err
    assert ended.peak_bytes < 4 * 10**8


@pytest.fixture(scope="module")
def gigabyte(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an answer of a gigabyte, packed once and twice."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    begin, _, end = f'{{"{TOPIC}":{STATS}}}'.partition('c"}')
    pieces = [begin.encode(), *[b"x" * (1 << 20)] * 1024, b'c"}', end.encode()]
    packed = b"".join(map(packer.compress, pieces)) + packer.flush()
    folder = tmp_path_factory.mktemp("gigabyte")
    (folder / "1.json.gz").write_bytes(packed)
    (folder / "2.json.gz").write_bytes(gzip.compress(packed))
    return folder


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("words", ["{} --once", "why {}", "lint {}", "- --once", "@import {}"])
def test_a_gigabyte_of_one_text_in_a_megabyte(
    runner: Limited, gigabyte: Path, tmp_path: Path, words: str, times: int
) -> None:
    """Far below --max-input, and twice as much in memory; real answers are packed to a tenth or so."""
    path = gigabyte / f"{times}.json.gz"
    commands = (tuple(words.replace("{}", str(path)).split()),)
    (ended,) = runner.run(Job(commands, str(tmp_path), str(path)))
    assert faults(commands[0], ended, path, "large") == []
    assert ended.code == 2 and ended.peak_bytes < 5 * 10**8


def test_a_text_that_packs_well_is_read(read: Read, tmp_path: Path) -> None:
    """Statistics of idle partitions, of 9 kB each, that differ in nothing but their names."""
    members = ",".join(f'"member{at}":0.0' for at in range(600))
    idle = STATS.replace("{", f"{{{members},", 1)
    partitions = [f'"{TOPIC}-partition-{at}":{idle}' for at in range(8_000)]
    text = f"{{{','.join(partitions)}}}".encode()
    data = gzip.compress(text)
    assert len(text) > UNMEASURED_BYTES and 80 < len(text) / len(data) < 200
    (tmp_path / "idle.json.gz").write_bytes(data)
    assert 7_000 * 12_000 / 200 < len(data) < 7_000 * 12_000 / 100
    assert read("idle.json.gz").code == 0


def test_200_000_empty_gzip_members(read: Read, tmp_path: Path) -> None:
    (tmp_path / "members.json").write_bytes(gzip.compress(b"", mtime=0) * 200_000)
    assert read("members.json").code == 2


def test_200_000_gzip_members_of_a_byte_are_one_text(read: Read, tmp_path: Path) -> None:
    text = json.dumps({TOPIC: json.loads(STATS)}).ljust(200_000)
    members = {char: gzip.compress(char.encode(), mtime=0) for char in set(text)}
    (tmp_path / "members.json").write_bytes(b"".join(members[char] for char in text))
    assert read("members.json").code == 0


@pytest.mark.parametrize("words", [("{}", "--once"), ("verify", "{}"), ("lint", "{}"), ("keys", "{}")], ids=" ".join)
def test_a_sparse_file_of_a_gigabyte(read: Read, tmp_path: Path, words: tuple[str, ...]) -> None:
    with (tmp_path / "sparse.json").open("wb") as file:
        file.truncate(10**9)
    assert read("sparse.json", *(word.replace("{}", "sparse.json") for word in words)).code == 2


@pytest.mark.parametrize("kind", ["keys", "consumers-from", "script", "journal"])
def test_a_sparse_file_of_a_gigabyte_in_place_of_a_list(read: Read, tmp_path: Path, kind: str) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**9)
    words = {
        "keys": ("keys", "--consumers", "a,b", "--keys", "sparse"),
        "consumers-from": ("keys", "--consumers-from", "sparse"),
        "script": ("demo", "sparse", "--headless"),
        "journal": ("replay", "sparse", "--once"),
    }
    assert read("sparse", *words[kind]).code == 2


@pytest.mark.parametrize("document", ["result", "manifest"])
def test_a_pipe_in_a_folder_of_results(read: Read, tmp_path: Path, document: str) -> None:
    (tmp_path / "out" / "runs").mkdir(parents=True)
    (tmp_path / "out" / "latest").write_text("r") if document == "manifest" else None
    os.mkfifo(tmp_path / "out" / {"result": "latest", "manifest": "runs/r.json"}[document])
    assert read("out", "fleet", "open", "out", "--once").code == 2


@pytest.mark.parametrize("name", ["x.csv", "x.json"])
def test_a_file_that_the_system_makes_up_is_no_trace_and_no_answer(tmp_path: Path, name: str) -> None:
    """As ``/proc/kmsg``, which gives what is there and then waits for more, this one says that it has no bytes."""
    (tmp_path / name).symlink_to("/proc/self/status")
    find = find_traces if name.endswith(".csv") else find_answers
    with pytest.raises(InputError):
        find(tmp_path)


def lines_of(form: str) -> str:
    """Nearly as many lines as a plan may have bytes; each has a number in it."""
    return "\n".join(form.format(at) for at in range(3_900_000 // (len(form) + 6)))


PLANS: dict[str, Callable[[], str]] = {
    "a key": lambda: f"a{'.a' * 20_000} = 1",
    "a table": lambda: f"[a{'.a' * 1_000_000}]",
    "an inline table": lambda: f"x = {{a{'.a' * 1_000_000} = 1}}",
    "keys of several parts": lambda: "[a.a.a.a.a.a.a.a]\n" + lines_of("b{}.a.a.a.a.a.a.a = 1"),
    "tables": lambda: lines_of("[a{}]"),
    "keys": lambda: lines_of("a{} = 1"),
    "open strings": lambda: '"""\n\\' * 700_000,
}


@pytest.mark.parametrize("kind", PLANS)
def test_plans_of_many_keys(read: Read, tmp_path: Path, kind: str) -> None:
    """Settings are read by the same reader, up to a megabyte."""
    (tmp_path / "x.toml").write_text(PLANS[kind]())
    assert read("x.toml", "check", "x.toml").code == 2
    assert read("x.toml", "config", "check", "x.toml").code == 2


def test_30_000_repeated_members(read: Read, tmp_path: Path) -> None:
    members = ",".join(f'"m{at % 15_000}":{at}' for at in range(30_000))
    (tmp_path / "members.json").write_text(f'{{"{TOPIC}":{{"msgRateIn":1.0,"subscriptions":{{}},{members}}}}}')
    ended = read("members.json")
    assert ended.code == 0 and "occurs twice" in ended.err
    (tmp_path / "subscriptions.json").write_text(
        f'{{"{TOPIC}":{{"subscriptions":{{{",".join(STATS_OF_S for _ in range(30_000))}}}}}}}'
    )
    assert "occurs twice" in read("subscriptions.json").err


STATS_OF_S = '"s":{"type":"Failover","consumers":[]}'


def test_20_000_repeated_topics(read: Read, tmp_path: Path) -> None:
    (tmp_path / "topics.json").write_text("{" + ",".join(f'"{TOPIC}":{STATS}' for _ in range(20_000)) + "}")
    ended = read("topics.json")
    assert ended.code == 0 and "occurs twice here" in ended.err


def test_20_000_files_in_a_folder(read: Read, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for at in range(20_000):
        os.close(os.open(folder / f"{at}.json", os.O_CREAT | os.O_WRONLY))
    (folder / "stats.json").write_text(f'{{"{TOPIC}":{STATS}}}')
    ended = read("many")
    assert ended.code == 0 and "more problems like these" in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ("{}", "--once"),
        ("verify", "{}"),
        ("replay", "{}", "--once"),
        ("demo", "{}", "--headless"),
        ("keys", "--consumers", "a,b", "--keys", "{}"),
        ("keys", "--consumers-from", "{}"),
        ("lint", "--names-from", "{}"),
        ("lint", "{}"),
        ("split", "LARGEST", "{}"),
        ("check", "{}"),
        ("demo", "elsewhere.ringside", "--headless"),
        ("why", "{}", "--keys", "{}"),
        ("why", "http://127.0.0.1:1", "--token-file", "{}"),
        ("fleet", "open", "{}", "--once"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("kind", ["loop", "pipe", "folder", "device", "socket", "nowhere", "unreadable-link"])
def test_what_is_no_file(read: Read, tmp_path: Path, kind: str, words: tuple[str, ...]) -> None:
    path = tmp_path / "x.json"
    match kind:
        case "loop":
            path.symlink_to(tmp_path / "y.json")
            (tmp_path / "y.json").symlink_to(path)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "socket":
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(os.path.relpath(path))
        case "nowhere":
            path.symlink_to(tmp_path / "missing.json")
        case "unreadable-link":
            path.symlink_to("/proc/self/mem")
    (tmp_path / "elsewhere.ringside").write_text("open x.json\n")
    ended = read("x.json", *(word.replace("{}", "x.json") for word in words))
    assert ended.code == 2
    assert "did you mean x.json" not in ended.err


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop"])
def test_what_is_no_file_in_a_folder_is_passed_over(read: Read, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "answers"
    folder.mkdir()
    (folder / "stats.json").write_text(f'{{"{TOPIC}":{STATS}}}')
    path = folder / "x.json"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "loop":
            path.symlink_to(path)
    assert read("answers").code == 0
    assert read("answers", "lint", "answers").code == 0


def test_lines_of_megabytes(read: Read, tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"k" * 3_000_000 + b"\nkey-1\n")
    ended = read("long", "keys", "--consumers", "a,b", "--keys", "long")
    assert ended.code == 0 and "long:1: the line has more than 1 MB" in ended.err
    (tmp_path / "long.ringside").write_bytes(b"new topics 3\nadd " + b"x" * 3_000_000)
    assert read("long.ringside", "demo", "long.ringside", "--headless").code == 1
    (tmp_path / "long.jsonl").write_bytes(b'{"subscription":"s","key":"' + b"k" * 3_000_000 + b'"}\n')
    assert read("long.jsonl", "@traces", "long.jsonl").code == 0


def test_a_script_of_9_000_steps_keeps_no_state_of_each(read: Read, tmp_path: Path) -> None:
    (tmp_path / "add.ringside").write_text("new topics 8\n" + "".join(f"add c-{at}\n" for at in range(9_000)))
    ended = read("add.ringside", "demo", "add.ringside", "--headless")
    assert ended.code == 0 and ended.peak_bytes < 3 * 10**8


PARENTS: dict[str, Callable[[int], int]] = {
    "one branch": lambda number: number - 1,
    "branches from the opening": lambda number: 0,
    "two long branches in turn": lambda number: max(0, number - 2),
}


@pytest.mark.parametrize("kind", PARENTS)
def test_a_journal_of_100_000_steps(read: Read, tmp_path: Path, kind: str) -> None:
    """A line costs the same wherever it leads to; after every tenth one the cursor moves far away."""
    step = Step(1, 0, 1, SetSetting("maxConsumersPerTopic", "3"), "", (SettingChanged("maxConsumersPerTopic", "3"),), 0)
    lines = [header_line(Timeline.start(ClusterState()))]
    for number in range(1, MAX_STEPS + 1):
        lines.append(step_line(replace(step, number=number, parent=PARENTS[kind](number))))
        lines += [cursor_line(number, 1)] if number % 10 == 0 else []
    (tmp_path / "long.journal").write_bytes(b"".join(lines))
    assert read("long.journal", "replay", "long.journal", "--once").code == 0


def test_a_trace_that_unpacks_to_gigabytes(read: Read, tmp_path: Path) -> None:
    zeros_packed(tmp_path / "zeros.csv.gz", 10 * 10**9)
    assert read("zeros.csv.gz", "@traces", "zeros.csv.gz").code == 2


def test_lists_that_need_200_000_partitions_without_statistics(read: Read, tmp_path: Path) -> None:
    names = [f"{TOPIC}-{at}-partition-99999" for at in range(4)]
    (tmp_path / "list.json").write_text(json.dumps(names))
    ended = read("list.json")
    assert ended.code == 0 and "up to 200,000" in ended.err
