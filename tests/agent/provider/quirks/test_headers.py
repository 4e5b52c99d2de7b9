"""Headers that depend on the request."""

from agent.provider.client import (
    MediaContent,
    ModelRequest,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.quirks.body_fields import request_headers
from tests.support.provider_requests import CALL, USER, assistant, model, text

PNG = MediaContent("image/png", "AAAA", "x.png")


def headers(name: str, *turns: Turn, **more: dict[str, str]) -> dict[str, str]:
    return request_headers(ModelRequest(model=model(name), system=(), turns=turns, **more))


def test_copilot_headers() -> None:
    copilot = "github-copilot/gpt-5"
    seen = ToolTurn((ToolResultContent("c1", "read", "done", media=(PNG,)),))
    assert headers(copilot, USER) == {"x-initiator": "user"}
    assert headers(copilot, USER, assistant(CALL), seen) == {
        "x-initiator": "agent",
        "copilot-vision-request": "true",
    }
    assert headers(copilot, UserTurn((text("see"), PNG)))["copilot-vision-request"] == "true"
    assert headers("openai/gpt-5", UserTurn((text("see"), PNG))) == {}


def test_headers_of_the_request_override_those_of_the_provider() -> None:
    given = headers("github-copilot/gpt-5", USER, headers={"X-Initiator": "agent"})
    assert given == {"x-initiator": "agent"}
