"""Pausing garbage collection while the program loads: imported modules stay, so that searching them
for garbage some thirty times would find none."""

import gc


def pause() -> None:
    """Disable garbage collection until ``resume``."""
    gc.disable()


def resume() -> None:
    """Enable garbage collection again, without the objects that exist now. Does nothing unless it
    was paused."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
