"""Words that are nobody's name, though some are written like one or stand where one would."""

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words without a meaning of their own, which no question is about.
COMMON = _words(
    """
    a about above after again all already also always am an and any anybody anyone anything are aren't around as at
    back be because been before being below between both but by can can't cannot could couldn't did didn't do does
    doesn't doing don't done down during each either else ever every everybody everyone everything few for from
    further get gets getting give given gives go goes going got had hadn't has hasn't have haven't having he hello her
    here hers herself hey hi him himself his how however i i'd i'll i'm i've if in instead into is isn't it its itself
    just know knows let like many may maybe me might mine more most much must my myself neither never no nobody none
    nor not nothing now of off often ok okay on once one only onto or other others our ours ourselves out over own per
    perhaps please quite rather really recently said same say says shall she should shouldn't show since so some
    somebody someone something sometimes soon still such tell than thank thanks that the their theirs them themselves
    then there these they thing things this those though through till to together too toward towards under until up
    upon us use used uses very via was wasn't we well were weren't what whatever when whenever where wherever whether
    which while who whoever whom whose why will with within without won't would wouldn't yes yet you your yours
    yourself yourselves
    """
)
DETERMINERS = _words(
    "a an any each every her his its many most my no our some that the their these this those what which whose your"
)
# Who speaks or is spoken of in general, by role rather than by name.
ROLES = _words(
    """
    admin administrator agent ai assistant bot butler caller chatbot client coach customer developer everyone group
    guest host human interviewee interviewer manager me model moderator myself narrator operator participant people
    person speaker staff system teacher team therapist tool user users we you
    """
)
# What a line of notes begins with that is no speaker.
HEADINGS = _words(
    """
    a abstract action actions actual address afternoon agenda analysis answer answers appendix approach assumption
    assumptions attachment attachments author background blocker blockers body bonus budget bug cause caution cc
    challenge change changed changes chapter checklist code command comment comments conclusion conclusions cons
    constraint constraints content context conversation cost date day deadline december decided decision decisions
    definition description detail details dialogue directions disclaimer discussion done edit effect email environment
    error errors evening evidence example examples expected explanation fact facts feature features february feedback
    figure file final finding findings fix fixed focus follow followup friday from fw fwd fyi goal goals heading hint
    history how http https idea ideas image impact important info information ingredients input insight insights
    instruction instructions introduction issue issues item items january july key keywords learned learning learnings
    lesson lessons level limitation limitations link links list location march meeting memo message method methods
    monday morning name nb next note notes november now objective objectives observation observations october open
    option options outcome outcomes outline output overview owner page paragraph part password pending phone photo
    place plan plans point points pre preference preferences price priority pro problem problems procedure process
    progress prompt pros ps purpose q question questions quote re reason reasons recap recommendation recommendations
    reference references reminder reminders reply request requests requirement requirements resolution resource
    resources response result results risk risks role rule rules saturday scene schedule section see sent september
    session setup side size solution source sources speed status step steps strategy subject suggestion suggestions
    summary sunday symptom symptoms table tag tags takeaway takeaways target task tasks tel test tests text theme
    thought thoughts thursday time tip tips title tl tldr to today todo todos tomorrow tone topic topics total
    transcript trigger tuesday type update updates url usage value values verdict version video warning website
    wednesday week weekend what when where who why yesterday
    """
)
GENERAL = ROLES | COMMON
# Capitalised in English without being anybody's name.
CALENDAR = _words(
    """
    april august december february friday january july june march may monday november october saturday september
    sunday thursday tuesday wednesday
    """
)
PEOPLES = _words(
    """
    african albanian american arab arabic argentinian armenian asian australian austrian bengali brazilian british
    bulgarian canadian catalan chilean chinese colombian croatian cuban czech danish dutch egyptian english estonian
    european finnish french georgian german greek hebrew hindi hungarian icelandic indian indonesian irish iranian
    israeli italian jamaican japanese kenyan korean kurdish latin latvian lebanese lithuanian malay mexican moroccan
    nepali nigerian norwegian pakistani persian peruvian polish portuguese romanian russian scottish serbian slovak
    slovenian spanish swahili swedish swiss syrian thai tunisian turkish ukrainian vietnamese welsh
    """
)
NO_NAMES = ROLES | CALENDAR | PEOPLES
FEASTS = re.compile(
    r"\b(?:new year(?:['’]s)?(?: (?:eve|day))?|christmas(?: (?:eve|day))?|easter(?: (?:sunday|monday))?|halloween|"
    r"thanksgiving|boxing day|valentine['’]s day|mother['’]s day|father['’]s day|ramadan|hanukkah|diwali)\b",
    re.IGNORECASE,
)
