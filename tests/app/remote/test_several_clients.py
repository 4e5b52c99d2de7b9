"""A screen, the web page and an editor on one session: each prompts, and each answers once."""

from pathlib import Path

import pytest

from tests.app.remote.conftest import Attach
from tests.app.server.conftest import TOKEN, Served
from tests.support.browser import CHROMIUM, browser_page
from tests.support.script import Call, Finish, Text, answer

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")

DIALOG, BUTTON = "Run this command?", "Allow once"


async def test_each_prompts_and_answers_and_all_see_it(
    served: Served, attach: Attach, tmp_path: Path
) -> None:
    for name in ("one", "two", "three"):
        served.model.script(
            answer(Call("bash", {"command": f"echo round-{name}"}), Finish("calls")),
            answer(Text(f"End of {name}."), Finish("stop")),
        )
    address = f"{served.address}/#token={TOKEN}"
    async with (
        attach() as screen,
        served.stream() as editor,
        browser_page(address, tmp_path / "profile") as page,
    ):
        await page.until_shown("Transcript")

        async def publish(kind: str, **properties: str) -> None:
            await served.call("POST", "/tui/publish", {"type": kind, "properties": properties})

        async def all_ask(number: int) -> dict[str, str]:
            await screen.until_shown(DIALOG)
            await page.until_shown(BUTTON)
            return await editor.next("permission.asked", number)

        async def all_see(number: int, end: str) -> None:
            await screen.until_shown(end)
            assert DIALOG not in screen.text()
            await page.until_shown(end)
            await page.until(f"!document.body.innerText.includes('{BUTTON}')")
            await editor.next("permission.replied", number)
            await editor.next("session.idle", number)
            await screen.until_idle()
            await page.until_shown("ready")

        await publish("tui.prompt.append", text="from the editor")
        await publish("tui.command.execute", command="prompt.submit")
        await editor.next("session.created")
        await page.click("New session")
        await all_ask(1)
        await screen.pilot.press("o")
        await editor.next("session.idle")
        await page.run("document.querySelector('#sessions button').click()")
        await all_see(1, "End of one.")

        await page.run("document.getElementById('prompt').value = 'from the page'")
        await page.click("Send")
        asked = await all_ask(2)
        path = f"/session/{asked['sessionID']}/permissions/{asked['id']}"
        await served.call("POST", path, {"response": "once"})
        await all_see(2, "End of two.")

        await screen.type("from the screen", "enter")
        asked = await all_ask(3)
        await page.click(BUTTON)
        await all_see(3, "End of three.")
        late = f"/permission/{asked['id']}/reply"
        await served.call("POST", late, {"reply": "reject"}, status=404)
    (session,) = await served.call("GET", "/session")
    messages = await served.call("GET", f"/session/{session['id']}/message")
    prompts = [one["parts"][0]["text"] for one in messages if one["info"]["role"] == "user"]
    assert prompts == ["from the editor", "from the page", "from the screen"]
