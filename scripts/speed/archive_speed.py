"""Size of archives, and time and memory of writing and reading them. Invented runs of the paper's size will do:

    python scripts/validation/synthetic_results.py /tmp/paper_size
    python scripts/speed/archive_speed.py /tmp/paper_size /tmp/archives

Limits for summaries of about 6,000 runs of 800,000 iterations: 60 MB; written in 3 minutes, read in 10 s and 2 GB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from scorebo.store.archive.manage import contents
from scorebo.store.archive.write import KINDS

# What figures, claims and comparisons are made of.
READ = "import sys; from scorebo.store import collect; collect(sys.argv[1:], points=False)"


def main() -> None:
    """Make and read archives of each kind, in a process of its own each time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, metavar="DIR", help="finished runs")
    parser.add_argument("out", type=Path, metavar="DIR", help="where the archives are put, in a folder for each kind")
    options = parser.parse_args()
    for kind in KINDS:
        folder = options.out / kind
        create = ["-m", "scorebo", "archive", "create", "--results", str(options.results), "--kind", kind]
        print(f"{kind}, written: {measured([*create, '--out', str(folder)])}", flush=True)
        found = contents([folder], [])
        size, iterations = sum(each.bytes for each in found), sum(each.iterations for each in found)
        runs = sum(each.runs for each in found)
        print(
            f"{kind}: {len(found)} files, {runs} runs, {size / 1e6:.1f} MB, {size / iterations:.1f} bytes an iteration"
        )
        print(f"{kind}, read: {measured(['-c', READ, *(str(each.path) for each in found)])}", flush=True)


def measured(arguments: list[str]) -> str:
    """Processor time and peak memory of a Python process."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(arguments)} failed")
    return f"{used.ru_utime + used.ru_stime:.1f} s of processor, {used.ru_maxrss / 1e6:.2f} GB"


if __name__ == "__main__":
    main()
