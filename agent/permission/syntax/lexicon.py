"""Word lists as text: one blank between entries keeps long tables readable."""


def word_set(text: str) -> frozenset[str]:
    """The blank-separated entries of *text*."""
    return frozenset(text.split())
