"""Which butler a project's sessions belong to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.agent_sessions.projects import project_butler, project_title
from memory_butler.policy.memories.validation import slug

REMOTES = [
    "git@github.com:Acme/Shop.git",
    "https://github.com/acme/shop",
    "https://github.com/acme/shop.git/",
    "https://somebody:s3cr3t@github.com/Acme/Shop.git",
    "ssh://git@github.com:22/acme/shop.git",
    "git+ssh://git@example.org/group/acme/shop.git",
    "/srv/git/acme/shop.git",
]


@pytest.mark.parametrize("remote", REMOTES)
def test_every_clone_of_a_repository_is_one_project(remote: str) -> None:
    """However its address is written, and wherever it was cloned to; accounts and passwords have no part in it."""
    assert project_butler("/somewhere/checkout", remote) == "acme.shop"
    assert project_butler("/elsewhere", remote) == "acme.shop"
    assert project_title("/elsewhere", remote).lower() == "acme/shop"


def test_folders_without_a_remote_are_told_apart_by_their_path() -> None:
    """Two folders of one name are two projects, and each keeps its name."""
    one, other = project_butler("/srv/notes", None), project_butler("/home/notes", None)
    assert one != other
    assert one.startswith("notes-")
    assert project_butler("/srv/notes/", None) == one
    assert project_title("/srv/notes", None) == "notes"


def test_names_that_lose_something_are_told_apart() -> None:
    """What is not a letter, digit, dot, dash or underscore falls away, and a hash takes its place."""
    names = {project_butler("/x", f"https://example.org/ümlaut/{name}.git") for name in ("größe", "grösse!", "grsse")}
    assert len(names) == 3


@given(st.text(), st.none() | st.text())
def test_it_is_always_a_valid_name(directory: str, remote: str | None) -> None:
    """Whatever the folder and the remote are called; and the same again for the same."""
    name = project_butler(directory, remote)
    assert slug(name, "butler") == name
    assert project_butler(directory, remote) == name
