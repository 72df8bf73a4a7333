"""Downloads against a server on this machine that answers well, badly, or hardly at all."""

import contextlib
import hashlib
import io
import os
import socket
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scorebo.cli import main
from scorebo.data import sources
from scorebo.data.fetch import ATTEMPTS, LOCK, download, fetch
from scorebo.data.sources import digest
from scorebo.errors import InputError

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves `content`; `ranges` says whether from any byte on; `breaks` are after how many bytes answers break off."""

    content, ranges, status = CONTENT, True, 200
    pause = 0.0
    most = None  # bytes of a partial answer; None: all that there are
    tells = "bytes {start}-{end}/{size}"  # of a partial answer, whatever it sends

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.breaks = []
        self.asked = []
        self.stop = threading.Event()

    def url(self, name="file"):
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.ranges else 0
        if start >= len(server.content) or server.status != 200:
            self.send_error(416 if server.status == 200 else server.status)
            return
        partial = wanted and server.ranges
        body = server.content[start:][: server.most if partial else None]
        self.send_response(206 if partial else 200)
        if partial:
            self.send_header(
                "Content-Range", server.tells.format(start=start, end=start + len(body) - 1, size=len(server.content))
            )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        end = server.breaks.pop(0) if server.breaks else len(body)
        with contextlib.suppress(ConnectionError):  # who asked may have gone
            for at in range(0, end, 100_000):
                self.wfile.write(body[at : min(at + 100_000, end)])
                server.stop.wait(server.pause)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.stop.set()
    made.shutdown()
    thread.join()
    made.server_close()


def left_behind(folder):
    return sorted(path.name for path in folder.iterdir())


class TestDownload:
    def test_good(self, server, tmp_path):
        download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert left_behind(tmp_path) == ["file"]
        assert server.asked == [None]

    def test_truncated_is_resumed_within_the_call(self, server, tmp_path):
        server.breaks = [200_000, 1000]
        download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert server.asked == [None, "bytes=200000-", "bytes=201000-"]

    def test_truncated_again_and_again_is_resumed_by_the_next_call(self, server, tmp_path):
        server.breaks = [100, 100, 100]
        with pytest.raises(InputError, match=r"only 300 of 512000 bytes arrived.* 300 bytes that arrived are kept"):
            download(server.url(), tmp_path / "file", SHA256)
        assert left_behind(tmp_path) == ["file.part"]
        download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert server.asked[-1] == "bytes=300-"
        assert left_behind(tmp_path) == ["file"]

    def test_a_server_that_cannot_resume_is_asked_for_all_of_it(self, server, tmp_path):
        server.ranges = False
        (tmp_path / "file.part").write_bytes(CONTENT[:5000])
        download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == CONTENT

    def test_altered_is_refused_and_leaves_the_old_file_alone(self, server, tmp_path):
        (tmp_path / "file").write_bytes(b"old")
        server.content = CONTENT[:-1] + b"x"
        with pytest.raises(InputError, match=f"is not the file expected: its SHA-256 is .*, not {SHA256}"):
            download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == b"old"
        assert left_behind(tmp_path) == ["file"]

    @pytest.mark.parametrize("begun", [b"something else", CONTENT + b"more"])
    def test_what_was_begun_and_is_not_the_beginning_is_thrown_away(self, server, tmp_path, begun):
        (tmp_path / "file.part").write_bytes(begun)
        download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == CONTENT

    def test_slow_is_waited_for(self, server, tmp_path):
        server.pause = 0.1
        download(server.url(), tmp_path / "file", SHA256, timeout=5.0)
        assert (tmp_path / "file").read_bytes() == CONTENT

    def test_silent_is_not(self, server, tmp_path):
        server.pause = 60.0
        began = time.monotonic()
        with pytest.raises(InputError, match=r"timed out.* bytes that arrived are kept"):
            download(server.url(), tmp_path / "file", SHA256, timeout=0.2)
        assert time.monotonic() - began < 30.0
        server.pause = 0.0
        download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == CONTENT

    def test_refusals_and_absent_servers_are_named(self, server, tmp_path):
        server.status = 404
        with pytest.raises(InputError, match=r"cannot be fetched: 404 Not Found\.$"):
            download(server.url(), tmp_path / "file", SHA256)
        assert len(server.asked) == 1
        server.status = 503
        with pytest.raises(InputError, match="cannot be fetched: 503"):
            download(server.url(), tmp_path / "file", SHA256)
        assert len(server.asked) == 4
        with pytest.raises(InputError, match=r"cannot be fetched: .*[Rr]efused"):
            download("http://127.0.0.1:1/file", tmp_path / "file", SHA256)
        assert left_behind(tmp_path) == []  # nothing arrived, nothing is kept

    def test_an_answer_that_is_none_is_told_in_one_line(self, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def talk():
                for _ in range(ATTEMPTS):
                    with listening.accept()[0] as line:
                        line.recv(1000)
                        line.sendall(b"what\r\n\r\n")

            talking = threading.Thread(target=talk)
            talking.start()
            with pytest.raises(InputError, match=r"cannot be fetched: what\.$"):
                download(f"http://127.0.0.1:{listening.getsockname()[1]}/file", tmp_path / "file", SHA256)
            talking.join()
        assert left_behind(tmp_path) == []

    def test_partial_answers_that_end_early_are_gone_on_from(self, server, tmp_path):
        (tmp_path / "file.part").write_bytes(CONTENT[:1000])
        server.most, server.content = 200_000, 2 * CONTENT
        sha256 = hashlib.sha256(2 * CONTENT).hexdigest()
        with pytest.raises(InputError, match="only 601000 of 1024000 bytes arrived"):
            download(server.url(), tmp_path / "file", sha256)
        download(server.url(), tmp_path / "file", sha256)
        assert (tmp_path / "file").read_bytes() == 2 * CONTENT
        assert server.asked == [f"bytes={1000 + 200_000 * i}-" for i in range(6)]

    @pytest.mark.parametrize("tells", ["bytes 0-511999/512000", "bytes 4999-511999/512000", "bytes */512000", "what"])
    def test_another_range_than_asked_for_is_not_appended(self, server, tmp_path, tells):
        (tmp_path / "file.part").write_bytes(CONTENT[:5000])
        server.tells = tells
        download(server.url(), tmp_path / "file", None)  # without a checksum to tell afterwards
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert server.asked == ["bytes=5000-", None]

    def test_what_had_arrived_entirely_is_not_asked_for_again(self, server, tmp_path):
        (tmp_path / "file.part").write_bytes(CONTENT)
        download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert server.asked == []

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="There is no /dev/full here.")
    def test_a_full_disk_is_told_as_such_and_at_once(self, server, tmp_path):
        (tmp_path / "file").write_bytes(b"old")
        (tmp_path / "file.part").symlink_to("/dev/full")
        with pytest.raises(InputError, match=r"^Cannot write .*file\.part: No space left on device\. Free some space"):
            download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == b"old"
        assert len(server.asked) == 1

    def test_a_process_killed_while_it_writes_leaves_no_half_file(self, server, tmp_path):
        """Neither the final name nor what has arrived is touched by the kill; the next call goes on."""
        server.pause = 60.0  # after the first hundred thousand bytes
        code = f"""
from pathlib import Path
from scorebo.data.fetch import ATTEMPTS, download
download({server.url()!r}, Path({str(tmp_path / "file")!r}), {SHA256!r}, timeout=60.0)
"""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen([sys.executable, "-c", code], env=environment) as process:
            part, deadline = tmp_path / "file.part", time.monotonic() + 60.0
            while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
                time.sleep(0.02)
            process.kill()
        there = part.stat().st_size
        assert left_behind(tmp_path) == ["file.part"]
        assert 0 < there < len(CONTENT)
        server.pause = 0.0
        download(server.url(), tmp_path / "file", SHA256)
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert server.asked == [None, f"bytes={there}-"]


def table(tmp_path, monkeypatch, text):
    """A table of data sets of one's own, and an empty folder to look for them in."""
    path = tmp_path / "sources.yaml"
    path.write_text(f"toy: {{what: toys, tasks: [t], license: CC0, citation: nobody, files: {text}}}")
    monkeypatch.setattr(sources, "TABLE", path)
    monkeypatch.setenv("SCOREBO_DATA", str(tmp_path / "data"))


class TestCommand:
    def test_list_check_fetch(self, server, tmp_path, monkeypatch, capsys):
        table(tmp_path, monkeypatch, f"{{a/b.bin: {{url: '{server.url()}', sha256: {SHA256}}}}}")
        assert main(["data", "check", "toy"]) == 1
        assert main(["data", "check"]) == 0
        assert main(["data", "list"]) == 0
        shown = capsys.readouterr().out
        assert f"looked for in {tmp_path / 'data'}" in shown
        assert "missing; `scorebo data fetch toy` gets it, or set SCOREBO_DATA" in " ".join(shown.split())
        assert "license: CC0" in shown
        assert "cite: nobody" in shown
        assert server.asked == []  # nothing is downloaded unless asked for
        assert main(["data", "fetch", "toy"]) == 0
        assert "a/b.bin: fetched from http" in capsys.readouterr().out
        assert main(["data", "check", "toy"]) == 0
        assert capsys.readouterr().out.endswith("b.bin: intact\n")
        assert main(["data", "fetch", "toy"]) == 0
        assert len(server.asked) == 1
        file = tmp_path / "data" / "toy" / "a" / "b.bin"
        file.write_bytes(b"damaged")
        assert main(["data", "check"]) == 1
        assert main(["data", "fetch", "toy"]) == 0
        assert digest(file) == SHA256

    def test_files_of_an_archive_come_from_one_download(self, server, tmp_path, monkeypatch):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("inner/one.csv", "1")
            archive.writestr("two.csv", "2")
        server.content = packed.getvalue()
        url = server.url("all.zip")
        files = f"{{one.csv: {{url: '{url}', member: one.csv}}, two.csv: {{url: '{url}', member: two.csv}}}}"
        table(tmp_path, monkeypatch, files)
        fetch(sources.dataset("toy"))
        assert [(tmp_path / "data/toy" / name).read_text() for name in ("one.csv", "two.csv")] == ["1", "2"]
        assert left_behind(tmp_path / "data/toy") == [LOCK, "one.csv", "two.csv"]
        assert len(server.asked) == 1

    def test_an_archive_of_the_users_own_is_left_alone(self, server, tmp_path, monkeypatch):
        table(tmp_path, monkeypatch, f"{{one.csv: {{url: '{server.url('all.zip')}', member: one.csv}}}}")
        folder = tmp_path / "data" / "toy"
        folder.mkdir(parents=True)
        (folder / "all.zip").write_bytes(b"mine")
        (folder / "one.csv").write_text("1")
        fetch(sources.dataset("toy"))
        assert left_behind(folder) == ["all.zip", "one.csv"]  # and nothing written where all is there
        assert server.asked == []

    def test_archives_that_are_none_or_lack_the_file(self, server, tmp_path, monkeypatch):
        table(tmp_path, monkeypatch, f"{{one.csv: {{url: '{server.url('all.zip')}', member: one.csv}}}}")
        with pytest.raises(InputError, match="is no intact zip archive"):
            fetch(sources.dataset("toy"))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("two.csv", "2")
        server.content = packed.getvalue()
        with pytest.raises(InputError, match=r"has no one\.csv in it"):
            fetch(sources.dataset("toy"))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("one.csv", "1" * 1000)
        spoilt = bytearray(packed.getvalue())
        spoilt[30 + len("one.csv")] = 0xFF  # the first of the compressed bytes, after the entry's header and name
        for content, message in ((spoilt, "is no intact zip archive"), (packed.getvalue(), None)):
            server.content = bytes(content)
            with pytest.raises(InputError, match=message) if message else contextlib.nullcontext():
                fetch(sources.dataset("toy"))  # asked for again each time: a bad archive is not kept
        assert (tmp_path / "data/toy/one.csv").read_text() == "1" * 1000
        assert len(server.asked) == 4
        assert left_behind(tmp_path / "data/toy") == [LOCK, "one.csv"]

    def test_two_at_once_do_not_mix(self, server, tmp_path, monkeypatch):
        """The second is refused while the first is at it, and has nothing to do afterwards."""
        table(tmp_path, monkeypatch, f"{{file: {{url: '{server.url()}', sha256: {SHA256}}}}}")
        toy = sources.dataset("toy")
        server.pause = 0.05
        said = []
        first = threading.Thread(target=fetch, args=(toy, said.append))
        first.start()
        while not server.asked:
            time.sleep(0.005)
        with pytest.raises(InputError, match=r"^'toy' is being fetched into .* by another process\.$"):
            fetch(toy)
        first.join()
        assert said == [f"file: fetched from {server.url()}"]
        fetch(toy, said.append)
        assert said[1] == "file: intact, left alone"
        assert len(server.asked) == 1

    def test_mistakes_are_explained(self, tmp_path, monkeypatch, capsys):
        table(tmp_path, monkeypatch, "{one.csv: {sha256: '00'}}")
        for arguments, message in (
            (["fetch"], "Which data set? Give one or more of toy."),
            (["fetch", "toy"], "one.csv of 'toy' has no public address: put it in"),
            (["check", "tay"], "Unknown data set 'tay'. Did you mean toy?"),
            (["get"], "Unknown action 'get'. Did you mean fetch? Allowed: check, fetch, list."),
        ):
            assert main(["data", *arguments]) == 2
            assert message in capsys.readouterr().err
