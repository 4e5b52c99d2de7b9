"""Word lists as text: one blank between entries keeps long tables readable."""


def names(text: str) -> frozenset[str]:
    """The blank-separated entries of *text*."""
    return frozenset(text.split())
