"""Fixtures for tests of ``--plain``: the launcher as a process, without a terminal."""

from tests.support.installed import place, scripted

__all__ = ["place", "scripted"]
