"""Files come from the hub over real HTTP: of one commit, verified, complete, and only once."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ai import tiny_classifier as tiny
from tests.ai.stand_in_hub import COMMIT, Hub

from memory_butler.ai import download as download_module
from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource
from memory_butler.ai.download import download, parse_repository
from memory_butler.errors import IntegrityViolation, InvalidInput, TargetUnavailable

REPO = "someone/tiny-reranker"
FILES = ("onnx/model.onnx", "tokenizer.json")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    folder = tiny.write(tmp_path / "published", "onnx/model.onnx")
    files = {name: (folder / name).read_bytes() for name in FILES} | {"README.md": b"hello"}
    with Hub(files, REPO).running() as server:
        yield server


def source(hub: Hub, repo: str = REPO) -> CrossEncoderSource:
    return CrossEncoderSource(repo=repo, hub_url=hub.url)


async def test_a_repository_is_downloaded_once_and_works_offline_afterwards(
    hub: Hub, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the needed files are downloaded, all of one commit, with a progress bar on stderr; the scores are those of
    the published folder."""
    monkeypatch.setenv("TQDM_POSITION", "-1")  # show the bar although stderr is no terminal
    cache = tmp_path / "cache"
    located = source(hub).locate(cache)
    model, tokenizer = located
    assert (model.read_bytes(), tokenizer.read_bytes()) == tuple(hub.files[name] for name in FILES)
    assert hub.requests[0] == f"/api/models/{REPO}/revision/main?blobs=true"
    assert hub.requests[1:] == [f"/{REPO}/resolve/{COMMIT}/{name}" for name in FILES]
    out, err = capfd.readouterr()
    assert out == ""
    assert "100%" in err
    assert CrossEncoderSource(repo=REPO, hub_url=None).locate(cache) == located
    assert [path.name for path in (cache / "cross-encoder").iterdir()] == [tokenizer.parent.name]
    scores = []
    for place in (CrossEncoderSource(repo=REPO, hub_url=None), CrossEncoderSource(tmp_path / "published")):
        encoder = CrossEncoder(place, cache=cache)
        scores.append(await encoder.score("tea?", ["tea", "coffee"]))
        await encoder.close()
    assert scores[0] == scores[1]
    assert len(hub.requests) == 1 + len(FILES)


def test_the_address_of_the_hub_comes_from_the_environment(hub: Hub, tmp_path: Path) -> None:
    """HF_ENDPOINT is the variable that every client of the hub reads. Importing the module opens no connection and
    does not load huggingface_hub."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from memory_butler.ai.cross_encoder import CrossEncoderSource\n"
        "assert not {'huggingface_hub', 'httpx2'} & set(sys.modules)\n"
        "CrossEncoderSource(repo=sys.argv[1]).locate(Path(sys.argv[2]))\n"
    )
    env = os.environ | {"HF_ENDPOINT": hub.url}
    subprocess.run([sys.executable, "-c", program, REPO, tmp_path / "cache"], env=env, check=True)
    assert len(hub.requests) == 1 + len(FILES)


def test_revisions_are_kept_apart(hub: Hub, tmp_path: Path) -> None:
    main, other = source(hub).locate(tmp_path), source(hub, f"{REPO}@refs/pr/1").locate(tmp_path)
    assert main != other
    assert f"/api/models/{REPO}/revision/refs%2Fpr%2F1?blobs=true" in hub.requests


def test_a_folder_comes_before_the_hub(hub: Hub, tmp_path: Path) -> None:
    both = CrossEncoderSource(tmp_path / "published", REPO, hub.url)
    assert both.locate(tmp_path / "cache")[1] == tmp_path / "published" / "tokenizer.json"
    assert hub.requests == []


def test_an_incomplete_folder_is_downloaded_again(hub: Hub, tmp_path: Path) -> None:
    _, tokenizer = source(hub).locate(tmp_path / "cache")
    tokenizer.unlink()
    assert source(hub).locate(tmp_path / "cache")[1].is_file()


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_another_digest_than_listed_is_refused(hub: Hub, tmp_path: Path, name: str) -> None:
    """Large files are checked by their sha256, small ones by git's blob id; no file of the model is kept."""
    hub.served[name] = b"x" + hub.files[name][1:]
    with pytest.raises(IntegrityViolation, match=name):
        source(hub).locate(tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_broken_connection_is_resumed(hub: Hub, tmp_path: Path) -> None:
    hub.breaks = 1
    model, _ = source(hub).locate(tmp_path / "cache")
    assert model.read_bytes() == hub.files["onnx/model.onnx"]
    assert len(hub.requests) == 2 + len(FILES)


@pytest.mark.parametrize("listing", [[], {"sha": COMMIT, "siblings": []}, {"id": REPO, "siblings": [{}]}])
def test_an_answer_that_is_no_listing_is_unavailable(hub: Hub, tmp_path: Path, listing: Any) -> None:
    hub.listing = listing
    with pytest.raises(TargetUnavailable, match=f"Downloading {REPO}"):
        source(hub).locate(tmp_path / "cache")


def test_a_repository_without_the_files_is_refused_by_their_names(hub: Hub, tmp_path: Path) -> None:
    hub.listing["siblings"] = [hub.entry("tokenizer.json")]
    with pytest.raises(InvalidInput, match=r"no model\.onnx and no onnx/model\.onnx"):
        source(hub).locate(tmp_path / "cache")


def test_a_model_that_is_too_large_is_not_downloaded(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_module, "MAX_REPOSITORY_BYTES", 1000)
    with pytest.raises(InvalidInput, match="limit"):
        source(hub).locate(tmp_path / "cache")
    assert len(hub.requests) == 1


@pytest.mark.parametrize("repo", ["someone/else", f"{REPO}-2"])
def test_a_repository_that_does_not_exist_is_unavailable(hub: Hub, tmp_path: Path, repo: str) -> None:
    with pytest.raises(TargetUnavailable, match="404") as caught:
        source(hub, repo).locate(tmp_path / "cache")
    assert "folder" in caught.value.recovery


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "file:///etc", "not an address"])
def test_a_hub_that_cannot_be_reached_is_unavailable(tmp_path: Path, address: str) -> None:
    with pytest.raises(TargetUnavailable, match=REPO):
        download(REPO, [["tokenizer.json"]], tmp_path / "folder", address)


def test_downloads_can_be_switched_off(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailable, match="switched off"):
        CrossEncoderSource(repo=REPO, hub_url=None).locate(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "name", "a/b/c", "../b", "a/..", "a/b@", "a/b@../x", "https://x/y", "a/b c", "a/ü"]
)
def test_a_name_that_is_no_repository_is_refused(text: str) -> None:
    """Nothing that could lead to another folder or another address."""
    with pytest.raises(InvalidInput, match="not the name of a repository"):
        parse_repository(text)


def test_names_of_repositories() -> None:
    assert parse_repository("cross-encoder/ms-marco-MiniLM-L6-v2") == ("cross-encoder/ms-marco-MiniLM-L6-v2", "main")
    assert parse_repository("a/b.c@v1.0") == ("a/b.c", "v1.0")
