"""How commands are named and what "always" may store for them (spec 4, M7; B5)."""

import pytest

from agent.permission.programs.arity import ARITY, EXACT, EXACT_USES, arity
from agent.permission.programs.interpreters import INTERPRETERS
from agent.permission.programs.subcommands import VALUE_FLAGS
from agent.permission.programs.wrapper_table import OPAQUE, RUNNERS, SHELLS, WRAPPERS
from agent.permission.rules import Rule, judge
from agent.permission.shell.analysis import analyse, bash_needs
from agent.records.requests import Need

PLACE, HOME = "/desk/shop", "/home/u"


def needs_of(line: str) -> list[Need]:
    needs = bash_needs(line, directory=PLACE, project=PLACE, home=HOME)
    return [need for need in needs if need.permission == "bash"]


def denied(line: str, pattern: str) -> bool:
    rules = (Rule("bash", "*", "allow", "config"), Rule("bash", pattern, "deny", "config"))
    return any(judge(need, rules).action == "deny" for need in needs_of(line))


def test_m7_the_table_has_the_entries_that_are_asked_for() -> None:
    assert len(ARITY) >= 450
    for entry, words in ARITY.items():
        assert len(entry) <= words <= 4, entry
        assert arity([*entry, "alpha", "beta", "gamma"]) == words, entry


def test_m7_every_entry_parses_as_one_command_and_offers_nothing_wider_than_itself() -> None:
    for entry, words in ARITY.items():
        filled = [*entry, "alpha", "beta", "gamma"][: max(words, len(entry))]
        line = " ".join([*filled, "operand"])
        found = analyse(line, directory=PLACE, project=PLACE, home=HOME)
        assert not found.problem, line
        assert entry[0] in found.commands, line
        for need in found.needs:
            if need.permission == "bash" and need.always and need.always.endswith(" *"):
                assert len(need.always.split()) - 1 >= words, (line, need.always)


PROGRAMS = sorted({*INTERPRETERS, *WRAPPERS, *SHELLS, *OPAQUE, *EXACT})


@pytest.mark.parametrize("tail", ["x", "x y", "build x", "-c x"])
def test_m7_no_interpreter_or_wrapper_is_offered_as_a_prefix(tail: str) -> None:
    runners = ("npx", "bunx", "uvx", "pnpx")
    for program in PROGRAMS:
        for need in needs_of(f"{program} {tail}"):
            if program in runners and need.always:
                assert len(need.always.split()) > 2, need.always  # with the program it runs
                continue
            if need.pattern.split()[0] == program:
                wide = need.always is not None and need.always.endswith(" *")
                known = (program,) in ARITY
                assert not wide or (known and len((need.always or "").split()) > 2), need


@pytest.mark.parametrize("inner", ["python x.py", "node x.js", "bash x", "rm x", "env ls", "ruby"])
def test_m7_what_runs_another_program_is_not_offered_with_an_interpreter_behind(inner: str) -> None:
    wide = f"{inner.split(maxsplit=1)[0]} *"
    for head in [*RUNNERS, ("npx",), ("uvx",)]:
        for need in needs_of(f"{' '.join(head)} {inner}"):
            assert need.always is None or not need.always.endswith(wide), need


def test_m7_subcommands_that_run_code_offer_their_exact_line_only() -> None:
    for program, uses in EXACT_USES.items():
        for use in uses or ("anything",):
            for need in needs_of(f"{program} {use} operand more"):
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
def test_m7_flags_inside_a_name_hide_nothing_from_a_deny(row: str) -> None:
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
def test_m7_the_value_of_a_flag_is_no_subcommand(row: str) -> None:
    line, pattern = row.split(" | ")
    assert not denied(line, pattern)


def test_m7_a_line_of_flags_is_read_in_bounded_time_and_readings() -> None:
    (need,) = needs_of("npm " + "--a " * 400 + "publish")
    assert len(need.aliases) < 100


def test_m7_every_program_with_flags_is_one_that_is_named_by_its_words() -> None:
    for program in VALUE_FLAGS:
        assert (program,) in ARITY or program in {"npx", "gmake", "micromamba"}, program
