"""Images and documents that a tool hands to the model: checked whole, then attached."""

import base64
from dataclasses import dataclass

from agent.files import load
from agent.records.blocks import ImageBlock
from agent.records.errors import ToolError
from agent.records.ids import new_id
from agent.records.messages import FilePart
from agent.tools.core.base import Result, ToolContext
from agent.tools.files.media import MAX_DOCUMENT, MAX_IMAGE, MAX_PIXELS, BrokenMedia, Media, examine
from agent.tools.files.paths import ToolPath


@dataclass(frozen=True, slots=True)
class MediaFile:
    """An image or document that goes to the model."""

    media: Media
    data: bytes


def load_media(target: ToolPath, found: tuple[str, str], size: int, ctx: ToolContext) -> MediaFile:
    """The image or document of a file, whole and checked. Blocks.

    *found* is its mime type and name. Raises ``ToolError`` if it can't be shown, ``OSError``.
    """
    most = check_supported(target.shown, found, size, ctx)
    return check_media(target.shown, load(target.real, most).data)


def check_supported(shown: str, found: tuple[str, str], size: int, ctx: ToolContext) -> int:
    """The most bytes that such a thing may have. Raises ``ToolError`` if the model does not
    see it, or if it has more."""
    mime, name = found
    image = mime.startswith("image/")
    what = f"{shown} is a {name} of {size:,} bytes"
    if not (ctx.vision if image else ctx.documents):
        raise ToolError(
            f"{what}, and the current model sees no {'images' if image else 'PDF documents'}. "
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
    """*data*, which no provider will refuse. Raises ``ToolError``."""
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
    """The result of a call that gives *found*, which is called *shown*."""
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
