"""Builds all wheels into a folder, from which `pip install --find-links FOLDER memory-butler` installs."""

import argparse
from pathlib import Path

from tools.packages import client, model, program


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheels of the program, its model and the client.")
    parser.add_argument("--out", type=Path, default=model.OUT)
    out = parser.parse_args().out
    for built in (model.build(out), program.build(out), client.build(out)):
        print(built)


if __name__ == "__main__":
    main()
