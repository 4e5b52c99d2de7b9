"""The permission dialog."""

from dataclasses import replace

import pytest
from textual.app import App

from agent.permission.programs.possible_effects import RUNS_CODE
from agent.permission.shell.command_needs import NETWORK
from agent.records.blocks import DiffBlock, DiffLine, Hunk, ShellBlock
from agent.records.decisions import Verdict
from agent.records.requests import EvaluatedNeed, PermissionNeed, PermissionReply, PermissionRequest
from agent.records.sandbox import SandboxGrant
from app.screens.requests.permission import PermissionScreen
from app.text.invisible_characters import lookalikes
from app.theme.themes import DARK_PALETTE, register
from app.tui.request_dialogs import RequestDialogs
from app.widgets.permission_subject import PermissionSubject
from tests.app.screens.requests.examples import request
from tests.app.screens.requests.sample_diffs import price_changes, three_changes
from tests.support.hosting import Host, settle
from tests.support.snapshots import assert_pictures, screen_text


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["o"], "once"),
        (["a"], "always"),
        (["r"], "reject"),
        (["escape"], "reject"),
        (["right", "enter"], "once"),
        (["right", "right", "enter"], "always"),
        (["left", "enter"], "reject"),
    ],
)
async def test_every_key_gives_its_answer(keys: list[str], answer: str) -> None:
    host = Host(PermissionScreen(request(), grace=0))
    async with host.run_test() as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        assert [o.answer for o in host.outcomes if isinstance(o, PermissionReply)] == [answer]


async def test_enter_does_nothing_until_a_button_was_chosen() -> None:
    host = Host(PermissionScreen(request(), grace=0))
    async with host.run_test() as pilot:
        await pilot.press("enter", "enter")
        await settle(pilot)
        assert "Select an answer first: ← →, or its letter." in screen_text(host)
        await pilot.press("y", "space")
        await settle(pilot)
        assert host.outcomes == []
        assert "Select an answer first" not in screen_text(host)


async def test_always_cannot_be_given_where_it_is_not_offered() -> None:
    host = Host(PermissionScreen(request(always=()), grace=0))
    async with host.run_test() as pilot:
        await pilot.press("a")
        await pilot.pause()
        assert host.outcomes == []
        assert "not available" in screen_text(host)


async def test_a_comment_goes_with_the_answer() -> None:
    host = Host(PermissionScreen(request(), grace=0))
    async with host.run_test() as pilot:
        await pilot.press("c", *"or not", "enter", "r")
        await pilot.pause()
        assert host.outcomes == [PermissionReply("reject", "or not")]


async def test_while_the_user_types_the_hints_show_the_keys_for_that() -> None:
    host = Host(PermissionScreen(request(), grace=0))
    async with host.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        assert "c comment" in screen_text(host)
        for key, hint in (("c", "enter keep   esc discard"), ("e", "enter done   esc cancel")):
            await pilot.press(key)
            await settle(pilot)
            assert hint in screen_text(host)
            assert "c comment" not in screen_text(host)
            await pilot.press("escape")
            await settle(pilot)
            assert "c comment" in screen_text(host)


async def test_everything_that_needs_permission_is_shown() -> None:
    host = Host(PermissionScreen(request(), pending=3, grace=0))
    async with host.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        text = screen_text(host)
    for piece in (
        "Run this command?",
        "1 of 3 waiting",
        "build",
        "npm run build",
        "rm -rf dist",
        "can delete or overwrite data",
        "/etc/x",
        "/home/me/shop",
        "“Always” allows",
        "npm run build *",
        "lines  2",
    ):
        assert piece in text


@pytest.mark.parametrize("size", [(80, 24), (40, 16), (26, 10), (20, 8)])
@pytest.mark.parametrize(
    "command",
    [
        "x" * 5_000,
        "echo " + "word " * 2_000,
        "cat <<EOF\n" + "\n".join(f"line {n}" for n in range(200)) + "\nEOF",
    ],
)
async def test_a_long_command_scrolls_and_the_answers_stay(
    size: tuple[int, int], command: str
) -> None:
    """The answers are visible and the body scrolls to its end."""
    host = Host(PermissionScreen(request(blocks=(ShellBlock(command + " THE END"),)), grace=0))
    async with host.run_test(size=size) as pilot:
        await settle(pilot)
        assert "once" in screen_text(host)
        assert "reject" in screen_text(host)
        body = host.screen.query_one("#ask-subject")
        assert body.max_scroll_y > 0
        await pilot.press("end")
        await pilot.pause()
        assert body.scroll_y == body.max_scroll_y
        assert "END" in screen_text(host)
        await pilot.press("o")
        await pilot.pause()
        assert host.outcomes == [PermissionReply("once")]


@pytest.mark.parametrize(
    ("command", "shown_as"),
    [
        ("rm -rf x\recho hi", "rm -rf x␍echo hi"),
        ("echo hi" + " " * 30 + "; rm x", "echo hi" + "·" * 30 + "; rm x"),
        ("make\tall", "make→"),
        ("echo \u202egnp.exe\x1b[2K", "echo \\u{202e}gnp.exe␛[2K"),
        ("p\u0430ypal\u00a0x", "cyrillic small letter a"),
        ("p\u0430ypal\u00a0x", "no-break space"),
    ],
)
async def test_nothing_in_a_command_is_hidden(command: str, shown_as: str) -> None:
    host = Host(PermissionScreen(request(blocks=(ShellBlock(command),)), grace=0))
    async with host.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        assert shown_as in screen_text(host)


@pytest.mark.parametrize(
    "text", ["git commit -m 'привет, мир'", "echo 表の幅", "naïve café", "👩‍👩‍👧"]
)
def test_other_scripts_are_not_lookalikes(text: str) -> None:
    assert lookalikes(text) == ()


@pytest.mark.parametrize("patterns", [1, 12])
@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_the_whole_offer_can_be_read(patterns: int, size: tuple[int, int]) -> None:
    always = tuple(("bash", f"program{n} run *") for n in range(patterns))
    asked = request(blocks=(ShellBlock("word " * 150),), always=always)
    host = Host(PermissionScreen(asked, grace=0))
    seen: set[str] = set()
    async with host.run_test(size=size) as pilot:
        await settle(pilot)
        for key in ["pagedown", "down"] * 30:
            seen |= {pattern for _, pattern in always if pattern in screen_text(host)}
            await pilot.press(key)
        assert "always" in screen_text(host)
        assert seen == {pattern for _, pattern in always}


async def test_a_diff_is_shown_with_its_signs() -> None:
    lines = (DiffLine("remove", 3, None, "old [b]"), DiffLine("add", None, 3, "new\x1b]0;t\x07"))
    diff = DiffBlock("src/a.py", (Hunk(0, lines),), 1, 1)
    host = Host(PermissionScreen(request(blocks=(diff,)), grace=0))
    async with host.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        text = screen_text(host)
    assert "− old [b]" in text
    assert "+ new␛]0;t␇" in text
    assert "\x1b" not in text


async def test_ctrl_c_cancels_the_turn_with_the_open_question() -> None:
    host = Host(PermissionScreen(request()))
    async with host.run_test() as pilot:
        host.dialog.interrupt()
        await pilot.pause()
        assert host.outcomes == ["cancel"]


class Queue(App[int]):
    """An app that shows only the dialogs of open requests."""

    def __init__(self) -> None:
        super().__init__()
        register(self)
        self.replies: list[tuple[str, str]] = []
        self.cancelled = 0
        self.base = self.screen_stack
        self.asking = RequestDialogs(
            self, reply=self._reply, cancel=self._cancel, may_show=lambda: True, grace=0
        )

    def _reply(self, request_id: str, reply: PermissionReply) -> None:
        self.replies.append((request_id, reply.answer))

    def _cancel(self, session_id: str) -> None:
        del session_id
        self.cancelled += 1

    def dialog(self) -> PermissionScreen | None:
        return self.screen if isinstance(self.screen, PermissionScreen) else None


async def test_questions_come_one_at_a_time_oldest_first() -> None:
    """They come one at a time, with a count, and none is lost."""
    host = Queue()
    pending = [request(f"per_{n}") for n in range(3)]
    async with host.run_test() as pilot:
        host.asking.sync(pending)
        await pilot.pause()
        for key in ("o", "r", "o"):
            dialog = host.dialog()
            assert dialog is not None
            assert dialog.request.id == pending[0].id
            await pilot.press(key)
            await pilot.pause()
            host.asking.sync(pending)  # an event of something else, before the reply's own
            del pending[0]
            host.asking.sync(pending)
            await pilot.pause()
        assert host.replies == [("per_0", "once"), ("per_1", "reject"), ("per_2", "once")]
        assert host.dialog() is None


async def test_a_question_that_comes_while_the_dialog_opens_is_counted() -> None:
    host = Queue()
    async with host.run_test(size=(100, 30)) as pilot:
        host.asking.sync([request()])
        host.asking.sync([request(), request("per_2")])  # the dialog is not composed yet
        await settle(pilot)
        assert "1 of 2 waiting" in screen_text(host)


async def test_a_withdrawn_question_closes_without_an_answer() -> None:
    host = Queue()
    async with host.run_test() as pilot:
        host.asking.sync([request()])
        await pilot.pause()
        assert host.dialog() is not None
        host.asking.sync([])
        await pilot.pause()
        assert host.dialog() is None
        assert host.replies == []
        assert host.cancelled == 0


@pytest.mark.parametrize(
    ("keys", "reply"),
    [
        (["o"], PermissionReply("once")),
        (["n", "space", "o"], PermissionReply("once", hunks=frozenset({0, 2}))),
        (["space", "n", "n", "space", "p", "o"], PermissionReply("once", hunks=frozenset({1}))),
        (["space", "space", "o"], PermissionReply("once")),
        (["space", "n", "space", "n", "space", "o"], PermissionReply("reject")),
        (["n", "space", "r"], PermissionReply("reject")),
    ],
)
async def test_changes_are_kept_or_refused_one_by_one(
    keys: list[str], reply: PermissionReply
) -> None:
    host = Host(PermissionScreen(request(blocks=(three_changes(),), always=()), grace=0))
    async with host.run_test() as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        assert host.outcomes == [reply]


async def test_changes_are_reviewed_on_a_screen_of_their_own() -> None:
    host = Host(PermissionScreen(request(blocks=(three_changes(),), always=()), grace=0))
    async with host.run_test() as pilot:
        await pilot.press("v")
        await settle(pilot)
        await pilot.press("n", "r", "c", *"Why", "enter")
        await settle(pilot)
        assert "✕ rejected  change 2 of 3" in screen_text(host)
        await pilot.press("enter")
        await settle(pilot)
        assert "src/parts.py:12 (removed): Why" in screen_text(host)
        await pilot.press("o")
        await pilot.pause()
        comment = "src/parts.py:12 (removed): Why"
        assert host.outcomes == [PermissionReply("once", comment, frozenset({0, 2}))]


async def test_a_command_is_edited_before_it_runs() -> None:
    host = Host(PermissionScreen(request(blocks=(ShellBlock("npm run build"),)), grace=0))
    async with host.run_test() as pilot:
        await settle(pilot)
        assert "can delete or overwrite data" in screen_text(host)
        await pilot.press("e", *" --dry", "enter")
        await settle(pilot)
        assert "npm run build --dry" in screen_text(host)
        assert "checked again" in screen_text(host)
        assert "can delete or overwrite data" not in screen_text(
            host
        )  # judged of the model's command
        await pilot.press("a")  # always is no longer offered
        await pilot.pause()
        assert host.outcomes == []
        await pilot.press("o")
        await pilot.pause()
        assert host.outcomes == [PermissionReply("once", edited_command="npm run build --dry")]


@pytest.mark.parametrize("keys", [["escape"], ["enter"], ["backspace", "d", "enter"]])
async def test_an_unchanged_command_runs_as_it_was(keys: list[str]) -> None:
    host = Host(PermissionScreen(request(blocks=(ShellBlock("npm run build"),)), grace=0))
    async with host.run_test() as pilot:
        await pilot.press("e", *keys)
        await settle(pilot)
        await pilot.press("a")
        await pilot.pause()
        assert host.outcomes == [PermissionReply("always")]


async def test_a_sub_agent_that_asks_is_named_with_its_caller() -> None:
    asked = replace(request(), agent="general", callers=("build",))
    host = Host(PermissionScreen(asked, grace=0))
    async with host.run_test() as pilot:
        await settle(pilot)
        assert "general, working for build" in screen_text(host)


def five_commands() -> PermissionRequest:
    line = "cd app && npm ci && npm test 2>&1 | tee out.log && rm -rf dist"
    needs = (
        EvaluatedNeed(PermissionNeed("bash", "cd app"), "allow", "only reads"),
        EvaluatedNeed(PermissionNeed("bash", "npm ci", always="npm ci"), "ask", NETWORK),
        EvaluatedNeed(
            PermissionNeed("bash", "npm test", always="npm test *"),
            "allow",
            "allowed by bash `npm test *` (this session)",
        ),
        EvaluatedNeed(PermissionNeed("bash", "tee out.log"), "ask", "writes app/out.log"),
        EvaluatedNeed(
            PermissionNeed("bash", "rm -rf dist", destructive=True),
            "ask",
            "can delete or overwrite data",
        ),
    )
    always = (("bash", "npm ci"),)
    return replace(request(blocks=(ShellBlock(line),), always=always), needs=needs)


def through_a_link() -> PermissionRequest:
    needs = (
        EvaluatedNeed(PermissionNeed("edit", "notes/today.md"), "ask", "writes this file"),
        EvaluatedNeed(
            PermissionNeed(
                "external_directory", "/srv/wiki/today.md", reason="notes is a link to /srv/wiki"
            ),
            "ask",
            "notes/today.md leads outside the project",
        ),
    )
    lines = (
        DiffLine("context", 3, 3, "## Release of version 2"),
        DiffLine("remove", 4, None, "- [ ] the importer reads empty files"),
        DiffLine("add", None, 4, "- [x] the importer reads empty files"),
    )
    diff = DiffBlock("notes/today.md", (Hunk(0, lines),), 1, 1)
    always = (("edit", "notes/today.md"), ("external_directory", "/srv/wiki/*"))
    asked = request(blocks=(diff,), always=always)
    return replace(asked, needs=needs, tool="edit", heading="Change this file?")


def judged() -> PermissionRequest:
    reason = "The user asked to fix the tests, not to upgrade packages that they do not use"
    verdict = Verdict(answer="ask", model="anthropic/claude-haiku-5-5", reason=reason)
    needs = (EvaluatedNeed(PermissionNeed("bash", "npm update"), "ask", "uses the network"),)
    always = (("bash", "npm update"),)
    asked = request(blocks=(ShellBlock("npm update"),), always=always)
    return replace(asked, needs=needs, verdict=verdict)


def long_command() -> PermissionRequest:
    line = "node scripts/thumbnails.js " + " ".join(
        f"images/product-{number:04}.jpg" for number in range(400)
    )
    needs = (EvaluatedNeed(PermissionNeed("bash", line), "ask", RUNS_CODE),)
    return replace(
        request(blocks=(ShellBlock(line),), always=(("bash", "node scripts/thumbnails.js *"),)),
        needs=needs,
    )


PICTURES: dict[str, tuple[PermissionRequest, list[str]]] = {
    "five-commands": (five_commands(), []),
    "hunks": (
        replace(
            request(blocks=(price_changes(),), always=(("edit", "src/shop/prices.py"),)),
            needs=(
                EvaluatedNeed(
                    PermissionNeed("edit", "src/shop/prices.py"), "ask", "writes this file"
                ),
            ),
            tool="edit",
            heading="Change this file?",
        ),
        ["n", "space"],
    ),
    "through-a-link": (through_a_link(), []),
    "judge": (judged(), []),
    "long-command": (long_command(), []),
}


@pytest.mark.parametrize("name", PICTURES)
async def test_pictures(name: str) -> None:
    asked, keys = PICTURES[name]
    host = Host(PermissionScreen(asked, grace=0))
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*keys)
        await settle(pilot)
        await assert_pictures(pilot, f"dialog-{name}")


async def test_an_unusable_verdict_and_none_at_all_are_named() -> None:
    for verdict, shown in (
        (
            Verdict(answer="none", model="x/small", reason="no response"),
            "small gave no verdict: no",
        ),
        (Verdict(answer="ask", reason="rm can delete data"), "not judged: rm can delete data"),
        (Verdict(answer="ask", model="x/s", reason="a\u202eb\x1b[1m"), "s suggests asking: a"),
    ):
        host = Host(PermissionScreen(replace(request(), verdict=verdict), grace=0))
        async with host.run_test() as pilot:
            await settle(pilot)
            assert shown in screen_text(host)
            assert "\x1b[1m" not in screen_text(host)


def sandboxed(*, can_leave: bool = True, network: bool = False) -> PermissionRequest:
    grant = SandboxGrant("workspace-write", network=network)
    return replace(request(), sandbox=grant, can_leave_sandbox=can_leave)


@pytest.mark.parametrize("keys", [["w"], [*["right"] * 4, "enter"]])
async def test_a_command_can_be_allowed_once_without_the_sandbox(keys: list[str]) -> None:
    host = Host(PermissionScreen(sandboxed(), grace=0))
    async with host.run_test() as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        assert host.outcomes == [PermissionReply("once", unsandboxed=True)]


async def test_a_click_gives_that_answer_too() -> None:
    host = Host(PermissionScreen(sandboxed(), grace=0))
    async with host.run_test() as pilot:
        await pilot.click("#ask-unsandboxed")
        await pilot.pause()
        assert host.outcomes == [PermissionReply("once", unsandboxed=True)]


@pytest.mark.parametrize("given", [request(), sandboxed(can_leave=False)])
async def test_it_is_offered_only_where_there_is_a_sandbox(given: PermissionRequest) -> None:
    host = Host(PermissionScreen(given, grace=0))
    async with host.run_test() as pilot:
        await pilot.press("w")
        await pilot.pause()
        assert host.outcomes == []
        assert not host.screen.query("#ask-unsandboxed")


@pytest.mark.parametrize(
    ("network", "words"),
    [(False, "writes in the project, no network"), (True, "writes in the project, with network")],
)
async def test_the_sandbox_is_shown(network: bool, words: str) -> None:
    host = Host(PermissionScreen(sandboxed(network=network), grace=0))
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert words in screen_text(host)
        assert "without sandbox" in screen_text(host)


async def test_picture_of_a_command_with_a_sandbox() -> None:
    host = Host(PermissionScreen(sandboxed(network=True), grace=0))
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await assert_pictures(pilot, "dialog-sandbox")


async def test_a_small_terminal_shows_subject_answers_and_keys() -> None:
    """With a long heading beside the number of requests, which once had one column left."""
    asked = replace(request(blocks=(three_changes(),)), heading="Make this change?", tool="edit")
    host = Host(PermissionScreen(asked, pending=3))
    async with host.run_test(size=(40, 16)) as pilot:
        await settle(pilot)
        shown = screen_text(host)
        rows = shown.splitlines()
        assert "Make this change?" in rows[0]
        assert rows[0].endswith("1 of 3")
        for text in ("src/parts.py  +3 −3", "✓ keep", "return old_0", "return new_0"):
            assert text in shown
        for text in ("once always reject", "space toggle  n p move  ctrl+l later"):
            assert text in shown
        screen = host.dialog
        assert isinstance(screen, PermissionScreen)
        screen.show_note("Enter went to the prompt. Pause, then answer.")
        await settle(pilot)
        assert "prompt. Pause, then" in " ".join(screen_text(host).replace("▌", "").split())


async def test_programs_that_can_destroy_something_are_red_in_the_command() -> None:
    line = "cd app && rm -rf dist && echo rm"
    needs = (
        EvaluatedNeed(PermissionNeed("bash", "rm -rf dist", destructive=True), "ask", "can delete"),
    )
    host = Host(
        PermissionScreen(replace(request(blocks=(ShellBlock(line),)), needs=needs), grace=0)
    )
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        subject = host.screen.query_one(PermissionSubject)
        colors: dict[str, str] = {}
        for segment in subject.render_line(0):
            if segment.text.strip() and segment.style is not None and segment.style.color:
                colors.setdefault(segment.text.strip(), segment.style.color.name)
        assert colors["rm"] == DARK_PALETTE.err
        assert colors["cd"] == DARK_PALETTE.blue


@pytest.mark.parametrize(("count", "tight"), [(1, False), (3, True)])
async def test_empty_rows_give_way_to_a_long_change(count: int, tight: bool) -> None:
    diff = replace(three_changes(), hunks=three_changes().hunks[:count])
    asked = replace(request(blocks=(diff,), always=()), needs=request().needs[:1])
    host = Host(PermissionScreen(asked, grace=0))
    async with host.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert host.screen.has_class("-tight") == tight
        assert "return new_0" in screen_text(host)
        await pilot.resize_terminal(80, 45)
        await settle(pilot)
        assert not host.screen.has_class("-tight")
