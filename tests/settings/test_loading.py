"""Settings: read once from file and environment, and refused with a reason when they are wrong."""

from pathlib import Path

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.settings import Settings, load_settings


def test_defaults_are_those_of_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights 0.4 / 0.3 / 0.2 / 0.1, gate 0.2, budget 3000, episodes kept for 7 days, port 8150 on this machine."""
    monkeypatch.delenv("MEMORY_BUTLER_HOME", raising=False)
    found = load_settings(home=tmp_path)
    assert found.warnings == ()
    weights = found.retrieval.weights
    assert (weights.fit, weights.importance, weights.recency, weights.confidence) == (0.4, 0.3, 0.2, 0.1)
    assert (found.min_confidence_of(None), found.retrieval.limit) == (0.2, 10)
    assert (found.briefing.token_budget, found.lifecycle.eden.ttl_days) == (3000, 7)
    assert (found.host, found.port, found.db_schema) == ("127.0.0.1", 8150, "memory")
    quotas = found.briefing.quotas
    assert quotas.facts + quotas.rules + quotas.episodes <= 1


def test_the_file_in_the_home_folder_is_read(tmp_path: Path) -> None:
    """What config.toml says counts, nested groups too, and the rest stays as it was."""
    (tmp_path / "config.toml").write_text('butler = "health"\n[retrieval]\nlimit = 3\n[briefing.quotas]\nfacts = 0.4\n')
    found = load_settings(home=tmp_path)
    assert (found.butler, found.retrieval.limit, found.briefing.quotas.facts) == ("health", 3, 0.4)
    assert found.briefing.quotas.rules == 0.3


def test_the_environment_names_the_home_and_beats_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MEMORY_BUTLER_… comes before config.toml, and an argument before both."""
    (tmp_path / "config.toml").write_text("port = 1\nlifecycle.eden.ttl_days = 3\n")
    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(tmp_path))
    monkeypatch.setenv("MEMORY_BUTLER_PORT", "2")
    monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__LIMIT", "4")
    found = load_settings()
    assert (found.home, found.port, found.retrieval.limit, found.lifecycle.eden.ttl_days) == (tmp_path, 2, 4, 3)
    assert load_settings(port=5).port == 5


def test_the_home_folder_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A tilde and a relative path mean the same wherever a process is later."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings(home="~/x").home == tmp_path / "x"
    monkeypatch.chdir(tmp_path)
    assert load_settings(home="y").home == tmp_path / "y"


@pytest.mark.parametrize("source", ["file", "environment"])
def test_the_old_name_of_the_weight_of_fit_is_read_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """`retrieval.weights.relevance` sets `fit`; the new name wins where both are given."""
    (tmp_path / "config.toml").write_text("[retrieval.weights]\nimportance = 0.2\n")
    if source == "file":
        (tmp_path / "config.toml").write_text("[retrieval.weights]\nrelevance = 0.5\nimportance = 0.2\n")
    else:
        monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__WEIGHTS__RELEVANCE", "0.5")
    found = load_settings(home=tmp_path)
    assert found.retrieval.weights.fit == 0.5
    assert found.warnings == ("retrieval.weights.relevance is deprecated; rename it to retrieval.weights.fit.",)
    monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__WEIGHTS__FIT", "0.4")
    monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__WEIGHTS__IMPORTANCE", "0.3")
    assert load_settings(home=tmp_path).retrieval.weights.fit == 0.4


def test_the_old_name_of_vital_importance_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[briefing]\nimportant_from = 9\n")
    found = load_settings(home=tmp_path)
    assert found.briefing.vital_from == 9
    assert found.warnings == ("briefing.important_from is deprecated; rename it to briefing.vital_from.",)


def test_a_setting_that_is_gone_is_ignored_with_a_warning(tmp_path: Path) -> None:
    """Rates of single callers are the job of a proxy; a config file that sets one still works."""
    (tmp_path / "config.toml").write_text("[service.limits]\ncalls_a_second = 5\nwaiting = 7\n")
    found = load_settings(home=tmp_path)
    assert found.service.limits.waiting == 7
    assert found.warnings == ("service.limits.calls_a_second is no longer supported and is ignored; remove it.",)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("MEMORY_BUTLER_SERVICE_AUTH", "MEMORY_BUTLER_SERVICE__AUTH?"),
        ("MEMORY_BUTLER_DATABASE_URI", "MEMORY_BUTLER_DATABASE_URL?"),
        ("MEMORY_BUTLER_RETRIVAL__LIMIT", "MEMORY_BUTLER_RETRIEVAL__LIMIT?"),
        ("memory_butler_prot", "MEMORY_BUTLER_PORT?"),
        ("MEMORY_BUTLER_QUITE_ANOTHER_THING", "Correct or unset it"),
    ],
)
def test_a_misspelt_variable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    """It would be a server without authentication, or on another database, that nobody wanted."""
    monkeypatch.setenv(variable, "required")
    with pytest.raises(InvalidInput, match=f"{variable.upper()} is not a setting") as problem:
        load_settings(home=tmp_path)
    assert problem.value.recovery and meant in problem.value.recovery


def test_variables_of_others_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the client, the hooks, the compose file and Kubernetes are no settings, and no mistakes."""
    ours = ("URL", "TOKEN", "HOOK_SECONDS", "HOOK_DEBUG", "MAINTENANCE", "BUTLERS__CODER__REVIEW")
    passwords = ("DB_PASSWORD", "DB_OWNER_PASSWORD", "DB_SUPERUSER_PASSWORD")
    linked = ("DB_SERVICE_HOST", "DB_SERVICE_PORT", "DB_SERVICE_PORT_SQL", "DB_PORT_5432_TCP_ADDR")
    for name in (*ours, *passwords, *linked):
        monkeypatch.setenv(f"MEMORY_BUTLER_{name}", "1")
    monkeypatch.setenv("MEMORY_BUTLER_DB_PORT", "tcp://10.0.0.7:5432")
    assert load_settings(home=tmp_path).butlers["coder"].review


WRONG = {
    "weights that add up to more than 1": ({"retrieval": {"weights": {"fit": 0.5}}}, "add up to 1.1, not 1"),
    "a negative weight": ({"retrieval": {"weights": {"fit": -0.4, "importance": 1.1}}}, "fit"),
    "quotas above the whole": ({"briefing": {"quotas": {"facts": 0.6}}}, "add up to 1.1, more than 1"),
    "a negative vote": ({"retrieval": {"keyword_weight": -1}}, "keyword_weight"),
    "no candidates": ({"retrieval": {"candidates": 0}}, "candidates"),
    "a limit of nothing": ({"retrieval": {"limit": 0}}, "limit"),
    "a confidence above 1": ({"retrieval": {"min_confidence": 1.5}}, "min_confidence"),
    "a half-life of nothing": ({"retrieval": {"recency_half_life_days": 0}}, "recency_half_life_days"),
    "a schema that is no plain name": ({"db_schema": 'memory"; DROP'}, "db_schema"),
    "a text search that is no plain name": ({"retrieval": {"text_search": "english'"}}, "text_search"),
    "a tenant that is no plain name": ({"tenant": "Me And You"}, "tenant"),
    "a port that does not exist": ({"port": 70_000}, "port"),
    "a log level that does not exist": ({"log_level": "LOUD"}, "log_level"),
    "a deadline of nothing": ({"deadline_seconds": 0}, "deadline_seconds"),
    "half a provider": ({"dashboard": {"login": {"client_id": "x"}}}, "authorize_url and token_url not set"),
    "a login without keys to check it": (
        {"dashboard": {"login": {"client_id": "x", "authorize_url": "https://a.b", "token_url": "https://a.b"}}},
        "dashboard.login needs service.jwt",
    ),
    "a provider without https": (
        {"dashboard": {"login": {"client_id": "x", "authorize_url": "http://a.b", "token_url": "https://a.b"}}},
        "authorize_url must be an https address",
    ),
    "an address with a path": ({"dashboard": {"public_url": "https://a.b/memory"}}, "root of the site"),
    "an address that is none": ({"dashboard": {"public_url": "memory.example.org"}}, "public_url must start with"),
    "a setting that does not exist": ({"halflife": 3}, "halflife"),
    "a nested setting that does not exist": ({"retrieval": {"half_life": 3}}, "retrieval.half_life"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_setting_is_named(tmp_path: Path, given: dict[str, object], message: str) -> None:
    """The error says which setting is wrong and where to correct it."""
    with pytest.raises(InvalidInput, match=message) as caught:
        load_settings(home=tmp_path, **given)
    assert "config.toml" in caught.value.recovery


def test_a_file_that_is_not_toml_is_an_error_of_ours(tmp_path: Path) -> None:
    """A broken config file is named, not a traceback."""
    (tmp_path / "config.toml").write_text("port = = 3")
    with pytest.raises(InvalidInput, match=r"config\.toml, line 1, column 8: "):
        load_settings(home=tmp_path)


def test_settings_do_not_change_while_they_are_in_use(tmp_path: Path) -> None:
    """The settings object is frozen, its groups too."""
    found = load_settings(home=tmp_path)
    with pytest.raises(ValueError, match="frozen"):
        found.port = 1  # type: ignore[misc]
    with pytest.raises(ValueError, match="frozen"):
        found.retrieval.limit = 1  # type: ignore[misc]


def test_secrets_do_not_show(tmp_path: Path) -> None:
    """A database password does not appear when settings are printed."""
    found = load_settings(
        home=tmp_path, database_url="postgresql://u:hunter2@h/d", owner_url="postgresql://o:hunter2@h/d"
    )
    assert "hunter2" not in repr(found) + str(found.model_dump())


def test_every_setting_says_what_it_is() -> None:
    """No setting is without a description, which is what the reference page shows."""
    groups: list[type] = [Settings]
    for group in groups:
        for name, field in group.model_fields.items():  # type: ignore[attr-defined]
            if hasattr(field.annotation, "model_fields"):
                groups.append(field.annotation)
            else:
                assert field.description, f"{group.__name__}.{name}"
    assert len(groups) > 30
