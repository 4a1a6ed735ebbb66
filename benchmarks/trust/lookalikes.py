"""Texts that only look as if they held secrets, as templates: see `generated`. Written before tuning."""

WORDS = """
I forgot my password again.
The password policy: 12 characters, one digit.
Please reset your password every 90 days.
The password is stored in 1Password.
The password is too short.
The password is wrong.
The password must be at least 12 characters long.
Password: required
Anna prefers passkeys to passwords.
We discussed password managers with Ben.
The token expires after 30 days.
The API key is in the vault, ask Ben.
Never commit secrets to the repository.
api_key: YOUR_API_KEY
API_KEY=<your-api-key>
export TOKEN=$GITHUB_TOKEN
password=${DB_PASSWORD}
password: ${{ secrets.DB_PASSWORD }}
token: {{ vault_token }}
DB_PASSWORD=changeme
password: xxxxxxxx
password=********
secret = os.environ["SECRET"]
token = get_token()
password: str
password: string (required)
"password": {"type": "string"}
def login(user, password): ...
The PIN pad at the door is broken.
She lost her PIN and needs a new one.
The PIN has 4 digits.
The door code changes every month.
The secret of good bread is time.
Her secret ingredient is cinnamon.
The key to the office is under the mat.
The key result for Q3 is 20 % growth.
The access token is refreshed automatically.
Use a bearer token in the Authorization header.
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
curl -u "$USER:$PASS" https://api.example.com
curl -u user:password https://api.example.com
docker login -u ci --password-stdin
mysql -u root -p
psql -h db -U app
The --password flag is deprecated.
Set the password in the environment.
The session cookie is set by the proxy.
Cookies are cleared on logout.
The recovery codes are in the safe.
The seed phrase should be written on paper.
The security question was about her first pet.
Tokens are counted with the WordPiece tokenizer.
The token budget is 3000.
max_tokens: 4096
token_budget = 1500
tokens: 812 of 3000 used
Anna's password hint is her dog.
Das Passwort ist abgelaufen.
Ich habe mein Passwort vergessen.
Das Kennwort ist zu kurz.
Passwort zurücksetzen: Link in der Mail
La contraseña debe tener 12 caracteres.
He olvidado mi contraseña.
Le mot de passe est expiré.
J'ai oublié mon mot de passe.
A senha é obrigatória.
Esqueci minha senha.
La password è scaduta.
Ho dimenticato la password.
Пароль должен быть длинным.
Я забыл пароль.
パスワードを忘れました。
パスワードは8文字以上です。
密码不能为空。
我忘记了密码。
The passphrase is optional.
Her passport expires in 2027.
The passport office opens at 9.
Password rotation is due on 2026-03-01.
The keynote is on Friday.
Keyboard: Keychron K2
key: value
author: Anna Schmidt
monkey = "banana"
The password field has the id user_password.
test_password_reset passes now
PasswordResetView handles it.
see docs/password-policy.md
The cipher is AES-256-GCM.
The certificate expires on 2026-04-01.
Rotate the signing key every quarter.
The private key never leaves the HSM.
The public key is on the key server.
Her pin collection has 300 pieces.
Pin the version to 2.4.1.
pinned: true
PIN: required at checkout
The OTP is sent by SMS.
CVV is required.
Credentials: see the vault entry "staging"
Login: use the single sign-on
pass the salt, please
The pass is closed in winter.
boarding pass: gate B12 at 14:05
All tests pass: 4,311 of 4,311
They passed 12 of 14 checks.
The password was changed on Monday.
The password has been rotated by the platform team.
The token was revoked yesterday.
Passwords are hashed with argon2id.
The minimum password length is 16.
Wi-Fi password is on the fridge.
Ask Ben for the Wi-Fi password.
Do you know the alarm code?
The code is in src/app.py.
The code is reviewed by Anna.
error code: 4711
exit code 137 means out of memory
zip code: 94107
postal code 10115
area code is 415
country code DE
dress code: smart casual
discount code SUMMER24
promo code: WELCOME10
"""

IDENTIFIERS = """
Fixed in commit {h40}.
commit {h7}
git rev {h12}
see https://github.com/acme/app/commit/{h40}
sha256:{h64}
SHA-256 checksum {h64}
md5 {h32}
image: registry.example.com/app@sha256:{h64}
id {h8}-{h4}-4{h3}-a{h3}-{h12}
request_id={h8}-{h4}-4{h3}-b{h3}-{h12}
session {h8}-{h4}-7{h3}-9{h3}-{h12}
trace id {h32}
"etag": "{h32}"
integrity: sha512-{b86}==
ISBN 978-3-16-148410-0
ISBN 9780306406157
EAN 4006381333931
order number 4929837465011234
Order #{d10} was shipped.
order {cardbad}
Your invoice 2024-000{d6} is due.
tracking number 1Z999AA10123456784
DHL tracking {d12}
UPS 1Z{A16}
tracking 9400 1000 0000 0000 0000 00
flight LH{d4} seat 12A
ticket ABC-{d4}
booking reference {U6}
case 2024/{d6}
serial number C02{A9}
part no. 123-45-678
model XPS-13-9310
version 2.14.0-rc.3+build.{d4}
python 3.12.1, node v20.11.0
10.0.0.4:5432
2001:db8::ff00:42:8329
MAC 00:1A:2B:3C:4D:5E
+49 30 901820
+1 (415) 555-0132
call 0171 1234567
phone: 555-123-4567
anna.schmidt@example.com
Hauptstraße 12, 10115 Berlin
221B Baker Street, London NW1 6XE
1600 Pennsylvania Ave NW, Washington, DC 20500
48.858370, 2.294481
40°26′46″N 79°58′56″W
2026-03-01T09:30:00+01:00
1735689600
1735689600123
{d13} ms since epoch
€ 1.234.567,89
total 12,345,678.90 USD
account manager: Anna
customer number {d8}
member id {d9}
VAT DE{d9}
HRB {d6}
BIC COBADEFFXXX
BLZ 37040044
data:image/png;base64,iVBORw0KGgo{b200}
<img src="data:image/gif;base64,{b120}">
-----BEGIN CERTIFICATE REQUEST INFO-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{b44} anna@laptop
ssh-rsa AAAAB3NzaC1yc2E{b200} ben@desk
-----BEGIN PUBLIC KEY-----\\n{b64}\\n-----END PUBLIC KEY-----
pk_test_TYooMQauvdEDq54NiTphI7jx
fact:k3f7 rule:a2b4 episode:9xyz
memory_store_fact and memory_search_in_all_scopes
src/memory_butler/policy/trust/redaction.py
https://example.com/a/very/long/path/with-many-parts/and_underscores/index.html
https://docs.google.com/document/d/1{u43}/edit
https://www.youtube.com/watch?v={u11}
https://example.com/?utm_source=newsletter&utm_campaign=spring2024
https://example.com/page?token_type=bearer&lang=en
https://example.com:8443/path
postgres://localhost:5432/app
postgresql://app@db.internal/app
redis://cache:6379/0
ssh://git@github.com/acme/app.git
git@github.com:acme/app.git
mailto:anna@example.com
scp backup.tar anna@nas:/volume1
user:password@host is the form of the URL
ThisIsAVeryLongCamelCaseIdentifierNameForTesting
snake_case_identifier_with_many_parts_2024_v2
kebab-case-identifier-with-many-parts-2024-v2
AbstractSingletonProxyFactoryBean2Impl
Donaudampfschifffahrtsgesellschaftskapitän
0x7fff5fbff8c0
#ff8800 and #1a2b3c4d
{h16}
build-20240301.{d4}
arn:aws:iam::123456789012:role/app
projects/my-project/locations/europe-west1/keyRings/r1
s3://acme-backups/2024/03/01/dump.tar.gz
i-0{h16}
vpc-{h17}
ami-{h17}
AKIAIOSFODNN7EXAMPLE
sk_test_xxxxxxxxxxxxxxxxxxxxxxxx
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
eyJ is how a JWT begins.
price 4111 per month
room 4711, floor 3
4 6 12 18 24 30 36
phone +33 6 12 34 56 78
Call +55 11 91234-5678
1234-5678
2024-03-01 12-34-56
score 12-34
lat=52.520008 lon=13.404954
postcode SW1A 1AA
plate B-AB 1234
IMEI 356938035643809
batch LOT20240301A
Apollo 11 landed on 1969-07-20.
born on 1990-01-01 in Ulm
chapter 12.345.678
ratio 123.456.789
alpha beta gamma delta epsilon zeta eta theta iota kappa, lambda and mu
red green blue black white and the other colours of the palette we use
"""
