"""Words by which a sentence in one of nine languages shows its kind: English, German, Spanish, French, Portuguese,
Italian, Russian, Japanese and Chinese."""

import re
from collections.abc import Iterable

LETTERS = r"[^\W\d_]"


def spaced(*lists: str) -> re.Pattern[str]:
    """A pattern for whole words and phrases, separated by commas or line breaks. A trailing star allows endings."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(_alternatives(lists))})(?!\w)", re.IGNORECASE)


def opening(*lists: str) -> re.Pattern[str]:
    """The same at the beginning of a sentence, after words such as "and" or "oh"."""
    return re.compile(rf"{_LEAD}(?:{'|'.join(_alternatives(lists))})(?!\w)", re.IGNORECASE)


def unspaced(words: str) -> re.Pattern[str]:
    """A pattern for words of Japanese and Chinese, which are written without spaces."""
    return re.compile("|".join(words.split()))


def _alternatives(lists: Iterable[str]) -> list[str]:
    words = {word.strip() for words in lists for word in re.split(r"[,\n]", words) if word.strip()}
    return [
        re.escape(word).replace(r"\*", r"\w*").replace(r"\ ", r"\s+").replace("'", "['’]")
        for word in sorted(words, key=lambda word: (-len(word), word))
    ]


_LEAD = (
    r"^[\W_]*(?:(?:and|but|so|oh|ok|okay|well|also|btw|by the way|hey|hi|yeah|yes|no|und|aber|also|ach|übrigens|na|ja|"
    r"y|"
    r"pero|bueno|por cierto|et|mais|donc|alors|au fait|e|mas|então|aliás|ma|allora|comunque|и|а|но|ну|кстати)"
    r"(?!\w)[\s,:;.!–—-]*){0,3}"
)

FIRST_PERSON = spaced(
    "i, i'm, i've, i'd, i'll, im, ive, me, my, mine, myself, we, we're, we've, we'll, our, ours, us, user, the user",
    "user's",
    "ich, mich, mir, mein, meine, meinem, meinen, meiner, wir, uns, unser, unsere, unserem, unseren",
    "yo, mi, mis, mí, conmigo, nosotros, nuestro, nuestra, nuestros, tengo, soy, estoy, prefiero, vivo, trabajo",
    "je, j'ai, j'habite, j'aime, j'utilise, j'étais, moi, mon, ma, mes, nous, notre, nos",
    "eu, meu, minha, meus, minhas, comigo, nós, nosso, nossa, tenho, sou, estou, prefiro, moro, trabalho",
    "io, mio, mia, miei, mie, noi, nostro, nostra, ho, sono, preferisco, abito, lavoro, vivo",
    "я, мне, меня, мной, мой, моя, моё, мои, моего, моей, моему, мы, нас, нам, наш, наша, наши",
)
FIRST_PERSON_CJK = unspaced("私 僕 俺 うち わたし ぼく 我 我们 咱们 我家")
OPENS_FIRST_PERSON = opening(
    "i, i'm, i've, i'd, i'll, im, ive, we, we're, we've, we'll, ich, wir, yo, nosotros, je, j'ai, j'habite, nous",
    "eu, nós, io, noi, я, мы",
)
SECOND_PERSON = spaced(
    "you, your, you're, yours, u",
    "du, dir, dich, dein, deine, sie, ihnen, tú, te, ti, usted, tu, toi, vous, votre, você, seu, lei, ты, тебе",
    "тебя, вы, вам",
)
SECOND_PERSON_CJK = unspaced("あなた 你 您")
OPENS_WITH_PRONOUN = opening(
    "it, it's, its, this, that, that's, these, those, there, there's, they, he, she",
    "das, es, dies, er, esto, eso, está, ça, c'est, cela, isso, isto, questo, quello, это, то, он, она, оно, они",
)
NEGATION = spaced(
    "not, no, never, n't, don't, doesn't, can't, cannot, won't, isn't, aren't, didn't, without, none, nothing, dont",
    "cant",
    "nicht, kein, keine, keinen, keinem, nie, niemals, ohne, nada, nunca, jamás, sin, ningún, ninguna",
    "ne, n'*, pas, jamais, sans, aucun, aucune, não, nunca, sem, nenhum, nenhuma, non, mai, senza, nessun*",
    "не, нет, никогда, без, нельзя, ни",
)
NEGATION_CJK = unspaced("ない ません なし 不 没 別 别 无")
OBLIGATION = spaced(
    "must, should, shouldn't, need, needs, have to, has to, ought to, required, requires, mustn't, make sure",
    "from now on, going forward, please",
    "muss, müssen, soll, sollen, sollte, bitte, ab jetzt, künftig, darf, dürfen, debe, deben, tiene que, hay que",
    "por favor, a partir de ahora",
    "doit, doivent, il faut, faut, désormais, s'il te plaît, merci de, deve, devem, precisa, tem que",
    "a partir de agora, por favor, bisogna, devono, d'ora in poi, per favore",
    "должен, должна, должны, надо, нужно, обязательно, теперь, пожалуйста, впредь",
)
OBLIGATION_CJK = unspaced("ください 必ず べき 必要 これから してね してほしい 必须 应该 需要 请 以后 务必")
ALWAYS = spaced(
    "always, never, every, each, usually, often, daily, weekly, monthly, only, rather, instead, whenever, unless",
    "twice, nightly",
    "immer, nie, jeden, jede, jedes, täglich, meistens, oft, nur, lieber, statt, siempre, nunca, cada, todos los",
    "solo, sólo, suele*",
    "toujours, jamais, chaque, tous les, toutes les, souvent, seulement, plutôt, sempre, todo, todos, todas, cada",
    "geralmente, apenas, sempre, mai, ogni, tutti i, di solito, solo",
    "всегда, никогда, каждый, каждую, каждое, обычно, часто, только, лучше, вместо",
)
ALWAYS_CJK = unspaced("いつも 毎日 毎週 毎朝 必ず だけ 每天 每周 总是 只 一直 从不 经常")
DATES = spaced(
    "monday*, tuesday*, wednesday*, thursday*, friday*, saturday*, sunday*, january, february, march, april, may",
    "june, july, august, september, october, november, december",
    "jan, feb, mar, apr, jun, jul, aug, sep, sept, oct, nov, dec, mon, tue, tues, wed, thu, thur, thurs, fri, sat, sun",
    "tomorrow, yesterday, tonight, next week, last week, next month, last month, weekend, spring, summer, autumn",
    "winter, birthday, anniversary, deadline",
    "montag*, dienstag*, mittwoch*, donnerstag*, freitag*, samstag*, sonntag*, januar, februar, märz, mai, juni",
    "juli, oktober, dezember, morgen, gestern, nächste woche, wochenende, geburtstag, frühjahr",
    "lunes, martes, miércoles, jueves, viernes, sábado*, domingo*, enero, febrero, marzo, abril, mayo, junio, julio",
    "agosto, septiembre, octubre, noviembre, diciembre, mañana, ayer, cumpleaños",
    "lundi*, mardi*, mercredi*, jeudi*, vendredi*, samedi*, dimanche*, janvier, février, mars, avril, juin, juillet",
    "août, septembre, octobre, novembre, décembre, demain, hier, anniversaire",
    "segunda*, terça*, quarta*, quinta*, sexta*, janeiro, fevereiro, março, maio, junho, julho, setembro, outubro",
    "novembro, dezembro, amanhã, ontem, aniversário",
    "lunedì, martedì, mercoledì, giovedì, venerdì, sabato, domenica, gennaio, febbraio, aprile, maggio, giugno",
    "luglio, settembre, ottobre, novembre, dicembre, domani, ieri, compleanno",
    "понедельник*, вторник*, сред*, четверг*, пятниц*, суббот*, воскресень*, январ*, феврал*, март*, апрел*, мая",
    "мае, июн*, июл*, август*, сентябр*, октябр*, ноябр*, декабр*, завтра, вчера, день рождения",
)
DATES_CJK = unspaced("""
月曜 火曜 水曜 木曜 金曜 土曜 日曜 月 明日 昨日 来週 先週 誕生日 周一 周二 周三 周四 周五 周六 周日
星期 明天 昨天 下周 生日 号
""")
RELATIONS = spaced(
    "wife, husband, partner, son, daughter, kid, kids, child, children, baby, mother, mom, mum, father, dad",
    "parents, brother, sister, aunt, uncle, cousin, niece, nephew, grandma, grandpa, grandmother, grandfather",
    "friend, neighbour, neighbor, boss, manager, colleague, dog, cat, landlord, doctor, dentist, vet, girlfriend",
    "boyfriend, flatmate, roommate, in-laws",
    "frau, mann, sohn, tochter, kind, kinder, mutter, mama, vater, papa, eltern, bruder, schwester, tante, onkel",
    "freund, freundin, nachbar*, chef*, kolleg*, hund, katze, oma, opa, schwieger*",
    "mujer, marido, esposo, esposa, pareja, hijo, hija, hijos, madre, padre, padres, hermano, hermana, tía, tío",
    "abuel*, amig*, vecin*, jefe, jefa, compañer*, perro, perra, gato, gata, suegr*",
    "femme, mari, fils, fille, enfant*, mère, père, parents, frère, sœur, soeur, tante, oncle, ami, amie, voisin*",
    "patron*, collègue*, chien, chat, belle-*, grand-mère, grand-père",
    "mulher, marido, esposa, filho, filha, filhos, mãe, pai, pais, irmão, irmã, tia, tio, avó, avô, vizinh*, chefe",
    "colega, cachorro, cão, gato, sogr*, namorad*",
    "moglie, marito, figlio, figlia, figli, madre, mamma, padre, papà, genitori, fratello, sorella, zia, zio, nonn*",
    "amic*, vicin*, capo, collega, cane, gatto, suocer*",
    "жена, муж, сын, дочь, дочка, дети, ребёнок, мама, мать, папа, отец, родител*, брат, сестра, тётя, дядя",
    "бабушк*, дедушк*, друг, подруг*, сосед*, начальни*, коллег*, собак*, кошк*, тёщ*, свекров*, жену, мужа, сына",
    "отца, маму, брата, сестру",
)
RELATIONS_CJK = unspaced("""
夫 妻 息子 娘 子供 母 父 両親 兄 姉 弟 妹 祖母 祖父 友達 友人 上司 同僚 犬 猫 老婆 老公 丈夫 妻子
儿子 女儿 孩子 妈妈 爸爸 母亲 父亲 哥哥 姐姐 弟弟 妹妹 奶奶 爷爷 朋友 邻居 老板 同事 狗
""")
STATES = spaced(
    "is, am, are, i'm, lives, live, works, work, likes, like, loves, love, hates, hate, prefers, prefer, uses, use",
    "has, have, owns, called, named, born, allergic, allergy, vegetarian, vegan, celiac, coeliac, diabetic, moved",
    "married, switched, started, starts, quit, bought, booked, costs, belongs, speaks, plays, drives, takes",
    "expires, opens, closes, runs, keeps, needs, wants",
    "ist, bin, sind, wohnt, wohne, arbeitet, arbeite, mag, liebt, hasse, nutzt, nutze, hat, habe, haben, heißt",
    "heiße, allergisch, umgezogen, spielt, fährt, gehört, verträgt",
    "es, soy, son, vive, vivimos, trabaja, gusta, gustan, encanta, odio, prefiere, usa, uso, usamos, tiene, tenemos",
    "llama, alérgic*, celíac*, mudado, toca, empieza, cambiado",
    "est, suis, sont, habite, habitons, travaille, aime, adore, déteste, préfère, utilise, a, ai, avons, appelle",
    "allergique, déménagé, joue, commence",
    "é, são, mora, moramos, trabalha, gosta, gosto, adora, odeio, prefere, usa, tem, temos, chama, alérgic*, mudou",
    "mudei, mudamos, toca, começa",
    "è, sono, abita, abitiamo, lavora, piace, piacciono, ama, odio, preferisce, usa, usiamo, ha, abbiamo, chiama",
    "allergic*, trasferit*, suona, inizia",
    "живёт, живу, живем, живём, работает, работаю, люблю, любит, ненавижу, предпочитаю, использую, используем",
    "зовут, аллерги*, переехал*, играет, есть, начинает, купил*, вышла",
)
STATES_CJK = unspaced("""
です だ 住 働 好き 嫌い アレルギー 転職 引っ越 使 持っ 飼っ 通っ 名前 始め 是 住在 工作 喜欢 讨厌
过敏 搬 用 有 养 叫 换
""")
CHATTER = opening(
    "hi, hello, hey, morning, good morning, good evening, good night, evening, thanks, thank you, thx, ty, cheers",
    "great, nice, cool, perfect, awesome, sounds good, ok, okay, sure, yep, yes, yeah, nope, no worries, lol, haha*",
    "hahaha, hmm, hm, wow, ugh, oops, bye, see you, later, got it, done, works, let's, lets, alright, right, sorry",
    "no problem, exactly, agreed, never mind, nevermind, welcome, congrats, congratulations, good, fine, enjoy",
    "hallo, moin, guten morgen, guten tag, guten abend, danke*, super, toll, prima, alles klar, gern, gerne",
    "tschüss, bis später, bis dann, bis morgen, genau, stimmt, na gut, schon gut, los geht's, mal sehen, schade",
    "schön, verstanden",
    "hola, buenos días, buenas, buenas tardes, gracias, vale, genial, perfecto, claro, jaja*, adiós, hasta luego",
    "hasta mañana, de nada, qué bien, de acuerdo, vamos, bueno, muy bien",
    "bonjour, bonsoir, salut, coucou, merci*, super, parfait, d'accord, génial, bien sûr, haha, à plus, à demain",
    "au revoir, bonne nuit, bonne journée, pas de souci, allons-y, c'est parti, très bien, bravo",
    "olá, oi, bom dia, boa tarde, boa noite, obrigad*, valeu, ótimo, perfeito, claro, kkk*, rsrs*, tchau, até logo",
    "até amanhã, de nada, vamos, beleza, tá bom, que bom",
    "ciao, buongiorno, buonasera, buonanotte, grazie*, perfetto, ottimo, va bene, certo, ahah*, a dopo, a domani",
    "arrivederci, prego, figurati, andiamo, che bello, benissimo",
    "привет, здравствуй*, доброе утро, добрый день, добрый вечер, спасибо*, отлично, супер, хорошо, ладно, ха-ха*",
    "хаха*, пока, до свидания, до завтра, до вечера, до встречи, пожалуйста, конечно, договорились, понятно, ясно",
    "давай, ну что, начнём",
)
CHATTER_CJK = re.compile(
    r"^(?:おはよう|こんにちは|こんばんは|おやすみ|ありがとう|うん|はい|ええ|ははは|笑|じゃあ|さて|よろしく|お疲れ|了解|すごい|"
    r"またあとで|またね|いいね|なるほど|お願いします|你好|早上好|晚上好|早安|晚安|谢谢|多谢|好的|好吧|好|嗯|哈哈|再见|拜拜|"
    r"没问题|不客气|明白|收到|太好了|开始吧|辛苦)"
)
WORK_CHATTER = spaced(
    "deploy*, build, builds, test, tests, tested, pr, prs, commit*, merge*, branch, refactor*, bug, bugs, lint*, ci",
    "pipeline, pushed, rebased, stack trace, console, log, logs, error, errors, exception, function, method",
    "variable, class, endpoint, query, null, script, fixed, fix, debug*, ran, rerun, compile*, import*, typo, docs",
    "ticket, standup, sprint, meeting, call, slide*, draft*, doc, sheet, email*, inbox, agenda",
)
PROGRESS = opening(
    "fixed, added, updated, removed, renamed, refactored, merged, pushed, ran, reran, debugged, investigated",
    "checked, looked, reviewed, explained, discussed, talked, went, tried, tested, wrote, created, moved the",
    "cleaned, walked, helped, asked, answered, drafted, summarized, summarised, finished, completed, implemented",
    "committed, opened, closed, restarted, installed, started, continued, working on, looking, reading, running",
    "let me, i'll, i will, now, next, then, first, running, user asked, the user asked, session, nothing",
    "habe, haben, heute, gerade, danach, dann, jetzt, besprochen, getestet, hoy, ahora, luego, después, revisamos",
    "hablamos, probamos, aujourd'hui, maintenant, ensuite, on a, nous avons, hoje, agora, depois, conversamos",
    "testamos, oggi, adesso, poi, abbiamo, сегодня, сейчас, потом, обсуждали, проверили, посмотрели",
)
PREFERENCE = spaced(
    "prefer*, favourite, favorite, rather, instead of, likes, loves, hates, can't stand, allergic, allergy",
    "intolerant, diet, vegetarian, vegan, agreed, decided, decision, rule, policy, convention, standard",
    "password hint, lives, works at, moved to, birthday, born, lieber, bevorzug*, allergisch, entschieden",
    "vereinbart, preferir, prefier*, prefiro, alergi*, decidi*, préfèr*, allergi*, décidé, convenu, preferi*",
    "deciso, предпочит*, аллерги*, решили, договорились",
)
ROOT_CAUSES = spaced(
    "root cause, because, turns out, turned out, the trick, lesson, workaround, only works, only if, requires",
    "expects, must be, default, defaults, limit*, version, port, path, config*, setting, weil, ursache",
    "stellte sich heraus, läuft nur, porque, la causa, solo acepta, parce que, la cause, perché, la causa, causa",
    "потому что, причина, оказалось, выяснилось, если",
)
ROOT_CAUSES_CJK = unspaced("原因 ため から 解決 ので 因为 原因 所以 发现 只能")
PASSING = spaced(
    "right now, again, today, tonight, at the moment, just, still, yet, finally, soon, later, this morning, this week",
    "this time, so far, almost, nearly, already, for now, for a while, a bit, one moment, in a minute, last night, "
    "all day",
    "all morning, gerade, heute, wieder, noch, gleich, endlich, fast, schon, eben, momentan, ein bisschen",
    "ahora, hoy, todavía, otra vez, de nuevo, por fin, casi, ya, un rato, un poco, luego",
    "maintenant, aujourd'hui, encore, enfin, presque, déjà, tout à l'heure, un peu, pour l'instant, en ce moment",
    "agora, hoje, ainda, de novo, outra vez, finalmente, quase, já, um pouco, por enquanto",
    "adesso, oggi, ancora, di nuovo, finalmente, quasi, già, un po', per ora, al momento",
    "сейчас, сегодня, опять, снова, ещё, наконец, почти, уже, пока, немного, скоро",
)
PASSING_CJK = unspaced(
    "今日 今 まだ また さっき ちょっと やっと もうすぐ 现在 今天 刚才 刚刚 又 还没 还在 一会儿 终于 快要"
)
POSSIBLE = spaced(
    "could, might, may, maybe, perhaps, probably, possibly, would, i guess, i think, seems, seemed, looks like",
    "könnte, vielleicht, wahrscheinlich, würde, wäre, scheint, podría, quizás, tal vez, probablemente, parece, "
    "creo que",
    "pourrait, peut-être, probablement, serait, semble, je crois, poderia, talvez, provavelmente, seria, acho que",
    "potrebbe, forse, probabilmente, sarebbe, sembra, credo che, возможно, наверное, может быть, кажется, мог бы, бы",
)
POSSIBLE_CJK = unspaced("かも たぶん でしょう みたい らしい かな 可能 也许 大概 好像 应该是")
GENERAL = opening(
    "a, an, some, most, many, all, people, everyone, everybody, nobody, somebody, someone, anyone, few, several",
    "ein, eine, einige, viele, die meisten, man, jemand, niemand, alle, un, una, algunos, muchos, la gente, alguien, "
    "nadie",
    "une, des, certains, beaucoup, les gens, on, quelqu'un, personne, um, uma, alguns, muitos, as pessoas, alguém, "
    "ninguém",
    "alcuni, molti, la gente, qualcuno, nessuno, некоторые, многие, люди, кто-то, никто, все",
)
OPENS_WITH_THE = opening("the, der, die, das, el, la, los, las, le, les, l'*, o, a, os, as, il, lo, i, gli")
INVENTED = spaced(
    "story, novel, film, movie, game, series, dream, character, hero, heroine, villain, poem, song, joke, proverb, "
    "saying",
    "example, sample, demo, placeholder, persona, dragon, wizard, princess, elf, knight, detective, puzzle, exercise",
    "article, headline, magazine, newspaper, documentary, quiz, wikipedia, forum, thread, museum, president, queen, "
    "king",
    "singer, actor, author, band, roman, buch, spiel, figur, gedicht, lied, witz, beispiel, artikel, zeitung",
    "novela, película, juego, personaje, poema, canción, chiste, ejemplo, artículo, periódico",
    "jeu, personnage, poème, chanson, blague, exemple, article, journal, histoire, livre",
    "romance, filme, jogo, personagem, canção, piada, exemplo, artigo, jornal, livro, história",
    "romanzo, gioco, personaggio, poesia, canzone, barzelletta, esempio, articolo, giornale, libro, storia",
    "роман, фильм, игра, герой, стихотворение, песня, шутка, пример, статья, книга, сериал",
)
INVENTED_CJK = unspaced(
    "小説 映画 ゲーム 主人公 歌 冗談 例 記事 本 ドラマ 小说 电影 游戏 主角 歌 笑话 例子 文章 书 电视剧"
)
PROGRAMS = spaced(
    "function, method, class, parser, compiler, server, worker, thread, process, loop, query, table, column, endpoint",
    "button, page, site, script, job, queue, container, pod, cluster, socket, request, response, variable, module",
    "component, decorator, regex, linter, crawler, cron, disk, cpu, latency, cache, epoch, loss, accuracy, pipeline",
    "paragraph, headline, draft, slide, slides, font, chapter, figure, line, file, folder, link, attachment, "
    "screenshot",
)
ONE_OFF = opening(
    "rename, run, rerun, fix, delete, swap, sort, draw, show, give me, give, find, look, set, play, turn, wait, try",
    "translate, help, explain, compare, list, add, remove, move, open, convert, check, summarize, summarise, shorten",
    "please fix, please add, please run, please look, please check, please give, please order, please rename, "
    "please find",
    "please send that, please send this, please make, make it, make the, make this, make a, put the, put it, can you",
    "zeig, such, gib, erklär*, übersetz*, mach, öffne, lösch*, füge, muéstrame, busca, dame, explica, traduce, haz, "
    "abre",
    "borra, montre, cherche, donne, explique, traduis, fais, ouvre, efface, mostra, procura, dá-me, explica, traduz, "
    "faz",
    "abre, apaga, mostra, cerca, dammi, spiega, traduci, fai, apri, cancella, покажи, найди, дай, объясни, переведи",
    "сделай, открой, удали",
)
PLEASE = spaced(
    "please, pls, plz, from now on, bitte, por favor, porfa, s'il te plaît, s'il vous plaît, stp, merci de, per favore",
    "per piacere, пожалуйста, ab jetzt, ab sofort, a partir de ahora, a partir de agora, désormais, d'ora in poi",
)
# Results of a session or a meeting, named as such.
OUTCOMES = opening(
    "root cause, the root cause, left open, still open, open end, open ends, open question, open:, still missing",
    "decision, decided, agreed, action, action item, next step, next steps, follow-up, lesson, lesson learned",
    "takeaway, rejected",
    "offen, noch offen, beschlossen, beschluss, entscheidung, aufgabe, ursache, nächste schritte, pendiente, acordado",
    "decisión, causa, reste à faire, décidé, décision, action, cause, da fare, deciso, decisione, falta, pendente",
    "decidido, decisão, решено, осталось, причина",
)
# Requests about how the agent answers and writes.
ASKS_HOW = opening(
    "please always, pls always, please never, pls never, always, never, answer, reply, respond, write, explain",
    "use, give",
    "antworte*, schreib*, erklär*, nutze, verwende, nenn*, réponds*, écris, explique*, utilise*, responde*, contesta",
    "escribe, explica, usa, rispondi*, scrivi*, spiega*, responda, escreve, escreva, explique, use, отвечай, пиши",
    "объясняй, используй, toujours, jamais, immer, nie, siempre, nunca, sempre, mai, всегда, никогда",
)
ADDS_A_WISH = re.compile(
    r"[\W_]{0,6}(?:(?:and|also|und|auch|et|aussi|y|también|e|anche|também|и|ещё)\s{1,4}){0,2}(?:please\s)?"
    r"(?:no|not|never|without|keine?n?|ohne|pas|sans|jamais|sin|nada de|nunca|sem|nunca|niente|senza|mai|non|без|не)\s"
    r"(?:\S{1,40}\s?){1,7}$",
    re.IGNORECASE,
)
# Of health and diet: what a person must not be asked twice.
VITAL = spaced(
    "allerg*, intolerant, intolerance, celiac, coeliac, diabet*, asthma, epilep*, pacemaker, pregnant, epipen, insulin",
    "inhaler, vegan, vegetarian, kosher, halal, gluten, lactose, nuts, peanut*, shellfish, medication, meds, "
    "blood type",
    "rash, hives, anaphyla*, blood thinner*, blutverdünn*, heart condition, vaccinat*",
    "migraine*, surgery, red meat, pork, dairy, unverträglich*, verträgt, zöliakie, schwanger, vegetari*, nüsse, "
    "allergisch",
    "alérgi*, alergia, celíac*, embarazada, vegetarian*, marisco, cacahuete*, enceinte, végétari*, végane, cœliaque",
    "arachide*, noix, grávida, amendoim, celiac*, incinta, arachidi, noci, celiachia, lattosio",
    "аллерги*, целиаки*, диабет*, беременн*, вегетариан*, веган*, орех*, астма, инсулин",
)
VITAL_CJK = unspaced("アレルギー 妊娠 糖尿病 喘息 ベジタリアン 菜食 薬 过敏 怀孕 糖尿病 哮喘 素食 吃素 药")
