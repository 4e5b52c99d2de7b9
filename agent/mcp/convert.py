"""What servers send, in the SDK's types, as the records of this room."""

import json

import mcp_types as types

from agent.mcp.records import (
    Blob,
    Content,
    Prompt,
    PromptArgument,
    Resource,
    ResourceLink,
    Text,
    ToolDefinition,
)
from agent.mcp.sampling import SamplingRefused, SampleMessage, SampleRequest
from agent.tools.core.clean_text import visible

LONGEST_WORDS = 4_000
"""Characters of what a server says of its tools that models are told."""


def instructions_of(said: str | None) -> str:
    """What a server says of its tools, as models may be told it."""
    text = visible(said or "").strip()
    return text if len(text) <= LONGEST_WORDS else text[:LONGEST_WORDS].rstrip() + "…"


def definition_of(tool: types.Tool) -> ToolDefinition:
    hints = tool.annotations
    return ToolDefinition(
        name=tool.name,
        title=tool.title or (hints.title if hints else None) or "",
        description=tool.description or "",
        schema=tool.input_schema,
        read_only=bool(hints and hints.read_only_hint),
    )


def resource_of(one: types.Resource) -> Resource:
    return Resource(
        uri=str(one.uri),
        name=one.title or one.name,
        description=one.description or "",
        mime=one.mime_type or "",
    )


def prompt_of(one: types.Prompt) -> Prompt:
    return Prompt(
        name=one.name,
        description=one.description or one.title or "",
        arguments=tuple(
            PromptArgument(
                name=each.name, description=each.description or "", required=bool(each.required)
            )
            for each in one.arguments or ()
        ),
    )


def result_content(result: types.CallToolResult) -> list[Content]:
    found = [content_of(one) for one in result.content]
    if not found and result.structured_content is not None:
        return [Text(json.dumps(result.structured_content, ensure_ascii=False, indent=1))]
    return found


def content_of(content: types.ContentBlock) -> Content:
    match content:
        case types.TextContent():
            return Text(content.text)
        case types.ImageContent() | types.AudioContent():
            return Blob(content.mime_type, content.data)
        case types.ResourceLink():
            name = content.title or content.name
            return ResourceLink(str(content.uri), name, content.description or "")
        case types.EmbeddedResource():
            return resource_content(content.resource)


def resource_content(one: types.TextResourceContents | types.BlobResourceContents) -> Content:
    if isinstance(one, types.TextResourceContents):
        return Text(one.text, str(one.uri))
    return Blob(one.mime_type or "", one.blob, str(one.uri))


def sample_of(params: types.CreateMessageRequestParams) -> SampleRequest:
    said = [
        SampleMessage(message.role, tuple(_sampled(one) for one in message.content_as_list))
        for message in params.messages
    ]
    hints = params.model_preferences.hints if params.model_preferences else None
    return SampleRequest(
        system=params.system_prompt or "",
        said=tuple(said),
        most=params.max_tokens,
        temperature=params.temperature,
        hints=tuple(hint.name for hint in hints or () if hint.name),
    )


def _sampled(content: types.SamplingMessageContentBlock) -> Content:
    match content:
        case types.TextContent() | types.ImageContent() | types.AudioContent():
            return content_of(content)
        case _:
            raise SamplingRefused("Calls of tools are not replayed here.")
