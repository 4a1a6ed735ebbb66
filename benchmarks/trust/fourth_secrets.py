"""A fourth set of secrets, written without a look at the detectors. Templates: see `generated`."""

VENDORS = """
hubspot: HubSpot private app: «pat|-eu1-{h8}-{h4}-{h4}-{h4}-{h12}»
intercom: the Intercom access token «dG9rO{b40}=» goes into helpdesk.env
zendesk: ines@example.com/token:«{x40}» is how the Zendesk API wants it
freshdesk: Freshdesk: user «{x20}», password X
openrouter: OPENROUTER «sk|-or-v1-{h64}»
gemini: the Gemini key is «AI|za{u35}»
cerebras: cerebras inference with «csk|-{a48}»
voyage: voyage embeddings key: «pa|-{u43}»
tavily: search tool: tavily «tvly|-dev-{x32}»
firecrawl: firecrawl scrapes with «fc|-{h32}»
e2b: sandbox: E2B_API_KEY «e2b|_{h40}»
langsmith: LANGCHAIN_API_KEY: «lsv2|_pt_{h32}_{h10}»
wandb: wandb login «{h40}»
turso: the turso db token is «ey|JhbGciOiJFZERTQSJ9.{u80}.{u86}»
upstash: UPSTASH_REDIS_REST_TOKEN="«AX{u50}ACQg»"
clerk: CLERK_SECRET_KEY=«sk|_test_{x40}»
auth0: Auth0 M2M app, client id {x32}, client secret «{u64}»
okta: okta token «00{u40}»
plausible: Plausible stats API, bearer «{u64}»
cloudinary: CLOUDINARY_URL=cloudinary://{d15}:«{u27}»@acme
"""

FILES = """
env: # prod\\nSMTP_PASS='«{x6}^{x6}»'\\nSMTP_FROM=noreply@example.org
env: export RESTIC_REPOSITORY=b2:acme:home\\nexport B2_ACCOUNT_KEY=«K00{x28}»
yaml: influxdb:\\n  org: home\\n  token: «{u86}==»
yaml: - name: ROOT_PW\\n  value: "«{x14}»"
yaml: mqtt:\\n  username: ha\\n  password: !secret x\\nrecorder:\\n  db_url: mysql://ha:«{x12}»@core-mariadb/ha
json: {"project":"acme","private_key":"-----BEGIN PRIVATE KEY-----\\\\n«{b64}»\\\\n-----END PRIVATE KEY-----\\\\n"}
json: "headers": {"x-functions-key": "«{u52}==»"}
toml: [remote]\\npass = "«{x24}»"\\ntype = "webdav"
ini: [nas]\\ntype = smb\\nhost = 10.0.0.5\\nuser = media\\npass = «{u30}»
ini: ;database\\ndb_passwd = "«{x10}%{x2}»"
xml: <property name="javax.persistence.jdbc.password" value="«{x12}»"/>
gradle: signing.password=«{x12}»\\nsigning.keyId={h8}
kotlin: storePassword = "«{x11}»"\\n        keyAlias = "upload"
swift: let consumerSecret = "«{x44}»"
python: boto3.client("s3", aws_access_key_id="AKIAXXXXXXXXXXXXXXXX", aws_secret_access_key="«{b40}»")
php: 'password' => env('DB_PASSWORD', '«{x12}»'),
cron: 0 3 * * * RCLONE_CONFIG_PASS=«{x16}» rclone sync /data remote:
nginx: proxy_set_header X-Internal-Auth "«{x32}»";
compose: environment:\\n  MINIO_ROOT_USER: admin\\n  MINIO_ROOT_PASSWORD: «{x18}»
git: [remote "origin"]\\n\\turl = https://bo:«{x20}»@codeberg.org/bo/site.git
"""

COMMANDS = """
curl: curl -u 'apikey:«{x40}»' https://api.eu.example.cloud/v3
http: http POST :8000/login username=bo password='«{x10}&»'
smb: smbclient //nas/media -U 'bo%«{x10}»'
mount: mount -t cifs //nas/media /mnt -o user=bo,pass=«{x10}»
ldap: ldapsearch -x -D cn=admin,dc=example,dc=org -w «{x12}» -b dc=example
rsync: RSYNC_PASSWORD=«{x12}» rsync -a data/ backup@host::vault
restic: echo "«{x20}» " > ~/.restic-pass
gpg: gpg --batch --passphrase "«{x9} {x4}»" -c notes.txt
zip: zip -P «{x12}» out.zip *
mosquitto: mosquitto_pub -h mq -u ha -P '«{x12}»' -t home/x -m 1
psql: psql "host=db user=app password=«{x12}» dbname=shop"
usql: clickhouse-client --user bo --password=«{x14}»
nmcli: nmcli dev wifi connect Attic password «{x10}»
gh: gh secret set DEPLOY_KEY --body "«{x30}»"
chpasswd: echo 'bo:«{x12}»' | sudo chpasswd
windows: net user bo «{x10}!» /add
snow: snowsql -a ab123 -u bo (password when asked: «{x12}»)
influx: influx auth list -t «{u60}==»
ipmi: ipmitool -H 10.0.0.9 -U root -P «{x10}» power on
wget: wget --header="X-Plex-Token: «{x20}»" http://nas:32400/
"""

TALK = """
en: btw I changed the fritzbox pw again, now it's «Hedgehog-{d3}»
en: me: what was the Disney+ one? sam: same mail, «Lampshade{d4}!»
en: To get into the storage unit punch in «{d5}» and then the star key.
en: Mum's bank card: the PIN she uses everywhere is «{d4}».
en: The router's admin page wants admin and «{x10}».
en: Login for the school portal – user kid2031, password «Tadpole_{d3}»
en: My Apple ID passcode is «{d6}».
en: if the app asks for the master password type «orange tractor {d4} pond»
en: Lockbox on the gate holds the key, its code: «{d4}».
en: The API key for the weather thing (openweathermap) is «{h32}».
de: Passwort vom Familien-Netflix hat Tom geändert: «Regenwurm{d3}»
de: Der Code für das Zahlenschloss am Fahrrad ist «{d4}».
de: Entsperr-PIN vom Tablet der Kinder: «{d6}»
de: Für die VPN-Einwahl nehme ich «Hirschkaefer#{d3}» als Passwort.
de: Meine Sparkassen-PIN lautet «{d5}», nicht aufschreiben!
fr: Pour l'alarme de l'atelier, il faut taper «{d4}».
fr: Le mdp du compte Ameli, c'est «Papillon!{d3}»
es: La contraseña de la wifi de mi suegra es «girasol{d3}».
es: Para entrar al portal marca «{d4}» y la llave.
it: Password del wifi dell'ufficio: «Tramonto-{d3}»
pt: A senha do meu e-mail agora é «Tucano{d4}».
nl: Het wifi-wachtwoord thuis is «pannenkoek{d3}».
ja: ルーターのパスワードは«tanuki{d4}»に変更しました。
zh: 路由器的管理密码是«Bamboo{d4}»
ko: 와이파이 비밀번호는 «gamja{d4}» 입니다
ru: Пароль от вайфая: «ромашка{d3}»
uk: Пароль до пошти — «Sonyah{d4}»
da: Adgangskoden til wifi er «pandekage{d3}».
cs: Heslo na wifi je «vlastovka{d3}».
hi: वाईफ़ाई का पासवर्ड «mango{d4}» है
"""
