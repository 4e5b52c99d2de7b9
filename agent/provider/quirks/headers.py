"""Headers that depend on the request."""

from agent.provider.client import MediaContent, ModelRequest, ToolResultContent, UserTurn
from agent.provider.quirks.target import Target


def request_headers(request: ModelRequest) -> dict[str, str]:
    """Return the headers of one request, in lower case; its own override those of its provider."""
    own = {name.lower(): value for name, value in request.headers.items()}
    if Target.of(request.model).provider == "github-copilot":
        return copilot_headers(request) | own
    return own


def copilot_headers(request: ModelRequest) -> dict[str, str]:
    """Copilot bills each request that does not say that the agent began it, and refuses images
    without a header: "missing required Copilot-Vision-Request header for vision requests"."""
    by_user = not request.turns or isinstance(request.turns[-1], UserTurn)
    vision = any(
        isinstance(item, MediaContent) or (isinstance(item, ToolResultContent) and item.media)
        for turn in request.turns
        for item in turn.content
    )
    found = {"x-initiator": "user" if by_user else "agent"}
    return found | ({"copilot-vision-request": "true"} if vision else {})
