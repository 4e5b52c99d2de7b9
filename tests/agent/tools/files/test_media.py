"""Images and documents: the type by content, the structure read to its end."""

import base64
import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from agent.records.blocks import ImageBlock
from agent.records.errors import ToolError
from agent.tools.files.media import BrokenMedia, Media, examine
from agent.tools.read import ReadTool
from tests.agent.tools import pictures
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.run import run
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

IMAGES = {
    "image/png": pictures.png,
    "image/jpeg": pictures.jpeg,
    "image/gif": pictures.gif,
    "image/webp": pictures.webp,
}


@pytest.mark.parametrize("mime", IMAGES)
def test_sizes_of_each_kind(mime: str) -> None:
    found = examine(IMAGES[mime](640, 480))
    assert (found.mime, found.width, found.height) == (mime, 640, 480)


def test_a_pdf_is_read_completely() -> None:
    assert examine(pictures.pdf()) == Media("application/pdf", "PDF document")
    with pytest.raises(BrokenMedia, match="encrypted"):
        examine(pictures.pdf().replace(b"/Root", b"/Encrypt 2 0 R/Root"))


@pytest.mark.parametrize("make", [*IMAGES.values(), pictures.pdf])
def test_every_cut_is_noticed(make) -> None:
    """No truncated file can reach a history, wherever it ends."""
    whole = make()
    for end in range(len(whole) - 7):
        with pytest.raises(BrokenMedia):
            examine(whole[:end])


def test_a_changed_byte_of_a_png_is_noticed() -> None:
    whole = bytearray(pictures.png())
    whole[20] ^= 1
    with pytest.raises(BrokenMedia, match="damaged"):
        examine(bytes(whole))


@pytest.mark.parametrize("data", [b"", b"not an image", b"RIFF....AVI "])
def test_other_content_is_no_media(data: bytes) -> None:
    with pytest.raises(BrokenMedia):
        examine(data)


@pytest.mark.parametrize("mime", IMAGES)
async def test_an_image_is_attached_where_it_is_seen(
    make_context: MakeContext, tmp_path: Path, mime: str
) -> None:
    (tmp_path / "x.dat").write_bytes(IMAGES[mime](30, 20))
    result = await run(ReadTool(), replace(make_context(), vision=True), file_path="x.dat")
    (file,) = result.files
    assert file.mime == mime
    assert base64.b64decode(file.data or "") == IMAGES[mime](30, 20)
    size = len(IMAGES[mime](30, 20))
    assert result.blocks == (ImageBlock("x.dat", mime, 30, 20, size),)
    assert "30×20 pixels" in result.output


async def test_a_model_that_reads_images_need_not_read_documents(
    make_context: MakeContext, tmp_path: Path
) -> None:
    (tmp_path / "a.pdf").write_bytes(pictures.pdf())
    (tmp_path / "a.png").write_bytes(pictures.png())
    seeing, reading = make_context(), make_context()
    seeing, reading = replace(seeing, vision=True), replace(reading, documents=True)
    assert (await run(ReadTool(), reading, file_path="a.pdf")).files[0].mime == "application/pdf"
    with pytest.raises(ToolError, match="cannot see PDF documents"):
        await run(ReadTool(), seeing, file_path="a.pdf")
    with pytest.raises(ToolError, match="cannot see images"):
        await run(ReadTool(), reading, file_path="a.png")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pictures.png()[:-4], "damaged or cut off"),
        (pictures.png() + b"\0" * 4_000_000, "at most 3,750,000 bytes"),
        (pictures.png(9_000, 1), "at most 8,000 to a side"),
        (b"not an image", "its content is not one"),
        (b"", "its content is empty"),
    ],
)
async def test_requests_that_a_provider_refuses_are_refused_here(
    make_context: MakeContext, tmp_path: Path, data: bytes, said: str
) -> None:
    (tmp_path / "x.png").write_bytes(data)
    with pytest.raises(ToolError, match=said):
        await run(ReadTool(), replace(make_context(), vision=True), file_path="x.png")


async def test_pictures_reach_the_model_and_a_false_one_never_does(tmp_path: Path) -> None:
    """The tool returns an error, no image is sent, and the session continues."""
    async with open_harness(tmp_path, abilities={"vision": True}) as harness:
        (harness.folder / "good.png").write_bytes(pictures.png())
        (harness.folder / "bad.png").write_text("not an image")
        harness.server.script(
            answer(Call("read", {"file_path": "good.png"}), Call("read", {"file_path": "bad.png"})),
            answer(Text("seen")),
            answer(Text("still here")),
        )
        session = await harness.session()
        await harness.turn(session, "look")
        await harness.turn(session, "and now?")
        for request in harness.server.requests[1:3]:
            sent = json.dumps(request.body["messages"])
            assert sent.count('"image_url"') == 2  # the part's type and its field, once
            assert base64.b64encode(pictures.png()).decode() in sent
            assert "not one (unknown kind, 12 bytes)" in sent
        good, bad = await harness.tools(session)
        assert good.state.status == "completed"
        assert bad.state.status == "failed"


@pytest.mark.parametrize(("kind", "fits"), [(b"tEXt", True), (b"gAMA", True), (b"IDAT", False)])
def test_a_wrong_checksum_counts_only_where_the_picture_needs_the_chunk(
    kind: bytes, fits: bool
) -> None:
    whole = pictures.png()
    body = kind + b"abc"
    wrong = struct.pack(">I", 3) + body + struct.pack(">I", zlib.crc32(body) ^ 1)
    data = whole[:33] + wrong + whole[33:]
    if fits:
        assert examine(data) == examine(whole)
    else:
        with pytest.raises(BrokenMedia, match="damaged"):
            examine(data)
