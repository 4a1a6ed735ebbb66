"""A fifth set of secrets, written after the rules for the fourth one and before its first run. See `generated`."""

VENDORS = """
gitea: the Forgejo token for the mirror is «{h40}»
hetzner: S3 at Hetzner: access key {A20}, secret key «{x40}»
backblaze: b2 account authorize 003{h22} «K003{x27}»
wasabi: Wasabi secret «{b40}» for the photo bucket
porkbun: porkbun API: «pk1|_{h64}», secret «sk1|_{h64}»
gandi: GANDI_PAT=«{h40}»
deepl: DeepL auth key «{h8}-{h4}-{h4}-{h4}-{h12}:fx»
todoist: my Todoist API token: «{h40}»
telegram: TG bot: «{d10}:AAF{u32}»
strava: Strava refresh_token=«{h40}»
home: Long-lived access token for Home Assistant: «ey|JhbGciOiJIUzI1NiJ9.{u90}.{u43}»
jina: Authorization: Bearer «jina|_{h32}{x28}»
"""

FILES = """
env: OPENAI_KEY=«sk|-svcacct-{u64}»\\nMODEL=gpt-4o
env: IMAP_PW=«{x5}#{x6}»
yaml: alertmanager:\\n  smtp_auth_password: «{l4}-{l4}-{l4}-{l4}»
yaml: env:\\n  - name: SESSION_SECRET\\n    value: «{x32}»
json: {"user": "kiosk", "pass": "«{x9}»", "host": "10.1.1.4"}
json: {"name": "ADMIN_PASSWORD", "value": "«{x12}»"}
toml: [[inputs.mqtt]]\\nusername = "tele"\\npassword = "«{x11}»"
ini: [ftp]\\nftp_user = bo\\nftp_pass = «{x10}»
python: client = Client(auth=("bo", "«{x14}»"))
python: app.config["SECRET_KEY"] = "«{h48}»"
js: mongoose.connect('mongodb://bo:«{x12}»@10.0.0.3/shop')
sql: CREATE USER bo WITH PASSWORD '«{x12}»';
sql: ALTER USER 'bo'@'%' IDENTIFIED BY '«{x12}»';
netrc: machine api.example.org login bo password «{x16}»
"""

COMMANDS = """
curl: curl -H "apikey: «{x32}»" https://db.example.net/rest/v1/items
curl: curl --user bo:«{x10}!» sftp://files.example.net/
sudo: echo «{x10}» | sudo -S apt update
xfreerdp: xfreerdp /u:bo /p:«{x10}» /v:10.0.0.8
vncpasswd: x11vnc -passwd «{x10}» -display :0
borg: export BORG_PASSPHRASE='«{l6} {l5} {l7} {d2}»'
cryptsetup: echo -n «{x16}» | cryptsetup open /dev/sdb1 data -
aws: aws configure set aws_session_token «{b100}»
az: az storage blob list --account-name acme --account-key «{b86}==»
mc: mc alias set home http://nas:9000 admin «{x16}»
kubectl: kubectl config set-credentials bo --token=«{u60}»
npm: npm config set _authToken «npm|_{x36}»
"""

TALK = """
en: Password's «Walnut_{d4}» for the tax portal, don't lose it.
en: hey can you remember my wifi? ssid FRITZ!Box 7590, key «{d20}»
en: The kids' tablet opens with «{d4}».
en: New garage keypad code from Monday on: «{d5}».
en: I set the luggage lock to «{d3}-{d1}», wait no, the PIN of the suitcase is «{d4}»
en: The shared Spotify login is fam@example.com with «Teapot!{d3}».
en: Gym locker: «{d4}»
en: Our Zoom passcode for the weekly is «{x6}».
en: To disarm, type «{d6}» and hit enter.
en: Root on the NAS is «Bramble-{x4}-{d3}».
de: Das neue WLAN-Passwort bei Oma ist jetzt «Apfelkuchen{d3}».
de: Für den Tresor im Büro gilt seit gestern der Code «{d6}».
de: Merke dir bitte: Bitlocker-PIN «{d6}».
de: Mein Handy entsperre ich mit «{d4}».
fr: Le mot de passe wifi du bureau a changé : «Moutarde{d3}!»
fr: Pour ouvrir le cadenas du vélo : «{d4}».
es: La contraseña nueva del Netflix es «Pulpo{d4}».
es: El candado de la bici se abre con el «{d4}».
it: La password di casa per il wifi: «Basilico{d3}»
pt: O código do cofre é «{d6}».
nl: De alarmcode op kantoor is «{d4}».
pl: Hasło do Netflixa: «Zupa{d4}»
sv: Koden till porten är «{d4}».
fi: Wifin salasana on «mustikka{d3}».
"""
