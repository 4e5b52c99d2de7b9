"""The write tool: metadata and bytes are kept, stale files are refused."""

import errno
import stat
from pathlib import Path

import pytest

from agent.records.blocks import DiffBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.requests import PermissionReply
from agent.tools.edit import EditTool
from agent.tools.files.paths import os_error_message, resolve_path
from agent.tools.read import ReadTool
from agent.tools.write import WriteTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run


async def test_a_new_file_with_its_folders(make_context: MakeContext, tmp_path: Path) -> None:
    ctx = make_context()
    made = await plan(WriteTool(), ctx, file_path="a/b/c.txt", content="x\ny\n")
    assert not (tmp_path / "a").exists()
    assert made.label == ToolLabel("Write", "a/b/c.txt", "+2 −0")
    (block,) = made.blocks
    assert isinstance(block, DiffBlock)
    assert block.change == "create"
    assert [need.permission for need in made.needs] == ["edit"]
    result = await WriteTool().execute(made, None, ctx)
    assert (tmp_path / "a/b/c.txt").read_text() == "x\ny\n"
    assert result.output == "Created a/b/c.txt (2 lines)."


async def test_an_unread_file_is_refused(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old\n")
    with pytest.raises(ToolError, match="Read it first"):
        await plan(WriteTool(), make_context(), file_path="a", content="new\n")
    assert (tmp_path / "a").read_text() == "old\n"


async def test_a_file_changed_since_the_read_is_refused_until_read_again(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file, ctx = tmp_path / "n.txt", make_context()
    file.write_text("one\n")
    await run(ReadTool(), ctx, file_path="n.txt")
    file.write_text("one\nfrom outside\n")
    with pytest.raises(ToolError, match="changed since you read it"):
        await run(WriteTool(), ctx, file_path="n.txt", content="mine\n")
    assert "from outside" in file.read_text()
    await run(ReadTool(), ctx, file_path="n.txt")
    await run(WriteTool(), ctx, file_path="n.txt", content="mine\n")
    assert file.read_text() == "mine\n"


async def test_a_change_between_question_and_answer_is_refused(
    make_context: MakeContext, tmp_path: Path
) -> None:
    """The shown text is the one that is written."""
    file, ctx = tmp_path / "n.txt", make_context()
    file.write_text("one\n")
    await run(ReadTool(), ctx, file_path="n.txt")
    made = await plan(WriteTool(), ctx, file_path="n.txt", content="two\n")
    file.write_text("own\n")
    with pytest.raises(ToolError, match="changed after this change was prepared"):
        await WriteTool().execute(made, PermissionReply("once"), ctx)
    assert file.read_text() == "own\n"


async def test_a_file_that_vanishes_meanwhile_is_not_made_again(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file, ctx = tmp_path / "n.txt", make_context()
    file.write_text("one\n")
    await run(ReadTool(), ctx, file_path="n.txt")
    made = await plan(WriteTool(), ctx, file_path="n.txt", content="two\n")
    file.unlink()
    with pytest.raises(ToolError, match="nothing was written"):
        await WriteTool().execute(made, None, ctx)
    assert not file.exists()


async def test_a_full_disk_is_reported(make_context: MakeContext, tmp_path: Path) -> None:
    """The sentence for a full disk; that the old file stays whole is a test of ``files``."""
    target = resolve_path("n.txt", make_context())
    said = str(os_error_message(OSError(errno.ENOSPC, "No space left"), target.shown, "written"))
    assert said == "n.txt cannot be written: the disk is full. The file was left as it was."


async def test_a_file_that_appears_meanwhile_is_not_overwritten(
    make_context: MakeContext, tmp_path: Path
) -> None:
    ctx = make_context()
    made = await plan(WriteTool(), ctx, file_path="n.txt", content="two\n")
    (tmp_path / "n.txt").write_text("own\n")
    with pytest.raises(ToolError):
        await WriteTool().execute(made, None, ctx)
    assert (tmp_path / "n.txt").read_text() == "own\n"


async def test_mode_endings_and_bom_stay(make_context: MakeContext, tmp_path: Path) -> None:
    file, ctx = tmp_path / "a.sh", make_context()
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    file.chmod(0o755)
    await run(ReadTool(), ctx, file_path="a.sh")
    await run(WriteTool(), ctx, file_path="a.sh", content="1\n2\n3\n")
    assert file.read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n3\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    await run(WriteTool(), ctx, file_path="a.sh", content="\ufeffx\n")
    assert file.read_bytes() == b"\xef\xbb\xbfx\r\n"


async def test_no_bom_is_added(make_context: MakeContext, tmp_path: Path) -> None:
    file, ctx = tmp_path / "a", make_context()
    file.write_text("x\n")
    await run(ReadTool(), ctx, file_path="a")
    await run(WriteTool(), ctx, file_path="a", content="\ufeffy\n")
    assert file.read_bytes() == b"y\n"


async def test_links_are_written_through(make_context: MakeContext, tmp_path: Path) -> None:
    real, link, ctx = tmp_path / "real.txt", tmp_path / "link.txt", make_context()
    real.write_text("old\n")
    link.symlink_to("real.txt")
    await run(ReadTool(), ctx, file_path="link.txt")
    await run(WriteTool(), ctx, file_path="link.txt", content="new\n")
    await run(EditTool(), ctx, file_path="link.txt", old_string="new", new_string="newer")
    assert link.is_symlink()
    assert real.read_text() == "newer\n"


async def test_a_link_through_a_linked_folder_lands(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "deep" / "folder").mkdir(parents=True)
    (tmp_path / "deep" / "other").mkdir()
    (tmp_path / "short").symlink_to("deep/folder")
    (tmp_path / "deep" / "folder" / "l").symlink_to("../other/x")
    await run(WriteTool(), make_context(), file_path="short/l", content="new\n")
    assert (tmp_path / "deep" / "other" / "x").read_text() == "new\n"


async def test_unchanged_text_needs_no_permission_and_writes_nothing(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("same\n")
    made = await plan(WriteTool(), make_context(), file_path="a", content="same\n")
    assert made.needs == ()
    result = await WriteTool().execute(made, None, make_context())
    assert "nothing was written" in result.output


async def test_only_accepted_hunks_are_written_and_named(
    make_context: MakeContext, tmp_path: Path
) -> None:
    """The file is as the user saw it, and the model gets the accepted hunks."""
    file, ctx = tmp_path / "a", make_context()
    old = "".join(f"{n}\n" for n in range(40))
    file.write_text(old)
    await run(ReadTool(), ctx, file_path="a")
    new = old.replace("5\n", "five\n", 1).replace("30\n", "thirty\n")
    result = await run(
        WriteTool(),
        ctx,
        reply=PermissionReply("once", hunks=frozenset({1})),
        file_path="a",
        content=new,
    )
    assert file.read_text() == old.replace("30\n", "thirty\n")
    assert "1 of 2 hunks" in result.output
    assert "Applied: hunk 2 (old line 31)" in result.output
    assert "not applied: hunk 1 (old line 6)" in result.output
    assert result.label == ToolLabel("Write", "a", "+1 −1")
    with pytest.raises(ToolError, match="refused every hunk"):
        await run(
            WriteTool(),
            ctx,
            reply=PermissionReply("once", hunks=frozenset()),
            file_path="a",
            content=new,
        )


async def test_an_encoding_that_cannot_represent_the_text_is_named(
    make_context: MakeContext, tmp_path: Path
) -> None:
    file, ctx = tmp_path / "a", make_context()
    file.write_bytes(b"stra\xdfe f\xfcr m\xfcde K\xf6nige\n")
    before = file.read_bytes()
    await run(ReadTool(), ctx, file_path="a")
    with pytest.raises(ToolError, match=r"U\+1F600 \(line 2\)"):
        await run(WriteTool(), ctx, file_path="a", content="ok\n😀\n")
    assert file.read_bytes() == before


async def test_refusals_of_the_system(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ToolError, match="is a folder"):
        await run(WriteTool(), make_context(), file_path="folder", content="x")
    file, ctx = tmp_path / "locked", make_context()
    file.write_text("old")
    file.chmod(0o444)
    await run(ReadTool(), ctx, file_path="locked")
    with pytest.raises(ToolError, match=r"permission is denied. The file was left"):
        await run(WriteTool(), ctx, file_path="locked", content="new")
    (tmp_path / "plain").write_text("x")
    with pytest.raises(ToolError, match="not a folder"):
        await run(WriteTool(), make_context(), file_path="plain/x", content="new")


@pytest.mark.parametrize("path", ["/proc/self/comm", "/sys/kernel/x", "/dev/null"])
async def test_the_systems_own_files_are_left_alone(make_context: MakeContext, path: str) -> None:
    for tool, more in (
        (WriteTool(), {"content": "x"}),
        (EditTool(), {"old_string": "a", "new_string": "b"}),
    ):
        with pytest.raises(ToolError, match="device, process or kernel file"):
            await plan(tool, make_context(), file_path=path, **more)


async def test_half_a_surrogate_pair_is_refused(make_context: MakeContext, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="surrogate"):
        await plan(WriteTool(), make_context(), file_path="a", content="x\n\ud83d")
    assert not (tmp_path / "a").exists()
