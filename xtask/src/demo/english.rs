//! The English-like toy: its words and its rules.
//!
//! Some words have a tag that only another word, some positions away, decides. After *has* a form in
//! *-ed* is a verb, after *is* an adjective; *to work*
//! is a particle and a verb after *wants*, an adposition and a noun after *goes*; *fast* is an
//! adverb after a verb of action and an adjective after *is*; a form in *-ing* is a verb after
//! *keeps* and a noun after *enjoys*. The words in between and the words that follow are drawn
//! independently of the trigger, so that a language model has no reason to distinguish the readings.

use super::words::{Draw, Phrase, Toy as _, ToySentence, add_phrase};

pub(super) type Verb = (&'static str, &'static str, &'static str);

pub(super) const NOUNS: &[&str] = &[
    "river", "garden", "window", "doctor", "village", "bridge", "forest", "kitchen", "lantern", "captain",
    "mountain", "harbor", "barn", "pond", "meadow", "basket", "blanket", "candle", "kettle", "sailor",
    "orchard", "valley", "wagon", "market", "island", "tower", "cellar", "shepherd", "castle", "storm",
];
/// Nouns and verbs of one form.
const ACTS: &[&str] = &[
    "work", "rest", "walk", "play", "talk", "help", "drift", "camp", "fish", "cook", "hunt", "march",
    "climb", "dream", "sketch", "harvest", "search", "sport", "slumber", "travel",
];
const ACT_PREFIXES: &[&str] = &["over", "out", "fore"];
/// Verbs whose *-ed* form is a participle or an adjective, and whose *-ing* form is a verb or a
/// noun.
const MAKES: &[&str] = &[
    "clean", "open", "mend", "sort", "polish", "lock", "pack", "load", "warm", "sharpen", "loosen", "fasten",
    "gather", "cover", "finish", "twist", "fold", "crack", "wash", "melt", "frost", "salt", "plant", "paint",
];
const MAKE_PREFIXES: &[&str] = &["un", "re", "half"];
const ADJECTIVES: &[&str] =
    &["quiet", "bright", "narrow", "gentle", "heavy", "bitter", "hollow", "crooked", "modest", "ancient"];
/// Adjectives that are also nouns for a group of people.
const GROUPS: &[&str] = &["young", "old", "poor", "brave", "blind", "sick"];
const ADJECTIVE_SUFFIXES: &[&str] = &["ful", "less", "like"];
const NOUN_SUFFIXES: &[&str] = &["land", "side", "yard", "hand"];
pub(super) const NAMES: &[&str] = &["anna", "peter", "grace", "rose", "mark", "frank", "will", "lucy"];
/// Adverbs, or adjectives after a copula.
const MANNERS: &[&str] = &["fast", "hard", "late", "early", "straight", "deep", "loud", "low"];
pub(super) const DEGREES: &[&str] = &["very", "rather", "so", "quite"];

const WANTS: &[Verb] = &[
    ("want", "wants", "wanted"),
    ("hope", "hopes", "hoped"),
    ("need", "needs", "needed"),
    ("wish", "wishes", "wished"),
    ("expect", "expects", "expected"),
];
const GOES: &[Verb] = &[
    ("go", "goes", "went"),
    ("return", "returns", "returned"),
    ("drive", "drives", "drove"),
    ("rush", "rushes", "rushed"),
    ("come", "comes", "came"),
];
const KEEPS: &[Verb] = &[
    ("keep", "keeps", "kept"),
    ("start", "starts", "started"),
    ("stop", "stops", "stopped"),
    ("resume", "resumes", "resumed"),
];
const ENJOYS: &[Verb] = &[
    ("enjoy", "enjoys", "enjoyed"),
    ("praise", "praises", "praised"),
    ("teach", "teaches", "taught"),
    ("study", "studies", "studied"),
];
const ACTIONS: &[Verb] = &[
    ("swim", "swims", "swam"),
    ("speak", "speaks", "spoke"),
    ("fall", "falls", "fell"),
    ("arrive", "arrives", "arrived"),
    ("grow", "grows", "grew"),
    ("ride", "rides", "rode"),
];
const SAYS: &[Verb] = &[("say", "says", "said"), ("know", "knows", "knew"), ("think", "thinks", "thought")];
const TAKES: &[Verb] = &[
    ("see", "sees", "saw"),
    ("find", "finds", "found"),
    ("like", "likes", "liked"),
    ("carry", "carries", "carried"),
];
const HAVE: Verb = ("have", "has", "had");
pub(super) const COPULAS: &[Verb] = &[("be", "is", "was"), ("be", "is", "was"), ("seem", "seems", "seemed")];

const BETWEEN: &[Phrase] = &[
    &[("still", "ADV")],
    &[("never", "ADV")],
    &[("not", "PART"), ("yet", "ADV")],
    &[("almost", "ADV"), ("always", "ADV")],
    &[("once", "ADV"), ("again", "ADV")],
    &[("by", "ADP"), ("now", "ADV")],
    &[("at", "ADP"), ("home", "NOUN")],
    &[("every", "DET"), ("day", "NOUN")],
    &[("as", "ADP"), ("ever", "ADV")],
];
const AFTER: &[Phrase] = &[
    &[("today", "ADV")],
    &[("here", "ADV")],
    &[("all", "DET"), ("winter", "NOUN")],
    &[("at", "ADP"), ("night", "NOUN")],
];
pub(super) const ADPOSITIONS: &[&str] = &["in", "near", "with", "behind", "under"];
/// Adpositions, or conjunctions where a clause follows.
const TIMES: &[&str] = &["before", "after", "since", "until"];
const INTERJECTIONS: &[&str] = &["well", "oh", "yes", "look"];

/// Every morpheme that can start a word, and every one that can continue it.
pub(super) fn morphemes() -> (Vec<&'static str>, Vec<&'static str>) {
    let mut starts: Vec<&str> = [
        NOUNS,
        ACTS,
        ACT_PREFIXES,
        MAKES,
        MAKE_PREFIXES,
        ADJECTIVES,
        GROUPS,
        NAMES,
        MANNERS,
        DEGREES,
        ADPOSITIONS,
        TIMES,
        INTERJECTIONS,
    ]
    .concat();
    for verbs in [WANTS, GOES, KEEPS, ENJOYS, ACTIONS, SAYS, TAKES, &[HAVE], COPULAS] {
        starts.extend(verbs.iter().flat_map(|v| [v.0, v.1, v.2]));
    }
    for phrase in BETWEEN.iter().chain(AFTER) {
        starts.extend(phrase.iter().map(|(form, _)| *form));
    }
    starts.extend([
        "the", "a", "this", "that", "some", "one", "two", "three", "she", "he", "they", "we", "it", "to",
        "and", "but", "because", "while", "are", "were", "can", "must", ".", "!", ",", "like",
    ]);
    let mut continues: Vec<&str> = [NOUNS, ACTS, MAKES, ADJECTIVE_SUFFIXES, NOUN_SUFFIXES].concat();
    continues.extend(["s", "er", "ed", "ing"]);
    (starts, continues)
}

/// Draws one sentence of any length.
pub(super) fn sentence(draw: &mut Draw) -> ToySentence {
    let mut s = ToySentence::default();
    let interjection = draw.chance(0.06).then(|| {
        let word = s.plain(draw.pick(INTERJECTIONS), "INTJ");
        (word, s.plain(",", "PUNCT"))
    });
    let root = if draw.chance(0.12) {
        let (subject, plural) = subject(&mut s, draw, true);
        let verb = finite(&mut s, draw, SAYS, "VERB", plural);
        s.attach(subject, verb, "nsubj");
        let that = s.plain("that", "SCONJ");
        let inner = clause(&mut s, draw, false);
        s.attach(that, inner, "mark");
        s.attach(inner, verb, "ccomp");
        verb
    } else {
        clause(&mut s, draw, true)
    };
    if s.len() < 8 && draw.chance(0.75) {
        let (form, upos) =
            draw.pick(&[("and", "CCONJ"), ("but", "CCONJ"), ("because", "SCONJ"), ("while", "SCONJ")]);
        let link = s.plain(form, upos);
        let second = clause(&mut s, draw, true);
        let coordinated = upos == "CCONJ";
        s.attach(link, second, if coordinated { "cc" } else { "mark" });
        s.attach(second, root, if coordinated { "conj" } else { "advcl" });
    }
    if let Some((word, comma)) = interjection {
        s.attach(word, root, "discourse");
        s.attach(comma, word, "punct");
    }
    let stop = s.plain(if draw.chance(0.1) { "!" } else { "." }, "PUNCT");
    s.attach(stop, root, "punct");
    s
}

/// A clause; returns its head.
fn clause(s: &mut ToySentence, draw: &mut Draw, pronouns: bool) -> usize {
    let (subject, plural) = subject(s, draw, pronouns);
    let head = match draw.weighted(&[28, 30, 16, 16, 10]) {
        0 => participle(s, draw, plural),
        1 => infinitive(s, draw, plural),
        2 => manner(s, draw, plural),
        3 => gerund(s, draw, plural),
        _ => transitive(s, draw, plural),
    };
    s.attach(subject, head, "nsubj");
    if draw.chance(0.35) {
        tail(s, draw, head);
    }
    head
}

/// *has still mended* (verb) or *is still mended* (adjective).
fn participle(s: &mut ToySentence, draw: &mut Draw, plural: bool) -> usize {
    let verbal = draw.chance(0.5);
    let trigger = if verbal { finite(s, draw, &[HAVE], "AUX", plural) } else { copula(s, draw, plural) };
    let between = add_phrase(s, draw.pick(BETWEEN));
    let (upos, joined) = (if verbal { "VERB" } else { "ADJ" }, draw.chance(0.4));
    let head = made(s, draw, "ed", upos);
    under(s, trigger, head);
    s.attach(between, head, "advmod");
    if joined {
        let and = s.plain("and", "CCONJ");
        let second = made(s, draw, "ed", upos);
        s.attach(and, second, "cc");
        s.attach(second, head, "conj");
    }
    head
}

/// *wants every day to work* (particle, verb) or *goes every day to work* (adposition, noun).
fn infinitive(s: &mut ToySentence, draw: &mut Draw, plural: bool) -> usize {
    let verbal = draw.chance(0.5);
    let verb = finite(s, draw, if verbal { WANTS } else { GOES }, "VERB", plural);
    let between = draw.chance(0.7).then(|| add_phrase(s, draw.pick(BETWEEN)));
    let to = s.plain("to", if verbal { "PART" } else { "ADP" });
    let act = act(s, draw, if verbal { "VERB" } else { "NOUN" });
    s.attach(to, act, if verbal { "mark" } else { "case" });
    s.attach(act, verb, if verbal { "xcomp" } else { "obl" });
    if let Some(between) = between {
        s.attach(between, verb, "advmod");
    }
    if draw.chance(0.3) {
        let and = s.plain("and", "CCONJ");
        let second = self::act(s, draw, if verbal { "VERB" } else { "NOUN" });
        s.attach(and, second, "cc");
        s.attach(second, act, "conj");
    }
    verb
}

/// *swims every day very fast* (adverb) or *is every day very fast* (adjective).
fn manner(s: &mut ToySentence, draw: &mut Draw, plural: bool) -> usize {
    let action = draw.chance(0.5);
    let verb = if action { finite(s, draw, ACTIONS, "VERB", plural) } else { copula(s, draw, plural) };
    let between = add_phrase(s, draw.pick(BETWEEN));
    let degree = draw.chance(0.6).then(|| s.plain(draw.pick(DEGREES), "ADV"));
    let manner = s.plain(draw.pick(MANNERS), if action { "ADV" } else { "ADJ" });
    if let Some(degree) = degree {
        s.attach(degree, manner, "advmod");
    }
    let head = if action { verb } else { manner };
    s.attach(between, head, "advmod");
    if action {
        s.attach(manner, verb, "advmod");
    } else {
        under(s, verb, manner);
    }
    head
}

/// *keeps at home polishing* (verb) or *praises at home polishing* (noun).
fn gerund(s: &mut ToySentence, draw: &mut Draw, plural: bool) -> usize {
    let verbal = draw.chance(0.5);
    let verb = finite(s, draw, if verbal { KEEPS } else { ENJOYS }, "VERB", plural);
    let between = draw.chance(0.8).then(|| add_phrase(s, draw.pick(BETWEEN)));
    let made = made(s, draw, "ing", if verbal { "VERB" } else { "NOUN" });
    s.attach(made, verb, if verbal { "xcomp" } else { "obj" });
    if let Some(between) = between {
        s.attach(between, verb, "advmod");
    }
    verb
}

/// *sees the old bridge*, *can work*, *has the key*.
fn transitive(s: &mut ToySentence, draw: &mut Draw, plural: bool) -> usize {
    if draw.chance(0.35) {
        let modal = s.plain(draw.pick(&["can", "must", "will"]), "AUX");
        let head = act(s, draw, "VERB");
        s.attach(modal, head, "aux");
        return head;
    }
    let verb = match draw.chance(0.4) {
        true => finite(s, draw, &[HAVE], "VERB", plural),
        false => finite(s, draw, TAKES, "VERB", plural),
    };
    let object = noun_phrase(s, draw).0;
    s.attach(object, verb, "obj");
    verb
}

/// What may follow any predicate.
fn tail(s: &mut ToySentence, draw: &mut Draw, head: usize) {
    match draw.weighted(&[35, 30, 20, 15]) {
        0 => {
            let after = add_phrase(s, draw.pick(AFTER));
            s.attach(after, head, "advmod");
        }
        1 => {
            let case = s.plain(draw.pick(ADPOSITIONS), "ADP");
            let noun = noun_phrase(s, draw).0;
            s.attach(case, noun, "case");
            s.attach(noun, head, "obl");
        }
        2 => {
            let case = s.plain(draw.pick(TIMES), "ADP");
            let noun = noun_phrase(s, draw).0;
            s.attach(case, noun, "case");
            s.attach(noun, head, "obl");
        }
        _ => {
            let mark = s.plain(draw.pick(TIMES), "SCONJ");
            let (noun, plural) = noun_phrase(s, draw);
            let verb = finite(s, draw, ACTIONS, "VERB", plural);
            s.attach(mark, verb, "mark");
            s.attach(noun, verb, "nsubj");
            s.attach(verb, head, "advcl");
        }
    }
}

/// A subject and whether it is plural.
fn subject(s: &mut ToySentence, draw: &mut Draw, pronouns: bool) -> (usize, bool) {
    match draw.weighted(&[50, 25, if pronouns { 6 } else { 0 }, 15, 4]) {
        0 => noun_phrase(s, draw),
        1 => {
            let (form, plural) =
                draw.pick(&[("she", false), ("he", false), ("it", false), ("they", true), ("we", true)]);
            (s.plain(form, "PRON"), plural)
        }
        2 => (s.plain(draw.pick(&["this", "that"]), "PRON"), false),
        3 => (s.plain(draw.pick_early(NAMES), "PROPN"), false),
        _ => {
            let the = s.plain("the", "DET");
            let group = s.plain(draw.pick(GROUPS), "NOUN");
            s.attach(the, group, "det");
            (group, true)
        }
    }
}

/// A determiner or number, perhaps an adjective, and a noun; and whether it is plural.
fn noun_phrase(s: &mut ToySentence, draw: &mut Draw) -> (usize, bool) {
    let (form, upos, plural) = draw.pick(&[
        ("the", "DET", false),
        ("the", "DET", true),
        ("the", "DET", false),
        ("a", "DET", false),
        ("this", "DET", false),
        ("that", "DET", false),
        ("some", "DET", true),
        ("one", "NUM", false),
        ("two", "NUM", true),
        ("three", "NUM", true),
    ]);
    let determiner = s.plain(form, upos);
    let adjective = draw.chance(0.2).then(|| adjective(s, draw));
    let stem = noun_stem(draw);
    let form = if plural { format!("{stem}s") } else { stem.clone() };
    let noun = s.add(&form, &stem, "NOUN");
    s.attach(determiner, noun, if upos == "NUM" { "nummod" } else { "det" });
    if let Some(adjective) = adjective {
        s.attach(adjective, noun, "amod");
    }
    (noun, plural)
}

fn noun_stem(draw: &mut Draw) -> String {
    match draw.weighted(&[60, 14, 12, 14]) {
        0 => draw.pick_early(NOUNS).into(),
        1 => draw.pick_early(ACTS).into(),
        2 => format!("{}{}", draw.pick(NOUNS), draw.pick(NOUN_SUFFIXES)),
        _ => {
            let stems = if draw.chance(0.5) { ACTS } else { MAKES };
            format!("{}er", draw.pick(stems))
        }
    }
}

fn adjective(s: &mut ToySentence, draw: &mut Draw) -> usize {
    match draw.weighted(&[50, 30, 20]) {
        0 => s.plain(draw.pick_early(ADJECTIVES), "ADJ"),
        1 => s.plain(draw.pick(GROUPS), "ADJ"),
        _ => {
            let form = format!("{}{}", draw.pick(NOUNS), draw.pick(ADJECTIVE_SUFFIXES));
            s.plain(&form, "ADJ")
        }
    }
}

/// A word of the act class, now and then with a prefix.
fn act(s: &mut ToySentence, draw: &mut Draw, upos: &'static str) -> usize {
    let stem = draw.pick_early(ACTS);
    if draw.chance(0.12) {
        let form = format!("{}{stem}", draw.pick(ACT_PREFIXES));
        return s.plain(&form, upos);
    }
    s.plain(stem, upos)
}

/// A form of the make class, now and then with a prefix.
fn made(s: &mut ToySentence, draw: &mut Draw, suffix: &str, upos: &'static str) -> usize {
    let mut stem = draw.pick_early(MAKES).to_string();
    if draw.chance(0.15) {
        stem = format!("{}{stem}", draw.pick(MAKE_PREFIXES));
    }
    let form = format!("{stem}{suffix}");
    let lemma = if upos == "VERB" { &stem } else { &form };
    s.add(&form, lemma, upos)
}

/// A finite form that agrees with its subject.
fn finite(s: &mut ToySentence, draw: &mut Draw, verbs: &[Verb], upos: &'static str, plural: bool) -> usize {
    let (base, singular, past) = draw.pick(verbs);
    let form = match (draw.chance(0.4), plural) {
        (true, _) => past,
        (false, true) => base,
        (false, false) => singular,
    };
    s.add(form, base, upos)
}

/// A finite copula: an auxiliary, as in Universal Dependencies; *seems* is a verb.
fn copula(s: &mut ToySentence, draw: &mut Draw, plural: bool) -> usize {
    let (base, ..) = draw.pick(COPULAS);
    if base == "seem" {
        return finite(s, draw, &COPULAS[2..], "VERB", plural);
    }
    let form = match (draw.chance(0.4), plural) {
        (true, true) => "were",
        (true, false) => "was",
        (false, true) => "are",
        (false, false) => "is",
    };
    s.add(form, base, "AUX")
}

/// Attaches a trigger to the predicate it introduces.
fn under(s: &mut ToySentence, trigger: usize, head: usize) {
    let deprel = match s.words[trigger].upos {
        "AUX" if s.words[head].upos == "VERB" => "aux",
        "AUX" => "cop",
        _ => "dep",
    };
    s.attach(trigger, head, deprel);
}
