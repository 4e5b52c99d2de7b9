"""What an answer "always" to one command covers, and what it leaves to be asked."""

from pathlib import Path

import pytest

from agent.permission.rules import ALWAYS, DEFAULT_RULES, SAVED, Rule, evaluate, strictest
from agent.permission.shell.analysis import command_needs
from agent.records.requests import Action, PermissionNeed

FOLDER, HOME = "/srv/shop", "/home/ann"


def needs_of(line: str, directory: str = FOLDER) -> tuple[PermissionNeed, ...]:
    return command_needs(
        line, directory=directory, project=FOLDER, home=HOME, start=FOLDER
    )  # fmt: skip


def always(line: str, directory: str = FOLDER, source: str = ALWAYS) -> tuple[Rule, ...]:
    """Return the rules that "always" to *line* stores."""
    return tuple(
        Rule(need.permission, need.always, "allow", source)
        for need in needs_of(line, directory)
        if need.always is not None and not need.strict
    )


def action_of(line: str, rules: tuple[Rule, ...], directory: str = FOLDER) -> Action:
    needs = needs_of(line, directory)
    all_rules = (*DEFAULT_RULES, *rules)
    actions: list[Action] = ["allow", *(evaluate(need, all_rules).action for need in needs)]
    return strictest(*actions)


COVERED = """
git push origin main | git push origin main
git commit -m a | git commit -m b
git commit -m a | git commit -am 'fix --force and https://x.org/y'
git add a | git add b c
git checkout main | git checkout -b x
git merge a | git merge --no-ff b
npm run build | npm run build
npm run build | npm run build --watch
npm test | npm test -- tests/a.js
pytest -q | pytest tests -x -k name
cargo test | cargo test --release -p a
go test ./a | go test -run X ./b
make build | make build -j4
ruff check | ruff check --fix lib
docker ps | docker ps -a
kubectl get pods | kubectl get pods -n shop
terraform plan | terraform plan -no-color
uv run pytest | uv run pytest -q
"""

ASKED = """
git push origin main | git push --force origin main
git push origin main | git push origin main --force
git push origin main | git push -f origin main
git push origin main | git push --force-with-lease origin main
git push origin main | git push --mirror origin
git push origin main | git push --delete origin main
git push origin main | git push origin :main
git push origin main | git push origin +main
git push origin main | git push other main
git push | git push other
git commit -m a | git commit --no-verify -m a
git commit -m a | git commit -n -m a
git commit -m a | git commit -anm a
git commit -m a | git commit --amend
git commit -m a | git commit --ame --no-edit
git commit -m a | git commit --no-verif -m a
git add a | git add --force a
git add a | git add -f a
git add a | git add -Af a
git checkout main | git checkout -f
git checkout main | git checkout --force main
git checkout main | git checkout -- .
git reset HEAD a | git reset --hard
git reset HEAD a | git reset HEAD --hard
git branch a | git branch -D a
git branch a | git branch -M a b
git tag a | git tag -d a
git tag a | git tag -f a
git merge a | git merge --no-verify a
git rebase main | git rebase --exec x main
git stash pop | git stash drop
git pull origin main | git pull https://x.org/y main
git fetch origin | git fetch other
git submodule update | git submodule update --remote
git worktree add a | git worktree remove --force a
git rm a | git rm -f a
npm run build | npm run build -- --evil
npm run build | npm run deploy
npm test | npm test --script-shell=x
npm install | npm install other
npm install a | npm install b
npm ci | npm ci --registry https://x.org
npm publish --dry-run | npm publish
pip install a | pip install b
pip install a | pip install --index-url https://x.org a
pip install -r a.txt | pip install -r b.txt
uv add a | uv add b
poetry add a | poetry add b
cargo add a | cargo add b
cargo publish --dry-run | cargo publish
cargo build | cargo build --config x
go run . | go run x.org/y@v1
go get a | go get b
make build | make build CC=x
make build | make build deploy
docker build . | docker build https://x.org/y
docker compose up | docker compose up --force-recreate
docker push a | docker push b
docker run a | docker run --privileged -v /:/x a
kubectl get pods | kubectl get pods --server https://x.org
kubectl rollout status a | kubectl rollout undo a
helm upgrade a b | helm upgrade a c
terraform plan | terraform plan -destroy
terraform apply | terraform apply -auto-approve
gh pr merge 1 | gh pr merge 1 --admin
gh pr list | gh pr merge 1
gh api a | gh api -X DELETE a
curl https://a.org | curl https://b.org
curl https://a.org | curl -o x https://a.org
curl https://a.org | curl -d x https://a.org
rsync -a a b | rsync -a --delete a b
ssh a ls | ssh a rm x
rm a | rm -rf /
rm a | rm b
mytool sub a | mytool sub --force a
mytool sub a | mytool sub -f a
mytool sub a | mytool sub --yes
mytool sub a | mytool sub https://x.org
mytool sub a | mytool sub $x
systemctl restart a | systemctl restart b
aws s3 cp a b | aws s3 cp a s3://other
uv run pytest | uv run --with x pytest --plugin y
"""


def pairs(text: str) -> list[tuple[str, str]]:
    return [
        (given, other) for given, _, other in (r.partition(" | ") for r in text.split("\n")[1:-1])
    ]


@pytest.mark.parametrize(("given", "other"), pairs(COVERED))
def test_always_covers_another_use_that_is_as_harmless(given: str, other: str) -> None:
    rules = always(given)
    needs = [
        need for need in needs_of(other) if need.always is not None or need.default_action == "ask"
    ]
    asking = [need for need in needs if evaluate(need, (*DEFAULT_RULES, *rules)).action == "ask"]
    # What ``uv run`` runs has a need of its own, without a pattern.
    assert not [need for need in asking if need.always is not None]


@pytest.mark.parametrize(("given", "other"), pairs(ASKED))
@pytest.mark.parametrize("source", [ALWAYS, SAVED])
def test_always_leaves_a_use_that_does_more_to_be_asked(
    given: str, other: str, source: str
) -> None:
    assert action_of(other, always(given, source=source)) == "ask"


@pytest.mark.parametrize("line", sorted({other for _, other in pairs(ASKED)}))
def test_a_use_that_does_more_is_offered_as_its_exact_line_only(line: str) -> None:
    for need in needs_of(line):
        if need.permission == "bash" and need.named and need.always:
            assert need.always == need.pattern


@pytest.mark.parametrize("wide", ["git push *", "git *", "*"])
def test_a_pattern_of_an_earlier_version_covers_no_option_that_it_does_not_name(wide: str) -> None:
    rules = (Rule("bash", wide, "allow", ALWAYS),)
    assert action_of("git push origin main", rules) == "allow"
    assert action_of("git push --force origin main", rules) == "ask"
    named = (Rule("bash", "git push --force origin main", "allow", ALWAYS),)
    assert action_of("git push --force origin main", named) == "allow"


def test_a_rule_of_the_settings_means_what_it_says() -> None:
    rules = (Rule("bash", "git commit *", "allow", "config.json"),)
    assert action_of("git commit --amend --no-edit", rules) == "allow"


IN_FOLDER = [
    ("cd web && npm test", "npm --prefix web test"),
    ("cd web && npm test", "npm -C web test"),
    ("cd web && yarn test", "yarn --cwd web test"),
    ("cd web && yarn test", "yarn --cwd=web test"),
    ("cd web && pnpm test", "pnpm -C web test"),
    ("cd web && pnpm test", "pnpm --dir web test"),
    ("cd web && make all", "make -C web all"),
    ("cd web && make all", "make -Cweb all"),
    ("cd web && make all", "make all --directory=web"),
    ("cd web && cargo test", "cargo -C web test"),
    ("cd web && cargo test", "cargo --manifest-path web/Cargo.toml test"),
    ("cd web && go test ./a", "go -C web test ./a"),
    ("cd web && uv sync", "uv --directory web sync"),
    ("cd web && poetry install", "poetry -C web install"),
    ("cd web && git commit -m x", "git -C web commit -m x"),
    ("cd a/b && git commit -m x", "git -C a -C b commit -m x"),
    ("cd web && just all", "just -d web all"),
    ("cd web && terraform plan", "terraform -chdir=web plan"),
]


@pytest.mark.parametrize(("entered", "option"), IN_FOLDER)
def test_an_option_that_changes_the_folder_is_judged_as_cd(entered: str, option: str) -> None:
    for given, other in ((entered, option), (option, entered)):
        assert always(given)
        assert action_of(other, always(given)) == "allow"
    inside = entered.partition(" && ")[2]
    assert action_of(inside, always(option)) == "ask"
    assert action_of(option, always(inside)) == "ask"
    rules = (Rule("bash", f"{inside.rpartition(' ')[0]} *", "allow", "config.json"),)
    assert action_of(option, rules) == "allow"
    for denied in (inside, option, f"cd {entered.split()[1]} && {inside}"):
        rules = (Rule("bash", "*", "allow", "x"), Rule("bash", denied, "deny", "config.json"))
        assert action_of(option, rules) == "deny"


def test_a_folder_outside_the_project_asks_for_itself() -> None:
    rules = (Rule("bash", "git status *", "allow", "config.json"),)
    assert action_of("git -C web status", ()) == "allow"
    assert action_of("git -C ../other status", rules) == "ask"
    assert action_of("git -C $x status", rules) == "ask"
    assert action_of("git -C .git status", rules) == "ask"


def test_always_in_one_folder_covers_no_other(tmp_path: Path) -> None:
    here = always("npm test")
    web = always("npm test", f"{FOLDER}/web")
    assert [rule.pattern for rule in here] == ["npm test *"]
    assert [rule.pattern for rule in web] == ["cd web && npm test *"]
    assert action_of("npm test", here) == "allow"
    assert action_of("npm test", here, f"{FOLDER}/web") == "ask"
    assert action_of("npm test", web, f"{FOLDER}/web") == "allow"
    assert action_of("npm test", web, f"{FOLDER}/app") == "ask"
    assert action_of("npm test", web) == "ask"
    assert action_of("cd web && npm test", here) == "ask"
    assert action_of("cd web && npm test", web) == "allow"
    assert action_of("cd $x && npm test", here) == "ask"


def test_no_general_rule_is_taken_for_one_of_a_folder() -> None:
    for pattern in ("cd *", "cd web *", "cd web && *x"):
        rules = (Rule("bash", pattern, "allow", "config.json"),)
        assert action_of("npm test", rules, f"{FOLDER}/web") == "ask"
    saved = (Rule("bash", "cd web && npm test *", "allow", "config.json"),)
    assert action_of("npm test", saved, f"{FOLDER}/web") == "allow"


def test_a_linked_folder_is_named_by_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "link").symlink_to("web")
    root = str(tmp_path)
    (need,) = command_needs("npm test", directory=f"{root}/link", project=root, start=root)
    assert need.always == "cd web && npm test *"


QUOTED = [
    *r"""
node 'a b'
node a b
node 'a  b'
node "it's"
node 'say "x"'
node "a'b" 'c"d'
node ''
node '' ''
node 'a' 'b c'
node 'a b' c
node $'a\tb'
node \'
node \"
node a\\b
./run 'a b'
python "my dir/run.py" x
npm install 'x y'
rm 'a b'
rm a b
cd sub && node 'a b'
""".strip().splitlines(),
    "node 'a\u00a0b'",
]


@pytest.mark.parametrize("line", QUOTED)
@pytest.mark.parametrize("source", [ALWAYS, SAVED])
def test_always_to_quoted_words_covers_the_same_words_only(line: str, source: str) -> None:
    rules = always(line, source=source)
    assert rules
    covered = {other for other in QUOTED if action_of(other, rules) == "allow"}
    assert covered == {line}


@pytest.mark.parametrize("line", ["node 'a b'", 'node "a b"', r"node a\ b", "node a' 'b"])
def test_the_way_of_quoting_does_not_matter(line: str) -> None:
    (rule,) = always(line)
    assert rule.pattern == "node 'a b'"
    for other in ("node 'a b'", 'node "a b"', r"node a\ b"):
        assert action_of(other, (rule,)) == "allow"


def test_words_that_no_quotes_can_hold_offer_no_always() -> None:
    assert always("""node "it's"'"x"'""") == ()
