"""Sessions of a folder that was moved, cloned again, or has other work trees."""

import shutil
import subprocess
from pathlib import Path

import pytest

from agent.runtime.headless import HeadlessRun
from agent.runtime.runtime import Runtime, open_runtime
from tests.support.harness import config_for, environment, write_config
from tests.support.model_server import ModelServer
from tests.support.script import Text, answer

WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *WHO, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, text: str = "x") -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", f"first {text}")
    return folder


class Machine:
    """A home and a model server, on which folders are opened one after the other."""

    def __init__(self, root: Path, server: ModelServer) -> None:
        self.home = root / "home"
        self.home.mkdir()
        write_config(self.home, config_for(server))
        self.server = server

    async def open(self, folder: Path) -> Runtime:
        return await open_runtime(folder, env=environment(self.home))

    async def talk(self, folder: Path, text: str) -> str:
        """Return the id of a session in which *text* was said in *folder*."""
        runtime = await self.open(folder)
        run = HeadlessRun(runtime)
        self.server.script(answer(Text("Done.")))
        session = await run.session(resume=False, session_id=None, fork=False, title=text)
        await runtime.close()
        return session.id

    async def listed(self, folder: Path) -> list[tuple[str, str]]:
        """Return title and place of the sessions that are listed in *folder*."""
        runtime = await self.open(folder)
        lines = await runtime.sessions.repository.lines()
        await runtime.close()
        return [(line.title, line.directory) for line in lines]


@pytest.fixture
async def machine(tmp_path: Path):
    async with ModelServer() as server:
        yield Machine(tmp_path, server)


@pytest.mark.parametrize("part", [".", "sub"])
async def test_a_moved_folder_finds_its_sessions(machine: Machine, tmp_path: Path, part: str):
    old, new = repository(tmp_path / "old"), tmp_path / "new"
    session_id = await machine.talk(old / part, "hello")
    old.rename(new)
    assert await machine.listed(new / part) == [("hello", str(old / part))]
    runtime = await machine.open(new / part)
    run = HeadlessRun(runtime)
    found = await run.session(resume=True, session_id=None, fork=False)
    assert (found.id, found.directory, found.project) == (session_id, str(new / part), str(new))
    await runtime.close()
    assert await machine.listed(new / part) == [("hello", str(new / part))]
    other = new if part == "sub" else new / "sub"
    assert await machine.listed(other) == []


async def test_a_new_clone_finds_the_sessions_of_one_that_is_gone(machine: Machine, tmp_path: Path):
    source = repository(tmp_path / "source")
    git(tmp_path, "clone", "-q", str(source), "one")
    await machine.talk(tmp_path / "one", "hello")
    git(tmp_path, "clone", "-q", str(source), "two")
    assert await machine.listed(tmp_path / "two") == []  # both exist
    shutil.rmtree(tmp_path / "one")
    assert await machine.listed(tmp_path / "two") == [("hello", str(tmp_path / "one"))]


async def test_work_trees_share_their_sessions(machine: Machine, tmp_path: Path):
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    await machine.talk(main, "hello")
    assert await machine.listed(tmp_path / "tree") == [("hello", str(main))]
    await machine.talk(tmp_path / "tree", "there")
    runtime = await machine.open(main)
    latest = await runtime.sessions.repository.latest()
    assert latest is not None
    assert latest.title == "hello"  # its own before those of others
    await runtime.close()


async def test_other_and_shallow_repositories_have_nothing_to_do_with_it(
    machine: Machine, tmp_path: Path
):
    old = repository(tmp_path / "old")
    await machine.talk(old, "hello")
    git(tmp_path, "clone", "-q", "--depth=1", old.as_uri(), "shallow")
    shutil.rmtree(old)
    assert await machine.listed(repository(tmp_path / "other", "y")) == []
    assert await machine.listed(tmp_path / "shallow") == []
    plain = tmp_path / "plain"
    plain.mkdir()
    assert await machine.listed(plain) == []
    # Another repository at the old place is not the old one.
    repository(old, "z")
    assert await machine.listed(old) == [("hello", str(old))]
