"""Texts that only look like secrets: none of them may be touched. See `third_secrets`."""

ALIKE = """
merge commit {h40} into release/2.4
git bisect says {h12} is the first bad commit
revert {h7}, it broke the parser
sha256 {h64} of the installer matches
md5: {h32} backup.tar
image registry.example.org/api@sha256:{h64}
integrity: "sha512-{b86}=="
etag W/"{h32}"
build id {h8}-{h4}-{h4}-{h4}-{h12}
the run is {h8}-{h4}-{h4}-{h4}-{h12}, see the log
correlation id {h32}
span {h16} of trace {h32} took 2 s
order 2024-{d8}-{d3} was shipped
tracking number 1Z{A16}
DHL says {d20} is in Leipzig
ISBN 978-3-16-148410-0 is on the shelf
EAN {d13} on the oat milk
VIN WVWZZZ1JZXW000001 of the old Golf
flight LH{d4} on Tuesday
PNR {A6}, check in from Sunday
serial number {A12} of the boiler
part no. {d3}-{d4}-{A2}
invoice RE-{d4}-{d5} is paid
ticket JIRA-{d5} blocks the release
customer {d8} called again
case #{d7} is closed
MAC address 00:1A:2B:3C:4D:5E
IPv6 2001:db8:85a3::8a2e:370:7334
10.20.30.40/24 is the guest network
port 54321 on the NAS
coordinates 48.137154, 11.576124
pi is 3.14159265358979323846
epoch 1763520000 is today
the hash of an empty string is e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
base64 of hello is aGVsbG8=
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ
uuid.uuid4() gives another id every time
the primary key is order_id
foreign key user_id references users(id)
key = lambda row: row["name"]
sorted(rows, key=itemgetter(1))
for key, value in settings.items():
the key idea is to write less
press any key to continue
Key West was warm
the key of the song is D minor
give the spare key to the neighbours
keyboard shortcut ctrl+shift+p
token count: 4096
max_tokens = 2048
tokens per second: 24
the tokenizer splits on white space
token bucket with 100 tokens a minute
token: str | None = None
password: str = Field(min_length=12)
password = getpass.getpass()
password=${DB_PASSWORD}
password: "{{ vault_db_password }}"
PASSWORD=<your password>
password: changeme-before-use is what the docs call a placeholder
api_key = os.environ["API_KEY"]
api_key: ${{ secrets.API_KEY }}
API_KEY=xxxxxxxxxxxxxxxx
apiKey: process.env.API_KEY
secretKeyRef: name: db-credentials
secretName: wildcard-tls
client_secret is required
the client secret lives in the vault under kv/app/web
secret sharing is off in this workspace
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
curl -u user:password is shown in every tutorial
curl -H "X-Api-Key: $KEY" https://example.org
docker login --password-stdin
ssh -p 2222 host
psql -p 5433 -d shop
mysql -p asks for it
mkdir -p src/app
openssl rand -hex 32
ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} ana@laptop
-----BEGIN CERTIFICATE-----\\nMIIB{b60}\\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\\nMIIB{b60}\\n-----END PUBLIC KEY-----
wireguard PublicKey = {b43}=
fingerprint SHA256:{b43}
GPG key 0x{U2}12AB34CD56EF78 expires in May
gpg fingerprint 3AA5 C343 7156 2A1B 9C0D 1122 3344 5566 7788 99AA
postgres://localhost:5432/app
https://example.org/reset-password
https://example.org/docs?page=2&sort=name
https://youtu.be/dQw4w9WgXcQ
https://docs.google.com/document/d/1{u43}/edit
https://example.org/p/{h8}-{h4}-{h4}-{h4}-{h12}
git@example.org:team/app.git
mailto:anna@example.org
call +49 30 1234567 after six
her number is 0171 2345678
Main Street 12, 10115 Berlin
anna.schmidt@example.org prefers mornings
born on 03/04/1985
the meeting is at 14:30 in room 2.041
we need 1500 g flour and 12 eggs
scored 3412 points
PIN 4 of the chip is ground
GPIO pin 17 drives the relay
pin numpy==2.1.3
pinned the tab
pin code entry is on the second screen
the code 404 means not found
exit code 137 is out of memory
colour code #A1B2C3
country code 0049
code coverage is 91.4 %
promo code FALL20 ends on Friday
dress code: casual
source code is on the shared drive
postal code 80331
the door code changes every month
alarm at 0630
the safe is in the cellar
locker 1184 is by the pool
the combination of lime and salt works
passport photos are ready
boarding pass in the app
pass rate 87 %
mountain pass opens in 2026
password managers are fine with us
never reuse a password
the password must have 12 characters, a digit and a sign
she asked for her password to be reset
forgot password link is broken on mobile
passwordless login is on the roadmap
add a passphrase to the key before you upload it
Passwörter werden alle 90 Tage geändert.
Das Kennwort darf keine Umlaute enthalten.
Der Code für die Umfrage kommt per Mail.
Der PIN-Automat steht im Foyer.
Schlüssel liegt beim Nachbarn.
Le mot de passe doit contenir douze caractères.
Le code postal de Lyon est 69001.
La clé est chez le voisin.
La contraseña se cambia en la intranet.
El código postal es 28013.
La clave del éxito es la constancia.
A senha é enviada por SMS.
La password va cambiata ogni anno.
Il codice fiscale serve per il contratto.
Het wachtwoord moet twaalf tekens hebben.
Hasło musi mieć dwanaście znaków.
Lösenordet byts varje kvartal.
パスワードは毎月変更してください。
密码必须包含数字。
Пароль должен быть длинным.
Şifre en az sekiz karakter olmalı.
credit card payments take two days
Visa ending in 0087 was charged
the IBAN field is optional
CVV is never stored
SSN is asked for on page two
session 4 of the course is on trees
cookie recipe: 225 g butter, 180 g sugar
cookies: strictly necessary only
salted caramel, 2 jars
the bearer of this voucher gets a coffee
basic authentication is off
the secret ingredient is nutmeg
credentials: see the team vault
login: use the company account
user: anna, role: editor
hash map with 1024 buckets
digest mail every Monday
signature block with name and title
nonce must be unique per message
seed = 42
random seed 20260101
seeds: tomato, basil, chard
private repository, public docs
license MIT, see LICENSE
model gpt-4o-mini-2024-07-18 is cheap
version 1.24.0-rc.3+build.5114f85
chromosome 7q31.2
blood pressure 128/82, pulse 64
"""
