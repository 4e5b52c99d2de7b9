"""The file tools with an editor that has files open: its text counts, it gets the
changes, and what the file tools promise of bytes, staleness and wholeness stays true."""

from pathlib import Path

import pytest

from agent.files import FileTracker
from agent.records.errors import ToolError
from agent.tools.apply_patch import ApplyPatchTool
from agent.tools.core.tool import ToolContext
from agent.tools.edit import EditTool
from agent.tools.read import ReadTool
from agent.tools.write import WriteTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run
from tests.support.editor import OpenFiles

SAVED, UNSAVED = "one = 1\ntwo = 2\n", "one = 1\ntwo = 2\nthree = 3\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text(SAVED)
    return path


@pytest.fixture
def editor(file: Path) -> OpenFiles:
    return OpenFiles({str(file): UNSAVED})


@pytest.fixture
def ctx(make_context: MakeContext, editor: OpenFiles) -> ToolContext:
    return make_context(files=FileTracker(editor))


async def edit(ctx: ToolContext, old: str, new: str, path: str = "a.py") -> str:
    return (await run(EditTool(), ctx, file_path=path, old_string=old, new_string=new)).output


def stored(path: Path) -> str:
    return path.read_text()


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def patch(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


async def test_a_read_sees_unsaved_changes(ctx: ToolContext, file: Path) -> None:
    read = await run(ReadTool(), ctx, file_path="a.py", offset=2)
    assert read.output.startswith("2: two = 2\n3: three = 3\n")
    assert "not saved" in read.output
    assert stored(file) == SAVED


async def test_an_editor_without_unsaved_changes_makes_no_difference(
    ctx: ToolContext, editor: OpenFiles, file: Path
) -> None:
    editor.unsaved[str(file)] = SAVED.replace("\n", "\r\n")  # line ends of its own inside
    read = await run(ReadTool(), ctx, file_path="a.py")
    assert read.output == "1: one = 1\n2: two = 2\n\n(End of file, 2 lines.)"


async def test_a_change_of_the_editors_text_is_made_by_the_editor(
    ctx: ToolContext, editor: OpenFiles, file: Path
) -> None:
    made = await plan(EditTool(), ctx, file_path="a.py", old_string="three = 3", new_string="x")
    assert stored(file) == SAVED  # a plan has no effect
    assert editor.saved == []
    done = await EditTool().execute(made, None, ctx)
    assert "3: x" in done.output
    # Unsaved text belongs to the user: it is saved before the change, not with it.
    assert editor.saved == [(str(file), UNSAVED), (str(file), "one = 1\ntwo = 2\nx\n")]
    assert stored(file) == "one = 1\ntwo = 2\nx\n"
    assert "2: y" in await edit(ctx, "two = 2", "y")  # it is known, so nothing is stale


async def test_a_buffer_that_changed_since_it_was_read_is_stale(
    ctx: ToolContext, editor: OpenFiles, file: Path
) -> None:
    await run(ReadTool(), ctx, file_path="a.py")
    editor.unsaved[str(file)] = UNSAVED + "four = 4\n"
    with pytest.raises(ToolError, match="has changed since you read it"):
        await edit(ctx, "two = 2", "x")
    with pytest.raises(ToolError, match="has changed since you read it"):
        await run(WriteTool(), ctx, file_path="a.py", content="x\n")
    await run(ReadTool(), ctx, file_path="a.py")
    made = await plan(EditTool(), ctx, file_path="a.py", old_string="four = 4", new_string="x")
    editor.unsaved[str(file)] = "typed on\n"
    with pytest.raises(ToolError, match="has changed since you read it"):
        await EditTool().execute(made, None, ctx)
    assert (stored(file), editor.saved) == (SAVED, [])


async def test_an_unread_buffer_is_not_overwritten(ctx: ToolContext, file: Path) -> None:
    with pytest.raises(ToolError, match="you have not read it"):
        await run(WriteTool(), ctx, file_path="a.py", content="x\n")
    await run(ReadTool(), ctx, file_path="a.py")
    await run(WriteTool(), ctx, file_path="a.py", content="x\n")
    assert stored(file) == "x\n"


async def test_an_editor_that_cannot_write_keeps_its_unsaved_file(
    ctx: ToolContext, editor: OpenFiles, file: Path
) -> None:
    editor.writes = False
    with pytest.raises(ToolError, match="not saved"):
        await edit(ctx, "two = 2", "x")
    del editor.unsaved[str(file)]
    await edit(ctx, "two = 2", "x")
    assert (stored(file), editor.saved) == ("one = 1\nx\n", [])


@pytest.mark.parametrize(
    "stores",
    [
        None,  # into its buffer only
        lambda text: text.replace("\r\n", "\n").encode(),
        lambda text: text.removeprefix("\ufeff").encode(),
    ],
)
async def test_the_bytes_on_disk_are_right_whatever_the_editor_writes(
    ctx: ToolContext, editor: OpenFiles, tmp_path: Path, stores: object
) -> None:
    """Encoding, BOM and line endings are kept."""
    editor.stores = stores  # type: ignore[assignment]
    path = tmp_path / "dos.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    await edit(ctx, "two", "zwei \u00fc", "dos.txt")
    assert path.read_bytes() == "\ufeffone\r\nzwei \u00fc\r\n".encode()
    assert [path for path, _ in editor.saved] == [str(path)]


async def test_other_encodings_are_read_and_written_on_disk(
    ctx: ToolContext, editor: OpenFiles, tmp_path: Path
) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes("größer als größer und schöner\nzwei\n".encode("latin-1"))
    editor.unsaved[str(path)] = "gr\ufffd\ufffder\nzwei\n"  # decoded as what it is not
    await edit(ctx, "zwei", "drei", "old.txt")
    assert path.read_bytes() == "größer als größer und schöner\ndrei\n".encode("latin-1")
    assert editor.saved == []


async def test_formatting_by_the_editor_on_save_is_reported(
    ctx: ToolContext, editor: OpenFiles, file: Path
) -> None:
    del editor.unsaved[str(file)]
    editor.stores = lambda text: text.replace(" = ", "=").encode()
    result_text = await edit(ctx, "two = 2", "two = 22")
    assert "2: two=22" in result_text
    assert stored(file) == "one=1\ntwo=22\n"
    await edit(ctx, "one=1", "one=2")  # the session knows that text


async def test_a_refusal_of_the_editor_is_final(
    ctx: ToolContext, editor: OpenFiles, file: Path
) -> None:
    del editor.unsaved[str(file)]
    editor.refuses[str(file)] = "This file is locked."
    with pytest.raises(ToolError, match=r"editor did not write a\.py: This file is locked\."):
        await edit(ctx, "two = 2", "x")
    assert stored(file) == SAVED


async def test_a_new_file_is_written_by_the_editor_too(
    ctx: ToolContext, editor: OpenFiles, tmp_path: Path
) -> None:
    await run(WriteTool(), ctx, file_path="new/b.py", content="b\n")
    assert (tmp_path / "new/b.py").read_text() == "b\n"
    assert editor.saved == [(str(tmp_path / "new/b.py"), "b\n")]


async def test_files_outside_the_sessions_folder_bypass_the_editor(
    make_context: MakeContext, editor: OpenFiles, tmp_path: Path, file: Path
) -> None:
    (tmp_path / "sub").mkdir()
    ctx = make_context(tmp_path / "sub", project=tmp_path, files=FileTracker(editor))
    read = await run(ReadTool(), ctx, file_path="../a.py")
    assert "three" not in read.output
    await edit(ctx, "two = 2", "x", "../a.py")
    assert (stored(file), editor.reads, editor.saved) == ("one = 1\nx\n", [], [])


async def test_a_patch_is_all_or_nothing_through_an_editor(
    ctx: ToolContext, editor: OpenFiles, tmp_path: Path, file: Path
) -> None:
    (tmp_path / "b.py").write_text("b\n")
    (tmp_path / "gone.py").write_text("gone\n")
    body = (
        "*** Add File: new.py\n+new\n*** Update File: a.py\n@@\n-three = 3\n+x\n"
        "*** Update File: b.py\n@@\n-b\n+bb\n*** Delete File: gone.py\n"
    )
    editor.refuses[str(tmp_path / "b.py")] = "No."
    with pytest.raises(ToolError, match=r"did not write b\.py: No\."):
        await run(ApplyPatchTool(), ctx, patch=patch(body))
    names = sorted(files(tmp_path))
    assert names == ["a.py", "b.py", "gone.py"]
    assert stored(file) == UNSAVED  # saved for the user, and nothing else
    editor.refuses.clear()
    await run(ApplyPatchTool(), ctx, patch=patch(body))
    assert files(tmp_path) == {"a.py": "one = 1\ntwo = 2\nx\n", "b.py": "bb\n", "new.py": "new\n"}
