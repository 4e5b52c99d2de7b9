"""Exit codes and error sentences that all commands share."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.records.errors import ConfigError
from app.cli.command_support import DONE, FAILED, INTERRUPTED, PIPE_CLOSED, USAGE, run_command
from tests.support.harness import environment

ROOT = Path(__file__).resolve().parents[3]
RUN = "import json, sys; from app.cli.main import main; sys.exit(main(json.loads(sys.argv[1])))"
PRINTS = [
    ["agent", "list"],
    ["auth", "list", "--all"],
    ["completion", "bash"],
    ["debug", "config", "--schema"],
    ["debug", "paths"],
    ["mcp", "list"],
    ["models"],
    ["session", "list", "--json"],
    ["stats"],
]


@pytest.mark.parametrize("words", PRINTS, ids=" ".join)
def test_a_command_whose_pipe_is_closed_exits_silently(words: list[str], tmp_path: Path) -> None:
    """As in ``opencode-py models | head -1``; 141 is a shell's exit code for SIGPIPE."""
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(words)],
        cwd=tmp_path,
        env={**environment(tmp_path), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=writes,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (PIPE_CLOSED, "")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="opencode-py thing")
    made.add_argument("name")
    return made


def test_each_ending_has_its_exit_code_and_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(_: argparse.Namespace) -> int:
        raise ConfigError("The file is broken. Mend it.")

    def stopped(_: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    assert run_command(parser(), ["x"], lambda given: len(given.name) - 1) == DONE
    assert capsys.readouterr().err == ""
    assert run_command(parser(), ["x"], fails) == FAILED
    assert capsys.readouterr().err == "The file is broken. Mend it.\n"
    assert (
        run_command(parser(), ["x"], stopped, interrupted_message="Nothing was kept.")
        == INTERRUPTED
    )
    assert capsys.readouterr().err == "Nothing was kept.\n"
    assert run_command(parser(), ["x"], stopped) == INTERRUPTED
    assert capsys.readouterr().err == ""
    assert run_command(parser(), [], stopped) == USAGE
    assert "usage: opencode-py thing" in capsys.readouterr().err
