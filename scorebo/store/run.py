"""The folder of one run: opened by one process at a time, resumed where it stopped, finished once.

Use it as `with RunStore(results, config) as store:`, then `resume()` once, `append(record)` for each further iteration,
and `finish()`. A run that `is_finished()` needs none of these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorebo.errors import InputError
from scorebo.files import remove_temporaries, storage_errors
from scorebo.store.folder import check_config, check_format, log_repair, note_session, set_aside, write_config
from scorebo.store.identity import run_folder, run_id, stored_nodes
from scorebo.store.ledger import EVALUATION, ITERATION, complete, enter, entries_of
from scorebo.store.lock import RunLock
from scorebo.store.markers import Checkpoint, is_finished, write_checkpoint, write_finished
from scorebo.store.records import RecordWriter, read_bytes, truncate_to
from scorebo.store.resume import ENVELOPE, RUN_DIGITS, contents, plan_resume
from scorebo.store.schema import Record


@dataclass(frozen=True)
class ResumeState:
    """The records there are, the sampler state handed in with the last of them, and what was repaired to get there."""

    records: list[Record]
    state: Any
    repairs: list[str]


class RunStore:
    """Making one touches nothing; `open` (or `with`) creates the folder and holds its lock until `close`."""

    def __init__(self, results: Path | str, config: Mapping[str, Any]) -> None:
        self.results = Path(results)
        self.nodes = stored_nodes(config)
        self.run_id = run_id(self.nodes)
        self.folder = run_folder(self.results, self.nodes)
        self._threads = config.get("threads")
        self._lock = RunLock(self.folder)
        self._writer: RecordWriter | None = None
        self._hash = hashlib.sha256()
        self._count = 0
        self._finished = False
        self._open_repairs: list[str] = []

    def is_finished(self) -> bool:
        """Whether the run is done, by its own marker and checksum; needs neither the lock nor the right to write."""
        with storage_errors(self.folder, "read"):
            if not (self.folder / "finished.json").exists():
                return False
        check_config(self.folder, self.run_id)
        return is_finished(self.folder, self.run_id)

    def open(self) -> RunStore:
        """Create the folder if needed, lock it, and note this session in `environment.json`."""
        with storage_errors(self.folder):
            if self.results.exists() and not self.results.is_dir():
                raise InputError(f"The results folder {self.results} is a file. Choose another with results=DIR.")
            self.folder.mkdir(parents=True, exist_ok=True)
        self._lock.acquire()
        try:
            with storage_errors(self.folder):
                remove_temporaries(self.folder)
            check_format(self.folder)
            write_config(self.folder, self.nodes)
            self._open_repairs = note_session(self.folder, self._threads)
        except BaseException:
            self.close()
            raise
        return self

    def resume(self) -> ResumeState:
        """Bring the folder to its last good iteration and say where the run stands. Damaged bytes are kept aside."""
        if not self._lock.held or self._writer is not None:
            raise RuntimeError("Call resume() once, on an open RunStore.")
        path = self.folder / "records.jsonl"
        plan = plan_resume(self.folder, self.run_id)
        # Said first and done last: a repair that is itself interrupted is found, and made, by the next start.
        for text in plan.repairs:
            log_repair(self.folder, text)
        if plan.cut:
            set_aside(path, plan.cut_kind, plan.cut)
            truncate_to(path, plan.checkpoint.bytes)
        if plan.rewrite_checkpoint:
            write_checkpoint(self.folder, self.run_id, plan.checkpoint)
        if not plan.finished:
            self._drop_marker()
        self._writer = RecordWriter(path)
        self._hash = hashlib.sha256(read_bytes(path))
        self._count = len(plan.records)
        self._finished = plan.finished
        complete(self.folder, plan.records)
        return ResumeState([*map(contents, plan.records)], plan.checkpoint.state, self._open_repairs + plan.repairs)

    def append(self, record: Mapping[str, Any], state: Any = None) -> None:
        """Store the next record, then the checkpoint after it with what the sampler needs to go on (JSON or None)."""
        writer = self._resumed()
        if self._finished:
            raise RuntimeError("The run is finished; nothing can be added to it.")
        if record.get("iteration") != self._count + 1:
            raise ValueError(f"Expected iteration {self._count + 1}, got {record.get('iteration')}.")
        taken = [key for key in ENVELOPE if key in record]
        if taken:
            raise ValueError(f"A record may not have a field of its own named '{taken[0]}'.")
        envelope: dict[str, Any] = {"run": self.run_id[:RUN_DIGITS]}
        if state is not None:
            envelope["needs_state"] = True
        self._hash.update(writer.append({**record, **envelope}))
        self._count += 1
        checkpoint = Checkpoint(self._count, writer.size, self._hash.hexdigest(), state)
        write_checkpoint(self.folder, self.run_id, checkpoint)
        enter(self.folder, entries_of(record))

    def note_failure(
        self, iteration: int, x: list[float] | None, reason: str, trace: list[str], attempt: int | None = None
    ) -> Path:
        """Enter an evaluation that failed at `x`, or (None) the rest of an iteration, in the ledger, which is returned.

        It is no record of the run. `attempt`: how many points failed before it in this iteration, where they are
        avoided.
        """
        self._resumed()
        what: dict[str, Any] = {"kind": ITERATION} if x is None else {"kind": EVALUATION, "x": x}
        what |= {} if attempt is None else {"attempt": attempt}
        return enter(self.folder, [{"iteration": iteration, "reason": reason, **what, "traceback": trace}])

    def finish(self) -> None:
        """Mark the run as done, if what is on the disk is what was written."""
        self._resumed()
        path = self.folder / "records.jsonl"
        if hashlib.sha256(read_bytes(path)).hexdigest() != self._hash.hexdigest():
            raise InputError(f"{path} was changed by another process, so the run is not finished. Run it again.")
        write_finished(self.folder, self.run_id, self._count, self._hash.hexdigest())
        self._finished = True

    def close(self) -> None:
        """Close the files and give the lock back."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._lock.release()

    def __enter__(self) -> RunStore:
        return self.open()

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _resumed(self) -> RecordWriter:
        if self._writer is None:
            raise RuntimeError("Call resume() on an open RunStore first.")
        return self._writer

    def _drop_marker(self) -> None:
        marker = self.folder / "finished.json"
        with storage_errors(marker):
            if marker.exists():
                set_aside(marker, "damaged", read_bytes(marker))
                marker.unlink()
