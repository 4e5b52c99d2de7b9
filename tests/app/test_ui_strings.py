"""The sentences that users read are kept in one file, so that a change of words is reviewed."""

import os
import re
from pathlib import Path

from tests.app.ui_strings import ui_strings

APPROVED = Path(__file__).with_name("ui_strings.txt")

HARD_TO_READ = (
    r"\b[Ss]um(s|med) up\b", r"\bput aside\b", r"\b[Mm]end(ed|s)\b", r"\bfavourite", r"\bcolour",
    r"\bbehaviour", r"summarised", r"\b[Tt]ak(e|en|es|ing) back\b", r"\b[Bb]ring back\b",
    r"\bstands? (in|under|by|below|beside)\b", r"\bThere is nothing to\b",
    r"\b(is|are|was) left out[.:]", r"\b[Nn]o (?!longer)\w+ (fits|waits)\b",
    r"\b[Nn]obody\b", r"\b[Tt]odo list", r"known only at run time", r"\b(is|still) at work\b",
    r"\b[Ll]ive session", r"\btaken off\b", r"\bgave no answer within\b", r"\bmost allowed\b",
)  # fmt: skip
"""Words with a plainer, standard one: continue, fix, compact, stash, ignored, undo, redo …"""


def test_the_sentences_are_those_that_were_reviewed() -> None:
    found = ui_strings()
    if os.environ.get("SNAPSHOT_UPDATE") == "1":
        APPROVED.write_text(found, "utf-8")
    hint = "Read the changed sentences, then approve them with SNAPSHOT_UPDATE=1."
    assert found == APPROVED.read_text("utf-8"), hint


def test_no_sentence_uses_words_that_have_to_be_read_twice() -> None:
    hard = re.compile("|".join(HARD_TO_READ))
    root = Path(__file__).parents[2]
    pages = (*root.glob("docs/*.md"), *root.glob("*.md"), *root.glob("agent/**/*.txt"))
    texts = (ui_strings(), *(page.read_text("utf-8") for page in pages))
    found = [line for text in texts for line in text.splitlines() if hard.search(line)]
    assert found == []
