"""Files that hold keys or passwords although their name alone does not say so, and the other way round."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from forge_core.approval import Effect, ToolKind
from forge_core.permissions import Decision, PermissionPolicy
from forge_core.permissions.path_info import locate
from forge_core.permissions.sandbox.survey import Survey
from forge_core.permissions.secret_content import holds_password, holds_secret, needs_reading
from forge_core.tools.base import ToolUse

BLOCK = "-----BEGIN {0}-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Qu\n-----END {0}-----\n"
CERTIFICATE = BLOCK.format("CERTIFICATE")

HOLDS = {
    "server.pem": BLOCK.format("PRIVATE KEY"),
    "both.pem": CERTIFICATE * 40 + BLOCK.format("EC PRIVATE KEY"),
    "der.key": b"\x30\x82\x01\x55\x02\x01\x00\x30\x0d\x06\x09",
    "master.key": "0123456789abcdef0123456789abcdef\n",
    "wireguard.key": "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n",
    "binary.key": b"\x01\x02\x00\xff",
    "wp-config.php": "<?php\ndefine( 'DB_PASSWORD', 'hazel' );\n",
    "secrets.yml": "production:\n  secret_key_base: 9f8e7d6c5b4a\n",
    "secrets.yaml": "db:\n  password: hazel\n",
    "app.secrets.json": '{"apiKey": "hazel-9"}\n',
    "credentials.toml": 'token = "hazel"\n',
    "credentials.ini": "passphrase=hazel\n",
    "database.yml": "production:\n  username: a\n  password: 'hazel'\n",
    "prod.tfvars": 'db_password = "hazel"\n',
    "auth.json": '{"http-basic": {"host": {"username": "a", "password": "hazel"}}}\n',
    "wp-config.php.bak": "$db_password = 'hazel';\n",
}
PUBLIC = {
    "ca.pem": CERTIFICATE * 3,
    "public.pem": BLOCK.format("PUBLIC KEY"),
    "request.pem": BLOCK.format("CERTIFICATE REQUEST"),
    "dhparams.pem": BLOCK.format("DH PARAMETERS"),
    "certificate.key": b"\x30\x82\x03\x55\x30\x82\x02\x3d\xa0\x03\x02\x01\x02",
    "talk.key": b"PK\x03\x04\x14\x00\x00\x00",
    "empty.pem": "",
    "words.key": "title = A title\n",
    "wp-config.php": "<?php\ndefine( 'DB_PASSWORD', getenv('DB_PASSWORD') );\n",
    "secrets.yml": "production:\n  secret_key_base: <%= ENV['SECRET_KEY_BASE'] %>\n",
    "secrets.yaml": "password: {{ .Values.password }}\ntoken: ${TOKEN}\nsecretName: my-tls\npassword: ENC[AES256,x]\n",
    "credentials.toml": 'token = ""\ntoken_url = "https://example.org/token"\npassword = "changeme"\n',
    "database.yml": "development:\n  adapter: sqlite3\n  password:\n  pool: 5\n",
    "prod.tfvars": 'region = "eu"\npassword_length = 16\n',
    "auth.json": "{}\n",
}


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", HOLDS)
def test_a_secret_is_found_by_what_the_file_holds(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, HOLDS[name])
    assert needs_reading(name)
    assert holds_secret(path)
    assert Survey(tmp_path.resolve()).scan().secrets == [path.resolve()]
    assert locate(path, tmp_path).is_secret


@pytest.mark.parametrize("name", ["credentials.json", "client_secret.json", ".env.secrets.json"])
def test_a_name_that_says_enough_is_hidden_whatever_the_file_holds(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, '["me", "hazel"]\n')
    assert locate(path, tmp_path).is_secret
    assert Survey(tmp_path.resolve()).scan().secrets == [path.resolve()]


@pytest.mark.parametrize("name", PUBLIC)
def test_what_holds_none_is_not_hidden(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, PUBLIC[name])
    assert not holds_secret(path)
    assert Survey(tmp_path.resolve()).scan().secrets == []


@pytest.mark.parametrize(
    "name", ["secrets.py", "credentials.ts", "secret.go", "tokens.json", "config.yml", "a.php"]
)
def test_source_files_and_other_names_are_not_read(name: str) -> None:
    assert not needs_reading(name)


@pytest.mark.parametrize(
    "value", ["xxxxx", "****", "your_token_here", "null", "$TOKEN", "env.TOKEN", "vault:a#b"]
)
def test_placeholders_are_no_passwords(value: str) -> None:
    assert not holds_password(f"api_token: {value}\n")
    assert holds_password(f"api_token: {value}\npassword: hazel\n")


def test_the_time_grows_with_the_length_of_the_text_only() -> None:
    text = "token" * 50_000  # 250 kB: minutes, if each word looked for the end of the name
    started = time.process_time()
    assert not holds_password(text)
    assert holds_password(f"{text}\npassword: hazel\n")
    assert time.process_time() - started < 5


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = put(tmp_path / "secrets.yml", "password: $X\n")
    assert not holds_secret(path)
    put(path, "password: hazel\n")
    assert holds_secret(path)


def test_reading_such_a_file_asks(tmp_path: Path) -> None:
    path = put(tmp_path / "wp-config.php", HOLDS["wp-config.php"])
    policy = PermissionPolicy(tmp_path, sandbox="full")
    use = ToolUse(Effect.READ, "wp-config.php", (path,), kind=ToolKind.LOOK)
    assert policy.decide("read", use).decision is Decision.ASK
    assert policy.explain("cat wp-config.php").decision is Decision.ASK
    put(path, PUBLIC["wp-config.php"])
    assert policy.decide("read", use).decision is Decision.ALLOW
    assert policy.explain("cat wp-config.php").decision is Decision.ALLOW


def test_a_hard_link_to_a_file_with_keys_is_one(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "notes/deep").mkdir(parents=True)
    put(root / ".env", "A=b\n")
    put(root / "other.txt", "text\n")
    os.link(root / ".env", root / "notes/deep/list.txt")
    os.link(root / "other.txt", root / "notes/other.txt")
    survey = Survey(root)
    for _ in range(2):
        assert survey.scan().secrets == [root / ".env", root / "notes/deep/list.txt"]
    os.link(root / ".env", root / "more.txt")
    assert sorted(survey.scan().secrets) == [root / ".env", root / "more.txt", root / "notes/deep/list.txt"]
    assert locate(root / "notes/deep/list.txt", root).is_secret
    assert not locate(root / "notes/other.txt", root).is_secret
    (root / "more.txt").unlink()
    (root / "notes/deep/list.txt").unlink()
    assert survey.scan().secrets == [root / ".env"]
