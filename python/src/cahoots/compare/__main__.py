"""``python -m cahoots.compare [--json] [--quick] [--out FILE]``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from cahoots.compare import compare, table


def main(arguments: list[str] | None = None) -> int:
    """Compares and prints."""
    parser = argparse.ArgumentParser(
        prog="python -m cahoots.compare",
        description="The same LinUCB work in Cahoots, numpy, MABWiser, contextualbandits and river, in turns.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="few steps: to see that it works, not how fast")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there, too")
    given = parser.parse_args(arguments)
    report = compare(quick=given.quick)
    text = json.dumps(report, indent=2) if given.json else table(report)
    print(text)
    if given.out is not None:
        try:
            given.out.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            print(f"{given.out}: {error}", file=sys.stderr)
            return 1
    return 0


def alone() -> int | None:
    """One thread for everyone, or what is compared are pools of threads. Those are made when numpy is imported, which
    has happened: a process of its own does the work. None in that process.
    """
    single = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    if all(os.environ.get(name) == value for name, value in single.items()):
        return None
    command = [sys.executable, "-m", "cahoots.compare", *sys.argv[1:]]
    try:
        return subprocess.call(command, env={**os.environ, **single})
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    ended = alone()
    sys.exit(main() if ended is None else ended)
