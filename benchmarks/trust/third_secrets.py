"""A third set of secrets, written without a look at the detectors. Templates: see `generated`."""

SERVICES = """
postmark: Postmark server token for receipts: «{h8}-{h4}-{h4}-{h4}-{h12}»
mailjet: mailjet -u «{h32}»:«{h32}» works from cron
sparkpost: SPARKPOST_KEY «{h40}»
brevo: Brevo (the old Sendinblue): «xkeysib|-{h64}-{x16}»
resend: resend.api_key = "«re|_{x8}_{x24}»"
loops: the loops.so key is «{h32}», put it into the newsletter job
klaviyo: Klaviyo private key «pk|_{h34}»
segment: Segment write key for web: «{x32}»
amplitude: amplitude.init secret: «{h32}»
posthog: personal key phx: «phx|_{x43}»
datadog: DD_APP_KEY=«{h40}» DD_SITE=datadoghq.eu
newrelic: New Relic license «{h36}FFFFNRAL»
newrelic: user key for NerdGraph: «NRAK|-{A27}»
grafana: Grafana service account «glsa|_{x32}_{h8}»
honeycomb: X-Honeycomb-Team: «{x22}»
rollbar: rollbar post_server_item: «{h32}» # access_token
bugsnag: bugsnag.start({apiKey: '«{h32}»'})
pagerduty: PagerDuty says Token token=«{u20}» is the header to send
opsgenie: Authorization: GenieKey «{h8}-{h4}-{h4}-{h4}-{h12}»
airtable: Airtable PAT: «pat|{x14}.{h64}»
notion: integration secret of the wiki sync «ntn|_{d11}{x35}»
linear: LINEAR «lin|_api_{x40}»
asana: asana personal token 1/«{d16}:{h32}»
clickup: ClickUp gives me «pk|_{d8}_{A32}»
figma: X-Figma-Token: «figd|_{u40}»
dropbox: dropbox refresh token «{u11}AAAAAAAAAA{u43}»
box: the box app has client secret «{x32}»
contentful: CFPAT for migrations: «CFPAT|-{u43}»
sanity: sanity deploy with SANITY_AUTH_TOKEN=«sk|{x78}»
shopify: Shopify admin: «shpat|_{h32}»
square: Square production «EAAA|{u60}»
paypal: PayPal sandbox secret: «E{u79}»
adyen: x-api-key: «AQE{b60}»
mollie: mollie live: «live|_{x30}»
plaid: PLAID_SECRET='«{h30}»' PLAID_CLIENT_ID=5f1c
twitch: twitch oauth:«{a30}» is the bot's chat password
discord: https://discord.com/api/webhooks/{d18}/«{u68}»
telegram: The family bot answers on «{d10}:AA{u33}»
line: LINE channel access token «{b120}=»
zoom: Zoom server-to-server secret «{x32}»
mapbox: secret Mapbox token: «sk|.eyJ1Ijoi{x40}.{u22}»
algolia: Algolia admin API key is «{h32}»
pinecone: Pinecone: «pcsk|_{x6}_{x63}»
weaviate: WCD_API_KEY=«{x36}»
langfuse: LANGFUSE «sk|-lf-{h8}-{h4}-{h4}-{h4}-{h12}»
fireworks: fireworks: «fw|_{x24}»
together: together.ai uses «{h64}» for the batch jobs
cohere: co = cohere.Client("«{x40}»")
stability: stable diffusion with «sk|-{x48}»
tailscale: tailscale up --authkey «tskey|-auth-{x16}-{x32}»
doppler: doppler run --token «dp|.st.prd.{x40}»
pulumi: pulumi login uses «pul|-{h40}»
terraform: credentials "app.terraform.io" { token = "«{x14}.atlasv1.{x67}»" }
circleci: CIRCLE_TOKEN «CCIPAT|_{x22}_{h40}»
buildkite: agent token «bkua|_{h40}»
sonar: mvn sonar:sonar -Dsonar.login=«squ|_{h40}»
npm: npm config set //npm.pkg.github.com/:_authToken «ghp|_{x36}»
rubygems: ~/.gem/credentials: :rubygems_api_key: «rubygems|_{h48}»
crates: cargo login «cio|{x32}»
nuget: nuget push x.nupkg -k «oy2{a43}»
"""

FILES = """
ini: [smtp]\\nhost = mail.example.org\\nuser = robot\\npass = «{x11}!»
toml: [database]\\nuser = "app"\\npassword = '''«{x9}$%{x3}»'''
yaml: mysql:\\n  root:\\n    password: >-\\n      «{x16}»
yaml: stringData:\\n  tls.key-passphrase: "«{x6} {x6} {x4}»"
json: {"auths": {"registry.example.org": {"auth": "«{b44}==»"}}}
json: {\\"client_id\\": \\"web\\", \\"client_secret\\": \\"«{x28}»\\"}
xml: <add name="Main" connectionString="Server=db;Database=hr;User Id=hr;Pwd=«{x10};»" />
xml: <server><id>releases</id><username>ci</username><password>«{x14}»</password></server>
plist: <key>ApiSecret</key>\\n<string>«{x26}»</string>
properties: spring.datasource.password=«{x12}»
properties: keystore.pass : «{x10}»
hcl: variable "db_pw" {\\n  default = "«{x15}»"\\n}
nix: services.foo.secretKey = "«{x40}»";
php: define( 'AUTH_KEY', '«{x30}!@{x20}» ' );
php: $cfg['Servers'][$i]['password'] = '«{x9}#»';
python: conn = connect(host="db", user="svc", passwd="«{x12}»")
python: SECRET = b"«{x24}»"
js: const jwtSecret = `«{x32}»`;
java: private static final String PW = "«{x12}»";
go: os.Setenv("STRIPE_WEBHOOK_SECRET", "«whsec|_{x32}»")
csharp: UserSecrets: Smtp:Password = «{x12}»
rust: let api_key = String::from("«{x32}»");
ruby: config.secret_key = '«{h128}»'
dockerfile: ARG NPM_AUTH=«{h8}-{h4}-{h4}-{h4}-{h12}»
compose: - POSTGRES_PASSWORD_INIT=«{x16}»
systemd: Environment="API_SECRET=«{x24}»"
pgpass: db.example.org:5432:orders:app:«{x14}»
netrc: machine ftp.example.org\\n  login deploy\\n  password «{x12}»
mycnf: [client]\\nuser=root\\npassword="«{x12}»"
wpa: network={\\n  ssid="Attic"\\n  psk="«{x8} {x5}»"\\n}
wireguard: [Interface]\\nPrivateKey = «{b43}=»
wireguard: PresharedKey = «{b43}=»
htpasswd: carol:«$apr1${x8}${x22}»
shadow: backup:«$6${x8}${x86}»:19400:0:99999:7:::
ansible: ansible_become_pass: «{x12}»
ansible: vault_mailgun: «key|-{h32}»
sshkey: -----BEGIN OPENSSH PRIVATE KEY-----\\n«{b70}»\\n«{b70}»\\n-----END OPENSSH PRIVATE KEY-----
pgp: -----BEGIN PGP PRIVATE KEY BLOCK-----\\n\\n«{b64}»\\n«{b64}»\\n-----END PGP PRIVATE KEY BLOCK-----
putty: Private-Lines: 2\\n«{b64}»\\n«{b60}»\\nPrivate-MAC: «{h40}»
age: AGE-SECRET-KEY-1«{A58}»
markdown: - **Root password:** `«{x12}»`
markdown: token:\\n\\n    «{x40}»
csv: site,user,password\\nshop.example,eva,«{x11}»
html: <input type="hidden" name="csrf_token" value="«{h40}»">
"""

TYPED = """
curl: curl -u admin:«{x12}» https://ci.example.org/job/x/build
curl: curl -H 'PRIVATE-TOKEN: «{x20}»' https://git.example.org/api/v4/projects
curl: curl -d 'grant_type=password&username=bo&password=«{x10}»' https://id.example.org/token
curl: curl --cookie "sid=«{h32}»" https://example.org/me
curl: curl 'https://maps.example.org/v1?lat=1&key=«{x32}»'
wget: wget --http-user=bo --http-password=«{x10}» https://example.org/x.zip
psql: PGPASSWORD=«{x12}» psql -h db -U app
mysql: mysqldump -uroot -p«{x12}» shop > shop.sql
redis: redis-cli -h cache -a «{x24}» ping
mongo: mongosh "mongodb+srv://app:«{x12}»@cluster0.abcde.mongodb.net/db"
amqp: amqps://worker:«{x12}»@mq.example.org/prod
ftp: lftp -u bo,«{x10}» ftp.example.org
ssh: sshpass -p '«{x10}!»' ssh root@10.0.0.4
openssl: openssl enc -aes-256-cbc -k «{x12}» -in a -out b
zip: 7z x backup.7z -p«{x10}»
docker: docker login -u bo --password «{x14}» registry.example.org
helm: helm upgrade api ./chart --set auth.adminPassword=«{x12}»
kubectl: kubectl create secret generic x --from-literal=token=«{x24}»
aws: aws configure set aws_secret_access_key «{b40}»
az: az login --service-principal -u app -p «{x3}8Q~{u34}» --tenant t
gh: echo «github|_pat_{x22}_{x59}» | gh auth login --with-token
vault: vault kv put secret/app api_key=«{x32}»
powershell: ConvertTo-SecureString "«{x12}!»" -AsPlainText -Force
powershell: net use Z: \\\\nas\\media /user:bo «{x10}»
set: setx OPENAI_KEY "«sk|-proj-{x40}»"
fish: set -gx CI_JOB_SECRET «{x24}»
header: X-Auth-Token → «{x32}»
header: authorization = Basic «{b28}==»
header: Set-Cookie: session=«{u64}»; HttpOnly
url: https://bo:«{x10}»@wiki.example.org/feed
url: magic link: https://app.example.org/login?token=«{u43}»
url: https://example.blob.core.windows.net/c?sv=2023-01-03&sig=«{x40}%3D»
jwt: bearer «eyJhbGciOiJIUzI1NiJ9|.eyJ{u40}.{u43}»
odd: API KEY ==> «{x32}»
odd: secret … «{x24}» … end
odd: pw:«{x10}»;user:bo
odd: token「{x4}」is not it, the token is 『«{x24}»』
odd: Passwort｜«{x10}»
odd: api-key\\n----\\n«{x32}»
odd: key is\\n«{x20}\\n{x20}»
odd: the access token, in two parts: «{x18}» and «{x18}»
"""

PLAIN = """
en: For the record, hunter's cabin door opens with «{d4}#».
en: Sign in as kiosk, the word is «Wombat{d2}!».
en: passphrase to unlock the laptop disk — «violet kettle {d2} harbour»
en: My mother's online banking code is «{d6}», do not show it.
en: I set the safe to «{d2}-{d2}-{d2}».
en: It's «Quokka_{d4}» now, the password for the tax portal.
en: Use «Zephyr{d3}?» as the password when the portal asks.
en: Spotify pass changed, new one: «Turnip.{d4}»
en: the SIM's PUK is «{d8}»
en: root pw on the pi = «raspberry{d4}x»
en: His locker code? «{d4}».
en: security answer (first pet): «Biscuit{d2}»
de: Mein neues Kennwort heißt «Dachs-{d4}».
de: Anmelden mit Nutzer gast und Passwort «Kirsche{d2}».
de: Der Tresor geht mit «{d6}» auf.
de: Passwort fürs Elster-Zertifikat = «Igel{d4}»
de: Die Geheimzahl der Kreditkarte: «{d4}»
fr: Le code wifi chez mamie, c'est «coquelicot{d3}».
fr: Mot de passe de session : «Girafe_{d3}»
fr: Le digicode de l'immeuble est «{d2}B{d2}».
fr: identifiant paul, mdp «Noisette{d2}»
es: Mi contraseña nueva es «Lagarto{d3}!».
es: usuario: ana, clave: «Mango-{d4}»
es: El código de la alarma de la oficina es «{d4}».
pt: A palavra-passe do portátil é «Cegonha{d3}».
pt: senha do wifi «jabuti{d4}»
pt: O PIN do cartão é «{d4}».
it: La mia password di posta è «Cicala{d3}!».
it: Codice PIN del bancomat: «{d4}»
it: utente luca, parola d'ordine «Fragola{d2}»
nl: Mijn wachtwoord is nu «Egel{d4}».
nl: De code van het slot is «{d4}».
pl: Moje nowe hasło: «Wiewiorka{d2}!»
pl: Kod do domofonu to «{d4}».
sv: Lösenordet till servern är «Ekorre{d3}».
sv: PIN-koden är «{d4}».
ja: Wi-Fiのパスワードは「«sakura{d4}»」です。
ja: 暗証番号は«{d4}»です。
zh: 我的密码是«panda{d4}»。
zh: WiFi密码：«{x10}»
ru: Пароль от почты: «Belka{d4}»
ru: Пин-код карты «{d4}».
tr: Modemin şifresi «kaplumbaga{d2}».
card: My Visa is «{cardspaced}», valid until 09/28.
card: card no. «{card}»
iban: bitte auf «{iban}» überweisen
"""
