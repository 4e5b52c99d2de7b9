"""Fixtures for tests of ``--plain``: the launcher as a process, without a terminal."""

from tests.support.installed import installed, scripted

__all__ = ["installed", "scripted"]
