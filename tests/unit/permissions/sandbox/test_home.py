"""What a sandboxed command sees of the home folder: toolchains and harmless configuration, no login of a program."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from forge_core.permissions.sandbox.confine import landlock_abi
from forge_core.permissions.sandbox.hidden import secrets_outside
from forge_core.permissions.sandbox.home_view import HomeViewer, other_mounts
from forge_core.permissions.sandbox.project_caches import ProjectCaches
from forge_core.permissions.sandbox.sandbox import Sandbox
from forge_core.permissions.sandbox.sandbox_state import SandboxKind, SandboxState
from tests.unit.permissions.sandbox.world import SECRET, World

pytestmark = pytest.mark.slow

LOGINS = """
.ssh/id_rsa .aws/credentials .azure/accessTokens.json .gnupg/private-keys-v1.d/a.key .kube/config .netrc
.pypirc .pgpass .my.cnf .vault-token .git-credentials .docker/config.json .oci/config .fly/config.yml
.databricks.cfg .password-store/mail.gpg .terraform.d/credentials.tfrc.json .bash_history .zsh_history
.python_history .psql_history .node_repl_history .mysql_history .lesshst .local/share/fish/fish_history
.cargo/credentials.toml .gem/credentials .composer/auth.json .hex/hex.config .nuget/NuGet/NuGet.Config
.gradle/gradle.properties .sbt/.credentials .ivy2/.credentials .config/pypoetry/auth.toml .bundle/config
.local/share/uv/credentials/credentials.toml .condarc .config/gh/hosts.yml .config/gcloud/credentials.db
.config/doctl/config.yaml .config/rclone/rclone.conf .config/helm/registry/config.json .pulumi/credentials.json
.config/hcloud/cli.toml .config/stripe/config.toml .config/heroku/token .local/share/com.vercel.cli/auth.json
.config/netlify/config.json .config/.wrangler/config/default.toml .railway/config.json .supabase/access-token
.claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json .config/github-copilot/apps.json
.local/share/opencode/auth.json .config/goose/secrets.yaml .aider.conf.yml .config/io.datasette.llm/keys.json
.cursor/mcp.json .continue/config.json .config/Code/User/globalStorage/state.vscdb .cache/huggingface/token
.huggingface/token .ollama/id_ed25519 .kaggle/kaggle.json .env .envrc .bashrc .config/fish/config.fish
.mozilla/firefox/a/logins.json .config/google-chrome/Default/Cookies .config/BraveSoftware/a/Cookies
.cache/mozilla/firefox/a .config/vivaldi/Default/Cookies .thunderbird/a/logins.json .config/evolution/sources/a
.mbsyncrc .msmtprc .local/share/keyrings/login.keyring .local/share/kwalletd/kdewallet.kwl .config/op/config
.config/Bitwarden/data.json .config/KeePass/keepassxc.ini .config/Signal/config.json .config/Slack/Cookies
.config/discord/Local\\Storage .config/Element/IndexedDB .weechat/sec.conf .config/hexchat/servlist.conf
.config/syncthing/key.pem .config/sops/age/keys.txt .config/rustdesk/RustDesk.toml .remmina/a.remmina
.config/NetworkManager/a .electrum/wallets/default .bitcoin/wallet.dat .local/state/wireplumber/a
.var/app/org.mozilla.firefox/a snap/chromium/common/Cookies Documents/passwords.kdbx Downloads/statement.pdf
""".replace("\\", "\\ ").split()


def read_all(world: World, names: list[str]) -> list[str]:
    """The files whose content a sandboxed command can print."""
    return [line for line in world.run(_reading(names)).output.splitlines() if line in names]


def _reading(names: list[str]) -> str:
    listed = "\n".join(names)
    return (
        f'while read -r name; do grep -qsF {SECRET} ~/"$name" && echo "$name"; done <<\'END\'\n{listed}\nEND'
    )


def test_no_login_of_another_program_can_be_read(world: World) -> None:
    for name in LOGINS:
        world.write(world.home / name, f"login = {SECRET}\n")
    assert world.bare(_reading(LOGINS)).output.split("\n")[:-1] == LOGINS, (
        "without the sandbox they can be read"
    )
    assert read_all(world, LOGINS) == []
    assert world.run(f"grep -rsF {SECRET} ~").output == ""


def test_nothing_can_be_written_to_the_home_folder(world: World) -> None:
    names = ("new", ".bashrc", ".local/bin/new", ".config/autostart/new", ".cargo/bin/new")
    world.write(world.home / ".local/bin/tool", "#!/bin/sh\n", 0o755)
    attempts = "; ".join(
        f'mkdir -p ~/{Path(name).parent}; echo x > ~/{name} && echo "{name}"' for name in names
    )
    assert [line for line in world.run(attempts).output.splitlines() if line in names] == []
    assert not any((world.home / name).exists() for name in names)


def test_the_homes_of_root_and_of_others_are_hidden(world: World) -> None:
    if world.person.uid != 0:
        pytest.skip("only root can read the homes of others")
    name = f"forge-test-{os.getpid()}"
    places = [Path(parent, name) for parent in ("/root", "/home") if Path(parent).is_dir()]
    try:
        for path in places:
            path.write_text(SECRET)
        for path in places:
            assert SECRET not in world.run(f"cat {path}").output, path
            assert SECRET in world.bare(f"cat {path}").output, path
    finally:
        for path in places:
            path.unlink(missing_ok=True)


def test_a_home_reached_through_links_is_hidden_on_every_way(world: World) -> None:
    world.write(world.home / ".aws/credentials")
    linked = world.base / "linked home"
    linked.symlink_to(world.home)
    world.variables["HOME"] = str(linked)
    output = world.run("cat ~/.aws/credentials ../.aws/credentials; cat README.md; cd; pwd -P").output
    assert SECRET not in output
    assert output.splitlines()[-2:] == ["hello", str(world.home)]


def test_what_links_in_the_home_lead_to_is_hidden_too(world: World) -> None:
    for name in ("netrc", "config/gh/hosts.yml", "data/keyring"):
        world.write(world.outside / name)
    (world.home / ".netrc").symlink_to(world.outside / "netrc")
    (world.home / ".config").symlink_to(world.outside / "config")
    world.variables["XDG_DATA_HOME"] = str(world.outside / "data")
    reading = 'cat "$OUTSIDE"/{netrc,config/gh/hosts.yml,data/keyring} ~/.netrc ~/.config/gh/hosts.yml'
    assert SECRET not in world.run(reading).output
    assert world.bare(reading).output.count(SECRET) == 5


def test_git_has_the_settings_of_the_user_without_logins(world: World) -> None:
    world.write(
        world.home / ".gitconfig",
        f"""# {SECRET} token
[user]
	name = Ada Lovelace
	email = 12345+ada@users.noreply.example.org
[credential "https://example.org"]
	helper = "!f() {{ \\
		echo password={SECRET}; }}; f"
[url "https://ada:{SECRET}@example.org/"]
	insteadOf = https://example.org/
[http "https://example.org/"]
	extraHeader = AUTHORIZATION: basic {SECRET}
[push] autoSetupRemote
[core]
	pager =
	excludesFile = ~/.ignored
[alias] last = log -1 --format=%s
[includeIf "gitdir:~/"]
	path = .gitconfig-work
""",
    )
    world.write(
        world.home / ".gitconfig-work",
        f"[user]\n\tname = Work\n[http]\n\tcookieFile = {SECRET}\n[http]\n\tproxy = http://a:{SECRET}@b\n",
    )
    world.write(
        world.home / ".config/git/config", f"[github]\n\ttoken = {SECRET}\n[init]\n\tdefaultBranch = trunk\n"
    )
    world.write(world.home / ".ignored", "*.out\n")
    world.write(world.work / "a.out", "")
    output = world.run(
        "git last; git config user.name; git config user.email; git config --type=bool push.autoSetupRemote;"
        "git config core.pager; git config init.defaultBranch; git status --porcelain; cat ~/.git* ~/.config/git/*"
    ).output
    assert SECRET not in output
    expected = ["first", "Work", "12345+ada@users.noreply.example.org", "true", "", "trunk"]
    assert output.splitlines()[: len(expected)] == expected


def test_package_managers_have_their_configuration_without_logins(world: World) -> None:
    files = {
        ".npmrc": ("//registry.example.org/:_authToken={}\n_auth={}\n//h/:_password={}", "save-exact=true"),
        ".config/pip/pip.conf": (
            "[global]\nindex-url = https://ada:{}@example.org/simple",
            "[global]\ntimeout = 60",
        ),
        ".cargo/config.toml": (
            '[registries.own]\nindex = "sparse+https://example.org/"\ntoken = "{}"',
            "[build]\njobs = 2",
        ),
        ".yarnrc.yml": ("npmScopes:\n  own:\n    npmAuthToken: {}", "nodeLinker: node-modules"),
        ".config/go/env": ("GOPROXY=https://ada:{}@example.org", "GOFLAGS=-mod=mod"),
        ".m2/settings.xml": (
            "<settings><servers><server><password>{}</password></server></servers></settings>",
            "<settings>\n<offline>true</offline>\n</settings>",
        ),
    }
    for name, (login, harmless) in files.items():
        login = login.replace("{}", SECRET)
        joined = (
            harmless.replace("</settings>", login[len("<settings>") :])
            if name.endswith("xml")
            else f"{login}\n{harmless}\n"
        )
        world.write(world.home / name, joined)
    for name, (_, harmless) in files.items():
        output = world.run(f"cat ~/{name}").output
        assert SECRET not in output
        assert harmless.splitlines()[1 if name.endswith("xml") else -1] in output, name


@pytest.mark.parametrize("line", ['token = """', "credential-provider = [", "[registry]\ntoken = [\n"])
def test_a_configuration_that_cannot_be_separated_from_its_logins_is_hidden(world: World, line: str) -> None:
    closing = '"""' if '"""' in line else "]"
    world.write(world.home / ".cargo/config.toml", f"{line}\n'{SECRET}',\n{closing}\n[build]\njobs = 2\n")
    assert world.run("cat ~/.cargo/config.toml").code != 0


TOOLS = (
    ".local/bin",
    "bin",
    ".cargo/bin",
    ".nvm/versions/node/v20/bin",
    ".pyenv/shims",
    "go/bin",
    ".deno/bin",
)


def test_programs_in_the_home_run(world: World) -> None:
    for folder in TOOLS:
        world.write(world.home / folder / "tool", f"#!/bin/sh\necho {folder}\n", 0o755)
    for folder in TOOLS:
        assert world.run(f"~/{folder}/tool").output == f"{folder}\n"
        assert world.run(f"echo x > ~/{folder}/tool").code != 0


def test_links_to_programs_elsewhere_in_the_home_work(world: World) -> None:
    """As pipx, uv and other installers make them."""
    world.write(world.home / ".local/share/uv/tools/ruff/bin/ruff", "#!/bin/sh\necho ruff\n", 0o755)
    world.write(world.home / ".local/share/other/1.2/bin/other", "#!/bin/sh\necho other\n", 0o755)
    world.write(world.home / ".local/share/other/auth.json")
    world.write(
        world.home / "tools/lint/bin/lint",
        '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../share/text"\n',
        0o755,
    )
    world.write(world.home / "tools/lint/share/text", "lint\n")
    world.write(world.home / "tools/lint/notes", SECRET)
    world.write(world.home / ".nvm/versions/node/v20/bin/node", "#!/bin/sh\necho node\n", 0o755)
    local = world.home / ".local/bin"
    local.mkdir()
    (local / "ruff").symlink_to("../share/uv/tools/ruff/bin/ruff")
    (local / "other").symlink_to(world.home / ".local/share/other/1.2/bin/other")
    (local / "key").symlink_to(world.home / ".ssh/id_ed25519")
    (world.home / ".nvm/current").symlink_to("versions/node/v20")
    extra = f"{local}:{world.home}/.nvm/current/bin:{world.home}/tools/lint/bin:{world.home}/.ssh/bin:{world.home}"
    world.variables["PATH"] = f"{extra}:{world.environment['PATH']}"
    assert world.run("ruff; other; node; lint").output.split() == ["ruff", "other", "node", "lint"]
    output = world.run(
        "cat ~/.local/bin/key ~/.local/share/other/auth.json ~/tools/lint/notes ~/.ssh/id_ed25519"
    ).output
    assert SECRET not in output


@pytest.mark.parametrize(
    ("variable", "folder", "mark"),
    [
        ("CARGO_HOME", "rust/cargo", "bin/tool"),
        ("RUSTUP_HOME", "rust/rustup", "toolchains/tool"),
        ("GOPATH", "src/go", "bin/tool"),
        ("GOROOT", "src/goroot", "bin/go"),
        ("NVM_DIR", "node/nvm", "nvm.sh"),
        ("PYENV_ROOT", "python/pyenv", "shims/tool"),
        ("JAVA_HOME", "java/17", "bin/java"),
        ("MAVEN_HOME", "java/maven", "bin/mvn"),
    ],
)
def test_variables_name_toolchains_elsewhere_in_the_home(
    world: World, variable: str, folder: str, mark: str
) -> None:
    world.write(world.home / folder / mark, "found\n")
    world.write(world.home / "private" / variable)
    assert world.run(f"cat ~/{folder}/{mark}").code != 0
    world.variables[variable] = str(world.home / folder)
    assert world.run(f"cat ~/{folder}/{mark}").output == "found\n"
    for wrong in (world.home / "private", world.home, world.base):
        world.variables[variable] = str(wrong)
        assert SECRET not in world.run(f"cat ~/private/{variable}").output


@pytest.mark.parametrize("prefix", [".local/share/uv/python/cpython-3", ".pyenv/versions/3", "tools/python"])
def test_the_interpreter_of_a_virtual_environment_is_shown(world: World, prefix: str) -> None:
    base = world.home / prefix
    world.write(
        base / "bin/python3.99",
        '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../lib/python3.99/os.py"\n',
        0o755,
    )
    world.write(base / "lib/python3.99/os.py", "library\n")
    world.write(base / "notes", SECRET)
    world.write(world.work / ".venv/pyvenv.cfg", f"home = {base}/bin\n")
    (world.work / ".venv/bin").mkdir()
    (world.work / ".venv/bin/python").symlink_to("python3")
    (world.work / ".venv/bin/python3").symlink_to(base / "bin/python3.99")
    assert world.run(".venv/bin/python").output == "library\n"
    if prefix.startswith("tools"):
        assert SECRET not in world.run(f"cat ~/{prefix}/notes").output


def test_a_workspace_cannot_have_a_secret_shown(world: World) -> None:
    """A hostile repository brings links and a virtual environment that name what it wants to read."""
    world.write(world.home / ".aws/bin/python3")
    world.write(world.home / ".aws/share/key")
    world.write(world.work / "fake/lib/python3/os.py", "")
    world.write(world.work / "fake/bin/python3", "", 0o755)
    (world.work / "fake/share").symlink_to(world.home / ".aws/share")
    (world.work / "fake/src").symlink_to(world.home / ".ssh")
    for name, target in (
        (".venv", world.home / ".aws"),
        ("venv", "fake"),
        ("node_modules", world.home / ".ssh"),
    ):
        (world.work / name).symlink_to(target)
    world.write(world.work / "env/pyvenv.cfg", f"home = {world.home}/.ssh\n")
    world.write(world.work / "env/bin/x", "")
    (world.work / "env/bin/python").symlink_to(world.home / ".ssh/id_ed25519")
    world.variables["VIRTUAL_ENV"] = str(world.work / "venv")
    world.variables["PATH"] = f"{world.work}/venv/bin:{world.work}/node_modules:{world.environment['PATH']}"
    world.own(world.work)
    reading = "cat .venv/share/key .venv/bin/python3 fake/share/key fake/src/* node_modules/* env/bin/python"
    assert SECRET not in world.run(reading).output
    assert world.bare(reading).output.count(SECRET) >= 5


def test_the_repository_around_the_workspace_is_shown_without_its_secrets(world: World) -> None:
    world.write(world.work / "apps/web/page", "page\n")
    world.write(world.work / ".env", SECRET)
    world.write(world.home / "other/file", SECRET)
    web = world.work / "apps/web"
    done = world.run(
        "git log --format=%s; git status --short .; cat ../../README.md; cat ../../.env ../../../other/file",
        folder=web,
        root=web,
    )
    assert done.output.splitlines()[:3] == ["first", "?? ./", "hello"]
    assert SECRET not in done.output
    assert world.run("echo x > ../../README.md", folder=web, root=web).code != 0


def test_a_workspace_that_is_the_home_shows_it_without_logins(world: World) -> None:
    for name in LOGINS:
        if name.startswith("."):
            world.write(world.home / name, f"login = {SECRET}\n")
    world.write(world.home / ".gitconfig", f"[user]\n\tname = Ada\n[github]\n\ttoken = {SECRET}\n")
    world.write(world.home / "notes", "notes\n")
    world.write(world.home / ".local/bin/tool", "#!/bin/sh\necho tool\n", 0o755)
    for root in (world.home, world.base):
        done = world.run("cat ~/notes; ~/.local/bin/tool; git config user.name; echo x > ~/new", folder=root)
        assert done.output == "notes\ntool\nAda\n", done
        assert (world.home / "new").exists()
        readable = world.run(_reading(LOGINS), folder=root).output.split()
        assert {*readable} <= {".bashrc"}
        assert f"token = {SECRET}" in (world.home / ".gitconfig").read_text()


def test_commands_can_start_in_the_home_and_see_an_empty_folder(world: World) -> None:
    done = world.run("pwd; cat .ssh/id_ed25519", folder=world.home, root=world.work)
    assert done.output.startswith(f"{world.home}\n")
    assert SECRET not in done.output


@pytest.mark.parametrize("sandbox", [SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK])
def test_what_the_user_lists_can_be_read(world: World, sandbox: str) -> None:
    if sandbox is SandboxKind.LANDLOCK and landlock_abi() == 0:
        pytest.skip("this kernel has no Landlock")
    world.write(world.home / "data/set/rows", "rows\n")
    world.write(world.home / "single", "single\n")
    world.write(world.home / ".aws/credentials")
    (world.home / "link").symlink_to("data/set")
    reading = "cat ~/link/rows ~/single; echo x > ~/data/new; cat ~/.aws/credentials"
    assert world.run(reading, sandbox=sandbox).output.count("rows") == 1, "in an error message"
    listed = [world.home / "link", world.home / "single", world.home / "missing"]
    output = world.run(reading, sandbox=sandbox, readable=listed).output
    assert output.splitlines()[:2] == ["rows", "single"]
    assert SECRET not in output
    assert not (world.home / "data/new").exists()


@pytest.mark.parametrize("sandbox", [SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK])
def test_the_state_of_forge_stays_hidden_when_the_user_lists_the_home(world: World, sandbox: str) -> None:
    if sandbox is SandboxKind.LANDLOCK and landlock_abi() == 0:
        pytest.skip("this kernel has no Landlock")
    world.write(world.home / "notes", "notes\n")
    reading = 'cat ~/notes; cat "$STATE/session"; echo x > ~/new'
    output = world.run(reading, sandbox=sandbox, readable=[world.home]).output
    assert output.startswith("notes\n")
    assert SECRET not in output
    assert not (world.home / "new").exists()


@pytest.mark.parametrize("sandbox", [SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK])
def test_shown_folders_are_read_but_neither_written_nor_the_keys_in_them(world: World, sandbox: str) -> None:
    if sandbox is SandboxKind.LANDLOCK and landlock_abi() == 0:
        pytest.skip("this kernel has no Landlock")
    shown = [world.home / ".claude/skills", world.state / "skills"]
    for folder in shown:
        world.write(folder / "pdf/SKILL.md", "read\n")
    world.write(shown[0] / "pdf/.env")
    world.write(world.home / ".claude/other")
    world.write(world.state / "other")
    reading = (
        'for one in ~/.claude "$STATE"; do cat "$one/skills/pdf/SKILL.md"; echo x > "$one/skills/new"; '
        'cat "$one/other"; done; cat ~/.claude/skills/pdf/.env'
    )
    output = world.run(reading, sandbox=sandbox, shown=shown).output
    assert output.splitlines().count("read") == 2
    # Landlock cannot hide a file in a folder that it shows.
    assert SECRET not in output or sandbox is SandboxKind.LANDLOCK
    assert output.count(SECRET) <= 1
    assert not any((folder / "new").exists() for folder in shown)


def test_the_view_follows_changes_in_the_home(world: World) -> None:
    """It is kept between the commands of a session."""
    viewer = HomeViewer(world.work)
    environment = world.environment | {"PATH": f"{world.home}/tools/bin:/usr/bin"}
    assert viewer.view([world.home], environment) is viewer.view([world.home], environment)
    for name in (".cargo/bin/cargo", "tools/bin/tool", ".config/git/ignore"):
        world.write(world.home / name, "x", 0o755)
        assert (world.home / name).parent in {*viewer.view([world.home], environment).shown} or (
            world.home / name
        ) in viewer.view([world.home], environment).shown, name
    world.write(world.home / ".npmrc", "save-exact=true\n")
    assert viewer.view([world.home], environment).copies[world.home / ".npmrc"] == b"save-exact=true\n"
    world.write(world.home / ".npmrc", "audit=false\n")
    assert viewer.view([world.home], environment).copies[world.home / ".npmrc"] == b"audit=false\n"
    (world.work / ".venv/bin").mkdir(parents=True)
    world.write(world.home / "python/bin/python3.99", "", 0o755)
    world.write(world.home / "python/lib/python3.99/os.py", "")
    (world.work / ".venv/bin/python").symlink_to(world.home / "python/bin/python3.99")
    assert world.home / "python/lib" in viewer.view([world.home], environment).shown


def test_caches_are_kept_for_each_workspace_alone(world: World) -> None:
    world.write(world.home / ".cache/pip/wheel", "of the user\n")
    world.write(world.home / ".npm/index", "of the user\n")
    other = world.home / "other"
    world.write(other / "file", "")
    assert world.run("ls -A ~/.cache ~/.npm; echo kept > ~/.cache/mine; echo kept > ~/.npm/mine").code == 0
    assert world.run("cat ~/.cache/mine ~/.npm/mine; ls ~/.cache ~/.npm").output.split().count("kept") == 2
    assert "mine" not in world.run("ls -A ~/.cache ~/.npm", folder=other).output
    assert sorted(one.name for one in (world.home / ".cache").iterdir()) == ["pip"]
    assert (world.home / ".cache/pip/wheel").read_text() == "of the user\n"


def test_a_command_that_only_reads_leaves_nothing_in_the_caches(world: World) -> None:
    world.write(world.home / ".cache/pip/wheel", "of the user\n")
    state = SandboxState(SandboxKind.BUBBLEWRAP, program=shutil.which("bwrap") or "")
    box = Sandbox(state, world.work, state_dir=world.base / "state")
    for read_only, expected in ((True, ""), (False, ""), (True, "")):
        command = ["sh", "-c", "ls ~/.cache; echo x > ~/.cache/left"]
        with box.launch(command, world.work, world.environment, read_only=read_only) as launch:
            done = subprocess.run(
                launch.argv,
                env=dict(launch.environment),
                pass_fds=launch.pass_fds,
                capture_output=True,
                text=True,
            )
        assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_caches_that_are_no_longer_used_are_removed(tmp_path: Path) -> None:
    workspaces = [tmp_path / name for name in ("old", "new")]
    old, new = (ProjectCaches(tmp_path, root).folders_for([Path("/home/a/.cache")]) for root in workspaces)
    [old_folder], [new_folder] = old.values(), new.values()
    locked = old_folder / "module@v1"
    locked.mkdir()
    (locked / "file").write_text("x")
    (old_folder / "link").symlink_to(tmp_path)
    locked.chmod(0o555)
    os.utime(old_folder.parent, (0, 0))
    ProjectCaches(tmp_path, workspaces[1]).remove_unused()
    for thread in threading.enumerate():
        if thread.name == "forge-caches":
            thread.join()
    assert not old_folder.parent.exists()
    assert new_folder.is_dir()


MOUNTS = """\
22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
30 22 0:44 /@home /home rw - btrfs /dev/sdb rw
31 22 0:44 / /mnt/all rw - btrfs /dev/sdb rw
32 22 0:44 /@home/ada/my\\040files /srv/files rw - btrfs /dev/sdb rw
33 22 8:1 /root /backup rw - ext4 /dev/sda1 rw
"""


def test_a_home_that_is_mounted_twice_is_hidden_at_both_places() -> None:
    home = Path("/home/ada")
    assert other_mounts([home], MOUNTS) == [Path("/mnt/all/@home/ada")]
    assert other_mounts([home / "my files"], MOUNTS) == [
        Path("/mnt/all/@home/ada/my files"),
        Path("/srv/files"),
    ]
    assert other_mounts([Path("/root")], MOUNTS) == [Path("/backup")]
    assert other_mounts([Path("/srv")], MOUNTS) == []


def test_logins_that_a_variable_moves_out_of_the_home_are_hidden(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gnupg/key", "kube1", "kube2"):
        world.write(world.outside / name)
    monkeypatch.setenv("GNUPGHOME", str(world.outside / "gnupg"))
    monkeypatch.setenv("KUBECONFIG", f"{world.outside}/kube1:{world.outside}/kube2:relative")
    expected = {world.outside / name for name in ("gnupg", "kube1", "kube2")}
    assert expected <= {*secrets_outside([])}


def test_a_variable_that_names_the_home_shows_no_folder_of_the_same_name(world: World) -> None:
    world.write(world.home / "bin/tool", "", 0o755)
    world.write(world.home / "git/project/file")
    world.variables["CARGO_HOME"] = str(world.home)
    assert SECRET not in world.run("cat ~/git/project/file").output


def test_links_in_the_home_to_folders_above_it_change_nothing(world: World) -> None:
    for name, target in ((".wine", "/"), (".nvm", "/"), (".pyenv", world.base), (".cargo", world.home)):
        (world.home / name).symlink_to(target)
    done = world.run(
        "cat README.md; cat ~/.ssh/id_ed25519 ~/.nvm$HOME/.ssh/id_ed25519 ~/.pyenv/home/.ssh/id_ed25519"
    )
    assert done.output.startswith("hello\n")
    assert SECRET not in done.output
