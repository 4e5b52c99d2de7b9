"""The state of a session for front ends: snapshots and events, without Textual."""
