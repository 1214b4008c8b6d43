"""What the guard denies in texts that a line hands to a shell, here or on another host, and the harmless lines next
to them."""

from pathlib import Path

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.guard.catastrophe import catastrophic_reason
from forge_core.tools.base import ToolUse

ROOT = Path("/work/proj")
HOME = Path("/home/me")

FED = r"""
echo reboot | sh
echo 'reboot' | bash
echo -n reboot | bash -s
printf reboot | sh
printf '%s\n' reboot | sh
printf 'reb%s' oot | sh
printf '\162eboot' | sh
echo -e 'reb\x6fot' | sh
printf 'rm -rf ~' | bash -s
bash <<< 'shutdown -h now'
bash <<< reboot
sh <<< halt
sh -s <<< poweroff
sh <(echo reboot)
bash < <(echo reboot)
source <(echo reboot)
. <(printf reboot)
. /dev/stdin <<< reboot
eval "$(echo reboot)"
eval $(printf reboot)
sh -c "$(echo reboot)"
$(echo reboot)
echo reboot | sudo sh
echo reboot | sudo -u root bash -x
echo reboot | (sh)
echo reboot | { sh; }
echo reboot | tee /dev/stderr | sh
echo reboot | cat | cat - | sh
(echo true; echo reboot) | sh
{ echo reboot; } | sh
echo reboot | while read l; do eval "$l"; done
echo reboot | xargs sudo
echo reboot | xargs -I% sh -c %
echo reboot | xargs -I% %
echo reboot | xargs env
cat <<< reboot | sh
echo reboot | env sh
echo reboot | /bin/sh -
echo reboot | busybox sh
echo reboot | at now
at now <<< reboot
echo reboot > x.sh; sh x.sh
echo reboot > x.sh && chmod +x x.sh && ./x.sh
echo reboot | tee x.sh; bash x.sh
echo cmVib290 | base64 -d | sh
echo cmVib290Cg== | base64 --decode | bash
base64 -d <<< cmVib290 | sh
bash <<< "$(base64 -d <<< cm0gLXJmIH4=)"
bash <(base64 -d <<< cm0gLXJmIH4=)
eval "$(echo cm0gLXJmIC8= | base64 -d)"
echo cm0gLXJmIH4= | openssl base64 -d | sh
echo cm0gLXJmIH4= | openssl enc -base64 -d | sh
echo OJWSALLSMYQH4=== | base32 -d | sh
echo 7265626f6f74 | xxd -r -p | sh
echo toober | rev | sh
echo '~ fr- mr' | rev | sh
echo erobbg | tr a-z n-za-m | sh
echo REBOOT | tr A-Z a-z | sh
X=reboot; echo $X | sh
X=cmVib290; echo $X | base64 -d | sh
python3 -c "import os; os.system('reboot')"
python3 -c "import subprocess; subprocess.run(['reboot'])"
python3 -c "import subprocess; subprocess.run('halt', shell=True)"
perl -e 'system("reboot")'
perl -e '`reboot`'
perl -e 'exec "reboot"'
ruby -e 'system "poweroff"'
node -e "require('child_process').execSync('reboot')"
awk 'BEGIN{system("reboot")}'
echo 'import os; os.system("reboot")' | python3
echo 'echo reboot | sh' | sh
$(echo rm) -rf ~
echo / | xargs rm -rf
parallel ::: reboot
echo reboot | parallel
yes reboot | head -1 | sh
printf %b '\x72eboot' | sh
echo cmVib290 | python3 -m base64 -d | sh
echo cmVib290 | tr -d x | base64 -d | tee log | sudo -E bash
"""

FED_DOCUMENTS = [
    "bash <<EOF\nreboot\nEOF",
    "sh <<'EOF'\ncd /\nhalt\nEOF",
    "cat <<EOF | sh\nreboot\nEOF",
    "cat > x.sh <<EOF\nreboot\nEOF\nsh x.sh",
    "ssh host <<EOF\nreboot\nEOF",
    "ssh host bash -s <<EOF\nrm -rf /\nEOF",
    "sudo bash <<EOF\npoweroff\nEOF",
    "docker exec -i c sh <<EOF\nrm -rf /\nEOF",
    "python3 <<EOF\nimport os\nos.system('reboot')\nEOF",
    "base64 -d <<EOF | sh\ncmVib290\nEOF",
]

ELSEWHERE = r"""
ssh host reboot
ssh host sudo reboot
ssh -p 22 host reboot
ssh -t host 'sudo shutdown -h now'
ssh h 'rm -rf /'
ssh h rm -rf /
ssh h rm -rf '~'
ssh h 'rm -rf *'
ssh -i key -o StrictHostKeyChecking=no user@h -- 'rm -rf ~'
ssh h 'cd / && rm -rf *'
ssh h "dd if=/dev/zero of=/dev/sda"
ssh h mkfs.ext4 /dev/sda1
ssh h 'zpool destroy tank'
ssh h systemctl poweroff
ssh a ssh b reboot
ssh h <<< reboot
echo reboot | ssh h
echo reboot | ssh h sh
echo reboot | ssh h sudo bash -s
sshpass -p x ssh h reboot
autossh h reboot
mosh h -- reboot
ssh h 'echo k >> ~/.ssh/authorized_keys'
ssh h 'rm ~/.ssh/id_rsa'
docker exec c rm -rf /
docker exec -it c sh -c 'rm -rf /*'
docker exec -u root c reboot
docker compose exec web rm -rf /
docker-compose exec web rm -rf /etc
podman exec c rm -rf /etc
kubectl exec pod -- rm -rf /
kubectl exec -it pod -c app -- sh -c 'rm -rf /'
kubectl -n ns exec pod -- reboot
oc exec pod -- rm -rf /
lxc exec c -- reboot
incus exec c -- rm -rf /
nsenter -t 1 -m reboot
vagrant ssh -c 'sudo reboot'
vagrant ssh -c 'sudo rm -rf /'
multipass exec vm -- sudo reboot
limactl shell vm sudo reboot
gcloud compute ssh vm --command 'sudo reboot'
gcloud compute ssh vm --command='rm -rf /'
ansible all -a reboot
ansible all -b -m shell -a 'rm -rf /'
ansible all -m reboot
pdsh -w h1 reboot
clush -a reboot
pssh -h hosts 'shutdown -h now'
salt '*' cmd.run 'reboot'
adb shell reboot
adb shell rm -rf /
machinectl shell vm /bin/rm -rf /
rsh h reboot
wsl -e rm -rf /
docker run -v /:/mnt alpine rm -rf /mnt
docker run --privileged alpine dd if=/dev/zero of=/dev/sda
ssh -tp 22 host reboot
ssh host -p 22 reboot
ssh -oBatchMode=yes -J jump host 'echo reboot | sh'
docker exec c sh -c reboot
kubectl exec -n x pod -c app -- sudo reboot
cat <<< reboot | docker exec -i c bash
"""

HARMLESS = r"""
echo reboot
echo reboot | cat
echo reboot | grep boot
echo reboot > notes.txt; sh build.sh
echo reboot; sh build.sh
echo halt | bash ask.sh
yes halt | sh install.sh
echo y | sh install.sh
printf 'halt\n' | python3 ask.py
echo reboot | python3 -c "print(input())"
echo 'print("reboot")' | python3
python3 -c "print('reboot')"
python3 <<< "print('halt')"
echo ls | sh
printf 'make test' | bash -s
bash <<< 'echo reboot'
bash <<< 'grep -rn reboot src'
sh <(echo ls -la)
echo bHM= | base64 -d | sh
echo cmVib290 | base64 -d
echo cmVib290 | base64 -d > x.txt
curl -fsSL https://x/install.sh | sh
curl -fsSL https://x/install.sh | bash -s -- -y
cat x.sql | psql
cat setup.sh | ssh host bash
ssh host ls
ssh host uptime
ssh host 'systemctl status nginx'
ssh host sudo systemctl restart nginx
ssh host 'rm -rf /tmp/build'
ssh host 'rm -rf build'
ssh host rm -rf '~/app/releases/1'
ssh host 'cd app && git pull && make'
ssh host 'echo reboot'
ssh host grep reboot /var/log/syslog
ssh reboot ls
ssh -p 22 halt uptime
ssh host 'tar -C /srv -xf -' < x.tar
ssh host 'last reboot'
ssh host cat '~/.ssh/authorized_keys'
ssh host 'journalctl -b | grep reboot'
docker exec c ls
docker exec reboot ls
docker exec -it c bash
docker exec c rm -rf /tmp/x
docker exec c rm -rf build
docker exec -u root c apt-get update
docker exec c sh -c 'echo reboot'
docker run x reboot
docker restart web
docker compose restart web
docker compose exec web python manage.py migrate
docker compose exec db psql -c 'select 1'
kubectl exec pod -- ls /
kubectl exec -it pod -- sh
kubectl exec pod -- cat /etc/passwd
kubectl rollout restart deploy/x
lxc exec c -- apt update
vagrant ssh -c 'ls'
vagrant halt
gcloud compute ssh vm --command 'uptime'
ansible all -m ping
ansible all -a uptime
ansible all -m copy -a 'src=a dest=/tmp/b'
adb shell ls
adb reboot
pdsh -w h1 uptime
echo a b | xargs rm -f
echo reboot | xargs grep -l
echo reboot | xargs echo
echo reboot | xargs -I% echo %
ls | xargs wc -l
find . -name '*.py' | xargs grep halt
parallel echo ::: reboot halt
parallel make ::: a b
cat list | while read l; do eval "$l"; done
eval "$(ssh-agent -s)"
eval "$(echo 'export A=1')"
$(echo ls) -la
. <(echo 'export A=1')
source .venv/bin/activate
echo "source .venv/bin/activate" >> x.sh; bash x.sh
awk 'BEGIN{system("date")}'
perl -e 'print "reboot"'
node -e "console.log('reboot')"
python3 -c "import subprocess; subprocess.run(['ls'])"
ruby -e 'puts "halt"'
git log --grep reboot | head
echo 'reboot' | tee log.txt
at -l
crontab -l
crontab -l | grep reboot
echo shutdown | sed s/x/y/ | awk '{print $1}'
wsl -l -v
kubectl apply -f - <<< 'kind: Pod'
"""

HARMLESS_DOCUMENTS = [
    "cat <<EOF > notes.md\nreboot\nEOF\nsh build.sh",
    "cat <<EOF | kubectl apply -f -\nkind: reboot\nEOF",
    "python3 <<EOF\nx = 'reboot'\nprint(x)\nEOF",
    "bash <<EOF\necho reboot\nls\nEOF",
    "cat > Dockerfile <<EOF\nFROM x\nRUN reboot\nEOF\ndocker build .",
    "ssh host <<EOF\ncd app\ngit pull\nEOF",
]


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def test_the_guard_reads_the_text_that_a_shell_is_fed() -> None:
    lines = [*_lines(FED), *FED_DOCUMENTS]
    assert [line for line in lines if not catastrophic_reason(line, ROOT, HOME)] == []


def test_the_guard_reads_what_runs_on_another_host_or_in_a_container() -> None:
    assert [line for line in _lines(ELSEWHERE) if not catastrophic_reason(line, ROOT, HOME)] == []


def test_the_guard_denies_no_text_that_does_no_harm(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, PermissionMode.YOLO)
    for line in (*_lines(HARMLESS), *HARMLESS_DOCUMENTS):
        assert catastrophic_reason(line, ROOT, HOME) is None, line
        assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.ALLOW, line


def test_a_deny_rule_covers_encoded_text_that_a_shell_is_fed(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, PermissionMode.YOLO, deny=["bash(git push:*)"])
    for line in ("echo Z2l0IHB1c2g= | base64 -d | sh", "printf 'git %s' push | sh", "ssh h git push"):
        assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.DENY, line


def test_text_that_a_shell_is_fed_is_no_reason_to_allow(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, PermissionMode.AUTO, allow=["bash(echo:*)"])
    for line in ("echo ls | sh", "echo bHM= | base64 -d | sh", "ssh host ls", "bash <<< ls"):
        assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.ASK, line
