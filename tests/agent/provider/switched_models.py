"""The models that a session switches between, and the config of their providers."""

SERVED = {
    "claude/claude-sonnet-4-5": "anthropic-messages",
    "claude/claude-opus-4-7": "anthropic-messages",
    "open/gpt-5.4": "openai-responses",
    "chat/deepseek-v4": "openai-chat",
    "google/gemini-3-pro": "gemini",
}
ORDER = (
    "claude/claude-sonnet-4-5", "open/gpt-5.4", "claude/claude-sonnet-4-5", "google/gemini-3-pro",
    "chat/deepseek-v4", "open/gpt-5.4", "google/gemini-3-pro", "claude/claude-opus-4-7",
    "chat/deepseek-v4", "claude/claude-sonnet-4-5",
)  # fmt: skip


def providers(url: str) -> dict[str, object]:
    found: dict[str, dict[str, object]] = {}
    for full_name, api in SERVED.items():
        provider, _, name = full_name.partition("/")
        options = {"baseURL": url, "apiKey": "sk-scripted-0001"}
        settings = found.setdefault(provider, {"api": api, "options": options, "models": {}})
        models = settings["models"]
        assert isinstance(models, dict)
        limit = {"context": 100_000, "output": 32_000}
        models[name] = {"limit": limit, "reasoning": True}
    return dict(found)
