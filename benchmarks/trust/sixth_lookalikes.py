"""Texts that only look like secrets: none of them may be touched. See `sixth_secrets`."""

ALIKE = """
the alarm's battery lasts 18 months
the door's width is 2010 mm
gate opens at 1730
The safe opened in 2019.
my new phone is a Pixel 8
the phone number of the school is 01234 567890
The card ends 4242.
the code on the parcel is AB123456789DE
the building has number 1480
our locker room is 2210
The wifi is called Bienenstock.
wifi speed is 250mbit down
password manager: Bitwarden 2024.1.0
use version 2.31.0 for the staging login
The staging login uses OAuth2.
credentials for s3 come from the instance role
creds expire after 3600 seconds
admin console runs on port 9090
root on zfs needs kernel6.1
root of the tree is node0
login shell is /bin/zsh
two-factor codes arrive by SMS
the backup is 4821 files
backup codes: print them
the PIN pad is made by Verifone
the pin count is 40
a PIN has 4 to 8 digits
Die PIN hat 6 Stellen.
Code 4711 riecht gut.
Le code postal du garage est 75011.
el código postal del portal es 28013
O código do produto no cofre é SKU48213.
Hasło dnia: cierpliwość.
パスワードは12文字以上
پاسورد را عوض کن
const port = process.env.PORT || 8080
apiVersion: apps/v1
secretRef: {name: api-env}
passwordHash: string;
resetPasswordToken: null
"password": ""
password: ""
PASSWORD_RESET_TIMEOUT = 259200
SESSION_COOKIE_AGE = 1209600
tokenizer_config.json
tokens: 1536
hash: {h64}
sourceMap {h20}.map
commit: {h40}
revision = "{h12}"
checksum {b43}=
requestId="{h8}-{h4}-{h4}-{h4}-{h12}"
git cherry-pick {h10}
sqlcmd -S db -U sa -Q "select 1"
sudo -S is for scripts
mysql -u app -p shop < dump.sql
htpasswd -c /etc/nginx/.htpasswd bo
gpg --decrypt notes.gpg
curl -F file=@photo.jpg https://example.org/upload
curl -T backup-20240115.tar.gz ftp://files.example.net/
"""
