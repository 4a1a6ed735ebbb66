"""A second set of secrets and look-alikes, written without a look at the detectors. Templates: see `generated`."""

CLOUD = """
aws: [default]\\naws_access_key_id = «AK|IA{A16}»\\naws_secret_access_key = «{b40}»
digitalocean: doctl auth init --access-token «dop|_v1_{h64}»
hetzner: HCLOUD_TOKEN=«{x64}» is what terraform reads in the infra repo
linode: Linode personal access token for the backup box: «{h64}»
scaleway: SCW_ACCESS_KEY=SCW7K2M9Q4T8W1ZB3N5D\\nSCW_SECRET_KEY=«{h8}-{h4}-{h4}-{h4}-{h12}»
ovh: application_secret=«{x32}»\\nconsumer_key=«{x32}»
cloudflare: curl -H "Authorization: Bearer «{u40}»" https://api.cloudflare.com/client/v4/user/tokens/verify
cloudflare: Global API key of the Cloudflare account, use as X-Auth-Key: «{h37}»
fly: fly deploy worked with FLY_API_TOKEN="FlyV1 fm2_«{b96}»"
render: Render deploys with «rnd|_{x28}», the key is named ci-main
railway: RAILWAY_TOKEN: «{h8}-{h4}-{h4}-{h4}-{h12}»
vercel: vercel --token «{x24}» --prod
netlify: netlify deploy --auth «nfp|_{x36}» --prod
supabase: the Supabase access token «sbp|_{h40}» belongs to the staging org
planetscale: mysql -h aws.connect.psdb.cloud -u 4h2kq9 -p«pscale|_pw_{u43}»
neon: DATABASE_URL=postgresql://neondb_owner:«npg|_{x12}»@ep-cool-darkness-123456.eu-central-1.aws.neon.tech/neondb
openai: We moved the summaries to the new project key «sk|-proj-{x48}T3BlbkFJ{x48}».
anthropic: claude key for the eval rig: «sk|-ant-api03-{u93}AA»
groq: Groq gives 30 requests a minute with «gsk|_{x52}»
mistral: MISTRAL_API_KEY='«{x32}»'
huggingface: huggingface-cli login --token «hf|_{x34}»
replicate: os.environ["REPLICATE_API_TOKEN"] = "«r8|_{x37}»"
perplexity: perplexity answers through «pplx|-{x48}»
xai: grok client: api_key="«xai|-{x80}»"
deepseek: deepseek: base_url https://api.deepseek.com, key «sk|-{h32}»
elevenlabs: xi-api-key: «sk|_{h48}»
gitlab: git clone https://oauth2:«glpat|-{u20}»@gitlab.example.org/team/app.git
gitlab: the runner registers with «glrt|-{u20}»
bitbucket: Bitbucket app password for the mirror job is «AT|BB{x32}»
gitea: tea login add --url https://git.home.arpa --token «{h40}»
npm: //npm.example.org/:_authToken=«npm|_{x36}»
pypi: twine upload -u __token__ -p «pypi|-AgEIcHlwaS5vcmc{u90}» dist/*
rubygems: rubygems push key «rubygems|_{h48}»
crates: cargo login «cio|{x32}»
docker: docker login -u acmebot -p «dckr|_pat_{u27}»
slack: alerts go to https://hooks.slack.com/services/«T|{A8}/B{A10}/{x24}»
slack: The Slack bot needs «xox|b-{d12}-{d13}-{x24}» to post in #ops.
discord: DISCORD_TOKEN=«MT{x24}.{x6}.{u38}»
telegram: Bot father gave us «{d10}:AA{u33}» for the door bell bot
twilio: client = Client("AC0123456789abcdef0123456789abcdef", "«{h32}»")  # Twilio sid and auth token
sendgrid: SMTP user apikey, password «SG|.{u22}.{u43}»
mailgun: mailgun's private key is «key|-{h32}»
mailchimp: MAILCHIMP_KEY=«{h32}-us21»
stripe: stripe listen --api-key «rk|_live_{x48}»
stripe: The endpoint verifies with «whs|ec_{x32}»
square: Square production access token «EAAA|{u60}»
shopify: X-Shopify-Access-Token: «shpat|_{h32}»
notion: Notion integration «ntn|_{x46}» can read the wiki database
linear: Linear API: Authorization: «lin|_api_{x40}»
airtable: airtable token «pat{x14}.{h64}» with scope data.records:read
figma: FIGMA_ACCESS_TOKEN «figd|_{u40}»
atlassian: curl -u ines@example.com:«ATATT|3xFfGF0{u180}» https://example.atlassian.net/rest/api/3/myself
datadog: DD_API_KEY=«{h32}» DD_SITE=datadoghq.eu
newrelic: New Relic user key «NRAK|-{A27}»
grafana: grafana service account «gl|sa_{x32}_{h8}» has viewer rights
sentry: SENTRY_AUTH_TOKEN=«sntrys|_{b120}»
terraform: credentials "app.terraform.io" {\\n  token = "«{x14}.atlasv1.{u67}»"\\n}
vault: VAULT_TOKEN=«hvs|.{u90}» vault kv get secret/app
doppler: doppler run --token «dp|.st.prd.{x43}» -- npm start
tailscale: tailscale up --authkey «tskey|-auth-{x12}CNTRL-{x32}»
databricks: databricks configure, token «dapi|{h32}»
alibaba: aliyun configure set --access-key-id «LT|AI{x20}» --access-key-secret «{x30}»
google: the refresh token for Ines' calendar is «1|//0{u60}»
mapbox: upload token «sk|.ey{u80}.{u22}» for Mapbox
twitch: IRC password is «oauth:{a30}» for the stream bot
pulumi: PULUMI_ACCESS_TOKEN is «pul|-{h40}» on the runner
"""

CONFIGURED = """
env: # .env of the shop\\nAPP_ENV=production\\nAPP_KEY=base64:«{b43}=»\\nDB_PASSWORD="«Kr0kodil!{d4}»"
env: JWT_SIGNING_SECRET=«{b43}=»\\nPORT=8080
yaml: smtp:\\n  host: mail.example.org\\n  user: rechnung\\n  pass: «Moewe-Sturm-{d3}»
json: {"username": "svc-report", "password": "«vT9$kq2L{d4}»", "region": "eu"}
ini: [mysqld_exporter]\\nuser=exporter\\npassword=«{x16}»
toml: [registry]\\ntoken = "«{x40}»"
k8s: kubectl create secret generic db --from-literal=password='«Herbst#Laub{d3}»'
curl: curl -u admin:«fjord-{x8}» https://nas.home.arpa/api/v2/reboot
curl: curl -X POST https://api.example.com/v1/orders -H 'X-Api-Key: «{x32}»' -d '{}'
curl: curl -b 'sessionid=«{x32}»; csrftoken=«{x32}»' https://portal.example.com/me
http: Cookie: connect.sid=«s%3A{x32}.{x43}»; theme=dark
http: Set-Cookie: auth_token=«{u64}»; HttpOnly; Secure
http: Authorization: Basic «{b32}==»
dsn: redis://default:«{x24}»@cache-1.example.net:6379/0
dsn: amqps://jobs:«kaninchen{d4}»@rabbit.example.net/prod
dsn: Server=tcp:sql01.example.net;Database=crm;User Id=crm_app;Password=«Wiesel!{d4}xQ»;Encrypt=true
dsn: jdbc:oracle:thin:scott/«t1ger{d3}Paw»@//db.example.net:1521/ORCL
dsn: mongodb+srv://app:«{x20}»@cluster0.ab1cd.mongodb.net/?retryWrites=true
dsn: sftp://backup:«Nacht{d4}schicht»@files.example.net/in
command: sshpass -p '«Radieschen{d3}!»' ssh deploy@10.0.4.12
command: export PGPASSWORD=«{x18}» && pg_dump -h db1 shop > shop.sql
command: mysqldump -uroot -p«Zitrone{d4}» shop
command: echo «Gl0cke{d4}turm» > /run/secrets/db_password
command: net use Z: \\\\\\\\nas\\\\data /user:ines «Fenster{d3}Bank»
command: openssl enc -aes-256-cbc -k «{x20}» -in dump.sql
command: ansible-playbook site.yml -e ansible_become_pass=«Birke{d4}»
wireguard: [Interface]\\nPrivateKey = «{b43}=»\\nAddress = 10.8.0.2/24
wifi: WIFI:T:WPA;S:Cafe Nordlicht;P:«kaffee-{x8}»;;
pem: -----BEGIN OPENSSH PRIVATE KEY-----\\n«{pem}»\\n-----END OPENSSH PRIVATE KEY-----
age: age identity «AGE|-SECRET-KEY-1{A58}»
ethereum: deployer wallet: PRIVATE_KEY=0x«{h64}»
bitcoin: the cold wallet's WIF is «{wif}»
url: https://meet.example.com/j/88123412345?pwd=«{x32}»
url: https://acct.blob.core.windows.net/in?sv=2023-01-03&se=2026-01-01&sp=rl&sig=«{x43}%3D»
totp: otpauth://totp/Example:ines?secret=«{U32}»&issuer=Example
htpasswd: grafana:«$apr1$x7Kd92Lm$abcdefghijklmnopqrstu1»
"""

SAID = """
en: Heads up, the vault passphrase is «correct-otter-{d3}-lantern» until Friday.
en: You can log in to the printer with admin / «Plover{d4}».
en: Grandma's iPad unlocks with «{d6}», she keeps forgetting it.
en: The combination of the bike lock is «{d4}».
en: alarm code «{d4}», disarm within 30 seconds
en: Netflix login: family@example.com, pw «Pop-corn{d3}»
en: Guest wifi: network Nordlicht, key «moose-{x6}-tea»
en: recovery codes for GitHub: «{h5}-{h5}», «{h5}-{h5}», «{h5}-{h5}»
en: seed phrase of the family wallet: «{seed}»
en: Her voicemail PIN was changed to «{d4}» yesterday.
en: My old password «Marble!{d4}» leaked, so I switched to «Granite!{d4}».
de: Das Passwort für den Router lautet «Fuchsbau{d3}!».
de: Die PIN meiner EC-Karte ist «{d4}».
de: Zugang zum Kundenportal: Benutzer mueller, Kennwort «Sonne#{d4}»
de: Der Türcode vom Ferienhaus ist «{d4}», bitte merken.
de: WLAN-Schlüssel im Büro: «{d20}»
fr: Le mot de passe du NAS est «Cerise{d4}!».
fr: Le code de la porte d'entrée est «{d4}A».
fr: Identifiants Netflix : famille@example.fr / «Bretzel{d3}»
fr: Mon code PIN est le «{d4}».
es: La contraseña del correo es «Gaviota-{d4}».
es: La clave del wifi de casa es «tortuga{d4}».
es: El PIN de la tarjeta es «{d4}».
it: La password del gestionale è «Limone_{d4}».
it: Il codice dell'allarme è «{d5}».
it: La chiave del wifi è «balena{d4}blu».
pt: A senha do servidor é «Abacate@{d3}».
pt: O código do alarme é «{d4}».
nl: Het wachtwoord van de boekhouding is «Stroopwafel{d3}».
nl: De pincode van mijn telefoon is «{d5}».
pl: Hasło do panelu to «Borsuk!{d4}».
pl: PIN do karty to «{d4}».
"""

PERSONAL = """
us_ssn: Ana's SSN is «219-09-{d4}», needed for the lease.
us_ssn: Social Security Number: «457 55 {d4}»
uk_nino: My National Insurance number is «JG 10 37 59 A».
uk_nhs: NHS number «{nhs}» for the GP registration
de_steuer: Meine Steuer-ID lautet «{steuer}».
fr_insee: Mon numéro de sécurité sociale : «{insee}»
es_dni: Mi DNI es «{dni}».
es_nie: NIE: «X1234567L»
it_codice: codice fiscale di Mario «{codice}»
br_cpf: CPF do Rui: «{cpf}»
in_aadhaar: Aadhaar «{aadhaar}» is linked to the phone
in_pan: PAN card: «ABCPK{d4}L»
pl_pesel: PESEL «{pesel}»
nl_bsn: BSN is «{bsn}»
ca_sin: my SIN is «{sin}» for payroll
se_personnummer: personnummer «{personnummer}»
ch_ahv: AHV-Nummer «{ahv}»
cn_id: 身份证号码：«{cnid}»
passport: Passport no. «C01X{d4}7K», expires 2031
driving: My driving licence number is «MORGA{d6}SM9IJ»
card: Visa «{cardspaced}» exp 04/29 cvv «{d3}»
card: Amex «{amex}» is the company card
card: Mastercard ending soon, full number «{mastercard}»
card: Kreditkarte «{card}», gültig bis 09/28
iban: My IBAN is «{iban}», for the refund.
iban: IBAN: «GB82 WEST 1234 5698 7654 32»
"""

ALIKE = """
commit {h40} fixed the race
reverted in {h7}, see {h12} for the follow-up
md5 of the ISO: {h32}
sha256:{h64}
docker pull ghcr.io/acme/app@sha256:{h64}
"integrity": "sha512-{b86}=="
ETag: "{h32}"
the container id is {h12}
request id {h8}-{h4}-4{h3}-a{h3}-{h12} failed with 500
trace_id={h32} span_id={h16}
X-Request-Id: {x22}
Order 302-{d7}-{d7} arrives on Monday
Bestellnummer {d10}, Lieferung am Freitag
UPS tracking 1Z{A6}0312345678
DHL Sendungsnummer JJD{d18}
Royal Mail tracking: RN{d9}GB
invoice INV-2025-{d5} is paid
ticket #{d6} and PR #{d4} are linked
customer number K-{d8}
Kundennummer: {d9}
meter number 1ESY{d10}
serial number of the dishwasher: {A12}
MAC address 3c:5a:b4:{h2}:{h2}:{h2}
IPv6 2001:db8:{h4}:{h4}::1
booking reference {U6}
flight LH{d4} seat 14C
licence plate B-MK {d4}
Kennzeichen M-{U2} {d3}
matrícula {d4} {U3}
VIN WVWZZZ1JZ3W{d6}
ISBN 978-3-16-148410-0
ISBN 0-306-40615-2
EAN 4006381333931
DOI 10.1000/{d3}.{d4}
arXiv:{d4}.{d5}
PMID {d8}
coordinates 52.5200, 13.4050
48°51'24"N 2°21'03"E
plus code 9F4MGC22+{A2}
phone +49 30 {d8}
call (415) 555-{d4}
Tel. 06 12 34 56 78
Telefon: 0171 {d7}
ines.moreno@example.com is her new address
ships to 12 Harbour Street, BS1 4RW Bristol
PLZ 10115 Berlin, Invalidenstraße 44
VAT ID DE{d9}
HRB {d6} B, Amtsgericht Charlottenburg
company number {d8} in Companies House
BIC COBADEFFXXX
the reset password flow sends a link that expires in 15 minutes
passwords must have at least 12 characters
We never store the password in plain text.
Ask Ana for the password, it is in the vault.
The API key rotates every 90 days.
password: ********
password=<your password>
DB_PASSWORD=${DB_PASSWORD}
api_key: "YOUR_API_KEY"
export TOKEN=$(vault read -field=token secret/ci)
token: ${{ secrets.GITHUB_TOKEN }}
password = os.environ["DB_PASSWORD"]
curl -H "Authorization: Bearer $TOKEN" https://api.example.com
SECRET_KEY = config("SECRET_KEY")
PASSWORD_MIN_LENGTH=14
token_expiry_seconds: 3600
max_tokens=4096
tokenizer: cl100k_base
the tokens per second went from 41 to 58
TOKEN_URL=https://auth.example.com/oauth/token
SSH key fingerprint SHA256:{b43}
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} ines@laptop
-----BEGIN PUBLIC KEY-----\\n{b64}\\n-----END PUBLIC KEY-----
-----BEGIN CERTIFICATE-----\\nMIID{b60}\\n-----END CERTIFICATE-----
pk_test_ is the prefix of publishable keys, sk_live_ of secret ones
keys begin with AKIA followed by 16 characters
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b60}
data:image/jpeg;base64,/9j/4AAQSkZJRgABAQ{b60}
https://www.youtube.com/watch?v={u11}
https://docs.google.com/document/d/{u44}/edit
https://github.com/acme/app/commit/{h40}
https://example.com/search?q=password+manager&page=2
s3://acme-backups/2025/01/{h8}/dump.gz
/var/lib/docker/overlay2/{h64}/merged
arn:aws:iam::{d12}:role/deploy
projects/acme-{d6}/locations/europe-west1
build 20250114.{d3} passed
version 1.24.0-rc.2+{h7}
kernel 6.1.0-28-amd64
migration 0042_add_password_reset_token
column password_hash varchar(255) not null
class PasswordResetTokenGenerator
the test user is called token_user
pin the version to 3.2.1
Pin: navigation stays on the left
the pin on the map is at the station
PIN pads are sold by the vendor for 49 euros
the key to good bread is time
The key is under the mat.
the secret of the sauce is anchovies
Secret Santa is on the 18th
cookie: 200 g flour, 120 g butter, 80 g sugar
Cookie consent is stored for 180 days
the code of conduct applies to all events
zip code 94110, area code 415
error code 0x80070005
QR code opens the menu
discount code SUMMER2025
the code review is due on 14 March
barcode 5901234123457
salt 12 g, pepper 2 g
hash browns for 6
blood type 0 negative, LDL 131
room 4711, floor 4
gate B24, boarding 1815
the train leaves at 1432 from platform 7
chess opening 1.e4 e5 2.Nf3 Nc6 3.Bb5
song in A minor, 128 bpm
recipe: 250 500 125 grams
budget 4500 1200 980 per month
the password policy of the bank is strict
La contraseña debe cambiarse cada 90 días.
Das Passwort wird im Tresor aufbewahrt.
Le mot de passe est stocké dans le coffre.
La password scade ogni tre mesi.
she forgot her password again and was locked out
the login page shows username and password fields
card ending in 4242
the card number field accepts 16 digits
test card {cardbad}
IBAN is checked before the payment
Her SSN is on file with HR.
the passport office opens at nine
born 14.03.1987 in Leipzig
the seed phrase is in the safe, never type it
abandon the plan about the access ability course
"""
