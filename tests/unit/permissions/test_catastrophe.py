import time
from pathlib import Path

import pytest

from forge_core.permissions.guard.catastrophe import catastrophic_reason, required_confirmation

ROOT = Path("/work/proj")
HOME = Path("/home/me")

DENIED = r"""
true && rm > /dev/null -rf ~
true | rm > /dev/null -rf ~
true && rm 2>/dev/null -rf /
true || ls | rm > x -rf ~
! rm > x -rf /
cd / && rm > x -rf *
cd /dev && true && cat x > sda
cd ~/.ssh && echo x > id_rsa
cd ~/.ssh && true || echo x > id_rsa
cd ~/.ssh && { echo x; } > id_rsa
cd ~/.ssh && (echo x) > id_rsa
cd ~/.ssh && if true; then echo x; fi > id_rsa
cd ~/.ssh && [ -f x ] > id_rsa
cd ~/.ssh && ! echo > id_rsa
cd ~/.ssh && export A=b > id_rsa
cd ~ && cat x > .ssh/id_rsa
rm -rf /
rm -rf /*
rm -fr ~
rm -r $HOME/
rm -rf "${HOME}"
rm -rf ~/*
rm -rf ~root
rm --recursive --force /
sudo rm -rf --no-preserve-root /
sudo -u root -- rm -rf /
rm -rf .git
rm -rf ./.git/
rm -rf .git/*
rm -rf ..
rm -rf .
rm -rf $PWD
cd / && rm -rf *
cd .. ; rm -rf proj
rm -rf '/'
r\m -rf /
"rm" -rf /
/bin/rm -rf /
\rm -rf /
command rm -rf /
rm -rf -- /
rm -rf /b*
rm -rf {/,x}
rm -rf /usr/../
rm -rf //
rm -rf /home
bash -c 'rm -rf ~'
sh -c "bash -c 'rm -rf /'"
eval "rm -rf /"
env rm -rf /
env A=1 rm -rf /
env -i rm -rf /
nohup rm -rf / &
timeout 5 rm -rf /
timeout -s KILL 5 rm -rf /
xargs rm -rf /
nice -n 5 rm -rf /
X=/; rm -rf $X
X=rm; $X -rf /
if true; then rm -rf /; fi
for x in 1; do rm -rf /; done
f() { rm -rf /; }; f
(rm -rf /)
true && rm -rf / || true
`rm -rf /`
echo $(rm -rf /)
echo "$(rm -rf /)"
echo 'rm -rf /' | sh
bash <<< 'rm -rf /'
cat <(rm -rf /)
find / -delete
find ~ -exec rm -rf {} +
find . -delete
find . -type f -delete
mv ~ /tmp/x
mv .git /tmp/x
chmod -R 777 /
chown -R me /etc
dd if=x of=/dev/sda
dd of=/dev/nvme0n1 if=/dev/zero
echo a > /dev/sda
cat x >/dev/vda1
cp x /dev/mmcblk0
tee /dev/sda
shred /dev/sda
mkfs.ext4 /dev/sda1
mkfs /dev/sda1
wipefs -a /dev/sda
:(){ :|:& };:
:(){ :|: & };:
bomb() { bomb | bomb & }; bomb
git push --force
git push -f origin main
git -C x push origin +main
git push --force --force-with-lease
git push --mirr
rm -rf ~+
rm --recurs -f /
coproc rm -rf /
coproc X { rm -rf /; }
echo / | xargs rm -rf
echo ~ | xargs -n1 sudo rm -r
xargs rm -rf <<< /
echo / | parallel rm -rf {}
echo ~ | parallel 'rm -rf {}'
parallel rm -rf {} ::: ~
parallel -j2 rm -rf ::: /etc build
parallel 'rm -rf {}' ::: .git
echo / | rush 'rm -rf {}'
apply 'rm -rf %1' ~
echo / | xargs -I{} sh -c 'rm -rf {}'
rm -rf $(echo /)
rm -rf `echo /`
rm -rf "$(echo $HOME)"
for d in /*; do rm -rf $d; done
for d in /*; do rm -rf "${d%x}"; done
find / | while read f; do rm -rf "$f"; done
f() { rm -rf "$1"; }; f /
bash -c 'rm -rf "$1"' _ /
export X=/; rm -rf $X
flock x rm -rf /
git push --mirror
cd x && git push -uf origin main
kill -9 -1
rm -rf .gi*
rm -rf .g?t
rm -rf .[g]it
rm -rf .*
rm -rf *
rm -rf ./*
rm -rf "$PWD"/*
rm -rf .git/objects
unlink .git
> .git/HEAD
cp /dev/null .git/HEAD
truncate -s0 .git/index
find / -name '*' -delete
find / -mtime +0 -delete
find ~ -name '*.pyc' -delete
find . -path '*' -delete
find . -delete -name x
find . -name x -o -delete
find . ! -name x -delete
rm $(echo -rf) /
rm $X ~
tar -C / --remove-files -cf x .
tar --remove-files -cf /tmp/x.tar ~
shred -u ~/.ssh/*
rm -rf ~/.ssh
rm -rf ../*
rm -rf ~/?*
rm -rf /proc/self/cwd
rm -rf /proc/self/root/
python3 -c 'import shutil; shutil.rmtree("/")'
python -c "import shutil, os; shutil.rmtree(os.path.expanduser('~'))"
node -e "fs.rmSync('/', {recursive: true})"
function f { f | f & }; f
function f() { f | f & }; f
f() { f & f & }; f
f() ( f & f )
pkill -9 -u root
pkill -U0
killall5 -9
killall -u me
pkill .
git -C / clean -fd
git -C ~ clean -fdx
cd ~ && git clean -fdx
cd .. && git clean -fdx
cd / ; git clean -fd .
git -C .. clean -fdx proj
git --git-dir=$HOME/.dotfiles --work-tree=$HOME clean -fd
git --git-dir ~/.dotfiles --work-tree ~ clean -f
GIT_WORK_TREE=/ git clean -fd
git -C / -C home clean -ffdx
git clean -fdx ~
sudo git -C /usr clean -dfx
"""

ALLOWED = r"""
rm -rf build
rm -rf ./node_modules
rm -rf /work/proj/build
rm -rf /tmp/x
rm -rf *.o
rm file
rm -f /etc/x.tmp
find . -name '*.pyc' -delete
find build -delete
git push
git push origin main
git push --follow-tags
git push -u origin feature
git rm -rf old
git status
echo 'rm -rf /'
git commit -m 'fix rm -rf / bug'
grep -r 'rm -rf /' .
chmod -R u+w src
chmod 777 /tmp/x
dd if=/dev/zero of=x.bin
cat /dev/sda
echo x > /dev/null
mv a b
kill -9 123
kill -1 123
ls /
cd / && ls
docker run --rm -it x
rm -f *.pyc
rm *
rm -rf src/*
rm -rf .github
rm -rf .cache .pytest_cache
rm -f .git/index.lock
cat .git/HEAD
cp .git/HEAD x
echo x >> .git/info/exclude
mv * src
find . \( -name '*.pyc' -o -name '*.pyo' \) -delete
find . -type d -empty -delete
find /tmp/x -mtime +1 -delete
tar --remove-files -cf x.tar build
python -c 'import shutil; shutil.rmtree("build")'
build() { build_a & build_b; }; build
f() { f2 | f; }; f
pkill -u me firefox
pkill firefox
git clean -n
git clean -fd
git clean -fdx build
git -C ~/x clean -fd
git -C sub clean -fdx
git -C / clean -fdxn
git log --grep clean
"""


def test_catastrophic_commands_are_recognised_in_any_spelling() -> None:
    commands = DENIED.strip().splitlines()
    assert [one for one in commands if not catastrophic_reason(one, ROOT, HOME)] == []


GRAVE = r"""
rm -rf $X
rm -rf "$X"/*
rm -rf ${X:-build}
X=build; rm -rf $X
rm -rf $(cat list)
rm -rf build `cat list`
rm -rf ~-
rm -rf ~-/x
cd - && rm -rf *
popd && rm -rf build
cd "$X" && rm -rf build
ls | xargs rm -rf
find . -name __pycache__ | xargs rm -rf
find . -print0 | xargs -0 rm -rf build
ls | parallel rm -rf {}
ls | parallel 'rm -rf {}'
ls | parallel -j4 rm -rf {1}
ls | parallel -j 4 --bar rm -r {.}
find . | parallel -q rm -r -- {}
parallel rm -rf {} ::: a b
parallel rm -rf ::: a b
parallel 'rm -rf {1}/{2}' ::: a ::: b
parallel rm -rf :::: list
parallel rm -rf {} :::+ a
parallel -a list rm -rf {}
parallel --arg-file list 'cd {} && rm -rf build'
ls | parallel sh -c 'rm -rf {}'
ls | parallel "bash -c 'rm -rf {}'"
ls | parallel --pipe sh -c 'rm -rf {}'
parallel ::: 'rm -rf a'
ls | nice parallel rm -rf {}
ls | env_parallel rm -rf {}
env_parallel rm -rf ::: a
ls | parallel.moreutils -j 2 rm -rf {}
ls | rush 'rm -rf {}'
ls | rush -j 2 'rm -rf {/}'
ls | rust-parallel rm -rf {}
apply 'rm -rf %1' a
ls | xe -N0 rm -rf {}
ls | xargs -I% rm -rf %
ls | xargs -J % rm -rf %
ls | xargs -I{} sh -c 'rm -rf {}'
ls | xargs -n1 sh -c 'rm -rf "$0"'
for d in a b; do rm -rf $d; done
sudo rm -r "$TMPDIR/x"
rm -rf sub/.git
rm -rf sub/.git/*
git push origin :main
git push origin --delete main
git push -d origin main
git push --prune
git -C sub push --del origin x
git clean -fdx
git clean -fX
git clean -xdf -e node_modules
git clean -d --force -x .
git clean -ffd
git clean $X
git -C sub clean -fdx -- '*'
git -c clean.requireForce=false clean -dx
"""

PLAIN = r"""
rm -rf build
rm -rf "$HOME/x/y"
rm -rf ~+/build
rm -f $X
cd sub && rm -rf build
ls | xargs rm -f
ls | parallel rm -f {}
ls | parallel gzip {}
ls | parallel 'convert {} {.}.png'; rm -rf build
git push
git push origin main
echo $(rm x)
rm -rf sub/.gitignored
git clean -fd
git clean -ndx
git clean -fdx --dry-run
git clean -fdx build dist
git clean -fd -e x
"""


def test_a_deletion_with_unknown_target_always_asks() -> None:
    for command in GRAVE.strip().splitlines():
        assert catastrophic_reason(command, ROOT, HOME) is None, command
        found = required_confirmation(command, ROOT, HOME)
        assert found is not None and found.is_grave, command


def test_a_deletion_with_known_target_needs_no_extra_confirmation() -> None:
    commands = PLAIN.strip().splitlines()
    assert [one for one in commands if required_confirmation(one, ROOT, HOME) is not None] == []


def test_a_push_with_lease_asks_and_is_not_refused() -> None:
    command = "git -C sub push --force-with-lease=main origin main"
    assert catastrophic_reason(command, ROOT, HOME) is None
    found = required_confirmation(command, ROOT, HOME)
    assert found is not None
    assert not found.is_grave


def test_ordinary_commands_pass() -> None:
    commands = ALLOWED.strip().splitlines()
    assert [one for one in commands if catastrophic_reason(one, ROOT, HOME) is not None] == []


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf up/",
        "rm -rf up/*",
        "rm -rf hm/*",
        "rm -rf hm/.",
        "rm -rf me/*",
        "rm -rf up/etc",
        "cd hm && rm -rf *",
        "cd up/; rm -rf *",
        "chmod -R 777 up",
        "find hm/ -delete",
        "rm -rf sub/../.git",
    ],
)
def test_a_link_is_judged_by_its_target(tmp_path: Path, command: str) -> None:
    home, root = tmp_path / "home", tmp_path / "home" / "work"
    (root / "sub").mkdir(parents=True)
    (root / "up").symlink_to("/")
    (root / "hm").symlink_to(home)
    (root / "me").symlink_to(".")
    assert catastrophic_reason(command, root, home)


def test_a_link_itself_can_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "up").symlink_to("/")
    assert catastrophic_reason("rm -rf up", tmp_path, HOME) is None
    assert catastrophic_reason("mv up down", tmp_path, HOME) is None


def test_a_here_document_is_checked_only_when_a_shell_reads_it() -> None:
    assert catastrophic_reason("bash <<EOF\nrm -rf /\nEOF", ROOT, HOME)
    assert catastrophic_reason("cat > notes.md <<'EOF'\nnever run rm -rf /\nEOF", ROOT, HOME) is None


def test_each_line_of_a_command_is_checked() -> None:
    assert catastrophic_reason("echo hello\nrm -rf /\n", ROOT, HOME)
    assert catastrophic_reason("rm \\\n -rf \\\n /", ROOT, HOME)


@pytest.mark.parametrize(
    "command",
    [
        "'" * 5_001,
        "$(" * 3_000,
        "`" * 5_000,
        "(" * 20_000,
        "a" * 90_000,
        "<<A\n" * 5_000,
        "x;" * 20_000,
        " " * 90_000,
        "f(){" * 20_000,
        "rm -r $x;" * 10_000,
        "cd a; rm -r $x y;" * 5_000,
    ],
)
def test_a_hostile_command_line_is_parsed_without_error(command: str) -> None:
    started = time.process_time()
    catastrophic_reason(command, ROOT, HOME)
    required_confirmation(command, ROOT, HOME)
    assert catastrophic_reason(f"{command}\nrm -rf /", ROOT, HOME) or "'" in command or "<<" in command
    assert time.process_time() - started < 5
