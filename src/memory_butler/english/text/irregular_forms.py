"""Irregular verb forms and plurals, for the stemmer and for the verb tables of extraction."""

from memory_butler.english.text.word_sets import phrase_set

_VERBS = """
be was been, have had had, do did done, go went gone, get got gotten, eat ate eaten, drink drank drunk, speak
spoke spoken, wear wore worn, drive drove driven, grow grew grown, run ran run, swim swam swum, begin began
begun, buy bought bought, sell sold sold, teach taught taught, break broke broken, see saw seen, take took
taken, give gave given, come came come, become became become, leave left left, lose lost lost, keep kept kept,
meet met met, write wrote written, make made made, build built built, pay paid paid, find found found, fly flew
flown, ride rode ridden, sleep slept slept, feel felt felt, hate hated hated, quit quit quit, bring brought
brought, spend spent spent, send sent sent, win won won, tell told told, say said said, think thought thought,
know knew known, read read read, sing sang sung, lead led led, hold held held, hear heard heard, fall fell
fallen, cut cut cut, put put put, set set set, sit sat sat, stand stood stood, throw threw thrown, choose chose
chosen, forget forgot forgotten, catch caught caught, draw drew drawn, rise rose risen, wake woke woken, steal
stole stolen, hurt hurt hurt, shut shut shut, let let let, lend lent lent, light lit lit, bake baked baked,
understand understood understood, bike biked biked, hit hit hit, cost cost cost, shoot shot shot, tear tore
torn, hide hid hidden, beat beat beaten, bite bit bitten, blow blew blown, dig dug dug, fight fought fought,
feed fed fed
"""
# Base to past and participle.
IRREGULAR_VERBS = {base: (past, participle) for base, past, participle in map(str.split, sorted(phrase_set(_VERBS)))}
IRREGULAR_PLURALS = {
    "children": "child", "grandchildren": "grandchild", "people": "person", "men": "man", "women": "woman",
    "wives": "wife", "lives": "life", "feet": "foot", "teeth": "tooth", "mice": "mouse", "fish": "fish",
    "collies": "collie", "kelpies": "kelpie", "budgies": "budgie", "aunties": "auntie", "besties": "bestie",
}  # fmt: skip


def singular(noun: str) -> str:
    """One of several: kids → kid, border collies → border collie."""
    head, space, last = noun.rpartition(" ")
    return f"{head}{space}{_singular(last)}"


def _singular(word: str) -> str:
    if word in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
