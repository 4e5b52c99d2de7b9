"""Which models are current, and their order."""

import pytest

from agent.provider.catalog.model_order import newest_first, split_current, version_of
from agent.provider.client import ModelInfo


def model(name: str, created: float | None = None, *, tools: bool = True) -> ModelInfo:
    return ModelInfo(
        provider="a", id=name, name=name, api="openai-chat", created=created, tools=tools
    )


def ids(models: list[ModelInfo]) -> list[str]:
    return [one.id for one in models]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("claude-opus-4-7-20260416", (4, 7)),
        ("claude-sonnet-5", (5, 0)),
        ("gpt-5.4-mini-2026-03-17", (5, 4)),
        ("llama-3.3-70b-instruct", (3, 3)),
        ("gpt-oss-120b", (0, 0)),
        ("qwen3-coder:30b", (3, 0)),
        ("gemini-pro-latest", (99, 0)),
        ("gpt-5.1-chat-latest", (5, 1)),
        ("mistral-large-2512", (0, 0)),
    ],
)
def test_versions_are_read_from_names(name: str, version: tuple[int, int]) -> None:
    assert version_of(name) == version


def test_the_newest_is_first_by_version() -> None:
    given = ["opus-4-7", "sonnet-5-5", "opus-10", "sonnet-5"]
    assert ids(newest_first(map(model, given))) == ["opus-10", "sonnet-5-5", "sonnet-5", "opus-4-7"]


def test_dates_of_the_server_count_first() -> None:
    given = [model("b-9", 1.6e9), model("a-1", 1.7e9), model("c")]
    current, more = split_current(given)
    assert (ids(current), ids(more)) == (["a-1", "b-9"], ["c"])


def test_frozen_old_and_other_models_come_later() -> None:
    names = (
        "gpt-6", "gpt-6-2026-09-01", "gpt-5.4", "gpt-5.2", "gpt-4", "gpt-6-audio", "gpt-image-2",
        "container", "ft:gpt-6", "gpt-6-search-api", "codestral-latest", "codestral-2508",
    )  # fmt: skip
    current, more = split_current([*map(model, names), model("gpt-6-raw", tools=False)])
    assert ids(current) == ["codestral-latest", "gpt-6", "gpt-5.4"]
    assert len(more) == len(names) + 1 - len(current)


def test_a_list_of_which_none_seems_current_is_shown_whole() -> None:
    current, more = split_current([model("text-embedding-3"), model("whisper-live")])
    assert (len(current), more) == (2, [])
