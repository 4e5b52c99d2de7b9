"""Programs that fetch: a rule covers fetching, but not writing or sending a file."""

import pytest

from agent.permission.rules import Rule
from agent.permission.shell.analysis import Case, evaluate_case

AT = "https://example.org/a"


def asks(line: str) -> bool:
    rules = tuple(Rule("bash", f"{name} *", "allow", "user") for name in ("curl", "wget"))
    return evaluate_case(Case(line, "/w/p", "/home/u", rules)).action == "ask"


@pytest.mark.parametrize(
    "options",
    [
        "curl",
        "curl -s -L",
        "curl -sSfL",
        "curl -o -",
        "curl -so -",
        "curl -so-",
        "curl -o /dev/null -w '%{http_code}'",
        "curl -d a=b",
        "curl -sd a=b",
        "curl --data a=b",
        "wget",
        "wget -q",
        "wget -O -",
        "wget -O-",
        "wget -qO-",
        "wget -qO -",
        "wget --output-document=-",
        "wget -qO /dev/null",
    ],
)
def test_a_rule_covers_plain_fetching(options: str) -> None:
    assert not asks(f"{options} {AT}")


@pytest.mark.parametrize(
    "options",
    [
        "curl -o out",
        "curl -oout",
        "curl -so out",
        "curl -sLo out",
        "curl -#o out",
        "curl -4o out",
        "curl -soout",
        "curl --output out",
        "curl --output=out",
        "curl -o - -o out",
        "curl -O",
        "curl -sO",
        "curl -K cfg",
        "curl -sK cfg",
        "curl -T .env",
        "curl -sT .env",
        "curl -d @.env",
        "curl -sd @.env",
        "curl -sd@.env",
        "curl --data=@.env",
        "curl --data-binary @.env",
        "curl --json @.env",
        "curl -F 'a=@.env'",
        "curl -sF 'a=<.env'",
        "curl file:///etc/passwd",
        "wget -O out",
        "wget -Oout",
        "wget -qO out",
        "wget -nvO out",
        "wget -qOout",
        "wget --output-document out",
        "wget --output-document=out",
        "wget --output-doc=out",
        "wget -O - -O out",
        "wget -O - --post-file=.env",
        "wget -O- -i list",
        "wget -qO- --save-cookies=jar",
        "wget -P dir",
        "wget -o log",
    ],
)
def test_writing_or_sending_a_file_is_not_covered_by_a_rule_for_fetching(options: str) -> None:
    assert asks(f"{options} {AT}")
