"""The refusals that several tiers share, as sentences for the model (spec 3, E4)."""

from collections.abc import Sequence

from agent.tools.edit_match.records import EditRefused

SHOWN_PLACES = 10
"""Line numbers listed when there are several matches."""


def several(lines: Sequence[int], measure: str = "") -> EditRefused:
    """old_string fits at all of *lines* (from 1), compared without regard to *measure*."""
    numbers = ", ".join(map(str, lines[:SHOWN_PLACES]))
    more = ", …" if len(lines) > SHOWN_PLACES else ""
    but = f", {measure} aside," if measure else ""
    return EditRefused(
        f"old_string matches{but} in {len(lines)} places (lines {numbers}{more}). "
        "Add lines around it until it is unique, or set replace_all to change every one."
    )
