"""The program that a hook starts to answer hooks: `python -m memory_butler.adapters.hooks.program HOME`."""

import sys


def main() -> None:
    import asyncio  # noqa: PLC0415 (the turn is taken first)

    from memory_butler.adapters.hooks.turn import taken_turn  # noqa: PLC0415
    from memory_butler.settings import load_settings  # noqa: PLC0415

    settings = load_settings(home=sys.argv[1])
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with taken_turn(str(settings.home)) as has_turn:
        if has_turn:
            from memory_butler.adapters.hooks.standby import answer_until_idle  # noqa: PLC0415

            asyncio.run(answer_until_idle(settings, settings.hooks.idle_minutes * 60))


if __name__ == "__main__":
    main()
