"""Point-in-time recovery: a base backup, and the log that is replayed over it up to a moment.

PostgreSQL replays the log in single-user mode, before anything can connect. It finds the segments in the data folder,
so no command is configured to fetch them, and nothing of the archive is ever run.
"""

import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memory_butler.errors import InvalidInput
from memory_butler.store.archive.layout import Archive, BaseBackup, Generation, Segment, damaged, lsn_number
from memory_butler.store.embedded.account import Programs, unavailable
from memory_butler.store.embedded.backup import Watch
from memory_butler.store.embedded.server import TARGET_MAJOR, Cluster
from memory_butler.store.embedded.upgrade import SUPERUSER

_REPLAY_SECONDS: Final = 6 * 3600.0
_SIGNAL: Final = "recovery.signal"
_LAST_COMMIT: Final = re.compile(r"last completed transaction was at log time (\S+ \S+)")
_STOPPED_AT: Final = re.compile(r"recovery stopping (?:before|after) \w+ of transaction \d+, time (\S+ \S+)")
_ENDED_EARLY: Final = "recovery ended before configured recovery target was reached"
_NOT_CONSISTENT: Final = ("requested recovery stop point is before consistent", "WAL ends before end of online backup")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a restore to a moment uses. `moment`: None for everything; `missing`: the log has a gap after its end."""

    base: BaseBackup
    generation: Generation
    segments: tuple[Segment, ...]
    histories: tuple[Path, ...]
    moment: datetime | None
    missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """Where a replay ended: the last commit that was replayed (None: none after the base backup), and whether a later
    one was left out because it is after the moment."""

    last_commit: datetime | None
    stopped_at_moment: bool


def plan(archive: Archive, moment: datetime | None) -> Plan:
    """Choose the base backup and the log for a moment; None: everything that the archive has."""
    if moment and moment.tzinfo is None:
        raise InvalidInput(
            f"{moment.isoformat()} has no time zone.", recovery="Write it with one, for example 2026-03-01T09:30:00Z."
        )
    if moment and moment > datetime.now(UTC):
        raise InvalidInput(f"{moment.isoformat()} is in the future.", recovery="Leave --to out to restore everything.")
    candidates = [(base, one) for one in archive.generations() for base in one.bases()]
    if not candidates:
        raise InvalidInput(
            f"The archive {archive.folder} has no base backup yet.",
            recovery="Let `memory-butler backup --continuous` run until it has made one.",
        )
    usable = [pair for pair in candidates if moment is None or pair[0].finished_at <= moment]
    if not usable:
        first = min(base.finished_at for base, _ in candidates)
        raise InvalidInput(
            f"The archive begins at {first.isoformat(timespec='seconds')}, after {moment and moment.isoformat()}.",
            recovery="Choose a later moment.",
        )
    base, generation = max(usable, key=lambda pair: pair[0].finished_at)
    if not generation.embedded:
        raise InvalidInput(
            "The archive is of an external database, which this command does not restore.",
            recovery="Follow docs/guides/backup.md: unpack the base backup and let your server replay the log.",
        )
    if generation.major != TARGET_MAJOR:
        raise InvalidInput(
            f"The archive is of PostgreSQL {generation.major}; this version brings PostgreSQL {TARGET_MAJOR}.",
            recovery="Restore it with the version of Memory Butler that made it, then upgrade.",
        )
    segments, missing = _log(generation, base, moment)
    return Plan(
        base=base,
        generation=generation,
        segments=segments,
        histories=tuple(generation.histories()),
        moment=moment,
        missing=missing,
    )


def _log(generation: Generation, base: BaseBackup, moment: datetime | None) -> tuple[tuple[Segment, ...], bool]:
    """The segments from a base backup on without a gap, up to a base backup that began after the moment."""
    first = base.start // generation.segment_bytes
    later = [other.start for other in generation.bases() if moment and other.started_at > moment]
    last = min(later) // generation.segment_bytes if later else None
    wanted = [one for one in generation.segments() if one.number >= first and (last is None or one.number <= last)]
    found: list[Segment] = []
    for segment in wanted:
        if segment.number not in (first, *(one.number + step for one in found[-1:] for step in (0, 1))):
            return tuple(found), True
        found.append(segment)
    if not found:
        raise damaged(f"segment {first} of the log, which the base backup needs, is missing")
    return tuple(found), False


def replay(plan: Plan, new: Cluster, programs: Programs, watch: Watch) -> Recovered:
    """Replay the log over an unpacked base backup."""
    _place(plan, new, programs, watch)
    said = _run(plan, new, programs, plan.moment)
    if said is None:
        if plan.missing:
            raise damaged(
                f"segments of the log after {plan.segments[-1].name} are missing, and the last commit before is earlier"
                f" than {plan.moment}"
            )
        # Nothing was committed between the end of the log and the moment: everything is the state at the moment.
        said = _run(plan, new, programs, None)
        assert said is not None
        _check_end(plan, new)
    elif plan.moment is None:
        if plan.missing:
            raise damaged(f"segments of the log after {plan.segments[-1].name} are missing")
        _check_end(plan, new)
    committed = _LAST_COMMIT.findall(said)
    return Recovered(
        last_commit=datetime.fromisoformat(committed[-1]) if committed else None,
        stopped_at_moment=bool(_STOPPED_AT.search(said)),
    )


def _place(plan: Plan, new: Cluster, programs: Programs, watch: Watch) -> None:
    """Copy the log into the data folder. Never a link: the server reuses the files."""
    target = new.folder / "pg_wal"
    total = sum(segment.file.lstat().st_size for segment in plan.segments)
    done = 0
    for segment in plan.segments:
        if segment.file.lstat().st_size != plan.generation.segment_bytes:
            raise damaged(f"{segment.file} does not have {plan.generation.segment_bytes} bytes")
        _copy(segment.file, target / segment.name)
        done += plan.generation.segment_bytes
        watch(done, total)
    for history in plan.histories:
        _copy(history, target / history.name)
    (new.folder / _SIGNAL).touch(mode=0o600)
    new.own(programs)


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target, follow_symlinks=False)
    target.chmod(0o600)


def _run(plan: Plan, new: Cluster, programs: Programs, moment: datetime | None) -> str | None:
    """Replay; returns what the server reported, or None if the log ends before the moment."""
    # There is no command that fetches the log. `false` says that there is nothing to fetch.
    settings = ["restore_command=false", "hot_standby=off", "recovery_target_action=promote", "log_min_messages=log"]
    if moment:
        settings.append(f"recovery_target_time={moment.astimezone(UTC).isoformat()}")
    given = [part for setting in settings for part in ("-c", setting)]
    command = ["postgres", "--single", "-j", "-D", str(new.folder), *given, SUPERUSER]
    done = programs.run(command, timeout_seconds=_REPLAY_SECONDS, data=b"")
    said = done.stderr.decode(errors="replace")
    if done.returncode == 0 and not (new.folder / _SIGNAL).exists():
        return said
    if moment and _ENDED_EARLY in said:
        return None
    if any(problem in said for problem in _NOT_CONSISTENT):
        raise InvalidInput(
            f"The log of the base backup {plan.base.file.name} is not complete in the archive.",
            recovery="Restore to an earlier moment, which an older base backup covers.",
        )
    raise unavailable("The log could not be replayed", said[-2000:].strip(), new.home.path)


def _check_end(plan: Plan, new: Cluster) -> None:
    """A damaged record ends a replay as the end of the log does: compare with where the archive ends."""
    branched = [_branch(file) for file in sorted((new.folder / "pg_wal").glob("*.history"))]
    if not branched or branched[-1] // plan.generation.segment_bytes < plan.segments[-1].number:
        reached = branched[-1] // plan.generation.segment_bytes if branched else plan.segments[0].number
        name = next((one.name for one in plan.segments if one.number >= reached), plan.segments[-1].name)
        raise damaged(f"the log cannot be read after segment {name}; later segments are there")


def _branch(history: Path) -> int:
    """Where the newest timeline of a history file branched off: the end of the replay."""
    return lsn_number(history.read_text(encoding="utf-8").strip().splitlines()[-1].split()[1])
