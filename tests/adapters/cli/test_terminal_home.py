"""A home folder that is named on the command line and does not exist is asked about."""

import sys
from pathlib import Path

import pytest
import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.app import app


def test_on_a_terminal_a_new_home_is_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No is the end; yes creates the folder, for its owner alone."""
    asked: list[str] = []

    def answer(question: str, **options: object) -> bool:
        asked.append(question)
        if len(asked) == 1:
            raise typer.Abort
        return True

    monkeypatch.setattr("typer.confirm", answer)
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    context = typer.Context(typer.main.get_command(app), info_name="stats", obj=tmp_path / "new")
    with pytest.raises(typer.Abort):
        terminal.settings_of(context)
    assert not (tmp_path / "new").exists()
    assert terminal.settings_of(context).home == tmp_path / "new"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700 and len(asked) == 2
