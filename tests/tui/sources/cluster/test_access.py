"""Who asks: tokens and passwords from files, the environment and a client.conf, and never in a sentence."""

from __future__ import annotations

import base64
import os
import socket
from pathlib import Path

import pytest

from engine.errors import InputError
from tests.starting import piped
from tui.sources.cluster.access import AccessChoice, access_of, origin_of

URL = "http://localhost:8080"
TOKEN = "abc.def-secret"
AUTH = "org.apache.pulsar.client.impl.auth.Authentication"


def conf(tmp_path: Path, text: str) -> str:
    path = tmp_path / "client.conf"
    path.write_text(text)
    return str(path)


def token_file(tmp_path: Path, text: str = f"{TOKEN}\n") -> str:
    path = tmp_path / "token"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("params", "header"),
    [
        (f"token:{TOKEN}", f"Bearer {TOKEN}"),
        (f'{{"token":"{TOKEN}"}}', f"Bearer {TOKEN}"),
        (TOKEN, f"Bearer {TOKEN}"),
    ],
)
def test_a_token_of_a_client_conf(tmp_path: Path, params: str, header: str) -> None:
    path = conf(tmp_path, f"# as pulsar-admin reads it\nauthPlugin={AUTH}Token\nauthParams={params}\n")
    assert access_of(URL, AccessChoice(client_conf=path), {}).secret.header == header
    assert access_of(URL, AccessChoice(), {"PULSAR_CLIENT_CONF": path}).secret.header == header


def test_a_client_conf_names_the_file_of_a_token(tmp_path: Path) -> None:
    path = conf(tmp_path, f"authPlugin={AUTH}Token\nauthParams=file://{token_file(tmp_path)}\n")
    assert access_of(URL, AccessChoice(client_conf=path), {}).secret.header == f"Bearer {TOKEN}"


def test_a_password_and_certificates_of_a_client_conf(tmp_path: Path) -> None:
    path = conf(tmp_path, f'authPlugin={AUTH}Basic\nauthParams={{"userId":"u","password":"p"}}\n')
    header = access_of(URL, AccessChoice(client_conf=path), {}).secret.header
    assert header == "Basic " + base64.b64encode(b"u:p").decode()
    path = conf(
        tmp_path,
        f"authPlugin={AUTH}Tls\nauthParams=tlsCertFile:/c.pem,tlsKeyFile:/k.pem\n"
        "tlsTrustCertsFilePath=/ca.pem\ntlsEnableHostnameVerification=false\ntlsAllowInsecureConnection=false\n",
    )
    tls = access_of(URL, AccessChoice(client_conf=path), {}).tls
    assert (tls.ca_file, tls.cert_file, tls.key_file) == ("/ca.pem", "/c.pem", "/k.pem")
    assert (tls.checks_host_name, tls.checks_certificate) == (False, True)


def test_an_option_counts_more_than_the_environment_and_that_more_than_a_file(tmp_path: Path) -> None:
    path = conf(tmp_path, f"authPlugin={AUTH}Token\nauthParams=token:from-conf\n")
    environment = {"PULSAR_CLIENT_CONF": path, "RINGSIDE_TOKEN": "from-environment"}
    assert access_of(URL, AccessChoice(token_file=token_file(tmp_path)), environment).secret.header == f"Bearer {TOKEN}"
    assert access_of(URL, AccessChoice(), environment).secret.header == "Bearer from-environment"
    del environment["RINGSIDE_TOKEN"]
    assert access_of(URL, AccessChoice(), environment).secret.header == "Bearer from-conf"
    assert access_of(URL, AccessChoice(), {}).secret.header == ""


@pytest.mark.parametrize("text", ["", f"{TOKEN} {TOKEN}", f"{TOKEN}\x1b[31m", f"{TOKEN}ü"])
def test_a_token_that_no_header_can_carry_is_refused_without_being_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as raised:
        access_of(URL, AccessChoice(token_file=token_file(tmp_path, text)), {})
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize(
    "choice",
    [
        AccessChoice(token_file="missing"),
        AccessChoice(basic_file="missing"),
        AccessChoice(client_conf="missing"),
        AccessChoice(token_file="a", basic_file="b"),
    ],
)
def test_what_cannot_be_read_is_said(choice: AccessChoice) -> None:
    with pytest.raises(InputError):
        access_of(URL, choice, {})


@pytest.mark.parametrize("option", ["token_file", "basic_file", "client_conf", "ca_file", "cert_file", "key_file"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "socket", "nothing"])
def test_what_is_no_file_is_refused_by_its_kind(tmp_path: Path, option: str, kind: str) -> None:
    """Without waiting, and without the words of what reads it."""
    path = tmp_path / "x"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(os.path.relpath(path))
    with pytest.raises(InputError) as refused:
        access_of("https://localhost", AccessChoice(**{option: str(path)}), {}).tls.context()
    assert str(path) in str(refused.value)
    assert ("no file" in str(refused.value)) == (kind in ("device", "folder", "socket"))
    assert ("nobody writes" in str(refused.value)) == (kind == "pipe")


def test_a_token_and_a_client_conf_come_through_pipes() -> None:
    with piped(f"{TOKEN}\n".encode()) as token, piped(b"tlsTrustCertsFilePath=/ca.pem\n") as conf:
        access = access_of(URL, AccessChoice(token_file=token, client_conf=conf), {})
    assert (access.secret.header, access.tls.ca_file) == (f"Bearer {TOKEN}", "/ca.pem")


def test_no_client_conf_is_read_from_nowhere() -> None:
    assert access_of(URL, AccessChoice(), {"PULSAR_CLIENT_CONF": "/dev/null"}).tls.ca_file == ""


def test_an_unknown_plugin_is_refused_without_its_parameters(tmp_path: Path) -> None:
    path = conf(tmp_path, f"authPlugin=com.example.Kerberos\nauthParams={TOKEN}\n")
    with pytest.raises(InputError) as raised:
        access_of(URL, AccessChoice(client_conf=path), {})
    assert "Kerberos" in str(raised.value)
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://localhost:8080/", "http://localhost:8080"),
        ("HTTPS://Pulsar.Example", "https://pulsar.example:443"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_an_address(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url", ["http://", "http://a:99999", "http://h:8080/admin/v2", "http://u:pw-secret@h:8080", "http://[::1:8080"]
)
def test_what_is_not_an_address_is_refused_and_shows_no_password(url: str) -> None:
    with pytest.raises(InputError) as raised:
        origin_of(url)
    assert "pw-secret" not in str(raised.value)
