"""The edit tool: line endings, bytes and literal text are kept, matches are safe."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.records.blocks import DiffBlock, ToolLabel
from agent.records.errors import PermissionRejected, ToolError
from agent.records.requests import PermissionReply
from agent.tools.edit import EditTool
from agent.tools.edit_match import EditRefused, apply_edit
from agent.tools.read import ReadTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run


async def test_one_place_is_edited_and_shown(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\nb = 2\nc = 3\n")
    ctx = make_context()
    made = await plan(
        EditTool(), ctx, filePath="a.py", oldString="b = 2", newString="b = 20\nb += 1"
    )
    assert made.label == ToolLabel("Edit", "a.py", "+2 −1")
    (block,) = made.blocks
    assert isinstance(block, DiffBlock)
    result = await EditTool().execute(made, None, ctx)
    assert (tmp_path / "a.py").read_text() == "a = 1\nb = 20\nb += 1\nc = 3\n"
    assert result.output == "Edited a.py.\n1: a = 1\n2: b = 20\n3: b += 1\n4: c = 3"


@pytest.mark.parametrize("replace_all", [False, True])
@pytest.mark.parametrize("old", ["one\ntwo", "one\r\ntwo"])
async def test_crlf_files_match_and_keep_their_endings(
    make_context: MakeContext, tmp_path: Path, old: str, replace_all: bool
) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await run(
        EditTool(),
        make_context(),
        file_path="a.txt",
        old_string=old,
        new_string="ONE\nand\nTWO",
        replace_all=replace_all,
    )
    assert file.read_bytes() == b"ONE\r\nand\r\nTWO\r\nthree\r\n"


def test_mixed_endings_stay_line_by_line() -> None:
    edit = apply_edit("a\r\nb\nc\r\nd\n", "a\nb\nc", "a\nB\nc")
    assert edit.text == "a\r\nB\nc\r\nd\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\nb\n", "b", "c", "a\nc\n"),
        ("a\nb", "b", "c", "a\nc"),
        ("a\nb\nc\n", "b\n", "x", "a\nx\nc\n"),
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("    f(1)\n", "f(1)", "    f(2)", "    f(2)\n"),
        ("a\rb\r", "a\nb", "x\ny", "x\ry\r"),
    ],
)
def test_edges_of_an_edit(text: str, old: str, new: str, after: str) -> None:
    """Line endings, and the repairs at the edges."""
    assert apply_edit(text, old, new).text == after


@pytest.mark.parametrize("tail", [b"\xd6\xd0\xce\xc4", b"stra\xdfe", b"\xff\xfe\xfd"])
async def test_other_bytes_never_move(
    make_context: MakeContext, tmp_path: Path, tail: bytes
) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"n = 1\n; " + tail + b"\n")
    await run(EditTool(), make_context(), file_path="a", old_string="n = 1", new_string="n = 7")
    assert file.read_bytes() == b"n = 7\n; " + tail + b"\n"


async def test_the_bom_stays_and_none_is_added(make_context: MakeContext, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"\xef\xbb\xbfhello\n")
    two.write_bytes(b"hello\n")
    for name in ("one", "two"):
        await run(
            EditTool(), make_context(), file_path=name, old_string="hello", new_string="hello2"
        )
    assert one.read_bytes() == b"\xef\xbb\xbfhello2\n"
    assert two.read_bytes() == b"hello2\n"


@pytest.mark.parametrize("old", ['say("bye");', ' say( "bye");'])
@pytest.mark.parametrize("replace_all", [False, True])
async def test_new_text_is_literal(
    make_context: MakeContext, tmp_path: Path, replace_all: bool, old: str
) -> None:
    """By the exact tier and by a tolerant one."""
    new = 'say("$& $1 $$ \\1 \\g<0> \\n");'
    (tmp_path / "a").write_text('say("bye");\n')
    made = await plan(
        EditTool(),
        make_context(),
        file_path="a",
        old_string=old,
        new_string=old[: len(old) - len(old.lstrip())] + new,
        replace_all=replace_all,
    )
    await EditTool().execute(made, None, make_context())
    assert (tmp_path / "a").read_text() == new + "\n"
    (block,) = made.blocks
    assert isinstance(block, DiffBlock)
    assert block.hunks[0].lines[-1].text == new


async def test_spaces_for_tabs_are_corrected_and_reported(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file = tmp_path / "a.go"
    file.write_text("\tif x {\n\t\ty()\n\t}\n")
    read = await run(ReadTool(), make_context(), file_path="a.go")
    assert "\t\ty()" in read.output
    result = await run(
        EditTool(),
        make_context(),
        file_path="a.go",
        old_string="    if x {\n        y()",
        new_string="    if x {\n        z()",
    )
    assert file.read_text() == "\tif x {\n\t\tz()\n\t}\n"
    assert "Note: matched after ignoring differences in whitespace." in result.output
    assert "from 4 spaces to tabs" in result.output


def test_tabs_are_shown_when_nothing_fits() -> None:
    with pytest.raises(EditRefused) as raised:
        apply_edit("\tif x {\n\t\ty()\n\t}\n", "    if x {\n        w(1)", "    if z {")
    assert "1: →if x {\n2: →→y()" in str(raised.value)


def test_the_nearest_line_is_shown_for_a_slip() -> None:
    with pytest.raises(EditRefused) as raised:
        apply_edit("def area(width):\n    return width\n", "def aera(widht):", "def x():")
    assert "1: def area(width):" in str(raised.value)


@pytest.mark.parametrize("replace_all", [False, True])
async def test_an_empty_old_text_is_refused(
    make_context: MakeContext, tmp_path: Path, replace_all: bool
) -> None:
    (tmp_path / "a").write_text("tree")
    with pytest.raises(ToolError, match="write tool"):
        await plan(
            EditTool(),
            make_context(),
            file_path="a",
            old_string="",
            new_string="Q",
            replace_all=replace_all,
        )
    assert (tmp_path / "a").read_text() == "tree"


async def test_an_empty_old_text_creates_a_missing_file(
    make_context: MakeContext, tmp_path: Path
) -> None:
    await run(EditTool(), make_context(), file_path="d/new", old_string="", new_string="x\n")
    assert (tmp_path / "d" / "new").read_text() == "x\n"
    with pytest.raises(ToolError, match="does not exist"):
        await plan(EditTool(), make_context(), file_path="no", old_string="a", new_string="b")


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        ("a\n", "a", "a", "the same"),
        ("a\n", "a\r\n", "a\n", "the same"),
        ("x\ny\nx\n", "x", "z", "2 places (lines 1, 3)"),
        ("aaa", "aa", "b", "2 places"),
        ("value = 12\n", "value = 11", "value = 12", "applied already"),
        ("", "a", "b", "Nothing in the file is like it"),
    ],
)
def test_refusals_name_their_rule(text: str, old: str, new: str, words: str) -> None:
    with pytest.raises(EditRefused) as raised:
        apply_edit(text, old, new)
    assert words in str(raised.value)


@given(st.text("ab\r\n", max_size=40), st.text("ab\n", min_size=1, max_size=4), st.text("xy\n"))
def test_an_edit_only_changes_its_place(text: str, old: str, new: str) -> None:
    try:
        edit = apply_edit(text, old, new)
    except EditRefused:
        return
    if len(edit.replacements) != 1:
        return  # bent to fit: what lies outside is pinned by the properties of edit_match
    (replacement,) = edit.replacements
    assert edit.text == text[: replacement.start] + replacement.text + text[replacement.end :]


async def test_a_file_changed_since_the_read_is_refused(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file, ctx = tmp_path / "a", make_context()
    file.write_text("one\n")
    await run(ReadTool(), ctx, file_path="a")
    file.write_text("one\ntwo\n")
    with pytest.raises(ToolError, match="changed since you read it"):
        await plan(EditTool(), ctx, file_path="a", old_string="one", new_string="1")
    await run(ReadTool(), ctx, file_path="a")
    await run(EditTool(), ctx, file_path="a", old_string="one", new_string="1")
    await run(EditTool(), ctx, file_path="a", old_string="two", new_string="2")
    assert file.read_text() == "1\n2\n"


async def test_two_edits_of_one_file_never_lose_one(
    make_context: MakeContext, tmp_path: Path
) -> None:
    """The second edit is matched again on the result of the first."""
    file, ctx = tmp_path / "a", make_context()
    file.write_text("one\ntwo\n")
    plans = [
        await plan(EditTool(), ctx, file_path="a", old_string=old, new_string=new)
        for old, new in (("one", "1"), ("two", "2"))
    ]
    await asyncio.gather(*(EditTool().execute(made, None, ctx) for made in plans))
    assert file.read_text() == "1\n2\n"


async def test_a_shown_edit_is_never_matched_again(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file, ctx = tmp_path / "a", make_context()
    file.write_text("one\ntwo\n")
    made = await plan(EditTool(), ctx, file_path="a", old_string="one", new_string="1")
    file.write_text("zero\none\n")
    with pytest.raises(ToolError, match="changed after this change was prepared"):
        await EditTool().execute(made, PermissionReply("once"), ctx)
    assert file.read_text() == "zero\none\n"


async def test_hunks_of_replace_all_can_be_refused(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file = tmp_path / "a"
    file.write_text("x = 1\n" + "-\n" * 20 + "x = 1\n")
    result = await run(
        EditTool(),
        make_context(),
        reply=PermissionReply("once", hunks=frozenset({0})),
        file_path="a",
        old_string="x = 1",
        new_string="y",
        replace_all=True,
    )
    assert file.read_text() == "y\n" + "-\n" * 20 + "x = 1\n"
    assert "not applied: hunk 2 (old line 22)" in result.output


async def test_a_refusal_does_not_quote_secret_text(
    make_context: MakeContext, tmp_path: Path
) -> None:
    project = tmp_path / "app"
    project.mkdir()
    (project / ".env").write_text("TOKEN=hunter2\n")
    (tmp_path / "out").write_text("TOKEN=hunter2\n")
    for path in (".env", "../out"):
        # Outside, the user is asked before anything is told.
        with pytest.raises(PermissionRejected if path == "../out" else ToolError) as raised:
            await plan(
                EditTool(),
                make_context(project),
                file_path=path,
                old_string="TOKEN = hunter",
                new_string="x",
            )
        assert "hunter2" not in str(raised.value)


def test_a_large_file_is_edited_by_its_exact_text() -> None:
    text = "".join(f"line {n}\n" for n in range(400_000))
    edit = apply_edit(text, "line 399999\n", "end\n")
    assert edit.text.endswith("line 399998\nend\n")
