"""Fixtures for tests of the documentation."""

from tests.support.installed import installed, scripted

__all__ = ["installed", "scripted"]
