"""The error of token estimates."""

import importlib.util
import itertools
import os
from pathlib import Path

import pytest

from agent.session.context import budget
from agent.session.context.budget import (
    MAX_FACTOR,
    MIN_FACTOR,
    SLICE_COUNT,
    SLICE_SIZE,
    Calibration,
    estimate_tokens,
)

TEXTS = Path(__file__).parent / "texts"
ROOT = Path(__file__).parents[4]

COUNTS = {
    "prose.txt": (346, 346),
    "manual.txt": (303, 303),
    "shelf.py.txt": (528, 520),
    "basket.ts.txt": (472, 465),
    "ring.rs.txt": (401, 400),
    "orders.sql.txt": (254, 253),
    "change.diff.txt": (255, 255),
    "people.json.txt": (200, 198),
    "tests.log.txt": (356, 353),
    "chinese.txt": (91, 131),
    "japanese.txt": (110, 167),
    "korean.txt": (92, 152),
    "russian.txt": (84, 142),
}
"""The tokens of each text by ``o200k_base`` and ``cl100k_base``, as tiktoken counts them."""

ABROAD = {"chinese.txt", "japanese.txt", "korean.txt", "russian.txt"}


@pytest.fixture(scope="module")
def encodings():
    """Return tiktoken's two encodings, from the data in litellm's package if it is installed."""
    tiktoken = pytest.importorskip("tiktoken")
    found = importlib.util.find_spec("litellm")
    folder = Path(found.origin).parent if found and found.origin else Path()
    data = folder / "litellm_core_utils" / "tokenizers"
    if not (data / "fb374d419588a4632f3f557e76b4b70aebbca790").exists():
        pytest.skip("no tokenizer data on this disk")
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    os.environ["TIKTOKEN_CACHE_DIR"] = str(data)
    try:
        yield tuple(tiktoken.get_encoding(name) for name in ("o200k_base", "cl100k_base"))
    finally:
        if before is None:
            del os.environ["TIKTOKEN_CACHE_DIR"]
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


@pytest.mark.parametrize("name", [n for n in COUNTS if n not in ABROAD])
def test_prose_and_code_are_estimated_within_15_percent(name: str, record_property) -> None:
    estimated = estimate_tokens((TEXTS / name).read_text("utf-8"))
    errors = [f"{estimated / counted - 1:+.1%}" for counted in COUNTS[name]]
    record_property("errors", errors)
    assert all(abs(estimated / counted - 1) <= 0.15 for counted in COUNTS[name]), errors


@pytest.mark.parametrize("name", sorted(ABROAD))
def test_other_scripts_lie_between_the_counts_of_tokenizers(name: str) -> None:
    fewest, most = COUNTS[name]
    assert fewest * 0.95 <= estimate_tokens((TEXTS / name).read_text("utf-8")) <= most * 1.05


def test_the_recorded_counts_equal_those_of_tiktoken(encodings) -> None:
    for name, counted in COUNTS.items():
        text = (TEXTS / name).read_text("utf-8")
        assert tuple(len(encoding.encode(text)) for encoding in encodings) == counted, name


def test_the_programs_own_files_are_estimated_within_15_percent(encodings, record_property) -> None:
    """Each file by itself, and all together within 5 %: errors of single texts cancel out."""
    files = [*ROOT.glob("agent/**/*.py"), *ROOT.glob("agent/prompts/*.txt"), *ROOT.glob("*.md")]
    off: list[tuple[float, str]] = []
    total = counted = 0
    for file in files:
        text = file.read_text("utf-8")
        real = len(encodings[0].encode(text, disallowed_special=()))
        if real >= 200:
            off.append((abs(estimate_tokens(text) / real - 1), str(file)))
            total, counted = total + estimate_tokens(text), counted + real
    off.sort()
    record_property("files", f"half within {off[len(off) // 2][0]:.1%}, worst {off[-3:]}")
    assert off[int(len(off) * 0.95)][0] <= 0.15
    assert abs(total / counted - 1) <= 0.05


def test_a_very_long_text_is_estimated_from_slices() -> None:
    line = (TEXTS / "shelf.py.txt").read_text("utf-8")
    copies = 3 * SLICE_COUNT * SLICE_SIZE // len(line)
    assert estimate_tokens(line * copies) == pytest.approx(estimate_tokens(line) * copies, rel=0.03)


def test_an_empty_text_has_no_tokens_and_a_longer_one_never_fewer() -> None:
    assert estimate_tokens("") == 0
    text = (TEXTS / "tests.log.txt").read_text("utf-8")
    sizes = [estimate_tokens(text[:end]) for end in range(0, len(text), 50)]
    assert all(a <= b + 2 for a, b in itertools.pairwise(sizes))


def test_estimates_follow_the_last_report_of_their_session_and_model() -> None:
    calibration = Calibration()
    assert calibration.factor("s", "m") == 1.0
    calibration.observe("s", "m", 1_000, 1_300)
    calibration.observe("s", "n", 1_000, 900)
    assert (calibration.factor("s", "m"), calibration.factor("s", "n")) == (1.3, 0.9)
    calibration.observe("s", "m", 1_000, 1_100)
    assert calibration.factor("s", "m") == 1.1
    assert calibration.factor("t", "m") == 1.0


def test_an_implausible_report_changes_an_estimate_only_within_bounds() -> None:
    calibration = Calibration()
    calibration.observe("s", "m", 50_000, 100)
    assert calibration.factor("s", "m") == MIN_FACTOR
    calibration.observe("s", "m", 100, 50_000)
    assert calibration.factor("s", "m") == MAX_FACTOR
    calibration.observe("s", "m", 100, 0)
    assert calibration.factor("s", "m") == MAX_FACTOR, "no report is no news"


def test_a_text_is_estimated_only_once() -> None:
    text = "def once(upon, a_time): return 7\n" * 2_000
    counted = estimate_tokens(text)
    before = len(budget.cached_estimates)
    again = "".join(list(text))
    assert again is not text
    assert estimate_tokens(again) == counted
    assert len(budget.cached_estimates) == before, "an equal text of another turn is no new one"
    assert estimate_tokens(text + "more words") > counted
    assert len(budget.cached_estimates) == before + 1
    for number in range(budget.MAX_CACHED + 10):
        estimate_tokens(f"{number:0>100}")
    assert len(budget.cached_estimates) <= budget.MAX_CACHED
