"""How many tokens a text has, without the data of any tokenizer (spec 2, C8).

The pieces that tokenizers of large models agree on are counted: words, split where the case
changes; runs of capitals, of punctuation and of white space; up to three digits; characters
of scripts that are written without spaces. What a piece costs was fitted to the mean of
OpenAI's o200k_base and cl100k_base over prose, Python, JavaScript, C and JSON. Other families
differ by a factor, which ``agent.session.gauge`` learns from what the provider reports.
"""

import re

_WORD = re.compile(r"[A-Z]?[a-z]+")
_LONG = re.compile(r"[a-z]{8,}")
_CAPITALS = re.compile(r"[A-Z]{2,}(?![a-z])")
_DIGITS = re.compile(r"[0-9]{1,3}")
_SPACE = re.compile(r"\n\s*|[ \t]{2,}")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]+")
_DENSE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
"""Chinese, Japanese, Korean: between half a token and one for each character."""

_RULER = re.compile(r"([!-/:-@\[-`{-~\u2500-\u259f])\1{3,}")
"""A line of one mark, such as stands under a heading, is one token or two."""

_OTHER = re.compile(r"[\u0080-\u2fff\ua000-\uabff]")
_ASTRAL = re.compile(r"[\U00010000-\U0010ffff]")


def tokens(text: str) -> int:
    """An estimate, at least 1: within 15 % of the mean of those two on English prose and code."""
    text = _RULER.sub(r"\1\1", text)
    total = 1.0 + 0.95 * len(_WORD.findall(text)) + sum(map(_extra, _LONG.findall(text)))
    capitals = _CAPITALS.findall(text)
    total += 0.9 * len(capitals) + 0.12 * sum(map(len, capitals))
    total += 1.15 * len(_DIGITS.findall(text)) + len(_SPACE.findall(text))
    marks = _MARKS.findall(text)
    total += 0.63 * len(marks) + 0.22 * sum(map(len, marks))
    if not text.isascii():
        total += 0.75 * len(_DENSE.findall(text)) + 0.4 * len(_OTHER.findall(text))
        total += 2 * len(_ASTRAL.findall(text))
    return int(total)


def _extra(word: str) -> float:
    """What a long word costs beyond its first token."""
    length = len(word)
    if length < 14:
        return 0.4 if length < 11 else 0.75
    return length / 3 - 3.6
