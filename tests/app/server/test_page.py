"""The web page in headless Chromium."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.screens.requests.examples import FORM
from tests.app.server.conftest import TOKEN, Served
from tests.support.browser import CHROMIUM, Page, browser_page
from tests.support.script import Call, Finish, Hold, Text, answer

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")

PHONE, DESKTOP = (390, 844), (1200, 800)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
async def test_a_session_with_an_approval(
    served: Served, tmp_path: Path, size: tuple[int, int]
) -> None:
    hold = Hold()
    served.model.script(
        answer(Text("First "), hold, Text("words."), Finish("end")),
        answer(Call("write", {"file_path": "a.txt", "content": "by the agent\n"}), Finish("calls")),
        answer(Text("It is written."), Finish("end")),
    )
    async with browser_page(f"{served.address}/", tmp_path / "profile") as page:
        await page.resize(*size)
        await page.until_shown("Token or password")
        await page.run(f"document.getElementById('secret').value = '{TOKEN}'")
        await page.click("Continue")
        await page.until_shown("Transcript")

        async def send(text: str) -> None:
            await page.run(f"document.getElementById('prompt').value = '{text}'")
            await page.click("Send")

        await send("hello page")
        await page.until_shown("First")
        await page.until_shown("Stop")
        hold.gate.set()
        await page.until_shown("First words.")
        await page.until_shown("ready")
        await send("write it")
        await page.until_shown("Create this file?")
        await page.until_shown("by the agent")
        await page.until_shown("needs you")
        await page.click("Allow once")
        await page.until_shown("It is written.")
        assert (served.project / "a.txt").read_text() == "by the agent\n"
        await page.click("Changes")
        await page.until_shown("a.txt")
        await page.click("Transcript")
        width = await page.run("document.documentElement.scrollWidth")
        assert width <= size[0]
        (session,) = await served.call("GET", "/session")
        messages = await served.call("GET", f"/session/{session['id']}/message")
        second = [one["info"]["id"] for one in messages if one["info"]["role"] == "user"][1]
        path = f"/session/{session['id']}"
        await served.call("POST", f"{path}/revert", {"messageID": second})
        await page.until("!document.body.innerText.includes('It is written.')")
        await page.until_shown("First words.")
        await served.call("POST", f"{path}/unrevert", {})
        await page.until_shown("It is written.")


async def test_a_request_names_the_session_that_it_comes_from(
    served: Served, tmp_path: Path
) -> None:
    served.model.script(answer(Call("bash", {"command": "touch a"}), Finish("calls")))
    session = await served.session()
    await served.call("PATCH", f"/session/{session}", {"title": "Clean up the build"})
    await served.send(session, "go")
    async with browser_page(f"{served.address}/#token={TOKEN}", tmp_path / "profile") as page:
        await page.until_shown("Run this command?")
        await page.until_shown("needs you")
        assert not await page.run("document.body.innerText.includes('From another session')")
        await page.click("New session")
        await page.until_shown("From another session: Clean up the build")
        await page.until_shown("ready")


async def test_a_form_is_answered(served: Served, tmp_path: Path) -> None:
    session = await served.session()
    folder = await served.folders.open(str(served.project))
    form = replace(FORM, session_id=session, root_id=session)
    asking = asyncio.create_task(folder.runtime.questions.ask(form, lambda _: None))
    async with browser_page(f"{served.address}/#token={TOKEN}", tmp_path / "profile") as page:
        await page.resize(*PHONE)
        await page.until_shown(FORM.text)
        await send_form(page)
        await page.until_shown("The form cannot be sent.")

        async def fill(label: str, value: str) -> None:
            await page.run(
                "[...document.querySelectorAll('.request label')]"
                f".find((each) => each.innerText.startsWith('{label}'))"
                f".querySelector('input, select').value = '{value}'"
            )

        await fill("Legs", "4")
        await fill("Wood", "pine")
        await send_form(page)
        await page.until("!document.querySelector('.request')")
    values = (await asking).values
    assert values is not None
    assert (values["legs"], values["wood"], values["name"]) == (4, "pine", "Bob")


async def send_form(page: Page) -> None:
    await page.run(
        "[...document.querySelectorAll('.request button')]"
        ".find((each) => each.innerText === 'Send').click()"
    )


MARKDOWN = """## Found [it]

The **cause** is in `read_rows`:

- first <b>item</b>
- second, see [the docs](https://example.org/a)
  and more

1. one
2. two

```python
x = "**not bold**"
```
"""


async def test_markdown_is_shown_and_markup_in_it_is_text(served: Served, tmp_path: Path) -> None:
    served.model.script(answer(Text(MARKDOWN), Finish("end")))
    session = await served.session()
    await served.call("PATCH", f"/session/{session}", {"title": "a very long title " * 9})
    await served.send(session, "why **so**?")
    address = f"{served.address}/#token={TOKEN}"
    async with browser_page(address, tmp_path / "profile") as page:
        await page.resize(*DESKTOP)
        await page.until_shown("not bold")
        await page.until_shown("ready")

        async def texts(found: str) -> list[str]:
            script = (
                f"[...document.querySelectorAll('#transcript {found}')].map((e) => e.innerText)"
            )
            return await page.run(script)

        assert await texts(".user") == ["why **so**?"]
        assert await texts("h3") == ["Found [it]"]
        assert await texts("strong") == ["cause"]
        assert await texts("p > code") == ["read_rows"]
        assert await texts("ul > li") == ["first <b>item</b>", "second, see the docs\nand more"]
        assert await texts("ol > li") == ["one", "two"]
        assert await texts("pre") == ['x = "**not bold**"']
        link = await page.run("document.querySelector('#transcript a').href")
        assert link == "https://example.org/a"
        side = "document.getElementById('sidebar')"
        assert await page.run(f"{side}.scrollWidth <= {side}.clientWidth")
        await page.resize(*PHONE)
        assert await page.run("innerWidth") == PHONE[0]  # a wide element would zoom a phone out
