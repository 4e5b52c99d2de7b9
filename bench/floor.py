"""The smallest Textual program: what start and memory are compared with."""

from textual.app import App, ComposeResult
from textual.widgets import Static, TextArea


class Floor(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("Ask for anything")
        yield TextArea()


if __name__ == "__main__":
    Floor().run()
