"""A secret is hidden in every form that somebody may repeat it in, and nothing else is."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.sources.cluster.redaction import Secret, basic_secret, bearer_secret

TOKEN: Final = "eyJhbGciOiJIUzI1NiJ9.secret/of+the=test"


def _encoded(text: str, before: str = "") -> str:
    return base64.b64encode(f"{before}{text}".encode()).decode()


SECRET_AS: Final[dict[str, Callable[[str], str]]] = {
    "as it is": lambda text: text,
    "with one escape": lambda text: f"\\u{ord(text[0]):04x}{text[1:]}",
    "with escapes": lambda text: "".join(f"\\u{ord(char):04X}" for char in text),
    "in an address": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "base64": _encoded,
}
"""Forms that are one word of a JSON text."""


@pytest.mark.parametrize("form", SECRET_AS)
def test_each_form_is_hidden_in_texts_and_in_answers(form: str) -> None:
    said = SECRET_AS[form](TOKEN)
    secret = bearer_secret(TOKEN)
    assert secret.hide(f"<{said}>") == "<***>"
    assert secret.cover(f"<{said}>") == f"<{'*' * len(said)}>"
    assert secret.hide_in(f'["{said}", 1]'.encode()) == b'["***", 1]'
    assert secret.hide_in_reason(f"bad {said}!") == "bad ***!"


@pytest.mark.parametrize(
    "said",
    [
        quote(TOKEN),
        quote(quote(TOKEN, safe=""), safe=""),
        json.dumps(json.dumps(f"\x01{TOKEN}")),
        json.dumps(TOKEN).replace("/", "\\/"),
        base64.urlsafe_b64encode(f"?>{TOKEN}<?".encode()).decode(),
        *(_encoded(TOKEN, "x" * count) for count in range(4)),
        _encoded(f"Bearer {TOKEN}"),
    ],
)
def test_no_part_of_it_is_left(said: str) -> None:
    hidden = bearer_secret(TOKEN).hide(said)
    assert "***" in hidden
    core = base64.b64encode(TOKEN.encode()).decode()
    assert not [piece for text in (TOKEN, core) for piece in (text[4:16], text[-16:-4]) if piece in hidden]


@given(st.text(min_size=8, max_size=40), st.text(max_size=20), st.text(max_size=20), st.booleans())
def test_an_answer_stays_json_and_the_rest_of_it_stays(text: str, before: str, behind: str, ascii_only: bool) -> None:
    secret = Secret("", (text,))
    data = json.dumps({"a": [f"{before} {text} {behind}", 1]}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    hidden = json.loads(secret.hide_in(data).decode("utf-8", "surrogatepass"))
    assert text not in hidden["a"][0]
    assert hidden["a"][1] == 1


@pytest.mark.parametrize(
    "password",
    [
        "public",
        "1",
        "4",
        "persistent",
        "non-persistent",
        "public/default",
        "standalone",
        "127.0.0.1",
        "12345678",
        "-1e5",
    ],
)
def test_a_password_that_may_be_a_name_or_a_number_is_hidden_in_reasons_only(password: str) -> None:
    secret = basic_secret("admin", password)
    answer = f'["{password}/x", "{password}", {{"n": 12345678}}, -1e5]'
    assert secret.hide(answer) == answer
    assert secret.hide_in(answer.encode()) == answer.encode()
    assert secret.hide_in_reason(f"wrong password {password}, {password}ly") == f"wrong password ***, {password}ly"
    assert _encoded(f"admin:{password}") not in secret.hide(f"Basic {_encoded(f'admin:{password}')}")


def test_a_password_that_is_no_name_is_hidden_everywhere() -> None:
    secret = basic_secret("admin", 's3cret-"pass"')
    assert secret.hide_in(json.dumps(["x", 's3cret-"pass"']).encode()) == b'["x", "***"]'


def test_a_long_token_is_hidden_to_its_end() -> None:
    token = "a1.B2-_x" * 2_000
    secret = bearer_secret(token)
    assert secret.hide(f"<{token}> <{_encoded(token)}>") == "<***> <***>"


def test_nothing_of_a_secret_is_printed() -> None:
    assert TOKEN not in f"{bearer_secret(TOKEN)!r} {bearer_secret(TOKEN)}"
    assert "s3cret-x" not in f"{basic_secret('admin', 's3cret-x')!r}"
