"""What looks like a secret, and what only looks technical."""

import pytest

from memory_butler.policy.trust.secrets import has_secret, without_key_blocks

SECRETS = [
    "The password is hunter2",
    "my password for the wifi is blue-horse-12",
    "DB_PASSWORD=s3cr3t",
    '"api_key": "abc"',
    "PIN: 4711",
    "The door code is 8899",
    "the verification code was 123456",
    "use sk-proj-abcdefghijklmnop123456 there",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "token mbt_0123456789abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "Authorization: Bearer abcdefghijklmnop",
    "postgresql://anna:geheim@db.example.org/app",
    "key 0123456789abcdef0123456789abcdef",
    "it is q9Xv3LmZ0bT7yKp2WsR8dF4h",
    "card 4111 1111 1111 1111",
    "Please set the root password to Zebra77-Quokka.",
    "I changed the database password to correct-horse",
    "The password for staging will be quokka",
    "The secret for the webhook is Zebra77-Quokka",
    "our client secret is 77zebra",
    "The token is zebra77quokka",
    "Use the password hunter2",
    "Always run PGPASSWORD=Zebra77Quokka psql before you deploy.",
    "SSHPASS=quokka sshpass -e ssh prod",
    "curl -u admin:quokka https://example.org",
    "mysql -uroot -pquokka shop",
    "docker login -u ci -p quokka registry.example.org",
    "gh auth login --token quokka",
    "The admin password has been changed to quokka",
    "the password will now be quokka",
    "the password for staging was reset to quokka",
    "MYSQL_PWD=quokka mysql shop",
    "`--password 'quokka'`",
    '["--token", "quokka"]',
    "my pin code 4711",
    "Das Passwort ist Zebra",
    "Das Kennwort für den Router lautet zebra",
    "le mot de passe est quokka",
    "la contraseña es quokka",
    "a senha é quokka",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----",
]
HARMLESS = [
    "I forgot my password again.",
    "The password is stored in the vault.",
    "The token is expired.",
    "Passwords are not to be shared.",
    "Fixed in commit 0123456789abcdef0123456789abcdef01234567.",
    "The id is 01932f6e-8c1b-7a52-9c55-0f4d8b1f2a3c.",
    "See src/memory_butler/policy/session_episode.py and MyComponentWithAVeryLongName.",
    "Call me on +351 912 345 678.",
    "We met on 2026-03-01 at 09:30.",
    "The secret of a good bread is time.",
    "https://example.org/path?page=2",
    "Her pin cushion is red.",
    "Reset the password to log in again.",
    "The password reset takes 10 minutes.",
    "The token bucket is full.",
    "The secret is to start early.",
    "docker run -u 1000:1000 image",
    "cp -p a b, then mkdir -p src/policy",
    "The login page takes -p as a prefix in our notation",
    "Das Passwort ist falsch.",
    "Pin the version to 2.4.1 in the lock file.",
    "Rotate the tokens every month.",
    "Always pin numpy==1.26.4 in constraints.txt.",
    "Pin actions/checkout@v4 by its hash.",
    "We pin python3.11 here.",
    "set the session token lifetime to 15 minutes",
    "We switched password hashing to bcrypt.",
    "Passwords must be unique.",
    "A password must be 12 characters long.",
    "The password should be rotated.",
    "The password has been changed to match the policy.",
    "docker run --user app:app image",
    "Use the --token flag.",
    "BYPASS=1 COMPASS_HOME=/opt TESTS_PASSED=12 make",
    "run mysql, then mkdir -p data",
    "The password policy asks for 12 characters.",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_seen(text: str) -> None:
    """Passwords, keys, tokens, cards and addresses with a password in them."""
    assert has_secret(text) and has_secret(f"By the way, {text}")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_merely_technical_is_left_alone(text: str) -> None:
    """Speaking of secrets is not telling them; commits, ids, paths, phones and dates are none."""
    assert not has_secret(text)


def test_key_blocks_go_as_a_whole() -> None:
    """A key over several lines is cut out with its frame, also when its end is missing."""
    block = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n"
    assert without_key_blocks(f"before\n{block}-----END RSA PRIVATE KEY-----\nafter") == "before\n\nafter"
    assert without_key_blocks(f"before\n{block}") == "before\n"
