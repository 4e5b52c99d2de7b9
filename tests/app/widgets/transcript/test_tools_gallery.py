"""Snapshots of each kind of tool call in all its states."""

from dataclasses import replace
from typing import get_args

import pytest

from agent.records.blocks import (
    Block,
    CodeBlock,
    ImageBlock,
    ListingBlock,
    ShellBlock,
    TableBlock,
    TextBlock,
    TodoBlock,
    TodoItem,
    ToolLabel,
)
from agent.records.decisions import Decision, DecisionSource, Verdict, VerdictAnswer
from agent.records.errors import QUESTION_CLOSED, REJECTED, REJECTED_SAYING
from agent.records.messages import Part, Running, ToolState
from app.session_state.view import SessionView
from app.theme.themes import DARK_PALETTE
from app.widgets.transcript.blocks import RENDERERS, SHELL_LINES, BlockContext, draw_block
from app.widgets.transcript.lines import Page
from app.widgets.transcript.tool_calls import (
    FRAMES,
    Moment,
    precise_duration,
    shown_blocks,
    tool_lines,
    tool_row,
)
from tests.support.records import (
    completed,
    diff,
    failed,
    open_assistant,
    pending,
    reasoning,
    running,
    snapshot,
    text_part,
    tool,
    user,
)
from tests.support.snapshots import assert_both_themes, assert_pictures
from tests.support.transcripts import TranscriptApp

MESSAGE = "msg_1"
EDIT = diff(
    "src/imports/reader.py",
    " def read_rows(path: Path) -> Iterator[Row]:",
    "-    header = next(rows)",
    "+    header = next(rows, None)",
    "+    if header is None:",
    "+        return",
    first=38,
)
PYTEST = "uv run pytest tests/test_reader.py -q"
OUTPUT = "\n".join(f"tests/test_reader.py::test_{n} \x1b[32mPASSED\x1b[0m" for n in range(18))
BROKEN = "collected 14 items\n\x1b[31mE   StopIteration\x1b[0m\n1 failed, 13 passed in 0.4s"
CODE = (
    'def delimiter(path):\n    """Return the delimiter of a file."""\n'
    '    return ";" if path.suffix == ".csv" else "\\t"\n'
)
TODOS = TodoBlock(
    (
        TodoItem("Find why an empty file crashes the import", "completed"),
        TodoItem("Return no rows from read_rows", "in_progress"),
        TodoItem("Add a test with a file of 0 bytes"),
        TodoItem("Rewrite the exporter", "cancelled"),
    )
)

URL = "https://docs.example.org/guide/reading?page=2"
PAGE_TEXT = (
    "# Reading\n\nA *reader* returns [rows](https://docs.example.org/rows) as lists of strings:\n\n"
    "- an empty file has none\n- a blank line is an empty list"
)

Kind = list[tuple[str, ToolState]]

GALLERY: dict[str, Kind] = {
    "bash": [
        ("bash", pending('{"command": "uv run pytest tests/te')),
        ("bash", running("Bash", PYTEST, ShellBlock(PYTEST), output=OUTPUT)),
        ("bash", running("Bash", "rm -rf dist", ShellBlock("rm -rf dist"), waiting="per_1")),
        ("bash", completed("Bash", PYTEST, ShellBlock(PYTEST, OUTPUT, 0), seconds=4, exit_code=0)),
        ("bash", completed("Bash", PYTEST, ShellBlock(PYTEST, BROKEN, 1), seconds=2, exit_code=1)),
        (
            "bash",
            failed(
                "Bash",
                "make watch",
                "",
                ShellBlock("make watch", "Watching src/ for changes\nBuilt in 0.4s"),
                kind="aborted",
            ),
        ),
        (
            "bash",
            failed("Bash", "rm -rf dist", f"{REJECTED_SAYING}Keep the last build.", kind="denied"),
        ),
    ],
    "edit": [
        ("edit", pending('{"path": "src/imports/reader.py", "old": "' + "x" * 900)),
        ("edit", running("Edit", "src/imports/reader.py", EDIT, waiting="per_1")),
        (
            "edit",
            completed(
                "Edit",
                "src/imports/reader.py",
                EDIT,
                note="+3 −1",
                facts=("matched ignoring indentation",),
                seconds=0.031,
            ),
        ),
        (
            "edit",
            completed(
                "Write",
                "src/imports/tsv.py",
                diff("src/imports/tsv.py", '+DELIMITER = "\\t"'),
                note="+1",
            ),
        ),
        (
            "edit",
            failed(
                "Edit",
                "src/cli.py",
                "The text to replace was not found in src/cli.py.\nRead it again.",
            ),
        ),
        ("edit", failed("Edit", "src/cli.py", "Interrupted by a crash.", kind="interrupted")),
    ],
    "read": [
        ("read", pending()),
        ("read", running("Read", "src/imports/reader.py")),
        ("read", completed("Read", "reader.py", CodeBlock("reader.py", CODE), facts=("3 lines",))),
        (
            "grep",
            completed(
                "Grep",
                '"DictReader" in src',
                ListingBlock(("src/imports/reader.py:41", "src/exports/check.py:12"), 5),
                facts=("5 matches",),
            ),
        ),
        (
            "glob",
            completed(
                "Glob", "src/**/*.toml", ListingBlock(("src/shop.toml",), 1), facts=("1 file",)
            ),
        ),
        (
            "read",
            completed("Read", "logo.png", ImageBlock("logo.png", "image/png", 640, 480, 9000)),
        ),
        (
            "read",
            failed(
                "Read",
                "src/read.py",
                "There is no file src/read.py. Did you mean src/imports/reader.py?",
            ),
        ),
    ],
    "shells": [
        ("bash", pending('{"command": "npm run dev", "background": tr')),
        ("bash", running("Bash", "npm run dev", ShellBlock("npm run dev"), waiting="per_1")),
        (
            "bash",
            completed(
                "Bash",
                "npm run dev",
                ShellBlock("npm run dev", "ready on http://localhost:8080"),
                note="as shell_a1b2",
                facts=("background",),
            ),
        ),
        (
            "bash",
            completed(
                "Bash",
                "npm run dve",
                ShellBlock("npm run dve", "npm error", 1, "It has already ended: exit code 1."),
                note="as shell_a1b3",
                exit_code=1,
            ),
        ),
        ("bash_output", running("Output", "shell_a1b2", ShellBlock("npm run dev"))),
        (
            "bash_output",
            completed(
                "Output",
                "shell_a1b2",
                ShellBlock("npm run dev", OUTPUT),
                note="npm run dev",
                facts=("running",),
            ),
        ),
        (
            "bash_kill",
            completed(
                "Kill",
                "shell_a1b2",
                ShellBlock("npm run dev", "bye"),
                note="npm run dev",
                facts=("killed",),
            ),
        ),
        ("bash_kill", failed("Kill", "", "There is no background shell 'shell_1'.")),
    ],
    "web": [
        ("webfetch", pending('{"url": "https://docs.example.org/gu')),
        ("webfetch", running("Fetch", URL, TextBlock(URL), waiting="per_1")),
        ("webfetch", running("Fetch", URL)),
        ("webfetch", completed("Fetch", URL, TextBlock(PAGE_TEXT, True), facts=("34 KB",))),
        ("webfetch", completed("Fetch", URL, ImageBlock(URL, "image/png", 640, 480, 9000))),
        (
            "webfetch",
            failed(
                "Fetch", "http://10.0.0.1/", "10.0.0.1 is not an address of the public internet."
            ),
        ),
        ("webfetch", failed("Fetch", URL, REJECTED, kind="denied")),
        (
            "websearch",
            completed(
                "Search",
                '"python csv reader empty file"',
                ListingBlock(
                    (
                        "csv: CSV File Reading and Writing  https://docs.python.org/3/library/csv.html",
                        "StopIteration on an empty file  https://forum.example.org/t/4211",
                    ),
                    2,
                ),
                facts=("2 results",),
            ),
        ),
    ],
    "question": [
        ("question", pending('{"questions": [{"question": "Which wa')),
        ("question", running("Ask", "Storage", waiting="que_1")),
        (
            "question",
            completed(
                "Ask",
                "Storage",
                TableBlock(
                    ("question", "answer"),
                    (("Storage", "SQLite"), ("Encoding", "UTF-8, 日本語 too")),
                ),
                note="and 1 more",
            ),
        ),
        (
            "question",
            failed("Ask", "Storage", QUESTION_CLOSED, kind="denied"),
        ),
        ("question", failed("Ask", "Storage", "Tool execution aborted", kind="aborted")),
    ],
    "search": [
        ("glob", pending('{"pattern": "**/*.py')),
        ("glob", running("Glob", "**/*.py")),
        (
            "glob",
            completed(
                "Glob",
                "**/*.py",
                ListingBlock(("src/cli.py", "src/shop.py"), 2),
                facts=("2 files",),
            ),
        ),
        ("grep", running("Grep", '"read_rows" in ../shop-old', waiting="per_1")),
        ("grep", completed("Grep", '"read_lines"', ListingBlock((), 0), facts=("0 matches",))),
        (
            "grep",
            failed("Grep", '"read("', "The pattern 'read(' is not a valid regular expression."),
        ),
        ("list", completed("List", "src", ListingBlock(("  cli.py", "  imports/"), 2))),
        ("list", failed("List", "source", "source does not exist. Did you mean src?")),
        ("write", pending('{"file_path": "src/imports/tsv.py", "content": "DEL')),
        (
            "write",
            running(
                "Write",
                "src/imports/tsv.py",
                diff("src/imports/tsv.py", '+DELIMITER = "\\t"'),
                waiting="per_1",
            ),
        ),
        (
            "write",
            failed(
                "Write", "src/cli.py", "src/cli.py has changed since you read it. Read it again."
            ),
        ),
        (
            "read",
            completed(
                "Read",
                "docs/invoice.pdf",
                ImageBlock("docs/invoice.pdf", "application/pdf", 0, 0, 90_000),
            ),
        ),
    ],
    "todo": [
        ("todowrite", pending('{"todos": [')),
        ("todowrite", completed("To-do", "1 of 3 done", TODOS)),
        ("todowrite", failed("", "", "items: Field required", kind="invalid")),
    ],
    "other": [
        ("github_list_issues", pending('{"query": "is:open')),
        ("task", running("General", "check other readers for the same fault", waiting="per_2")),
        (
            "github_list_issues",
            completed(
                "github",
                "list issues",
                TableBlock(
                    ("number", "title"),
                    (("7", "Crash on an empty CSV file"), ("12", "取り込みが遅い")),
                ),
            ),
        ),
        (
            "webfetch",
            completed(
                "Fetch",
                "https://docs.example.org/changes",
                TextBlock("# Changes\n\n2.1 reads empty files.", True),
            ),
        ),
        (
            "mcp",
            completed(
                "docs", "list", TextBlock("\n".join(f"{n:>3}  Chapter {n}" for n in range(1, 31)))
            ),
        ),
    ],
}


TITLES = {
    "todowrite": "To-do",
    "webfetch": "Fetch",
    "question": "Ask",
    "github_list_issues": "github",
}
"""The names that the tools give their calls, where they differ."""


def view_of(states: Kind) -> SessionView:
    parts = [
        replace(tool(f"prt_{n:02}", MESSAGE, state, name=name), title=TITLES.get(name, ""))
        for n, (name, state) in enumerate(states)
    ]
    return SessionView(snapshot(open_assistant(MESSAGE, *parts)))


@pytest.mark.parametrize("kind", GALLERY)
async def test_gallery(kind: str) -> None:
    app = TranscriptApp(view_of(GALLERY[kind]))
    async with app.run_test() as pilot:
        rows = 60 if kind in {"bash", "shells"} else 40
        await assert_pictures(pilot, f"tool-{kind}", rows=rows)


async def test_gallery_unfolded() -> None:
    app = TranscriptApp(view_of(GALLERY["read"]))
    async with app.run_test() as pilot:
        app.transcript.toggle_all(reasoning=False)
        await assert_pictures(pilot, "tool-read-unfolded", rows=40)


def conversation() -> SessionView:
    parts: list[Part] = [
        reasoning(
            "prt_1", MESSAGE, "**the reader yields nothing, so header is unbound**\n\nSo it is."
        ),
        text_part(
            "prt_2", MESSAGE, "I will look at the `reader` first, see [docs](https://x.org)."
        ),
        *(
            tool(f"prt_3{n}", MESSAGE, state)
            for n, state in enumerate(
                [
                    completed("Read", "src/imports/reader.py", facts=("142 lines",)),
                    completed("Grep", '"DictReader" in src', facts=("5 matches",)),
                    GALLERY["edit"][2][1],
                    running("Bash", PYTEST, ShellBlock(PYTEST), output="collected 14 items\n...F"),
                    running("General", "check other readers", waiting="per_2"),
                ]
            )
        ),
    ]
    question = user("msg_0", "Why does the import of an empty CSV crash? Fix it and add a test.")
    return SessionView(snapshot(question, open_assistant(MESSAGE, *parts)))


@pytest.mark.parametrize("size", [(140, 45), (80, 40), (40, 40), (20, 8)])
async def test_conversation_at_every_width(size: tuple[int, int]) -> None:
    """Less important parts are dropped first, and nothing breaks."""
    app = TranscriptApp(conversation())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await assert_both_themes(pilot, "transcript")


def test_there_is_one_renderer_for_each_kind_of_block() -> None:
    assert set(RENDERERS) == set(get_args(get_args(Block)[0]))


PAGE = Page(100, DARK_PALETTE)


def row(state: ToolState, width: int = 100, moment: Moment | None = None) -> str:
    page = Page(width, DARK_PALETTE)
    return tool_row(tool("prt_1", MESSAGE, state), page, moment or Moment(1_004.0)).strip.text


@pytest.mark.parametrize(
    ("state", "glyph"),
    [
        (pending(), "○"),
        (running("Bash", "x"), "◐"),
        (running("Bash", "x", waiting="per_1"), "◆"),
        (completed("Read", "x"), "●"),
        (completed("Bash", "x", exit_code=2), "✕"),
        (failed("Read", "x", "no"), "✕"),
        (failed("Read", "x", "no", kind="denied"), "✕"),
        (failed("Read", "x", "no", kind="aborted"), "⊘"),
        (failed("Read", "x", "no", kind="interrupted"), "⊘"),
    ],
)
def test_each_state_has_its_glyph(state: ToolState, glyph: str) -> None:
    """The state is visible without colors."""
    assert row(state).strip()[0] == glyph


def test_spinner_turns_with_the_frame() -> None:
    state = running("Bash", "x")
    assert [row(state, moment=Moment(1_000.0, n)).strip()[0] for n in range(4)] == list(FRAMES)


def test_facts_are_at_the_right_and_dropped_first() -> None:
    state = completed("Read", "src/a.py", facts=("142 lines",))
    assert row(state).endswith("142 lines  12ms")
    assert len(row(state)) == PAGE.right
    assert row(state, 50).rstrip() == "  ● Read src/a.py"
    assert row(completed("Bash", "make", exit_code=2), 50).endswith("exit 2")


@pytest.mark.parametrize("width", [40, 100])
def test_a_call_says_that_it_is_judged(width: int) -> None:
    state = Running(input={}, label=ToolLabel("Bash", "make"), started=1_000.0, judging=True)
    assert row(state, width).rstrip().endswith("judging…")


def test_an_exit_code_is_shown_once() -> None:
    """A command reports its exit code as a fact too."""
    assert row(completed("Bash", "make", facts=("exit 2",), exit_code=2)).count("exit 2") == 1


def test_text_of_the_row_is_not_repeated_below_it() -> None:
    """A waiting call has the blocks of its question, such as the address of a page."""
    url = "https://example.com/page"
    waiting = running("Fetch", url, TextBlock(url), TextBlock("More."), waiting="per_1")
    assert shown_blocks(tool("p", MESSAGE, waiting)) == (TextBlock("More."),)


@pytest.mark.parametrize("width", [4, 10, 20, 26, 59, 60, 200])
def test_a_row_is_one_row_at_any_width(width: int) -> None:
    for states in GALLERY.values():
        for _, state in states:
            line = tool_row(tool("p", MESSAGE, state), Page(width, DARK_PALETTE), Moment(9.0))
            assert line.strip.cell_length <= max(width, 5)


def test_streaming_arguments_show_the_subject_of_the_call() -> None:
    assert "src/a.py" in row(pending('{"file_path": "src/a.py", "content": "x'))
    assert "echo 表" in row(pending('{"command": "echo \\u8868'))
    assert "1.2k characters" in row(pending('{"content": "' + "x" * 1200))


def test_markup_and_escapes_in_labels_are_literal() -> None:
    assert "Read [/b].txt␛]52;c; [bold]" in row(completed("Read", "[/b].txt\x1b]52;c;\n[bold]"))


def shell(lines: int, *, unfolded: bool = False, live: bool = False, earlier: int = 0) -> list[str]:
    block = ShellBlock("x", "\n".join(str(n) for n in range(lines)), earlier=earlier)
    drawn, _ = draw_block(block, BlockContext(PAGE, 4, open=unfolded, live=live))
    return [line.strip.text.strip() for line in drawn]


def test_output_folds_to_its_last_ten_lines() -> None:
    rows = shell(40)
    assert rows[0] == "│ … 30 earlier lines"
    assert rows[1:] == [f"│ {n}" for n in range(30, 40)]
    assert len(shell(SHELL_LINES + 1)) == SHELL_LINES + 1
    assert len(shell(40, unfolded=True)) == 40
    assert shell(40, live=True)[-1] == "│ 39"


def test_hidden_output_is_counted_including_discarded_lines() -> None:
    rows = shell(40, earlier=200)
    assert rows[0] == "│ … 230 earlier lines"
    assert shell(40, earlier=200, unfolded=True)[:2] == ["│ … 200 earlier lines", "│ 0"]
    assert shell(5, earlier=1)[0] == "│ … 1 earlier line"


def test_growing_output_shows_no_number_of_lines() -> None:
    """Only its end is known while a command runs."""
    assert shell(40, live=True)[0] == "│ … earlier lines"


def test_live_output_is_shown_after_a_rule() -> None:
    state = running("Bash", "make", ShellBlock("make"), output="one\ntwo")
    lines, _ = tool_lines(tool("p", MESSAGE, state), PAGE, Moment(), unfolded=False)
    assert [line.strip.text.strip() for line in lines[1:]] == ["│ one", "│ two"]


def test_output_of_a_tool_without_a_shell_block_is_shown_while_it_runs() -> None:
    state = running("Task", "look", output="step 1")
    lines, _ = tool_lines(tool("p", MESSAGE, state), PAGE, Moment(), unfolded=False)
    assert [line.strip.text.strip() for line in lines[1:]] == ["│ step 1"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.012, "12ms"), (4.9, "4s"), (72, "1m 12s"), (7500, "2h 5m"), (-1, "0ms")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert precise_duration(seconds) == shown


def test_the_error_for_the_model_is_folded() -> None:
    """The user reads that the input was wrong; the error for the model is one unfolding away."""
    lesson = "Please rewrite the input with valid arguments. Errors: items: Field required"
    part = tool("prt_1", MESSAGE, failed("", "", lesson, kind="invalid"), name="todowrite")
    folded, folds = tool_lines(part, PAGE, Moment(), unfolded=False)
    shown = "\n".join(line.strip.text for line in folded)
    assert "Please" not in shown
    assert "Not run: invalid arguments.  … show the error sent to the model" in shown
    assert folds
    opened, _ = tool_lines(part, PAGE, Moment(), unfolded=True)
    assert "Errors: items: Field required" in " ".join(line.strip.text.strip() for line in opened)
    narrow = Page(30, DARK_PALETTE)
    cut_down, _ = tool_lines(part, narrow, Moment(), unfolded=False)
    assert max(line.strip.cell_length for line in cut_down) <= 30


def test_comments_and_what_was_refused_are_shown_below_the_call() -> None:
    refused = "\n".join(f"-line {n}" for n in range(9))
    decided = Decision(
        answer="once",
        by="person",
        at=1.0,
        comment="keep the rest",
        reason="only some of the changes",
        refused=refused,
    )
    part = replace(tool("p", MESSAGE, completed("Edit", "a.py")), decisions=(decided,))
    for unfolded, last in ((False, "… 9 rejected lines"), (True, "✕ -line 8")):
        lines, foldable = tool_lines(part, PAGE, Moment(), unfolded=unfolded)
        shown = [line.strip.text.strip() for line in lines]
        assert shown[1] == "allowed once: only some of the changes “keep the rest”"
        assert shown[-1] == last
        assert foldable


def test_a_replaced_command_is_shown_without_unfolding() -> None:
    decided = Decision(
        answer="once", by="person", at=1.0, reason="with another command", refused="rm -rf build"
    )
    part = replace(tool("p", MESSAGE, completed("Bash", "ls")), decisions=(decided,))
    lines, foldable = tool_lines(part, PAGE, Moment(), unfolded=False)
    assert lines[-1].strip.text.strip() == "✕ rm -rf build"
    assert not foldable


def test_an_answer_without_words_takes_no_row() -> None:
    decided = Decision(answer="once", by="person", at=1.0)
    part = replace(tool("p", MESSAGE, completed("Edit", "a.py")), decisions=(decided,))
    assert len(tool_lines(part, PAGE, Moment(), unfolded=True)[0]) == 1


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize(
    ("by", "answer", "shown"),
    [
        ("mode", "allow", "allowed by claude-haiku-5-5: It runs the tests."),
        ("person", "ask", "allowed once (claude-haiku-5-5 suggests asking: It runs the tests.)"),
        ("person", "none", "allowed once (claude-haiku-5-5 gave no verdict: It runs the tests.)"),
    ],
)
def test_the_verdict_of_a_judge_is_shown_below_the_call(
    width: int, by: DecisionSource, answer: VerdictAnswer, shown: str
) -> None:
    model = "anthropic/claude-haiku-5-5"
    verdict = Verdict(answer=answer, model=model, reason="It runs the tests.")
    decided = Decision(answer="once", by=by, at=1.0, verdict=verdict)
    part = replace(tool("p", MESSAGE, completed("Bash", "npm test")), decisions=(decided,))
    lines, foldable = tool_lines(part, Page(width, DARK_PALETTE), Moment(), unfolded=False)
    assert [line.strip.text.strip() for line in lines][1] == shown
    assert not foldable


def test_the_dialog_has_the_description_of_a_command() -> None:
    block = ShellBlock("make", description="Builds\neverything")
    drawn, _ = draw_block(block, BlockContext(PAGE, 0, open=True, uncut=True))
    assert drawn[0].strip.text == "“Builds everything”"
    assert "Builds" not in "".join(shell(2))
