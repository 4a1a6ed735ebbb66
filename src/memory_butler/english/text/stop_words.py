"""Words that carry little meaning, and words that are written like a name but are none."""

from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.english.time.calendar import MONTHS, WEEKDAYS

# Words without a meaning of their own.
FUNCTION_WORDS = word_set("""
a about after again all already also always am an and any are around as at be because been before being between both
but by can could did do does doing done down during each either every few for from had has have having he her here
hers herself him himself his how i if in into is it its itself just like many may me might mine more most much must my
myself neither never no nobody none nor not nothing now of off ok okay on one only onto or other our ours ourselves
out over own per please quite really same shall she should since so some someone something still such than that the
their theirs them themselves then there these they this those though through to too under until up us very via was we
well were what when where whether which while who whom whose why will with without would yes you your yours
""")
# Words that no question is about: also contractions, greetings and verbs that say little.
STOP_WORDS = FUNCTION_WORDS | word_set("""
above anybody anyone anything aren't back below can't cannot couldn't didn't doesn't don't else ever everybody
everyone everything further get gets getting give given gives go goes going got hadn't hasn't haven't hello hey hi
however i'd i'll i'm i've instead isn't know knows let maybe often once others perhaps rather recently said say says
shouldn't show somebody sometimes soon tell thank thanks thing things till together toward towards upon use used uses
wasn't weren't whatever whenever wherever whoever within won't wouldn't yet yourself yourselves
""")
# Verbs that say nothing without an object. Alone they are no topic: "What is Anna using?" is a question about Anna.
LIGHT_WORDS = STOP_WORDS | word_set("""
bring brings brought came come comes coming doing find found getting goes gone happen happened happening happens keep
keeps kept looking made make makes making need needs put puts taken taking takes think thinks thought took tried try
trying using want wanted wants went working
""")
# Words that need no evidence: also the pieces into which grounding splits "it's", "3rd" and "5 o'clock".
UNGROUNDED_WORDS = FUNCTION_WORDS | word_set("""
across actually against along although another currently d etc even least less ll lot lots m nd near o'clock oh ones
pm rd re s st t th unless user users ve
""")
# Words whose presence makes no difference between two texts. Every other word may matter: "before", "always", "not".
FILLERS = word_set("a an the also just really very quite so well oh please actually")
DETERMINERS = word_set(
    "a an any each every her his its many most my no our some that the their these this those what which whose your"
)
# People by role rather than by name.
ROLES = word_set("""
admin administrator agent ai assistant bot butler caller chatbot client coach customer developer everyone group guest
host human interviewee interviewer manager me model moderator myself narrator operator participant people person
speaker staff system teacher team therapist tool user users we you
""")
# First words of a line of notes that do not name a speaker. April, May, June and August can.
HEADINGS = (frozenset((*MONTHS, *WEEKDAYS)) - word_set("april may june august")) | word_set("""
a abstract action actions actual address afternoon agenda analysis answer answers appendix approach assumption
assumptions attachment attachments author background blocker blockers body bonus budget bug cause caution cc challenge
change changed changes chapter checklist code command comment comments conclusion conclusions cons constraint
constraints content context conversation cost date day deadline decided decision decisions definition description
detail details dialogue directions disclaimer discussion done edit effect email environment error errors evening
evidence example examples expected explanation fact facts feature features feedback figure file final finding findings
fix fixed focus follow followup from fw fwd fyi goal goals heading hint history how http https idea ideas image impact
important info information ingredients input insight insights instruction instructions introduction issue issues item
items key keywords learned learning learnings lesson lessons level limitation limitations link links list location
meeting memo message method methods morning name nb next note notes now objective objectives observation observations
open option options outcome outcomes outline output overview owner page paragraph part password pending phone photo
place plan plans point points pre preference preferences price priority pro problem problems procedure process
progress prompt pros ps purpose q question questions quote re reason reasons recap recommendation recommendations
reference references reminder reminders reply request requests requirement requirements resolution resource resources
response result results risk risks role rule rules scene schedule section see sent session setup side size solution
source sources speed status step steps strategy subject suggestion suggestions summary symptom symptoms table tag tags
takeaway takeaways target task tasks tel test tests text theme thought thoughts time tip tips title tl tldr to today
todo todos tomorrow tone topic topics total transcript trigger type update updates url usage value values verdict
version video warning website week weekend what when where who why yesterday
""")
GENERAL = ROLES | STOP_WORDS
# Capitalised in English without being a name of a person or thing.
CALENDAR = frozenset((*MONTHS, *WEEKDAYS))
PEOPLES = word_set("""
african albanian american arab arabic argentinian armenian asian australian austrian bengali brazilian british
bulgarian canadian catalan chilean chinese colombian croatian cuban czech danish dutch egyptian english estonian
european finnish french georgian german greek hebrew hindi hungarian icelandic indian indonesian irish iranian israeli
italian jamaican japanese kenyan korean kurdish latin latvian lebanese lithuanian malay mexican moroccan nepali
nigerian norwegian pakistani persian peruvian polish portuguese romanian russian scottish serbian slovak slovenian
spanish swahili swedish swiss syrian thai tunisian turkish ukrainian vietnamese welsh
""")
NO_NAMES = ROLES | CALENDAR | PEOPLES
FEASTS = caseless(
    r"\b(?:new year(?:['’]s)?(?: (?:eve|day))?|christmas(?: (?:eve|day))?|easter(?: (?:sunday|monday))?|halloween|"
    r"thanksgiving|boxing day|valentine['’]s day|mother['’]s day|father['’]s day|ramadan|hanukkah|diwali)\b"
)
