"""A rule that the user wrote for a program holds inside the folder, whatever the program is."""

from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.tools.base import ToolUse

ALLOW, ASK = Decision.ALLOW, Decision.ASK


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for folder in (root / "src", root / "linked", tmp_path / "other/.git"):
        folder.mkdir(parents=True)
    for name in ("notes.gz", "notes.txt", "more.txt"):
        (tmp_path / "other" / name).write_text("x")
    for name in ("src/a.py", "src/b.py", "src/pack.tar", "src/x.json"):
        (root / name).write_text("x")
    (root / "away").symlink_to("../other")
    (root / "linked/out").symlink_to("../../other/notes.txt")
    (root / "src/inner").symlink_to("a.py")
    return root


def decision(root: Path, rule: str, command: str) -> Decision:
    policy = PermissionPolicy(root, allow=[f"bash({rule})"])
    return policy.decide("bash", ToolUse(Effect.RUN, command)).decision


def rows_that_do_not(wanted: Decision, root: Path, rows: str) -> list[str]:
    """Return the rows, each a program in an allow rule and a command, of which the decision is another."""
    cases = [(row, *row.split(" | ", 1)) for row in rows.strip().splitlines()]
    return [row for row, program, command in cases if decision(root, f"{program}:*", command) is not wanted]


OUTSIDE = """
less | less ../other/notes.txt
less | less away/notes.txt
less | less linked/out
less | less /etc/passwd
less | less ~/.bashrc
less | less ~
less | less ~root/x
less | less ../other/*.txt
less | less away/*
less | less linked/*
more | more ../other/notes.txt
zcat | zcat ../other/notes.gz
zcat | zcat < ../other/notes.gz
zgrep | zgrep key ../other/notes.gz
zgrep | zgrep -f../other/notes.txt src/a.py
bzcat | bzcat away/notes.gz
xzcat | xzcat away/notes.gz
gunzip | gunzip -c /etc/passwd
gzip | gzip -dc ../other/notes.gz
bat | bat ../other/notes.txt
nl | nl ../other/notes.txt
git | git -C .. status
git | git -C ../other status
git | git -C away log
git | git -C src -C ../away log
git | git --git-dir=../other/.git log
git | git --git-dir ../other/.git log
git | git --work-tree=.. status
git | git diff ../other/notes.txt ../other/more.txt
git | git blame --contents ../other/notes.txt src/a.py
git | git blame --contents=away/notes.txt src/a.py
git | git hash-object -w ../other/notes.txt
git | git commit -F ../other/notes.txt
git | git commit -F../other/notes.txt
git | git clone ../other x
git | git fetch file:../other
git apply | git apply ../other/notes.txt
git add | git add --pathspec-from-file=../other/notes.txt
grep | grep -R key linked
grep | grep -nR key .
grep | grep -R key
grep | grep --dereference-recursive key linked
egrep | egrep -Rn key linked
rg | rg -L key
rg | rg --follow key linked
rg | rg -nL key
fd | fd -L x
find | find -L . -name x
find | find linked -follow -name x
ls | ls -LR linked
du | du -L linked
tree | tree -l
diff | diff -r src linked
diff | diff -rq src linked
diff | diff --recursive src linked
diff | diff src ../other
ag | ag key ../other
ag | ag -f key
ack | ack --follow key
cmp | cmp src/a.py ../other/notes.txt
strings | strings -o ../other/notes.txt
strings | strings away/notes.txt
od | od --format=x ../other/notes.txt
od | od away/notes.txt
xxd | xxd away/notes.txt
hexdump | hexdump -f ../other/notes.txt src/a.py
hexdump | hexdump away/notes.txt
jq | jq . away/notes.txt
jq | jq -n 'import "../other/notes" as $x; $x'
jq | jq -L ../other . src/x.json
jq | jq -L../other . src/x.json
yq | yq . ../other/notes.txt
yq | yq 'load("/etc/passwd")' src/x.json
tar | tar -tf ../other/notes.gz
tar | tar tf ../other/notes.gz
tar | tar -tf../other/notes.gz
tar | tar --list --file=../other/notes.gz
tar | tar -cf src/x.tar -C ../other notes.txt
tar | tar -cf src/x.tar -C .. other
tar | tar -chf x.tar linked
tar | tar --dereference -cf x.tar linked
unzip | unzip -l ../other/notes.gz
unzip | unzip -p away/notes.gz
zip | zip -r x.zip linked
git -C linked | git -C linked hash-object out
tar | tar -cf x.tar -C linked out
tar | tar -C src -cf x.tar ../../other/notes.txt
make -C src | make -C src ../../other/notes.txt
cp | cp ../other/notes.txt src/c
cp | cp -rL linked copy
cp | cp -Lr linked copy
rsync | rsync -aL linked/ copy
rsync | rsync -a ../other/ copy
dd | dd if=../other/notes.txt
dd | dd if=src/a.py of=../new
cp | cp src/a.py ../new
cp | cp -t../new src/a.py
cp | cp src/a.py away/new
mv | mv src/a.py ../new
ln | ln -s ../new src/link
ln | ln -s /nowhere/x src/link
tee | tee ../new
install | install --target-directory=../new src/a.py
tar | tar -cf ../new.tar src
tar | tar -cf../new.tar src
tar | tar -xf src/pack.tar -C ../new
unzip | unzip src/pack.tar -d ../new
zip | zip ../new.zip src
readelf | readelf -a ../other/notes.txt
objdump | objdump -d ../other/notes.txt
base64 | base64 ../other/notes.txt
pdftotext | pdftotext ../other/notes.txt -
sqlite3 | sqlite3 ../other/notes.txt .dump
openssl | openssl x509 -in ../other/notes.txt
openssl | openssl enc -base64 -in away/notes.txt
python | python ../other/notes.txt
node | node --require=../other/notes.txt src/a.py
pygmentize | pygmentize -O style=x,include=../other/notes.txt src/a.py
curl | curl -d @../other/notes.txt file:x
docker run | docker run -v /etc:/x image
docker run | docker run --mount type=bind,source=/etc,target=/x image
gcc | gcc -include ../other/notes.txt -E src/a.py
gcc | gcc -I../other -E src/a.py
xmllint | xmllint --noent ../other/notes.txt
column | column ../other/notes.txt
awk | awk 'BEGIN {ARGV[1] = "/etc/passwd"; ARGC = 2} {print}'
gsed | gsed -n 1p ../other/notes.txt
sed | sed -es/a/b/ ../other/notes.txt
sed | sed --expression=p ../other/notes.txt
sed | sed -n -e p ../other/notes.txt
awk | awk -v x=1 1 ../other/notes.txt
gawk | gawk --source=1 ../other/notes.txt
test | test -s ../other/notes.txt
"""


def test_a_rule_for_a_program_does_not_reach_outside(root: Path) -> None:
    assert rows_that_do_not(ASK, root, OUTSIDE) == []


INSIDE = r"""
less | less src/a.py
less | less -N +10 src/a.py
zcat | zcat src/pack.tar
git | git -C src log
git | git commit -m 'see /etc/hosts and ../other'
git | git log --since=1.week -- src/a.py
git | git show HEAD~2:src/a.py
git | git diff main...HEAD
git | git log --format='%h/%s' -3
grep | grep -R key src
grep | grep -rn key .
rg | rg -L key src
find | find -L src -name '*.py'
find | find . -name x
diff | diff -r src src
ls | ls -lR .
du | du -sh .
tree | tree -a
tar | tar -tf src/pack.tar
tar | tar -cf x.tar src
cp | cp -r src copy
cp | cp --target-directory=src/lib src/a.py
tar | tar --exclude=src/lib -cf x.tar src
rg | rg --ignore-file=src/lib key
cp | cp -L src/a.py copy
zip | zip -r x.zip src
jq | jq '.a/2' src/x.json
eslint | eslint src/*.py
docker logs | docker logs --follow web
tail | tail -f src/a.py
curl | curl http://localhost:8000/etc/x
pip list | pip list
sed | sed 's/a/b/' src/a.py
sed | sed -n 's|a|b|gp; /x/,+2p; $!d' src/a.py
sed | sed '1,5{s/e/w/;p}' src/b.py
sed | sed 's/[0-9]*,//2; $a the end' src/a.py
sed | sed -Ene 's#(a)/(b)#\2#p' src/b.py
awk | awk -F'|' '{ w = $1; e = w } END { print e }' src/a.py
awk | awk -v n=1 'NR == n || /x/' src/a.py
echo | echo /etc/passwd ~
seq | seq 1 /etc
tr | tr /etc /tmp
make | make build
tar | tar -xf src/pack.tar
npm run | npm run build -- --public=/nowhere/x
python | python src/a.py 1/2
gcc | gcc -Wall -Isrc -O2 src/a.py
cc | cc -o src/x src/a.py
true | true > /dev/null
node | node src/a.py /dev/null
less ../other/notes.txt | less ../other/notes.txt
git -C ../other | git -C ../other log
tar -tf ../other/notes.gz | tar -tf ../other/notes.gz -v
"""


def test_a_rule_for_a_program_covers_what_is_inside_and_what_it_names(root: Path) -> None:
    assert rows_that_do_not(ALLOW, root, INSIDE) == []


WRITES_OR_RUNS = r"""
date | date --set=2020-01-01
date | date --set 2020-01-01
date | date --se=2020-01-01
date | date -us 2020-01-01
date | date -us2020-01-01
date | date 010112002020
date | date -u 010112002020
hostname | hostname evil
hostname | hostname -F src/a.py
hostname | hostname -b evil
hostname | hostname --file=src/a.py
file | file -C -m src/a.py
file | file -Cm src/a.py
file | file --compile -m src/a.py
file | file -z src/pack.tar
file | file --uncompress src/pack.tar
tree | tree -o out src
tree | tree -R -L 1 -H . src
sort | sort --output=out src/a.py
sort | sort -uo out src/a.py
sort | sort -S 1 --compress-prog=./evil src/a.py
sort | sort -T .. src/a.py
sort | sort --temporary-directory=src src/a.py
printf | printf -v PATH x
test | test -v 'a[$(id)]'
[ | [ -v 'a[$(id)]' ]
gsed | gsed -n 'w out' src/a.py
gsed | gsed 's/a/id/e' src/a.py
sed | sed 's,a,id,e' src/a.py
sed | sed 's#a#b#w out' src/a.py
sed | sed 's#a#b#gwout' src/a.py
sed | sed -n 1wout src/a.py
sed | sed '/x/wout' src/a.py
sed | sed '1!wout' src/a.py
sed | sed '{p;w out}' src/a.py
sed | sed 's/a/b/;1e id' src/a.py
sed | sed 1eid src/a.py
sed | sed 'e' src/a.py
sed | sed 'R x' src/a.py
sed | sed -e p -e 'w out' src/a.py
sed | sed -ne'w out' src/a.py
sed | sed --expr 'w out' src/a.py
sed -n | sed -n -- 'w out' src/a.py
sed -e p | sed -e p -e 'w out' src/a.py
sed | sed '\,x,wout' src/a.py
sed | sed 's/[/]/x/w out/' src/a.py
gsed | gsed --in-place s/a/b/ src/a.py
sed | sed --file=x.sed src/a.py
sed | sed -nEf x.sed src/a.py
sed | sed --expression='w out' src/a.py
nawk | nawk '{print > "out"}' src/a.py
nawk | nawk 'BEGIN {system("id")}'
gawk | gawk -o out 1 src/a.py
gawk | gawk -p out 1 src/a.py
gawk | gawk -dout 1 src/a.py
gawk | gawk --dump-variables=out 1 src/a.py
gawk | gawk --profile=out 1 src/a.py
gawk | gawk --pretty-print=out 1 src/a.py
gawk | gawk -lfilefuncs 1 src/a.py
gawk | gawk --include=inplace 1 src/a.py
gawk | gawk --load=x 1 src/a.py
gawk | gawk -Wexec=x.awk
mawk | mawk -W exec x.awk
awk | awk -D 1
xxd | xxd -revert x out
xxd | xxd -c 8 src/a.py out
uniq | uniq -c src/a.py out
rg | rg --pre=./evil key
rg | rg --hostname-bin=./evil key
rg | rg -z key
fd | fd -x ./evil
fd | fd -tf -X ./evil
fd | fd --exec ./evil
find | find . -fprintf out x
find | find . -fls out
jq | jq -n 'include "evil"; f'
less | less -o out src/a.py
less | less -Oout src/a.py
less | less --log-file=out src/a.py
less | less '+!id' src/a.py
less | less -k keys src/a.py
less | less --lesskey-src=keys src/a.py
more | more '+!id' src/a.py
yq | yq -i '.a = 1' src/x.json
yq | yq --inplace '.a = 1' src/x.json
yq | yq -s .a src/x.json
yq | yq --split-exp .a src/x.json
tar | tar -tf src/pack.tar --to-command=./evil
tar | tar -tf src/pack.tar -I ./evil
tar | tar -cf x.tar --checkpoint=1 --checkpoint-action=exec=./evil src
tar | tar -cf x.tar --remove-files src
unzip | unzip -o src/pack.tar
sdiff | sdiff -o out src/a.py src/b.py
split | split --filter=./evil src/a.py
man | man -P ./evil x
man | man --pager=./evil x
"""


def test_options_that_run_or_write_ask_despite_a_rule_for_the_program(root: Path) -> None:
    assert rows_that_do_not(ASK, root, WRITES_OR_RUNS) == []
