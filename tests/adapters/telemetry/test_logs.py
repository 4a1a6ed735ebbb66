"""The log is private, bounded, and silent about what is remembered."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_butler.adapters.telemetry import logs
from memory_butler.adapters.telemetry.logs import configure_logging
from memory_butler.errors import TargetUnavailable
from memory_butler.settings import load_settings


@pytest.fixture(autouse=True)
def restored_loggers() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("memory_butler")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def test_the_log_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    """Folder and file are closed to other accounts, whatever the umask."""
    path = configure_logging(load_settings(home=tmp_path / "home"))
    logging.getLogger("memory_butler.test").info("a line")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.read_text().endswith("memory_butler.test: a line\n")


def test_an_exception_is_logged_without_its_words(tmp_path: Path) -> None:
    """The message of an error may quote a memory: the log keeps its class, its place and its causes' classes."""
    path = configure_logging(load_settings(home=tmp_path))
    words = "the diary of Ana"
    try:
        try:
            raise KeyError(words)
        except KeyError as problem:
            raise ValueError(words) from problem
    except ValueError:
        logging.getLogger("memory_butler.test").exception("it broke")
    text = path.read_text()
    assert "ValueError" in text and "caused by builtins.KeyError" in text and "test_logs.py" in text
    assert words not in text.replace('words = "the diary of Ana"', "")


def test_the_level_is_a_setting_and_libraries_speak_from_warnings_on(tmp_path: Path) -> None:
    """Our own lines follow log_level; what others print at lower levels is not written."""
    path = configure_logging(load_settings(home=tmp_path, log_level="DEBUG"))
    logging.getLogger("memory_butler.test").debug("ours")
    logging.getLogger("some_library.part").info("theirs, with a memory in it")
    logging.getLogger("some_library.part").warning("a warning of theirs")
    assert [line.rpartition(": ")[2] for line in path.read_text().splitlines()] == ["ours", "a warning of theirs"]
    configure_logging(load_settings(home=tmp_path, log_level="ERROR"))
    logging.getLogger("memory_butler.test").warning("not severe enough")
    assert "not severe enough" not in path.read_text()


def test_the_queues_library_is_not_heard(tmp_path: Path) -> None:
    """It would say everything that goes wrong a second time, with the arguments of jobs."""
    path = configure_logging(load_settings(home=tmp_path))
    logging.getLogger("procrastinate.worker").error("Job sweep[1](tenant='ana') ended with status: Error")
    logging.getLogger("memory_butler.jobs.worker").warning("heard")
    assert [line.rpartition(": ")[2] for line in path.read_text().splitlines()] == ["heard"]


def test_the_log_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is rotated by size, keeps a few old files, and those are private too."""
    monkeypatch.setattr(logs, "LOG_BYTES", 2_000)
    path = configure_logging(load_settings(home=tmp_path))
    for number in range(200):
        logging.getLogger("memory_butler.test").info("line %d", number)
    files = sorted(path.parent.iterdir())
    assert len(files) == 1 + logs.MAX_BACKUPS
    assert all(file.stat().st_size <= 2_000 and file.stat().st_mode & 0o077 == 0 for file in files)


def test_configuring_again_does_not_double_the_lines(tmp_path: Path) -> None:
    """Each door configures the log for itself."""
    for _ in range(3):
        path = configure_logging(load_settings(home=tmp_path))
    logging.getLogger("memory_butler.test").info("once")
    assert path.read_text().count("once") == 1


def test_a_home_that_cannot_be_written_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    """A home that is a file is found before anything else happens."""
    (tmp_path / "file").touch()
    with pytest.raises(TargetUnavailable, match="cannot be used") as caught:
        configure_logging(load_settings(home=tmp_path / "file"))
    assert "MEMORY_BUTLER_HOME" in caught.value.recovery
