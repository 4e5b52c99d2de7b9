"""The bench of the judge: its figures for judges whose answers are known."""

import json
from pathlib import Path

import pytest

from agent.runtime.runtime import open_runtime
from bench.judge import (
    OWN_CASES,
    Judge,
    ModelJudge,
    Score,
    ScriptedJudge,
    main,
    parser,
    read_cases,
    rows,
    run,
    score,
)
from tests.support.harness import MODEL, config_for, environment, write_config
from tests.support.model_server import ModelServer
from tests.support.script import Text, Tokens, answer

RULE_CASES = Path(__file__).parents[1] / "data" / "permission" / "bash.jsonl"


async def measured(judge: Judge | None, path: Path = OWN_CASES) -> Score:
    return await score(judge, read_cases(path))


@pytest.mark.parametrize("path", [OWN_CASES, RULE_CASES])
async def test_a_judge_that_is_always_right_misses_nothing_and_asks_for_nothing_else(
    path: Path,
) -> None:
    right = await measured(ScriptedJudge("right"), path)
    assert right.missed == []
    assert [case.id for case in right.over_asked if not case.floor] == []
    assert right.asked > 0


@pytest.mark.parametrize("path", [OWN_CASES, RULE_CASES])
async def test_a_judge_that_allows_nothing_changes_nothing(path: Path) -> None:
    alone, asks = await measured(None, path), await measured(ScriptedJudge("ask"), path)
    assert alone.missed == asks.missed == []
    assert alone.over_asked == asks.over_asked


async def test_a_judge_that_allows_everything_misses_what_is_not_kept_from_it() -> None:
    cases = read_cases(OWN_CASES)
    allows = await score(ScriptedJudge("allow"), cases)
    dangerous = [case for case in cases if not case.harmless]
    assert allows.missed == [case for case in dangerous if not case.floor]
    kept = {case.command for case in dangerous if case.floor}
    assert {"cat .env", "rm -rf src", "git push --force origin main", "kill -9 1"} <= kept
    assert any("| bash" in command for command in kept)


async def test_no_harmless_case_is_kept_from_the_judge() -> None:
    assert [case.command for case in read_cases(OWN_CASES) if case.harmless and case.floor] == []


def test_the_cases_have_ids_of_their_own_and_a_reason() -> None:
    cases = [json.loads(line) for line in OWN_CASES.read_text("utf-8").splitlines()]
    assert len({case["id"] for case in cases}) == len(cases)
    assert all(case["why"] and case["prompts"] for case in cases)


async def test_the_documentation_has_the_figures() -> None:
    page = (Path(__file__).parents[2] / "docs" / "permissions.md").read_text("utf-8")
    judges: dict[str, Judge | None] = {
        "none: the analysis alone": None,
        "scripted: allows everything": ScriptedJudge("allow"),
        "scripted: allows nothing": ScriptedJudge("ask"),
        "scripted: always right": ScriptedJudge("right"),
    }
    for name, judge in judges.items():
        shown = []
        for path in (OWN_CASES, RULE_CASES):
            cases = read_cases(path)
            found = await score(judge, cases)
            shown += rows([([found], judge)], cases)[1][1:3]
        cells = (cell.replace("100.0", "100").replace("0 (0.0 %)", "0") for cell in shown)
        assert f"| {name} | {' | '.join(cells)} |" in page
    cases = read_cases(OWN_CASES)
    dangerous = [case for case in cases if not case.harmless]
    kept = sum(bool(case.floor) for case in cases)
    assert f"{kept} of the {len(dangerous)} dangerous calls still" in " ".join(page.split())


async def test_a_model_is_called_with_the_settings_of_the_user(tmp_path: Path) -> None:
    """A server that allows tests and answers nonsense otherwise."""
    cases = [case for case in read_cases(OWN_CASES) if case.kind in {"test", "publish"}]

    def script(body: dict):
        question = json.loads(body["messages"][1]["content"])
        tests = "pytest" in question["call"]["content"][0]
        text = json.dumps({"verdict": "allow", "reason": "it runs tests"}) if tests else "Sure!"
        return answer(Text(text), Tokens(prompt=100, completion=20))

    home, folder = tmp_path / "home", tmp_path / "empty"
    folder.mkdir()
    async with ModelServer() as server:
        server.always(script)
        write_config(home, config_for(server))
        runtime = await open_runtime(folder, env=environment(home))
        try:
            judge = ModelJudge(runtime, MODEL)
            found = await score(judge, cases)
        finally:
            await runtime.close()
    tests = [case for case in cases if "pytest" in case.command]
    assert found.missed == []
    assert len(found.over_asked) == sum(case.harmless for case in cases) - len(tests)
    assert found.without.total() == found.asked - len(tests)
    assert judge.usage.input == 100 * len(server.requests) == 100 * found.asked
    assert len(judge.seconds) == found.asked
    (_, row) = rows([([found], judge)], cases)
    assert row[0] == MODEL
    assert row[1].startswith("0 (0.0 %)")


async def test_rounds_are_summed_up() -> None:
    """A model can answer differently each time."""
    cases = read_cases(OWN_CASES)
    judge = ScriptedJudge("allow")
    found = [await score(judge, cases), await score(ScriptedJudge("ask"), cases)]
    (_, row) = rows([(found, judge)], cases)
    assert row[1:3] == ["0 to 59 (31.4 %)", "0 to 83 (50.0 %)"]


async def test_the_table_has_a_row_for_each_judge(capsys: pytest.CaptureFixture[str]) -> None:
    assert await run(parser().parse_args([str(RULE_CASES), "--details"])) == 0
    shown = capsys.readouterr().out
    for name in ("none: the analysis alone", "scripted: ask", "scripted: allow", "always right"):
        assert name in shown


def test_a_file_that_cannot_be_read_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["judge", str(tmp_path / "missing.jsonl")])
    assert main() == 1
    assert "The cases cannot be read" in capsys.readouterr().err
