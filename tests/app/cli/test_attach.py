"""``opencode-py attach`` before its screen opens."""

import asyncio
from pathlib import Path

import pytest

from tests.app.server.conftest import TOKEN, Served, served
from tests.support.command import run
from tests.support.web_server import WebServer, page

__all__ = ["served"]


async def attached(home: Path, *arguments: str) -> tuple[int, str]:
    done = await asyncio.to_thread(run, ["attach", *arguments], cwd=home, home=home)
    return done.returncode, done.stderr


async def test_what_is_wrong_with_a_server_is_a_sentence(served: Served, tmp_path: Path) -> None:
    url = served.address
    code, said = await attached(tmp_path, url, "--password", "wrong")
    assert (code, "rejected the token" in said) == (1, True)
    code, said = await attached(tmp_path, url, "-p", TOKEN, "--session", "ses_none")
    assert (code, "There is no session ses_none" in said) == (1, True)
    code, said = await attached(tmp_path, url, "-p", TOKEN, "--dir", "/nonexistent")
    assert (code, "/nonexistent cannot be opened" in said) == (1, True)
    code, said = await attached(tmp_path, url, "-p", TOKEN)
    assert (code, "needs a terminal" in said) == (2, True)
    await served.stop()
    code, said = await attached(tmp_path, url, "-p", TOKEN)
    assert (code, "does not answer. Start it with" in said) == (1, True)


async def test_the_token_of_this_machine_is_used(served: Served, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "server-token").write_text(TOKEN + "\n")
    code, said = await attached(tmp_path, served.address.removeprefix("http://"))
    assert (code, "needs a terminal" in said) == (2, True)


async def test_another_web_server_is_not_mistaken(tmp_path: Path) -> None:
    async with WebServer({"/path": page("<p>Hello</p>")}) as web:
        code, said = await attached(tmp_path, web.url)
    assert code == 1
    assert f"{web.url} is not an opencode server." in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ftp://host"], "is not the address of a server"),
        (["http://host", "-c", "-s", "ses_1"], "Use either --continue or --session"),
        (["http://host", "--fork"], "--fork needs the session"),
    ],
)
async def test_wrong_arguments_are_refused(tmp_path: Path, arguments: list[str], says: str) -> None:
    code, said = await attached(tmp_path, *arguments)
    assert code in {1, 2}
    assert says in said
