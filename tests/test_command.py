"""What every command does: UTF-8 whatever the locale, no output lost without a word, errors as one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

posix = pytest.mark.skipif(os.name == "nt", reason="closed and non-blocking descriptors, limits and signals of POSIX")


def run(body: str, before: str = "", **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run ``body`` as a command, after ``before``."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    code = f"{before}\nimport sys\nfrom weft.command import run_as_command\nwith run_as_command():\n{lines}"
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.run([sys.executable, "-c", code], **(pipes | options))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16", "cp1252:strict"])
def test_streams_are_utf8_whatever_the_locale(encoding: str) -> None:
    body = r"print('gr\xf6\xdfer \u5b57')" "\n" r"print('gr\xf6\xdfer', file=sys.stderr)" "\nprint(sys.stdin.read())"
    environment = os.environ | {"PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"}
    result = run(body, env=environment, input="ö\r\n".encode())
    assert result.returncode == 0, result.stderr
    assert result.stdout == "größer 字\nö\r\n\n".encode()
    assert result.stderr == "größer\n".encode()


def test_what_utf8_cannot_spell_is_escaped() -> None:
    assert run(r"print('a\ud800b')").stdout == b"a\\ud800b\n"


@posix
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_does_not_fit_on_the_disk_is_an_error(unbuffered: str, tmp_path: Path) -> None:
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))"
    with (tmp_path / "out").open("wb") as out:
        environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
        result = run("for _ in range(5): print('x' * 300)", limit, stdout=out, env=environment)
    assert (tmp_path / "out").stat().st_size == 1_000
    assert result.returncode == 1
    assert result.stderr == b"weft: output: File too large\n"


@posix
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_non_blocking_stdout_gets_everything(unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    code = "from weft.command import run_as_command\nwith run_as_command():\n    for _ in range(500): print('x' * 999)"
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen([sys.executable, "-c", code], stdout=writer, env=environment) as process:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            assert len(pipe.read()) == 500_000
    assert process.returncode == 0


@posix
def test_a_non_blocking_stdin_is_read_to_its_end() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    code = (
        "import sys\nfrom weft.command import run_as_command\n"
        "with run_as_command():\n    print('ready', flush=True); print(len(sys.stdin.buffer.readline()))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=reader, stdout=subprocess.PIPE) as process:
        os.close(reader)
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        os.write(writer, b"only now\n")
        os.close(writer)
        assert process.stdout.read() == b"9\n"


@posix
@pytest.mark.parametrize(
    ("closed", "body", "code", "errors"),
    [
        (1, "pass", 0, b""),
        (1, "print('data')", 1, b"weft: output: Bad file descriptor\n"),
        (0, "sys.stdin.buffer.read()", 1, b"weft: output: Bad file descriptor\n"),
        (2, "print('to stderr', file=sys.stderr)", 0, b""),
        (2, "raise KeyboardInterrupt", 130, b""),
    ],
)
def test_closed_streams(closed: int, body: str, code: int, errors: bytes) -> None:
    result = run(body, preexec_fn=lambda: os.close(closed))
    assert (result.returncode, result.stdout, result.stderr) == (code, b"", errors)


@posix
def test_a_file_never_takes_the_place_of_a_closed_stdout(tmp_path: Path) -> None:
    body = f"import os\nwith open({str(tmp_path / 'file')!r}, 'w') as file:\n    os.write(1, b'noise')"
    assert run(body, preexec_fn=lambda: os.close(1)).returncode == 1
    assert (tmp_path / "file").read_bytes() == b""


@posix
def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = run("print('data')", stdout=writer)
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("from weft.errors import WeftError\nraise WeftError('a\\n\\x1b[1mb')", 1, "a\\n\\x1b[1mb"),
        ("from weft.errors import BadLine\nraise BadLine('f', 3, 'bad')", 1, "f:3: bad"),
        ("open('missing')", 1, "missing: No such file or directory"),
        ("raise MemoryError", 1, "out of memory"),
        ("class OutOfMemoryError(RuntimeError): pass\nraise OutOfMemoryError('Tried 2 GiB. GPU 0 has')", 1,
         "the GPU is out of memory: Tried 2 GiB"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
    ],
)  # fmt: skip
def test_errors_are_one_line(body: str, code: int, message: str) -> None:
    result = run(body)
    assert result.returncode == code
    assert result.stderr.decode().splitlines() == [f"weft: {message}"]


@pytest.mark.parametrize(
    ("module", "install"),
    [
        ("torch", "weft[train]"),
        ("google.protobuf", "protobuf"),
        ("pyarrow", "weft[parquet]"),
        ("onnxruntime", "onnxruntime"),
        ("tyro", "tyro"),
        ("zstandard", "zstandard"),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(module: str, install: str) -> None:
    result = run(f"raise ModuleNotFoundError(name={module!r})")
    assert result.stderr.decode() == f"weft: this needs the package {module}: pip install '{install}'\n"
    assert result.returncode == 1


def test_a_bug_keeps_its_traceback() -> None:
    for body in ("raise RuntimeError('bug')", "import no_such_module"):
        assert b"Traceback" in run(body).stderr


@posix
def test_an_interrupt_while_modules_load_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "tyro.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from weft.__main__ import main; main()"
    )
    result = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True)
    assert (result.returncode, result.stderr) == (130, b"")
