"""A repository in the folder that the app opens."""

from pathlib import Path

import pytest

from tests.support.git import make_repository


@pytest.fixture
def shop(work: Path) -> Path:
    make_repository(work)
    return work
