"""R4: pictures and documents, told in words where they cannot be seen."""

import pytest

from agent.provider.client import Api, MediaContent, ToolResultContent, ToolTurn, UserTurn
from agent.provider.quirks.refused_parts import IMAGES
from tests.agent.provider.quirks.asking import APIS, CALL, USER, body, chat, model, said, text

PNG = MediaContent("image/png", "AAAA", "x.png")
TIFF = MediaContent("image/tiff", "BBBB", "x.tiff")
PDF = MediaContent("application/pdf", "CCCC", "x.pdf")
SHOWN = ToolTurn((ToolResultContent("c1", "read", "done", media=(PNG, TIFF, PDF)),))
TURNS = (UserTurn((text("see"), PNG, TIFF, PDF)), said(CALL), SHOWN)
READS_NONE = ("cohere", "ollama")


@pytest.mark.parametrize("api", APIS)
def test_replace_unsupported_media(api: Api) -> None:
    blind = str(body(model("acme/m", api), *TURNS))
    assert blind.count("this model cannot see it") == 6
    assert not any(data in blind for data in ("AAAA", "BBBB", "CCCC"))
    seeing = str(body(model("acme/m", api, vision=True), *TURNS))
    assert (seeing.count("AAAA"), seeing.count("x.tiff"), seeing.count("CCCC")) == (2, 2, 0)
    reading = str(body(model("acme/m", api, vision=True, documents=True), *TURNS))
    assert reading.count("CCCC") == (0 if api in READS_NONE else 2)


@pytest.mark.parametrize("api", APIS)
def test_replace_refused_media(api: Api) -> None:
    refused = body(model("acme/m", api, vision=True, documents=True), *TURNS, without=IMAGES)
    assert refused == body(model("acme/m", api), *TURNS)


def test_drop_media_from_failed_results() -> None:
    failed = ToolTurn((ToolResultContent("c1", "read", "no", is_error=True, media=(PNG,)),))
    seeing = model("anthropic/claude-sonnet-4-5", vision=True)
    (result,) = body(seeing, USER, said(CALL), failed)["messages"][2]["content"]
    assert (result["content"], result["is_error"]) == ("no", True)


def test_move_result_media_to_user() -> None:
    messages = chat(model("acme/m", vision=True), USER, said(CALL), SHOWN)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "user"]
    assert messages[2]["content"].startswith("done")
    assert [part["type"] for part in messages[3]["content"]] == ["text", "image_url"]
    assert "read" in messages[3]["content"][0]["text"]
    parts = body(model("google/gemini-3-pro", vision=True), USER, said(CALL), SHOWN)["contents"][2]
    assert [next(iter(part)) for part in parts["parts"]] == [
        "functionResponse", "text", "inlineData",
    ]  # fmt: skip
    inside = body(model("anthropic/claude-x", vision=True), USER, said(CALL), SHOWN)
    assert "AAAA" in str(inside["messages"][2]["content"][0])
