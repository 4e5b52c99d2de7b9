"""The line-based interface: --plain."""
