"""Several replacements in one call of edit: all or none."""

import asyncio
import re
from pathlib import Path

import pytest

from agent.records.blocks import DiffBlock, ToolLabel
from agent.records.errors import InvalidArguments, ToolError
from agent.records.requests import PermissionReply
from agent.tools.core.arguments import validate
from agent.tools.edit import EditTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run

TEXT = "one = 1\ntwo = 2\nthree = 3\n"


def edit(old: str, new: str, **more: bool) -> dict[str, object]:
    return {"old_string": old, "new_string": new, **more}


async def test_edits_are_made_in_order_and_shown_as_one_diff(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file, ctx = tmp_path / "a.py", make_context()
    file.write_bytes(TEXT.replace("\n", "\r\n").encode())
    made = await plan(
        EditTool(),
        ctx,
        filePath="a.py",
        edits=[edit("one = 1", "one = two"), edit("two", "2", replace_all=True)],
    )
    assert made.label == ToolLabel("Edit", "a.py", "+2 −2")
    assert [need.permission for need in made.needs] == ["edit"]
    (block,) = made.blocks
    assert isinstance(block, DiffBlock)
    result = await EditTool().execute(made, None, ctx)
    assert file.read_bytes() == b"one = 2\r\n2 = 2\r\nthree = 3\r\n"
    assert result.output.startswith("Edited a.py in 3 places.\n")


async def test_one_edit_that_does_not_fit_stops_all(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file = tmp_path / "a.py"
    file.write_text(TEXT)
    with pytest.raises(ToolError) as raised:
        await plan(
            EditTool(),
            make_context(),
            file_path="a.py",
            edits=[edit("one = 1", "one = 7"), edit("tow = 2", "x")],
        )
    message = str(raised.value)
    assert message.startswith("a.py, edit 2 of 2: old_string was not found")
    assert "None of the edits was made." in message
    assert "2: two = 2" in message
    assert file.read_text() == TEXT


async def test_notes_name_the_edit(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\tone = 1\n\ttwo = 2\n")
    result = await run(
        EditTool(),
        make_context(),
        file_path="a.py",
        edits=[edit("one = 1", "one = 3"), edit("        two = 2", "        two = 4")],
    )
    assert "Note: edit 2 of 2: matched after ignoring differences in whitespace." in result.output


async def test_a_missing_file_is_created_by_the_first(
    make_context: MakeContext, tmp_path: Path
) -> None:
    await run(
        EditTool(),
        make_context(),
        file_path="a",
        edits=[edit("", TEXT), edit("three", "drei")],
    )
    assert (tmp_path / "a").read_text() == TEXT.replace("three", "drei")
    with pytest.raises(ToolError, match="does not exist"):
        await plan(EditTool(), make_context(), file_path="b", edits=[edit("a", "b"), edit("", "c")])


async def test_edits_that_revert_each_other_are_refused(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text(TEXT)
    with pytest.raises(ToolError, match="cancel each other out"):
        await plan(
            EditTool(),
            make_context(),
            file_path="a",
            edits=[edit("one", "eins"), edit("eins", "one")],
        )


async def test_a_concurrent_edit_is_not_lost(make_context: MakeContext, tmp_path: Path) -> None:
    file, ctx = tmp_path / "a", make_context()
    file.write_text(TEXT)
    many = await plan(
        EditTool(), ctx, file_path="a", edits=[edit("one", "eins"), edit("two", "zwei")]
    )
    single = await plan(EditTool(), ctx, file_path="a", old_string="three", new_string="drei")
    await asyncio.gather(EditTool().execute(many, None, ctx), EditTool().execute(single, None, ctx))
    assert file.read_text() == "eins = 1\nzwei = 2\ndrei = 3\n"


async def test_hunks_can_be_refused(make_context: MakeContext, tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("first\n" + "-\n" * 20 + "last\n")
    result = await run(
        EditTool(),
        make_context(),
        reply=PermissionReply("once", hunks=frozenset({1})),
        file_path="a",
        edits=[edit("first", "1"), edit("last", "2")],
    )
    assert file.read_text() == "first\n" + "-\n" * 20 + "2\n"
    assert "not applied: hunk 1" in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        {"edits": edit("one", "eins")},
        {"edits": [{"old_string": "one", "new_string": "eins"}]},
        {"edits": [], **edit("one", "eins")},
        {"edits": [edit("one", "eins")], **edit("one", "eins")},
        {"edits": [edit("one", "eins")], **edit("", "")},
    ],
)
async def test_both_forms_are_understood_even_together(
    make_context: MakeContext, tmp_path: Path, arguments: dict[str, object]
) -> None:
    (tmp_path / "a").write_text(TEXT)
    await run(EditTool(), make_context(), file_path="a", **arguments)
    assert (tmp_path / "a").read_text() == TEXT.replace("one", "eins")


async def test_a_single_edit_comes_before_the_list(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text(TEXT)
    arguments = {"edits": [edit("uno", "eins")], **edit("one", "uno")}
    await run(EditTool(), make_context(), file_path="a", **arguments)
    assert (tmp_path / "a").read_text() == TEXT.replace("one", "eins")


async def test_replace_all_counts_for_the_list(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a a\nb b\n")
    edits = [edit("a", "c"), edit("b", "d")]
    await run(EditTool(), make_context(), file_path="a", edits=edits, replace_all=True)
    assert (tmp_path / "a").read_text() == "c c\nd d\n"


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        ({}, "old_string and new_string missing; or give several edits as a list"),
        ({"old_string": "x"}, "new_string missing"),
        ({"new_string": "x", "edits": [edit("a", "b")]}, "old_string missing"),
        ({"edits": [{"old_string": "x"}]}, "edits.0.new_string: field required"),
    ],
)
def test_incomplete_arguments_are_named(arguments: dict[str, object], missing: str) -> None:
    with pytest.raises(InvalidArguments, match=re.escape(missing)):
        validate(EditTool.args, {"file_path": "a", **arguments})  # type: ignore[arg-type]
