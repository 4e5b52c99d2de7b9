"""Nobody but the user's own programs gets in, and what is malformed is answered clearly."""

import asyncio
import base64
import contextlib
import os
import stat
from pathlib import Path

import httpx2
import pytest

from agent.records.errors import ConfigError
from app.server.access import MAX_BODY, load_token
from app.server.connections import PatientProtocol
from app.server.serving import listen
from tests.app.server.conftest import TOKEN, Served
from tests.support.harness import GUARD
from tests.support.script import Finish, Text, answer


async def status(served: Served, path: str = "/path", **headers: str) -> int:
    return (await served.client.get(path, headers=headers)).status_code


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


async def test_a_token_or_password_is_needed(served: Served) -> None:
    assert await status(served) == 200
    assert await status(served, authorization=basic("opencode", TOKEN)) == 200
    for wrong in (
        "",
        "Bearer",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Digest {TOKEN}",
        basic("opencode", "wrong"),
        basic("somebody", TOKEN),
        "Basic not-base64!",
    ):
        assert await status(served, authorization=wrong) == 401, wrong
    assert await status(served, f"/path?token={TOKEN}", authorization="") == 401
    for path in ("/event", "/global/event", "/doc", "/session", "/nothing"):
        assert await status(served, path, authorization="") == 401, path


async def test_the_page_needs_none(served: Served) -> None:
    for path in ("/", "/page.js", "/page.css"):
        assert await status(served, path, authorization="") == 200, path
    assert await status(served, "/global/health", authorization="") == 401
    assert await status(served, "/global/health") == 200
    posted = await served.client.post("/", headers={"authorization": ""})
    assert posted.status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4096", "127.0.0.1.evil.example"])
async def test_other_names_of_this_machine_are_refused(served: Served, host: str) -> None:
    assert await status(served, host=host) == 421
    assert await status(served, "/", host=host) == 421


async def test_pages_of_other_origins_are_refused(served: Served) -> None:
    own = served.address
    assert await status(served, origin=own) == 200
    for origin in ("http://evil.example", "null", "http://localhost:1", "https://127.0.0.1"):
        assert await status(served, origin=origin) == 403, origin
    framed = await served.client.get("/session", headers={"origin": "null"})
    assert "--cors" not in framed.text
    preflight = await served.client.options("/session", headers={"origin": "http://evil.example"})
    assert preflight.status_code == 403
    assert "access-control-allow-origin" not in preflight.headers


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_forms_of_other_pages_are_refused(served: Served, kind: str) -> None:
    answer = await served.client.post("/session", content="{}", headers={"content-type": kind})
    assert answer.status_code == 415


async def test_bodies_have_a_limit(served: Served) -> None:
    long = b"x" * (MAX_BODY + 1)
    headers = {"content-type": "application/json"}
    answer = await served.client.post("/session", content=long, headers=headers)
    assert answer.status_code == 413

    async def pieces():
        for _ in range(MAX_BODY // 1_000_000 + 2):
            yield b"x" * 1_000_000

    answer = await served.client.post("/session", content=pieces(), headers=headers)
    assert answer.status_code == 413
    assert await status(served) == 200


WRONG_MODEL = """
{"parts": [{"type": "text", "text": "x"}], "model": {"providerID": "a", "modelID": "b"}}
"""


@pytest.mark.parametrize(
    ("method", "path", "body", "code", "says"),
    [
        ("POST", "/session", "{", 400, "JSON"),
        ("POST", "/session", "[]", 400, "object"),
        ("POST", "/session/{id}/message", "{}", 400, "parts"),
        ("POST", "/session/{id}/message", '{"parts": []}', 400, "parts"),
        ("POST", "/session/{id}/message", '{"parts": [{"type": "text"}]}', 400, "text"),
        ("POST", "/session/{id}/message", '{"parts": [{"type": "x"}]}', 400, "type"),
        (
            "POST",
            "/session/{id}/message",
            '{"parts": [{"type": "text", "text": " "}]}',
            400,
            "empty",
        ),
        (
            "POST",
            "/session/{id}/message",
            '{"parts": [{"type": "text", "text": "x"}], "agent": "nobody"}',
            400,
            "nobody",
        ),
        (
            "POST",
            "/session/{id}/message",
            WRONG_MODEL,
            400,
            "provider a",
        ),
        (
            "POST",
            "/session/{id}/message",
            '{"parts": [{"type": "file", "url": "https://a.example/x.png"}]}',
            400,
            "https",
        ),
        ("GET", "/session/ses_unknown", "", 404, "ses_unknown"),
        ("GET", "/session/{id}/message/msg_unknown", "", 404, "msg_unknown"),
        ("GET", "/session/{id}/message?limit=many", "", 400, "many"),
        ("GET", "/session?limit=99999999999999999999", "", 400, "too large"),
        ("GET", "/file/content?path=a%00b", "", 400, "NUL"),
        ("GET", "/path?directory=/tmp%00x", "", 400, "NUL"),
        ("POST", "/session/{id}/command", '{"command": "nothing"}', 400, "nothing"),
        ("POST", "/permission/per_unknown/reply", '{"reply": "once"}', 404, "answered"),
        ("POST", "/permission/per_unknown/reply", '{"reply": "perhaps"}', 400, "reply"),
        ("POST", "/question/que_unknown/reply", '{"answers": [["x"]]}', 404, "answered"),
        ("POST", "/question/que_unknown/reject", "{}", 404, "answered"),
        ("GET", "/nothing", "", 404, "/nothing"),
        ("PUT", "/session", "{}", 405, "takes no PUT"),
        ("GET", "/find", "", 400, "pattern"),
        ("GET", "/path?directory=not/absolute", "", 400, "not/absolute"),
        ("GET", "/path?directory=/not/there", "", 400, "/not/there"),
        ("POST", "/tui/publish", '{"type": "session.idle"}', 400, "session.idle"),
    ],
)
async def test_bad_requests_are_answered_with_the_reason(
    served: Served, method: str, path: str, body: str, code: int, says: str
) -> None:
    path = path.format(id=await served.session())
    headers = {"content-type": "application/json"}
    answer = await served.client.request(method, path, content=body, headers=headers)
    assert (answer.status_code, says in answer.json()["data"]["message"]) == (code, True), (
        answer.text
    )


async def test_files_outside_the_project_are_refused(served: Served) -> None:
    secret = served.project.parent / "secret.txt"
    secret.write_text("secret")
    (served.project / "link").symlink_to(secret)
    (served.project / "up").symlink_to(served.project.parent)
    for path in ("../secret.txt", str(secret), "link", "up/secret.txt"):
        answer = await served.client.get("/file/content", params={"path": path})
        assert answer.status_code == 403, path
    for path in ("..", "/", "up"):
        answer = await served.client.get("/file", params={"path": path})
        assert answer.status_code == 403, path


async def test_prompts_attach_no_file_outside_the_project(served: Served) -> None:
    secret = served.project.parent / "secret.txt"
    secret.write_text("the secret words\n")
    (served.project / "link.txt").symlink_to(secret)
    served.model.script(answer(Text("I see a name."), Finish("end")))
    session = await served.session()
    path = f"/session/{session}"
    for url in (secret.as_uri(), (served.project / "link.txt").as_uri()):
        body = {"parts": [{"type": "file", "mime": "text/plain", "url": url}]}
        await served.call("POST", f"{path}/message", body, status=403)
    command = {"command": "review", "arguments": f"@{secret}"}
    await served.call("POST", f"{path}/command", command, status=403)
    body = {"parts": [{"type": "text", "text": f"read @{secret} and @link.txt"}]}
    await served.call("POST", f"{path}/message", body)
    (request,) = served.model.requests
    assert "secret.txt" in str(request.body)
    assert "the secret words" not in str(request.body)


def test_the_token_is_for_its_owner_alone(tmp_path: Path) -> None:
    made = load_token(tmp_path / "data")
    kept = tmp_path / "data" / "server-token"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.read_text().strip() == made
    assert load_token(tmp_path / "data") == made
    assert len(made) >= 32


def test_a_port_in_use_is_named() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}"):
            listen("127.0.0.1", port)


async def test_the_settings_show_no_secret(served: Served) -> None:
    for path in ("/config", "/config/providers", "/provider", "/agent", "/path"):
        assert "sk-scripted" not in (await served.client.get(path)).text
    assert os.environ.get("OPENCODE_SERVER_PASSWORD") is None


class Hasty(PatientProtocol):
    head_seconds = 0.5


HEAD = f"POST /session HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n"


@pytest.fixture
async def hasty(served: Served) -> Served:
    """A server that waits only a moment for heads and bodies."""
    await served.stop()
    served.protocol, served.body_seconds = Hasty, 0.5
    await served.start()
    return served


async def new_session(served: Served) -> None:
    """Create a session, again where a busy machine is slower than the limits of a hasty server."""
    async with asyncio.timeout(GUARD):
        while True:
            with contextlib.suppress(httpx2.TransportError):
                await served.session()
                return


async def sent(served: Served, *pieces: str) -> bytes:
    """Send *pieces* on a connection of their own; return all that comes until its end."""
    port = int(served.address.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece.encode())
            await writer.drain()
        async with asyncio.timeout(GUARD):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize("piece", ["", "POST", HEAD])
async def test_a_request_that_does_not_arrive_is_given_up(hasty: Served, piece: str) -> None:
    assert await sent(hasty, piece) == b""


async def test_the_second_request_of_a_connection_has_to_arrive_too(hasty: Served) -> None:
    first = f"GET /session/status HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}"
    answer = await sent(hasty, f"{first}\r\n\r\nGET /pa")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b"HTTP/1.1") == 1


async def test_a_body_that_does_not_arrive_is_refused(hasty: Served) -> None:
    answer = await sent(hasty, f"{HEAD}connection: close\r\ncontent-length: 100\r\n\r\n", "{")
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"did not arrive in time" in answer


async def test_an_event_stream_outlives_these_times(hasty: Served) -> None:
    async with hasty.stream() as stream:
        assert await sent(hasty, "POST") == b""
        await new_session(hasty)
        await stream.next("session.created")


async def test_an_event_stream_waits_for_no_body(hasty: Served) -> None:
    """A client can announce one that never comes: the stream must outlive the time for it."""
    port = int(hasty.address.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = HEAD.replace("POST /session", "GET /event")
    writer.write(f"{head}content-length: 5\r\n\r\n".encode())
    async with asyncio.timeout(GUARD):
        await reader.readuntil(b"server.connected")
        late = await sent(hasty, f"{HEAD}connection: close\r\ncontent-length: 100\r\n\r\n", "{")
        assert late.startswith(b"HTTP/1.1 408")
        await new_session(hasty)
        await reader.readuntil(b"session.created")
    writer.close()


class Crowded(PatientProtocol):
    most = 2


@pytest.fixture
async def crowded(served: Served) -> Served:
    """A server that takes two connections."""
    await served.stop()
    served.protocol = Crowded
    await served.start()
    return served


async def test_connections_beyond_a_number_are_closed(crowded: Served) -> None:
    async with crowded.stream() as first, crowded.stream() as second:
        for stream in (first, second):
            await stream.next("server.connected")
        assert await sent(crowded, f"{HEAD}\r\n") == b""
    await new_session(crowded)


async def test_connections_that_only_wait_give_way(crowded: Served) -> None:
    waiting = [asyncio.create_task(sent(crowded, "POST /se")) for _ in range(4)]
    ended = asyncio.as_completed(waiting)
    assert (await next(ended), await next(ended)) == (b"", b"")
    await crowded.session()
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_keys_and_processes_are_no_projects(served: Served) -> None:
    worktrees = served.home / "data" / "worktrees"
    folders = (served.home / "data", served.home / "config", served.home, worktrees, "/")
    for folder in (*folders, "/proc/self", "/dev"):
        answer = await served.client.get("/file", params={"path": ".", "directory": str(folder)})
        assert (answer.status_code, "no folder of a project" in answer.text) == (403, True)
    link = served.project.parent / "link"
    link.symlink_to(served.home / "data")
    named = {"x-opencode-directory": str(link)}
    assert (await served.client.get("/path", headers=named)).status_code == 403


async def test_a_worktree_is_a_project_and_private_files_in_one_are_refused(
    served: Served,
) -> None:
    worktree = served.home / "data" / "worktrees" / "shop" / "idea"
    worktree.mkdir(parents=True)
    (worktree / "a.txt").write_text("text")
    (worktree / "token").symlink_to(served.home / "data" / "server-token")
    (worktree / "environ").symlink_to("/proc/self/environ")
    named = {"directory": str(worktree)}
    answer = await served.client.get("/file/content", params={"path": "a.txt", **named})
    assert (answer.status_code, answer.json()["content"]) == (200, "text")
    for path in ("token", "environ"):
        answer = await served.client.get("/file/content", params={"path": path, **named})
        assert answer.status_code == 403, path


async def test_a_search_passes_over_private_files(served: Served) -> None:
    """Also in a folder around them that the server was started in, such as the home folder."""
    await served.stop()
    served.project = served.home
    await served.start()
    files = (".ssh/config", "shop/.env", "data/notes.txt", "shop/a.txt", "worktrees/a.txt")
    for name in files:
        path = served.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("needle\n")
    (served.home / "shop" / "plain.txt").hardlink_to(served.home / "shop" / ".env")
    found = await served.call("GET", "/find?pattern=needle")
    paths = sorted(match["path"]["text"] for match in found)
    assert paths == ["shop/a.txt", "worktrees/a.txt"]


async def test_credentials_of_the_home_folder_are_not_read(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if the server was started there; other files can be."""
    monkeypatch.setenv("HOME", str(served.home))
    key = served.home / ".ssh" / "id_ed25519"
    key.parent.mkdir()
    for path in (key, served.home / ".netrc", served.home / "a.txt"):
        path.write_text("text")
    for folder in (served.home, key.parent):
        named = {"path": ".", "directory": str(folder)}
        assert (await served.client.get("/file", params=named)).status_code == 403, folder
    await served.stop()
    served.project = served.home
    await served.start()
    (served.home / "link").symlink_to(key)
    assert (await served.call("GET", "/file/content?path=a.txt"))["content"] == "text"
    for path in (".ssh/id_ed25519", ".netrc", "link"):
        await served.call("GET", f"/file/content?path={path}", status=403)
    await served.call("GET", "/file?path=.ssh", status=403)
