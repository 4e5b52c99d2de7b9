"""Quirks of pictures and documents: told in words where they cannot be seen."""

from collections.abc import Mapping
from dataclasses import replace

from agent.provider.client import (
    Api,
    MediaContent,
    ModelInfo,
    ModelRequest,
    TextContent,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.quirks.structural_sharing import (
    map_results,
    replace_results,
    replace_turns,
    same_objects,
)
from agent.provider.quirks.target import Target

PDF = "application/pdf"
COMMON_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
SUPPORTED_MEDIA: Mapping[Api, frozenset[str]] = {
    "openai-chat": COMMON_IMAGES | {PDF},
    "openai-responses": COMMON_IMAGES | {PDF},
    "anthropic-messages": COMMON_IMAGES | {PDF},
    "gemini": (COMMON_IMAGES - {"image/gif"}) | {"image/heic", "image/heif", PDF},
    "bedrock": COMMON_IMAGES | {PDF},
    "cohere": COMMON_IMAGES,
    "ollama": COMMON_IMAGES,
}
"""What each protocol can carry at all, by its documentation."""


def replace_unsupported_media(request: ModelRequest, target: Target) -> ModelRequest:
    """ "This model does not support image input", or "Could not process image": a file that the
    model cannot see, or its protocol not carry, becomes words that name it."""
    _ = target

    def told(media: MediaContent) -> TextContent | MediaContent:
        return media if _sees(request.model, media) else TextContent(media_placeholder(media))

    def result(given: ToolResultContent) -> ToolResultContent:
        if not given.media:
            return given
        seen = tuple(m for m in given.media if _sees(request.model, m))
        words = [media_placeholder(m) for m in given.media if not _sees(request.model, m)]
        said = [given.output] if given.output.strip() else []
        output = "\n\n".join([*said, *words]) if words else given.output
        return replace(given, output=output, media=seen)

    turns: list[Turn] = []
    for turn in request.turns:
        match turn:
            case UserTurn():
                said = [told(c) if isinstance(c, MediaContent) else c for c in turn.content]
                turns.append(turn if same_objects(turn.content, said) else UserTurn(tuple(said)))
            case ToolTurn():
                turns.append(replace_results(turn, [result(r) for r in turn.content]))
            case _:
                turns.append(turn)
    return replace_turns(request, turns)


def replace_refused_media(request: ModelRequest, target: Target) -> ModelRequest:
    """A server that refused a picture or document, whatever the lists say of its model, is asked
    again without any."""
    blind = replace(request.model, vision=False, documents=False)
    told = replace_unsupported_media(replace(request, model=blind), target)
    return replace(told, model=request.model)


def drop_media_from_failed_results(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic: "all content must be type text if is_error is true"."""
    _ = target

    def plain(result: ToolResultContent) -> ToolResultContent:
        return _without_media(result) if result.is_error else result

    return map_results(request, plain)


def _without_media(result: ToolResultContent) -> ToolResultContent:
    return replace(result, media=()) if result.media else result


def move_result_media_to_user(request: ModelRequest, target: Target) -> ModelRequest:
    """Chat completions and their like: "tool messages take text only". What a tool shows comes
    from the user, right after its results."""
    _ = target
    turns: list[Turn] = []
    for turn in request.turns:
        if not isinstance(turn, ToolTurn):
            turns.append(turn)
            continue
        turns.append(replace_results(turn, [_without_media(r) for r in turn.content]))
        shown: list[TextContent | MediaContent] = []
        for given in turn.content:
            if given.media:
                shown += [TextContent(f"Files from the {given.name} call:"), *given.media]
        if shown:
            turns.append(UserTurn(tuple(shown)))
    return replace_turns(request, turns)


def _sees(model: ModelInfo, media: MediaContent) -> bool:
    if media.mime not in SUPPORTED_MEDIA.get(model.api, frozenset()):
        return False
    return model.documents if media.mime == PDF else model.vision


def media_placeholder(media: MediaContent) -> str:
    """The words that stand for *media*."""
    name = f" {media.name}" if media.name else ""
    return f"[Attachment{name} ({media.mime}): this model cannot see it.]"
