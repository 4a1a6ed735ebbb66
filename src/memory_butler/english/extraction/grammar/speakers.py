"""Speakers: labels of transcripts, "X wrote:", and headers of mails, in nine languages.

What is not clearly the user's own is somebody else's. A label that nobody knows before "I" is one of somebody who is
not the user.
"""

import re
from collections.abc import Iterable, Sequence

from memory_butler.english.extraction.grammar.noise import is_commission
from memory_butler.english.extraction.grammar.person_names import NAME, is_name
from memory_butler.english.extraction.grammar.verbs import FORMS
from memory_butler.english.extraction.grammar.word_lists import CALLED_SO, FAMILY, RELATIONS
from memory_butler.english.text.chat_stamps import stamped_label
from memory_butler.english.text.stop_words import HEADINGS
from memory_butler.english.text.word_sets import alternatives, caseless, word_set
from memory_butler.english.time.calendar import WEEKDAYS

USER = "user"
ASSISTANT = ""
# A speaker without a name that can be used: no statement of theirs is about the user.
SOMEBODY = "somebody else"
LABEL_CHARACTERS = 90
# Words after a quotation that are a statement of its writer.
FEWEST_OWN_WORDS = 3
_CLOSING_MARKS = {'"': '"', "“": "”", "„": "“", "«": "»"}

_USERS = word_set("""
user human me prompt input i you myself self ich benutzer nutzer nutzerin yo usuario usuaria moi je utilisateur
utilisatrice eu usuário io utente я пользователь 私 僕 俺 わたし ユーザー 我 用户 mich mir ik ja
""")
# The user where an assistant answers them; anybody else in other transcripts.
_SERVED = word_set("customer client caller patient guest visitor student member")
_ASSISTANTS = word_set("""
assistant ai bot agent system chatbot model claude chatgpt gpt copilot gemini butler tool function assistent
assistentin ki asistente ia assistente ассистент бот アシスタント 助手 système sistema
""")
# Headings of notes, not names of speakers.
_HEADINGS = (
    frozenset(WEEKDAYS)
    | HEADINGS
    | word_set("""
note notes todo summary fyi update correction lesson lessons rule rules remember reminder important ps edit tip
warning context background goal goals decision decisions action actions name email phone address birthday allergies
allergy timezone pronouns job occupation employer company location nickname age languages diet hobbies likes dislikes
preferences also done next step result error subject date re fw today tomorrow yesterday plan plans deadline kids
children pets family wifi plumber dentist doctor gp landlord electrician vet lawyer accountant mobile tel cell health
work home food travel tools tech coding style habits hobby sport sports music school study money finance car pet
personal private misc general about bio profile intro self-intro hi hello hey thanks btw ok okay so well actually
sorry wait yes no nope oh house convention policy process guideline takeaway breakfast lunch dinner exercise fitness
medication meds stack editor employment education relationship relationships project projects
""")
)
_LABEL = re.compile(
    r"(?:[\[(][^\])\n]{1,24}[\])][ ]?|\d{1,2}[:.]\d\d(?:[:.]\d\d)?[ ])?\*{0,2}<?"
    r"(?P<name>[^\W\d_][\w.'-]{0,30}(?:[ ][^\W\d_][\w.'-]{0,30}){0,2})"
    r"(?:[ ][\[(][^\])\n]{1,24}[\])])?\*{0,2}(?:[ ]?:\*{0,2}(?:[ ]+|$)|：[ ]?|>[ ]+)(?=\S|$)"
)
_FIRST_PERSON = caseless(
    r"(?:(?:hi|hey|hello|ok|okay|yes|no|well|so|oh|btw|and|also|sorry|yeah|hallo|hola)\b[,!. ]*){0,3}"
    r"(?:i|i'm|i've|i'd|i'll|im|ive|my|we|we're|we've|our|me|mine|ich|mein|meine|wir|yo|soy|mi|tengo|vivo|trabajo|je|"
    r"j'\w+|mon|ma|nous|moi|eu|sou|meu|minha|io|sono|ho|я|мой|моя|мы|у меня)\b|(?:私|僕|俺|我|わたし)"
)
_OF_SELF = re.compile(r"\b(?:I|I'm|me|my|mine)\b")
_SAID = (
    r"(?:said|says|wrote|writes|texted|messaged|replied|answered|mailed|emailed|told me|told us|posted|goes|went|"
    r"commented|schrieb|schreibt|sagte|sagt|meinte|meint|dijo|dice|escribió|escribe|a dit|dit|a écrit|écrit|disse|"
    r"diz|escreveu|ha detto|ha scritto|scrive|сказала?|написала?|пишет|говорит|は言いました|说|说道|写道)"
)
_MEDIUM = (
    r"(?:page|site|website|article|readme|docs?|documentation|manual|logs?|comments?|tickets?|e-?mails?|mails?|"
    r"message|"
    r"letter|error|tool|output|policy|file|post|thread|book|blog|newsletter|sign|poster|wiki|changelog|issue|review|"
    r"vendor|template|prompt|script|config|webpage|forum|tweet|ad|label|leaflet|instructions?|guide|spec|faq)"
)
_REPORTED = re.compile(
    rf"(?:(?P<who>(?:[Mm]y |[Oo]ur |[Tt]he |[Mm]eine? |[Mm]i |[Mm]on |[Mm]a )?(?:(?i:{alternatives(RELATIONS)})[ ])?"
    rf"(?:{NAME}|(?i:{alternatives(RELATIONS)})))(?:[ ](?:just|then|also|later))?[ ](?i:{_SAID})"
    rf"|(?:[\w']{{1,30}}[ ]){{0,4}}?(?i:{_MEDIUM})\b[^.:!?\n]{{0,40}}?[ ](?i:says|said|reads|states|goes|tells|shows|"
    r"sagt|dice|dit)"
    rf"|(?i:(?:(?:fwd|fw|forwarded|message|e-?mail|mail|text|note|voicemail|letter|quote|comment|nachricht|mensaje|"
    r"messaggio|whatsapp|sms|signal|telegram|sprachnachricht|voice message|"
    r"message vocal|audio)[ ])?(?:from|by|von|de|da|от)[ ])(?P<by>(?:[Mm]y )?"
    rf"{NAME}|(?:[Mm]y )?(?i:{alternatives(FAMILY)})))"
    r"[ ]?[:：](?:[ ]+|$)"
)
_QUOTE_LEAD = re.compile(
    r"(?:On|Am|Le|El|Il|Em|Op|В|Den)\b[^\n]{4,120}?\b(?:wrote|schrieb|a écrit|escribió|ha scritto|escreveu|написала?)"
    r"(?P<after>[ ][^:\n]{1,60})?[ ]?:[ ]*$"
)
_LEAD_FROM = caseless(r"\b(?:from|by|von|de|da|от)[ ](?P<who>[^:\n]{2,50}?)[ ]?[:：]\s*$")
_LEAD_NAME = re.compile(rf"(?P<name>{NAME})(?:[ ]<[^>\n]{{1,80}}>)?[ ](?:wrote|a écrit|escribió|ha scritto|escreveu)\b")
_FORWARDED = caseless(
    r"(?:out of office|automatic reply|auto-?reply|abwesenheitsnotiz|réponse automatique|respuesta automática)[ ]?:|"
    r"[ ]{0,8}[-_=]{0,40}[ ]?(?:original message|forwarded message|begin forwarded message|ursprüngliche nachricht|"
    r"weitergeleitete nachricht|message d'origine|message transféré|message original|mensaje original|"
    r"mensaje reenviado|messaggio originale|messaggio inoltrato|mensagem original|mensagem encaminhada|"
    r"исходное сообщение|пересылаемое сообщение|元のメッセージ|転送メッセージ|原始邮件|转发的邮件|转发邮件)"
    r"(?!\w| from [^\W\d_])"
)
_FROM = caseless(
    r"(?:from|von|de|da|от|absender|expéditeur|remitente|mittente|差出人|发件人)[ ]?[:：][ ]*(?P<name>[^<\n]{1,60}?)"
    r"[ ]*(?:<[^>\n]{0,80}>|\[mailto:[^\]\n]{0,80}\])?[ ]*$"
)
_HEADER = caseless(
    r"(?:to|cc|bcc|sent|date|subject|reply-to|an|kopie|gesendet|datum|betreff|à|objet|envoyé|para|asunto|fecha|"
    r"enviado|"
    r"oggetto|inviato|data|assunto|кому|тема|дата|宛先|件名|日時|收件人|主题|日期)[ ]?[:：]"
)
_REGARDS = (
    r"(?:(?:best|kind|warm|many|with|mit|freundlichen?|viele|liebe|herzliche|un|cordiali|meilleures?|atenciosamente|"
    r"bien|с)[ ]+){0,3}(?:(?:best|love|lg|vg|mfg|bisous|besos|baci|beijos)(?=,|\s{0,4}$)|regards|wishes|"
    r"greetings|cheers|sincerely|yours[ ]\w+|thanks|grüße|grüßen|gruß|saludos?|"
    r"abrazo|cordialement|salutations|bises|abraços?|cumprimentos|saluti|уважением|приветом)\b"
)
_CLOSING = caseless(rf"{_REGARDS}[^.!?]{{0,40}}$|sent from my \w+|von meinem \w+ gesendet|敬具|此致")
_SIGNED = re.compile(rf"(?:^|[.!?]\s{{1,4}})(?i:{_REGARDS})[\s,.!–—-]{{0,6}}(?P<name>{NAME})?\W{{0,3}}$")
_SIGNED_BELOW = re.compile(rf"[\s–—-]{{0,4}}(?P<name>{NAME})\W{{0,3}}$")
_SIGNED_BY_DASH = re.compile(rf"(?:^|\s)[–—-]{{1,2}}\s?(?P<name>{NAME})\W{{0,3}}$")
_FORWARD = re.compile(
    r"(?i:fwd|fw|wg|tr|rv)[ ]?:[ ]{0,4}(?:(?i:re|aw|sv|fwd|fw)[ ]?:[ ]{0,4}){0,3}(?P<who>[^\n]{0,60})$|"
    r"(?i:fwd|fw|forwarded)(?i:[ ](?:message|mail|e-?mail|text))?[ ](?i:from|by|von|de|da)[ ]"
    r"(?P<by>[^\n:]{1,60})[ ]?:?$"
)
_ROLE = caseless(
    rf"(?:my |our |the |meine? |mi |mon |ma )?(?P<role>{alternatives(CALLED_SO)}|{alternatives(RELATIONS)})$"
)
_OWNED = re.compile(r"^(?:[Mm]y|[Oo]ur|[Tt]he|[Mm]eine?|[Mm]i|[Mm]on|[Mm]a) ")
_ENDINGS = ("tion", "sion", "ment", "ness", "ity", "ance", "ence", "ship", "ology", "ism", "ware", "ing", "ful", "able")


class Label:
    """A label at the beginning of a line: its name, and where the words begin."""

    __slots__ = ("end", "name")

    def __init__(self, name: str, end: int) -> None:
        self.name, self.end = name, end


def label_at(line: str) -> Label | None:
    if (stamped := stamped_label(line)) is not None:
        return Label(*stamped)
    if not (":" in line[:LABEL_CHARACTERS] or "：" in line[:LABEL_CHARACTERS] or line[:1] == "<"):
        return None
    match = _LABEL.match(line)
    if not match or line.startswith(("http:", "https:")) or (line[:1] != "<" and match[0].rstrip().endswith(">")):
        return None
    return Label(match["name"], match.end())


def is_known(label: Label) -> bool:
    word = label.name.lower()
    return word in _USERS or word in _ASSISTANTS or word in _SERVED or word == "the user"


def is_heading(label: Label) -> bool:
    words = label.name.lower().split()
    return words[0] in _HEADINGS or words[-1] in _HEADINGS or words[-1] in RELATIONS


def has_assistant(labels: Iterable[Label]) -> bool:
    return any(label.name.lower() in _ASSISTANTS for label in labels)


def speaker_of(label: Label, words: str, conversation: bool, assisted: bool) -> str | None:
    """The speaker that a label names; None if it is a heading. In a conversation any label is one of a speaker; alone
    in a note it is one if the words after it are in the first person."""
    word = label.name.lower()
    if is_known(label):
        served = word in _SERVED and not assisted
        return SOMEBODY if served else ASSISTANT if word in _ASSISTANTS else USER
    named = looks_named(label.name)
    role = _ROLE.match(label.name)
    speaks = _FIRST_PERSON.match(words) or ((named or role) and _OF_SELF.search(words))
    if is_commission(label.name):
        return None
    if speaks and role:
        return f"{USER}'s {role['role'].lower()}"
    if is_heading(label) or not (speaks or (conversation and label.name[0].isupper())):
        return None
    return label.name if named else SOMEBODY


def looks_named(name: str) -> bool:
    """Whether a label can be the name of a person, and not a word of notes."""
    first = name.split(maxsplit=1)[0]
    if not first[0].isupper():
        return not first.isascii() and not first[0].islower()
    return is_name(name) and not first.lower().endswith(_ENDINGS) and first.lower() not in FORMS


def reported(line: str) -> tuple[str, int] | None:
    """The speaker that "Tom wrote:" or "the page says:" names at the beginning of a line",
    "and where the words begin."""
    if ":" not in line and "：" not in line:
        return None
    match = _REPORTED.match(line)
    if not match:
        return None
    who = match["who"] or match["by"]
    return (person(who) if who else SOMEBODY), match.end()


def end_of_quotation(line: str, begin: int) -> int:
    """Where words that begin after a quotation mark end: what is behind the closing mark is the writer's own. The end
    of the line if nothing is quoted, or if only a few words follow."""
    mark = line[begin - 1 : begin]
    close = line.rfind(_CLOSING_MARKS[mark], begin) if mark in _CLOSING_MARKS else -1
    return close if close > begin and len(line[close + 1 :].split()) >= FEWEST_OWN_WORDS else len(line)


def opens_first_person(words: str) -> bool:
    return _FIRST_PERSON.match(words) is not None


def person(words: str) -> str:
    """The speaker in words such as "my sister Anna", "Mum" or "Dr. Feld"."""
    plain = _OWNED.sub("", words).strip(" ,")
    if role := _ROLE.match(words):
        return f"{USER}'s {role['role'].lower()}"
    name = re.search(rf"{NAME}$", plain)
    if plain.lower() in ("user", "the user", "i", "me"):
        return USER
    return name[0] if name and is_name(name[0]) else SOMEBODY


def mail_author(line: str) -> str | None:
    """The author that a header line "From: …" names; None for any other line."""
    match = _FROM.match(line)
    if not match:
        return None
    name = match["name"].strip(" \"'")
    return name if name and looks_named(name) else SOMEBODY


def is_header(line: str) -> bool:
    return _HEADER.match(line) is not None


def closes_mail(line: str) -> bool:
    """ "Kind regards, Jane": the closing of a letter."""
    return _CLOSING.match(line) is not None


def is_forwarded(line: str) -> bool:
    return _FORWARDED.match(line) is not None


def forwarded_from(line: str) -> str | None:
    """The sender that a line such as "Fwd from Ann:", "FW: Régie Naef" or "---- Forwarded message ----" names, SOMEBODY
    if it names none; None for any other line."""
    if is_forwarded(line):
        return SOMEBODY
    match = _FORWARD.match(line)
    if match is None:
        return None
    if match["by"]:
        return person(match["by"].strip())
    # One word is rather the subject of the mail.
    who = match["who"].strip()
    return who if " " in who and re.fullmatch(NAME, who) and looks_named(who) else SOMEBODY


def signature(lines: Sequence[str]) -> str:
    """The name under a letter, after "Kind regards" or a dash; empty if there is none."""
    for number, line in enumerate(lines):
        closing = _SIGNED.search(line)
        if closing is None:
            continue
        below = _SIGNED_BELOW.match(lines[number + 1]) if number + 1 < len(lines) else None
        name = closing["name"] or (below["name"] if below else "")
        if name and looks_named(name):
            return name
    dashed = _SIGNED_BY_DASH.search(lines[-1]) if lines else None
    return dashed["name"] if dashed and looks_named(dashed["name"]) else ""


def leads_quote(line: str) -> str | None:
    """The author that a short line before quoted ones names, "FYI from our accountant:", SOMEBODY if it names none;
    None if it is no such line."""
    if not line.rstrip().endswith((":", "：")) or len(line) > LABEL_CHARACTERS or quote_lead(line) is not None:
        return None
    match = _LEAD_FROM.search(line)
    return person(match["who"]) if match else SOMEBODY


def quote_lead(line: str) -> str | None:
    """The author that "On Tue, Jane Doe wrote:" names; None for any other line."""
    if not line.rstrip().endswith(":") or not _QUOTE_LEAD.match(line):
        return None
    name = _LEAD_NAME.search(line)
    after = _QUOTE_LEAD.match(line)
    words = name["name"] if name else (after["after"] or "").strip() if after else ""
    words = words.split(",")[-1].strip()
    return words if words and looks_named(words) else SOMEBODY
