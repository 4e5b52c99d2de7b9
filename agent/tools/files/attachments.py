"""Attach images and documents to a call's result, after checking them completely."""

import base64

from agent.files import load
from agent.records.blocks import ImageBlock
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.messages import FilePart
from agent.tools.core.tool import Result, ToolContext
from agent.tools.files.media import MAX_DOCUMENT, MAX_IMAGE, MAX_PIXELS, BrokenMedia, Media, examine
from agent.tools.files.paths import ToolPath


@frozen
class MediaFile:
    """A checked image or document for the model."""

    media: Media
    data: bytes


def load_media(target: ToolPath, found: tuple[str, str], size: int, ctx: ToolContext) -> MediaFile:
    """Load and check the image or document at *target*. Blocks.

    *found* is its MIME type and name. Raises ``OSError``, and ``ToolError`` if it cannot be shown.
    """
    most = check_supported(target.shown, found, size, ctx)
    return check_media(target.shown, load(target.real, most).data)


def check_supported(shown: str, found: tuple[str, str], size: int, ctx: ToolContext) -> int:
    """Return the size limit of such a file in bytes. Raises ``ToolError`` if the model cannot see
    it, or if *size* is above the limit."""
    mime, name = found
    image = mime.startswith("image/")
    what = f"{shown} is a {name} of {size:,} bytes"
    if not (ctx.vision if image else ctx.documents):
        raise ToolError(
            f"{what}, and the current model cannot see {'images' if image else 'PDF documents'}. "
            "Use a program (bash) to get text or facts out of it."
        )
    most = MAX_IMAGE if image else MAX_DOCUMENT
    if size > most:
        smaller = "a smaller copy" if image else "a part of it, or its text,"
        raise ToolError(
            f"{what}; at most {most:,} bytes can be shown. Make {smaller} with a program (bash)."
        )
    return most


def check_media(shown: str, data: bytes) -> MediaFile:
    """Return *data* as media that providers accept. Raises ``ToolError``."""
    what = f"{shown} has {len(data):,} bytes of an image or document"
    try:
        media = examine(data)
    except BrokenMedia as error:
        raise ToolError(f"{what}, but {error}, so it is not shown.") from None
    if max(media.width, media.height) > MAX_PIXELS:
        raise ToolError(
            f"{what} and {media.width:,}×{media.height:,} pixels; at most {MAX_PIXELS:,} to a "
            "side can be shown. Make a smaller copy with a program (bash)."
        )
    return MediaFile(media, data)


def attach(shown: str, found: MediaFile, ctx: ToolContext) -> Result:
    """Return the result of a call that attaches *found* under the name *shown*."""
    media, size = found.media, len(found.data)
    sides = f"{media.width:,}×{media.height:,} pixels, " if media.is_image else ""
    file = FilePart(
        id=new_id("prt"),
        session_id=ctx.session_id,
        message_id=ctx.message_id,
        mime=media.mime,
        path=shown,
        data=base64.b64encode(found.data).decode("ascii"),
    )
    return Result(
        f"{shown} is a {media.name}, {sides}{size:,} bytes. It is attached.",
        blocks=(ImageBlock(shown, media.mime, media.width, media.height, size),),
        files=(file,),
    )
