"""English words by kind: relatives, pets, professions, nationalities, conditions and so on."""

from memory_butler.english.text.word_sets import phrase_set
from memory_butler.english.time.calendar import CARDINALS, MONTHS, PARTS_OF_DAY, SEASONS, WEEKDAYS

FAMILY = phrase_set("""
gf, bf, hubby, sis, bro, bff, other half, better half, newborn, stepkids, stepchildren, godparents, sister,
brother, mother, father, mom, mum, mam, dad, mummy, daddy, mama, papa, parents, son, daughter, wife, husband,
spouse, partner, girlfriend, boyfriend, fiancé, fiancée, fiance, fiancee, cousin, aunt, auntie, uncle, niece,
nephew, grandmother, grandma, granny, gran, nana, nan, grandfather, grandpa, grandad, granddad, grandparents,
granddaughter, grandson, twin brother, twin sister, sibling, child, kid, baby, toddler, ex, ex-wife, ex-husband,
ex-girlfriend, ex-boyfriend, ex-partner, stepmother, stepfather, stepmom, stepdad, stepson, stepdaughter,
stepbrother, stepsister, half-brother, half-sister, mother-in-law, father-in-law, sister-in-law, brother-in-law,
son-in-law, daughter-in-law, godmother, godfather, godson, goddaughter, kids, children, sons, daughters,
sisters, brothers, siblings, twins, cousins, grandchildren, nieces, nephews, in-laws
""")
OTHERS = phrase_set("""
roommate, flatmate, housemate, neighbour, neighbor, friend, bestie, buddy, mate, pal, colleague, coworker, co-worker,
boss, manager, line manager, supervisor, team lead, tech lead, lead, mentor, mentee, teammate, intern, cofounder,
co-founder, business partner, deputy, doctor, gp, dentist, therapist, physiotherapist, physio, psychologist,
psychiatrist, cardiologist, dermatologist, paediatrician, pediatrician, midwife, lawyer, solicitor, attorney,
accountant, landlord, landlady, teacher, tutor, coach, trainer, personal trainer, professor, advisor, adviser, nanny,
babysitter, childminder, cleaner, hairdresser, barber, mechanic, vet, plumber, electrician, contractor, builder,
gardener, agent, estate agent, recruiter, editor, publisher, client, tenant, piano teacher, study buddy, running
buddy, gym buddy, assistant, account manager, project manager, product manager, handyman, carer, caregiver,
counsellor, counselor, optician, friends, colleagues, roommates, flatmates, neighbours, neighbors
""")
RELATIONS = FAMILY | OTHERS
PLURAL = phrase_set("""
kids, children, sons, daughters, sisters, brothers, siblings, twins, cousins, grandchildren, nieces, nephews,
friends, colleagues, roommates, flatmates, parents, grandparents, in-laws, neighbours, neighbors
""")
# Relatives mentioned without "my".
CALLED_SO = phrase_set(
    "mom, mum, dad, grandma, grandpa, grandad, granddad, gran, granny, nana, nan, mam, papa, mama, daddy, mummy"
)

PETS = phrase_set("""
dog, dogs, cat, cats, puppy, puppies, kitten, kittens, rabbit, rabbits, bunny, hamster, parrot, budgie, canary, horse,
pony, goldfish, fish, turtle, tortoise, snake, lizard, gecko, guinea pig, guinea pigs, gerbil, ferret, rat, rats, hen,
hens, chickens, goat, goats, donkey, alpaca, cockatiel, labrador, lab, retriever, golden retriever, poodle, beagle,
corgi, dachshund, terrier, bulldog, greyhound, whippet, spaniel, collie, border collie, husky, shepherd, german
shepherd, pug, chihuahua, labradoodle, cockapoo, schnauzer, mutt, siamese, tabby, ragdoll, maine coon, bengal, pet,
pets, rescue dog, rescue cat, axolotl, bearded dragon, ducks, bees, chinchilla, hedgehog, cocker spaniel, boxer,
rottweiler, dalmatian, kelpie, kelpies, labradors, retrievers, poodles, beagles, corgis, dachshunds, terriers,
bulldogs, greyhounds, whippets, spaniels, collies, border collies, huskies, pugs, chihuahuas
""")
DIETS = phrase_set("""
vegetarian, vegan, pescatarian, pescetarian, flexitarian, gluten-free, gluten free, dairy-free, keto, paleo,
halal, kosher, teetotal, teetotaller, teetotaler, low-carb, plant-based, lactose-free, nut-free, sober,
carnivore, omnivore, low-fodmap
""")
CONDITIONS = phrase_set("""
asthma, diabetes, migraine, migraines, epilepsy, arthritis, hypertension, eczema, psoriasis, insomnia, adhd, add,
autism, anxiety, depression, dyslexia, tinnitus, ibs, pcos, endometriosis, scoliosis, anaemia, anemia, crohn's,
colitis, lupus, fibromyalgia, sciatica, vertigo, glaucoma, cataracts, astigmatism, apnea, apnoea, gout, osteoporosis,
hypothyroidism, hyperthyroidism, reflux, gerd, rosacea, ocd, ptsd, bipolar, cancer, disease, disorder, syndrome,
condition, allergy, allergies, intolerance, hay fever, blood pressure, cholesterol, disc, hernia, pacemaker, celiac,
coeliac, dyspraxia, arrhythmia, murmur, bronchitis, pneumonia, tendonitis, tendinitis, carpal tunnel, long covid,
thyroid, raynaud's, concussion, fracture, ulcer, ulcers, kidney stones, gallstones, plantar fasciitis, endocarditis,
parkinson's, ms, hay fever, stroke, heart attack, knee problems, back problems, back pain, knee pain, dementia,
alzheimer's, copd, cancer, breast cancer, leukaemia, leukemia, hiv, ptsd, ocd, schizophrenia, angina, arrhythmia,
emphysema, bronchitis, pneumonia, shingles, hypothyroidism, hyperthyroidism, heart condition, heart problems, high
blood pressure, low blood pressure, sleep problems
""")
BODY = phrase_set("""
back, knee, knees, hip, shoulder, ankle, wrist, arm, leg, foot, toe, finger, elbow, neck, hand, rib, ribs,
collarbone, hamstring, achilles, acl, meniscus, heel, thumb, jaw, nose, eye, heart, hearing, eyesight
""")
STATES = phrase_set("""
diabetic, asthmatic, epileptic, colourblind, colorblind, colour-blind, color-blind, colour blind, color blind,
deaf, blind, pregnant, lactose intolerant, lactose-intolerant, gluten intolerant, gluten-intolerant, dyslexic,
autistic, bipolar, left-handed, right-handed, anaemic, anemic, short-sighted, nearsighted, near-sighted,
long-sighted, celiac, coeliac, hard of hearing, immunocompromised, neurodivergent, hypoglycemic, insulin
dependent, insulin-dependent, partially sighted, a celiac, a coeliac, a diabetic, a type 1 diabetic, a type 2
diabetic, wheelchair user, a wheelchair user, a type-1 diabetic
""")
MARITAL = phrase_set("married, engaged, single, divorced, widowed, separated, a widow, a widower, unmarried")
PROFESSIONS = phrase_set("""
accountant, actor, actress, actuary, administrator, analyst, anesthetist, anaesthetist, animator, apprentice,
archaeologist, architect, archivist, artist, assistant, astronomer, attorney, auditor, author, baker, banker, barber,
barista, bartender, beekeeper, biologist, blogger, bookkeeper, bricklayer, broker, builder, butcher, buyer, carer,
caregiver, carpenter, cartographer, cashier, ceo, cfo, chef, chemist, choreographer, cleaner, clerk, climatologist,
coach, cobbler, colorist, comedian, composer, conductor, consultant, contractor, cook, coo, copywriter, coordinator,
counsellor, counselor, courier, cto, curator, dancer, data scientist, dentist, dermatologist, designer, detective,
developer, devops, dietitian, director, dj, doctor, doula, driver, ecologist, economist, editor, electrician,
engineer, entrepreneur, epidemiologist, estate agent, executive, farmer, filmmaker, firefighter, fisherman, florist,
founder, co-founder, cofounder, freelancer, gardener, geologist, geophysicist, glassblower, goldsmith, gp,
hairdresser, hygienist, illustrator, immunologist, inspector, instructor, intern, interpreter, investigator, investor,
janitor, jeweller, jeweler, journalist, joiner, judge, lab technician, landscaper, lawyer, lecturer, librarian,
lifeguard, linguist, locksmith, luthier, machinist, magistrate, maker, manager, mason, masseuse, mathematician,
mechanic, mediator, meteorologist, microbiologist, midwife, miner, model, musician, nanny, neurologist,
neuroscientist, notary, novelist, nurse, nutritionist, officer, optician, optometrist, orthodontist, osteopath,
paediatrician, painter, paralegal, paramedic, pathologist, pediatrician, pharmacist, photographer, physician,
physicist, physio, physiotherapist, pianist, pilot, planner, plasterer, playwright, plumber, podcaster, poet, police
officer, policeman, policewoman, politician, porter, postdoc, potter, principal, producer, product owner, professor,
programmer, psychiatrist, psychologist, publicist, publisher, radiographer, radiologist, realtor, receptionist,
recruiter, reporter, researcher, roofer, sailor, salesman, salesperson, saleswoman, scientist, screenwriter, sculptor,
seamstress, secretary, singer, social worker, software engineer, soldier, solicitor, specialist, sre, statistician,
stay-at-home dad, stay-at-home mom, steward, stewardess, flight attendant, strategist, student, supervisor, surgeon,
surveyor, sysadmin, tailor, taxidermist, teacher, technician, technologist, tester, therapist, tiler, trader, trainee,
trainer, translator, tutor, tv presenter, undertaker, upholsterer, vet, veterinarian, videographer, violinist, vp,
waiter, waitress, warden, watchmaker, weaver, welder, writer, youtuber, zoologist, lead, head, partner, associate,
fellow, resident, cardiologist, oncologist, hydrologist, conservator, deputy, admin, representative, rep, operator,
marketer, blacksmith, head chef, sommelier, barrister, sparky, chippy, brickie, postman, postwoman, bus driver, taxi
driver, lorry driver, trucker, childminder, nursery nurse, pm, qa, quant, underwriter, vicar, priest, rabbi, imam,
pastor, civil servant, dental nurse, speech therapist
""")
NATIONALITIES = phrase_set("""
american, argentinian, argentine, australian, austrian, bangladeshi, belgian, bolivian, brazilian, british, bulgarian,
cambodian, cameroonian, canadian, chilean, chinese, colombian, croatian, cuban, cypriot, czech, danish, dutch,
ecuadorian, egyptian, english, estonian, ethiopian, filipino, filipina, finnish, french, georgian, german, ghanaian,
greek, guatemalan, hungarian, icelandic, indian, indonesian, iranian, iraqi, irish, israeli, italian, jamaican,
japanese, jordanian, kazakh, kenyan, korean, south korean, latvian, lebanese, lithuanian, malaysian, maltese, mexican,
moldovan, mongolian, moroccan, nepali, nepalese, new zealander, nigerian, norwegian, pakistani, palestinian, peruvian,
polish, portuguese, puerto rican, romanian, russian, rwandan, saudi, scottish, senegalese, serbian, singaporean,
slovak, slovenian, somali, south african, spanish, sri lankan, sudanese, swedish, swiss, syrian, taiwanese, tanzanian,
thai, tunisian, turkish, ugandan, ukrainian, uruguayan, venezuelan, vietnamese, welsh, zambian, zimbabwean, kiwi,
scots, catalan, basque, armenian, albanian, bosnian
""")
LANGUAGES = phrase_set("""
english, spanish, french, german, italian, portuguese, dutch, swedish, norwegian, danish, finnish, icelandic,
polish, czech, slovak, hungarian, romanian, bulgarian, greek, turkish, russian, ukrainian, arabic, hebrew,
persian, farsi, hindi, urdu, bengali, punjabi, tamil, telugu, marathi, gujarati, mandarin, cantonese, chinese,
japanese, korean, vietnamese, thai, malay, indonesian, tagalog, swahili, yoruba, igbo, hausa, zulu, xhosa,
afrikaans, amharic, somali, catalan, basque, galician, welsh, irish, gaelic, estonian, latvian, lithuanian,
croatian, serbian, bosnian, slovenian, albanian, armenian, georgian, kazakh, esperanto, latin, sign language,
british sign language, american sign language, bsl, asl, quechua, nepali, sinhala, kannada, malayalam, flemish,
maltese, mongolian, khmer, burmese, lao, pashto, kurdish, twi, wolof, shona, creole
""")
THINGS = phrase_set("""
tv, television, hob, dishwasher, projector, bookshelf, aquarium, car, bike, bicycle, e-bike, motorbike, motorcycle,
scooter, van, campervan, camper, truck, boat, sailboat, kayak, canoe, house, flat, apartment, condo, cabin, cottage,
allotment, farm, greenhouse, shed, garden, laptop, phone, smartphone, camera, guitar, piano, keyboard, violin, cello,
drum kit, ukulele, saxophone, trumpet, synth, synthesizer, printer, 3d printer, telescope, tablet, monitor, desktop,
macbook, iphone, ipad, kindle, playstation, xbox, switch, drone, watch, smartwatch, sewing machine, espresso machine,
coffee machine, grinder, oven, air fryer, smoker, grill, tent, surfboard, skateboard, snowboard, skis, treadmill,
rowing machine, nas, server, raspberry pi, headphones, record player, turntable, vinyl collection, record collection,
bookshop, bakery, shop, store, restaurant, cafe, café, business, company, tesla, volvo, toyota, honda, bmw, audi,
ford, fiat, volkswagen, vw, golf, prius, subaru, mazda, renault, peugeot, kia, hyundai, skoda, škoda, seat, nissan,
mercedes, porsche, jeep, vespa, brompton, thinkpad, standing desk, desk, dell, fairphone, pixel, samsung, garmin,
apple watch, fitbit, kitchenaid, thermomix, roomba, sofa, caravan, motorhome, typewriter, loom, kiln, banjo,
harmonica, accordion, flute, clarinet, cargo bike, road bike, mountain bike, gravel bike, harp, darkroom, hot tub,
sauna, wheelchair, hearing aid, hearing aids, glasses, pickup, chromebook, steam deck
""")
EVENTS = phrase_set("""
appointment, meeting, interview, exam, test, flight, trip, wedding, funeral, party, concert, conference, deadline,
surgery, operation, visit, session, call, demo, presentation, review, checkup, check-up, dinner, lunch, brunch,
breakfast, reservation, booking, date, ceremony, graduation, hearing, trial, recital, gig, show, race, marathon, half
marathon, tournament, match, game, workshop, webinar, class, lesson, course, holiday, vacation, reunion, anniversary,
birthday, birthday party, launch, release, retreat, scan, mri, round, move, viewing, inspection, delivery, audition,
rehearsal, cruise, ferry, train, open day, school play, parents' evening, defense, defence, viva, offsite, standup,
kickoff, kick-off, due date, first day, last day, start date, christening, baptism, bootcamp, festival, biopsy, blood
test, physio, therapy session, screening, sync, catch-up, catchup, summit, hackathon, onboarding, training, 1:1,
performance review, haircut, vaccination, jab, expiry, renewal, closing, mot, housewarming, baby shower, hen do, stag
do, hike, tour, return flight, return, sprint review, retro
""")
FOODS = phrase_set("""
meat, pork, beef, fish, seafood, shellfish, dairy, gluten, sugar, eggs, nuts, wheat, red meat, chicken, alcohol,
coffee, caffeine, bread, cheese, milk, soy, onions, garlic, mushrooms, spicy food, lactose, carbs, fast food,
soda, processed food, animal products, peanuts, lamb, veal, tomatoes, beer, wine, tea, added sugar, junk food,
raw fish, sushi, honey, grapefruit
""")
_CALENDAR = (*MONTHS, *WEEKDAYS, *PARTS_OF_DAY, *SEASONS, *CARDINALS[1:11])
NOT_NAMES = frozenset(word.capitalize() for word in _CALENDAR if word != "fall") | phrase_set("""
Job, School, Term, Class, Rent, Flight, Train, Lease, Baby, Paper, Tax, Project, Release, Meeting, Course, Package,
Contract, The, A, An, This, That, These, Those, It, I, We, He, She, They, You, My, Our, Your, His, Her, Their, Its,
There, Here, When, If, What, Why, How, Who, Where, Which, Whose, And, But, Or, So, Because, Since, Also, Then, Now,
Today, Tonight, Tomorrow, Yesterday, Please, Thanks, Thank, Hi, Hello, Hey, Yes, No, Not, Ok, OK, Okay, Sure, Good,
Great, Nice, Everyone, Everybody, Nobody, Someone, Somebody, Anyone, People, Some, All, Most, Many, Both, Each,
Every, Always, Never, User, Users, Assistant, Just, Still, Currently, Maybe, Perhaps, Actually, First, Second,
Third, Next, Last, New, Old, Small, Long, Short, Wow, Oh, Ah, Well, Anyway, Btw, Lol, Haha, Only, Even, Once, As,
At, By, For, From, In, Of, On, To, Up, With, Without, After, Before, During, Until, Unless, While, Although, Though,
However, Whenever, Wherever, Whatever, Nothing, Something, Everything, Anything, Other, Others, Another, Same, Such,
Than, Too, Very, More, Much, Less, Few, Several, Any, Either, Neither, None, Let, Lets, Can, Could, Would, Should,
Will, Shall, Might, Must, Mr, Mrs, Ms, Christmas, Easter, Halloween, Weekend, Week, Month, Year, Day, Time, Life,
Work, Home, Lunch, Dinner, Breakfast, Coffee, Tea, Python, Java, Rust, Go, Docker, Linux, Windows, Google, Apple,
Amazon, Microsoft, GitHub, Git, Postgres, Redis, Kubernetes, Slack, Zoom, Internet, English, God, Jesus, Traffic,
Weather, Music, Food, Water, Money, Love, Happy, Sad, Sorry, Bye, Allergies, Allergy, Name, Email, Phone, Note,
Remember, Correction, Update, Everyone's, Who's, What's, It's, That's, There's, Grant, Pipeline, Build, Server,
Database, Code, Test, Tests, CI, API, Discussed, Explained, Suggested, Offered, Helped
""")
ROLE_WORDS = frozenset(word for role in RELATIONS | PETS for word in (role.split()[-1],))
