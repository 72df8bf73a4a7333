"""`launcher=local`: the pool of a sweep as a process in the background."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scorebo.files import storage_errors
from scorebo.launch.local.pool import Pool
from scorebo.launch.sweep import Sweep


def start(sweep: Sweep) -> None:
    """Start the pool in a session of its own, which a closed terminal does not end, and return at once."""
    # Taken here and handed on, so that the sweep is at no moment without someone who holds its lock.
    lock = sweep.lock()
    command = [sys.executable, "-m", "scorebo.launch.local.launcher", str(sweep.folder), str(lock)]
    log = sweep.folder / "pool.log"
    try:
        with storage_errors(log), open(log, "ab") as output:
            # The shell ends at once: the pool is nobody's child, and ignores an interrupt from a keyboard.
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=sweep.about["cwd"],
                start_new_session=True,
                pass_fds=(lock,),
                check=True,
            )
    finally:
        os.close(lock)


def main() -> None:
    """The pool of a sweep: its folder, and the descriptor of its lock, which is held until this process ends."""
    os.set_inheritable(int(sys.argv[2]), False)
    Pool(Sweep(Path(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
