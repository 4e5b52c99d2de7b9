"""Refusals because of the number or the size of images and documents."""

from agent.records.errors import FileLimit
from agent.records.patterns import lazy_pattern

_FILES = (
    r"(?:images?|image[ _](?:parts?|files?|links?|urls?|blocks?)|media|pictures?|"
    r"(?:pdf|document) pages)"
)
_MOST = (
    r"(?:at most|max(?:imum)?|up to|only|no more than|fewer than|limit|allow(?:s|ed)?|supports?)"
)

_TOO_MANY = lazy_pattern(
    rf"too (?:many|much) {_FILES}\b|"
    rf"{_MOST}\b[^.{{}}]{{0,40}}?\b\d+\W+{_FILES}\b|"
    rf"\b\d+ {_FILES}\b[^{{}}]{{0,40}}\b(?:exceed\w*|{_MOST})\b|"
    rf"(?:number|count) of {_FILES}\b[^{{}}]{{0,40}}\b(?:exceed\w*|greater|{_MOST})\b|"
    rf"too_many_images|max_images"
)
_TOO_LARGE = lazy_pattern(
    r"\bimages?\b[^{}]{0,80}\b(?:exceeds?|larger than|too large|too big)\b[^{}]{0,60}"
    r"(?:\b[kmg]i?b\b|bytes|pixels|\bsize\b|dimensions?|resolution)|"
    r"\bimages? (?:file |size |dimensions? )?(?:is |are )?too (?:large|big)\b|"
    r"image_(?:file_)?too_large|image dimensions? (?:must|should) be (?:less|smaller|at most)"
)
_REQUEST_TOO_LARGE = lazy_pattern(
    r"request_too_large|payload size exceeds|request (?:entity|size|body) (?:is )?too large|"
    r"request exceeds the maximum size"
)
_COUNT = lazy_pattern(rf"> *(\d+)\b|(?:{_MOST}|exceed\w*)\b[^\d>]{{0,40}}(\d+)\b")
_BYTES = lazy_pattern(r"\b\d{5,}\b")
_MEGABYTES = lazy_pattern(r"(\d+(?:\.\d+)?) *(k|m)i?b\b")
_PIXELS = lazy_pattern(r"(\d{3,5}) *(?:px\b|pixels?)")

MANY_IMAGES = 20
"""Images from which on Anthropic and Bedrock allow fewer pixels in each."""


def file_limit(status: int | None, text: str) -> FileLimit | None:
    """Return the limit that a refusal with *text* (in lower case) is about, None if it is about
    something else."""
    images_only = "document" not in text and "media" not in text and "pdf" not in text
    if "many-image" in text:
        return FileLimit(count=MANY_IMAGES, images_only=True)
    if found := _TOO_MANY.search(text):
        numbers = _COUNT.search(text, found.start())
        count = int(numbers[1] or numbers[2]) if numbers else None
        return FileLimit(count=count, images_only=images_only)
    if _TOO_LARGE.search(text):
        pixels = _PIXELS.search(text)
        return FileLimit(
            size=_size(text),
            pixels=int(pixels[1]) if pixels else None,
            images_only=images_only,
        )
    if status == 413 or _REQUEST_TOO_LARGE.search(text):
        return FileLimit(whole_request=True)
    return None


def _size(text: str) -> int | None:
    if "pixels" in text:
        return None
    if exact := _BYTES.findall(text):  # the size of the file and the limit, in any order
        return min(map(int, exact))
    if rounded := _MEGABYTES.search(text):
        return round(float(rounded[1]) * (1_000 if rounded[2] == "k" else 1_000_000))
    return None
