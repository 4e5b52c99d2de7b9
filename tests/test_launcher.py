"""The launcher runs this program, whatever the user's project is called."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMMAND = Path(sys.executable).with_name("opencode-py")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Create a project with packages of the same names as ours."""
    for name in ("app", "agent"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the user\\'s code ran')\n")
        (tmp_path / name / "cli.py").write_text("raise SystemExit('the user\\'s code ran')\n")
    return tmp_path


@pytest.mark.parametrize("python_path", ["", ".", "HERE", "/nowhere:."])
@pytest.mark.parametrize("argv", [[str(COMMAND)], [sys.executable, "-m", "opencode_py"]])
def test_a_project_with_our_package_names_is_not_imported(
    hostile: Path, argv: list[str], python_path: str
) -> None:
    environment = {**os.environ, "PYTHONPATH": python_path.replace("HERE", str(hostile))}
    done = subprocess.run(
        [*argv, "--version"],
        cwd=hostile,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout[:12]) == (0, "opencode-py "), done.stderr


def test_it_runs_from_its_own_checkout() -> None:
    done = subprocess.run(
        [str(COMMAND), "--version"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_environment_is_unchanged_for_commands(hostile: Path) -> None:
    program = (
        "import os, opencode_py, sys; sys.argv = ['x', '--version']; opencode_py.main(); "
        "print(os.environ['PYTHONPATH'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(hostile)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert str(hostile) in done.stdout, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_turn_exits_with_one_sentence(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Piped input is read before anything is opened, so the start blocks here."""
    with subprocess.Popen(
        [sys.executable, str(ROOT / "opencode_py.py"), "run"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "PYTHONPATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("Waiting for standard input")
        process.send_signal(number)
        assert process.stderr.read() == "Stopped. Nothing was sent.\n"
        assert process.wait() == 128 + number


def test_windows_is_told_in_one_sentence() -> None:
    program = "import os, sys, opencode_py; os.name = 'nt'; sys.exit(opencode_py.main())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("opencode-py needs Linux or macOS.")
    assert done.stderr.count("\n") == 1
