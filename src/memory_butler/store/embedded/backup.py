"""Backup and restore of the embedded store, while it runs.

A backup is the output of pg_basebackup as one compressed archive, with a manifest of every file. A restore unpacks it
under another name, verifies it against the manifest, gives it the configuration of a new store and starts it once
before it replaces the existing store.
"""

import hashlib
import json
import os
import secrets
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from gzip import BadGzipFile, GzipFile
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from memory_butler.errors import Conflict, InvalidInput, TargetUnavailable
from memory_butler.store.embedded.account import Programs, translated, unavailable
from memory_butler.store.embedded.operating_system import sync_folder
from memory_butler.store.embedded.server import TARGET_MAJOR, Cluster, EmbeddedPostgres
from memory_butler.store.embedded.untrusted import belongs_in_backup, remove_triggers, replace_configuration
from memory_butler.store.embedded.upgrade import SUPERUSER, finish_interrupted_swap, provision, put_aside

CHUNK_BYTES: Final = 1 << 20
MANIFEST: Final = "backup_manifest"
_WAL: Final = "pg_wal"

Watch = Callable[[int, int], None]
Replay = Callable[[Cluster, Programs], None]


def _nothing_to_replay(new: Cluster, programs: Programs) -> None:
    """A backup that has all of its log."""


class CopiedPostgres(EmbeddedPostgres):
    """The store of one home folder with backup and restore. Synchronous: call it from a thread."""

    def back_up(self, out: BinaryIO, watch: Watch) -> None:
        """Write a backup of the store as of the end of the copy. Other processes continue to read and write."""
        self.ensure_running()
        with translated(self.home), tempfile.TemporaryFile() as said:
            programs = self._programs()
            folder = self._home.socket_folder(self._cluster.name)
            address = ["-h", folder, "-p", str(self._cluster.port), "-U", SUPERUSER, "-w"]
            command = ["pg_basebackup", "-D", "-", "-F", "tar", "-X", "fetch", "-c", "fast", *address]
            command += ["--manifest-checksums=SHA256"]
            about = size_about(self.data_dir)
            with programs.spawn(
                command, stdout=subprocess.PIPE, stderr=said, pass_fds=self._home.inherited_fds
            ) as process:
                assert process.stdout
                try:
                    with _writable(), GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as packed:
                        done = 0
                        while chunk := process.stdout.read(CHUNK_BYTES):
                            packed.write(chunk)
                            done += len(chunk)
                            watch(done, max(done, about))
                    process.wait()
                finally:
                    if process.poll() is None:
                        process.kill()
            if process.returncode != 0:
                said.seek(0)
                raise unavailable("The store could not be copied", said.read().decode(errors="replace"), self.home)

    def bring_back(
        self, source: BinaryIO, watch: Watch, *, replace: bool, replay: Replay = _nothing_to_replay
    ) -> Path | None:
        """Restore a backup into this home folder; returns where the replaced store was moved, if there was one.

        `replay` replays a log over it, before anything can connect.
        """
        with translated(self.home):
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked():
                finish_interrupted_swap(self.data_dir)
                if self.data_dir.exists() and not replace:
                    raise Conflict(
                        f"{self.home} already has a store.",
                        recovery="Run `memory-butler restore-backup --replace FILE` to move the existing store aside.",
                    )
                programs = self._programs()
                self._write_settings(programs)
                new = Cluster(self._home, f"database.new-{secrets.token_hex(3)}")
                with ExitStack() as otherwise:
                    otherwise.callback(new.discard, programs)
                    self._unpack(source, new, watch)
                    replace_configuration(new, programs)
                    replay(new, programs)
                    remove_triggers(new, programs)
                    new.start(programs)
                    new.stop(programs)
                    otherwise.pop_all()
                return self._take_over(new, programs)

    def _unpack(self, source: BinaryIO, new: Cluster, watch: Watch) -> None:
        size = os.fstat(source.fileno()).st_size
        new.folder.mkdir(mode=0o700)
        digests: dict[str, str] = {}
        # Decompressed separately: tarfile takes a file that was cut off between two members for complete.
        with _readable(), GzipFile(fileobj=source) as plain, tarfile.open(fileobj=plain, mode="r|") as archive:
            for member in archive:
                digests |= _extract(archive, member, new.folder)
                watch(source.tell(), size)
            while plain.read(CHUNK_BYTES):
                pass
        if not (new.folder / MANIFEST).is_file() or new.major is None:
            raise InvalidInput("The file is not a backup of Memory Butler.", recovery="Check its name.")
        if new.major != TARGET_MAJOR:
            raise InvalidInput(
                f"The backup is of PostgreSQL {new.major}; this version brings PostgreSQL {TARGET_MAJOR}.",
                recovery="Restore it with the version of Memory Butler that made it, then upgrade.",
            )
        _compare(digests, (new.folder / MANIFEST).read_bytes())

    def _take_over(self, new: Cluster, programs: Programs) -> Path | None:
        """Swap the stores and start the new one; if it does not start, the old one is moved back."""
        self._cluster.stop(programs)
        kept = put_aside(new.folder, self.data_dir, "database.before-restore")
        try:
            self._cluster.start(programs)
            provision(self._cluster)
        except TargetUnavailable:
            self._cluster.discard(programs)
            if kept:
                kept.rename(self.data_dir)
                sync_folder(self.home)
            raise
        return kept


def size_about(folder: Path) -> int:
    """Return the approximate size of a folder in which a running server creates and deletes files."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118
    return total


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> dict[str, str]:
    """Extract one member, never outside `folder`; returns the digest of a file."""
    name = PurePosixPath(member.name)
    if not (member.isfile() or member.isdir()) or not belongs_in_backup(name, member.size, is_folder=member.isdir()):
        raise _damaged(f"it contains {member.name!r}, which does not belong there")
    target = folder / name
    if member.isdir():
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        return {}
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = archive.extractfile(member)
    assert content
    digest = hashlib.sha256()
    with open(target, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        while chunk := content.read(CHUNK_BYTES):
            file.write(chunk)
            digest.update(chunk)
    return {str(name): digest.hexdigest()}


def _compare(digests: dict[str, str], manifest: bytes) -> None:
    """Verify the files against PostgreSQL's manifest. The WAL has its own checksums, verified when it is replayed."""
    head, mark, _ = manifest.rpartition(b'"Manifest-Checksum"')
    try:
        said = json.loads(manifest)
        listed = {entry["Path"]: entry["Checksum"] for entry in said["Files"]}
        whole = said["Manifest-Checksum"]
    except (ValueError, KeyError, TypeError):
        raise _damaged("its manifest cannot be read") from None
    if not mark or hashlib.sha256(head).hexdigest() != whole:
        raise _damaged("its manifest was changed")
    for name, digest in listed.items():
        if digests.get(name) != digest:
            raise _damaged(f"{name} is missing or was changed")
    for name in digests.keys() - listed.keys() - {MANIFEST}:
        if not name.startswith(f"{_WAL}/"):
            raise _damaged(f"it contains {name}, which its manifest does not list")


@contextmanager
def _writable() -> Iterator[None]:
    """Report an OSError of the target file as such, not as an error of the store."""
    try:
        yield
    except OSError as problem:
        raise InvalidInput(
            f"The backup cannot be written: {problem.strerror or problem}.",
            recovery="Choose a writable folder with enough free space.",
        ) from problem


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, BadGzipFile) as problem:
        raise _damaged(str(problem) or "it ends too soon") from problem


def _damaged(what: str) -> InvalidInput:
    return InvalidInput(
        f"The backup cannot be used: {what}. Nothing was changed.",
        recovery="Copy the file again from its source, or use another backup.",
    )
