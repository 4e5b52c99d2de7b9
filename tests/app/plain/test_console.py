"""``--plain`` over pipes with a scripted model server."""

import asyncio
import json
import subprocess
import sys

from tests.agent.mcp.mcp_harness import SERVERS
from tests.app.cli.run.process import more_settings
from tests.app.plain.plain_program import LAUNCHER, plain
from tests.support.git import git, make_repository
from tests.support.harness import write_config
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.provider_server import Reply, Server
from tests.support.script import Call, Text, answer

JSON = (("content-type", "application/json"),)
ASKS = {
    "questions": [
        {"question": "Which \x1b[31mway?", "options": [{"label": "left"}, {"label": "right"}]},
        {"question": "How far?"},
    ]
}


def test_questions_are_answered_by_number_or_text(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Call("question", ASKS)), answer(Text("Going right.")))
    printed = plain(installed, "go\n\n2\na mile or so\n/exit\n")
    assert "Which ␛[31mway?" in printed
    assert "  2  right" in printed
    assert "Going right." in printed
    results = str(scripted.server.requests[-1].body["messages"][-1]["content"])
    assert "Answer: right" in results
    assert "Answer: a mile or so" in results


def test_skip_and_the_end_of_input_dismiss_a_question(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    for typed in ("go\n/skip\n/exit\n", "go\n"):
        scripted.server.script(answer(Call("question", ASKS)))
        assert "denied: Ask" in plain(installed, typed)
    assert len(scripted.server.requests) == 2


def test_a_form_is_asked_field_by_field(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    server = {"type": "local", "command": [sys.executable, str(SERVERS / "raw.py"), "asks"]}
    more_settings(installed, mcp={"asks": server}, permission={"asks_*": "allow"})
    content = {"wood": "pine", "legs": 4, "painted": True, "name": "Bob", "tools": ["saw", "glue"]}
    filled = "go\n\nfir\n2\nfour\n4\n1\n\n1 2\n\n/exit\n"
    for typed, sent in (
        (filled, json.dumps({"action": "accept", "content": content})),
        ("go\n1\n/decline\n/exit\n", '{"action": "decline"}'),
        ("go\n1\n/skip\n/exit\n", '{"action": "cancel"}'),
        ("go\n1\n", '{"action": "cancel"}'),
    ):
        scripted.server.script(answer(Call("asks_good", {})), answer(Text("Made.")))
        printed = plain(installed, typed)
        assert sent in str(scripted.server.requests[-1].body["messages"][-1]["content"])
        assert "Wood (a number, required)\n  1  oak\n  2  pine\n" in printed
        if typed == filled:
            for line in (
                "Not valid: required.",
                "Not valid: choose from oak, pine.",
                "Not valid: enter a whole number.",
                "legs - How many legs (a whole number, required)",
                "name (default Bob)",
                "tools (numbers with spaces between, optional)",
                "mail (name@example.com, at most 12 characters, optional)",
            ):
                assert line in printed


def test_a_users_slash_command_is_sent(installed: InstalledProgram, scripted: ServerThread) -> None:
    folder = installed.home / "config/commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("Say hello to $1, !`echo kindly`.")
    scripted.server.script(answer(Text("Hello, Ann.")))
    out = plain(installed, "/greet Ann\n")
    assert "Hello, Ann." in out
    assert "Say hello to Ann, kindly" in str(scripted.server.requests[-1].body)


def test_the_last_message_is_undone_and_redone(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(
        answer(Call("write", {"file_path": "new.txt", "content": "one\n"})),
        answer(Text("Written.")),
    )
    printed = plain(
        installed, "/mode accept edits\nwrite it\n/undo\nno\n/undo\nyes\n/redo\n/exit\n"
    )
    assert printed.count("Undo the message: write it") == 2
    assert "new.txt" in printed
    assert (
        printed.index("Nothing was changed.") < printed.index("Undone.") < printed.index("Redone")
    )
    assert (installed.project / "new.txt").read_text() == "one\n"


def test_an_undo_names_what_it_leaves(installed: InstalledProgram, scripted: ServerThread) -> None:
    (installed.project / ".gitignore").write_text("*.ign\n")
    (installed.project / "a.ign").write_text("x")
    make_repository(installed.project)
    git(installed.project, "branch", "other")
    work = Call("bash", {"command": "rm a.ign; git checkout -q other"})
    scripted.server.script(answer(work), answer(Text("Done.")))
    printed = plain(installed, "/mode auto\nyes\ngo\n/undo\nno\n/exit\n")
    assert "a.ign  cannot be undone" in printed
    assert " to other " in printed.partition("HEAD moved from ")[2]


def test_cost_and_other_pages_are_printed(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("Fine.")))
    printed = plain(
        installed,
        "/cost\ngo\n/cost\n/stats\n/models\n/agents\n/rename A title\n/export a.md\n/help\n",
    )
    assert "No session is open yet" in printed
    for shown in ("scripted/model-1", "build  ", "Exported to", "/connect [provider or URL]"):
        assert shown in printed
    assert "# A title" in (installed.project / "a.md").read_text()


def test_the_session_is_forked_pinned_and_shown(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("Fine.")))
    printed = plain(
        installed,
        "/fork\n/model\n/agent\ngo\n/pin\n/pin 1\n/pin\n/pin 9\n/fork\n/permissions\n"
        "/permissions 0\n/trust\n/effort high\n/status\n/context\n/skills\n/lsp\n/shells\n"
        "/subagents\n/import\n/remember Use tabs.\nyes\n/delete\nyes\n/cost\n/exit\n",
    )
    assert "Traceback" not in printed
    for shown in (
        "No session is open yet", "The model is scripted/model-1.", "The agent is build.",
        "1  go", "1  pinned  go", "There is no such message.", "Forked.", "Built in:",
        "can be revoked here", "Nothing in this folder needs your trust.", "Version",
        "No background commands yet.", "No sub-agents yet.", "Give the file", "Added to AGENTS.md.",
        "Deleted.",
    ):  # fmt: skip
        assert shown in printed, shown
    assert printed.count("No session is open yet") == 2
    assert "Use tabs." in (installed.project / "AGENTS.md").read_text()


def test_memory_is_written_only_after_a_yes(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    proposed = answer(Text("- Use pnpm\n- Tests take long\n- A wrong fact"))
    scripted.server.script(answer(Text("Fine.")), proposed, proposed)
    propose = "/memory propose\ny\nTests take long on Windows\nn\n"
    printed = plain(installed, f"go\n{propose}no\n/memory\n{propose}yes\n/memory\n/exit\n")
    before, _, after = printed.partition("Nothing was written.")
    assert "y keeps it, n skips it, other text replaces it" in before
    assert "Nothing is remembered yet." in after.partition("Added to AGENTS.md.")[0]
    text = (installed.project / "AGENTS.md").read_text()
    assert text.endswith("- Use pnpm\n- Tests take long on Windows\n")
    assert "edited and accepted by you" in " ".join(after.split())


def test_a_command_of_the_users_runs(installed: InstalledProgram, scripted: ServerThread) -> None:
    printed = plain(installed, "!printf 'one\\n\\033[31mtwo\\033[0m\\n'; seq 3000\n!exit 3\n")
    assert "one\ntwo\n1\n2\n" in printed
    assert "\n2999\n3000\n" in printed  # in full
    assert "exit 3" in printed


def test_what_needs_a_screen_is_explained_and_the_session_is_printed(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("Fine.")))
    printed = plain(installed, "/theme\n/history\ngo\n/history\n/nosuch\n")
    assert "There is no command /theme here: they arrange and color the screen." in printed
    assert "No session is open yet" in printed
    assert printed.count("Fine.") == 2
    assert "There is no command /nosuch here." in printed


def test_a_server_is_connected_and_a_wrong_key_is_not_kept(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    printed = plain(
        installed, "/connect nosuch\n\n/connect scripted\nbad key\n/mode auto\nno\n/mode\n"
    )
    assert "Traceback" not in printed
    assert "The mode is ask." in printed


async def test_connecting_a_server_ends_with_a_model(
    installed: InstalledProgram, server: Server
) -> None:
    body = {"object": "list", "data": [{"id": "small"}, {"id": "large"}]}
    server.by_path = lambda path: Reply((json.dumps(body).encode(),), headers=JSON)
    typed = f"/connect {server.url}/v1\n\n9\n/connect {server.url}/v1\n\nlarge\n/exit\n"
    printed = await asyncio.to_thread(plain, installed, typed)
    assert "No model was chosen." in printed
    assert "/large.\n" in printed[printed.index("The model is ") :]


async def test_a_login_with_a_code_connects_copilot(
    installed: InstalledProgram, server: Server
) -> None:
    code = {
        "device_code": "device-1",
        "user_code": "ABCD-1",
        "verification_uri": "https://github.test/login/device",
        "interval": 0,
    }
    answers = [code, {"access_token": "gho_0123456789"}, {"data": [{"id": "gpt-5"}]}]
    server.replies = [Reply((json.dumps(body).encode(),), headers=JSON) for body in answers]
    options = {"options": {"baseURL": server.url}}
    write_config(installed.home, {"provider": {"github-copilot": options}})
    typed = "/connect github-copilot\nlogin\ngpt-5\n/exit\n"
    printed = await asyncio.to_thread(plain, installed, typed, GITHUB_COPILOT_LOGIN_URL=server.url)
    assert "Open https://github.test/login/device in a browser and enter the code ABCD-1" in printed
    assert "The model is github-copilot/gpt-5." in printed


def test_a_dumb_terminal_gets_lines(installed: InstalledProgram, scripted: ServerThread) -> None:
    done = subprocess.run(
        LAUNCHER[:-1], cwd=installed.project, env={**installed.env, "TERM": "dumb"},
        input=b"/exit\n", capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert b"/help lists the commands." in done.stdout
    assert b"\x1b" not in done.stdout
