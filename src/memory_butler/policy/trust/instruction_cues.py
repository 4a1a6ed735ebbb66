"""Detect instruction-like text: orders to its reader that a source without trust has no right to give.

By kind of effect, not by known attacks: overriding instructions, a new identity for the reader, exfiltration, disabling
of checks, commands to run, claims of authority, delayed triggers, and text that is hidden from people. Patterns look at
one sentence at a time, with bounded gaps, so that their time is linear.
"""

import re
from collections.abc import Iterator

from memory_butler.policy.trust.look_alikes import folded, mixes_scripts, without_digits
from memory_butler.policy.trust.reader_cues import AGENTS, ORDERS_TO_AGENTS, without_people

SENTENCE_CHARACTERS = 600
_GAP = r"[^\n]{0,60}?"
_SHORT = r"[^\n]{0,30}?"

_CONTROLS = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|polic(?:y|ies)|safeguards?|guardrails?"
    r"|restrictions?|constraints?|training|programming|orders?|anweisung(?:en)?|regeln|vorgaben|instrucciones|reglas"
    r"|consignes|consignas|regles|istruzioni|instrucoes|regole|instructies)"
)
_EARLIER = (
    r"(?:previous|prior|earlier|above|preceding|former|existing|current|original|initial|system|developer|safety|all"
    r"|any"
    r"|your|these|those|the other|everything|de(?:ine|iner|inen)|ihre[nr]?|tes|vos|tus|sus|tue|suas|vorherigen"
    r"|bisherigen|fruheren|alle[nr]?|anteriores|previas|todas"
    r"|precedentes"
    r"|toutes|precedenti|tutte)"
)
_DROP = (
    r"(?:ignor(?:e|es|ing|iere|ieren|a|ez|are)|disregard|forget|override|overrule|bypass|discard|supersede|drop|void"
    r"|cancel"
    r"|skip|do not (?:follow|obey|apply)|don't (?:follow|obey|apply)|stop (?:following|obeying)|take precedence over"
    r"|replaces?"
    r"|vergiss|vergessen|ignorieren|missachten?|olvid(?:a|ar|e|en)|ignor(?:en|er|ate)|oublie[zr]?|dimentica(?:te|re)?)"
)
_SECRETS = (
    r"(?:passwords?|credentials?|secrets?|tokens?|api[ _-]?keys?|keys?|ssh keys?|private keys?|cookies?"
    r"|env(?:ironment)?"
    r"(?: variables?| file)?|\.env\b|session ids?|system prompt|hidden prompt|instructions|chat (?:history|logs?)"
    r"|conversations?|transcripts?|history|memor(?:y|ies)|notes|personal (?:data|details|information)|contacts?"
    r"|address book"
    r"|customer (?:data|list|records)|user(?:'s)? (?:data|details|files|records)|files?|documents?|database|source code"
    r"|bank details|card (?:number|details)|inbox|e-?mails?|answers?|results?|data)"
)
_SEND = (
    r"(?:send|post|forward|upload|e-?mail|mail|transmit|leak|exfiltrate|copy|cc|bcc|submit|deliver|push|sync|report"
    r"|share"
    r"|transfer|pipe|stream|append|embed|encode|include|put|dump|export|sende|envia|envoie[zr]?)"
)
_WHERE = (
    r"(?:https?://|www\.|ftp://|webhook|[\w.+-]{1,40}@[\w-]{1,40}\.|\b\w{1,40}\.(?:com|net|org|io|example|ru|xyz|info"
    r"|test"
    r"|invalid|co|dev|me|site)\b|external (?:server|address|account|endpoint)|(?:this|the following|our"
    r"|my) (?:address|number"
    r"|server|endpoint|url|account|mailbox|webhook)|attacker|pastebin|telegram|\bdns\b)"
)
_CHECKS = (
    r"(?:confirm(?:ation|ing|ed)?|approv(?:al|als|ing|e)|permission|consent|review(?:s|ing|ed)?|verif(?:y|ication"
    r"|ying)|checks?"
    r"|checking|validation|validate|authentication|authorization|2fa|mfa|second factor|security|safety|guards?|filters?"
    r"|scan(?:s|ning|ner)?|logging|logs?|audit(?:s|ing|ed)?|alerts?|warnings?|sandbox(?:ing)?|firewall|antivirus"
    r"|encryption"
    r"|sign-?off|limits?|rate limit|signature|tls|ssl|certificates?|moderation|oversight|monitoring|backups?"
    r"|branch protection|(?:the|our) ci|pipelines?|pre-commit|hooks)"
)
_OFF = (
    r"(?:skip(?:ping)?|disabl(?:e|ing)|bypass(?:ing)?|turn(?:ing)? off|switch(?:ing)? off|suppress(?:ing)?|remove"
    r"|omit|waive"
    r"|avoid|circumvent|deactivate|ignore|forgo|without (?:any |further |prior |asking (?:for )?|the |user |human )?"
    r"|no (?:need (?:for|to ask for|to)|further|more)|not (?:need|require)|unsubscribe (?:from|me from)|opt out of|mute"
    r"|silence|deaktiviere|desactiva|desactive[zr]?|ohne"
    r"|sin|sans)"
)
_ASKING = (
    r"(?:do not|don't|never|without|must not|should not|no need to|need not|stop) ?(?:ever )?(?:ask(?:ing)?"
    r"|tell(?:ing)?"
    r"|inform(?:ing)?|notify(?:ing)?|mention(?:ing)?|warn(?:ing)?|alert(?:ing)?|report(?:ing)?|reveal(?:ing)?"
    r"|show(?:ing)?"
    r"|consult(?:ing)?|disclose|disclosing|question(?:ing)?|log(?:ging)?) (?:to |it to |this to |about |for |any "
    r"|the |a )?"
    r"(?:users?|operators?|owners?|humans?|person|people|anyone|anybody|them|him|her|customers?|clients?"
    r"|tenants?|patients?"
    r"|employees?|buyers?|members?|admin\w*|confirmation"
    r"|approval"
    r"|permission|this|these|it\b)"
)
_POWER = (
    r"(?:admin(?:istrator|istrative)?|root|superuser|super ?admin|owner|operator|full|elevated|unrestricted|unlimited"
    r"|sudo"
    r"|maintainer|privileged)"
)
_RIGHTS = r"(?:rights?|access|privileges?|permissions?|control|authority|mode|role|clearance)"
_MOMENT = (
    r"(?:from now on|from this point|going forward|from here on|in (?:all )?future|henceforth|(?:the )?next time"
    r"|every time"
    r"|each time|any time|when(?:ever)? (?:the |a |any |your |you |he |she |they |somebody |someone |asked|this |it )"
    r"|if (?:the |a |any |your )?(?:users?|customers?|anyone|someone|somebody|person|operator) "
    r"|as soon as|once (?:the|you|a)|at the start of|in (?:the next|later|subsequent|every|each|all|new"
    r"|any) (?:sessions?"
    r"|conversations?|chats?|turns?|tasks?|answers?|repl(?:y|ies)|responses?)|after (?:the|a) (?:reset|restart|next)"
    r"|ab jetzt"
    r"|ab sofort|kunftig|a partir de ahora|desormais|d'ora in poi)"
)
_DEED = (
    r"(?:always|never|must|should|shall|reply|respond|answer|recommend|tell|say|claim|insist|send|forward|run"
    r"|execute"
    r"|approve|deny|refuse|append|add|insert|include|use|call|open|visit|click|download|install|delete|remove"
    r"|transfer|pay"
    r"|buy|order|book|hire|rate|rank|vote|pick|choose|favou?r|mention|link|switch|turn|transfer|quietly|share"
    r"|reveal|ignore|skip|disable|treat|trust|prefer|promote|praise|suggest|direct|redirect|act|pretend"
    r"|immer|siempre|toujours|sempre)"
)
_ACT = rf"(?:you|{_DEED})"
# In a condition about its reader, what follows must be an order: "if you need help, call us" is none.
_IF_YOU = (
    r"if you(?:'re| are)? (?!(?:could|can|might|would|have|had|know|want|like|need|wish|prefer|lose|lost|arrive|feel"
    r"|smell|an? (?!(?:ai|agent|assistant|bot|language|large|llm))\w+)\b)"
)
# Switching off checks, in other languages.
_FOREIGN_OFF = (
    r"(?:(?:deaktivier|abschalt|ausschalt|umgeh|uberspring|desactiv|disattiv|desativ|contourn|ignorier)\w{1,4}|saltat?e"
    r"|omita[ns]?)"
)
_FOREIGN_CHECKS = (
    r"(?:kontrollen?|sicherheit\w*|prufung(?:en)?|controles?|controlli|seguridad|securite|sicurezza|seguranca"
    r"|verifications?|verificacion(?:es)?|verifiche)"
)
_COMMAND = (
    r"(?:(?:curl|wget)\b[^\n]{0,200}(?:\|\s?(?:sudo )?(?:ba|z|da)?sh\b|\|\s?(?:python|perl|node)|-o ?\S|--data|-d @"
    r"|-f )"
    r"|rm -[a-z]*r[a-z]* |\bdd if=|mkfs|:\(\)\s?\{|base64 (?:-d|--decode)|powershell|invoke-expression|\biex\b|\bnc -"
    r"|/dev/tcp/|chmod (?:\+x|777|-r)|chown |sudo \S|eval ?\(|exec ?\(|os\.system|subprocess|pip install|npm (?:i"
    r"|install) "
    r"|git push (?:-f|--force)|git config|crontab|authorized_keys|drop table|delete from|truncate table|update \w+ set "
    r"|docker run|kubectl|ssh \S+@|scp |--no-verify|verify ?= ?false|stricthostkeychecking|--insecure|set \+o"
    r"|export \w+=)"
)

_KINDS: tuple[tuple[str, str], ...] = (
    (
        "override",
        rf"\b{_DROP}\b{_SHORT}\b{_EARLIER}\b{_SHORT}\b{_CONTROLS}\b|\b{_DROP}\b{_SHORT}\b(?:everything|all of (?:that"
        rf"|this)|what|the (?:text|content|rest))"
        rf"{_SHORT}\b(?:above|before|told|said|learned|know)\b|\bforget (?:that )?you (?:read|saw|were)\b"
        rf"|\b(?:new|updated|revised|real|actual|true|special|secret|hidden|important|standing|permanent)"
        rf" (?:system |developer |admin )?(?:instructions?|directives?|prompt|orders?)\b"
        r"|\bsystem (?:prompt|message|directive|override|notice|instruction|command|update|alert)s? ?[:\]>-]"
        r"|(?:^|[.!?\n\]\"'>] ?)(?:system|developer|assistant|admin) ?: ?\S|<\|?(?:im_start|system|endoftext|end)\|?>"
        r"|\[/?inst\]"
        r"|\[/?(?:system|admin|override|instructions?|hidden|important)\b|#{2,} ?(?:system|instructions?|new task)\b"
        r"|\bend of (?:document|page|mail|file|input|context|user input)\b|</?(?:system|instructions?|prompt"
        r"|important|secret)>",
    ),
    (
        "identity",
        rf"\byou (?:are|'re|will be|become) (?:now|no longer|actually|henceforth|free|a different|an? unrestricted"
        rf"|in \w+ mode)\b"
        rf"|\b(?:act|behave|respond|operate|pose|role-?play|pretend) (?:as|like|to be|you are|that you are) (?:an? "
        rf"|the |if )?{_GAP}"
        rf"(?:{_POWER}|unfiltered|evil|hacker|jailbr\w+|human|employee|no (?:rules|limits))\b|\b(?:developer|god"
        rf"|debug|jailbreak"
        r"|maintenance|unsafe|dan) mode\b|\bjailbr\w+|\b(?:freed|liberated|released) from\b"
        r"|\bno (?:longer (?:bound|restricted|limited)|safety|ethical|content|moral)? ?(?:restrictions?|limits?"
        r"|limitations?"
        r"|guidelines?|guardrails|rules|filters?)\b|\bunrestricted (?:ai|model|assistant|mode|access)\b|\byour (?:new"
        r"|real|true)"
        r" (?:name|identity|role|goal|purpose|task|job|persona|objective|owner|master)\b",
    ),
    (
        "exfiltration",
        rf"\b(?:reveal|print|show|output|disclose|repeat|list|expose|give|tell|hand over|read out|recite"
        rf"|paste)\b{_SHORT}"
        r"\b(?:your|the|all|any|every|stored|hidden|full|its|their)\b[^\n]{0,30}?\b(?:system prompt|hidden prompt"
        r"|credentials?"
        r"|passwords?|secrets?|api[ _-]?keys?|private keys?|tokens?|initial instructions|instructions above"
        r"|env(?:ironment)?"
        rf" variables?|chat history)\b|\bexfiltrat\w+|!\[[^\]\n]{{0,80}}\]\(https?://[^)\n]{{0,200}}[?=]"
        rf"|{_SEND}\b{_GAP}\bas a"
        r" (?:query )?parameter|\b(?:confirm|verify|validate|enter|type|re-?enter|provide"
        r"|read out)\b[^\n]{0,30}?\b(?:logins?|bank"
        r"|credentials?|passwords?|card|pin|one-time (?:code|password)|otp|account (?:details|number)"
        r"|access data|passphrase"
        rf"|seed phrase)\b{_GAP}(?:{_WHERE}|\bto (?:our|the) (?:agent|staff|support)\b)",
    ),
    (
        "disabled_checks",
        rf"\b{_OFF} ?{_SHORT}\b{_CHECKS}\b|\b{_ASKING}|\b(?:pre-?approved|auto-?approve|always approve|approve (?:all"
        rf"|any|every)"
        rf"|accept (?:all|any|every))\b|\bapprove\b{_GAP}\bwithout\b|\b(?:treat|consider|mark|regard)\b{_GAP}\bas"
        r" (?:safe|trusted|verified|approved|secure|authorized|whitelisted)\b|\b(?:whitelist|allowlist|trust) (?:all"
        r"|any|every"
        r"|this|the following|our)\b|\b(?:keep|hide) (?:this|it|that) (?:secret|hidden|quiet|from)\b|\bdelete (?:all "
        r"|every |the )"
        r"?(?:logs?|backups?|traces?|evidence|history|this message)\b"
        rf"|\b{_FOREIGN_OFF}\b{_SHORT}\b{_FOREIGN_CHECKS}\b",
    ),
    (
        "command",
        rf"{_COMMAND}|\b(?:run|execute|paste|enter|type|invoke|launch)\b{_SHORT}\b(?:following|this|these|attached"
        rf"|below|enclosed)\b"
        r"[^\n]{0,20}?\b(?:commands?|scripts?|code|snippets?|binary|macro|installer|program|one-?liner)\b",
    ),
    (
        "authority",
        rf"\b(?:has|have|having|with|given|granted|grants?|gets?|gain|hold|holds|receives?|give"
        rf"|assign(?:ed)?)\b{_SHORT}\b{_POWER}"
        rf" (?:level )?{_RIGHTS}\b|\bsuper ?-?(?:admin|user)\b|\b(?:this is|i am|we are|i'm|message from|on behalf of"
        rf"|signed|by"
        rf" order of|authori[sz]ed by|approved by|per|as (?:the|an?|your)) (?:an? |the |your )?(?:official "
        rf"|urgent )?(?:system"
        rf" |security |it |site |account )?(?:admin(?:istrator)?s?|developers?|owner|creator|security team"
        rf"|it (?:department|team"
        rf"|support)|helpdesk|management|ceo|cto|anthropic|openai|google|microsoft|vendor|your (?:boss|manager"
        rf"|operator))\b{_GAP}"
        rf"\b{_ACT}\b|\b(?:security|company|compliance|legal) (?:policy|team|department) (?:requires|mandates|demands"
        rf"|orders)\b"
        rf"|\b(?:add|create|register|invite)\b{_SHORT}\b(?:admin|root|super)[ -]?(?:user|account|login)s?\b"
        rf"|\b(?:make|set|promote|elevate|upgrade)\b{_SHORT}\b(?:to|as|an?) {_POWER}\b|\bgrant\b{_GAP}\b{_RIGHTS}\b",
    ),
    (
        "trigger",
        rf"\b{_MOMENT}{_GAP}\b{_ACT}\b|\b{_IF_YOU}{_GAP}\b{_DEED}\b|\b(?:remember|store|save|keep|record|note"
        rf"|memori[sz]e|persist"
        rf"|add)\b{_GAP}\b(?:in|to|into|as|for)"
        r" (?:your |an? |the |long-term )*(?:\w+ ){0,2}(?:memory|memories|directive|standing (?:rule|order"
        r"|instruction)|instructions?"
        r"|permanent|future|later|rule|system (?:rule|directive|prompt|note))\b|\bmemory (?:update|override) ?:|"
        r"\b(?:update|overwrite|replace|rewrite)"
        r" (?:your |the )(?:memory|memories|notes|rules|instructions|profile)\b",
    ),
    (
        "order",
        rf"{ORDERS_TO_AGENTS}|\b(?:dear |hey,? |hello,? |instructions? (?:to|for) (?:the |all |any )?|if you are an? "
        rf"|as an? )(?:\w+ )?{AGENTS}\b|\b(?:any|all|every|the) {AGENTS} (?:reading|processing|summari[sz]ing|visiting"
        rf"|parsing)\b"
        r"|\byou (?:must(?! (?:be|have|not be)\b)|have to|need to|are required to|shall"
        r"|are (?:hereby )?(?:instructed|ordered|authori[sz]ed"
        r"|allowed|permitted|told)"
        r" to|may now|can now)\b|\byour (?:next|first|only|main|new) (?:task|job|action|step|reply|response|answer"
        r"|message) (?:is|must"
        r"|should|will)\b|\b(?:reply|respond|answer) (?:only |exactly |always )?with\b|\bbefore (?:answering|replying"
        r"|responding)\b(?! (?:the|these|this|our|to the) (?:survey|form|question\w*|quiz|door|phone|call)\b)"
        r"|\b(?:do|say|output|return) (?:exactly|only) (?:this|the following|as)\b",
    ),
)
_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _KINDS)
# Parts of "send the files to https://…". One pattern of three lists with gaps would take cubic time.
_SENDS, _SECRET_NAMES, _PLACES = (re.compile(one) for one in (rf"\b{_SEND}\b", rf"\b{_SECRETS}\b", _WHERE))
GAP_CHARACTERS, LONG_GAP_CHARACTERS = 60, 80
# Idioms of attacks that nobody writes as a note: they show that a text comes from elsewhere.
_BLATANT = re.compile(
    rf"\b(?:ignore|disregard|forget|override) (?:all |any |every )?(?:of )?(?:your |the |my )?(?:previous|prior"
    rf"|earlier|above"
    rf"|preceding) {_CONTROLS}\b|<\|(?:im_start|system|endoftext)\|>|\byou are now (?:an? )?(?:dan|unrestricted"
    rf"|jailbr\w+)\b"
    r"|\breveal (?:your|the) (?:system|hidden) prompt\b"
)
# Text about attacks: the words are named or warned of, not used.
_ABOUT = re.compile(
    r"\b(?:prompt injections?|injection attacks?|phishing|jailbreaks?|social engineering|poison(?:ed|ing))\b[^\n]{0,80}"
    r"|\b(?:such as|like|for example|e\.g\.|called|phrases?|strings?|texts?|pages?|mails?|attack(?:er)?s?|whoever"
    r"|anything)\b[^\n]"
    r"{0,60}[\"'“‘`]"
)
_END = re.compile(r"(?<=[.!?;])\s+|\n+")


def instruction_kind(text: str) -> str | None:
    """The kind of instruction that a text gives to its reader; None for plain information."""
    if is_hidden(text):
        return "hidden_text"
    plain = folded(text)
    spelt_out = without_digits(plain)
    for sentence in (*_sentences(plain), *(_sentences(spelt_out) if spelt_out != plain else ())):
        for name, pattern in _PATTERNS:
            if pattern.search(without_people(sentence) if name == "order" else sentence):
                return name
        if _sends_out(sentence):
            return "exfiltration"
    return None


def _sends_out(sentence: str) -> bool:
    """True for an order to send data somewhere, in either order: data and place, place and data."""
    places = [found.span() for found in _PLACES.finditer(sentence)]
    if not places or not (names := [found.span() for found in _SECRET_NAMES.finditer(sentence)]):
        return False
    for sent in (found.end() for found in _SENDS.finditer(sentence)):
        for start, end in names:
            near = 0 <= start - sent <= GAP_CHARACTERS
            if near and any(0 <= place - end <= LONG_GAP_CHARACTERS for place, _ in places):
                return True
        for start, end in places:
            near = 0 <= start - sent <= GAP_CHARACTERS
            if near and any(0 <= name - end <= GAP_CHARACTERS for name, _ in names):
                return True
    return False


def is_blatant(text: str) -> bool:
    """True for the idioms of an attack, unless the text speaks about attacks or quotes them."""
    plain = without_digits(folded(text))
    return bool(_BLATANT.search(plain)) and not _ABOUT.search(plain)


def is_hidden(text: str) -> bool:
    """True if part of the text is hidden from people: look-alike letters of another script inside words."""
    return mixes_scripts(text)


def _sentences(text: str) -> Iterator[str]:
    for sentence in _END.split(text):
        for start in range(0, len(sentence), SENTENCE_CHARACTERS):
            yield sentence[start : start + SENTENCE_CHARACTERS + 100]
