"""The read tool: pages, binary and special files, media."""

import os
import re
from pathlib import Path

import pytest

from agent.files import decode
from agent.records.blocks import CodeBlock, ListingBlock, ToolLabel
from agent.records.errors import ToolError
from agent.tools.core.tool import Result, ToolContext
from agent.tools.files.pages import MAX_COUNTED
from agent.tools.glob import GlobTool
from agent.tools.grep import GrepTool
from agent.tools.list import ListTool
from agent.tools.read import ReadTool
from agent.tools.write import WriteTool
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import plan, run


async def test_lines_are_numbered_and_tabs_stay(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "a.go").write_text("if x {\n\ty()\n}\n")
    result = await run(ReadTool(), make_context(), file_path="a.go")
    assert result.output == "1: if x {\n2: \ty()\n3: }\n\n(End of file, 3 lines.)"
    assert result.facts == ("3 lines",)
    assert result.blocks == (CodeBlock("a.go", "if x {\n\ty()\n}", 1, "go"),)


async def test_camel_case_and_the_label(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    made = await plan(ReadTool(), make_context(), filePath="src/a.py")
    assert made.label == ToolLabel("Read", "src/a.py")
    assert [need.permission for need in made.needs] == ["read"]
    properties = ReadTool.args.model_json_schema()["properties"]
    assert list(properties) == ["file_path", "offset", "limit", "column", "raw"]
    assert all("description" in value for value in properties.values())


async def test_offset_and_limit_page_through(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    result = await run(ReadTool(), make_context(), file_path="a", offset=4, limit=2)
    assert result.output == "4: line 4\n5: line 5\n\n(Lines 4–5 of 10. Continue with offset=6.)"
    last = await run(ReadTool(), make_context(), file_path="a", offset=9, limit=2)
    assert last.output.endswith("10: line 10\n\n(End of file, 10 lines.)")


async def test_offset_beyond_the_end_names_the_count(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n4\n5\n")
    with pytest.raises(ToolError, match="has 5 lines") as raised:
        await run(ReadTool(), make_context(), file_path="a", offset=100)
    assert "empty" not in str(raised.value)


@pytest.mark.parametrize("offset", [None, 1, 2])
async def test_an_empty_file_is_called_empty(
    make_context: MakeContext, tmp_path: Path, offset: int | None
) -> None:
    (tmp_path / "a").touch()
    result = await run(ReadTool(), make_context(), file_path="a", offset=offset)
    assert "empty" in result.output


async def test_one_line_without_newline_is_one_line(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("only")
    result = await run(ReadTool(), make_context(), file_path="a")
    assert result.output == "1: only\n\n(End of file, 1 line.)"


async def test_only_what_does_not_fit_is_cut(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 16_000 + "\nshort\n")
    result = await run(ReadTool(), make_context(), file_path="a")
    assert "x" * 16_000 + "\n2: short\n\n(End of file, 2 lines.)" in result.output
    (tmp_path / "b").write_text(("y" * 999 + "\n") * 200)
    result = await run(ReadTool(), make_context(), file_path="b")
    assert len(result.output.encode()) < 52 * 1024
    assert "of 200. Continue with offset=" in result.output


async def read_on(ctx: ToolContext, first: Result) -> str:
    """Read on as each note says; return the text of all pages without numbers and notes."""
    text, result = "", first
    while True:
        body, _, note = result.output.rpartition("\n\n")
        text += "\n".join(line.partition(": ")[2] for line in body.split("\n"))
        found = re.search(r"Continue with offset=(\d+)(?: and column=(\d+))?", note)
        if found is None:
            return text
        place = {"offset": int(found[1]), "column": int(found[2] or 1)}
        text += "" if found[2] else "\n"
        result = await run(ReadTool(), ctx, file_path="a", **place)


@pytest.mark.parametrize(
    "text",
    [
        "é😀x" * 60_000,
        f"{'-' * 30}\n{'x' * 120_000}\nlast",
        "\n".join("y" * 20_000 for _ in range(7)),
        f"{'z' * 51_190}\n{'y' * 60_000}",
    ],
)
async def test_all_of_a_long_line_can_be_read(
    make_context: MakeContext, tmp_path: Path, text: str
) -> None:
    (tmp_path / "a").write_text(text)
    ctx = make_context()
    first = await run(ReadTool(), ctx, file_path="a")
    assert len(first.output.encode()) < 52 * 1024
    assert await read_on(ctx, first) == text


async def test_a_cut_line_is_reported_with_its_place(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("x" * 120_000 + "\r\nlast\n")
    result = await run(ReadTool(), make_context(), file_path="a")
    assert result.output.endswith(
        "(Line 1 of 2 is cut: its characters 1–51,196 of 120,000 are shown. Continue with offset=1 "
        "and column=51197, or with offset=2.)"
    )
    result = await run(ReadTool(), make_context(), file_path="a", offset=1, column=119_999)
    assert result.output == (
        "1: xx\n2: last\n\n(Line 1 is shown from its character 119,999 on. End of file, 2 lines.)"
    )
    with pytest.raises(ToolError, match="Line 1 of a has 120,000 characters; column 120,001 is"):
        await run(ReadTool(), make_context(), file_path="a", offset=1, column=120_001)


async def test_a_huge_line_costs_a_page(make_context: MakeContext, tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    path.write_bytes(b"x" * (MAX_COUNTED + 1))
    result = await run(ReadTool(), make_context(), file_path="huge.json", column=1_000_000)
    assert "characters 1,000,000–1,051,195 are shown. Continue with offset=1 and" in result.output


async def test_a_huge_sparse_file_costs_a_page(make_context: MakeContext, tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    with path.open("wb") as file:
        file.write(b"text\n" * 20_000)
        file.truncate(3 * 1024**3)
    result = await run(ReadTool(), make_context(), file_path="huge.log", limit=5)
    assert result.output.endswith("(Lines 1–5. Continue with offset=6.)")


async def test_a_big_file_is_still_known_as_read(make_context: MakeContext, tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"0123456789abcde\n" * (MAX_COUNTED // 16 + 10))
    ctx = make_context()
    await run(ReadTool(), ctx, file_path="big", limit=1)
    stamp = ctx.files.seen(ctx.session_id, str(path))
    assert stamp is not None
    assert stamp.digest is None


@pytest.mark.parametrize("pad", [0, 1, 2])
async def test_chinese_text_is_text(make_context: MakeContext, tmp_path: Path, pad: int) -> None:
    (tmp_path / "a").write_text("x" * pad + "漢字かな\n" * 5_000)
    result = await run(ReadTool(), make_context(), file_path="a", offset=4_000, limit=1)
    assert result.output.startswith("4000: 漢字かな\n")


async def test_binary_is_refused_with_kind_and_size(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"\x7fELF\0\0\0\0")
    with pytest.raises(ToolError, match=r"ELF program, 8 bytes"):
        await run(ReadTool(), make_context(), file_path="a")


async def test_encodings_are_read(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfhello\n")
    assert (await run(ReadTool(), make_context(), file_path="bom")).output.startswith("1: hello\n")
    (tmp_path / "wide").write_bytes("größe\r\nzwei\r\n".encode("utf-16"))
    wide = await run(ReadTool(), make_context(), file_path="wide")
    assert wide.output.startswith("1: größe\n2: zwei\n")
    assert "utf-16-le" in wide.output
    (tmp_path / "old").write_bytes(b"; stra\xdfe\n")
    old = (await run(ReadTool(), make_context(), file_path="old")).output
    assert "\ufffd" not in old
    old.encode()


@pytest.mark.parametrize("tail", [b"stra\xdfe\n", "中文\n".encode("gbk")])
async def test_a_late_byte_changes_the_guess_for_the_whole_file(
    make_context: MakeContext, tmp_path: Path, tail: bytes
) -> None:
    """A long file that begins in ASCII is read in the encoding that its end shows."""
    data = b"plain\n" * 40_000 + tail
    (tmp_path / "a").write_bytes(data)
    result = await run(ReadTool(), make_context(), file_path="a", offset=40_000)
    seen = decode(data).text.splitlines()[-1]
    assert f"40001: {seen}\n" in result.output
    assert "\ufffd" not in result.output
    assert "stored as" in result.output


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
async def test_wide_text_without_its_mark(
    make_context: MakeContext, tmp_path: Path, name: str
) -> None:
    file, ctx = tmp_path / "w", make_context()
    file.write_bytes("größe = 1\r\nzwei\r\n".encode(name))
    result = await run(ReadTool(), ctx, file_path="w")
    assert result.output.startswith("1: größe = 1\n2: zwei\n")
    assert f"stored as {name}" in result.output
    await run(WriteTool(), ctx, file_path="w", content="größe = 2\nzwei\n")
    assert file.read_bytes() == "größe = 2\r\nzwei\r\n".encode(name)


@pytest.mark.parametrize("data", [b"\x01\0\x02\0\x03\0\x04\0" * 9, b"a\0b", b"a\0\0\0" * 40])
async def test_data_is_not_mistaken_for_wide_text(
    make_context: MakeContext, tmp_path: Path, data: bytes
) -> None:
    (tmp_path / "d").write_bytes(data)
    with pytest.raises(ToolError, match="binary file"):
        await run(ReadTool(), make_context(), file_path="d")


async def test_links_that_lead_nowhere(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("gone")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ToolError, match=r"dangling is a link to gone, which does not exist\."):
        await run(ReadTool(), make_context(), file_path="dangling")
    for tool, more in ((ReadTool(), {}), (WriteTool(), {"content": "x"})):
        with pytest.raises(ToolError, match="loop is a circular link"):
            await run(tool, make_context(), file_path="loop", **more)


async def test_lone_carriage_returns_end_lines(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"one\rtwo\r")
    result = await run(ReadTool(), make_context(), file_path="old")
    assert result.output.startswith("1: one\n2: two\n")


async def test_half_a_pair_in_wide_text_costs_nothing_else(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "w").write_bytes(b"\xff\xfe" + "a\ud83d\nb\n".encode("utf-16-le", "surrogatepass"))
    result = await run(ReadTool(), make_context(), file_path="w")
    assert result.output.startswith("1: a\ud83d\n2: b\n")


@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/zero", "/proc/self/environ", "/sys/power"])
async def test_devices_are_refused_at_once(make_context: MakeContext, path: str) -> None:
    with pytest.raises(ToolError):
        await run(ReadTool(), make_context(), file_path=path)


async def test_pipes_and_links_to_devices_are_refused(
    make_context: MakeContext, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="named pipe"):
        await run(ReadTool(), make_context(), file_path="pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(ToolError, match="device"):
        await run(ReadTool(), make_context(), file_path="zero")


async def test_folders_are_listed(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "a.txt").touch()
    (tmp_path / "d" / "link").symlink_to("sub")
    result = await run(ReadTool(), make_context(), file_path="d")
    assert result.blocks == (ListingBlock(("a.txt", "link/ -> sub", "sub/"), 3),)
    page = await run(ReadTool(), make_context(), file_path="d", offset=2, limit=1)
    assert "Entries 2–2 of 3. Continue with offset=3." in page.output
    with pytest.raises(ToolError, match="3 entries"):
        await run(ReadTool(), make_context(), file_path="d", offset=9)


async def test_a_missing_file_is_named_with_a_similar_one_of_another_folder(
    make_context: MakeContext, tmp_path: Path
) -> None:
    for name in ("lib/helpers.py", "src/server.py", "src/main.py", "docs/unlike.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    with pytest.raises(ToolError, match=r"Did you mean lib/helpers\.py( or src/server\.py)?\?"):
        await run(ReadTool(), make_context(), file_path="src/helper.py")


async def test_missing_files_name_near_ones(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "settings.py").touch()
    with pytest.raises(ToolError, match=r"does not exist. Did you mean settings\.py"):
        await run(ReadTool(), make_context(), file_path="setings.py")


async def test_a_forgotten_folder_is_named(make_context: MakeContext, tmp_path: Path) -> None:
    for folder in ("src/app", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/app/settings.py").touch()
    with pytest.raises(ToolError, match=r"Did you mean src/app/settings\.py\?"):
        await run(ReadTool(), make_context(), file_path="settings.py")
    with pytest.raises(ToolError, match=r"Did you mean src/app/settings\.py\?"):
        await run(ReadTool(), make_context(), file_path="tests/settings.py")


async def test_names_outside_the_project_are_near_too(
    make_context: MakeContext, tmp_path: Path
) -> None:
    """The read was consented to by then."""
    (tmp_path / "project").mkdir()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ToolError, match=r"Did you mean .*/notes\.txt\?"):
        await run(ReadTool(), make_context(tmp_path / "project"), file_path="../note.txt")


async def test_names_that_look_like_options(make_context: MakeContext, tmp_path: Path) -> None:
    (tmp_path / "-n").write_text("--grep\n")
    assert "1: --grep" in (await run(ReadTool(), make_context(), file_path="-n")).output


async def test_spill_files_need_no_consent(make_context: MakeContext, tmp_path: Path) -> None:
    """The folder of kept outputs is exempt from external_directory."""
    project, spill = tmp_path / "app", tmp_path / "spill"
    project.mkdir()
    spill.mkdir()
    made = await plan(ReadTool(str(spill)), make_context(project), file_path=f"{spill}/x")
    assert made.needs == ()
    for tool, more in ((GlobTool, {"pattern": "*"}), (GrepTool, {"pattern": "x"}), (ListTool, {})):
        free = await plan(tool(spill=str(spill)), make_context(project), path=str(spill), **more)
        assert free.needs == ()
    other = await plan(ReadTool(str(spill)), make_context(project), file_path=f"{tmp_path}/x")
    assert [need.permission for need in other.needs] == ["external_directory", "read"]
