"""Fixtures for tests of ``--plain``: the launcher as a process, without a terminal."""

from tests.support.installed import installed, scripted
from tests.support.provider_server import server

__all__ = ["installed", "scripted", "server"]
