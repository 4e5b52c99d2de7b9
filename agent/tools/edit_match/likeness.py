"""How much two lines are alike. Both functions take blind keys or whole lines."""


def likeness(one: str, other: str) -> float:
    """From 0 (nothing in common) to 1 (the same)."""
    # Loaded only for an edit that does not fit as it is.
    from rapidfuzz import fuzz  # kept off the start-up path

    return fuzz.ratio(one, other) / 100


def is_slip(one: str, other: str) -> bool:
    """Whether *one* is *other* with one letter too many, missing, other or swapped with its
    neighbour, or with other capitals."""
    # Loaded only for an edit that does not fit as it is.
    from rapidfuzz.distance import OSA  # kept off the start-up path

    return one.casefold() == other.casefold() or OSA.distance(one, other, score_cutoff=1) <= 1
