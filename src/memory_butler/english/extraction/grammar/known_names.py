"""Names that are no names of people in anybody's life: places, companies, tools, the famous, and groups of people."""

from memory_butler.english.text.word_sets import phrase_set

# Without those that people are called as well: Austin, Chelsea, Florence, Georgia, Jordan, Paris, Sydney, Victoria.
PLACES = phrase_set("""
Afghanistan, Africa, Albania, Algeria, America, Argentina, Armenia, Asia, Australia, Austria, Azerbaijan, Bangladesh,
Belarus, Belgium, Bolivia, Bosnia, Brazil, Britain, Bulgaria, Cambodia, Cameroon, Canada, China, Colombia, Costa Rica,
Croatia, Cuba, Cyprus, Czechia, Denmark, Ecuador, Egypt, England, Estonia, Ethiopia, Europe, Finland, France, Germany,
Ghana, Greece, Guatemala, Hong Kong, Hungary, Iceland, Indonesia, Iran, Iraq, Ireland, Israel, Italy, Jamaica, Japan,
Kazakhstan, Korea, South Korea, Latvia, Lebanon, Lithuania, Luxembourg, Malaysia, Malta, Mexico, Moldova, Mongolia,
Morocco, Nepal, Netherlands, New Zealand, Nigeria, Norway, Pakistan, Palestine, Panama, Peru, Philippines, Poland,
Portugal, Romania, Russia, Rwanda, Saudi Arabia, Scotland, Senegal, Serbia, Singapore, Slovakia, Slovenia, Somalia,
South Africa, Spain, Sri Lanka, Sudan, Sweden, Switzerland, Syria, Taiwan, Tanzania, Thailand, Tunisia, Turkey,
Uganda, Ukraine, Uruguay, Venezuela, Vietnam, Wales, Zambia, Zimbabwe, Accra, Amsterdam, Ankara, Antwerp, Athens,
Atlanta, Auckland, Baghdad, Bali, Baltimore, Bangalore, Bengaluru, Bangkok, Barcelona, Basel, Beijing, Beirut,
Belfast, Belgrade, Berlin, Bern, Birmingham, Bogotá, Bologna, Bordeaux, Boston, Bratislava, Brighton, Brisbane,
Bristol, Brussels, Bucharest, Budapest, Buenos Aires, Busan, Cairo, Calgary, California, Cambridge, Cape Town,
Cardiff, Casablanca, Chennai, Chicago, Cologne, Copenhagen, Cork, Delhi, New Delhi, Denver, Detroit, Dubai, Dublin,
Dundee, Düsseldorf, Edinburgh, Eindhoven, Frankfurt, Galway, Gdańsk, Geneva, Ghent, Glasgow, Gothenburg, Graz,
Groningen, Haarlem, Hamburg, Hanoi, Hawaii, Helsinki, Houston, Hyderabad, Istanbul, Jakarta, Johannesburg, Karachi,
Kathmandu, Kiev, Kyiv, Kraków, Krakow, Kuala Lumpur, Kyoto, Lagos, Lahore, Leeds, Leicester, Leipzig, Lille, Lima,
Linz, Lisbon, Liverpool, Ljubljana, London, Los Angeles, Lyon, Madrid, Malmö, Manchester, Manila, Marseille,
Melbourne, Mexico City, Miami, Milan, Montreal, Moscow, Mumbai, Munich, Nairobi, Naples, New York, Newcastle, Nice,
Nottingham, Nuremberg, Oregon, Osaka, Oslo, Ottawa, Oxford, Perth, Philadelphia, Phoenix, Porto, Portland, Prague,
Pune, Reykjavík, Reykjavik, Riga, Rio de Janeiro, Rome, Rotterdam, Salzburg, San Diego, San Francisco, Santiago, São
Paulo, Sarajevo, Seattle, Seoul, Seville, Shanghai, Sheffield, Sicily, Skopje, Sofia Airport, Stockholm, Stuttgart,
Tallinn, Tbilisi, Tehran, Tel Aviv, Texas, Thessaloniki, Tokyo, Toronto, Toulouse, Turin, Tuscany, Utrecht, Valencia,
Vancouver, Venice, Vienna, Vilnius, Warsaw, Washington, Wellington, Wrocław, Zagreb, Zurich, Zürich
""")
ORGANISATIONS = phrase_set("""
Accenture, Adidas, Adobe, Airbnb, Airbus, Aldi, Allianz, Amazon, AMD, Anthropic, Apple, Arsenal, Atlassian, Azure,
Barclays, Bayer, Bloomberg, Boeing, Bosch, Cisco, Cloudflare, Coolblue, Costco, Deliveroo, Deloitte, Disney, Dropbox,
eBay, Ericsson, Etsy, Everton, Facebook, Figma, FedEx, Gmail, Google, Heroku, HSBC, Huawei, Ikea, Infosys, Instagram,
Intel, JetBrains, Jira, Kaggle, KPMG, Lego, Lidl, LinkedIn, Lufthansa, Lyft, Mastercard, McDonald's, McKinsey, Meta,
Microsoft, Monzo, Mozilla, Nasdaq, Nestlé, Netflix, Netlify, Nike, Nokia, Notion, Nvidia, OpenAI, Oracle, PayPal,
Peugeot, Philips, Pinterest, Reddit, Renault, Revolut, Rolls-Royce, Ryanair, Salesforce, Samsung, Shopify, Siemens,
Slack, Snowflake, Sony, SpaceX, Spotify, Starbucks, Steam, Stripe, Telegram, Tesco, Tesla, TikTok, Toyota, Trello,
Twitter, Uber, Unilever, Vercel, Verizon, Visa, Vodafone, Volkswagen, Volvo, Walmart, WhatsApp, Wikipedia, Wise,
YouTube, Zalando, Zoom, Zulip, Android, Ubuntu, Debian, Fedora, Terraform, Ansible, Jenkins, Kafka, Bazel, Django,
React, Angular, Vue, Svelte, SvelteKit, Next, Node, Excel, Word, Outlook, Teams, Siri, Alexa, ChatGPT, Claude, Gemini,
Copilot, Confluence, Postgres, PostgreSQL, MySQL, MongoDB, Redis, Elasticsearch, Grafana, Prometheus
""")
# Capitalised words after "I'm" or at the start of a note that are no names.
NOT_CALLED = phrase_set("""
Muslim, Jewish, Catholic, Protestant, Hindu, Buddhist, Sikh, Orthodox, Mormon, Quaker, Atheist, Agnostic, Asian,
European, African, Black, White, Latino, Latina, Hispanic, Arab, Kurdish, Bavarian, Texan, Londoner, Parisian,
Scouser, Virgo, Libra, Scorpio, Sagittarius, Capricorn, Aquarius, Pisces, Aries, Taurus, Gen, Team, Type, Generation,
Republican, Democrat, Tory, Mac, Customer, Client, Caller, Patient, Guest, Visitor, Student, Member, Tenant,
Candidate, Attendee, Attendees, Participants, Doctor, Dentist, Boss, Manager, Teacher, Landlord, Neighbour, Neighbor,
Children, Kids, Twins, Rehearsals, Deploys, Migrations, Mornings, Mondays, Podcasts, Mortgage, Salary, Pay, Payday,
Bin, Recycling, Boiler, Wifi, Password, Tesla, Staging, Production, Prod, Feature, Session, Goal, History, Seat,
Keyboard, Monitor, Knee, Lesson, Whatever, Native, Lesson, Booked, Sold, Got, Left, Woke, Sent, Spent, Wrote, Bought,
Went, Came, Saw, Ran, Felt, Tests, Born, Raised, Married, Divorced, Single, Engaged, Retired, Vegan, Vegetarian,
Allergic, Based, Originally, Fluent, Speaks, Kickoff, Standup, Mobile, Tel, Telephone, Cell, Fax, Contact, Address,
Insurance, Hotel, Owner, Building, Third, Risk-averse, Goals, Sprint, Retro, Docs, Readme, Dates, Prices, Answers,
Replies, Emails, Reports
""")
# People of whom general knowledge speaks, as they are called in full or by one name.
_FAMOUS = phrase_set("""
John Lennon, Paul McCartney, Wolfgang Amadeus Mozart, Beethoven, Johann Sebastian Bach, Chopin, Wagner, Vivaldi,
Albert Einstein, Isaac Newton, Charles Darwin, Marie Curie, Nikola Tesla, Thomas Edison, Galileo, Copernicus, Kepler,
Richard Feynman, Stephen Hawking, Alan Turing, Ada Lovelace, Gauss, Euler, Euclid, Pythagoras, Archimedes, Plato,
Socrates, Aristotle, Seneca, Confucius, Buddha, Friedrich Nietzsche, Immanuel Kant, Hegel, Karl Marx, Sigmund Freud,
Carl Jung, Descartes, Rousseau, Voltaire, William Shakespeare, Charles Dickens, Jane Austen, Leo Tolstoy, Dostoevsky,
Franz Kafka, Goethe, Ernest Hemingway, George Orwell, Tolkien, Frank Herbert, Isaac Asimov, Agatha Christie, Pablo
Picasso, Claude Monet, Rembrandt, Vermeer, Vincent van Gogh, Michelangelo, Leonardo da Vinci, Andy Warhol, Frida
Kahlo, Salvador Dalí, Napoleon, Julius Caesar, Cleopatra, Winston Churchill, Margaret Thatcher, Abraham Lincoln,
Franklin Roosevelt, John F. Kennedy, Barack Obama, Donald Trump, Joe Biden, Bill Clinton, Hillary Clinton, Ronald
Reagan, Richard Nixon, Vladimir Putin, Joseph Stalin, Lenin, Gorbachev, Adolf Hitler, Mussolini, Angela Merkel,
Emmanuel Macron, Zelensky, Mahatma Gandhi, Narendra Modi, Nelson Mandela, Mao, Bill Gates, Steve Jobs, Mark
Zuckerberg, Elon Musk, Jeff Bezos, Warren Buffett, Sam Altman, Linus Torvalds, Donald Knuth, Dijkstra, Stroustrup,
Guido van Rossum, Steve Wozniak, Lionel Messi, Cristiano Ronaldo, Maradona, Pelé, David Beckham, Roger Federer, Rafael
Nadal, Novak Djokovic, LeBron James, Usain Bolt, Lewis Hamilton, Max Verstappen, Michael Schumacher, Madonna, Beyoncé,
Rihanna, David Bowie, Elvis Presley, Jimi Hendrix, Bob Dylan, Taylor Swift, Eminem, Shakira, Anna Wintour, Oprah
Winfrey, Kim Kardashian, Steven Spielberg, Alfred Hitchcock, Stanley Kubrick, Quentin Tarantino, Martin Scorsese,
Charlie Chaplin, Marilyn Monroe, Audrey Hepburn, Leonardo DiCaprio, Tom Hanks, Meryl Streep, David Attenborough,
Christopher Columbus, Magellan, Neil Armstrong, Louis Armstrong, Yuri Gagarin, Martin Luther King, Jesus, Moses,
Sherlock Holmes, Harry Potter, Gandalf, Frodo, Batman, Superman, Voldemort, Hamlet, Dracula, Frankenstein, Macbeth,
Zeus, Odin, Hercules, Santa Claus, King Charles, Queen Elizabeth, Pope Francis
""")
# Last names that are also common first names.
_FIRST_NAMES = phrase_set(
    "Dylan, Lincoln, Kennedy, Clinton, Hamilton, Austen, Herbert, James, King, Gates, Jobs, Swift, Charles"
)
FAMOUS = _FAMOUS | {name.split()[-1] for name in _FAMOUS} - _FIRST_NAMES
