"""Collecting garbage waits while the program loads: what is imported stays, so that looking for
garbage in it, some thirty times, finds none (spec 9, Q1)."""

import gc


def pause() -> None:
    """Collect nothing until ``resume``."""
    gc.disable()


def resume() -> None:
    """Everything is loaded; later collections need not look at it. Does nothing where collecting
    was not put off."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
