"""The check-up tries the cross-encoder that the settings ask for, and fetches nothing for it."""

from pathlib import Path

from tests.ai import tiny_classifier as tiny

from memory_butler.adapters.doctor.model_checks import cross_encoder


def test_a_cross_encoder_that_works_is_fine(tmp_path: Path) -> None:
    found = cross_encoder(tiny.write(tmp_path / "model"), None, tmp_path)
    assert found.status == "ok"
    assert str(tmp_path / "model") in found.message


def test_one_that_is_not_there_is_a_warning_with_a_way_out(tmp_path: Path) -> None:
    """Searches go on without it; the finding says what is missing and what to do."""
    found = cross_encoder(tmp_path / "nowhere", None, tmp_path)
    assert found.status == "warning"
    assert "model.onnx" in found.message
    assert "folder" in str(found.advice)


def test_one_of_another_kind_is_a_warning_that_names_it(tmp_path: Path) -> None:
    found = cross_encoder(tiny.write(tmp_path / "model", labels=3), None, tmp_path)
    assert found.status == "warning"
    assert "expected 1×1 or 1×2" in found.message


def test_a_repository_is_not_fetched_for_a_check_up(tmp_path: Path) -> None:
    found = cross_encoder(None, "someone/tiny-reranker", tmp_path)
    assert found.status == "warning"
    assert "not downloaded yet" in found.message
    assert not (tmp_path / "models").exists()
