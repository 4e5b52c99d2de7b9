"""Every reported class of fault has its tests, and they exist (spec 9)."""

import re
from pathlib import Path

import pytest

from tests.trials import TRIALS

HERE = Path(__file__).parent

NUMBERS = """
    A01 B01 B04 B06 B08 B12 B13 B14 B16 B18 D01 D03 D05 D06 E01 E04 E05 E07 E09 E10 E14 E17 E20
    F01 F02 F04 H01 J01 K01 K03 K05 L01 L03 M01 M03 M05 M08 M09 M11 M13 M15 M17 M19 M21 M23 N01
    N03 N05 N07 P01 P04 P05 P07 P09 Q01 R01 R03 R05 R07 S01 S03 S05 T01 T03 T05 U01 U05 U07 V01
    V04 V06 V10 V12 V14 V16 V18 V19 V20 V22 V23 W01 X01 X03 Z01
"""


def test_no_fault_is_missing() -> None:
    assert sorted(TRIALS) == NUMBERS.split()


@pytest.mark.parametrize("number", TRIALS)
def test_the_tests_of_a_fault_exist(number: str) -> None:
    assert TRIALS[number]
    for named in TRIALS[number]:
        file, _, name = named.partition("::")
        source = (HERE / file).read_text("utf-8")
        assert re.search(rf"(?m)^(async )?def {name}\(", source), named
