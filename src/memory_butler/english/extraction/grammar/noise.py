"""Recognises text that states no facts: questions, conjectures, quotations, fiction, irony."""

import re

from memory_butler.english.text.word_sets import caseless, word_set, words_in

_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|(?<!\w)'[^'\n]{12,300}'(?!\w)")
_LEFT_OPEN = re.compile(r"\"[^\"\n]{12,}$")
_ASKING = caseless(
    r"(?:(?:so|and|but|ok|okay|hey|hi|also|then|btw|or|well)[, ]+){0,2}(?:(?:what|where|when|why|how|who|which|"
    r"whose)(?:'?s|'re| is| are| was| were| do| does| did| can| should| would| will| about| many| much| long| often|"
    r" old| far| come| kind| to\b)|(?:what|which|whose)(?: [\w-]{2,20}){1,3} (?:should|shall|do|does|did|can|could|"
    r"would|will) (?:i|we|you|it|they|he|she)\b|which(?: [\w-]{2,20}){1,5}$|(?:can|could|would|will|do|does|did|is|"
    r"are|"
    r"was|were|have|has|should|shall|may) (?:you|i|we|he|she|they|it|there|this|that|the|my|anyone|someone|user)\b|"
    r"any (?:idea|ideas|tips|advice|thoughts)\b)"
)
_UNSURE = caseless(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|supposedly|allegedly|might|hypothetically|theoretically|"
    r"imagine|"
    r"imagining|suppose|supposing|pretend|pretending|let's say|what if|i wish|if only|in theory|for example|"
    r"for instance|e\.g\.|such as when|say i|as if|who knows|not sure|unsure|no idea|i doubt|i wonder|wondering|"
    r"wondered|as though|rumou?r|i heard|apparently|seems? (?:to|like)|sounds like|looks like|i think|i guess|"
    r"i assume|i believe|i suspect|i feel like|thinking (?:of|about)|considering|toying with|tempted to|dreamt|"
    r"dreamed|dreaming of|wouldn't it|one of these days|one day|someday|some day|could be|may be|it depends|"
    r"considered|debating whether|torn between)\b"
)
_UNSURE_WORDS = word_set("""
maybe perhaps possibly probably presumably supposedly allegedly might hypothetically theoretically imagine
imagining suppose supposing pretend pretending let's what wish only theory example instance e such say as knows
sure unsure idea doubt wonder wondering wondered rumor rumour heard apparently seem seems sounds looks think
guess assume believe suspect feel thinking considering toying tempted dreamt dreamed dreaming wouldn't one
someday some could may depends considered debating torn sound look
""")
_IRONY = caseless(
    r"(?:^|\s)/s\s*$|\b(?:just kidding|j/k|jk\b|just joking|only joking|i'm joking|i'm kidding|kidding!|yeah,? right|"
    r"oh,? sure|sarcasm|said no one ever|not!$)"
)
_FICTION = caseless(
    # "Sample answer: …", "Typical user: …"
    r"^(?:[\w-]+ ){0,3}?(?:examples?|samples?|tests?|exercises?|dictation|captions?|personas?|acceptance criteria|"
    r"template|"
    r"headlines?|lyrics|prompts?|typical \w+|fill in|riddle|homework|user story|stories|dummy|mock|demo)"
    r"(?: [\w-]+){0,3}:|\b(?:our|the|an?|my|your) (?:target|typical|average|ideal|imaginary|fantasy|fictional) "
    r"(?:users?|customers?|readers?|clients?|team|person|student|employee|household|family|dog|cat|friend|world|"
    r"company)\b|"
    r"\b(?:in (?:the|my|this|that|his|her|our|a) (?:opening |first |last |next |final )?(?:chapter|episode|story|"
    r"novel|book|film|movie|dream|game|song|play|show|series|"
    r"scene|roleplay|rpg|campaign|script|screenplay|comic|sketch|poem|short story)|(?:the|my|main|a|this|his|"
    r"her) (?:\w+ )?(?:character|protagonist|narrator|heroine|villain|persona)\b|(?:song|lyrics?|poem|chorus|verse|"
    r"quote|proverb|saying|line|joke|story) (?:goes|says|reads|begins|starts)|as (?:the )?saying goes|"
    r"(?:homework|word problem|math(?:s)? (?:problem|exercise|homework)|riddle|puzzle|quiz)(?: help| question)?(?=:)|"
    r"once upon a time|chapter (?:one|two|three|\d+)|opening line|made-up|fictional|lorem ipsum|placeholder|"
    r"dummy data|test data|(?:unit|integration|e2e) tests?\b|(?:john|jane) (?:doe|roe)\b|mustermann|musterfrau|"
    r"example (?:user|customer|text|sentence|data)|sample (?:user|text|data)|says the \w+|"
    r"stuck in my head|lyrics?)\b"
)
_COMMISSION = caseless(
    r"(?:(?:can|could|would|will) you |please |pls |user asked (?:me |for |the assistant )?(?:to )?)?"
    r"(?:write|draft|compose|translate|proofread|rewrite|rephrase|paraphrase|summari[sz]e|edit|correct|improve|"
    r"act as|"
    r"role-?play|pretend|generate|analy[sz]e|parse|classify|make up|come up with|invent|"
    r"(?:re-?format|format|convert|sort|extract|count|tidy|restructure|clean up|spell-?check|simplify|condense|check|"
    r"fix|shorten|polish) (?:this|these|the following)\b|here(?:'s| is) (?:the|my|a|an) "
    r"(?:text|draft|story|poem|paragraph|passage|essay|excerpt|email i got|cover letter)|"
    r"(?:(?:the )?user )?(?:pasted|shared|uploaded|attached) (?:(?:an?|the|this|"
    r"some) )?(?:[\w-]+ )?(?:articles?|texts?|reviews?|"
    r"paragraphs?|passages?|posts?|essays?|transcripts?|abstracts?|chapters?|excerpts?|stories|story|poems?|"
    r"papers?))\b[^:]{0,120}"
)
_ROLE_PLAY = caseless(
    r"(?:(?:ok|okay|hey|please|so|now)[, ]+)*(?:let's (?:role-?play|pretend|play a game|imagine)|role-?play\b|"
    r"pretend "
    r"(?:you|to be|that)|act as\b|"
    r"you are (?:now )?an? [\w -]{3,40}?(?:pirate|wizard|detective|character|knight|vampire|alien|king|queen|"
    r"princess)|"
    r"stay in character|(?:imagine|suppose|consider|picture|take) (?:that )?an? (?:\w+ )?(?:customer|client|user|"
    r"person|man|woman|company|family|student|patient|couple|world|character)\b|"
    r"you(?:'re| are) (?:an?|the|my) [\w -]{3,30}[,.;] (?:and )?i(?:'m| am) (?:an?|the|your) |be (?:my|"
    r"an?) [\w -]{3,30}$|"
    r"let'?s (?:practi[sc]e|rehearse|do (?:an?|some) (?:interview|role-?play|exercise|quiz|lesson)|play\b)|"
    r"(?:quiz|interview|test) me\b|mock interview|(?:\w{1,20} )?(?:lesson|exercise|practice|quiz),? please|"
    r"(?:can we )?practi[sc]e (?:an?|my|some) (?:interview|conversation|call|small talk|spanish|french|german|"
    r"italian|"
    r"english)\b|let \w{1,20}(?: and \w{1,20})? be (?:an?|the|two|three|users?|customers?)\b|(?:imagine|suppose|"
    r"pretend|let's say|say) (?:that )?(?:i'm|i am|im|you're|you are|we're|we are|he's|she's) an? )"
)
_STEP = caseless(
    r"(?:\d{1,2}[.)] )?(?:preheat|knead|whisk|simmer|sauté|stir|fold in|sift|marinate|drizzle|bake (?:at|for|until)|"
    r"boil (?:the|for)|roast (?:the|at|for)|chop (?:the|two|three|\d)|add (?:the|two|three|a pinch|a cup|\d+ ?(?:g|"
    r"ml|kg|"
    r"tbsp|tsp|cups?))\b|(?:step|schritt|paso|étape) \d{1,2}\b)"
)
_SOFTWARE = caseless(
    r"\b(?:as an? (?:\w+ )?user\b|as an? [\w -]{3,30},? i (?:want|need|would like|can|should be able)\b[^.\n]{3,90}\b"
    r"so that\b|users? (?:should|must|can|may) be able|users? (?:table|model|schema|story|stories|"
    r"entity|class|object|record|id|ids|interface|input)\b|user (?:has_many|has many|belongs to|clicks|logs (?:in|"
    r"out)|submits|not found|has no permission|is not in the sudoers)|logged-in user|when (?:the|a) user (?:clicks|"
    r"logs|opens|submits|scrolls|taps|hits|presses)|(?:each|every|any|the average|a typical|a new|an admin|"
    r"anonymous|default|root|guest|sample|test) user\b)"
)
_ASKED = caseless(
    r"(?:the )?(?:user|she|he|they|client|customer)(?: also| then| just)* (?:asked|asks|wondered|wonders|was "
    r"curious|inquired|wanted to know|is wondering|was wondering|"
    r"enquired|requested|queried|wants to know)\b(?! (?:me|us|you|the assistant|that|not)\b)"
    # "User asked to always squash commits" is a wish.
    r"(?! (?:to|for)\b[^.;?]{0,80}\b(?:always|never|only|from now on|in future|going forward|each time|every time|"
    r"by default)\b)"
)
_QUESTION_TAIL = caseless(
    r"[,;–—-]\s*(?:so |and |but |then )?(?:what|where|how|which|who|when|why|can|could|would|should|do|does|is|are|"
    r"any|will|shall|right|ok|okay|got it|correct)\b[^,;]*$"
)
_OWN_STATEMENT = re.compile(
    r"(?:(?:hi|hey|hello|so|since|as|because|given that|btw)[,!]? )?(?:I|i|my|My|we|We|our|Our)\b"
)

_NOTES = re.compile(r"(?:^|[.!?:;\n-]\s{0,3}|[a-z] )(?:[Tt]he user|User)\b(?!:)")
_IN_FIRST_PERSON = re.compile(r"(?:^|[.!?\n]\s{0,3})(?:My|Our|I'm|I am|I live|I work|We live|We're|We are|I've been)\b")
_CUSTOMERS = re.compile(
    r"\b(?:an?|my|our|another|this|that|new|with the|the same|potential|big|for the|to the)\s(?:client|customer|"
    r"patient|student|guest|caller)\b|\b(?:I|I'm|me|my|we|We|our|us|[Uu]ser)\b"
)
_PUBLIC = caseless(
    r"\b(?:an? article|wikipedia|the news|headlines?|documentary|biography|trivia|pub quiz|fun fact|did you know|"
    r"president|prime minister|celebrit\w+|philosopher|(?:who|when|where) (?:wrote|invented|discovered|founded|"
    r"was born|directed|painted|composed|died)|world record|nobel prize|the beatles|premier league|history (?:lesson|"
    r"homework|essay))\b"
)
_PUBLIC_WORDS = word_set("""
article wikipedia news headline headlines documentary biography trivia quiz fact know president prime celebrity
celebrities philosopher wrote invented discovered founded born directed painted composed died record prize beatles
premier history
""")

# Proverbs and phrases that sound like rules or habits.
_SAYINGS = caseless(
    r"[\W_]{0,4}(?:(?:as they say|like they say|as the saying goes|(?:as |like )?(?:i|we|my \w+) always says?|"
    r"they say|"
    r"remember|and|but|well|you know|always remember|ha(?:ha)+|lol)[,:]? ){0,3}(?:never say never|"
    r"never change a (?:running|winning)"
    r"|always look on the bright side|always be yourself|better (?:late than never|safe than sorry)|"
    r"practi[cs]e makes perfect|time (?:is money|flies|"
    r"will tell|heals)|an apple a day|rome wasn't built|live and let live|less is more|the early bird|"
    r"never judge a book|don't judge a book|"
    r"never look a gift horse|don't look a gift horse|don't count your chickens|don't put all your eggs|"
    r"don't cry over spilt|"
    r"(?:all's well|all is well) that ends well|actions speak louder|when in rome|where there's (?:a will|smoke)|"
    r"what goes around|"
    r"you can't (?:have your cake|teach an old dog|win them all)|never give up|never stop (?:learning|dreaming|"
    r"exploring)|"
    r"never underestimate|as they say in \w+|"
    r"always (?:dream|aim|reach) (?:big|high|for the stars)|expect the unexpected|measure twice,? cut once|"
    r"never trust a skinny|"
    r"never meet your heroes|curiosity killed|two wrongs don't|no pain,? no gain|no news is good news|"
    r"it takes two to tango|"
    r"home is where|laughter is the best|money doesn't grow|old habits die hard|the customer is always right|"
    r"there's no place like home|"
    r"once bitten,? twice shy|out of sight,? out of mind|if it ain't broke|keep calm and carry on|carpe diem|"
    r"you only live once|yolo\b|"
    r"übung macht den meister|lieber spät als nie|besser spät als nie|aller guten dinge sind drei|"
    r"ende gut,? alles gut|"
    r"más vale (?:tarde|prevenir)|no hay mal que|mieux vaut (?:tard|prévenir)|mais vale (?:tarde|prevenir)|"
    r"meglio tardi che mai|"
    r"лучше поздно|тише едешь|век живи)|"
    # "My grandmother always said that a watched pot never boils", "I'm allergic to Mondays"
    r"(?:my|his|her|our) (?:\w+ )?(?:grand\w+|granny|nan|gran|mother|mum|mom|father|dad|teacher|boss|coach|uncle|"
    r"aunt) "
    r"(?:always |often )?(?:says?|said|used to say)(?: that)? (?!i\b|she|he|we\b|my|her|his|our|it's my)|"
    r".{0,24}\bmarried to (?:my|the|his|her) (?:job|work|desk|phone|laptop)\b|my other car is|"
    r".{0,24}\ballergic to (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|"
    r".{0,24}\ballergic to (?:mornings?|work|meetings?|paperwork|drama|nonsense|small talk|effort|people|stupidity|"
    r"commitment|exercise|fun|taxes|homework|bureaucracy)\b"
)


def is_saying(sentence: str) -> bool:
    """A proverb. It is no rule and says nothing about anybody."""
    return _SAYINGS.match(sentence) is not None


# Contents of facts that pass within the day, or name one of several things at hand.
_TRIVIAL = caseless(
    r"(?:seemed|looked|felt)\b.*|working from (?:here|bed|the \w+)|"
    r"(?:saw|spotted|heard) an? (?!doctor|gp|specialist|dentist|physio|therapist|lawyer|vet|consultant|surgeon|"
    r"nurse).*|"
    r"(?:had to )?(?:restart|reboot|reset|rerun|redo|refresh|reinstall|wait|hurry|queue)\w*\b.*|"
    r"(?:be |is )?(?:running )?late|(?:in|at) (?:the office|my desk|the desk|work|home)|"
    r"(?:standup|date|retro|sprint|daily|match|sync|appointments?|meetings?|(?:phone )?calls?|visits?|sessions?|"
    r"(?:last|first|next) (?:day|week)|deadline|event|delivery)|(?:found|fixed|saw|opened?|closed?|filed?|"
    r"applied|pushed|merged|reverted) (?:a|the|"
    r"another|that) (?:\w+ )?(?:bug|"
    r"typo|error|ticket|issue|pr|patch|file|tab|branch|fix)\b.*|visiting|(?:the )?\w{2,20} ones?|the (?:first|second|"
    r"third|other|last|new|"
    r"old) (?:\w+ )?(?:version|draft|option|idea|one|design|variant)|mix (?:those|them|these)\b.*|mondays"
)
_HALF = caseless(
    r"\b(?:for|with|of|from|by|the|an|and|or|my|your|his|their|than)$|"
    r"^(?:stopped|started|began|ended|finished|continued|quit|changed)(?: in \d{4})?$|"
    r"^(?:can|could|would|will) (?:you|u|we|somebody|someone)\b"
)
_OF_MODELS = caseless(r"\b(?:as an?|i(?:'m| am) (?:an?|your|the)) (?:ai|assistant|language model|chatbot|bot)\b")


_LAUGHTER = re.compile(
    r"\W{0,3}(?:lmf?ao+|rofl|lol+,? (?:same|no|stop|sure|right)|😂|🤣|mdr|ptdr|xd+\b)", re.IGNORECASE
)


# Mails that a program sends to everybody.
_AUTOMATIC = caseless(
    r"\b(?:this is an auto(?:mated|matic)(?:ally generated)? (?:message|e-?mail|reply|notification)|"
    r"automatically generated|(?:please )?do not reply to this|no-?reply@|you(?:'re| are) receiving this|"
    r"you received this (?:mail|e-?mail|message)|to unsubscribe|unsubscribe (?:here|from)|"
    r"automatisch (?:erstellt|generiert|erzeugt)|antworten sie (?:bitte )?nicht auf|newsletter abmelden|"
    r"ne (?:pas répondre|répondez pas) à ce|se désinscrire|no responda a este|darse de baja|non rispondere a questa|"
    r"não responda a est[ea]|cancelar a subscrição)\b"
)


def is_automatic(text: str) -> bool:
    """True for what a program says in its own mails: "this is an automated message"."""
    return _AUTOMATIC.search(text) is not None


def is_trivial(content: str) -> bool:
    """True for what nobody would write down, "running late", "the blue one", and for half a statement:
    "owes me 45 for", "stopped in 2019"."""
    return _TRIVIAL.fullmatch(content) is not None or _HALF.search(content) is not None


def speaks_as_a_model(sentence: str) -> bool:
    """ "As a language model I have no family": the words of an assistant without a label."""
    return _OF_MODELS.search(sentence) is not None


def is_about_the_user(content: str) -> bool:
    """Notes that an assistant took about its user: "I" is not the user there."""
    return "ser" in content and _NOTES.search(content) is not None and _IN_FIRST_PERSON.search(content) is None


def speaks_of_customers(content: str) -> bool:
    """Is a client or customer one of others, rather than the one the notes are about?"""
    return _CUSTOMERS.search(content) is not None


def is_public(sentence: str) -> bool:
    """General knowledge: from here on, statements about people do not concern the user."""
    return not _PUBLIC_WORDS.isdisjoint(words_in(sentence)) and bool(_PUBLIC.search(sentence))


def is_role_play(sentence: str) -> bool:
    """From here on, the speakers play a role."""
    return _ROLE_PLAY.match(sentence) is not None


def speaks_of_software(content: str) -> bool:
    """Is "the user" whoever uses a program that is being written?"""
    return ("ser" in content or "so that" in content) and _SOFTWARE.search(content) is not None


def asks(text: str) -> bool:
    """A question without its mark."""
    return bool(_ASKING.match(text) or _ASKED.match(text))


def before_the_question(text: str) -> str:
    """The statement before a question: "I'm allergic to nuts, is this safe?"; empty if there is none."""
    tail = _QUESTION_TAIL.search(text)
    if tail is None or not _OWN_STATEMENT.match(text) or asks(text):
        return ""
    return re.sub(r"^(?:since|as|because|given that) ", "", text[: tail.start()], flags=re.IGNORECASE)


def is_unsure(clause: str) -> bool:
    """Imagined, doubted or only considered."""
    return not _UNSURE_WORDS.isdisjoint(words_in(clause)) and bool(_UNSURE.search(clause))


def is_ironic(sentence: str) -> bool:
    return _IRONY.search(sentence) is not None


def is_laughed_at(answer: str) -> bool:
    """ "lmao same": what somebody else said before was no earnest."""
    return _LAUGHTER.match(answer) is not None


def is_fiction(sentence: str) -> bool:
    return _FICTION.search(sentence) is not None


def is_recipe(sentence: str) -> bool:
    """A step of a recipe or of a manual: what follows says how it is done, and not what anybody wants."""
    return _STEP.match(sentence) is not None


def is_commission(sentence: str) -> bool:
    """A request to write or edit a text, whose content is not about the user."""
    return _COMMISSION.match(sentence) is not None


def without_quotes(sentence: str) -> str:
    """The sentence with quoted speech blanked out; a quoted word or two is a name or a title and stays."""
    if '"' not in sentence and "'" not in sentence:
        return sentence
    blanked = _QUOTED.sub(lambda match: match[0] if len(match[0].split()) <= 2 else " " * len(match[0]), sentence)
    return _LEFT_OPEN.sub("", blanked) if blanked.count('"') % 2 else blanked


# Text that gives orders to whoever reads it, and rules that would hand secrets over.
_INJECTED = caseless(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,40}\b(?:instructions?|prompts?|rules|guidelines|"
    r"guardrails)\b"
    r"|\byou are now\b|\bsystem prompt\b|\bdeveloper mode\b"
)
_HANDS_OVER = caseless(
    r"\b(?:send|post|forward|upload|email|mail|share|give|reveal|leak|copy|exfiltrate|transmit|transfer|"
    r"wire)\b[^.!?\n]{0,80}"
    r"\b(?:passwords?|passphrases?|secrets?|credentials?|tokens?|(?:api )?keys|money|funds|all (?:the )?data)\b"
)


def gives_orders_to_the_reader(text: str) -> bool:
    """Does it try to tell a language model what to do? Nothing in it is a rule then."""
    return bool(_INJECTED.search(text))


def hands_over_secrets(rule: str) -> bool:
    return bool(_HANDS_OVER.search(rule)) and not re.match(r"(?:never|don't|do not|avoid|no)\b", rule, re.IGNORECASE)
