"""What is kept of a run: its identity, its records, checkpoint and resume, and all runs as one table."""

from scorebo.files import write_atomically
from scorebo.store.collect import collect, write_table
from scorebo.store.hyperparameters import active_inputs, collect_hyperparameters, in_task_units, separation
from scorebo.store.identity import IDENTITY_NODES, identity_nodes, run_folder, run_id
from scorebo.store.lock import RunLock
from scorebo.store.records import Reading, RecordWriter, read_records, truncate_to
from scorebo.store.run import ResumeState, RunStore
from scorebo.store.sources import find_runs

__all__ = ["IDENTITY_NODES", "Reading", "RecordWriter", "ResumeState", "RunLock", "RunStore", "active_inputs"]
__all__ += ["collect", "collect_hyperparameters", "find_runs", "identity_nodes", "in_task_units", "read_records"]
__all__ += ["run_folder", "run_id", "separation", "truncate_to", "write_atomically", "write_table"]
