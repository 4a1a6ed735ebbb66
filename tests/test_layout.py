"""House rules for the tree: folders stay small, names are unique in a layer, and tests mirror the source."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "memory_butler"
TESTS = ROOT / "tests"
MODULES_PER_FOLDER = 20
MODULES_PER_PREFIX = 3
# Test folders that mirror no package: whole journeys, shared fixtures, and what stands beside the package.
BESIDE_THE_PACKAGE = {"stories", "support", "benchmarks", "tools"}


def modules(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if path.name != "__init__.py")


def layer_of(path: Path) -> str:
    """The top folder of a module; in adapters/ each door is a layer of its own."""
    parts = path.relative_to(PACKAGE).parts
    return "/".join(parts[:2]) if parts[0] == "adapters" and len(parts) > 2 else parts[0]


def test_folders_are_small() -> None:
    """No folder holds more than 20 modules."""
    counts = Counter(path.parent for path in modules(PACKAGE))
    assert {str(folder.relative_to(PACKAGE)): n for folder, n in counts.items() if n > MODULES_PER_FOLDER} == {}


def test_module_names_are_unique_in_a_layer() -> None:
    """A module's name alone says which one is meant inside its layer."""
    named = defaultdict(list)
    for path in modules(PACKAGE):
        named[layer_of(path), path.stem].append(str(path.relative_to(PACKAGE)))
    assert {key: paths for key, paths in named.items() if len(paths) > 1} == {}


def test_a_shared_prefix_becomes_a_folder() -> None:
    """More than three modules of one folder that begin with the same word belong into a folder of that name."""
    prefixes = Counter((path.parent, path.stem.split("_")[0]) for path in modules(PACKAGE))
    long = {
        f"{folder.relative_to(PACKAGE)}/{word}": n for (folder, word), n in prefixes.items() if n > MODULES_PER_PREFIX
    }
    assert long == {}


def test_tests_mirror_the_source() -> None:
    """Every test module stands where its source module stands and begins with its name."""
    strangers = []
    for path in modules(TESTS):
        inside = path.relative_to(TESTS)
        if not path.name.startswith("test_") or len(inside.parts) == 1 or inside.parts[0] in BESIDE_THE_PACKAGE:
            continue
        subject = path.stem.removeprefix("test_")
        source = PACKAGE / inside.parent
        # A package can be tested as a whole, under its own name; the migrations always are.
        stems = [module.stem for module in source.glob("*.py")] + [source.name]
        if source.name != "migrations" and not any(f"{subject}_".startswith(f"{stem}_") for stem in stems):
            strangers.append(str(inside))
    assert strangers == []
