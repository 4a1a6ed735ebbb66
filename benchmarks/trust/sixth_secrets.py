"""A sixth set of secrets, written after the rules for the fifth one and before its first run. See `generated`."""

VENDORS = """
ghost: Ghost admin key «{h24}:{h64}»
netdata: claim the node with token «{u135}»
lemon: LEMONSQUEEZY_API_KEY=«ey|J0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.{u120}.{u60}»
mux: Mux token id {h8}-{h4}-{h4}-{h4}-{h12}, token secret «{b75}»
typesense: typesense: x-typesense-api-key «{x32}»
meili: MEILI_MASTER_KEY «{u43}»
stytch: stytch secret-test-«{u36}=»
trello: trello key {h32} and token «ATTA|{h72}»
exoscale: EXO«{h24}» / secret «{u43}»
unifi: The UniFi controller API key is «{u32}»
paperless: Paperless token «{h40}» for the scan script
immich: immich login http://nas:2283/api «{x43}»
"""

FILES = """
env: TF_VAR_db_password=«{x14}»
env: MAIL_URL=smtp://noreply%40example.org:«{x12}»@smtp.example.org:587
yaml: basic_auth:\\n  username: prom\\n  password: «{x13}»
yaml: secrets:\\n  session: «{h64}»
yaml: api:\\n  encryption:\\n    key: "«{b43}=»"
json: {"bot": {"telegramToken": "«{d10}:AAE{u32}»"}}
json: {"credentials": {"user": "bo", "passphrase": "«{x6} {x6}»"}}
toml: [auth]\\nsecret = "«{h32}»"
ini: [global]\\nadmin_passwd = «{x12}»
php: define('DB_PASSWORD', '«{x10}»');
cs: "ConnectionStrings": {"Main": "Host=db;Username=app;Password=«{x12}»;Database=x"}
ruby: password: "«{x12}»",
dockerfile: ENV ROOT_PASSWORD «{x12}»
"""

COMMANDS = """
curl: curl -X POST -F token=«{x30}» -F user=bo https://api.example.org/1/messages.json
curl: curl https://api.telegram.org/bot«{d10}:AA{u33}»/getMe
ssh: plink -pw «{x10}» bo@10.0.0.4
mysql: mysql -h db -u app --password='«{x12}»' shop
mssql: sqlcmd -S db -U sa -P '«{x11}!»' -Q "select 1"
cifs: //nas/media /mnt/media cifs username=bo,password=«{x10},uid=1000» 0 0
gpg: echo «{x14}» | gpg --passphrase-fd 0 -d notes.gpg
htpasswd: htpasswd -bc /etc/nginx/.htpasswd bo «{x10}»
wrangler: wrangler secret put API_TOKEN <<< «{x40}»
k6: K6_CLOUD_TOKEN=«{h40}» k6 cloud run load.js
ansible: ansible-vault encrypt_string '«{x16}' --name db_password»
openvpn: echo -e "bo\\n«{x12}»" > /etc/openvpn/auth.txt
"""

TALK = """
en: I keep forgetting it: Ocado password = «Sprout-{d4}»
en: password for the PDF payslips is my birthday, «{d8}»
en: Tell the sitter the alarm's «{d4}» and the spare key is under the pot.
en: The door code at Anna's building: «{d2}B{d3}».
en: My new phone PIN – «{d6}» – same as the SIM.
en: use «Velvet.{d4}.Fox» for the staging login
en: Bitwarden master pw: «{l6}-{l7}-{l5}-{d2}»
en: The Wi-Fi in the caravan (SSID Wanderer) has the password «seagull{d3}».
en: admin console creds are admin / «{x10}»
en: Card ends 4242, CVC «{d3}»
en: For two-factor the backup codes are «{d4} {d4}» and «{d4} {d4}».
de: Papas Handy-PIN ist «{d4}», falls was ist.
de: WLAN heißt Bienenstock, Passwort: «honigtopf{d2}»
de: Schließfach im Bahnhof: Code «{d6}»
de: Das Passwort lautet nun «Zwiebel_{d4}» statt dem alten.
fr: Le code du portail chez mes parents est «{d4}B».
fr: mon mot de passe Doctolib c'est «Tulipe{d4}»
es: El código de la puerta del garaje es «{d5}».
es: Mi clave del banco es «{d6}».
it: Il PIN del telefono di nonna è «{d4}».
pt: A senha da conta da luz é «Farol{d3}!»
nl: Mijn DigiD-wachtwoord: «Klomp!{d4}»
ru: Код от подъезда «{d4}»
ja: 玄関の暗証番号は「«{d4}»」
ar: كلمة المرور هي «Jamal{d4}»
"""
