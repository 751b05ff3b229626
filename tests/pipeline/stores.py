"""An object store on loopback, and the jars that Spark needs to read one, brought by Maven once."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow.fs
import pyspark
from moto.server import ThreadedMotoServer

BUCKET: Final = "fleet"
LIMIT_S: Final = 120.0
"""How long Maven may take."""
_DONE: Final = ".complete"
_POM: Final = Path(__file__).parent / "hadoop_aws.xml"


class NoJarsError(Exception):
    """The jars cannot be had here, and why."""


@contextmanager
def object_store() -> Iterator[str]:
    """The URL of a server of S3 with an empty bucket, for the length of a ``with``."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        creating = pyarrow.fs.S3FileSystem(
            endpoint_override=url, access_key="somebody", secret_key="secret", allow_bucket_creation=True
        )
        creating.create_dir(BUCKET)
        yield url
    finally:
        server.stop()


def settings_for(url: str) -> Mapping[str, str]:
    """Spark's settings for the server."""
    given = {
        "endpoint": url,
        "endpoint.region": "us-east-1",
        "access.key": "somebody",
        "secret.key": "secret",
        "path.style.access": "true",
    }
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in given.items()}


@cache
def jars() -> Path:
    """The folder of the jars, about 14 MB in the user's cache. Raises ``NoJarsError``.

    Of several test runs at once the first one brings them, and the others wait for it.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ringside" / f"hadoop-aws-{_version()}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_name(f"{folder.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / _DONE).is_file():
                _bring(folder)
    except OSError as error:
        raise NoJarsError(f"the jars cannot be kept: {error}") from error
    return folder


def _version() -> str:
    """The release of Hadoop that this Spark has."""
    names = (path.name for path in (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar"))
    match = re.fullmatch(r"hadoop-client-api-(.+)\.jar", next(names, ""))
    if match is None:
        raise NoJarsError("this Spark has no Hadoop of its own")
    return match[1]


def _bring(folder: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise NoJarsError("Maven is not installed")
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    words = ["-B", "-ntp", "-q", "-f", str(_POM), "dependency:copy-dependencies", f"-Dhadoop.version={_version()}"]
    try:
        done = subprocess.run(
            [maven, *words, f"-DoutputDirectory={draft}"], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        if done.returncode:
            raise NoJarsError(f"Maven could not bring the jars: {done.stdout.strip()[-300:]}")
        (draft / _DONE).touch()
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    except subprocess.TimeoutExpired as error:
        raise NoJarsError(f"Maven did not bring the jars within {LIMIT_S:g} s") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
