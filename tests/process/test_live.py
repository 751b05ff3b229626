"""``ringside live`` as a whole process: what it sends and what it leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.playing.server import playing
from tests.process.terminal import Terminal

pytestmark = pytest.mark.xdist_group("process")

TOKEN = "eyJhbGciOiJIUzI1NiJ9.c2VjcmV0LW9mLWEtdGVzdA.x7Yq"


def test_a_token_is_sent_and_is_on_no_screen_and_in_no_file(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    with playing() as server:
        words = ["live", server.url, "--token-file", "token", "--no-animation"]
        with Terminal(words, env=env, cwd=tmp_path) as terminal:
            seen = terminal.wait_for("billing")
            terminal.send("W")
            seen = terminal.wait_for("what-if", after=seen)
            terminal.send("c")
            seen = terminal.wait_for("not saved", after=seen)
            terminal.send("e")
            seen = terminal.wait_for("export to", after=seen)
            terminal.send("\x15screen.svg\r")
            terminal.wait_for("written to", after=seen)
            terminal.send("q")
            assert terminal.wait() == 0
        assert {request.headers["Authorization"] for request in server.requests} == {f"Bearer {TOKEN}"}
        assert {request.method for request in server.requests} == {"GET"}
    assert TOKEN not in terminal.text
    (exported,) = (path for path in tmp_path.rglob("*") if path.name not in ("token", "home"))
    assert str(server.server_port).encode() in exported.read_bytes()
    assert TOKEN.encode() not in exported.read_bytes()
