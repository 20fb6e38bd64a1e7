"""Training that was killed, stopped or shared between processes ends where undisturbed training ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import Run, equal

from weft.corpus import packing
from weft.errors import WeftError
from weft.train.checkpoint import Checkpoints, load_weights, save_weights, write_file
from weft.train.runlog import read_metrics

TRAIN = [sys.executable, "-m", "weft.train"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
LONG = "training.updates=60"  # enough that a disturbed run is never over before the disturbance


def models(run: Path) -> dict[str, dict]:
    return {
        direction: load_file(run / direction / "model" / "model.safetensors") for direction in ("forward", "backward")
    }


def wait_for(path: Path, process: subprocess.Popen) -> None:
    while not path.exists():
        assert process.poll() is None, "training ended before it could be disturbed"
        time.sleep(0.01)


@pytest.fixture
def undisturbed(recipe_file: Path) -> dict[str, dict]:
    run = recipe_file.parent / "undisturbed"
    subprocess.run([*TRAIN, recipe_file, LONG, f"run={run}"], check=True, capture_output=True)
    return models(run)


def test_sigkill_at_any_moment_changes_nothing(recipe_file: Path, undisturbed: dict[str, dict]) -> None:
    run = recipe_file.parent / "run"
    for checkpoint, delay in (("checkpoint-00000010.safetensors", 0.0), ("checkpoint-00000020.safetensors", 0.1)):
        process = subprocess.Popen([*TRAIN, recipe_file, LONG], stderr=subprocess.PIPE)
        wait_for(run / "forward" / checkpoint, process)
        time.sleep(delay)  # somewhere in the updates that follow
        process.kill()
        process.communicate()
        assert not (run / "forward" / "model").exists()
    result = subprocess.run([*TRAIN, recipe_file, LONG], check=True, capture_output=True, text=True)
    assert "going on from update" in result.stderr
    for direction, weights in models(run).items():
        assert equal(weights, undisturbed[direction])
        updates = [line["update"] for line in read_metrics(run / direction / "metrics.jsonl")]
        assert updates == list(range(5, 61, 5))


def test_sigterm_saves_and_exits(recipe_file: Path, undisturbed: dict[str, dict]) -> None:
    run = recipe_file.parent / "run"
    command = [*TRAIN, recipe_file, LONG, "training.checkpoint_every=1000000"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_for(run / "backward" / "metrics.jsonl", process)
    while not (run / "backward" / "metrics.jsonl").read_text():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped and saved at update" in stderr
    assert list((run / "forward").glob("checkpoint-*.safetensors"))
    subprocess.run([*TRAIN, recipe_file, LONG], check=True, capture_output=True)
    for direction, weights in models(run).items():
        assert equal(weights, undisturbed[direction])


@pytest.mark.parametrize("shard_pairs", [10_000, 200])
def test_two_processes_reach_the_losses_of_one(recipe_file: Path, shard_pairs: int) -> None:
    program = recipe_file.parent / "small_shards.py"
    program.write_text(
        "import runpy\n"
        "from weft.corpus import packing\n"
        f"packing._SHARD_PAIRS, packing._BLOCK_PAIRS = {shard_pairs}, 50\n"
        "runpy.run_module('weft.train', run_name='__main__')\n"
    )
    run = recipe_file.parent / "two"
    settings = ["training.target_tokens=800", "training.updates=20", 'directions=["forward"]']
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    for command in ([*TORCHRUN, program, recipe_file, f"run={run}"], [sys.executable, program, recipe_file]):
        subprocess.run([*command, *settings], check=True, capture_output=True, env=environment)
    (folder,) = (run / "rows").iterdir()
    assert len(json.loads((folder / "manifest.json").read_text())["shards"]) - 1 == -(-1_950 // shard_pairs)
    rows = read_metrics(run / "forward" / "metrics.jsonl")
    alone = read_metrics(recipe_file.parent / "run" / "forward" / "metrics.jsonl")
    assert [line["target_tokens"] for line in rows] == [line["target_tokens"] for line in alone]
    assert [line["loss"] for line in rows] == pytest.approx([line["loss"] for line in alone], rel=1e-5)


def test_a_rank_that_dies_goes_on_from_the_last_checkpoint(recipe_file: Path, run: Run) -> None:
    program = recipe_file.parent / "rank.py"  # notes which process is which
    program.write_text(
        "import os, runpy, sys\n"
        "open(f'{sys.argv[1]}.{os.environ[\"RANK\"]}.{os.environ[\"TORCHELASTIC_RESTART_COUNT\"]}', 'w')"
        ".write(str(os.getpid()))\n"
        "runpy.run_module('weft.train', run_name='__main__')\n"
    )
    folder = recipe_file.parent / "run" / "forward"
    command = [*TORCHRUN, "--max-restarts=1", program, recipe_file, LONG, 'directions=["forward"]']
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}  # docs/training.md
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True)
    wait_for(folder / "checkpoint-00000010.safetensors", process)
    os.kill(int(Path(f"{recipe_file}.1.0").read_text()), signal.SIGKILL)
    _, messages = process.communicate()
    assert process.returncode == 0, messages
    assert Path(f"{recipe_file}.0.1").exists() and "going on from update" in messages
    rows = read_metrics(folder / "metrics.jsonl")
    assert [row["update"] for row in rows] == list(range(5, 61, 5))
    run("undisturbed", updates=60)
    alone = read_metrics(recipe_file.parent / "undisturbed" / "forward" / "metrics.jsonl")
    assert [row["loss"] for row in rows] == pytest.approx([row["loss"] for row in alone], rel=1e-4)


def test_a_run_goes_on_in_the_middle_of_its_shards(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_shard = run("one-shard", average=3)
    monkeypatch.setattr(packing, "_SHARD_PAIRS", 200)
    monkeypatch.setattr(packing, "_BLOCK_PAIRS", 50)
    whole = run(average=3)  # keeps the last three checkpoints
    assert not equal(whole, one_shard)
    folder = tmp_path / "run" / "forward"
    losses = [line["loss"] for line in read_metrics(folder / "metrics.jsonl")]
    for name in ("finished.json", "checkpoint-00000020.safetensors", "checkpoint-00000030.safetensors"):
        (folder / name).unlink()
    shutil.rmtree(tmp_path / "run" / "rows")  # rows can be packed again at any time
    assert equal(run(average=3), whole)
    assert [line["loss"] for line in read_metrics(folder / "metrics.jsonl")] == losses


def test_a_finished_run_is_not_trained_again(run: Run, tmp_path: Path) -> None:
    first = run(updates=10)
    before = (tmp_path / "run" / "forward" / "metrics.jsonl").read_text()
    assert equal(first, run(updates=10))
    assert (tmp_path / "run" / "forward" / "metrics.jsonl").read_text() == before


def test_a_checkpoint_of_another_configuration_is_refused_and_kept(run: Run, tmp_path: Path) -> None:
    first = run(updates=10)
    with pytest.raises(WeftError, match=r"training\.label_smoothing = 0\.1, but now it is 0\.2.*--force"):
        run(updates=10, label_smoothing=0.2)
    assert equal(first, run(updates=10))


def test_checkpoints_are_for_the_readers_of_their_folder(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_file(tmp_path / "weights.safetensors", {"a": torch.zeros(3)})
    assert (tmp_path / "weights.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_damaged_checkpoint_is_named(run: Run, tmp_path: Path) -> None:
    run(updates=10)
    (tmp_path / "run" / "forward" / "finished.json").unlink()  # or there would be nothing to do
    (path,) = (tmp_path / "run" / "forward").glob("checkpoint-*.safetensors")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(WeftError, match=rf"{path.name}: damaged .*; remove it to go on from the one before, or from"):
        run(updates=10)
    write_file(path, {"a": torch.zeros(3)})
    with pytest.raises(WeftError, match=rf"{path.name}: damaged \(it does not say what it is of\); remove it"):
        run(updates=10)
    path.unlink()
    run(updates=10)


def test_a_checkpoint_with_other_weights_is_named(tmp_path: Path) -> None:
    checkpoints, part = Checkpoints(tmp_path, {}), torch.nn.Linear(2, 3)
    checkpoints.save(5, 1.0, torch.nn.Linear(2, 4), [])
    checkpoints.check()
    with pytest.raises(WeftError, match=r"checkpoint-00000005\.safetensors: damaged \(it has other weights.*remove it"):
        checkpoints.resume(part, [], torch.device("cpu"))
    save_weights(tmp_path / "weights", torch.nn.Linear(2, 4))
    with pytest.raises(WeftError, match=r"weights: damaged \(it has other weights.*; remove its folder to make"):
        load_weights(tmp_path / "weights", part)
    with pytest.raises(WeftError, match=r"missing: damaged .*; remove its folder to make this part again$"):
        load_weights(tmp_path / "missing", part)


def test_a_checkpoint_too_many_is_not_averaged(tmp_path: Path) -> None:
    """A kill may come after a checkpoint was written and before the oldest one was removed."""
    part = torch.nn.Linear(2, 3)
    for update, keep in ((1, 2), (2, 2), (3, 3)):
        with torch.no_grad():
            part.weight.fill_(update)
        Checkpoints(tmp_path, {}, keep).save(update, 1.0, part, [])
    found = Checkpoints(tmp_path, {}, keep=2).averaged_weights(part)
    assert torch.equal(found["weight"], torch.full((3, 2), 2.5))


def test_a_full_disk_ends_in_one_line_and_keeps_the_last_checkpoint(recipe_file: Path) -> None:
    run = recipe_file.parent / "run"
    subprocess.run([*TRAIN, recipe_file, "training.minutes=0.02"], check=True, capture_output=True)
    checkpoints = {path: path.read_bytes() for path in run.glob("*/checkpoint-*")}
    assert checkpoints
    for direction in ("forward", "backward"):
        shutil.rmtree(run / direction / "model")
        (run / direction / "finished.json").unlink()
    code = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "sys.argv = ['weft.train', *sys.argv[1:]]; runpy.run_module('weft.train', run_name='__main__')"
    )
    for folder in (recipe_file.parent / "new", run):  # no room for a checkpoint; none for the model
        command = [sys.executable, "-c", code, str(recipe_file), "training.minutes=0.02", f"run={folder}"]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 1
        assert "cannot be written" in result.stderr.splitlines()[-1] and "Traceback" not in result.stderr
        assert not list(folder.rglob("*.partial")) and not list(folder.rglob("model"))
    assert checkpoints == {path: path.read_bytes() for path in run.glob("*/checkpoint-*")}


def test_metrics_are_complete_lines(run: Run, tmp_path: Path) -> None:
    run(updates=10)
    lines = (tmp_path / "run" / "forward" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["update"] for line in lines] == [5, 10]
    expected = {"update", "loss", "plain_loss", "gradient_norm", "learning_rate", "target_tokens", "tokens_per_second"}
    assert expected <= set(json.loads(lines[0]))
