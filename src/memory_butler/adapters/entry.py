"""Where the command begins. A hook is answered before anything else is loaded: somebody is waiting for a session."""

import sys


def main() -> None:
    wanted = _hook(sys.argv[1:])
    if wanted is None:
        from memory_butler.adapters import cli  # noqa: PLC0415 (everything else hangs on it)

        cli.main()
        return
    from memory_butler.adapters.hooks.answers import run  # noqa: PLC0415

    run(*wanted)


def _hook(arguments: list[str]) -> tuple[str, str | None] | None:
    """Which hook is asked for and in which home: exactly `[--home FOLDER] hook EVENT`, as hooks are written down."""
    home = None
    if arguments[:1] == ["--home"] and len(arguments) > 1:
        home, arguments = arguments[1], arguments[2:]
    if len(arguments) != 2 or arguments[0] != "hook" or arguments[1].startswith("-"):
        return None
    known = arguments[1] in ("session-start", "pre-compact", "session-end")
    return (arguments[1], home) if known else None


if __name__ == "__main__":
    main()
