"""The demo model's longer texts."""

INTRODUCTION = (
    "I am demo/offline: a small script, not a language model. "
    "I follow a few plain requests, and nothing leaves this machine."
)

HELP = """\
I follow these requests, through the same tools that a real model would use:

- `list` or `list src`
- `read README.md` or `read README.md lines 1-20`
- `search for main in src`, `grep def .*main`
- `find *.py`
- `run git status`
- `create notes.txt with some text`
- `replace old with new in notes.txt`
- `todo first thing, second thing`
- `ask a sub-agent to list src`
- `think about anything`
- `write a long answer` or `stream 300 words`, to try how to stop me
- `tour` for two minutes through everything

esc or ctrl+c stops me at any time. What was said is kept: `opencode-py --continue` resumes it."""

CONNECT = """\
- **Stop**: esc or ctrl+c while I work. What was done until then is kept; ask on at once.
- **Resume**: every session is kept. `opencode-py --continue` opens the newest one.
- **Connect a model**: set a key such as `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` and start again \
with `--model provider/model`, or name a server of your own under `provider` in the config file."""

_SENTENCES = (
    "This text is as long as you asked and says little, so that there is time to stop it.",
    "Press esc or ctrl+c now, and it ends at once; what has arrived so far stays.",
    "A stopped answer is marked as interrupted, and the next request works right away.",
    "While text arrives you may scroll up, and the view stays where you put it.",
    "Words come in small pieces, as they do from a real model.",
    "Each piece is kept on disk within a quarter of a second, so a crash loses next to nothing.",
    "You may type the next request while I write; it waits its turn and is shown as queued.",
    "A real model would use this room for something better.",
)


def long_text(words: int) -> str:
    """Return a text of exactly *words* words, in paragraphs of four sentences."""
    pieces: list[str] = []
    count = sentence = 0
    while count < words:
        taken = _SENTENCES[sentence % len(_SENTENCES)].split()[: words - count]
        count += len(taken)
        sentence += 1
        pieces.append(" ".join(taken) + ("\n\n" if sentence % 4 == 0 else " "))
    return "".join(pieces).rstrip()


def thinking_text(about: str) -> str:
    """Return reasoning about *about*, which says honestly how little it is."""
    subject = about.rstrip(" .?!") or "nothing in particular"
    return (
        f"**Thinking about {subject}**\n\n"
        f"I was asked to think about {subject}. I am a script, so these thoughts were written "
        "beforehand; a real model would work out an answer here, step by step.\n\n"
        "First it would ask what is known and what is not. Then it would look for what could be "
        "checked: a file to read, a test to run. It would weigh two or three ways and drop those "
        "that only move the trouble elsewhere.\n\n"
        "At the end it would choose, and say how sure it is. That is the shape of reasoning; "
        "it folds to one line when it is over and can be unfolded again."
    )
