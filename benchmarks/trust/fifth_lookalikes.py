"""Texts that only look like secrets: none of them may be touched. See `fifth_secrets`."""

ALIKE = """
The gate code changes on 1 March.
the password for the server web01 is in the vault
Our password rules follow NIST 800-63B.
the login page of build 20250114 is broken
pw reset for user4711 is done
log in with user42, then open Settings
the account ends in 4821
account number 12345678 is closed
Sign in as guest01 on the kiosk.
the wifi password has 63 characters at most
the safe weighs 1200 kg
the alarm rings at 0645
locker 2214 is on the second floor
the garage has 1450 square feet
the door was painted in 2019
door code: ask at the desk
enter 2024 as the tax year
type 1099 forms come in January
press 1234 people came to the fair
dial 112 in an emergency
call extension 4471 for the front door
the shed cost 2300 in 2021
the code for the form is W-8BEN
the code lives in module4
PIN: see the letter of 12.03.2024
pin this to version 20240115
PIN 13 on the board is the LED
der Code ist in Zeile 4711
Das Passwort für web01 steht im Tresor.
Das Konto hat die Nummer 4711.
le code du produit est AB1234
el código del curso es MAT101
il codice prodotto è 445566
token usage was 4821 yesterday
the token count is 128000
max_new_tokens=2048
the session key idea came from Tom
--tag v1.2.3-{h7}
docker run -u node -p 8080:80 image
docker run -u 1000:1000 -p 127.0.0.1:5432:5432 postgres:16
ssh -l bo -p 2222 host
rsync -u src/ dst/
docker build -t acme/api:{h12} .
psql -U app -p 5433 shop
npm test -- -t "renders the form"
kubectl get pod api-{h10}-{x5}
x-request-id: {h32}
x-amz-request-id: {A16}
X-Cache-Key: users-list-page2
X-Forwarded-For: 10.0.0.4
cache key user:4711:profile
primary key is order_id
foreign key fk_orders_4711
idempotency key {h8}-{h4}-{h4}-{h4}-{h12}
partition key: tenant_id
"key": "theme", "value": "solarized2024"
- name: LOG_LEVEL\\n  value: debug
- name: PASSWORD_FILE\\n  value: /run/secrets/db
{"name": "TOKEN_TTL", "value": "3600"}
Same mail as last year, room B2104!
user story US-4821 is done
Amazon order 302-{d7}-{d7}
PayPal fee 2.49% + 0.35
Netflix costs 13.99 from May
We meet at Gate 7, hall B12, at 18:30!
C# and F# run on .NET8
"""
