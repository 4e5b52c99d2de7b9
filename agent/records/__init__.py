"""Frozen records: sessions, messages, parts, blocks, events, errors and units."""
