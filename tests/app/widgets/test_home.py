"""The text of the home page."""

import pytest

from app.session_state.folder_facts import Workspace
from app.widgets.home import HomeFacts, home_text


@pytest.mark.parametrize(
    ("servers", "shown"),
    [
        (("Ollama",), "Ollama runs on this machine: /connect uses its models"),
        (("Ollama", "vLLM"), "Ollama and vLLM run on this machine: /connect uses their models"),
        (
            ("Ollama", "LM Studio", "vLLM"),
            "Ollama, LM Studio and vLLM run on this machine: /connect uses their models",
        ),
    ],
)
def test_servers_of_this_machine_are_named(servers: tuple[str, ...], shown: str) -> None:
    facts = HomeFacts(workspace=Workspace("~/shop"), model="demo/offline", local=servers)
    assert shown in home_text(facts, 80).plain
