"""Cues in the words of a task: who it is for, whether it is about software, whether it needs any memory at all."""

import re

MAX_LOOK_UP_WORDS = 16

_HOUSEHOLD = re.compile(
    r"\b(?:kids|children|family|everyone'?s?|everybody'?s?|all of us|all (?:two|three|four|five|six)|us all|we all"
    r"|(?:the|both) (?:boys|girls|twins|parents|grandparents|little ones)|both of (?:them|us)|guests|visitors|in-laws"
    r"|(?:is|are|they're) coming|coming (?:over|round|too|along)|comes? (?:over|round)"
    r"|at (?:ours|our (?:place|house|home)|my (?:place|house))|grocer(?:y|ies)|meal plan|packed lunch(?:es)?"
    r"|(?:shopping|food) (?:list|order|shop)|weekly shop|for (?:tea|dinner|supper|lunch|breakfast)"
    r"|(?:christmas|easter|thanksgiving|birthday|farewell) (?:dinner|lunch|brunch|meal)"
    r"|(?:dinner|lunch|brunch|barbecue|bbq|picnic|party|meals?|menu) (?:\w+ ){0,3}"
    r"for (?:the|our|my|\d+|two|four|six|eight|ten)"
    r")\b",
    re.IGNORECASE,
)
_CHILDREN = re.compile(
    r"\b(?:kids|children|grandchildren|grandkids"
    r"|(?:the|my|our|both) (?:boys|girls|twins|little ones?|babies|toddlers))\b",
    re.IGNORECASE,
)
_GROWN_UPS = re.compile(
    r"\b(?:family|everyone'?s?|everybody'?s?|all of us|us all|we all|parents|grandparents|guests|visitors|in-laws"
    r"|neighbou?rs|(?:is|are|they're) coming|comes? (?:over|round))\b",
    re.IGNORECASE,
)
# Names of files, functions, columns, options and errors.
_CODE = re.compile(
    r"\b[\w-]{1,60}\.(?:py|ipynb|jsx?|tsx?|vue|go|rs|java|kt|rb|php|sh|sql|toml|ya?ml|s?css|html|c|cc|cpp|cs|tf|swift)\b"
    r"|\b[A-Za-z][A-Za-z0-9]{0,60}_[A-Za-z0-9]|\w\(\)|\s--[a-z]{2}|\b[A-Z][A-Za-z]{0,60}(?:Error|Exception)\b"
)
_PLEASANTRY = re.compile(
    r"(?:hi|hiya|hello|hey|heya|howdy|yo|lol|haha|ok|okay|great|perfect|nice|cool|super|fine|sure|yes|yep|no|nope"
    r"|thanks|thank you|thx|ta|cheers|got it|will do|all good|sounds good|well done|gm|bye|see you|are you there"
    r"|good (?:morning|evening|afternoon|night)|morning|hallo|guten (?:morgen|tag|abend)|danke|hola|gracias"
    r"|buenos d[ií]as|buenas (?:tardes|noches)|bonjour|bonsoir|merci|ciao|buongiorno|grazie|ol[áa]|bom dia|obrigad[oa])"
    r"\b[\s,.!?…:)-]*",
    re.IGNORECASE,
)
# Words that go with a pleasantry and ask for nothing.
_SMALL_TALK = re.compile(
    r"(?:there|so much|very much|a lot|again|now|then|for|today|tomorrow|later|that'?s|that is|all|it|dear|my|friend"
    r"|everything|everyone|everybody|your|help|how'?s?|what'?s|up|tricks|things|life|going|is|are|you|doing|slept"
    r"|sleep|well|have|a|good|nice|day|one|weekend|x+|claude|jeeves|butler|bot|buddy|mate)\b[\s,.!?…:)-]*",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z]\w{1,40}\b[\s,.!?…:)-]*")
_LOOK_UP = re.compile(
    r"(?:in (?:one|a|two) sentences?:?\s*)?(?:so |ok |hey )?"
    r"(?:what(?:'?s| is| are| was| does| do| did)|who(?:'?s| is| was| were| wrote| won| invented| painted)"
    r"|how (?:many|much|far|old|tall|long|does|do)"
    r"|when (?:was|did)|where is|explain|define|convert|tell me a (?:joke|story)"
    r"|give me (?:a|an|one|two|three|four|five|\d+) (?:synonym|example|joke|fact)\w*)\b",
    re.IGNORECASE,
)
# The person's own affairs.
_OWN = re.compile(
    r"\b(?:i|i'm|i'll|i've|my|mine|we|we're|our|ours|us|today|tonight|tomorrow|yesterday|still|left"
    r"|going to|mum|mom|mam|dad|gran|granny|grandma|grandpa|(?:in|on|for|by|until|since) (?:january|february|march"
    r"|april|may|june|july|august|september|october|november|december)"
    r"|(?:this|next|last) (?:week|month|year|quarter|weekend|\w+day))\b",
    re.IGNORECASE,
)
# A second sentence.
_MORE = re.compile(r"\?\s+\w")
_TO_ME = re.compile(r"\b(?:to|as if) (?:me|i(?: were| was)?)\b", re.IGNORECASE)


def is_for_household(prompt: str) -> bool:
    """True if the task is for the whole family or for guests."""
    return bool(_HOUSEHOLD.search(prompt))


def is_for_children(prompt: str) -> bool:
    """True if the task is for children and names no group of grown-ups."""
    return bool(_CHILDREN.search(prompt)) and not _GROWN_UPS.search(prompt)


def looks_like_code(prompt: str) -> bool:
    """True if the prompt names files, functions, columns, options or errors of a program."""
    return bool(_CODE.search(prompt))


def needs_no_memory(prompt: str) -> bool:
    """True for a greeting and for a short question about general knowledge."""
    text = prompt.strip()
    if len(text.split()) > MAX_LOOK_UP_WORDS or looks_like_code(text) or _MORE.search(text):
        return False
    if _is_pleasantry(text):
        return True
    return bool(_LOOK_UP.match(text)) and not _OWN.search(_TO_ME.sub(" ", text))


def _is_pleasantry(text: str) -> bool:
    """True for "hi", "ok, thanks" and "good morning, Jeeves", not for "hi, book a table"."""
    end = 0
    for pattern in (_PLEASANTRY, _SMALL_TALK, _NAME):
        while found := pattern.match(text, end):
            end = found.end()
        if not end:
            return False
    return end == len(text)
