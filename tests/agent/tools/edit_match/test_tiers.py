"""Each tier of edit matching."""

import time

import pytest

from agent.tools.edit_match import EditRefused, apply_edit
from tests.agent.tools.edit_match.hunks import after


def refusal(text: str, old: str, new: str, *, replace_all: bool = False) -> EditRefused:
    with pytest.raises(EditRefused) as raised:
        apply_edit(text, old, new, replace_all=replace_all)
    return raised.value


# Exact


def test_two_exact_places_are_the_end_never_a_reason_for_a_looser_tier() -> None:
    """If whitespace counted, the second place would be the only one."""
    text = "def a():\n    x = 1\n\ndef b():\n    x = 1\n    y = 2\n"
    assert "2 places (lines 2, 5)" in refusal(text, "    x = 1\n", "    x = 3\n").reason


def test_an_addition_that_the_file_already_has_is_not_repeated() -> None:
    text = "import os\nimport argparse\n\nmain()\n"
    refused = refusal(text, "import os\n", "import os\nimport argparse\n")
    assert "applied already" in refused.reason
    assert "line 1" in refused.reason
    assert after(text, "import os\n", "import os\nimport re\n").startswith("import os\nimport re\n")


def test_a_line_after_an_open_bracket_is_indented_deeper() -> None:
    text = "class A:\n    run(one, two)\n"
    assert after(text, "run(one, two)", "run(\n    one,\n    two,\n)") == (
        "class A:\n    run(\n        one,\n        two,\n    )\n"
    )


# Blocks of whole lines


def test_lines_that_both_strings_show_keep_the_files_bytes() -> None:
    text = "\tif x:  \n\t\ta = 'it’s'\n\t\tb = 2\n"
    edit = apply_edit(
        text, "if x:\n    a = 'it's'\n    b = 2\n", "if x:\n    a = 'it's'\n    b = 3\n"
    )
    assert edit.text == "\tif x:  \n\t\ta = 'it’s'\n\t\tb = 3\n"
    assert len(edit.replacements) == 1


def test_two_blocks_that_differ_in_depth_only_are_two_places() -> None:
    text = "  run(first)\n  stop(first)\n--\n      run(first)\n      stop(first)\n"
    refused = refusal(text, "run(first)\nstop(first)\nno\n", "x\n")
    assert "not found" in refused.reason
    refused = refusal(text, " run(first)\n stop(first)\n", " x\n")
    assert "whitespace aside, in 2 places (lines 1, 4)" in refused.reason


def test_replace_all_changes_every_block_with_its_own_depth() -> None:
    text = "  run(first)\n--\n\t\trun(first)\n"
    assert after(text, " run(first) ", " run(second)", replace_all=True) == (
        "  run(second)\n--\n\t\trun(second)\n"
    )


def test_a_few_characters_are_not_found_blind_to_white_space() -> None:
    assert "not found" in refusal("x = { }\n", "{}", "{1}").reason


def test_a_blank_line_that_old_string_omits_stays() -> None:
    text = "alpha()\n\nbeta()\n\ngamma()\n"
    assert after(text, "alpha()\nbeta()\n", "alpha()\nother()\n") == (
        "alpha()\n\nother()\n\ngamma()\n"
    )
    assert after(text, "alpha()\nbeta()", "first()\nsecond()") == (
        "first()\n\nsecond()\n\ngamma()\n"
    )


def test_intended_indentation_is_distinguished_from_a_slip() -> None:
    text = "class A:\n    start(now)\n    run(all)\n    stop(now)\n"
    old = "start(now)\nrun(all)\nstop(now) \n"
    new = "start(now)\nif ready:\n    run(all)\nstop(now)\n"
    assert after(text, old, new) == (
        "class A:\n    start(now)\n    if ready:\n        run(all)\n    stop(now)\n"
    )
    # Everything is indented: old_string alone could also be of a file at another depth.
    refused = refusal(text, old, "if ready:\n    start(now)\n    run(all)\n    stop(now)\n")
    assert "on purpose" in refused.reason


def test_a_cut_first_line_is_found_but_never_written() -> None:
    text = "type tick time.Duration\n\nfunc new() tick {\n\treturn tick(0)  \n}\n"
    old = "time.Duration\n\nfunc new() tick {\n\treturn tick(0)\n"
    assert after(text, old, old.replace("0", "1")) == text.replace("(0)  ", "(1)")
    assert "another one there" in refusal(text, old, old.replace("Duration", "Time")).reason


def test_the_last_line_keeps_its_missing_break() -> None:
    assert after("a = 1\nbcde = 2", " bcde = 2\n", " bcde = 3\n") == "a = 1\nbcde = 3"
    assert after("abcd = 1\nbcde = 2", "abcd = 1 \nbcde = 2\n", "abcd = 1\n") == "abcd = 1"
    assert after("abcd = 1\nbcde = 2", "bcde = 2 \n", "bcde = 2\nc = 3\n") == (
        "abcd = 1\nbcde = 2\nc = 3"
    )


def test_new_lines_take_the_ending_of_those_around_them() -> None:
    text = "one = 1\r\ntwo = 2\r\nfour = 4\nfive = 5\n"
    assert after(text, " two = 2", " two = 2\n three = 3") == (
        "one = 1\r\ntwo = 2\r\nthree = 3\nfour = 4\nfive = 5\n"
    )
    assert after(text, "two = 2\nfour = 4\nfive = 5", "two = 3\nfour = 4\nfive = 6") == (
        "one = 1\r\ntwo = 3\r\nfour = 4\nfive = 6\n"
    )


# Spoilings


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        # Undone in new_string only where it shows the same.
        ('say("a")\n', 'say(\\"a\\")', 'say(\\"b\\")', 'say("b")\n'),
        ('say("a")\n', 'say(\\"a\\")', 'say("\\"b\\"")', 'say("\\"b\\"")\n'),
        ("a < b && c\n", "a &lt; b &amp;&amp; c", "a &lt; b", "a < b\n"),
        ("a < b && c\n", "a &lt; b &amp;&amp; c", 'a < "&lt;"', 'a < "&lt;"\n'),
        ("\tx = 1\n\ty = 2\n", "\\tx = 1\\n\\ty = 2", "\\tx = 3\\n\\ty = 2", "\tx = 3\n\ty = 2\n"),
        ("re(r'\\d')\n", "re(r'\\\\d')", "re(r'\\\\w')", "re(r'\\w')\n"),
        ("a = 1\nb = 2\n", "1: a = 1\n2: b = 2", "1: a = 1\n2: b = 3", "a = 1\nb = 3\n"),
        # A removed line, an added line without a number, continued numbers.
        ("a = 1\nb = 2\n", "1: a = 1\n2: b = 2", "2: b = 2", "b = 2\n"),
        ("a = 1\nb = 2\n", "1: a = 1\n2: b = 2", "1: a = 1\nx\n2: b = 2", "a = 1\nx\nb = 2\n"),
        ("a = 1\nb = 2\n", "1:a = 1\n2:b = 2", "1:a = 1\n2:x\n3:b = 2", "a = 1\nx\nb = 2\n"),
    ],
)
def test_known_malformations_are_repaired(text: str, old: str, new: str, result: str) -> None:
    assert after(text, old, new) == result


def test_numbers_that_are_not_those_of_lines_are_text() -> None:
    assert "not found" in refusal("x\ny\n", "1: x\n3: y", "1: x\n3: z").reason
    # One line or two must have their true numbers: this is a map.
    text = "codes = {\n    500: broken,\n}\n"
    assert "not found" in refusal(text, "404: broken,", "404: gone,").reason
    assert after(text, "2:     500: broken,", "2:     500: gone,") == text.replace("broken", "gone")


@pytest.mark.parametrize("old", ["1: ", "1: \n2: \n3: ", "\\t", "\\n", "\\n\\t"])
@pytest.mark.parametrize("replace_all", [False, True])
def test_an_edit_that_leaves_only_white_space_is_no_reading(old: str, *, replace_all: bool) -> None:
    assert "not found" in refusal("a\n\tb\n", old, "x", replace_all=replace_all).reason


def test_numbers_in_some_lines_of_new_string_are_not_guessed_at() -> None:
    refused = refusal("a\nb\n", "1: a\n2: b", "1: a\nx\n2: c")
    assert "some lines of new_string have line numbers" in refused.reason


# All but one line

BLOCK = (
    "def fetch(address, tries):\n"
    "    for number in range(tries):\n"
    "        answer = connect(address)\n"
    "        if answer.ready:\n"
    "            return answer.body\n"
    "    raise Unreachable(address)\n"
)
TEXT = f"import net\n\n\n{BLOCK}\n\ndef main():\n    print(fetch(HOME, 3))\n"


def test_a_slip_in_a_kept_line_is_passed_over_and_named() -> None:
    old = BLOCK.replace("connect(address)", "conect(address)")
    edit = apply_edit(TEXT, old, old.replace("answer.body", "answer.text"))
    assert edit.text == TEXT.replace("answer.body", "answer.text")
    assert "kept as in the file, though old_string differs there: line 6" in edit.notes


def test_a_line_too_many_one_too_few_or_two_swapped_are_passed_over() -> None:
    lines = BLOCK.splitlines(keepends=True)
    few = lines[:2] + lines[3:]
    many = [*lines[:3], "        log(answer)\n", *lines[3:]]
    swapped = [lines[0], lines[2], lines[1], *lines[3:]]
    for block in (few, many, swapped):
        old = "".join(block)
        assert after(TEXT, old, old.replace("Unreachable", "Silent")) == TEXT.replace(
            "Unreachable", "Silent"
        )


def test_a_removed_line_must_be_the_files() -> None:
    old = BLOCK.replace("answer = connect(address)", "result = ask(somebody)")
    refused = refusal(TEXT, old, old.replace("result = ask(somebody)", "result = ask(us)"))
    assert "another one there (line 6)" in refused.reason
    assert "6:         answer = connect(address)" in refused.hint


def test_a_line_that_old_string_does_not_show_is_not_removed_with_others() -> None:
    old = BLOCK.replace("        answer = connect(address)\n", "")
    refused = refusal(TEXT, old, old.replace("range(tries)", "range(9)"))
    assert "Line 6 of the file" in refused.reason


def test_a_line_much_like_the_files_is_a_twins() -> None:
    """A twin differs in a word, a slip in a letter."""
    old = BLOCK.replace("answer = connect(address)", "answer = disconnect(address)")
    assert "not found" in refusal(TEXT, old, old.replace("answer.body", "answer.text")).reason


def test_a_block_of_very_common_lines_is_no_proof() -> None:
    text = TEXT + BLOCK.replace("def fetch", "def again")
    old = BLOCK.replace("connect(address)", "conect(address)").replace("def fetch", "def fech")
    assert "not found" in refusal(text, old, old.replace("answer.body", "x")).reason


def test_a_line_of_another_place_makes_two_places_mixed() -> None:
    old = BLOCK.replace("        answer = connect(address)", "    print(fetch(HOME, 3))")
    assert "not found" in refusal(TEXT, old, old.replace("answer.body", "x")).reason


def test_the_near_tier_never_replaces_all() -> None:
    old = BLOCK.replace("connect(address)", "conect(address)")
    assert "not found" in refusal(TEXT, old, "x", replace_all=True).reason


# Messages of refusals and successes


def test_a_refusal_shows_the_nearest_block_with_numbers_and_tabs() -> None:
    refused = refusal("a\n\tif x {\n\t\ty() \n\t}\n", "if x {\n\tz(1)\n}", "q")
    assert "2: →if x {\n3: →→y()·\n4: →}" in refused.hint


def test_a_refusal_names_a_placeholder_line() -> None:
    refused = refusal(TEXT, "import net\n# ... rest of the code ...\ndef main():", "x")
    assert "'# ... rest of the code ...' is a placeholder for omitted text" in refused.reason


def test_a_success_notes_tolerated_differences() -> None:
    edit = apply_edit(
        "\tif x {\n\t\ty()\n\t}\n", "    if x {\n        y()\n", "    if x {\n        z()\n"
    )
    assert edit.text == "\tif x {\n\t\tz()\n\t}\n"
    assert edit.notes == (
        "matched after ignoring differences in whitespace",
        "new_string was indented as the file is (from 4 spaces to tabs)",
    )


def test_an_edit_that_is_already_applied_is_recognized() -> None:
    refused = refusal(
        TEXT.replace("answer.body", "answer.text"), BLOCK, BLOCK.replace("body", "text")
    )
    assert "applied already" in refused.reason
    assert "line 4" in refused.reason


def test_edits_of_large_files_are_fast() -> None:
    """50 ms of CPU by the exact tier and 500 ms by the loosest, ten times over as a guard."""
    text = "".join(f"value_{n} = compute({n % 97}, {n % 89})\n" for n in range(10_000))
    old = "".join(f"value_{n} = compute({n % 97}, {n % 89})\n" for n in range(9_000, 9_006))
    start = time.process_time()
    assert after(text, old, "x\n").count("\n") == 9_995
    exact = time.process_time() - start
    slip = old.replace("value_9003", "valeu_9003")
    assert after(text, slip, slip.replace("value_9001 =", "value_9001 +="))
    assert refusal(text, slip.replace("compute", "count"), "x")
    loosest = time.process_time() - start
    assert exact < 0.5
    assert loosest < 10


def test_a_very_large_file_is_searched_for_the_exact_text_only() -> None:
    text = "0123456789\n" * 2_000_000 + "the end\n"
    assert after(text, "the end", "the  end").endswith("the  end\n")
    assert "only the exact text" in refusal(text, " the  end ", "x").reason


def test_an_addition_next_to_a_missing_line_cannot_equal_that_line() -> None:
    """It would be unclear which of the two lines is kept and which is new."""
    old = BLOCK.replace("        if answer.ready:\n", "    }\n")
    new = old.replace("    }\n", "        more()\n    }\n    }\n")
    assert "adds the same line beside it" in refusal(TEXT, old, new).reason
