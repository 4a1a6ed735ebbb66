"""A model is fetched from the hub when it is asked for: one commit, proven, whole, once."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ai import tiny_classifier as tiny
from tests.ai.stand_in_hub import Hub

from memory_butler.ai import hub as hub_module
from memory_butler.ai.cross_encoder import FILES, CrossEncoder, CrossEncoderSource
from memory_butler.ai.hub import split_repository
from memory_butler.errors import IntegrityViolation, InvalidInput, MemoryButlerError, TargetUnavailable

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "someone/tiny-reranker"


class Repository(Hub):
    """It also lists the files of one repository at one commit, and serves those of that commit alone."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.served = dict(files)
        self.listing: Any = {"sha": COMMIT, "siblings": [self.entry(name) for name in files]}

    def entry(self, name: str) -> dict[str, Any]:
        content = self.files[name]
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": blob}
        if name == "model.safetensors":
            entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        return entry

    def content_at(self, path: str) -> bytes | None:
        if path.startswith(f"/api/models/{REPO}/revision/"):
            return json.dumps(self.listing).encode()
        return self.served.get(path.rpartition("/")[2]) if path.startswith(f"/{REPO}/resolve/{COMMIT}/") else None


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Repository]:
    folder = tiny.write(tmp_path / "published")
    files = {name: (folder / name).read_bytes() for name in FILES} | {"README.md": b"hello"}
    with Repository(files).running() as server:
        yield server


def source(hub: Repository, repo: str = REPO) -> CrossEncoderSource:
    return CrossEncoderSource(repo=repo, hub_url=hub.url)


async def test_a_repository_is_fetched_once_and_works_offline_afterwards(hub: Repository, tmp_path: Path) -> None:
    """Only the three files are fetched, all of one commit; the next start asks nobody, and scores are the folder's."""
    cache = tmp_path / "cache"
    found = source(hub).locate(cache)
    assert {path.name: path.read_bytes() for path in found.iterdir()} == {name: hub.files[name] for name in FILES}
    assert hub.asked[0] == f"/api/models/{REPO}/revision/main?blobs=true"
    assert hub.asked[1:] == [f"/{REPO}/resolve/{COMMIT}/{name}" for name in FILES]
    assert CrossEncoderSource(repo=REPO, hub_url=None).locate(cache) == found
    assert [path.name for path in found.parent.iterdir()] == [found.name]
    answers = []
    for place in (CrossEncoderSource(repo=REPO, hub_url=None), CrossEncoderSource(tmp_path / "published")):
        encoder = CrossEncoder(place, cache=cache)
        answers.append(await encoder.score("tea?", ["tea", "coffee"]))
        await encoder.close()
    assert answers[0] == answers[1]
    assert len(hub.asked) == 1 + len(FILES)


def test_revisions_are_kept_apart(hub: Repository, tmp_path: Path) -> None:
    main, other = source(hub).locate(tmp_path), source(hub, f"{REPO}@refs/pr/1").locate(tmp_path)
    assert main != other
    assert f"/api/models/{REPO}/revision/refs%2Fpr%2F1?blobs=true" in hub.asked


def test_a_folder_comes_before_the_hub(hub: Repository, tmp_path: Path) -> None:
    both = CrossEncoderSource(tmp_path / "published", REPO, hub.url)
    assert both.locate(tmp_path / "cache") == tmp_path / "published"
    assert hub.asked == []


def test_an_incomplete_folder_is_fetched_again(hub: Repository, tmp_path: Path) -> None:
    found = source(hub).locate(tmp_path / "cache")
    (found / "tokenizer.json").unlink()
    assert (source(hub).locate(tmp_path / "cache") / "tokenizer.json").is_file()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_what_was_listed_is_refused(hub: Repository, tmp_path: Path, name: str) -> None:
    """Large files are proven by their sha256, small ones by git's digest; nothing of the model is kept."""
    hub.served[name] = b"x" + hub.files[name][1:]
    with pytest.raises(IntegrityViolation, match=name):
        source(hub).locate(tmp_path / "cache")
    assert list((tmp_path / "cache").glob("*/*")) == []


def test_a_download_that_breaks_off_leaves_nothing(hub: Repository, tmp_path: Path) -> None:
    hub.missing_bytes = 5
    hub.listing["siblings"] = [entry | {"size": entry["size"] + 5} for entry in hub.listing["siblings"]]
    with pytest.raises(TargetUnavailable, match="could not be fetched"):
        source(hub).locate(tmp_path / "cache")
    assert list((tmp_path / "cache").glob("*/*")) == []


@pytest.mark.parametrize(
    ("listing", "kind", "said"),
    [
        ([], TargetUnavailable, "not a list of files"),
        ({"sha": "../../etc", "siblings": []}, TargetUnavailable, "no commit"),
        ({"sha": COMMIT, "siblings": [{}]}, TargetUnavailable, "not a list of files"),
        ({"sha": COMMIT, "siblings": []}, InvalidInput, r"no config\.json and no tokenizer\.json"),
    ],
)
def test_an_answer_that_cannot_be_used_is_explained(
    hub: Repository, tmp_path: Path, listing: Any, kind: type[MemoryButlerError], said: str
) -> None:
    hub.listing = listing
    with pytest.raises(kind, match=said):
        source(hub).locate(tmp_path / "cache")


def test_a_model_that_is_too_large_is_not_even_begun(
    hub: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_REPOSITORY_BYTES", 1000)
    with pytest.raises(InvalidInput, match="too large"):
        source(hub).locate(tmp_path / "cache")
    assert len(hub.asked) == 1


@pytest.mark.parametrize("repo", ["someone/else", f"{REPO}-2"])
def test_a_repository_that_is_not_there_is_unavailable(hub: Repository, tmp_path: Path, repo: str) -> None:
    with pytest.raises(TargetUnavailable, match="404") as caught:
        source(hub, repo).locate(tmp_path / "cache")
    assert "folder" in caught.value.recovery


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "file:///etc", "not an address"])
def test_a_hub_that_cannot_be_reached_is_unavailable(tmp_path: Path, address: str) -> None:
    with pytest.raises(TargetUnavailable, match=REPO):
        CrossEncoderSource(repo=REPO, hub_url=address).locate(tmp_path)


def test_downloads_can_be_switched_off(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailable, match="switched off"):
        CrossEncoderSource(repo=REPO, hub_url=None).locate(tmp_path)


@pytest.mark.parametrize(
    "named", ["", "name", "a/b/c", "../b", "a/..", "a/b@", "a/b@../x", "https://x/y", "a/b c", "a/ü"]
)
def test_only_a_repository_is_taken_for_one(named: str) -> None:
    """Nothing that could lead to another folder or another place on the hub."""
    with pytest.raises(InvalidInput, match="not the name of a repository"):
        split_repository(named)


def test_names_of_repositories() -> None:
    assert split_repository("cross-encoder/ms-marco-MiniLM-L6-v2") == ("cross-encoder/ms-marco-MiniLM-L6-v2", "main")
    assert split_repository("a/b.c@v1.0") == ("a/b.c", "v1.0")
