"""Facts as people write them in passing: in chat, in bullet points, of their house, their health and their systems."""

from datetime import UTC, datetime

import pytest

from memory_butler.english.extraction import distil

WEDNESDAY = datetime(2026, 3, 4, 10, tzinfo=UTC)

# Each text with the whole of what it tells: subject · predicate: content, and the day where there is one.
REQUESTS = {
    "Can you remember that the garage code is 4471?": ["user · note:garage_code: garage code 4471"],
    "please remember my locker number is 314": ["user · note:locker_number: locker number 314"],
    "Can you remind me to renew the car insurance on the 3rd?": [
        "user · plan:renew_car_insurance: renew the car insurance @2026-04-03"
    ],
    "Could you make a note that our landlord, Mr. Petrov, only takes calls before noon?": [
        "user · relationship:mr_petrov: landlord Mr. Petrov",
        "user · note:landlord_mr_petrov_only_takes: their landlord, Mr. Petrov, only takes calls before noon",
    ],
}
KEEPING = {
    "alarm code 9920": ["user · note:alarm_code: alarm code 9920"],
    "The spare key is under the blue pot.": ["user · note:spare_key: spare key under the blue pot"],
    "Rent is 940 euros a month.": ["user · note:rent: Rent 940 euros a month"],
    "I bank with Revolut, but the mortgage is with ING.": [
        "user · uses:revolut: bank with Revolut",
        "user · note:mortgage: mortgage with ING",
    ],
    "Seat preference: aisle.": ["user · prefers:seat: aisle"],
    "Wifi password is trout-lantern-42.": [],
}
SYSTEMS = {
    "Our backend is written in Go and the frontend is SvelteKit.": [
        "user · note:backend_written: backend is written in Go",
        "user · note:frontend: frontend is SvelteKit",
    ],
    "The staging database is on port 5433.": ["user · note:staging_database_port: staging database is on port 5433"],
    "The prod cluster runs on GKE.": ["user · note:prod_cluster_runs: prod cluster runs on GKE"],
    "I'm on an M2 MacBook Air.": ["user · uses:m2_macbook_air: an M2 MacBook Air"],
    "Our app is slow. The database is down again. The server is in Frankfurt.": [],
    "User works in a monorepo managed with Bazel.": [],
}
INDIRECT = {
    "Coriander tastes like soap to me.": ["user · dislikes:coriander: Coriander"],
    "Milk doesn't agree with me any more.": ["user · health:milk: Milk doesn't agree with them"],
    "Mornings are not my thing.": ["user · dislikes:mornings: Mornings"],
    "I hate it when people are late.": ["user · dislikes:when_people_late: when people are late"],
    "User hates it when I use emojis.": ["user · dislikes:when_i_use_emojis: when you use emojis"],
    "The meeting bores me. This error annoys me.": [],
}
HOME = {
    "We rent a two-bed flat in Graz near the main station.": ["user · lives_in: Graz"],
    "I share a house in Bristol with three mates": ["user · lives_in: Bristol"],
    "I stay in Bengaluru with my in-laws.": ["user · lives_in: Bengaluru"],
    "I'm living on my own in Ghent": ["user · lives_in: Ghent"],
    "Grandpa's in a care home in Hove now.": ["user's grandpa · lives_in: Hove"],
    "Moved from Berlin to Lisbon. Rents a flat in Alfama.": ["user · lives_in: Lisbon"],
    "My neighbour rents out her flat in Nice.": [],
    "Lives on the third floor.": [],
}
IDENTITY = {
    "Born in Lagos but grew up in Peckham.": ["user · from: Lagos", "user · note:grew_up: grew up in Peckham"],
    "myself Rakesh, I am from Pune only": ["user · name: Rakesh", "user · from: Pune"],
    "Grandma Rosa turns 90 on 3 June.": ["Grandma Rosa · birthday: 3 June"],
    "I live with our twins, Kaur and Mari": [
        "user · relationship:kaur: twin Kaur",
        "user · relationship:mari: twin Mari",
    ],
    "I've two brothers.": ["user · relationship:brothers: two brothers"],
    "i have 34 years": ["user · age: 34"],
    "I'm Muslim.": ["user · note:religion: Muslim"],
    "I'm an only child.": ["user · relationship:siblings: only child"],
    "I go by my middle name, Rosalind.": ["user · nickname: Rosalind"],
    "My son turns 10 next Saturday.": ["user's son · event:turns_10: turns 10 @2026-03-14"],
    "Lena turns seven on May 12.": ["Lena · birthday: May 12"],
    "I'm 1.86 m tall.": ["user · note:height: 1.86 m tall"],
}
CONTACTS = {
    "My personal one is tess@example.net.": ["user · email: tess@example.net"],
    "My phone number changed: it's +43 660 1234567 now.": ["user · phone: +43 660 1234567"],
    "My work address is marco@example.it.": ["user · email: marco@example.it"],
    "The boiler was fixed by Colin from HeatRight (01632 960983).": ["Colin · phone: 01632 960983"],
    "Best to reach me on Signal.": ["user · prefers:contact: Signal"],
}
INSTEAD = {
    "My email is anna@old.com. Use anna@new.com instead.": ["user · email: anna@new.com"],
    "My email is anna@old.com, but please use anna@new.com instead.": ["user · email: anna@new.com"],
    "My email is no longer anna@old.com, use anna@new.com instead.": ["user · email: anna@new.com"],
    "My email is no longer anna@old.com.": ["user · email: no longer anna@old.com"],
    "I don't check anna@old.com anymore, use anna@new.com instead.": ["user · email: anna@new.com"],
    "My phone number 555 0100 no longer works, use 555 0199 instead.": ["user · phone: 555 0199"],
    "Maria's number is 555 0100. Use 555 0199 instead from now on.": ["Maria · phone: 555 0199"],
    "My email is a@old.com, use a@new.com instead, and I live in Porto.": [
        "user · email: a@new.com",
        "user · lives_in: Porto",
    ],
    "My email is anna@old.com. For invoices, use billing@acme.com instead.": ["user · email: anna@old.com"],
    "My email is anna@old.com. Should I use anna@new.com instead?": ["user · email: anna@old.com"],
    "My email is anna@old.com. I live in Porto. Use anna@new.com instead.": [
        "user · email: anna@old.com",
        "user · lives_in: Porto",
    ],
    "My email is anna@old.com. Use 555 0199 instead.": ["user · email: anna@old.com"],
    "Use anna@new.com instead.": [],
}
WORK = {
    "I switched jobs, I'm at Siemens now.": ["user · works_at: Siemens"],
    "I'm at Heathrow now.": [],
    "I've been made redundant from Rolls-Royce.": ["user · works_at: no longer works at Rolls-Royce"],
    "I'm a nurse by training.": ["user · skill:nurse: nurse by training"],
    "I run a bike shop called Two Wheels": ["user · works_as: runs a bike shop", "user · works_at: Two Wheels"],
    "Been teaching at Lincoln High for 31 years.": ["user · works_at: Lincoln High", "user · works_as: teaching"],
}
SCHOOL = {
    "My daughter is in year 9.": ["user's daughter · studies: year 9"],
    "My son goes to St Mary's primary.": ["user's son · studies: St Mary's primary"],
    "I passed out of NIT Trichy in 2014.": ["user · studies: passed out of NIT Trichy"],
    "i study best at night": ["user · prefers:study_best: study best at night"],
    "Studies 30 minutes every morning.": ["user · habit:study_30_minutes: Studies 30 minutes every morning"],
}
HEALTH = {
    "Doctor says my blood pressure is too high": ["user · health:blood_pressure: blood pressure too high"],
    "Doctor's put me on 5mg of ramipril.": ["user · health:ramipril: on 5mg of ramipril"],
    "I can't have NSAIDs because of my kidneys.": ["user · health:nsaids: cannot have NSAIDs"],
    "We have a Labrador, Otis, who's afraid of thunder, and a van.": [
        "user · pet:otis: Labrador Otis",
        "Otis · dislikes:thunder: afraid of thunder",
    ],
    "They use Shopify and want weekly reports.": [],
    "I'm deaf in my left ear.": ["user · health:deaf_left_ear: deaf in their left ear"],
    "I'm off dairy at the moment.": ["user · diet:dairy: off dairy"],
    "I can't do spicy food.": ["user · diet:spicy_food: cannot do spicy food"],
    "User reports pain in left knee since Sunday.": ["user · health:pain_left_knee: pain in left knee"],
    "Allergic to codeine.": ["user · allergic_to:codeine: codeine"],
    "I'm allergic to mornings lol": [],
    "I used to be vegan.": [],
}
CHANGED_PLANS = {
    "The Lisbon trip is off.": ["user · plan:lisbon_trip: Lisbon trip off"],
    "We had to cancel the wedding.": ["user · plan:wedding: cancelled wedding"],
    "I cancelled my gym membership.": ["user · uses:gym_membership: cancelled gym membership"],
    "Moved the meeting with Acme to Thursday.": ["user · event:meeting_acme: meeting with Acme @2026-03-05"],
    "New date is 3 October 2026.": [],
}
PLANS = {
    "We're flying to Athens on 4 June, back on the 11th.": [
        "user · plan:flying_athens: flying to Athens @2026-06-04",
        "user · plan:back_from_athens: back from Athens @2026-06-11",
    ],
    "I'm off from tomorrow until the 19th": ["user · plan:off_until_19th: off until the 19th @2026-03-05"],
    "I'm on vacation until August 14.": ["user · plan:vacation: on vacation until August 14"],
    "Anna is on holiday until Friday.": ["Anna · plan:holiday: on holiday until Friday"],
    "I'm in Berlin until the 19th and then I'm flying to Athens on 4 June.": [
        "user · plan:berlin: in Berlin until the 19th",
        "user · plan:flying_athens: flying to Athens @2026-06-04",
    ],
    "She's on vacation until August 14.": [],
    "I'm training for the Berlin marathon.": ["user · plan:training_berlin_marathon: training for the Berlin marathon"],
    "I handed in my notice yesterday, starting at Wise on 1 September": [
        "user · event:handed_notice: handed in their notice @2026-03-03",
        "user · plan:starting_wise: starting at Wise @2026-09-01",
    ],
    "Rehearsals are every Wednesday at 7.": ["user · habit:rehearsals: Rehearsals every Wednesday at 7"],
    "My passport is expiring on 12 November.": ["user · event:passport_expiring: passport expiring @2026-11-12"],
}
TYPED_IN_HASTE = {
    "im alergic to nuts and i realy dont like cilantro": [
        "user · allergic_to:nuts: nuts",
        "user · dislikes:cilantro: cilantro",
    ],
    "Hate connections under an hour.": ["user · dislikes:connections_under_hour: connections under an hour"],
    "- vegetarian": ["user · diet: vegetarian"],
    "wife: Hannah, kids: Ollie (6) and Bea (3)": [
        "user · relationship:hannah: wife Hannah",
        "user · relationship:ollie: kid Ollie",
        "user · relationship:bea: kid Bea",
        "Ollie · age: 6",
        "Bea · age: 3",
    ],
    "Got a van and two kelpies, Bluey and Jess.": [
        "user · owns:van: a van",
        "user · pet:bluey: kelpie Bluey",
        "user · pet:jess: kelpie Jess",
    ],
}
# Whose words, which day, and what a name stands for.
WHOSE = {
    "Piotr: on vacation until Thursday": ["Piotr · event:piotr_vacation: on vacation until Thursday"],
    'Agnes wrote: "I\'m vegetarian, can you order accordingly?" team lunch is on Friday at 12': [
        "Agnes · diet: vegetarian",
        "user · event:team_lunch_12: team lunch at 12 @2026-03-06",
    ],
    "standup\n- me: I live in Leith now\n- Dawid: I work at Acme\n- dentist on 24 March": [
        "user · lives_in: Leith",
        "Dawid · works_at: Acme",
        "user · event:dentist: dentist @2026-03-24",
    ],
    "moved from vim to helix": [],
    "I moved from Zotero to Mendeley": [],
    "we moved to porto": ["user · lives_in: porto"],
    "we moved from Porto to Cefalù": ["user · lives_in: Cefalù"],
    "our daughter Lea comes home for Christmas on the 22nd": [
        "user · relationship:lea: daughter Lea",
        "Lea · plan:comes_home_christmas: comes home for Christmas @2026-12-22",
    ],
    "I'm off from 20 December to 6 January": [
        "user · plan:off_from_20_december_6: off from 20 December to 6 January @2026-12-20"
    ],
    "hey so I'm Tomasz, Tomek for friends": ["user · name: Tomasz", "user · nickname: Tomek"],
}

EVERYTHING = {
    text: told
    for theme in (
        WHOSE, REQUESTS, KEEPING, SYSTEMS, INDIRECT, HOME, IDENTITY, CONTACTS, INSTEAD, WORK, SCHOOL, HEALTH,
        CHANGED_PLANS, PLANS, TYPED_IN_HASTE,
    )
    for text, told in theme.items()
}  # fmt: skip


def told(content: str) -> list[str]:
    return [
        f"{one.subject} · {one.predicate}: {one.content}" + (f" @{one.valid_at.date()}" if one.valid_at else "")
        for one in distil(content, WEDNESDAY)
    ]


@pytest.mark.parametrize("text", EVERYTHING)
def test_a_text_tells_exactly_this(text: str) -> None:
    """Every fact of the text and no other; some tell nothing, though they look as if."""
    assert sorted(told(text)) == sorted(EVERYTHING[text])


def test_a_code_that_changes_keeps_its_key() -> None:
    """So that the new value takes the place of the old one."""
    (before,), (after,) = (distil(f"The gate code is {code}.", WEDNESDAY) for code in ("1177", "2288"))
    assert (before.predicate, before.content != after.content) == (after.predicate, True)


def test_the_span_is_that_of_the_words_as_typed() -> None:
    """Haste is read as if it were spelt out, but the place in the episode is where it stands there."""
    content = "ok. im alergic to nuts"
    (found,) = distil(content, WEDNESDAY)
    assert content[slice(*found.span)] == "im alergic to nuts"
