"""Texts with secrets, as templates: see `generated`. Written before the detector was tuned."""

VENDORS = """
aws: My AWS access key is «AK|IA{A16}», please use it for the backups.
aws: aws_secret_access_key = «{b40}»
aws: export AWS_SECRET_ACCESS_KEY="«{b40}»"
aws: temporary credentials «AS|IA{A16}» with session token «{b120}» as AWS_SESSION_TOKEN
gcp: Maps uses AI|za«{u35}» as its key
gcp: the oauth token ya|29.«{u60}» expires in an hour
gcp: client_secret: «GOC|SPX-{u28}»
gcp: "private_key_id": "«{h40}»", "client_email": "sa@project.iam.gserviceaccount.com"
azure: AccountName=acct;Account|Key=«{b86}==»;EndpointSuffix=core.windows.net
azure: Azure client secret is «{x3}8Q~{u34}»
azure: https://acct.blob.core.windows.net/c?sv=2022-11-02&sig=«{x40}%3D»
azure: Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccess|Key=«{b43}=»
github: token gh|p_«{x36}» for CI
github: Use `github|_pat_«{x22}_{x59}»` in the workflow.
github: git clone https://x-access-token:«gh|s_{x36}»@github.com/acme/app.git
gitlab: GITLAB_TOKEN=gl|pat-«{u20}»
gitlab: runner registration token GR|1348941«{u20}»
slack: Slack bot token: xo|xb-«{d12}-{d12}-{x24}»
slack: webhook https://hooks.slack.com/services/«T{A8}/B{A8}/{x24}»
slack: app-level token xa|pp-1-«{A11}-{d13}-{h64}»
stripe: Stripe live key sk|_live_«{x24}»
stripe: restricted rk|_live_«{x24}» and webhook secret whs|ec_«{x32}»
twilio: Twilio account AC{h32} with auth token «{h32}»
twilio: SK|«{h32}» is the Twilio API key
sendgrid: SENDGRID_API_KEY=S|G.«{u22}.{u43}»
mailgun: mailgun ke|y-«{h32}»
mailchimp: Mailchimp API key «{h32}-us|14»
openai: OpenAI key sk|-proj-«{u48}T3Blbk|FJ{u48}»
openai: I set OPENAI_API_KEY to sk|-«{x20}T3Blbk|FJ{x20}»
anthropic: sk|-ant-api03-«{u93}AA» belongs to the research account
huggingface: hf|_«{x34}» downloads the gated model
npm: //reg|istry.npmjs.org/:_authToken=npm|_«{x36}»
pypi: upload with pypi|-AgEIcHlwaS5vcmc«{u70}»
digitalocean: doctl auth init -t dop|_v1_«{h64}»
heroku: HEROKU_API_KEY=«{h8}-{h4}-4{h3}-a{h3}-{h12}»
heroku: the new style HRK|U-«{u60}»
telegram: bot token «{d9}:AA{u33}»
discord: DISCORD_TOKEN=«M{x23}.{u6}.{u38}»
discord: https://discord.com/api/webhooks/{d18}/«{u68}»
shopify: shp|at_«{h32}» is the admin token of the shop
datadog: DD_API_KEY=«{h32}»
atlassian: Jira API token AT|ATT3«{u60}={h8}»
cloudflare: CF_API_TOKEN: «{u40}»
linear: lin|_api_«{x40}»
notion: notion integration secret|_«{x43}»
figma: figd|_«{u40}»
airtable: pat«{x14}.{h64}» is the Airtable token
dropbox: sl|.«{u130}»
square: sq0|atp-«{u22}»
newrelic: NR|AK-«{A27}»
sentry: sntrys|_«{b80}»
grafana: glsa|_«{x32}_{h8}»
vault: VAULT_TOKEN=hvs|.«{u90}»
terraform: «{x14}.atlasv1|.{u64}»
databricks: dap|i«{h32}»
postman: PM|AK-«{h24}-{h34}»
doppler: dp.pt|.«{x43}»
planetscale: pscale|_pw_«{u43}»
supabase: sbp|_«{h40}»
vercel: vercel login with token «{x24}»
groq: gsk|_«{x52}»
perplexity: pplx|-«{x48}»
replicate: r8|_«{x37}»
mapbox: sk|.eyJ«{u60}.{u22}» creates tiles
facebook: EA|AC«{x110}» expires in June
twitter: bearer AAAAAAAAAAAAAAAAAAAAA«{x80}»
linkedin: linkedin_client_secret = "«{x16}»"
docker: docker login -u anna -p dckr|_pat_«{u27}»
rubygems: rubygems|_«{h48}»
age: AGE-SECRET-KEY|-1«{A58}»
paypal: PAYPAL_CLIENT_SECRET=«E{u79}»
algolia: algolia admin api key: «{h32}»
fly: fly auth with fo1|_«{u43}»
okta: SSWS «00{u40}»
pagerduty: pagerduty api key is «u+{u18}»
asana: asana token 1/{d16}:«{h32}»
memory_butler: mb|t_«{u43}» is the token of the coder
"""

ASSIGNED = """
env: DB_PASSWORD=«Tr0ub4dor&3»
env: export REDIS_PASSWORD='«pl3ase-cache»'
env: SECRET_KEY_BASE=«{h128}»
env: JWT_SECRET: "«{x32}»"
json: {"user": "svc", "password": "«Winter2024!»"}
json: {"apiKey":"«{x32}»","other":1}
json: {"auth": {"client_id": "web", "clientSecret": "«{u40}»"}}
yaml: password: «correcthorse9»
yaml:   api_token: «{x40}»
ini: passwd = «s3cr3tpw»
ini: smtp_pass=«mailer-77x»
properties: spring.datasource.password=«Orcl#4711»
code: const apiKey = '«{a32}»';
code: client = Client(token="«{x28}»")
code: conn.login("anna@example.com", password="«blue.Monkey.42»")
php: define('DB_PASSWORD', '«n0tF0rY0u»');
xml: <add key="Password" value="«Pa55phrase»" />
xml: <password>«gr33n-Tea»</password>
url: postgres://app:«s3cr3t»@db.internal:5432/app
url: redis://:«cachepw1»@10.0.0.3:6379/0
url: https://anna:«hunter22»@files.example.com/reports
url: mongodb+srv://root:«Zx9%40pp»@cluster0.mongodb.net/test
url: amqp://guest:«rabbit-9»@mq:5672/
url: ftp://backup:«n1ghtly»@nas.local/dump
url: https://api.example.com/v1/items?api_key=«{x32}»&page=2
url: https://example.com/callback#access_token=«{u40}»&token_type=bearer
dsn: Server=db;Database=shop;User Id=sa;Password=«Str0ng!Pass»;Encrypt=true
dsn: host=db user=app password=«letmein77» dbname=app
dsn: jdbc:mysql://db/app?user=root&password=«r00tme»
dsn: DefaultEndpointsProtocol=https;AccountName=a;Account|Key=«{b86}==»
pgpass: db.internal:5432:app:anna:«wint3rtime»
netrc: machine api.example.com login anna password «netrcpw1»
htpasswd: admin:$apr1$«{x8}${x22}»
htpasswd: anna:$2y$10$«{x53}»
shadow: root:$6$«{x16}${x86}»:19000:0:99999:7:::
shadow: anna:$y$j9T$«{x22}${x43}»:19500:0:99999:7:::
kubeconfig: client-key-data: «{b200}»
kubeconfig: users:\\n- name: admin\\n  user:\\n    token: «{u120}»
k8s: kind: Secret\\ndata:\\n  password: «czNjcjN0cGFzcw==»
dockerauth: {"auths":{"ghcr.io":{"auth":"«YW5uYTpodW50ZXIyMg==»"}}}
totp: otpauth://totp/ACME:anna?secret=«{U16}»&issuer=ACME
totp: the 2FA setup key is «JBSW Y3DP EHPK 3PXP»
wifi: WIFI:T:WPA;S:Cabin;P:«sn0wflake»;;
wireguard: PrivateKey = «{b43}=»
"""

COMMANDS = """
curl: curl -u anna:«hunter22» https://api.example.com/me
curl: curl -H "Authorization: Bearer «{u40}»" https://api.example.com
curl: curl -H 'X-Api-Key: «{x32}»' https://api.example.com
curl: curl -H "Authorization: Basic «YW5uYTpzM2NyM3RwYXNz»" https://x.example.com
mysql: mysql -u root -p«s3cretPw» shop
mysql: mysqldump --user=root --password=«dump-It-9» shop > dump.sql
psql: PGPASSWORD=«pgpw2024» psql -h db -U app
ssh: sshpass -p '«ssh-P4ss»' ssh root@10.0.0.4
redis: redis-cli -h cache -a «r3disAuth» ping
docker: docker login registry.example.com --username ci --password «c1-d0cker»
openssl: openssl enc -aes-256-cbc -pass pass:«openSes4me» -in a -out b
net: net use Z: \\\\\\\\nas\\\\share /user:anna «n4sDrive!»
gpg: gpg --batch --passphrase «gpgPhr4se» -d file.gpg
helm: helm install app --set db.password=«h3lmPw»
zip: zip -P «z1pMe» out.zip report.pdf
az: az login --service-principal -u app -p «{x3}8Q~{u34}» --tenant t
header: Authorization: Bearer «{u43}»
header: Cookie: theme=dark; sessionid=«{a32}»
header: Set-Cookie: auth_token=«{u40}»; Path=/; HttpOnly
header: X-Auth-Token: «{x32}»
header: Proxy-Authorization: Basic «{b24}»
jwt: The token is «eyJ|hbGciOiJIUzI1NiJ9.eyJ|zdWIiOiIxMjM0In0.{u43}»
jwt: id_token=«eyJ|{u30}.eyJ|{u60}.{u86}»
pem: -----BEGIN RSA PRIVATE K|EY-----\\n«{pem}»\\n-----END RSA PRIVATE K|EY-----
pem: -----BEGIN OPENSSH PRIVATE K|EY-----\\n«{pem}»\\n-----END OPENSSH PRIVATE K|EY-----
pem: key: "-----BEGIN PRIVATE K|EY-----\\\\n«{b64}\\\\n{b64}»\\\\n-----END PRIVATE K|EY-----\\\\n"
pem: -----BEGIN EC PRIVATE K|EY-----\\n«{pem}»
pgp: -----BEGIN PGP PRIVATE KEY BLO|CK-----\\n\\n«{pem}»\\n-----END PGP PRIVATE KEY BLO|CK-----
entropy: the api secret of the reporting service is «{x40}»
entropy: For the webhook signature use signing key «{h64}».
entropy: encryption key «{b43}=» is in the vault too
split: Slack token xo|xb-«{d12}-{d12}»-\\n«{x24}»
split: gh|p_«{x18}»\\n«{x18}» is the CI token
invisible: key AK|IA«{A8}»\u200b«{A8}» for backups
wide: card «４１１１　１１１１　１１１１　１１１１» expires 12/27
quoted: the token is `gh|p_«{x36}»`.
quoted: the token is “gh|p_«{x36}»”,
quoted: (S|G.«{u22}.{u43}»)
"""

PROSE = """
en: The password for the staging server is «hunter22».
en: My password is «Sommer2024!» and I never change it.
en: The wifi password at the cabin is «snowflake-river»
en: Wi-Fi: Cabin, password «snow2024!»
en: Anna's login is anna / «b1rdsong»
en: Credentials: admin/«admin-4711»
en: user anna, pass «mango-Tree9»
en: We changed the root password to «Kx7-panda».
en: Use «zebra-42-lamp» as the password for the NAS.
en: «opensesame77» is the password of the router
en: The passphrase of the backup is "«correct horse battery staple»".
en: My bank PIN is «4711».
en: The PIN code for the SIM card: «0852»
en: The door code at the office is «2580#»
en: Alarm code «9921» turns it off.
en: The gate code is *«7391».
en: The safe combination is «12-34-56».
en: The one-time code is «482913».
en: My verification code is «G-583921»
en: recovery codes: «a1b2c-3d4e5», «f6g7h-8i9j0», «k1l2m-3n4o5»
en: Backup codes for GitHub:\\n«8f3a1-9c2d4»\\n«77b1e-0a3f5»
en: Security question: mother's maiden name. Answer: «Kowalski»
en: My mother's maiden name is «Kowalski».
en: the security answer for the bank is «Rex the dog»
en: The unlock pattern PIN of the tablet is «135790»
en: CVV «737» on the back
en: The CVC of the card is «482».
en: Our shared Netflix password: «m0vieNight»
en: temp password «Welcome1!» was sent to Ben
en: pw: «gr8-Fish»
en: pwd is «N0rthWind»
en: login with username bob and password «b0bsYourUncle».
en: the admin panel password has been reset to «Fj0rd-88»
en: the license key is «ABCD1-EFGH2-IJKL3-MNOP4»
en: Seed phrase: «{seed}»
en: my wallet's recovery phrase is «{seed}», keep it safe
en: «{seed}»
de: Das Passwort für den Server lautet «Winterzeit9».
de: Mein Kennwort ist «Blume123».
de: WLAN-Passwort: «Sonnenschein77»
de: Die PIN meiner EC-Karte ist «8264».
de: Zugangsdaten: Benutzer max, Passwort «kirsch-Baum4»
es: La contraseña del correo es «Perro.Verde8».
es: El PIN de la tarjeta es «5309».
es: clave del wifi: «casablanca21»
fr: Le mot de passe du serveur est «Baguette!75».
fr: mon code PIN est «6402»
fr: mdp: «soleil-44»
pt: A senha do banco é «Praia2023».
pt: a palavra-passe é «marAzul9»
it: La password del router è «Gelato.99».
it: il codice PIN della carta è «3817»
ru: Пароль от сервера: «Zima2024!»
ru: Мой пароль «qwerty-Снег7»
ru: ПИН-код карты «7754»
ja: サーバーのパスワードは«sakura2024»です。
ja: 暗証番号は«8841»です
zh: 服务器密码是«longma888»。
zh: 密码：«Panda#2024»
zh: 我的银行卡密码是«620418»
"""

NUMBERS = """
card: My card number is «{cardspaced}».
card: pay with «{card}» exp 04/28
card: Visa «{card}», CVV «391»
card: Karte: «{cardspaced}», gültig bis 04/27
card: American Express «3782 822463 10005»
iban: Transfer it to «{iban}», please.
iban: IBAN «GB82 WEST 1234 5698 7654 32»
us: My SSN is «536-22-8714».
us: social security number «536228714»
uk: National Insurance number «AB 12 34 56 C»
uk: NINO: «JG103759A»
de: Steuer-ID «{steuer}»
de: Meine Steueridentifikationsnummer lautet «{steuer}».
de: Personalausweis Nr. «L01X00T47»
es: DNI «{dni}»
es: mi NIE es «X1234567L»
fr: Numéro de sécurité sociale «{insee}»
it: codice fiscale «{codice}»
it: CF: «{codice}»
br: CPF «{cpf}»
br: meu CPF é «{cpf}».
in: Aadhaar «{aadhaar}»
in: PAN card «ABCPK1234F»
ca: SIN «046 454 286»
ch: AHV-Nummer «756.9217.0769.85»
nl: BSN «111222333»
pl: PESEL «44051401359»
cn: 身份证号 «11010519491231002X»
kr: 주민등록번호 «900101-1234568»
passport: My passport number is «C01X00T47».
passport: Reisepass «C4F7K2P19»
licence: driver's license number «D1234567»
mx: CURP «HEGG560427MVZRRL04»
"""
