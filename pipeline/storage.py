"""Where answers and results are: folders of this machine, or of a store that a URI names.

Python reads and writes stores with Arrow's file systems, in tasks and in the driver: S3 and compatible stores, Google's
and Azure's, HDFS. Tables that Spark reads are passed to it as URIs.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from engine.errors import InputError, RingsideError
from pipeline.failures import start_failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_S3: Final = ("s3", "s3a")
_STORES: Final = (*_S3, "hdfs", "viewfs", "gs", "abfs", "abfss")
"""Schemes that both Arrow and Spark know; Spark calls S3 ``s3a``."""
_S3A: Final = "spark.hadoop.fs.s3a."
_BUFFER_BYTES: Final = 4 * 1024**2
_SMALL_BYTES: Final = 16 * 1024**2
_FEW_FILES: Final = 2_000
_TRIES: Final = 20
_PATIENCE: Final = timedelta(seconds=30)
"""How long to retry requests to Google's store; Arrow's default is a quarter of an hour."""

Setting: TypeAlias = Callable[[str], str | None]
"""Returns the value of a Spark setting, None if it is not set."""


@dataclass(frozen=True, slots=True, order=True)
class StorePath:
    """A file or folder of a store, with those methods of ``pathlib.Path`` that the jobs use.

    Pickled into tasks with the credentials it was opened with. Folders need not be made. Methods raise ``OSError``.
    """

    root: str
    """The part of the URI before the path; S3 as ``s3a``, however it was typed."""
    path: str
    """The path from the bucket or the root of the file system, without a slash at its end."""
    store: Any = field(compare=False, repr=False)

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(self.root, f"{self.path}/{name}" if self.path else name, self.store)

    def __str__(self) -> str:
        return f"{self.root}{self.path}"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        return StorePath(self.root, self.path.rpartition("/")[0], self.store)

    def absolute(self) -> StorePath:
        return self

    def resolve(self) -> StorePath:
        return self

    def exists(self) -> bool:
        return bool(self._info().type != pafs.FileType.NotFound)

    def is_dir(self) -> bool:
        return bool(self._info().type == pafs.FileType.Directory)

    def is_file(self) -> bool:
        return bool(self._info().type == pafs.FileType.File)

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a store creates folders when files are written."""

    def is_relative_to(self, other: object) -> bool:
        same = isinstance(other, StorePath) and other.root == self.root
        return same and PurePosixPath(self.path).is_relative_to(other.path)  # type: ignore[attr-defined]

    def check_reachable(self) -> None:
        """Raise ``RingsideError`` where the store does not answer, or refuses access."""
        try:
            self._info()
        except OSError as fault:
            raise RingsideError(f"{self} cannot be reached: {first_line(fault)}") from fault

    def size_and_time(self) -> tuple[int | None, datetime | None]:
        """Size in bytes (None if it is not a file), and the time when it was written."""
        info = self._info()
        return (info.size if info.type == pafs.FileType.File else None), info.mtime

    def input_file(self) -> Any:
        """Open the file as a ``pyarrow.NativeFile`` with random access."""
        return self.store.open_input_file(self.path)

    def open(self, mode: str = "rb") -> io.BufferedReader:
        """Open the file for reading; the caller closes it."""
        assert mode == "rb", f"a file of a store is not opened for {mode!r}"
        return io.BufferedReader(self.input_file(), _BUFFER_BYTES)

    def read_bytes(self) -> bytes:
        with self.store.open_input_stream(self.path, compression=None) as stream:
            return bytes(stream.read())

    def write_bytes(self, data: bytes) -> int:
        """Write the file in one step: readers see the old one or the new one."""
        with self.store.open_output_stream(self.path, compression=None) as stream:
            stream.write(data)
        return len(data)

    def write_text(self, text: str, encoding: str = "utf-8") -> int:
        return self.write_bytes(text.encode(encoding))

    def unlink(self, *, missing_ok: bool = False) -> None:
        try:
            self.store.delete_file(self.path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def glob(self, pattern: str) -> Iterator[StorePath]:
        """Files directly in this folder whose name matches."""
        return (path for path, _ in self.files() if fnmatchcase(path.name, pattern))

    def files(self, *, below: bool = False) -> Iterator[tuple[StorePath, Any]]:
        """Files directly in this folder, or at any depth, with Arrow's ``FileInfo``; none without the folder."""
        infos = self.store.get_file_info(pafs.FileSelector(self.path, allow_not_found=True, recursive=below))
        return ((StorePath(self.root, info.path, self.store), info) for info in infos if info.is_file)

    def folders(self) -> list[StorePath]:
        """Folders directly in this one."""
        infos = self.store.get_file_info(pafs.FileSelector(self.path, allow_not_found=True))
        kind = pafs.FileType.Directory
        return [StorePath(self.root, info.path.rstrip("/"), self.store) for info in infos if info.type == kind]

    def remove_folder(self) -> None:
        """Remove the folder and everything in it, if it exists."""
        if self.is_dir():
            self.store.delete_dir(self.path)

    def _info(self) -> Any:
        return self.store.get_file_info(self.path)


Place: TypeAlias = Path | StorePath


def scheme_of(text: str) -> str:
    """The scheme of a URI in lower case, "" for a path.

    >>> scheme_of("S3A://bucket/out"), scheme_of("dumps/today")
    ('s3a', '')
    """
    match = _SCHEME.match(text)
    return "" if match is None else match[1].lower()


def check_place(text: str) -> None:
    """Raise ``InputError`` for a URI that cannot be read.

    Checks the text only, so it can be called before Spark is started.
    """
    if not text:
        raise InputError("an empty name is not a folder; was a variable of the shell empty?")
    scheme = scheme_of(text)
    if scheme in ("", "file"):
        return
    if scheme not in _STORES:
        known = ", ".join(f"{name}://" for name in ("file", *_STORES))
        raise InputError(f"{text}: {scheme}:// is not known; a path or {known} can be read and written")
    if not text.partition("://")[2].strip("/") or (scheme in _S3 and text.partition("://")[2].startswith("/")):
        raise InputError(f"{text} names no {'bucket' if scheme in _S3 else 'folder'}; write {scheme}://NAME/FOLDER")


def is_small(text: str) -> bool:
    """Whether the files at or below a place are so small that a session should skip costly optimizations.

    False for a store: listing it may take longer than that saves.
    """
    if scheme_of(text) not in ("", "file"):
        return False
    path = Path(str(place_of(text)))
    if path.is_file():
        return path.stat().st_size <= _SMALL_BYTES
    size = files = 0
    for folder, folders, names in os.walk(path, followlinks=True):
        files += len(folders) + len(names)
        for name in names:
            with suppress(OSError):
                size += Path(folder, name).stat().st_size
        if size > _SMALL_BYTES or files > _FEW_FILES:
            return False
    return True


def place_of(text: str, setting: Setting | None = None) -> Place:
    """The place that a text names: a path as typed, the path of a ``file://`` URI, or a folder of a store.

    ``setting`` looks up Spark's settings: endpoint, region and keys of S3 come from ``spark.hadoop.fs.s3a.*`` where
    they are set, else from where AWS's tools take them (``AWS_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID`` and so on). Raises
    ``InputError`` for another scheme, ``RingsideError`` for a store that cannot be opened.

    >>> place_of("file:///data/dumps"), place_of("dumps")
    (PosixPath('/data/dumps'), PosixPath('dumps'))
    """
    check_place(text)
    scheme = scheme_of(text)
    if scheme == "":
        return Path(text)
    if scheme == "file":
        return Path(unquote(urlsplit(text).path))
    rest = text.partition("://")[2].rstrip("/")
    try:
        if scheme in _S3:
            return StorePath("s3a://", rest, _s3(rest.partition("/")[0], setting or (lambda _: None)))
        if scheme == "gs":
            return StorePath("gs://", rest, pafs.GcsFileSystem(retry_time_limit=_PATIENCE))
        store, path = pafs.FileSystem.from_uri(text.rstrip("/"))
    except (OSError, pa.ArrowException, ValueError) as fault:
        raise RingsideError(f"{text} cannot be opened: {first_line(fault)}") from fault
    if scheme.startswith("abfs"):  # its URIs have the account between the container and the path
        container, _, path = path.partition("/")
        store = pafs.SubTreeFileSystem(container, store)
    return StorePath(text.rstrip("/").removesuffix(path), path, store)


def place_for(spark: SparkSession, text: str) -> Place:
    """``place_of`` with the settings of a session, after a check that the session can read there, too.

    Raises ``InputError`` where it has no classes for the store, ``RingsideError`` where it cannot be reached: before
    hours of work, not after.
    """
    place = place_of(text, settings_of_session(spark))
    if isinstance(place, StorePath):
        place.check_reachable()
        _check_session(spark, place, text)
    return place


def _check_session(spark: SparkSession, place: StorePath, text: str) -> None:
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    try:
        # Ask for a missing file: an existing folder would be listed.
        spark.read.schema("value string").text(str(place / _NOTHING)).schema  # noqa: B018  it is looked at here
    except (PySparkException, Py4JError) as fault:
        story = str(fault)
        if any(word in story for word in _NO_CLASSES):
            scheme = scheme_of(text)
            raise InputError(f"{text}: this Spark cannot read {scheme}://; {_advice(scheme)}") from fault
        if _NOT_THERE not in story:
            raise RingsideError(f"{text} cannot be read by Spark: {start_failure(story)}") from fault


def settings_of_session(spark: SparkSession) -> Setting:
    """Look up the settings of a session, also Hadoop's, which may have been set later without ``spark.hadoop.``."""

    def setting(name: str) -> str | None:
        return spark.conf.get(name, None) or spark.conf.get(name.removeprefix("spark.hadoop."), None)

    return setting


_NOTHING: Final = "ringside-asks-for-nothing"
_NOT_THERE: Final = "PATH_NOT_FOUND"
_NO_CLASSES: Final = ("ClassNotFoundException", "No FileSystem for scheme", "NoClassDefFoundError")


def _advice(scheme: str) -> str:
    if scheme in _S3:
        return f"add --set spark.jars.packages=org.apache.hadoop:hadoop-aws:{_hadoop_version()}"
    return "add the jars of that store with --set spark.jars.packages="


def _hadoop_version() -> str:
    """The version of Hadoop's jars in pyspark."""
    package = find_spec("pyspark")
    folders = package.submodule_search_locations if package is not None else None
    for jar in (jar for folder in folders or () for jar in Path(folder).glob("jars/hadoop-client-api-*.jar")):
        return jar.stem.removeprefix("hadoop-client-api-")
    return "VERSION (that of its Hadoop)"


def names_in(folder: Place) -> list[str]:
    """The names of the files directly in a folder; none without it."""
    if isinstance(folder, StorePath):
        return [path.name for path, _ in folder.files()]
    return [path.name for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []


def make_folder(folder: Place) -> None:
    """Make a folder with its parents, also where another process is removing these because they are empty."""
    for left in range(_TRIES, 0, -1):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return
        except FileNotFoundError:
            if left == 1:
                raise


def remove_folder(folder: Place) -> None:
    """Remove a folder and everything in it, if it exists."""
    if isinstance(folder, StorePath):
        folder.remove_folder()
    elif folder.is_dir():
        shutil.rmtree(folder)


def for_arrow(file: Place) -> Any:
    """A file in the form that pyarrow reads: its path, or an open file of a store."""
    return file.input_file() if isinstance(file, StorePath) else file


def size_bytes(file: Place) -> int:
    """Raises ``OSError``."""
    if isinstance(file, StorePath):
        return file.size_and_time()[0] or 0
    return file.stat().st_size


def first_line(fault: Exception) -> str:
    """The first line of an error message, without the pages that follow."""
    return (str(fault).splitlines() or [type(fault).__name__])[0]


def _s3(bucket: str, setting: Setting) -> Any:
    def given(name: str) -> str | None:
        return setting(f"{_S3A}bucket.{bucket}.{name}") or setting(f"{_S3A}{name}")

    # Small files are written in one request instead of three.
    options: dict[str, Any] = {"allow_delayed_open": True}
    endpoint = given("endpoint") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        plain = (given("connection.ssl.enabled") or "true").lower() == "false"
        scheme, separator, host = endpoint.rpartition("://")
        options["endpoint_override"] = host.rstrip("/")
        options["scheme"] = scheme if separator else "http" if plain else "https"
        options["force_virtual_addressing"] = False
    if given("access.key"):
        options |= {"access_key": given("access.key"), "secret_key": given("secret.key")}
        if given("session.token"):
            options["session_token"] = given("session.token")
    elif "Anonymous" in (given("aws.credentials.provider") or ""):
        options["anonymous"] = True
    region = given("endpoint.region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    options["region"] = region or ("us-east-1" if endpoint else pafs.resolve_s3_region(bucket))
    return pafs.S3FileSystem(**options)
