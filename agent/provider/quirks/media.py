"""Quirks of images and documents: a text replaces those that a model cannot see."""

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
"""The media types that each protocol can carry, from its documentation."""


def replace_unsupported_media(request: ModelRequest, target: Target) -> ModelRequest:
    """Providers refuse files that the model cannot see or the protocol cannot carry: "This model
    does not support image input", "Could not process image". A text names the file instead."""

    def shown(media: MediaContent) -> TextContent | MediaContent:
        return media if _sees(request.model, media) else TextContent(media_placeholder(media))

    def result(given: ToolResultContent) -> ToolResultContent:
        if not given.media:
            return given
        seen = tuple(m for m in given.media if _sees(request.model, m))
        placeholders = [media_placeholder(m) for m in given.media if not _sees(request.model, m)]
        texts = [given.output] if given.output.strip() else []
        output = "\n\n".join([*texts, *placeholders]) if placeholders else given.output
        return replace(given, output=output, media=seen)

    turns: list[Turn] = []
    for turn in request.turns:
        match turn:
            case UserTurn():
                contents = [shown(c) if isinstance(c, MediaContent) else c for c in turn.content]
                same = same_objects(turn.content, contents)
                turns.append(turn if same else UserTurn(tuple(contents)))
            case ToolTurn():
                turns.append(replace_results(turn, [result(r) for r in turn.content]))
            case _:
                turns.append(turn)
    return replace_turns(request, turns)


def replace_refused_media(request: ModelRequest, target: Target) -> ModelRequest:
    """A server refused an image or document, although the model should take it: send none."""
    blind = replace(request.model, vision=False, documents=False)
    replaced = replace_unsupported_media(replace(request, model=blind), target)
    return replace(replaced, model=request.model)


def drop_media_from_failed_results(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses media in failed results: "all content must be type text if is_error is
    true"."""

    def plain(result: ToolResultContent) -> ToolResultContent:
        return _without_media(result) if result.is_error else result

    return map_results(request, plain)


def _without_media(result: ToolResultContent) -> ToolResultContent:
    return replace(result, media=()) if result.media else result


def move_result_media_to_user(request: ModelRequest, target: Target) -> ModelRequest:
    """Chat completions and similar protocols refuse media in results: "tool messages take text
    only". Send them as a user message right after the results."""
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
    """Return the text that replaces *media*."""
    name = f" {media.name}" if media.name else ""
    return f"[Attachment{name} ({media.mime}): this model cannot see it.]"
