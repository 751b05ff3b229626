"""Where a cluster is and who asks: an address, a token or a password, certificates. Secrets never leave this module
but as the header of a request to the cluster itself.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.errors import InputError, system_reason
from engine.input import opened, read_path
from tui.sources.cluster.addresses import origin_of
from tui.sources.cluster.redaction import NO_SECRET, Secret, basic_secret, bearer_secret

TOKEN_VARIABLE: Final = "RINGSIDE_TOKEN"
CLIENT_CONF_VARIABLE: Final = "PULSAR_CLIENT_CONF"
_LONGEST_SECRET_FILE: Final = 1 << 16
_LONGEST_PROPERTIES: Final = 1 << 20
_PAIR: Final = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:\s]?\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def token_secret(token: str, source: str) -> Secret:
    """A bearer token. Raises ``InputError``, which does not show the text, for one that no header can carry."""
    token = token.strip()
    if not token:
        raise InputError(f"{source} is empty; it should hold a token")
    if len(token.split()) > 1 or not token.isascii() or not token.isprintable():
        raise InputError(f"{source} does not hold one token: it has blanks, line ends or special characters in it")
    return bearer_secret(token)


@dataclass(frozen=True, slots=True)
class Tls:
    """The CA to trust, "" for those of the system; the certificate and key of the one who asks, "" for none."""

    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    checks_host_name: bool = True
    checks_certificate: bool = True

    def context(self) -> ssl.SSLContext:
        """What connections are made with. Raises ``InputError`` for files that cannot be used."""
        with ExitStack() as stack:
            ca, certificate, key = (
                stack.enter_context(_for_openssl(path)) for path in (self.ca_file, self.cert_file, self.key_file)
            )
            try:
                context = ssl.create_default_context(cafile=ca)
            except (OSError, ssl.SSLError) as error:
                raise InputError(f"{self.ca_file}: cannot be used as a CA file: {_reason(error)}") from error
            if certificate:
                try:
                    context.load_cert_chain(certificate, key)
                except (OSError, ssl.SSLError) as error:
                    raise InputError(f"{self.cert_file}: cannot be used as a certificate: {_reason(error)}") from error
        if not (self.checks_host_name and self.checks_certificate):
            context.check_hostname = False
        if not self.checks_certificate:
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True, slots=True)
class Access:
    """``origin`` is ``scheme://host:port`` without a path."""

    origin: str
    secret: Secret = NO_SECRET
    tls: Tls = field(default_factory=Tls)

    @property
    def is_encrypted(self) -> bool:
        return self.origin.startswith("https://")


@dataclass(frozen=True, slots=True)
class AccessChoice:
    """The options of the command line; None for one that is not given."""

    token_file: str | None = None
    basic_file: str | None = None
    client_conf: str | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None


def access_of(url: str, choice: AccessChoice, environment: Mapping[str, str] | None = None) -> Access:
    """An address with its credentials, from the options, else the environment, else a ``client.conf``.

    Raises ``InputError`` for an address or a file that cannot be used. No secret is ever in its text.
    """
    environment = os.environ if environment is None else environment
    origin = origin_of(url)
    conf_path = choice.client_conf or environment.get(CLIENT_CONF_VARIABLE, "")
    conf = read_properties(conf_path) if conf_path not in ("", os.devnull) else {}
    secret, plugin_cert, plugin_key = _secret(choice, environment, conf, conf_path)
    tls = Tls(
        choice.ca_file or conf.get("tlsTrustCertsFilePath", ""),
        choice.cert_file or plugin_cert or conf.get("tlsCertificateFilePath", ""),
        choice.key_file or plugin_key or conf.get("tlsKeyFilePath", ""),
        checks_host_name=conf.get("tlsEnableHostnameVerification", "true").lower() != "false",
        checks_certificate=conf.get("tlsAllowInsecureConnection", "false").lower() != "true",
    )
    return Access(origin, secret, tls)


def _secret(
    choice: AccessChoice, environment: Mapping[str, str], conf: Mapping[str, str], conf_path: str
) -> tuple[Secret, str, str]:
    """The secret, and the certificate and the key that a ``client.conf`` names for it."""
    if choice.token_file is not None and choice.basic_file is not None:
        raise InputError("--token-file and --basic-file are two ways of saying who asks; choose one of them")
    if choice.token_file is not None:
        return token_secret(_secret_file(choice.token_file, "--token-file"), choice.token_file), "", ""
    if choice.basic_file is not None:
        user, colon, password = _secret_file(choice.basic_file, "--basic-file").strip().partition(":")
        if not colon:
            raise InputError(f"--basic-file {choice.basic_file}: write USER:PASSWORD into it")
        return basic_secret(user, password), "", ""
    if environment.get(TOKEN_VARIABLE):
        return token_secret(environment[TOKEN_VARIABLE], f"${TOKEN_VARIABLE}"), "", ""
    return _of_plugin(conf.get("authPlugin", ""), conf.get("authParams", ""), conf_path)


def _of_plugin(plugin: str, params: str, source: str) -> tuple[Secret, str, str]:
    """What ``authPlugin`` and ``authParams`` say, in the forms that Pulsar's own clients read."""
    name = plugin.rpartition(".")[2].lower()
    match name:
        case "":
            return NO_SECRET, "", ""
        case "authenticationtoken" | "token":
            return token_secret(_token_of(params, source), f"{source}: authParams"), "", ""
        case "authenticationbasic" | "basic":
            pairs = _params(params)
            if "userId" not in pairs or "password" not in pairs:
                raise InputError(f"{source}: authParams of AuthenticationBasic needs userId and password")
            return basic_secret(pairs["userId"], pairs["password"]), "", ""
        case "authenticationtls" | "tls":
            pairs = _params(params)
            return NO_SECRET, pairs.get("tlsCertFile", ""), pairs.get("tlsKeyFile", "")
    known = "AuthenticationToken, AuthenticationBasic and AuthenticationTls"
    raise InputError(f"{source}: authPlugin {plugin} is not known; {known} are. Give --token-file instead")


def _token_of(params: str, source: str) -> str:
    if params.startswith("token:"):
        return params.removeprefix("token:")
    if params.startswith("file:"):
        path = params.removeprefix("file:")
        return _secret_file("/" + path.lstrip("/") if path.startswith("/") else path, f"{source}: authParams")
    if params.lstrip().startswith("{"):
        return _params(params).get("token", "")
    return params


def _params(params: str) -> dict[str, str]:
    """``{"name": "value"}`` or ``name:value,name:value``; what is neither has no pairs."""
    if params.lstrip().startswith("{"):
        try:
            pairs = json.loads(params)
        except ValueError:
            return {}
        return {str(name): str(value) for name, value in pairs.items()} if isinstance(pairs, dict) else {}
    pairs = (pair.partition(":") for pair in params.split(",") if pair)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _secret_file(path: str, option: str) -> str:
    try:
        return read_path(Path(path), limit=_LONGEST_SECRET_FILE).decode()
    except InputError as error:
        raise InputError(f"{option} {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{option} {path}: is not a text") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{option} {path}: {_reason(error)}") from error


@contextmanager
def _for_openssl(path: str) -> Iterator[str | None]:
    """A path that OpenSSL can open without waiting, None for "". Raises ``InputError`` for what is no file.

    What a pipe holds, as with ``<(command)``, is put into one of our own, so that a key is never on a disk.
    """
    if not path:
        yield None
        return
    try:
        with opened(Path(path)) as source:
            data = b"" if source.is_regular else source.read(_LONGEST_PROPERTIES)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {_reason(error)}") from error
    if source.is_regular:
        yield path
        return
    if data is None:
        raise InputError(f"{path}: is longer than any certificate")
    reader, writer = os.pipe()
    feeding = threading.Thread(target=_feed, args=(writer, data), daemon=True)
    feeding.start()
    try:
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)
        feeding.join()


def _feed(writer: int, data: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(writer, "wb") as pipe:
        pipe.write(data)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)


def read_properties(path: str) -> dict[str, str]:
    """The names and values of a file. Raises ``InputError`` for one that cannot be read; no value is in its text."""
    try:
        return parsed_properties(read_path(Path(path), limit=_LONGEST_PROPERTIES).decode(errors="replace"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {system_reason(error)}") from error


def parsed_properties(text: str) -> dict[str, str]:
    r"""The names and values of a text; a later one counts.

    >>> parsed_properties("# who asks\nauthPlugin = a.b\nauthParams=token:x=y\n! no\nlong = a\\\n   b")
    {'authPlugin': 'a.b', 'authParams': 'token:x=y', 'long': 'ab'}
    """
    values: dict[str, str] = {}
    for line in _logical_lines(text):
        pair = _PAIR.fullmatch(line)
        if pair is not None and pair[1]:
            values[_plain(pair[1])] = _plain(pair[2]).strip()
    return values


def _logical_lines(text: str) -> list[str]:
    """Lines without comments; one that ends in an odd number of backslashes goes on in the next one."""
    lines: list[str] = []
    open_line: str | None = None
    for raw in text.splitlines():
        line = raw.lstrip()
        if open_line is None and (not line or line[0] in "#!"):
            continue
        whole = (open_line or "") + line
        if (len(whole) - len(whole.rstrip("\\"))) % 2:
            open_line = whole[:-1]
        else:
            lines.append(whole)
            open_line = None
    return lines if open_line is None else [*lines, open_line]


def _plain(text: str) -> str:
    def letter(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _LETTERS.get(code, code)

    return _ESCAPE.sub(letter, text)
