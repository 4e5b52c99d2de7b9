"""Amounts are formatted the same everywhere."""

import re
from pathlib import Path

import pytest

from agent.records.amounts import money, tokens


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (950, "950"),
        (2_100, "2.1k"),
        (99_949, "99.9k"),
        (99_950, "100k"),
        (128_000, "128k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (1_200_000, "1.2M"),
    ],
)
def test_tokens(count: int, shown: str) -> None:
    assert tokens(count) == shown


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [
        (None, "–"),
        (0.0, "$0.00"),
        (0.42, "$0.42"),
        (12.345, "$12.35"),
        (0.01, "$0.01"),
        (0.009_96, "$0.01"),
        (0.003_4, "$0.0034"),
        (0.000_05, "$0.0001"),
        (0.000_01, "<$0.0001"),
    ],
)
def test_money(dollars: float | None, shown: str) -> None:
    assert money(dollars) == shown


def test_no_other_module_formats_dollars() -> None:
    root = Path(__file__).parents[3]
    written = re.compile(r"\$\{[^}]*:\.\df\}")
    found = [
        path.relative_to(root).as_posix()
        for room in ("agent", "app")
        for path in (root / room).rglob("*.py")
        if written.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["agent/records/amounts.py"]
