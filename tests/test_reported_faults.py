"""Every reported fault has tests, and they exist."""

import re
from pathlib import Path

import pytest

from tests.reported_faults import REPORTED_FAULTS

HERE = Path(__file__).parent


@pytest.mark.parametrize("fault", REPORTED_FAULTS)
def test_the_tests_of_a_fault_exist(fault: str) -> None:
    assert REPORTED_FAULTS[fault]
    for test in REPORTED_FAULTS[fault]:
        file, _, name = test.partition("::")
        source = (HERE / file).read_text("utf-8")
        assert re.search(rf"(?m)^(async )?def {name}\(", source), test
