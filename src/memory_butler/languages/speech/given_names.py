"""Common given names: in German every noun has a capital, so that a capital alone is no sign of a name.

Words that are also nouns, months or places are left out.
"""

from memory_butler.english.text.word_sets import word_set

GIVEN_NAMES = word_set("""
achim adele adrian agnes alexander alexandra alfred alice alina alma amelie andrea andreas angela angelika anja anke
anna anne annegret annelie anneliese annika antje anton antonia arne arthur astrid axel barbara bastian beate beatrix
ben benedikt benjamin bente bernadette bernd bernhard bert birgit birte bjarne björn brigitte bruno carla carlo carolin
carsten caspar celina charlotte christa christian christiane christina christine christoph christopher clara claudia
claus clemens constanze cora cornelia dagmar daniel daniela david denise dennis detlef diana dieter dietmar dirk
dominik dora doris dorothea eberhard eckhard edda edgar edith eduard egon elena elias elisa elisabeth elke ella ellen
elsa elvira emil emilia emily emma emre erhard eric erich erik erika erna ernst erwin esther eva evelyn fabian fatma
felix ferdinand finja finn florian franz franziska frauke freya frida friederike friedrich fritz gabi gabriel gabriele
georg gerd gerda gerhard gertrud gisela gitta greta gudrun gustav günter günther hanna hannah hannelore hannes hans
harald hartmut hatice hedwig heide heidi heike heiko heiner heinrich heinz helena helene helga helmut henning henri
henriette henrik henry herbert hermann hilde hildegard holger horst hubert hugo ida ilona ilse ines inga inge ingeborg
ingo ingrid irene iris irmgard isabel isabella ivan jakob jan jana janina jannik jasmin jens jessica joachim jochen
johann johanna johannes jonas jonathan josef josefine joshua judith jule julia julian juliane julius jutta jörg jürgen
kai karin karina karl karla karsten katharina kathrin katja katrin kevin kirsten klaas klara klaus konrad konstantin
korbinian kristin kurt käthe lara larissa lars laura lea leander lena lene leni lennart leon leonard leonhard leonie
leopold levin liam lieselotte lilli lina linda linus lisa lisbeth lorenz lothar lotta lotte louis louisa luca luisa
lukas lutz luzia magda magdalena maike maja malte manfred manuel manuela marc marcel marco marcus mareike maren
margarete margit margret maria marianne marie marieke marina mario marion marius markus marlene marlies marta martha
martin martina mathilda mathilde matthias max maximilian maya mechthild mehmet meike melanie merle mia michael michaela
michel mila milan mira miriam mohammed monika moritz murat mustafa nadine nadja natalie natascha nele nico nicolas
nicole niels nils nina noah nora norbert olaf ole oliver oskar ottilie otto pascal patricia patrick paul paula pauline
peter petra philipp pia rainer raphael rebecca regina reinhard reinhold renate richard rita robert robin roland rolf
romy rosa rosemarie roswitha rudolf ruth sabine sabrina samuel sandra sara sarah sascha sebastian selma semra siegfried
sigrid silke silvia simon simone sina sofia sofie sonja sophia sophie stefan stefanie steffen stephan stephanie susanne
sven svenja swantje sybille sylvia tamara tanja theo theodor theresa therese thomas thorsten till tilman tim timo tina
tobias tom torben torsten udo ulf ulla ulrich ulrike ursula ute uwe valentin vanessa vera verena veronika viktor
viktoria vincent volker walter waltraud wendelin wenzel werner wiebke wilhelm willi wolfgang wolfram xaver yannick
yusuf yvonne zeynep zoe
""")
