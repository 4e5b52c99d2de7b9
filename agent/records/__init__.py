"""Frozen records: sessions, messages, parts, blocks, events and errors; amounts as text."""
