/**
 * Words that carry no meaning of their own in English, Spanish and Chinese. A query's stop words score nothing and select nothing;
 * a stored text keeps them, since a word of one language is a name in another ("IT", "Will", "Para").
 * Lower case, without apostrophes, as `words.ts` cuts them; Spanish with and without accents.
 */

const ENGLISH = `a about above after again all also am an and any are arent as at be because been before being below between both but by can cannot
cant could couldnt did didnt do does doesnt doing dont down during each either every few for from further had hadnt has hasnt have havent having he her here hers
herself him himself his how i id ill im in into is isnt it its itself ive just may me might mightnt more most must mustnt my myself neither
no nor not of off on once only or other our ours ourselves out over own s same shall she should shouldnt so some such t than that
thats the their theirs them themselves then there theres these they theyre this those through to too under until up us very was wasnt we were
werent what whats when where which while who whom whose why will with wont would wouldnt yet you your youre yours yourself yourselves`;

const SPANISH = `al algo algún algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos aquí así aún aunque cada como cómo con
contra cual cuál cuales cuáles cualquier cuando cuándo cuanta cuánta cuantas cuántas cuanto cuánto cuantos cuántos de del desde donde dónde durante e el él ella ellas ello ellos
en entre era eran es esa esas ese eso esos esta está están estas este esto estos estoy fue fueron ha hace han hasta hay he hemos la las le les lo los
más mas me mi mí mis mucho muchos muy nada ni nos nosotros nuestra nuestro o os otra otras otro otros para pero poco por porque pues que qué
quien quién quienes quiénes se según ser si sí sido sin sobre son soy su sus también tan tanto te tiene tienen todo toda todos todas tu tú
tus tuvo u un una unas uno unos usted ustedes y ya yo`;

const CHINESE = `的 地 得 了 着 过 在 是 有 和 与 及 或 也 都 就 而 而且 但 但是 因为 所以 如果 虽然 则 把 被 对 对于 从 到 向 给 让 使 用 以 以及 于 之 其 其中
这 那 这个 那个 这些 那些 这里 那里 此 该 各 每 某 我 你 您 他 她 它 我们 你们 他们 她们 它们 自己 什么 什 么 谁 哪 哪个 哪些 哪里 哪儿 何 何时 何地 怎么 怎样 怎么样 如何
为什么 为何 多少 几 吗 呢 吧 啊 呀 嘛 个 些 一个 一些 一种 不 没 没有 很 非常 更 最 又 还 再 只 会 能 可以 可能 应该 要 将 曾 已 已经 正在 时 时候 之间 之后 之前 中 上 下 里 等 为 由 所`;

const unaccented = (word: string) =>
  word
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC");

const split = (list: string) => list.split(/\s+/);

export const englishStopWords: ReadonlySet<string> = new Set(split(ENGLISH));
export const spanishStopWords: ReadonlySet<string> = new Set(split(SPANISH).flatMap((word) => [word, unaccented(word)]));
export const chineseStopWords: ReadonlySet<string> = new Set(split(CHINESE));

const everyStopWord: ReadonlySet<string> = new Set([...englishStopWords, ...spanishStopWords, ...chineseStopWords]);

/** True for a lower-case word of any of the three lists. */
export const isStopWord = (word: string): boolean => everyStopWord.has(word);
