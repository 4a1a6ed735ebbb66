"""Names of secrets in configuration keys and in sentences, in several languages."""

import re
from typing import NamedTuple

from memory_butler.english.text.word_sets import word_set

PASSWORD, PIN, TOKEN, CODE, WEAK, PHRASE = "password", "pin", "token", "code", "weak", "phrase"

# Class of the name, kind of the finding, and pattern in lower case.
_S = "[ _.-]?"
_NAMES: tuple[tuple[str, str, str], ...] = (
    (
        PASSWORD,
        "password",
        r"pass[ _-]?words?|passwd|passwort|passwörter|kennwort|kennwörter|contraseñas?|contrasena|senhas?"
        r"|palavra[- ]passe"
        r"|mots? de passe|motdepasse|mdp|parola d'ordine|wachtwoord|lösenord(?:et)?|hasło|hasła|passord(?:et)?"
        r"|adgangskoden?|kodeord(?:et)?|heslo|jelszó|salasana(?: on)?|şifre(?:si|m)?"
        r"|parol|парол[ьяюеи]м?"
        r"|パスワード|密码|密碼"
        r"|口令|비밀번호|pwd|pword|psswd|bindpw|rootpw|userpass|dbpass|sshpass"
        r"|smtp_pass|wpa2? key|network key|wi-?fi key|wlan-schlüssel|netzwerkschlüssel|requirepass|masterauth|psk"
        r"|mật khẩu|كلمة (?:المرور|السر)|पासवर्ड|סיסמה|wifi-sleutel",
    ),
    (PHRASE, "password", r"pass[ _-]?phrases?|passphrase"),
    (
        PHRASE,
        "seed_phrase",
        r"(?:seed|recovery|mnemonic|backup|secret|wallet)[ _-]?(?:phrase|words)|mnemonic|frase (?:semilla"
        r"|de recuperación)"
        r"|phrase (?:de récupération|secrète)|wiederherstellungsphrase|сид[- ]фраза|助记词|シードフレーズ",
    ),
    (
        PIN,
        "pin",
        r"pin(?:[ _-]?(?:code|number|nummer|kode?n?|kod)|码|碼)?s?|пин[- ]?код\w{0,2}|пин|暗証番号|暗証コード"
        r"|código pin|code pin|codice pin|geheimzahl"
        r"|puk|cvv2?|cvc2?|card security code|prüfnummer|取款密码|支付密码",
    ),
    (
        CODE,
        "access_code",
        r"(?:door|gate|alarm|entry|access|lock|garage|building|safe|vault|keypad|unlock|locker|security|pass"
        r"|panel|lockbox"
        r"|disarm|parental|bike lock|luggage|tür|alarm|garagen|zugangs|tor)[ _-]?codes?|passcode|(?:safe|lock"
        r"|locker|vault)"
        r" combination|(?:online |mobile )?banking codes?|(?:bank|phone|screen|tablet|laptop|sim|card|account|mailbox"
        r"|box|bike|cabin|cellar|parking|lift|elevator|gym|pool|barn) codes?"
        r"|combination (?:of|to|for) (?:the|my|our|his|her)(?: [\w-]{1,20}){0,2} (?:safe"
        r"|lock|padlock|locker|vault)"
        r"|(?:zahlen)?kombination (?:vom|des|für das|für den) [\w-]{1,20}(?:schloss|schlosses|tresors?|safes?)|"
        r"code d'entrée"
        r"|code de (?:la porte|l'immeuble|l'alarme|l'entrée)|digicode"
        r"|codes? (?:for|to|of) (?:the|my|our|his|her|their)(?: [\w-]{1,20}){0,2} (?:door|gate|garage|alarm"
        r"|lockbox|safe|house"
        r"|apartment|building|office|shed|locker|entrance|keypad)"
        r"|código (?:de la (?:puerta|alarma|entrada|caja)|del (?:portal|garaje|portón)"
        r"|de acceso|do portão|do alarme|da porta)"
        r"|(?:deur|toegangs|alarm|poort)codes?|kod do (?:drzwi|domofonu|bramy|alarmu)|(?:port|dörr|larm)kod(?:en)?"
        r"|codice (?:della porta|del (?:cancello|portone)|di accesso|dell'allarme)"
        r"|код (?:от |к |для )?(?:[\w-]{1,20} )?(?:двери|домофона|сейфа|сигнализации|ворот|подъезда|замка|гаража)"
        r"|codes? van (?:het|de|mijn|ons|onze) (?:[\w-]{1,20} )?(?:slot|deur|poort|alarm|kluis|garage|fietsslot|hek)"
        r"|code (?:vom|von der|für (?:die|das|den)|zum|zur|des|der) (?:[\w-]{1,20} )?(?:\w{0,12}tür|tor|alarmanlage"
        r"|alarms|tresors?|safes?|garage|\w{0,12}schloss(?:es)?|\w{0,12}box|schließfachs?|spinds?)"
        r"|code (?:de la |de l'|du |pour (?:la|le) )(?:[\w-]{1,20} )?(?:porte|portail|immeuble|alarme|coffre|garage"
        r"|cadenas|entrée|casier)"
        r"|(?:código|clave|combinación) (?:de la|del|de) (?:[\w-]{1,20} )?(?:puerta|portal|alarma|caja fuerte|garaje"
        r"|candado|taquilla|edificio|entrada|verja)"
        r"|(?:código|senha|segredo) d[aoe] (?:[\w-]{1,20} )?(?:porta|portão|alarme|cofre|garagem|cadeado|prédio"
        r"|entrada)"
        r"|(?:codice|combinazione) (?:della |del |dell'|di )(?:[\w-]{1,20} )?(?:porta|portone|cancello|allarme"
        r"|cassaforte|garage|lucchetto|armadietto|ingresso)"
        r"|kod (?:do|od) (?:[\w-]{1,20} )?(?:drzwi|bramy|domofonu|alarmu|sejfu|garażu|kłódki|szafki|furtki)"
        r"|kod(?:en)? (?:till|för) (?:[\w-]{1,20} )?(?:dörren|porten|larmet|kassaskåpet|garaget|låset|skåpet)"
        r"|門のコード|ドアコード|门禁密码",
    ),
    (
        CODE,
        "one_time_code",
        r"(?:one[- ]time|verification|confirmation|2fa|mfa|sms|otp|auth(?:entication|enticator)?|login"
        r"|sign-in)[ _-]?codes?"
        r"|otp|tan|einmalcode|bestätigungscode|código de verificación|code de vérification|код подтверждения"
        r"|確認コード|验证码",
    ),
    (
        CODE,
        "recovery_code",
        r"(?:recovery|backup|rescue|scratch|emergency)[ _-]?codes?|wiederherstellungscodes?|códigos de recuperación"
        r"|codes de (?:secours|récupération)",
    ),
    (
        WEAK,
        "security_answer",
        r"mother'?s maiden name|maiden name of my mother|security answer|answer to (?:the|my) security question"
        r"|sicherheitsantwort|mädchenname (?:meiner|der) mutter|apellido de soltera de mi madre",
    ),
    (
        TOKEN,
        "totp_secret",
        r"(?:totp|2fa|mfa|otp|authenticator)[ _-]?(?:secret|seed|key|setup key)|setup key",
    ),
    (
        TOKEN,
        "api_key",
        rf"api{_S}(?:key|secret|token)s?|api{_S}schlüssel|app{_S}(?:key|secret)|clave (?:de )?api"
        r"|clé (?:d')?api|chave (?:de )?api|chiave api|api[- ]?ключ|apiキー|api密钥|license[ _-]?key|licence[ _-]?key"
        r"|product[ _-]?key|serial key|activation[ _-]?key|lizenzschlüssel|integration[ _-]?key|routing[ _-]?key",
    ),
    (
        TOKEN,
        "secret_key",
        rf"secret{_S}(?:access{_S})?key(?:{_S}base)?|private{_S}key(?:{_S}(?:id|data))?|client{_S}key{_S}data"
        rf"|(?:signing|encryption|master|consumer|auth|write|ingest(?:ion)?|join|tunnel|upload|access"
        rf"|shared{_S}access|account|storage|webhook|deploy|data|session"
        rf"|cookie|hmac"
        rf"|admin|root|service|preshared|pre-shared|decryption|wallet){_S}key|presharedkey"
        rf"|(?:client|consumer|application|app|shared|signing|webhook|jwt|oauth|session|cookie|django|flask"
        rf"|rails|auth|api"
        rf"|hmac|admin"
        rf"|service|bot|azure|google|the){_S}secrets?|geheimschlüssel|secret|secrets|секретный ключ"
        rf"|シークレットキー|密钥",
    ),
    (
        TOKEN,
        "token",
        rf"(?:access|auth(?:entication|orization)?|bearer|refresh|session|api|bot|id|personal access|deploy"
        rf"|registration"
        rf"|security|private|csrf|xsrf|oauth2?|jwt|device|runner|service|user|admin|app|webhook|vault|push|install|ci"
        rf"|x{_S}auth){_S}tokens?|authtoken|token|токен\w?|トークン|令牌|jeton|sessionid|session[ _-]?id"
        rf"|sess(?:ion)?key"
        r"|phpsessid|jsessionid|connect\.sid|sig|signature|x-amz-signature|zugangstoken|ficha de acceso",
    ),
    (WEAK, "password", r"pass|pw|contra|clave(?: secreta)?|кодовое слово"),
)

NAMED_KINDS = frozenset(kind for _, kind, _ in _NAMES)
_CLASSES = tuple((cls, kind) for cls, kind, _ in _NAMES)
TRIGGER = re.compile("|".join(f"(?P<n{n}>{pattern})" for n, (_, _, pattern) in enumerate(_NAMES)))
# Cheap test: a text without any of these holds no name of a secret.
HINTS = tuple(
    sorted(
        word_set(
            """
            pass pw secret token key pin code код парол пин ключ kennw contra senha clave
            mot mdp parol wachtw lösen hasło 密 口令 비밀 phrase mnemonic frase фраз 助记 シード パス 暗証
            コード トークン キー geheim puk cvv cvc nummer combination otp tan 验证 確認 maiden answer
            antwort mädchen soltera totp 2fa mfa clé chave chiave schlüssel jeton sess sid
            sig 令牌 auth words código codice psk adgang kode heslo jelsz salas şifre mật كلمة पास סיסמ sleutel
            kod kombination
            """
        )
    )
)
# Parts of a configuration key after the name which show that its value is no secret.
_ABOUT = word_set(
    """
    policy reset hint length field type budget count limit limits url uri file path dir env name names id ids
    expires expiry expiration ttl age age_days min max size format manager managers strength rules rule
    required requirement requirements generator validator validation prompt label placeholder error errors
    hash_algorithm algorithm bucket usage used cost price counter tokenizer version ref arn provider service
    class input box page view form changed change updated at date rotation store storage_class attempts
    history protection protected less sharing authentication auth callback handler header endpoint domain ring
    rings map vault value_from from days hours minutes seconds ms bytes bits tests test_name cache status
    state pad pads collection collections stdin command set sets
    """
)
_BEFORE = word_set("max min num total next prev previous page continuation cancel stop pad eos bos public no of per n")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")
_GLUED = ("password", "passwd", "passwort", "kennwort", "apikey", "pwd", "token", "secret", "secretkey")


class Name(NamedTuple):
    """A name of a secret: its span with the whole key around it, its class and kind."""

    start: int
    end: int
    cls: str
    kind: str
    key_start: int
    plural: bool


def secret_name(text: str, found: re.Match[str]) -> Name | None:
    """Returns the name at a match of `TRIGGER`, unless it is a part of another word or about a secret's properties."""
    start, end = found.start(), found.end()
    assert found.lastgroup
    cls, kind = _CLASSES[int(found.lastgroup[1:])]
    word = text[start:end]
    if not _begins(text, start, word) or not _ends(text, end):
        return None
    key_end = end
    while key_end < len(text) and key_end - end < 48 and _is_key(text, key_end):
        key_end += 1
    if any(part.lower() in _ABOUT for part in _PART.findall(text[end:key_end])):
        return None
    key_start = start
    while key_start > 0 and start - key_start < 48 and _is_key(text, key_start - 1):
        key_start -= 1
    before = _PART.findall(text[key_start:start])
    if before and before[-1].lower() in _BEFORE:
        return None
    plural = word[-1:] in "sS" and cls not in (WEAK,) and word.lower() not in ("pass", "userpass", "dbpass", "sshpass")
    return Name(start, key_end, cls, kind, key_start, plural)


def _is_key(text: str, place: int) -> bool:
    """True for characters of a configuration key; a dot or dash only between letters."""
    char = text[place]
    if char == "_" or (char.isascii() and char.isalnum()):
        return True
    inside = 0 < place < len(text) - 1 and text[place - 1].isalnum() and text[place + 1].isalnum()
    return char in ".-[" and inside and text[place + 1].isascii()


def _begins(text: str, start: int, word: str) -> bool:
    if start == 0 or not text[start - 1].isalpha() or not word[0].isascii():
        return True
    if text[start].isupper() and text[start - 1].islower():
        return True
    lower = word.lower()
    return lower.startswith(_GLUED) and (lower not in ("token", "secret") or text[start].isupper())


def _ends(text: str, end: int) -> bool:
    if end >= len(text) or not text[end].isalpha() or not text[end - 1].isascii():
        return True
    return (text[end].isupper() and text[end - 1].islower()) or not text[end].isascii()
