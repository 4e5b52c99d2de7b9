"""The records of programs, the names of commands and what "always" stores for them."""

import re
from collections.abc import Iterator

import pytest

from agent.permission.programs.lookup import program, records
from agent.permission.programs.record import Command, Program
from agent.permission.rules import Rule, evaluate
from agent.permission.shell.analysis import analyze, command_needs
from agent.records.requests import PermissionNeed

FOLDER, HOME = "/home/u/shop", "/home/u"


def needs_of(line: str) -> list[PermissionNeed]:
    needs = command_needs(line, directory=FOLDER, project=FOLDER, home=HOME)
    return [need for need in needs if need.permission == "bash"]


def denied(line: str, pattern: str) -> bool:
    rules = (Rule("bash", "*", "allow", "config"), Rule("bash", pattern, "deny", "config"))
    return any(evaluate(need, rules).action == "deny" for need in needs_of(line))


def commands(known: Command, *path: str) -> Iterator[tuple[tuple[str, ...], Command]]:
    """The command and all below it, each with the words that name it."""
    for name in known.names.split():
        yield (*path, name), known
        for inner in known.subcommands:
            yield from commands(inner, *path, name)


def all_programs() -> list[Program]:
    return list({id(each): each for each in records().values()}.values())


ALL = [entry for each in all_programs() for entry in commands(each)]
LENGTHS = {words: command.always for words, command in ALL if command.always is not None}


def test_each_program_has_one_record() -> None:
    names = [name for each in all_programs() for name in each.names.split()]
    assert len(names) == len(set(names)) == len(records())


def test_each_option_and_subcommand_is_recorded_once() -> None:
    for words, command in ALL:
        options = [name for option in command.options for name in option.names.split()]
        subcommands = [name for inner in command.subcommands for name in inner.names.split()]
        assert len(options) == len(set(options)), words
        assert len(subcommands) == len(set(subcommands)), words
        if words != ("find",):
            assert all(re.fullmatch(r"-[\w./]|--?\w[\w.-]+", name) for name in options), words


def test_the_catalog_has_the_required_programs() -> None:
    assert len(LENGTHS) >= 450
    for words, length in LENGTHS.items():
        known = program(words[0])
        assert known is not None
        assert len(words) <= length <= 4, words
        assert known.prefix_length([*words, "alpha", "beta", "gamma"]) == length, words


def test_every_entry_is_one_command_and_stores_nothing_wider_than_itself() -> None:
    for words, length in LENGTHS.items():
        filled = [*words, "alpha", "beta", "gamma"][: max(length, len(words))]
        line = " ".join([*filled, "operand"])
        found = analyze(line, directory=FOLDER, project=FOLDER, home=HOME)
        assert not found.problem, line
        assert words[0] in found.commands, line
        for need in found.needs:
            if need.permission == "bash" and need.always and need.always.endswith(" *"):
                assert len(need.always.split()) - 1 >= length, (line, need.always)


RUNNING_OTHERS = sorted(
    name
    for name, each in records().items()
    if each.interpreter or each.wrapper or each.shell_kind or each.elsewhere or each.exact
)


@pytest.mark.parametrize("tail", ["x", "x y", "build x", "-c x"])
def test_no_interpreter_or_wrapper_is_stored_as_a_prefix(tail: str) -> None:
    for name in RUNNING_OTHERS:
        wrapper = records()[name].wrapper
        for need in needs_of(f"{name} {tail}"):
            if wrapper is not None and wrapper.named and need.always:
                assert len(need.always.split()) > 2, need.always  # with the program it runs
                continue
            if need.pattern.split()[0] == name:
                wide = need.always is not None and need.always.endswith(" *")
                listed = (name,) in LENGTHS
                assert not wide or (listed and len((need.always or "").split()) > 2), need


@pytest.mark.parametrize("inner", ["python x.py", "node x.js", "bash x", "rm x", "env ls", "ruby"])
def test_a_runner_with_an_interpreter_after_it_is_not_stored_as_a_prefix(inner: str) -> None:
    wide = f"{inner.split(maxsplit=1)[0]} *"
    runners = [words for words, command in ALL if command.wrapper is not None and len(words) > 1]
    for head in [*runners, ("npx",), ("uvx",), ("dotenv",), ("sg",)]:
        for need in needs_of(f"{' '.join(head)} {inner}"):
            assert need.always is None or not need.always.endswith(wide), need


def test_subcommands_that_run_code_store_their_exact_line_only() -> None:
    for words, command in ALL:
        if command.runs_code:
            for need in needs_of(f"{' '.join(words)} operand more"):
                assert need.always is None or not need.always.endswith(" *"), need


NAMED = """
npm --prefix web publish | npm publish *
npm --prefix=web publish --tag x | npm publish *
npm -w web run deploy | npm run deploy *
npm --unknown web publish | npm publish *
npm --unknown publish | npm publish *
npm run --prefix web deploy | npm run deploy *
pnpm --filter web publish | pnpm publish *
yarn --cwd web publish | yarn publish *
docker --context prod rm x | docker rm *
docker -H tcp://x rm x | docker rm *
docker compose -f a.yml -p shop down -v | docker compose down *
kubectl -n prod delete pod x | kubectl delete *
kubectl --context=prod -n shop delete pod x | kubectl delete *
kubectl -nprod delete pod x | kubectl delete *
kubectl delete -n prod pod x | kubectl delete pod *
cargo --manifest-path a/Cargo.toml publish | cargo publish *
cargo +nightly publish | cargo publish *
cargo +nightly -v --config x publish | cargo publish *
git -C ../other push | git push *
git -c a.b=c --git-dir x push | git push *
aws --profile x --region y s3 rm s3://a | aws s3 rm *
aws s3 --region y rm s3://a | aws s3 rm *
gcloud --project p compute instances delete i | gcloud compute instances delete *
terraform -chdir=prod destroy | terraform destroy *
helm --kube-context c -n shop uninstall shop | helm uninstall *
gh -R o/r pr merge 4 | gh pr merge *
gh pr -R o/r merge 4 | gh pr merge *
systemctl --user -M host stop x | systemctl stop *
apt-get -y -o A=b remove x | apt-get remove *
make -C sub publish | make publish *
make -j publish | make publish *
make -j 4 publish | make publish *
mvn -f web/pom.xml deploy | mvn deploy *
gradle -p web publish | gradle publish *
go -C web install | go install *
uv --directory web publish | uv publish *
poetry -C web publish | poetry publish *
python -m pip install x | pip install *
python3.12 -I -m pip --proxy p install x | pip install *
corepack pnpm --filter web publish | pnpm publish *
composer -d web remove x | composer remove *
redis-cli -h host -p 1 flushall | redis-cli flushall *
sudo npm --prefix web publish | npm publish *
x=$(npm --prefix web publish) | npm publish *
"""


@pytest.mark.parametrize("row", NAMED.strip().splitlines())
def test_options_inside_a_name_hide_nothing_from_a_deny_rule(row: str) -> None:
    line, pattern = row.split(" | ")
    assert denied(line, pattern)


OTHERS = """
npm --prefix publish test | npm publish *
npm run publish-docs | npm publish *
npm --silent run publish | npm publish *
kubectl -n delete get pods | kubectl delete *
docker compose -f down.yml up | docker compose down *
make -C publish test | make publish *
git -C push status | git push *
cargo --manifest-path publish build | cargo publish *
python -m http.server pip install | pip install *
python manage.py -m pip | pip *
"""


@pytest.mark.parametrize("row", OTHERS.strip().splitlines())
def test_the_value_of_an_option_is_no_subcommand(row: str) -> None:
    line, pattern = row.split(" | ")
    assert not denied(line, pattern)


def test_a_line_of_options_is_read_in_a_bounded_number_of_ways() -> None:
    (need,) = needs_of("npm " + "--a " * 400 + "publish")
    assert len(need.aliases) < 100


def test_every_program_with_options_inside_its_name_is_named_by_its_words() -> None:
    for words, command in ALL:
        if isinstance(command, Program) and any(o.effect == "unknown" for o in command.options):
            assert command.named_by_words, words
