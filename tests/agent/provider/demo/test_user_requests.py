"""Parsing of requests to the demo model, and of tool results."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.provider.demo import user_requests as r
from agent.provider.demo.conversation import (
    CompletedCall,
    count_entries,
    count_matches,
    failure_sentence,
    file_paths,
)
from agent.provider.demo.responses import long_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("list", r.ListFolder()),
        ("List files", r.ListFolder()),
        ("ls src", r.ListFolder("src")),
        ("please list the files in src/a.", r.ListFolder("src/a")),
        ('list "my folder"', r.ListFolder("my folder")),
        ("read README.md", r.ReadFile("README.md")),
        ("show the file `a.py`", r.ReadFile("a.py")),
        ("read a.py lines 3-9", r.ReadFile("a.py", 3, 9)),
        ("read a.py from line 3", r.ReadFile("a.py", 3)),
        ("search for foo(bar) in src", r.Search(r"foo\(bar\)", "foo(bar)", "src")),
        ("search main", r.Search("main", "main")),
        ("look for 'two words'", r.Search("two words", "two words")),
        ("grep def .*x in a.py", r.Search("def .*x", "def .*x", "a.py")),
        ("find *.py", r.FindFiles("**/*.py")),
        ("find files named src/*.md in docs", r.FindFiles("src/*.md", "docs")),
        ("run git status", r.RunCommand("git status")),
        ("run `ls -la | wc -l`", r.RunCommand("ls -la | wc -l")),
        ("!echo hi.", r.RunCommand("echo hi.")),
        ("create a.txt with Hello there.", r.CreateFile("a.txt", "Hello there.")),
        ("create file notes with 'x\ny'", r.CreateFile("notes", "x\ny")),
        ("make a new file called a/b", r.CreateFile("a/b", "")),
        ("replace a b with c d in x.txt", r.Replace("a b", "c d", "x.txt")),
        ('change "with" to "in" in x.txt', r.Replace("with", "in", "x.txt")),
        ("replace all a with '' in x.txt", r.Replace("a", "", "x.txt", everywhere=True)),
        ("todo one, two; three", r.WriteTodos(("one", "two", "three"))),
        ("todo:\n- one\n- two", r.WriteTodos(("one", "two"))),
        ("ask a sub-agent to list src", r.AskAgent("general", "list src")),
        ("ask explore: read a.py", r.AskAgent("explore", "read a.py")),
        ("think about the weather", r.Think("the weather")),
        ("think", r.Think("")),
        ("write a long answer", r.Stream(r.LONG_ANSWER_WORDS)),
        ("stream 50 words", r.Stream(50)),
        ("stream 999999999 words", r.Stream(r.MAX_WORDS)),
        ("help", r.Help()),
        ("what can you do?", r.Help()),
        ("tour", r.Tour()),
        ("continue", r.Continue()),
        ("thanks!", r.SmallTalk()),
        ("", r.Unknown()),
        ("hello", r.Unknown()),
        ("write a poem", r.Unknown()),
        ("find the bug", r.Unknown()),
        ("list all the bugs in this project", r.Unknown()),
        ("refactor the parser", r.Unknown()),
    ],
)
def test_requests(text, expected):
    assert r.parse_request(text) == expected


@given(st.text(max_size=200))
def test_any_text_is_some_request(text):
    assert r.parse_request(text) is not None


@pytest.mark.parametrize("words", [0, 1, 7, 600])
def test_long_text_has_the_requested_number_of_words(words):
    assert len(long_text(words).split()) == words


def test_the_listing_of_a_folder_is_parsed():
    tree = (
        "shop/\n  src/\n    app/\n      main.py\n    a.py\n"
        "  .env\n  key.pem\n  README.md\n  x y.py\n"
    )
    assert file_paths(tree) == ["README.md", "src/a.py", "src/app/main.py"]
    assert count_entries(tree) == 8
    assert file_paths("a.py\nb.py") == ["a.py", "b.py"]
    assert count_entries("shop/ has nothing to show.") == 0


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("a.py\n  3: one\n  9: two\n\nb.py\n  1: three\n", 3),
        ("No lines match.\n", 0),
        ("", 0),
        ("a.py\n  1: x\n\n(At least 1,200 lines match in 9 files; these are the 1.)", 1200),
        ("a.py\nb.py", 2),
        ("a.py\n\n(250 files match; these are the 100 newest.)", 250),
        ("(No files match.)", 0),
    ],
)
def test_counting_search_results(output, expected):
    assert count_matches(output) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("The user rejected this call.", "That was refused"),
        ("edit of `a` is denied by the rule edit *.", "That was refused"),
        ("The user rejected this call and said: not now", "“not now”"),
        ("Tool execution aborted", "That was stopped"),
        ("There is no file a.py.\nmore", "That did not work: There is no file a.py."),
        ("No a.py. Did you mean b.py?", "Did you mean b.py?"),
        ("ls: Permission denied", "That did not work: ls: Permission denied."),
        ("", "there was no answer"),
    ],
)
def test_failure_sentences(output, expected):
    assert expected in failure_sentence(CompletedCall("x", {}, output, failed=True))
