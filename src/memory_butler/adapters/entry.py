"""Entry point of the `memory-butler` command. Hooks run before the CLI is imported: an agent session waits for them."""

import sys


def main() -> None:
    hook = _hook(sys.argv[1:])
    if hook is None:
        from memory_butler.adapters.cli import app  # noqa: PLC0415 (slow to import)

        app.main()
        return
    from memory_butler.adapters.hooks.handlers import run  # noqa: PLC0415

    run(*hook)


def _hook(arguments: list[str]) -> tuple[str, str | None] | None:
    """Return event and home of exactly `[--home FOLDER] hook EVENT`, the form that `connect` writes; else None."""
    home = None
    if arguments[:1] == ["--home"] and len(arguments) > 1:
        home, arguments = arguments[1], arguments[2:]
    if len(arguments) != 2 or arguments[0] != "hook" or arguments[1].startswith("-"):
        return None
    known = arguments[1] in ("session-start", "user-prompt", "pre-compact", "session-end")
    return (arguments[1], home) if known else None


if __name__ == "__main__":
    main()
