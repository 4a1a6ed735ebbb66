"""Conventions: rules that are not worded as orders, such as "PRs need two approvals" or "we write dates as ISO".

Only general statements about what is made at work count. A statement about one thing, one day or a person is no rule.
"""

import re

from memory_butler.english.extraction.grammar.word_lists import LANGUAGES
from memory_butler.english.text.word_sets import alternatives, caseless, word_set, words_in

_THINGS = (
    r"(?:PRs?|MRs?|pull requests?|merge requests?|endpoints?|bug ?fix(?:es)?|fix(?:es)?|changes|commits?|features?|"
    r"migrations?|tickets?|releases?|tests?|branch(?:es)?|invoices?|reports?|functions?|class(?:es)?|"
    r"dependenc(?:y|ies)|modules?|services?|APIs?|docs|mails?|e-?mails?|answers?|repl(?:y|ies)|summar(?:y|ies)|meetings?|"
    r"tables?|columns?|quer(?:y|ies)|names?|timestamps?|dates?|times|amounts?|prices?|passwords?|secrets?|keys|tokens?|"
    r"comments?|messages?|files?|images?|logs?|errors?|reviews?|hotfix(?:es)?|contracts?|orders?|offers?|quotes?|"
    r"slides?|charts?|letters|drafts?|flags?|configs?|credentials|backups?|reminders?|numbers|titles?|headings?|"
    r"variables?|packages?|libraries|demos?|calls|recipes?|translations?|photos|receipts?)"
)
_NOT_HERE = r"(?:the|this|that|these|those|an?|they|he|she|it|i|we|you|his|her|their|your|some|most|both|two|three|\d+)"
_ALL = rf"(?:(?:each|every|all|any|our|my|new) ){{0,2}}(?:(?!{_NOT_HERE} )[\w/-]+ ){{0,2}}?"
_WHICH = r"(?: (?:over|with|for|from|without|in|above|under|longer than|to|of) [\w ./-]{2,40}?)?"
_OFTEN = r"(?:always |never |only )?"
_NEEDS = caseless(
    rf"{_ALL}{_THINGS}{_WHICH} {_OFTEN}(?:needs?|requires?|gets?|go(?:es)?|starts? with|ends? with|lives?|stays?|"
    r"belongs?|follows?|comes? (?:with|in|from)|uses?) (?P<rest>.+)"
)
_ARE = caseless(
    rf"(?:(?:each|every|all|any) (?:[\w/-]+ ){{0,2}}?{_THINGS}{_WHICH} (?:is|are)|{_ALL}{_THINGS} (?:is|are) (?:always|"
    r"never|only)) (?P<rest>(?:(?:always|never|only) )?(?:\w+ed|written|kept|sent|set|built|in|at|on|lower|upper|"
    r"lowercase|uppercase|snake_case|camelcase|plural|singular)\b.*)"
)
_STYLED = caseless(
    rf"{_ALL}names? (?:is|are) (?:lowercase|uppercase|snake_case|camelcase|kebab-case|plural|singular)\b.*"
)
_VERBLESS = caseless(
    rf"{_ALL}{_THINGS}{_WHICH} (?:(?:in|with|as|without) [^,]{{2,60}}, (?:not|never|no) .+|"
    rf"in (?:{alternatives(LANGUAGES)})(?: only)?(?:,? (?:please|pls))?$)"
)
_SHORT = caseless(
    r"(?:only )?(?:short|brief|detailed|concise|plain|formal|informal|simple) (?:answers?|replies|summaries|messages|"
    r"mails|emails|explanations|sentences)(?: only)?,? (?:please|pls)(?:,.*)?$"
)
_NOTHING = caseless(
    r"(?:nothing|nobody|no one) (?:gets?|goes|is|may|merges|ships|deploys|touches|pushes|gets to) (?:be )?(?:merged|"
    r"deployed|released|shipped|pushed|sent|published|out|live|to prod\w*|into|merges?|ships?|deploys?|push(?:es)?|the|"
    r"\w+ed) ?(?:on|before|after|without|until|unless|to|into|in|to prod\w*|prod\w*|main|master)\b.*"
)
_WE_DO = caseless(
    rf"we {_OFTEN}(?:usually )?(?:(?:write|name|format|spell|store|log|round|quote|show|number) (?:all |our |the )?"
    rf"(?:[\w-]+ )?{_THINGS} (?:as|in|with|without|by|only|before|after)|(?:squash|rebase|tag|merge|release|review|"
    r"prefix|indent|version|document|pin|sign) (?:[\w-]+ ){1,3}?(?:as|in|with|without|by|only|before|after|on)) .+"
)
_WANTED = caseless(
    rf"(?:i|we|(?:the )?user) (?:wants?|expects?|needs?|would like) (?P<what>(?:all |the |my |our )?(?:[\w-]+ )?"
    rf"{_THINGS} (?:in|without|with|as|to be|for every|for each|for all|under|before)\b.+)"
)
_EVERYTHING = caseless(
    r"(?:please )?(?P<verb>[a-z]+) (?:everything|all|anything) (?:that )?(?:you|we|i) (?:\w+ ){1,4}.+|"
    r"(?:please )?(?P<verb2>[a-z]+) (?:every|each|any) (?:new )?(?:mail|e-?mail|answer|message|reply|pr|commit|invoice|"
    r"report|meeting|call|ticket|release) .+"
)
# "After a schema change regenerate the client": a condition without a comma.
_UNMARKED = caseless(
    r"(?P<first>after|before|whenever|when|every time|each time|if) (?P<when>(?:[\w'/-]+ ){2,9}?)(?:then |just |"
    r"always |never |please |first |don't |do not |also ){0,2}(?P<verb>[a-z-]+) (?P<object>the|an?|me|us|it|all|my|our|"
    r"your|them|two|at least|in|only|both)\b.*"
)
_NO_SUBJECTS = word_set("""
i you we he she they it to the a an my our your his her their who and or that not can will would could should must may
is are was were has have had do does did of in on at for with
""")
_EXTRA_ACTIONS = word_set("regenerate regen rerun redeploy bump re-run recreate reindex")
_PASSING = caseless(
    r"\b(?:yesterday|today|tonight|tomorrow|this (?:week|time|one|morning|month|sprint)|last|right now|for now|yet|"
    r"already|currently|now|next (?:week|month|sprint)|was|were|went|did|had|failed|broke|passed|\w+ing (?:again|now)|"
    r"(?:two|three|four|five|ten|\d+|a few|some) (?:more )?(?:minutes?|seconds?|hours?|days?|weeks?|months?)(?! "
    r"(?:before|after|notice|old))|more time|some (?:love|work)|longer|stuck|worse|better|lost|slow|long|done|"
    r"merged soon)\b"
)
# A cheap test before the patterns: one of these words is in every convention that does not open with a condition.
_OPENING = ("after ", "before ", "when", "every ", "each ", "if ", "nothing", "nobody", "no one")
_THING_WORDS = word_set("""
pr prs mr mrs requests request endpoint endpoints bugfix bugfixes fix fixes changes commit commits feature features
migration migrations ticket tickets release releases test tests branch branches invoice invoices report reports
function functions class classes dependency dependencies module modules service services api apis docs mail mails
email emails e-mail e-mails answer answers reply replies summary summaries meeting meetings table tables column
columns query queries name names timestamp timestamps date dates times amount amounts price prices password passwords
secret secrets keys token tokens comment comments message messages file files image images log logs error errors
review reviews hotfix hotfixes contract contracts order orders offer offers quote quotes slide slides chart charts
letters draft drafts flag flags config configs credentials backup backups reminder reminders numbers title titles
heading headings variable variables package packages libraries demo demos calls recipe recipes translation
translations photos receipt receipts explanations sentences everything anything squash rebase
""")


def is_convention(text: str, actions: frozenset[str]) -> bool:
    """True for a general statement of how things are done; `actions` are the verbs of orders."""
    words = words_in(text)
    opens = text[:7].lower().startswith(_OPENING)
    if (not opens and _THING_WORDS.isdisjoint(words)) or _PASSING.search(text):
        return False
    if any(form.match(text) for form in (_NEEDS, _ARE, _STYLED, _VERBLESS, _SHORT, _NOTHING, _WE_DO)):
        return True
    everything = _EVERYTHING.match(text)
    if everything and (everything["verb"] or everything["verb2"]).lower() in actions:
        return True
    return _is_unmarked(text, actions)


def wanted(text: str) -> str:
    """The convention in "I want commit messages in the imperative"; empty for any other text."""
    match = _WANTED.match(text) if not _THING_WORDS.isdisjoint(words_in(text)) else None
    return match["what"] if match and not _PASSING.search(text) else ""


def _is_unmarked(text: str, actions: frozenset[str]) -> bool:
    match = _UNMARKED.match(text)
    if match is None or "," in match["when"]:
        return False
    verb = match["verb"].lower()
    last = match["when"].split()[-1].lower().partition("'")[0]
    return (
        (verb in actions or verb in _EXTRA_ACTIONS)
        and last not in _NO_SUBJECTS
        and not re.search(r"\b(?:that|this|would|could|might|done|ready)\b", match["when"], re.IGNORECASE)
    )
