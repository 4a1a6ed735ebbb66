"""Entry point of the `memory-butler` command. Hooks run before the CLI is imported: an agent session waits for them."""

import sys

EVENTS = ("session-start", "user-prompt", "pre-compact", "session-end")


def main() -> None:
    if sys.platform == "win32":
        import asyncio  # noqa: PLC0415

        # psycopg waits for sockets, which the default loop of Windows cannot do for it.
        asyncio.set_event_loop_policy(asyncio.WindowsSelectorEventLoopPolicy())
    hook = _hook(sys.argv[1:])
    if hook is None:
        from memory_butler.adapters.cli import app  # noqa: PLC0415 (slow to import)

        app.main()
        return
    from memory_butler.adapters.hooks.handlers import run  # noqa: PLC0415

    run(*hook)


def _hook(arguments: list[str]) -> tuple[str, str | None, str | None] | None:
    """Return event, home and port of `[--home FOLDER] hook EVENT [--port PORT]`, as `connect` writes it; else None."""
    home = port = None
    if arguments[:1] == ["--home"] and len(arguments) > 1:
        home, arguments = arguments[1], arguments[2:]
    if len(arguments) == 4 and arguments[2] == "--port":
        port, arguments = arguments[3], arguments[:2]
    if len(arguments) != 2 or arguments[0] != "hook" or arguments[1] not in EVENTS:
        return None
    return arguments[1], home, port


if __name__ == "__main__":
    main()
