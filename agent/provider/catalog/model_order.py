"""The order of models in lists: current chat models, the newest first, then the others.

No list says which models are current. Names do, nearly: they have a version, a date where they are
frozen, and words for other uses than chat.
"""

import re
from collections.abc import Iterable, Sequence

from agent.provider.client import ModelInfo

CURRENT_VERSIONS = 2
"""The versions of one family that count as current."""

MAX_AGE = 2
"""The major versions behind the newest of its maker's line from which a model is not current."""

FROZEN = re.compile(r"[-@](20\d{6}|20\d{2}-\d{2}-\d{2}|\d{2}-20\d{2}|\d{4})(?=$|[-:])")
"""The date in the name of a frozen model; an undated name is the one to use."""

OTHER_USES = re.compile(
    r"^ft:|(?:^|[-/_.])(audio|container|realtime|search|tts|image|imagine|embed\w*|moderation|transcribe|robotics"
    r"|computer-use|deep-research|guard|safeguard|prompt-guard|lyria|learnlm|exp|vision|instruct|ocr"
    r"|rerank|beta|experimental|customtools|streaming|live)(?=$|[-/_.:\d])"
)
VERSION = re.compile(
    r"(?<![\d.])(\d{1,2})(?:[.-](\d{1,2})(?![\d.]|[bBkKmM]\b))?(?!\d|[bBkKmM](?:$|[-:]))"
)
LATEST = (99, 0)


def newest_first(models: Iterable[ModelInfo]) -> list[ModelInfo]:
    """Return the *models* of one provider, the newest first: by the date that its server gives,
    else by the version in the name."""
    return sorted(
        models,
        key=lambda one: (-(one.created or 0.0), *(-part for part in version_of(one.id)), one.id),
    )


def split_current(models: Sequence[ModelInfo]) -> tuple[list[ModelInfo], list[ModelInfo]]:
    """Return the current chat models among *models* of one provider, then the others, each the
    newest first."""
    ordered = newest_first(models)
    names = {one.id for one in ordered}
    families: dict[str, set[tuple[int, int]]] = {}
    newest: dict[str, int] = {}
    for one in ordered:
        families.setdefault(_family(one.id), set()).add(version_of(one.id))
        major = version_of(one.id)[0]
        if major != LATEST[0]:
            newest[_line(one.id)] = max(major, newest.get(_line(one.id), 0))

    dated = any(one.created for one in ordered)

    def is_current(one: ModelInfo) -> bool:
        if dated and one.created is None:  # its server does not list it
            return False
        own = FROZEN.sub("", one.id)
        frozen = own != one.id and not names.isdisjoint((own, f"{own}-latest"))
        if not one.tools or frozen or OTHER_USES.search(one.id):
            return False
        version = version_of(one.id)
        newer = sum(other > version for other in families[_family(one.id)])
        behind = newest.get(_line(one.id), 0) - version[0]
        return newer < CURRENT_VERSIONS and not (version[0] and behind >= MAX_AGE)

    current = [one for one in ordered if is_current(one)]
    # A short list, such as that of a server on this machine, is shown whole.
    if not current:
        return ordered, []
    return current, [one for one in ordered if one not in current]


def version_of(name: str) -> tuple[int, int]:
    """Return the version in a model's *name*, (0, 0) if it has none. One without a version that
    ends in "latest" is the newest."""
    own = FROZEN.sub("", name.rpartition("/")[2])
    match = VERSION.search(own)
    if match is None:
        return LATEST if own.endswith("latest") else (0, 0)
    return int(match[1]), int(match[2] or 0)


def _family(name: str) -> str:
    """Return *name* without version and date: ``claude-opus-#``."""
    return VERSION.sub("#", FROZEN.sub("", name), count=1)


def _line(name: str) -> str:
    """Return the first word of *name*, such as ``gpt``, with its maker if it is named."""
    maker, _, own = name.rpartition("/")
    return f"{maker}/{re.split(r'[^A-Za-z]', own, maxsplit=1)[0]}"
