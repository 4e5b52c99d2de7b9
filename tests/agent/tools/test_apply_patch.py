"""The apply_patch tool: a patch over several files, all of it or nothing."""

import asyncio
import stat
from pathlib import Path

import pytest

from agent.records.blocks import DiffBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.requests import PermissionReply
from agent.tools.apply_patch import ApplyPatchTool
from agent.tools.core.tool import ToolContext
from agent.tools.edit import EditTool
from agent.tools.read import ReadTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run

ALL = """\
*** Add File: docs/new.txt
+hello
*** Update File: a.py
 one = 1
-two = 2
+two = 22
*** Update File: b.py
*** Move to: lib/c.py
@@
-old()
+new()
*** Delete File: gone.txt
"""


def patch(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


async def apply(ctx: ToolContext, body: str, reply: PermissionReply | None = None) -> str:
    return (await run(ApplyPatchTool(), ctx, reply=reply, patch=patch(body))).output


async def refused(ctx: ToolContext, body: str) -> str:
    with pytest.raises(ToolError) as raised:
        await plan(ApplyPatchTool(), ctx, patch=patch(body))
    return str(raised.value)


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_bytes().decode()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    (tmp_path / "b.py").write_bytes(b"\xef\xbb\xbfimport x\r\nold()\r\n")
    (tmp_path / "b.py").chmod(0o750)
    (tmp_path / "gone.txt").write_text("bye\n")
    return tmp_path


async def test_a_patch_adds_updates_moves_and_deletes(
    make_context: MakeContext, folder: Path
) -> None:
    made = await plan(ApplyPatchTool(), make_context(), patchText=patch(ALL))
    assert made.label == ToolLabel("Patch", "4 files", "+3 −3")
    blocks = [block for block in made.blocks if isinstance(block, DiffBlock)]
    assert [(block.path, block.change, block.moved_from) for block in blocks] == [
        ("docs/new.txt", "create", None),
        ("a.py", "modify", None),
        ("lib/c.py", "move", "b.py"),
        ("gone.txt", "delete", None),
    ]
    assert [hunk.index for block in blocks for hunk in block.hunks] == [0, 1, 2, 3]
    assert [(need.permission, need.pattern) for need in made.needs] == [
        ("edit", "docs/new.txt"),
        ("edit", "a.py"),
        ("edit", "b.py"),
        ("edit", "lib/c.py"),
        ("edit", "gone.txt"),
    ]
    result = await ApplyPatchTool().execute(made, None, make_context())
    assert files(folder) == {
        "a.py": "one = 1\ntwo = 22\nthree = 3\n",
        "docs/new.txt": "hello\n",
        "lib/c.py": "\ufeffimport x\r\nnew()\r\n",
    }
    assert stat.S_IMODE((folder / "lib/c.py").stat().st_mode) == 0o750
    assert result.output == (
        "Patched 4 files:\nA docs/new.txt\nM a.py\nR b.py → lib/c.py\nD gone.txt\n"
        "a.py:\n1: one = 1\n2: two = 22\n3: three = 3\n"
        "lib/c.py:\n1: import x\n2: new()"
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("*** Update File: a.py\n-tow = 2\n+x\n", "a.py, the chunk at line 15"),
        ("*** Update File: no.py\n-x\n+y\n", "no.py does not exist"),
        ("*** Delete File: no.py\n", "no.py does not exist"),
        ("*** Delete File: sub\n", "sub is a folder"),
        ("*** Add File: a.py\n+x\n", "twice"),
        ("*** Add File: lib/c.py\n+x\n", "twice"),
        ("*** Add File: other.py\n+x\n", "have not read it"),
        ("*** Update File: other.py\n*** Move to: bin\n", "bin is a binary file"),
    ],
)
async def test_one_section_that_does_not_fit_stops_all(
    make_context: MakeContext, folder: Path, body: str, words: str
) -> None:
    (folder / "sub").mkdir()
    (folder / "other.py").write_text("y\n")
    (folder / "bin").write_bytes(b"\0\t")
    before = files(folder)
    assert words in await refused(make_context(), ALL + body)
    assert files(folder) == before


async def test_a_refusal_shows_the_nearest_text(make_context: MakeContext, folder: Path) -> None:
    (folder / "t.go").write_text("\tif x {\n\t\ty()\n\t}\n")
    result_text = await refused(
        make_context(), "*** Update File: t.go\n if x {\n-    z(1)\n+    z(2)\n }\n"
    )
    assert "The old text was not found" in result_text
    assert "Nothing was changed in any file." in result_text
    assert "1: →if x {\n2: →→y()" in result_text
    (folder / ".env").write_text("TOKEN=hunter2\n")
    assert "hunter2" not in await refused(
        make_context(), "*** Update File: .env\n-TOKEN=hunter\n+x\n"
    )


async def test_a_failing_write_reverts_all_changes(make_context: MakeContext, folder: Path) -> None:
    """All or nothing on disk too."""
    made = await plan(ApplyPatchTool(), make_context(), patch=patch(ALL))
    before = files(folder)
    old = (folder / "a.py").stat()
    (folder / "lib").write_text("in the way of a folder")
    with pytest.raises(ToolError) as raised:
        await ApplyPatchTool().execute(made, PermissionReply("once"), make_context())
    assert "lib/c.py cannot be" in str(raised.value)
    (folder / "lib").unlink()
    assert files(folder) == before
    assert not (folder / "docs").exists()
    assert (folder / "a.py").stat().st_mtime_ns == old.st_mtime_ns


async def test_a_concurrently_changed_file_stops_the_patch(
    make_context: MakeContext, folder: Path
) -> None:
    """The shown change is written, or nothing."""
    made = await plan(ApplyPatchTool(), make_context(), patch=patch(ALL))
    (folder / "gone.txt").write_text("still needed\n")
    before = files(folder)
    with pytest.raises(ToolError, match=r"gone\.txt changed after this patch was prepared"):
        await ApplyPatchTool().execute(made, PermissionReply("once"), make_context())
    assert files(folder) == before


async def test_a_file_that_appeared_meanwhile_is_not_replaced(
    make_context: MakeContext, folder: Path
) -> None:
    made = await plan(ApplyPatchTool(), make_context(), patch=patch("*** Add File: n\n+x\n"))
    (folder / "n").write_text("mine\n")
    with pytest.raises(ToolError, match="changed after"):
        await ApplyPatchTool().execute(made, PermissionReply("once"), make_context())
    assert (folder / "n").read_text() == "mine\n"


async def test_two_patches_of_the_same_files_wait_for_each_other(
    make_context: MakeContext, folder: Path
) -> None:
    """Locks are taken in one order, and the second patch is matched again."""
    ctx = make_context()
    bodies = (
        "*** Update File: a.py\n-one = 1\n+one = 11\n*** Update File: gone.txt\n-bye\n+bye bye\n",
        "*** Update File: gone.txt\n+ciao\n*** Update File: a.py\n-three = 3\n+three = 33\n",
    )
    plans = [await plan(ApplyPatchTool(), ctx, patch=patch(body)) for body in bodies]
    single = await plan(EditTool(), ctx, file_path="a.py", old_string="two", new_string="zwei")
    await asyncio.gather(
        *(ApplyPatchTool().execute(made, None, ctx) for made in plans),
        EditTool().execute(single, None, ctx),
    )
    assert (folder / "a.py").read_text() == "one = 11\nzwei = 2\nthree = 33\n"
    assert sorted((folder / "gone.txt").read_text().split("\n")) == ["", "bye bye", "ciao"]


async def test_stale_files_are_refused_and_read_files_can_be_rewritten(
    make_context: MakeContext, folder: Path
) -> None:
    ctx = make_context()
    await run(ReadTool(), ctx, file_path="a.py")
    (folder / "a.py").write_text("one = 1\n")
    for body in ("*** Update File: a.py\n-one = 1\n+x\n", "*** Delete File: a.py\n"):
        assert "changed since you read it" in await refused(ctx, body)
    await run(ReadTool(), ctx, file_path="a.py")
    assert "M a.py" in await apply(ctx, "*** Add File: a.py\n+all = new\n")
    assert (folder / "a.py").read_text() == "all = new\n"
    # A written file counts as read: it can be changed again without another read.
    assert "M a.py" in await apply(ctx, "*** Update File: a.py\n-all = new\n+all = newer\n")


async def test_a_move_replaces_only_a_file_that_was_read(
    make_context: MakeContext, folder: Path
) -> None:
    ctx = make_context()
    body = "*** Update File: gone.txt\n*** Move to: a.py\n"
    assert "a.py exists and you have not read it" in await refused(ctx, body)
    await run(ReadTool(), ctx, file_path="a.py")
    assert "R gone.txt → a.py" in await apply(ctx, body)
    assert (folder / "a.py").read_text() == "bye\n"
    assert not (folder / "gone.txt").exists()


async def test_links_are_written_through_and_neither_moved_nor_deleted(
    make_context: MakeContext, folder: Path
) -> None:
    (folder / "link.py").symlink_to("a.py")
    ctx = make_context()
    await apply(ctx, "*** Update File: link.py\n-one = 1\n+one = 11\n")
    assert (folder / "link.py").is_symlink()
    assert "one = 11" in (folder / "a.py").read_text()
    for body in ("*** Delete File: link.py\n", "*** Update File: link.py\n*** Move to: x\n"):
        assert "link.py is a link" in await refused(ctx, body)


async def test_sections_of_one_file_are_joined(make_context: MakeContext, folder: Path) -> None:
    await apply(
        make_context(),
        "*** Update File: a.py\n-one = 1\n+one = 11\n"
        "*** Update File: ./a.py\n-two = 2\n+two = 22\n",
    )
    assert (folder / "a.py").read_text() == "one = 11\ntwo = 22\nthree = 3\n"


async def test_hunks_can_be_refused(make_context: MakeContext, folder: Path) -> None:
    """Hunks are numbered on over all files."""
    before = files(folder)
    result_text = await apply(make_context(), ALL, PermissionReply("once", hunks=frozenset({1})))
    assert files(folder) == before | {"a.py": "one = 1\ntwo = 22\nthree = 3\n"}
    assert "Refused and not applied: hunk 1 of docs/new.txt, hunk 1 of b.py" in result_text
    with pytest.raises(ToolError, match="refused every hunk"):
        await apply(
            make_context(),
            "*** Delete File: gone.txt\n",
            PermissionReply("once", hunks=frozenset()),
        )


async def test_bytes_outside_the_change_stay(make_context: MakeContext, folder: Path) -> None:
    """Endings, a missing last break, other encodings; added text is literal."""
    (folder / "c").write_bytes(b"one\r\nstra\xdfe\r\nlast")
    await apply(
        make_context(),
        "*** Update File: c\n one\n+$1 \\1 \\n\n*** Update File: c\n-last\n+end\n+x\n",
    )
    assert (folder / "c").read_bytes() == b"one\r\n$1 \\1 \\n\r\nstra\xdfe\r\nend\r\nx"


async def test_corrected_arguments_are_reported(make_context: MakeContext, folder: Path) -> None:
    result_text = await apply(
        make_context(), "*** Update File: a.py\n   one  = 1\n-  two = 2\n+  two = 3\n"
    )
    assert (folder / "a.py").read_text() == "one = 1\ntwo = 3\nthree = 3\n"
    assert "Note: a.py: matched after ignoring differences in whitespace." in result_text


async def test_every_protected_and_outside_path_needs_permission(
    make_context: MakeContext, tmp_path: Path
) -> None:
    project = tmp_path / "app"
    project.mkdir()
    (project / "AGENTS.md").write_text("x\n")
    made = await plan(
        ApplyPatchTool(),
        make_context(project),
        patch=patch(
            "*** Update File: AGENTS.md\n-x\n+y\n*** Add File: ../out.txt\n+x\n"
            "*** Add File: ../out2.txt\n+x\n"
        ),
    )
    assert [(need.permission, need.strict) for need in made.needs] == [
        ("edit", "guarded"),
        ("external_directory", ""),
        ("edit", ""),
        ("external_directory", ""),
        ("edit", ""),
    ]


async def test_a_read_only_file_stops_all(make_context: MakeContext, folder: Path) -> None:
    (folder / "gone.txt").chmod(0o444)
    before = files(folder)
    body = ALL.replace("*** Delete File: gone.txt\n", "*** Update File: gone.txt\n-bye\n+x\n")
    with pytest.raises(ToolError, match=r"gone\.txt cannot be changed: permission is denied"):
        await apply(make_context(), body)
    assert files(folder) == before
