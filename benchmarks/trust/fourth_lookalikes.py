"""Texts that only look like secrets: none of them may be touched. See `fourth_secrets`."""

ALIKE = """
squashed as {h40}, tests are green
docker image id sha256:{h64} was pruned
the upload finished with checksum crc32c={h8}
Message-ID: <{x20}.{d10}@mail.example.org>
thread id {h16}, conversation {h8}-{h4}-{h4}-{h4}-{h12}
deployment dpl_{x28} is live
customer cus_{x14} paid invoice in_{x24}
payment intent pi_{x24} succeeded
the Notion page is https://www.notion.so/acme/Plan-{h32}
https://www.figma.com/file/{x22}/Design
Google Drive folder 1{u32} is shared with Tom
Slack channel C{A10}, user U{A10}
https://acme.slack.com/archives/C{A10}/p{d16}
Discord server {d18}
Spotify playlist 37i9dQZF1DX{x11}
the Zoom meeting is https://zoom.us/j/{d11}
Trello card https://trello.com/c/{x8}/12-fix-login
Jira filter 10{d3}, board {d3}
AWS account {d12}, region eu-central-1
instance i-0{h16} was stopped
vpc-{h17} has two subnets
azure subscription {h8}-{h4}-{h4}-{h4}-{h12}
gcp project acme-prod-{d6}
GA tracking id G-{A10}
DOI 10.1145/{d7}.{d7}
ORCID 0000-0002-1825-0097
Wikidata Q{d7}
OSM node {d10}
IMEI 49-015420-323751-8
serial C02{A9} of the MacBook
parcel {d14} is at the neighbour's
Vodafone customer number {d9}
meter reading {d6} on 1 March
Zählerstand {d5} kWh
tax year 2024, form 1040
insurance policy number HV-{d7}
member number {d8} at the library
frequent flyer number {d9}
booking {A6} for the Alhambra
seat 23F in coach 7
flat 4, 27 Baker Street, NW1 6XE London
call me on +44 7700 900{d3}
office: 030 {d7}, extension 42
ines.moreno+shop@example.com gets the receipts
The wifi at the cottage is slow after eight.
the wifi password is on the fridge
ask Tom for the alarm code, he changed it
the PIN arrives by post next week
I forgot my PIN twice and the card was blocked
passwords live in 1Password, never in notes
We use password-less login for guests.
the password field must be of type password
password: string
password: Optional[str] = None
"password": "********"
DB_PASSWORD=changeme
api_key=${API_KEY:-}
API_KEY=<insert here>
token = get_token()
const token = await auth.getToken();
if (password !== confirmPassword) return;
secret: { secretName: api-tls }
git config credential.helper store
ssh -i ~/.ssh/deploy_key root@10.0.0.4
kubectl get secret db -o yaml
aws sts get-caller-identity --profile prod
curl -H "Authorization: Bearer ${TOKEN}" https://api.example.org
export EDITOR=vim PAGER=less
psql -h db -U app -W shop
zip -r out.zip src
the key insight is that reads are cheap
the secret to a calm morning is a packed bag
code 39 barcodes are used on the shelves
the access code expires after ten minutes
Zugangscode kommt per SMS.
Die PIN ändere ich einmal im Jahr.
Das WLAN im Ferienhaus ist langsam.
Le mot de passe change tous les trois mois.
La clave está en preguntar pronto.
il codice sconto è PRIMAVERA25
de code van het project staat op GitHub
パスワードを忘れたら情シスに連絡する
密码要定期更换
비밀번호는 석 달마다 바꾼다
"""
