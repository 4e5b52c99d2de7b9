"""The parser of every command, which says what a mistyped word or option can mean."""

import argparse
import re
from collections.abc import Iterable
from typing import Any, NoReturn, TypedDict, cast

MODES = ("ask", "accept edits", "judge")
"""The permission modes of ``--permission-mode``. Allowing everything has an option of its own."""


def add_mode_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the permission mode, both of them as ``mode``."""
    parser.add_argument(
        "--auto",
        dest="mode",
        action="store_const",
        const="auto",
        help="approve everything automatically; deny rules still apply",
    )
    parser.add_argument(
        "--permission-mode",
        dest="mode",
        choices=MODES,
        type=lambda word: word.replace("-", " "),
        metavar="MODE",
        help="ask, accept-edits or judge (a small model approves calls for you)",
    )


class HelpFormatter(argparse.HelpFormatter):
    """argparse's formatter as it is since Python 3.13: the value of an option is named once, and
    the column of names is as wide as the indented ones below a command need."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        for below in self._iter_indented_subactions(action):
            width = len(self._format_action_invocation(below)) + self._current_indent
            self._action_max_length = max(self._action_max_length, width)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class RawHelpFormatter(HelpFormatter, argparse.RawDescriptionHelpFormatter):
    """The same, which keeps the line breaks of descriptions."""


class CommandParser(argparse.ArgumentParser):
    """argparse's parser, with suggestions in its errors."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **{"formatter_class": HelpFormatter, **options})

    def words(self) -> list[str]:
        """Return the options and the words that this parser and those below it know."""
        found: list[str] = []
        for action in self._actions:
            found += action.option_strings
            choices: Iterable[object] = action.choices or ()
            found += [word for word in choices if isinstance(word, str)]
            if isinstance(action.choices, dict):
                below = cast("dict[str, argparse.ArgumentParser]", action.choices).values()
                for one in below:
                    found += one.words() if isinstance(one, CommandParser) else ()
        return found

    def error(self, message: str) -> NoReturn:
        """Print the usage and *message*, with the known word that is nearest; exit with code 2."""
        from difflib import get_close_matches  # only for a mistake

        wrong = re.search(
            r"unrecognized arguments: (--?[^\s=]+)|invalid choice: '([^']+)'", message
        )
        word = (wrong[1] or wrong[2]) if wrong else ""
        known = [one for one in self.words() if one.startswith("-") == word.startswith("-")]
        near = get_close_matches(word, known, n=1, cutoff=0.65) if word else []
        super().error(f"{message}. Did you mean {near[0]}?" if near else message)


class HelpTexts(TypedDict):
    """The texts of a subcommand: in the list of its command, and on its own page."""

    help: str
    description: str


def help_texts(text: str) -> HelpTexts:
    """Return *text*, a phrase that begins with a verb, as the texts of a subcommand."""
    return {"help": text, "description": f"{text[0].upper()}{text[1:]}."}
