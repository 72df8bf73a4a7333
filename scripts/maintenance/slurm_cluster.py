"""A real SLURM cluster of one node, for tests: munge, MariaDB, slurmdbd, slurmctld and slurmd on the loopback device.

    scripts/maintenance/slurm_cluster.py start DIR      (root; Debian's packages, see PACKAGES) prints what to export
    scripts/maintenance/slurm_cluster.py status DIR
    scripts/maintenance/slurm_cluster.py stop DIR
    scripts/maintenance/slurm_cluster.py packages       prints PACKAGES

Everything lies below DIR, and only the processes noted there are stopped. The accounting database is needed: without
it SLURM forgets why a job ended. Two partitions: `debug`, the default, which can be pre-empted, and `urgent`, which
pre-empts it. Times are short (a lost node is noticed after 15 s), and arrays have at most 8 jobs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

PACKAGES = (
    *("slurmctld", "slurmd", "slurm-client", "slurmdbd", "slurm-wlm-mysql-plugin"),
    *("munge", "mariadb-server"),
)
PROGRAMS = ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd", "sbatch")
LARGEST_ARRAY = 8

SLURM_CONF = """\
ClusterName=scorebo
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A job that is queued again waits this long before it starts.
AuthInfo=socket={run}/munge.socket,cred_expire=5
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
SlurmctldPidFile={run}/slurmctld.pid
SlurmdPidFile={run}/slurmd.pid
SlurmctldLogFile={log}/slurmctld.log
SlurmdLogFile={log}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
# By core and memory: otherwise one job takes the whole node.
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=200
MaxArraySize={largest}
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
JobRequeue=1
ReturnToService=2
SlurmdTimeout=15
KillWait=5
MinJobAge=600
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports[2]}
# Of a munge that is not in the usual place.
AccountingStoragePass={run}/munge.socket
JobAcctGatherType=jobacct_gather/linux
# Memory is looked at every second, and a job that takes more than it asked for is killed.
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=ALL Default=NO MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""
SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={run}/munge.socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={ports[2]}
SlurmUser=root
PidFile={run}/slurmdbd.pid
LogFile={log}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports[3]}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
"""
DATABASE = """
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS slurm@'127.0.0.1' IDENTIFIED BY 'slurm';
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED BY 'slurm';
GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1';
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
"""


class Cluster:
    """The cluster whose state lies in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.run, self.log, self.etc = (self.folder / name for name in ("run", "log", "etc"))
        self.conf = self.etc / "slurm.conf"
        self.ports: list[int] = []
        self.environment = os.environ | {"SLURM_CONF": str(self.conf)}

    def start(self) -> None:
        """Bring everything up; returns when the node can take a job."""
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing:
            sys.exit(f"Not installed: {', '.join(missing)}. On Debian: apt-get install {' '.join(PACKAGES)}")
        if self.pid("slurmctld") is not None:
            sys.exit(f"A cluster is running in {self.folder}.")
        self._write()
        munge = [
            f"--{name}={self.run / f'munged.{ending}'}" for name, ending in (("pid-file", "pid"), ("seed-file", "seed"))
        ]
        munge += [f"--key-file={self.etc / 'munge.key'}", f"--log-file={self.log / 'munged.log'}", "--num-threads=4"]
        self.call("munged", f"--socket={self.run / 'munge.socket'}", *munge)
        self._wait(10, "munge", f"--socket={self.run / 'munge.socket'}", "--no-input")
        self._start_database()
        self.start_daemon("slurmctld")
        self._until(30, lambda: "is UP" in self.ask("scontrol", "ping"), "slurmctld")
        self.start_node()

    def stop(self) -> None:
        """End the jobs, then the daemons, last started first."""
        with contextlib.suppress(subprocess.SubprocessError):
            self.call("scancel", "--user=root", timeout=10)
            self.call("scancel", "--user=root", "--signal=KILL", "--state=RUNNING", timeout=10)
            self._until(15, lambda: not self.ask("squeue", "--noheader"), "the jobs to end", strict=False)
        for name in ("slurmd", "slurmctld", "slurmdbd", "mariadbd", "munged"):
            self.stop_daemon(name)

    def start_daemon(self, name: str) -> None:
        """Start slurmctld or slurmd, which go to the background themselves."""
        self.call(name)

    def start_node(self) -> None:
        """Start slurmd and wait until the controller counts on it."""
        self.start_daemon("slurmd")
        self._until(
            60, lambda: self.ask("sinfo", "--noheader", "--format=%T").split()[0] in ("idle", "mixed"), "slurmd"
        )

    def mend(self) -> None:
        """Start what is dead of controller and node, and take back a node that was drained."""
        if self.pid("slurmctld") is None:
            self.restart_controller()
        if "drain" in self.ask("sinfo", "--noheader", "--format=%T"):
            self.call("scontrol", "update", "nodename=ALL", "state=resume")
        if self.pid("slurmd") is None:
            self.start_node()

    def lose_node(self) -> None:
        """Kill slurmd and every process of a job, as when a machine loses its power."""
        steps = [pid for pid in _processes("slurmstepd") if str(self.conf).encode() in _environment(pid)]
        # Stopped first: a slurmstepd that outlives its job by a moment reports it as killed, and nobody requeues it.
        _signal(steps, signal.SIGSTOP)
        self.stop_daemon("slurmd", signal.SIGKILL)
        _signal([*steps, *(child for step in steps for child in _descendants(step))], signal.SIGKILL)

    def saved(self) -> bool:
        """Whether the controller has saved its state since a job in its queue was submitted or started."""
        submitted = self.ask("squeue", "--noheader", "--array", "--format=%V").split()
        started = self.ask("squeue", "--noheader", "--array", "--states=RUNNING", "--format=%S").split()
        changes = [datetime.fromisoformat(moment).timestamp() for moment in submitted + started]
        state = self.folder / "controller" / "job_state"
        # SLURM's times are whole seconds.
        return state.exists() and state.stat().st_mtime > max(changes, default=0.0) + 1.0

    def restart_controller(self) -> None:
        """Kill slurmctld and start it again from its saved state."""
        self.stop_daemon("slurmctld", signal.SIGKILL)
        self.start_daemon("slurmctld")
        self._until(30, lambda: "is UP" in self.ask("scontrol", "ping"), "slurmctld")

    def stop_daemon(self, name: str, number: int = signal.SIGTERM) -> None:
        """Stop the process whose id this cluster noted."""
        pid = self.pid(name)
        if pid is not None:
            os.kill(pid, number)
            if not self._until(20, lambda: self.pid(name) is None, name, strict=False):
                os.kill(pid, signal.SIGKILL)
        (self.run / f"{name}.pid").unlink(missing_ok=True)

    def pid(self, name: str) -> int | None:
        """The process id of a daemon of this cluster that is alive."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.run / f"{name}.pid").read_text())
            if Path(f"/proc/{pid}/comm").read_text().strip() == name:
                return pid
        return None

    def call(self, *command: str, timeout: float = 60.0) -> None:
        """Run a command of the cluster, which must succeed."""
        subprocess.run(command, env=self.environment, check=True, timeout=timeout, capture_output=True)

    def ask(self, *command: str) -> str:
        """What a command of the cluster answers; nothing if it fails."""
        with contextlib.suppress(subprocess.SubprocessError):
            return subprocess.run(
                command, env=self.environment, check=True, timeout=5, capture_output=True, text=True
            ).stdout.strip()
        return ""

    def _write(self) -> None:
        for folder in (self.run, self.log, self.etc, self.folder / "controller", self.folder / "node"):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
        self.folder.chmod(0o755)
        key = self.etc / "munge.key"
        if not key.exists():
            key.write_bytes(secrets.token_bytes(1024))
            key.chmod(0o400)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
        self.ports = _free_ports(4)
        values = {
            **{"host": socket.gethostname().partition(".")[0], "cpus": os.cpu_count(), "memory": memory // 2},
            **{"folder": self.folder, "run": self.run, "log": self.log, "ports": self.ports},
            "largest": LARGEST_ARRAY,
        }
        self.conf.write_text(SLURM_CONF.format(**values))
        database = self.etc / "slurmdbd.conf"
        database.write_text(SLURMDBD_CONF.format(**values))
        database.chmod(0o600)  # slurmdbd refuses one that others can read

    def _start_database(self) -> None:
        data, unix = self.folder / "database", self.run / "mysql.socket"
        if not (data / "mysql").exists():
            data.mkdir(exist_ok=True)
            self.call(
                *("mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db"),
                "--auth-root-authentication-method=normal",
            )
        options = (
            *("--no-defaults", "--user=root", f"--datadir={data}", f"--socket={unix}", "--bind-address=127.0.0.1"),
            *(
                f"--port={self.ports[3]}",
                f"--pid-file={self.run / 'mariadbd.pid'}",
                f"--log-error={self.log / 'mariadb.log'}",
            ),
            *("--innodb-buffer-pool-size=128M", "--innodb-log-file-size=64M", "--innodb-lock-wait-timeout=900"),
        )
        # The only one that does not go to the background by itself.
        with open(os.devnull, "r+b") as nothing:
            subprocess.Popen(
                ["mariadbd", *options], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
            )
        client = ("--no-defaults", f"--socket={unix}")
        self._wait(30, "mariadb-admin", *client, "ping")
        self.call("mariadb", *client, "--execute", DATABASE)
        self.call("slurmdbd")
        self._wait(30, "sacctmgr", "--noheader", "list", "cluster")
        if "scorebo" not in self.ask("sacctmgr", "--noheader", "list", "cluster", "format=cluster%20"):
            self.call("sacctmgr", "--immediate", "add", "cluster", "scorebo")

    def _wait(self, seconds: float, *command: str) -> None:
        def works() -> bool:
            done = subprocess.run(command, env=self.environment, capture_output=True, timeout=10, check=False)
            return done.returncode == 0

        self._until(seconds, works, command[0])

    def _until(self, seconds: float, condition: Callable[[], bool], what: str, *, strict: bool = True) -> bool:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                if strict:
                    raise TimeoutError(f"Waited {seconds:g} s for {what}; the logs are in {self.log}.")
                return False
            time.sleep(0.05)
        return True


def _free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def _processes(name: str) -> list[int]:
    """Ids of the processes of that name; they may belong to another cluster."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "comm").read_text().strip() == name:
                found.append(int(path.name))
    return found


def _signal(processes: list[int], number: int) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _environment(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def _descendants(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += [int(word) for word in (task / "children").read_text().split()]
    return children + [below for child in children for below in _descendants(child)]


def main() -> None:
    """Start, stop or describe the cluster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["start", "stop", "status", "packages"])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(tempfile.gettempdir(), "slurm-cluster"))
    options = parser.parse_args()
    if options.action == "packages":
        print(*PACKAGES)
        return
    cluster = Cluster(options.folder)
    if options.action == "start":
        cluster.start()
        print(f"export SLURM_CONF={cluster.conf}")
    elif options.action == "stop":
        cluster.stop()
    else:
        print(cluster.ask("sinfo") or "not running", cluster.ask("squeue"), sep="\n")


if __name__ == "__main__":
    main()
