"""The smallest Textual program that could be an agent: a status line, a response, an input.

Start-up and memory are compared with it: any agent of this kind needs these three widgets.
"""

from textual.app import App, ComposeResult
from textual.widgets import Input, Markdown, Static


class Floor(App[None]):
    CSS = "Static { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield Static("nothing here")
        yield Markdown("")
        yield Input(placeholder="Ask for anything")

    def on_mount(self) -> None:
        self.query_one(Input).focus()


if __name__ == "__main__":
    Floor().run()
