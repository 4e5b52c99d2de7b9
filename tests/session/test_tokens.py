"""The estimate of tokens, against what real tokenizers made of the shipped samples (C8)."""

import importlib.util
import json
import os
import random
from pathlib import Path

import pytest

from agent.session.tokens import tokens

SAMPLES = Path(__file__).parent.parent / "data" / "tokens"
COUNTS: dict[str, dict[str, int]] = json.loads((SAMPLES / "counts.json").read_text("utf-8"))
PLAIN = [name for name in COUNTS if name.startswith(("prose", "code"))]
OTHER = [name for name in COUNTS if name not in PLAIN]


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text("utf-8")


def off(name: str) -> float:
    """The share by which the estimate misses the mean of the tokenizers."""
    real = sum(COUNTS[name].values()) / len(COUNTS[name])
    return tokens(sample(name)) / real - 1


@pytest.mark.parametrize("name", PLAIN)
def test_c8_prose_and_code_are_within_15_percent(name: str) -> None:
    assert abs(off(name)) <= 0.15, f"{name}: {off(name):+.1%}"


@pytest.mark.parametrize("name", OTHER)
def test_c8_other_scripts_are_within_a_quarter(name: str) -> None:
    assert abs(off(name)) <= 0.25, f"{name}: {off(name):+.1%}"


def test_c8_the_shipped_counts_are_those_of_the_tokenizers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counted anew with the data that litellm's package holds, where it is installed."""
    spec = importlib.util.find_spec("litellm")
    folders = spec.submodule_search_locations if spec else None
    data = Path(next(iter(folders))) / "litellm_core_utils" / "tokenizers" if folders else None
    if data is None or len([p for p in data.glob("*") if len(p.name) == 40]) < 2:
        pytest.skip("no data of a tokenizer is on this disk")
    tiktoken = pytest.importorskip("tiktoken")
    monkeypatch.setitem(os.environ, "TIKTOKEN_CACHE_DIR", str(data))
    for encoding in ("o200k_base", "cl100k_base"):
        encoder = tiktoken.get_encoding(encoding)
        for name, counts in COUNTS.items():
            assert len(encoder.encode(sample(name))) == counts[encoding], name


def test_c8_odd_texts_have_sane_counts() -> None:
    assert tokens("") == 1
    assert 20 < tokens("=" * 80 + "\n" + "a" * 400) < 300
    assert tokens("🎉" * 100) >= 100
    assert tokens("\ud800 lone\x00\x1b[31m") < 20
    noise = random.Random(7)
    blob = "".join(
        noise.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=4000)
    )
    assert 1_500 < tokens(blob) < 4_000, "encoded data has some two characters a token"
