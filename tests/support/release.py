"""What is released works: build the sdist, the wheel from it, install that with the users' lock in
an environment of its own, and take the tour there. ``make release`` runs it."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.harness import environment
from tests.support.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="release-") as name:
        folder = Path(name)
        wheel = _built(folder / "dist")
        command = _installed(wheel, folder / "env")
        for each in ("home", "shop"):
            (folder / each).mkdir()
        (folder / "shop" / "README.md").write_text("# Shop\n")
        _take_the_tour(command, environment(folder / "home"), folder / "shop")
    return 0


def _built(folder: Path) -> Path:
    """Return the wheel that was built from the sdist."""
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("opencode_py_agent-*.whl")
    assert list(folder.glob("opencode_py_agent-*.tar.gz"))
    return wheel


def _installed(wheel: Path, folder: Path) -> Path:
    """Install *wheel* with the users' lock; return the command."""
    python, uv = folder / "bin" / "python", shutil.which("uv")
    if uv:
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
        check = [uv, "pip", "check", "--python", str(python)]
    else:
        _run([sys.executable, "-m", "venv", str(folder)])
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        install, check = [*pip, "install", "--quiet"], [*pip, "check"]
    _run([*install, "--require-hashes", "-r", str(ROOT / "requirements.lock")])
    _run([*install, "--no-deps", str(wheel)])
    _run(check)
    return folder / "bin" / "opencode-py"


def _take_the_tour(command: Path, env: dict[str, str], project: Path) -> None:
    """Run the demo in a script and on the screen."""

    def output(*words: str) -> str:
        done = [str(command), *words]
        return subprocess.run(
            done, cwd=project, env=env, check=True, capture_output=True, text=True
        ).stdout

    assert output("--version").endswith("(opencode-py-agent)\n")
    assert "That was the tour." in output("run", "--auto", "tour")
    output("export", "--output", "session.html")
    assert "That was the tour." in (project / "session.html").read_text()
    with Terminal([str(command)], cwd=project, env=env) as terminal:
        terminal.wait("Ask for anything")
        terminal.enter("list")
        terminal.wait("● List")
        terminal.enter("/exit")
        assert terminal.exit_code() == 0


def _run(words: list[str]) -> None:
    subprocess.run(words, cwd=ROOT, env={**os.environ, "PYTHONPATH": ""}, check=True)


if __name__ == "__main__":
    sys.exit(main())
