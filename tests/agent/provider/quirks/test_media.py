"""Quirks of images and documents, which a text replaces for models that cannot see them."""

import pytest

from agent.provider.client import Api, MediaContent, ToolResultContent, ToolTurn, UserTurn
from agent.provider.quirks.target import IMAGES
from tests.support.provider_requests import (
    CALL,
    USER,
    WIRE_APIS,
    assistant,
    body,
    chat,
    model,
    text,
)

PNG = MediaContent("image/png", "AAAA", "x.png")
TIFF = MediaContent("image/tiff", "BBBB", "x.tiff")
PDF = MediaContent("application/pdf", "CCCC", "x.pdf")
SHOWN = ToolTurn((ToolResultContent("c1", "read", "done", media=(PNG, TIFF, PDF)),))
TURNS = (UserTurn((text("see"), PNG, TIFF, PDF)), assistant(CALL), SHOWN)
READS_NONE = ("cohere", "ollama")


@pytest.mark.parametrize("api", WIRE_APIS)
def test_replace_unsupported_media(api: Api) -> None:
    blind = str(body(model("acme/m", api), *TURNS))
    assert blind.count("this model cannot see it") == 6
    assert not any(data in blind for data in ("AAAA", "BBBB", "CCCC"))
    seeing = str(body(model("acme/m", api, vision=True), *TURNS))
    assert (seeing.count("AAAA"), seeing.count("x.tiff"), seeing.count("CCCC")) == (2, 2, 0)
    reading = str(body(model("acme/m", api, vision=True, documents=True), *TURNS))
    assert reading.count("CCCC") == (0 if api in READS_NONE else 2)


@pytest.mark.parametrize("api", WIRE_APIS)
def test_replace_refused_media(api: Api) -> None:
    refused = body(model("acme/m", api, vision=True, documents=True), *TURNS, refused=IMAGES)
    assert refused == body(model("acme/m", api), *TURNS)


def test_drop_media_from_failed_results() -> None:
    failed = ToolTurn((ToolResultContent("c1", "read", "no", is_error=True, media=(PNG,)),))
    seeing = model("anthropic/claude-sonnet-4-5", vision=True)
    (result,) = body(seeing, USER, assistant(CALL), failed)["messages"][2]["content"]
    assert (result["content"], result["is_error"]) == ("no", True)


def test_move_result_media_to_user() -> None:
    messages = chat(model("acme/m", vision=True), USER, assistant(CALL), SHOWN)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "user"]
    assert messages[2]["content"].startswith("done")
    assert [part["type"] for part in messages[3]["content"]] == ["text", "image_url"]
    assert "read" in messages[3]["content"][0]["text"]
    parts = body(model("google/gemini-3-pro", vision=True), USER, assistant(CALL), SHOWN)[
        "contents"
    ][2]
    assert [next(iter(part)) for part in parts["parts"]] == [
        "functionResponse", "text", "inlineData",
    ]  # fmt: skip
    inside = body(model("anthropic/claude-x", vision=True), USER, assistant(CALL), SHOWN)
    assert "AAAA" in str(inside["messages"][2]["content"][0])
