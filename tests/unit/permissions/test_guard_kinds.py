"""What the guard denies in every mode, by kind, and the harmless commands next to it."""

from pathlib import Path

import pytest

from forge_core.approval import Effect
from forge_core.config.permission_mode import PermissionMode
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.guard.catastrophe import catastrophic_reason
from forge_core.tools.base import ToolUse

ROOT = Path("/work/proj")
HOME = Path("/home/me")

CREDENTIALS = r"""
passwd -d root
passwd --delete me
sudo passwd -l root
passwd root
usermod -L me
usermod -p x me
usermod --lock me
usermod -s /sbin/nologin me
chpasswd < users
echo root:x | sudo chpasswd -e
userdel me
userdel -f me
deluser me
groupdel sudo
gpasswd -d me sudo
chage -E 0 me
vipw
visudo -f /etc/sudoers.d/x
dscl . -delete /Users/me
sysadminctl -deleteUser me
homectl remove me
pw userdel me
> ~/.ssh/id_rsa
: > ~/.ssh/id_ed25519
echo x > "$HOME/.ssh/id_rsa"
rm ~/.ssh/*
rm ~/.ssh/id_rsa
rm -f ~/.ssh/id_ed25519 ~/.ssh/id_ed25519.pub
rm ~/.ssh/authorized_keys
rm ~/.s*/id_*
cd ~/.ssh && rm *
cd && rm .ssh/id_rsa
unlink ~/.ssh/id_rsa
shred -u ~/.ssh/id_rsa
truncate -s 0 ~/.ssh/id_rsa
mv ~/.ssh/id_rsa /tmp/x
mv ~/.ssh /tmp/x
cp /dev/null ~/.ssh/id_rsa
ln -sf x ~/.ssh/id_rsa
install -m 600 x ~/.ssh/id_rsa
dd if=/dev/zero of=/home/me/.ssh/id_rsa
tee ~/.ssh/id_rsa < x
curl -o ~/.ssh/id_rsa http://x
wget -O ~/.ssh/authorized_keys http://x
sed -i d ~/.ssh/id_rsa
perl -pi -e s/a/b/ ~/.netrc
sort x -o ~/.netrc
scp host:x ~/.ssh/id_rsa
find ~/.ssh -type f -delete
find ~/.ssh -name 'id_*' -delete
rm -r ~/.gnupg/private-keys-v1.d
rm ~/.gnupg/pubring.kbx
> ~/.gnupg/trustdb.gpg
gpg --delete-secret-keys me
gpg --batch --yes --delete-secret-and-public-key ABCD
rm ~/.aws/credentials
> ~/.aws/config
rm ~/.kube/config
> ~/.docker/config.json
rm ~/.netrc
> ~/.git-credentials
rm ~/.pgpass
rm -rf ~/.password-store
rm ~/.password-store/mail.gpg
pass rm -r mail
rm -rf ~/.local/share/keyrings
rm ~/.config/gh/hosts.yml
rm -rf ~/.config/gcloud
rm -rf ~/.config
rm -rf ~/.azure
> /etc/shadow
rm /etc/shadow
sed -i s/x// /etc/passwd
echo x > /etc/sudoers
tee /etc/sudoers.d/me < x
rm /etc/ssh/ssh_host_ed25519_key
rm -f /root/.ssh/authorized_keys
sudo rm /home/other/.ssh/id_rsa
userdel -r me
deluser --remove-home me
security delete-keychain login.keychain
echo key >> ~/.ssh/authorized_keys
tee -a ~/.ssh/authorized_keys < k.pub
cat k.pub | sudo tee -a /root/.ssh/authorized_keys
echo key > ~/.ssh/authorized_keys2
cd ~/.ssh && echo key >> authorized_keys
(cd ~/.ssh; true && echo key >> authorized_keys)
printf k | dd of=/home/me/.ssh/authorized_keys oflag=append conv=notrunc
rsync k ~/.ssh/authorized_keys
ln -s /work/proj/k ~/.ssh/authorized_keys
cp authorized_keys ~/.ssh/
cp a/authorized_keys ~/.ssh
cp -t ~/.ssh authorized_keys
install --target-directory=/root/.ssh authorized_keys
mv id_rsa ~/.ssh
wget -P ~/.ssh http://x/authorized_keys
tar -xf x.tar -C ~/.ssh
tar xzf x.tgz --directory ~/.aws
unzip x.zip -d ~/.gnupg
echo 'me ALL=(ALL) NOPASSWD: ALL' >> /etc/sudoers
"""

DISKS = r"""
e2fsck -y /dev/sda1
e2fsck -fy /dev/sda1
e2fsck -p /dev/sda1
e2fsck /dev/sda1 -y
fsck -y /dev/sda1
fsck.ext4 -y /dev/sda1
fsck.vfat -a /dev/sda1
fsck -A -y
dosfsck -a /dev/sda1
fsck_apfs -y disk1
tune2fs -O ^has_journal /dev/sda1
tune2fs -L x /dev/sda1
resize2fs /dev/sda1 10G
resize2fs -M /dev/sda1
ntfsresize -s 1G /dev/sda1
zerofree /dev/sda1
btrfs-convert /dev/sda1
xfs_admin -U generate /dev/sda1
e2image -r /dev/sda1 /dev/sdb1
parted /dev/sda toggle 1 boot
cryptsetup luksErase /dev/sda1
sfdisk -f /dev/sda
dd if=/dev/zero of=/dev/disk/by-id/ata-x
dd if=/dev/zero of=/dev/vg0/root
dd if=x of=/dev/nbd0
dd if=x of=/dev/zd0
dd if=x of=/dev/pmem0
dd if=x of=/dev/mtd0
dd if=x of=/dev/dasda
cat x > /dev/zvol/tank/a
dcfldd if=/dev/zero of=/dev/sda
dc3dd wipe=/dev/sda
ddrescue -f x /dev/sda
pv x > /dev/sda
badblocks -w /dev/sda
hdparm --user-master u --security-erase p /dev/sda
hdparm --trim-sector-ranges 1:1 /dev/sda
blkdiscard /dev/sda
blkdiscard -f /dev/nvme0n1
nvme format /dev/nvme0n1
nvme sanitize /dev/nvme0 -a 2
nvme delete-ns /dev/nvme0 -n 1
sg_format --format /dev/sg0
sg_sanitize --block /dev/sg0
sgdisk --zap-all /dev/sda
sgdisk -Z /dev/sda
sgdisk -o /dev/sda
sfdisk /dev/sda < table
sfdisk --delete /dev/sda
fdisk /dev/sda
cfdisk /dev/sda
gdisk /dev/sda
parted /dev/sda mklabel gpt
parted -s /dev/sda rm 1
wipefs --all /dev/sda
wipefs -af /dev/sda1
mkfs.xfs -f /dev/sda1
mke2fs /dev/sda1
mkswap /dev/sda2
mkdosfs /dev/sda1
newfs_msdos /dev/disk2
cryptsetup luksFormat /dev/sda1
cryptsetup erase /dev/sda1
cryptsetup luksKillSlot /dev/sda1 0
cryptsetup luksRemoveKey /dev/sda1
diskutil eraseDisk JHFS+ x disk2
diskutil apfs deleteContainer disk1
nwipe --autonuke
scrub /dev/sda
debugfs -w -R 'rm x' /dev/sda1
xfs_repair -L /dev/sda1
flash_erase /dev/mtd0 0 0
flashrom -w x.bin
sudo -n wipefs -a /dev/sdb
xargs -n1 wipefs -a
format.com c:
"""

POOLS = r"""
zpool destroy tank
zpool destroy -f tank
sudo zpool destroy tank
zpool labelclear -f /dev/sda
zpool create -f tank /dev/sda
zfs destroy -r tank/home
zfs destroy tank/home@snap
zfs rollback -r tank@old
zfs receive -F tank/x
lvremove -f vg0/root
lvm lvremove vg0/root
vgremove vg0
pvremove /dev/sda1
lvreduce -L1G vg0/root
mdadm --zero-superblock /dev/sda1
mdadm --create /dev/md0 -l1 -n2 /dev/sda /dev/sdb
mdadm -S /dev/md0
btrfs subvolume delete /mnt/x
btrfs sub del /mnt/x
btrfs device remove /dev/sdb /mnt
btrfs check --repair /dev/sda1
bcachefs format /dev/sda
dmsetup remove_all
dmsetup wipe_table root
ceph osd pool delete a a --yes-i-really-really-mean-it
ceph osd destroy 1
ceph fs rm x --yes-i-really-mean-it
rados purge pool --yes-i-really-really-mean-it
rbd rm pool/image
gluster volume delete v
stratis pool destroy p
vdo remove --name v
drbdadm wipe-md r0
env X=1 zpool destroy tank
timeout 5 zfs destroy tank
mytool zpool destroy tank
"""

BOOT = r"""
grub-install /dev/sda
grub2-install /dev/sda
grubby --remove-kernel=/boot/vmlinuz-6.1
extlinux --install /boot
lilo
efibootmgr -b 0 -B
efibootmgr -n 1
bcdedit /delete x
mokutil --reset
kernel-install remove 6.1
rm /boot/vmlinuz-6.1
rm -f /boot/initrd.img-*
rm -rf /boot/efi/EFI
rm -rf /boot/grub
> /boot/grub/grub.cfg
mv /boot/vmlinuz /tmp/x
truncate -s0 /boot/grub2/grub.cfg
find /boot -type f -delete
rm /efi/loader/loader.conf
rm /etc/fstab
> /etc/fstab
sed -i d /etc/crypttab
rm -rf /etc/systemd
rm -rf /lib/modules
rm -rf /usr/lib/modules/6.1
rm -rf /sys/firmware/efi/efivars
rm /sys/firmware/efi/efivars/Boot0001-x
efibootmgr -B -b 0001
efibootmgr --delete-bootnum --bootnum 1
efibootmgr -O
bootctl remove
update-initramfs -d -k all
apt-get remove -y linux-image-amd64
apt purge linux-image-6.1
dnf remove kernel
nvram -c
"""

HISTORY = r"""
git reflog expire --expire=now --all
git reflog expire --expire-unreachable=now --all
git -C . reflog expire --expire=all --all
git reflog expire --all --expire=now && git gc --prune=now
git reflog drop --all
git filter-branch --force --index-filter 'git rm x' HEAD
git filter-branch --tree-filter 'rm -f x' -- --all
git filter-repo --path src
git-filter-repo --invert-paths --path x
bfg --delete-files x
bfg --strip-blobs-bigger-than 1M
bash -c 'git reflog expire --expire=now --all'
"""

PRUNING = r"""
git gc --prune=now
git gc --aggressive --prune=all
git -c gc.reflogExpire=now gc
git -c gc.pruneExpire=now gc
git prune
git prune -v
git prune --expire=now
git stash clear
"""

SHUTDOWN = r"""
launchctl reboot
launchctl reboot userspace
launchctl bootout gui/501
ipmitool power off
ipmitool -H host chassis power cycle
ipmi-power --off
ipmi-chassis --chassis-control=POWER-DOWN
racadm serveraction powerdown
systemctl poweroff -f
systemctl --force --force reboot
systemctl suspend
systemctl hibernate
pm-suspend
pmset sleepnow
molly-guard reboot
shutdown.exe /s
shutdown -h now
shutdown
shutdown -r +5
sudo shutdown now
/sbin/shutdown -P now
poweroff
poweroff -f
reboot
reboot --force
halt -p
init 0
init 6
telinit 0
telinit 1
systemctl poweroff
systemctl reboot -i
systemctl --no-wall halt
systemctl kexec
systemctl rescue
systemctl emergency
systemctl isolate rescue.target
systemctl start poweroff.target
loginctl poweroff
loginctl terminate-user me
loginctl kill-user me
echo b > /proc/sysrq-trigger
echo o | sudo tee /proc/sysrq-trigger
kexec -e
busybox reboot
busybox poweroff -f
rtcwake -m off -s 10
dbus-send --system --dest=org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager.PowerOff boolean:true
busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager Reboot b true
gdbus call --system --dest org.freedesktop.login1 --object-path / --method org.freedesktop.login1.Manager.PowerOff true
osascript -e 'tell app "System Events" to shut down'
nohup shutdown -h now &
bash -c 'sleep 1; reboot'
echo shutdown -h now | sh
env reboot
timeout 5 poweroff
true && halt
$(reboot)
wsl.exe --shutdown
openrc-shutdown -p now
runit-init 0
"""

UNKNOWN_FOLDERS = r"""
find $(pwd) -delete
find "$D" -delete
find $D -delete
find $D -type f -delete
find "$D" -exec rm -rf {} +
find ${D:-x} -mindepth 1 -delete
find "$@" -delete
find . $D -delete
tar -C "$D" --remove-files -cf x.tar .
tar --remove-files -cf x.tar $D
tar --remove-files -cf x.tar $(ls)
tar -C $(pwd) --remove-files -cf /tmp/x.tar a
rsync -a --delete empty/ "$D"
rsync -a --delete empty/ $(pwd)/
zip -rm x.zip "$D"
"""

HARMLESS = r"""
passwd -S
passwd --status me
passwd -Sa
passwd --help
usermod -aG docker me
usermod --help
chage -l me
gpasswd -a me docker
visudo -c
dscl . -read /Users/me
dscl . list /Users
homectl list
git reflog
git reflog show HEAD
git reflog expire --all
git reflog expire --expire=90.days.ago --all
git reflog expire --expire=now --all --dry-run
git reflog exists HEAD
git gc
git gc --auto
git gc --prune=2.weeks.ago
git prune -n
git remote prune origin
git fetch --prune
git worktree prune
git stash list
git filter-repo --help
git log --grep=filter-branch
git commit -m 'git filter-branch --all'
bfg --help
e2fsck -n /dev/sda1
e2fsck -y disk.img
fsck -N /dev/sda1
fsck.ext4 -n /dev/sda1
tune2fs -l /dev/sda1
tune2fs -L x disk.img
dumpe2fs -h /dev/sda1
resize2fs disk.img 1G
resize2fs -P /dev/sda1
ntfsresize --info /dev/sda1
grub-install --version
grubby --info=ALL
efibootmgr --help
mokutil --sb-state
kernel-install list
launchctl list
launchctl bootout gui/501/com.example.app
ipmitool power status
ipmitool sensor list
racadm serveraction powerstatus
systemctl is-system-running
pmset -g
cat ~/.ssh/config
cat ~/.ssh/id_rsa.pub
ls -la ~/.ssh
rm ~/.ssh/known_hosts
> ~/.ssh/known_hosts
ssh-keyscan host >> ~/.ssh/known_hosts
echo 'Host x' >> ~/.ssh/config
cp ~/.ssh/id_rsa.pub x.pub
ssh-keygen -R host
ssh-keygen -t ed25519 -f new_key
ssh-add -l
gpg --list-secret-keys
gpg --verify x.sig x
rm x.gpg
rm server.key
rm .env
> .netrc
rm -rf ~/.config/nvim
rm -rf ~/.local/share/nvim
rm -rf ~/.cache/pip
rm ~/.npm/_logs/x.log
cat /etc/passwd
grep me /etc/passwd
cp /etc/passwd x
cp /etc/fstab fstab.bak
id me
zpool list
zpool status -v
zpool import
zpool create --help
zfs list -t snapshot
zfs snapshot tank@x
zfs get all tank
lsblk
lsblk -f
blkid
df -h
mkfs --help
mkfs.ext4 -V
fdisk -l
fdisk --list /dev/sda
sfdisk -l
sfdisk -d /dev/sda
parted -l
parted /dev/sda print
gdisk -l /dev/sda
sgdisk -p /dev/sda
sgdisk --info=1 /dev/sda
wipefs /dev/sda
wipefs --help
hdparm -I /dev/sda
hdparm -tT /dev/sda
badblocks -sv /dev/sda
nvme list
nvme smart-log /dev/nvme0
smartctl -a /dev/sda
cryptsetup status root
cryptsetup luksDump /dev/sda1
cryptsetup --version
diskutil list
diskutil info disk1
blkdiscard --help
mdadm --detail /dev/md0
cat /proc/mdstat
lvs
vgs
pvs
lvdisplay
btrfs subvolume list /
btrfs filesystem usage /
btrfs device stats /
dmsetup ls
ceph status
ceph osd pool ls
rbd ls
cp /dev/sda x.img
dd if=/dev/sda of=x.img bs=512 count=1
pv /dev/sda
cat /dev/null > x
ls /boot
cp /boot/config-6.1 .
cat /boot/grub/grub.cfg
efibootmgr
efibootmgr -v
bootctl status
lsinitramfs /boot/initrd.img
update-initramfs -u
apt-get remove cowsay
apt list linux-image-amd64
systemctl status
systemctl status reboot.target
systemctl --user restart app
systemctl list-units
systemctl start nginx
systemctl is-active poweroff.target
shutdown --help
shutdown -c
reboot --help
loginctl list-sessions
init --help
man shutdown
python3 -c "print('reboot')"
grep -rn reboot src
npm run reboot
pytest -k shutdown
git commit -m 'reboot'
echo shutdown -h now
which poweroff
docker run x reboot
journalctl -b
last reboot
uptime
find $(pwd) -name '*.pyc'
find "$D" -print
find $D -name '*.pyc' -newer x
tar -C "$D" -cf x.tar .
tar -xf x.tar -C "$D"
mv "$A" "$B"
chmod +x "$F"
rsync -a a/ "$D"
rm -f "$F"
"""


START_UP = r"""
> ~/.bashrc
echo x > ~/.profile
cat x > "$HOME/.zshrc"
rm ~/.bash_profile
rm -f ~/.zsh*
mv x ~/.bashrc
mv ~/.bashrc ~/.bashrc.old
cp x ~/.profile
cp config ~/.ssh
cp dotfiles/.bashrc ~
cp -t ~ .profile
ln -sf x ~/.zshrc
tee ~/.bashrc < x
truncate -s0 ~/.bashrc
shred -u ~/.bashrc
> ~/.ssh/config
rm ~/.ssh/config
cd && echo x > .bashrc
cd ~ && true > .bashrc
rm ~/.config/systemd/user/app.service
rm -rf ~/.config/systemd
cp x ~/.config/autostart/app.desktop
curl -o ~/.bashrc http://x
bash -c 'echo x > ~/.bashrc'
crontab -r
crontab -ir
crontab jobs.txt
crontab -
crontab
crontab -u me jobs.txt
echo '* * * * * date' | crontab -
(crontab -l; echo '* * * * * date') | crontab -
crontab /dev/null
"""

HOME_FILES = """
.bashrc
.profile
.zshrc
.bash_profile
.bash_history
.ssh/config
.ssh/known_hosts
.config/systemd/user/app.service
.config/autostart/app.desktop
"""

START_UP_NEIGHBOURS = r"""
echo 'export PATH=~/bin:$PATH' >> ~/.bashrc
cat x >> ~/.zshrc
tee -a ~/.profile < x
sed -i s/a/b/ ~/.bashrc
echo 'Host x' >> ~/.ssh/config
cat ~/.bashrc
cp ~/.bashrc backup
source ~/.bashrc
echo x > ~/.bash_history
echo x > ~/.config/systemd/user/new.service
mkdir -p ~/.config/systemd/user
cp x ~/.config/autostart/new.desktop
systemctl --user enable --now app
crontab -l
crontab -l > jobs.txt
crontab -u me -l
crontab -e
crontab -V
echo x > .bashrc
rm .profile
cp .bashrc skel/
tar -cf x.tar -C ~/.ssh known_hosts
tar -tf x.tar -C ~/.ssh
cp x.pub ~/.ssh
ssh host 'echo x > ~/.bashrc'
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with start-up files."""
    home = tmp_path / "me"
    for name in _lines(HOME_FILES):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x\n")
    return home


@pytest.mark.parametrize("line", START_UP.strip().splitlines())
def test_replacing_what_starts_at_login_asks_even_in_yolo(
    line: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    root = tmp_path / "proj"
    root.mkdir()
    for mode in (PermissionMode.YOLO, PermissionMode.AUTO):
        policy = PermissionPolicy(root, mode, allow=["bash"], sandbox="full")
        found = policy.decide("bash", ToolUse(Effect.RUN, line))
        assert found.decision is Decision.ASK
        assert not found.always_rule
        assert not found.session_rule


@pytest.mark.parametrize("line", START_UP_NEIGHBOURS.strip().splitlines())
def test_what_can_be_removed_again_from_start_up_files_does_not_ask_in_yolo(
    line: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    root = tmp_path / "proj"
    root.mkdir()
    policy = PermissionPolicy(root, PermissionMode.YOLO)
    assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.ALLOW


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


KINDS = {
    "credentials": CREDENTIALS,
    "disks": DISKS,
    "pools": POOLS,
    "boot": BOOT,
    "history": HISTORY,
    "shutdown": SHUTDOWN,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_guard_denies_what_destroys_keys_disks_pools_and_the_running_system(kind: str) -> None:
    assert [line for line in _lines(KINDS[kind]) if not catastrophic_reason(line, ROOT, HOME)] == []


def test_the_guard_denies_in_every_mode_and_despite_any_rule(tmp_path: Path) -> None:
    for mode in PermissionMode:
        policy = PermissionPolicy(tmp_path, mode, allow=["bash"], sandbox="full")
        for line in ("shutdown -h now", "rm ~/.ssh/*", "zpool destroy tank"):
            assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.DENY, (mode, line)


def test_the_guard_denies_no_harmless_neighbour(tmp_path: Path) -> None:
    policy = PermissionPolicy(tmp_path, PermissionMode.YOLO)
    for line in _lines(HARMLESS):
        assert catastrophic_reason(line, ROOT, HOME) is None, line
        assert policy.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.ALLOW, line


@pytest.mark.parametrize("line", [*_lines(UNKNOWN_FOLDERS), *_lines(PRUNING)])
def test_a_deletion_whose_extent_cannot_be_determined_is_never_allowed(line: str, tmp_path: Path) -> None:
    yolo = PermissionPolicy(tmp_path, PermissionMode.YOLO)
    ruled = PermissionPolicy(tmp_path, allow=["bash"])
    assert yolo.decide("bash", ToolUse(Effect.RUN, line)).decision is Decision.DENY
    assert ruled.decide("bash", ToolUse(Effect.RUN, line)).decision is not Decision.ALLOW
