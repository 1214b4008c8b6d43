"""What a yes, or a rule, for some words of a command lets through besides."""

from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.rules.grants import session_pattern
from forge_core.tools.base import ToolUse

ALLOW, ASK = Decision.ALLOW, Decision.ASK


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("x")
    (root / ".env").write_text("KEY=1")
    (root / "plain.txt").symlink_to(".env")
    (root / "away").symlink_to("/etc")
    return root


def decision(policy: PermissionPolicy, command: str) -> Decision:
    return policy.decide("bash", ToolUse(Effect.RUN, command)).decision


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("rg foo", "rg --pre ./evil.sh foo"),
        ("git grep foo", "git grep -O./evil.sh foo"),
        ("git log -3", "git log -1 --output .git/hooks/pre-commit"),
        ("git log -3", "git log --output=/any/path -1"),
        ("git log -3", "git log --outp=x -1"),
        ("git log", "git log -p -- ../other"),
        ("git log", "git log -p '--output=x'"),
        ("git log", 'git log --out""put=x'),
        ("git diff HEAD", "git diff --output=x HEAD"),
        ("git diff", "git diff --no-index a b"),
        ("git diff", "git diff a /etc/passwd"),
        ("git diff", "git diff .env"),
        ("git diff", "git diff .e*"),
        ("git diff", "git diff ~/.netrc"),
        ("git diff", "git diff plain.txt"),
        ("git diff", "git diff away/passwd"),
        ("git show", "git show --ext-diff"),
        ("git show", "git show --textconv"),
        ("git show", "git show HEAD:.env"),
        ("git show", "git show HEAD:src/.env.local"),
        ("git branch --list", "git branch --list -D main"),
        ("git branch --list", "git branch main"),
        ("tree", "tree -o /path"),
        ("cat README.md", "cat /home/u/.ssh/id_rsa .env"),
        ("grep x y", "grep -r x /root"),
        ("diff a b", "diff a ~/.netrc"),
        ("date", "date -s 2020-01-01"),
        ("file x", "file -C -m x"),
        ("git fetch", "git fetch --upload-pack=./e ."),
        ("git pull", "git pull --upload-pack ./e"),
        ("git bisect run", "git bisect run ./e"),
        ("git submodule foreach", "git submodule foreach ./e"),
        ("git clone x", "git clone ext::sh"),
        ("git archive", "git archive --output=x HEAD"),
        ("git add .", "git add -f .env"),
        ("go test", "go test -exec ./evil"),
        ("go test", "go test -exec=./evil"),
        ("go test", "go test --toolexec ./evil"),
        ("go build", "go build -o /usr/bin/x"),
        ("uv pip list", "uv pip install evil"),
        ("make test", "make test -f /tmp/evil.mk"),
        ("make test", "make test SHELL=./evil"),
        ("cargo test", "cargo test --config x"),
        ("cargo build", "cargo build --manifest-path ../x"),
        ("npm test", "npm test --prefix /tmp/x"),
        ("npm test", "npm test --script-shell=./e"),
        ("pytest", "pytest -c /tmp/e"),
        ("pytest", "pytest -p evil"),
        ("pytest", "pytest -qp evil"),
        ("pytest", "pytest --rootdir=/tmp"),
        ("pytest", "pytest --rootd /tmp"),
        ("pytest", "pytest --basetemp=src"),
        ("pytest", "pytest ../elsewhere"),
        ("pytest", "pytest @arguments"),
        ("pytest", "pytest -o cache_dir=/x"),
        ("python -m pytest", "python -m pytest --junitxml=src/a.py"),
        ("ruff check", "ruff check --fix"),
        ("ruff check", "ruff check -o src/a.py"),
        ("ruff check", "ruff check --config evil.toml"),
        ("mypy src", "mypy --python-executable ./evil src"),
        ("mypy src", "mypy --install-types src"),
        ("docker run", "docker run -v /:/h x"),
        ("bundle exec", "bundle exec x"),
    ],
)
def test_a_session_approval_covers_no_arguments_that_run_write_or_read_elsewhere(
    root: Path, first: str, then: str
) -> None:
    policy = PermissionPolicy(root)
    rule = f"bash({session_pattern(first, root)})"
    if first != then:
        policy.allow_for_session(rule)
        assert decision(policy, first) is ALLOW
    assert decision(policy, then) is ASK


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("pytest", "pytest -q tests/test_a.py::test_one"),
        ("pytest -q", "pytest -xvs --tb=short -k 'a and not b' --maxfail 1 -n4"),
        ("python -m pytest tests", "python -m pytest --lf --durations=5"),
        (".venv/bin/python -m pytest", ".venv/bin/python -m pytest src"),
        ("ruff check", "ruff check src --select E501 --output-format=json"),
        ("mypy --strict src", "mypy src/a.py"),
        ("npm test", "npm test --silent"),
        ("cargo test", "cargo test --workspace -p core -- --nocapture"),
        ("go test ./...", "go test -race -run TestX -count=1 ./src/..."),
        ("git status", "git status -sb --porcelain=v2"),
        ("git log -3", "git log --oneline -20 main..feature -- src/a.py"),
        ("git diff", "git diff --stat HEAD~3"),
        ("git diff", "git diff --cached -U5 'src'"),
        ("git show", "git show HEAD~1:src/a.py"),
    ],
)
def test_a_session_approval_of_a_runner_covers_its_harmless_variations(
    root: Path, first: str, then: str
) -> None:
    policy = PermissionPolicy(root)
    policy.allow_for_session(f"bash({session_pattern(first, root)})")
    assert decision(policy, then) is ALLOW


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("git log:*", "git log --all --oneline -5", ALLOW),
        ("git log:*", "git log --since=yesterday ../other", ALLOW),
        ("git log:*", "git log --output=x", ASK),
        ("git log:*", "git log --output x", ASK),
        ("git log:*", "git log --ext-diff", ASK),
        ("git:*", "git commit -m 'it is done'", ALLOW),
        ("git:*", "git -c core.pager=./evil log", ASK),
        ("git:*", "git fetch --upload-p=./evil", ASK),
        ("git:*", "git bisect run ./evil", ASK),
        ("git:*", "git clone ext::sh", ASK),
        ("rg:*", "rg -o foo src", ALLOW),
        ("rg:*", "rg --pre ./evil foo", ASK),
        ("rg:*", "rg --pretty foo", ALLOW),
        ("find:*", "find . -name x -type f", ALLOW),
        ("find:*", "find . -exec ./evil +", ASK),
        ("find:*", "find src -name x -delete", ASK),
        ("cat:*", "cat src/a.py", ALLOW),
        ("cat:*", "cat .env", ASK),
        ("cat:*", "cat .e?v", ASK),
        ("cat:*", "cat plain.txt", ASK),
        ("cat:*", "cat *.txt", ASK),
        ("cat:*", "cat src/*", ALLOW),
        ("cat:*", "cat ~/.ssh/id_rsa", ASK),
        ("cat:*", "cat ~nobody/x", ASK),
        ("cat:*", "cat /*/*/*/*/*", ASK),
        ("cat:*", "cat 'src", ASK),
        ("cat .env:*", "cat .env", ALLOW),
        ("make:*", "make build", ALLOW),
        ("make:*", "make -f evil.mk", ASK),
        ("make:*", "make SHELL=./evil", ASK),
        ("go test:*", "go test -short -v ./...", ALLOW),
        ("go test:*", "go test -exec ./evil", ASK),
        ("pytest:*", "pytest -q --cov=src", ALLOW),
        ("pytest:*", "pytest -p evil", ASK),
        ("pylint:*", "pylint -*", ASK),  # a file may be called --init-hook=…
        ("mocha:*", "mocha *.js", ASK),
        ("pylint:*", "pylint src/*", ALLOW),
        ("black:*", "black --check src", ALLOW),
        ("sed:*", "sed -n -f x.sed src/a.py", ASK),
        ("sed:*", "sed -nf x.sed src/a.py", ASK),
        ("awk:*", "awk -f x.awk src/a.py", ASK),
        ("gawk:*", "gawk -i inplace 1 src/a.py", ASK),
        ("awk:*", "awk -F, '{print $1}' src/a.py", ALLOW),
        ("xxd:*", "xxd -r x.hex out", ASK),
        ("xxd:*", "xxd src/a.py out", ASK),
        ("xxd:*", "xxd -c 8 src/a.py", ALLOW),
        ("uniq:*", "uniq src/a.py out", ASK),
        ("uniq:*", "uniq -c -- src/a.py out", ASK),
        ("uniq:*", "uniq -f 1 src/a.py", ALLOW),
        ("sort:*", "sort src/a.py src/b.py src/c.py", ALLOW),
        ("=git log --output=x", "git log --output=x", ALLOW),
        ("git log --output=x:*", "git log --output=x -3", ALLOW),
    ],
)
def test_a_rule_of_the_user_is_a_prefix_except_for_risky_words(
    root: Path, rule: str, command: str, expected: Decision
) -> None:
    assert decision(PermissionPolicy(root, allow=[f"bash({rule})"]), command) is expected


MORE_THAN_GRANTED = """
pylint | pylint --init-hook='import os; os.system("id")' a.py
pylint | pylint --load-plugins=evil a.py
cloc | cloc --extract-with './evil >FILE<' x.zip
mvn test | mvn test exec:exec
kubectl get | kubectl get pods --kubeconfig ./evil.yml
mocha | mocha -r ./evil.js
rspec | rspec -r ./evil.rb
eslint | eslint -f ./evil.js src
eslint | eslint --rulesdir evil src
gradle | gradle -I evil.gradle build
gradle build | gradle build --init-script evil.gradle
jest | jest --config=evil.js
vitest | vitest --globalSetup evil.ts
ansible | ansible -m shell -a ./evil all
terraform plan | terraform plan -chdir=evil
make | make evil
npm | npm run evil
python | python evil.py
bash | bash evil.sh
docker run | docker run -v /:/h x
git | git -c core.pager=evil log
touch | touch .git/hooks/pre-commit
touch | touch .forge/config.toml
touch | touch src/../.git/hooks/x
touch | touch ../outside
touch | touch -r ~/.netrc x
touch | touch $X
mkdir | mkdir .git/hooks/x
mkdir | mkdir -p /tmp/x
mkdir | mkdir -Z evil x
black | black --config evil.toml src
black | black --config=evil.toml src
black | black -c 'x'
codespell | codespell -I words.txt src
codespell | codespell -w src
codespell | codespell --config evil.cfg src
gofmt | gofmt -cpuprofile .git/x a.go
gofmt | gofmt -r 'a -> b' a.go
shellcheck | shellcheck --rcfile=evil x.sh
shellcheck | shellcheck -x x.sh
shfmt | shfmt --filename ../x
yamllint | yamllint -c evil.yml .
ruff check | ruff check --fix
ruff check | ruff check --config 'extend=../x'
ruff format | ruff format --stdin-filename ../x
ruff format | ruff format ../x
ruff | ruff check .
git log | git log --format=%G?
git show | git show --pretty='%GK'
pytest | pytest -p evil
pytest | pytest .git/x.py
"""


@pytest.mark.parametrize("row", MORE_THAN_GRANTED.strip().splitlines())
def test_a_saved_grant_covers_only_what_is_known_to_be_harmless(root: Path, row: str) -> None:
    prefix, _, command = row.partition(" | ")
    assert decision(PermissionPolicy(root, saved=[f"bash({prefix}:*)"]), command) is ASK


@pytest.mark.parametrize(
    "rule",
    ["bash", "*", "bash(:*)", "bash(pylint:*)", "bash(python:*)", "bash(./run:*)", "bash(./ruff check:*)"],
)
def test_a_saved_rule_that_no_prompt_offers_covers_no_command(root: Path, rule: str) -> None:
    for command in ("pylint", "pylint a.py", "python x.py", "./run", "./ruff check x", "npm test"):
        assert decision(PermissionPolicy(root, saved=[rule]), command) is ASK


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("pytest:*", "pytest -q tests"),
        ("ruff check:*", "ruff check --select E501 src"),
        ("ruff format:*", "ruff format --check src"),
        ("black:*", "black --check -l 100 src"),
        ("mkdir:*", "mkdir -pv src/b/c"),
        ("touch:*", "touch -c src/new.py"),
        ("shellcheck:*", "shellcheck -s bash x.sh"),
        ("gofmt:*", "gofmt -l -w x.go"),
        ("pylint a.py", "pylint a.py"),
    ],
)
def test_a_saved_grant_covers_harmless_variations_and_the_exact_line(
    root: Path, rule: str, command: str
) -> None:
    assert decision(PermissionPolicy(root, saved=[f"bash({rule})"]), command) is ALLOW


def test_a_rule_that_the_user_wrote_is_wider_than_a_saved_grant(root: Path) -> None:
    assert decision(PermissionPolicy(root, allow=["bash(pylint:*)"]), "pylint -j2 a.py") is ALLOW
    assert decision(PermissionPolicy(root, allow=["bash"]), "npm test") is ALLOW


OUTSIDE = """
cat | cat /etc/passwd
cat | cat ../x
cat | cat src/../../x
cat | cat away/passwd
cat | cd src && cat ../away/passwd
cat | cd src && cat link/passwd
cat | cat /etc/host*
cat | cat away/*
cat | cat awa*/passwd
cat | cat ../*
cat | cat "$HOME/x"
cat | cat $OLDPWD/x
cat | cat ~
cat | cat < away/passwd
cat | cat < ../x
grep | grep -r key ~
grep | grep -r key ~/notes
grep | grep -rn key /
grep | grep -f /etc/passwd a
grep | grep -nf../x a
grep | grep --file=../x a
grep | grep -R key away
ls | ls -R /
ls | ls ~
ls | ls ..
ls | ls away/
ls | ls /home/*
find | find / -name x
find | find ~ -name x
find | find src -newer /etc/passwd
rg | rg key ..
rg | rg key away/
rg | rg --ignore-file ../x key
head | head -n 3 ../x
tail | tail -f /var/log/syslog
sed | sed -n 1p /etc/passwd
sed | sed s/a/b/ ../x
awk | awk 1 /etc/passwd
awk | awk '{print $1}' ../x
sort | sort /etc/passwd
sort | sort --files0-from=../x
wc | wc -l ../x
diff | diff src/a.py ../x
stat | stat /root
tree | tree /
du | du -sh ~
jq | jq . ../x
jq | jq --slurpfile a ../x .
file | file /etc/shadow
cd | cd ..
cd | cd
cd | cd away
cd | cd ~ && ls
"""


@pytest.mark.parametrize("row", OUTSIDE.strip().splitlines())
def test_a_rule_for_a_program_that_reads_covers_the_folder_only(root: Path, row: str) -> None:
    (root / "src/link").symlink_to("/etc")
    program, _, command = row.partition(" | ")
    assert decision(PermissionPolicy(root, allow=[f"bash({program}:*)"]), command) is ASK


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("cat:*", "cat src/a.py"),
        ("grep:*", "grep -rn '/usr/bin' src"),
        ("grep:*", "grep -n '../x' src/a.py"),
        ("sed:*", "sed 's/a/b/' src/a.py"),
        ("awk:*", "awk '/x/ {n++}' src/a.py"),
        ("find:*", "find src -name '*.py'"),
        ("ls /etc:*", "ls /etc -la"),
        ("cat /etc/hosts:*", "cat /etc/hosts -n"),
        ("cat /etc/hosts", "cat /etc/hosts"),
        ("git log:*", "git log ../other"),
        ("python:*", "python ../x.py"),
    ],
)
def test_a_rule_that_names_what_is_outside_covers_it(root: Path, rule: str, command: str) -> None:
    assert decision(PermissionPolicy(root, allow=[f"bash({rule})"]), command) is ALLOW
