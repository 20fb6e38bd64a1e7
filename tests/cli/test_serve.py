"""``weft serve`` as a process: its schema, an attack, its page, and how it ends."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_attack import GOOD, attack
from service_load import Client, Running, service

ROOT = Path(__file__).parents[2]
TOKEN = "0123456789abcdef"
PAIRS = [{"source": "a b c d e " * 100, "target": "a b c d e " * 100}] * 20


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with service("--patience", "2", "--seconds", "10", "--most-connections", "30") as running:
        yield running


def test_schemathesis_finds_no_failure(tmp_path: Path) -> None:
    """Requests made from the schema, right and wrong ones, with and without a token, are answered as it says."""
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN)
    program = "from schemathesis.cli import schemathesis; schemathesis()"
    options = ["--max-examples", "10", "--phases", "coverage,fuzzing", "--seed", "1", "--no-color"]
    with service("--token-file", str(tokens)) as running:
        address = f"http://127.0.0.1:{running.port}/openapi.json"
        command = [sys.executable, "-c", program, "run", address, "-H", f"Authorization: Bearer {TOKEN}", *options]
        result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stdout[-5_000:]
    assert "Tested: 6" in result.stdout


def test_good_requests_are_answered_during_an_attack(running: Running) -> None:
    outcome = asyncio.run(attack(running.port, 44, 2))
    assert not outcome.wrong and len(outcome.good) >= 2 and outcome.hostile.total() == 44
    answers = {kind: {answer for one, answer in outcome.hostile if one == kind} for kind, _ in outcome.hostile}
    assert answers["malformed_http"] == {"400"} and answers["malformed_json"] <= {"400", "422"}
    assert answers["slow_head"] <= {"408", "closed"} and answers["oversized_body"] <= {"413", "408", "closed"}


def test_what_was_asked_is_answered_before_the_end() -> None:
    async def run(running: Running) -> tuple[int, int]:
        client, other = Client(running.port), Client(running.port)
        answer = asyncio.create_task(client.post("/align", json.dumps({"pairs": PAIRS}).encode()))
        while "at_work 1.0" not in await asyncio.to_thread(metrics, running):
            await asyncio.sleep(0.01)
        running.process.send_signal(signal.SIGTERM)
        status, body = await answer
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            for _ in range(100):  # until it listens no more
                await asyncio.sleep(0.1)
                await other.post("/align", GOOD)
        client.close()
        other.close()
        return status, len(json.loads(body)["alignments"])

    with service("--cores", "1") as running:
        assert asyncio.run(run(running)) == (200, len(PAIRS))
        assert running.process.wait(30) == 0


def metrics(running: Running) -> str:
    return get(running, "/metrics")[1]


def get(running: Running, path: str, method: str = "GET") -> tuple[dict[str, str], str]:
    request = urllib.request.Request(f"http://127.0.0.1:{running.port}{path}", method=method)
    with urllib.request.urlopen(request) as answer:
        headers = {name.lower(): value for name, value in answer.headers.items() if name.lower() != "date"}
        return headers, answer.read().decode()


def test_the_page_is_served_and_guarded(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{TOKEN}\n")
    with service("--token-file", str(tokens), "--cores", "1", page=True) as running:
        headers, page = get(running, "/")
        assert "<!doctype html>" in page.lower() and headers["content-type"].startswith("text/html")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert get(running, "/", "HEAD") == (headers, "")  # as load balancers ask
        assert get(running, "/health", "HEAD")[0]["content-length"] == str(len(get(running, "/health")[1]))
        assert headers["x-content-type-options"] == "nosniff"
        headers, _ = get(running, "/aligner.js")
        assert "javascript" in headers["content-type"]
        for path, status in (("/../page_files.py", 404), ("/%2e%2e/page_files.py", 404), ("/models", 401)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                get(running, path)
            assert refused.value.code == status
            refused.value.close()


def test_the_examples_of_the_documentation_work(running: Running) -> None:
    page = (ROOT / "docs" / "service.md").read_text("utf-8").replace("localhost:8000", f"127.0.0.1:{running.port}")
    commands = re.findall("^curl .*", page, re.MULTILINE)
    found = [subprocess.run(["bash", "-c", command], capture_output=True, text=True).stdout for command in commands]
    expected = ["alignments", "targets", "pairs", "models"]
    assert [name for name, text in zip(expected, found, strict=True) if name in json.loads(text)] == expected
    (program,) = re.findall("```python\n(.*?)```", page, re.DOTALL)
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == re.findall(r"print\(.*\)  # (.*)", program)


def test_the_container_starts_the_service_as_a_user(running: Running) -> None:
    """There is no engine here: what the file names exists, and its commands work."""
    lines = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", "").splitlines()
    instructions = {line.partition(" ")[0]: line.partition(" ")[2] for line in lines}
    assert instructions["USER"] == "1000" and instructions["EXPOSE"] == "8000"
    command = json.loads(instructions["ENTRYPOINT"]) + json.loads(instructions["CMD"])
    assert command[:2] == ["weft", "serve"]
    shown = subprocess.run([sys.executable, "-m", *command, "--help"], capture_output=True, text=True, check=True)
    assert "--host" in shown.stdout
    program, *arguments = json.loads(instructions["HEALTHCHECK"].removeprefix("CMD "))
    assert program == "python"
    check = [one.replace(":8000", f":{running.port}") for one in arguments]
    assert subprocess.run([sys.executable, *check]).returncode == 0
    closed = [one.replace(":8000", ":1") for one in arguments]
    assert subprocess.run([sys.executable, *closed], capture_output=True).returncode == 1


def serve(*options: str, **environment: str) -> str:
    """Run the command and return its error."""
    command = [sys.executable, "-m", "weft", "serve", *options]
    result = subprocess.run(command, capture_output=True, text=True, env=environment or None, timeout=60)
    assert result.returncode == 1 and result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_what_cannot_be_served_is_said(tmp_path: Path) -> None:
    assert "--batch must be above 0" in serve("--batch", "0")
    assert "--port is from 0 to 65535" in serve("--port", "70000")
    assert "neither a shipped model" in serve("--port", "0", "--model", "nothing")
    (tmp_path / "short").write_text("abc\n")
    assert "has 16 ASCII characters" in serve("--token-file", str(tmp_path / "short"))
    (tmp_path / "empty").write_text("\n")
    assert "has no token" in serve("--token-file", str(tmp_path / "empty"))
    assert "missing" in serve("--token-file", str(tmp_path / "missing"))
    (tmp_path / "bytes").write_bytes(b"\xff" * 20)
    assert "has 16 ASCII characters" in serve("--token-file", str(tmp_path / "bytes"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"--port {port}: Address already in use" in serve("--port", str(port))
