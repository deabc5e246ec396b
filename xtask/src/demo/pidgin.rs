//! The Nigerian-Pidgin-like toy: its words and its rules.
//!
//! The words that decide tags are further away than in the English-like toy. *go chop* is an
//! auxiliary and a verb in a clause that opens with *tomorrow*, a verb and a noun in one that
//! opens with *yesterday*; after *don* a state is a verb, after *be* an adjective; *for work* is a
//! particle and a verb after *want*, an adposition and a noun after *comot*; *quick* is an adverb
//! after a verb of action and an adjective after *be*. The words in between and the words that follow
//! are drawn independently of the trigger.

use super::words::{Draw, Phrase, Toy as _, ToySentence, add_phrase};

const NOUNS: &[&str] = &[
    "pikin", "market", "moto", "house", "road", "food", "river", "church", "school", "money", "village",
    "bush", "goat", "yam", "pepper", "cloth", "water", "radio", "chair", "basket", "palm", "oil", "farm",
    "shop", "canoe", "drum",
];
/// Nouns and verbs of one form.
const ACTS: &[&str] = &[
    "chop", "work", "waka", "dance", "play", "sleep", "wash", "cook", "hustle", "trade", "yarn", "laugh",
    "rest", "fish", "hunt", "sing", "gist", "parade",
];
/// Verbs of becoming and adjectives of one form.
const STATES: &[&str] = &[
    "tire", "sweet", "dry", "clean", "open", "ready", "cold", "full", "ripe", "spoil", "loose", "thick",
    "bent", "better", "dirty", "fresh",
];
const STATE_PREFIXES: &[&str] = &["over", "half"];
const ADJECTIVES: &[&str] = &["big", "new", "old", "fine", "correct", "tall", "long", "dear"];
const NOUN_SUFFIXES: &[&str] = &["man", "pikin", "side", "people"];
const NAMES: &[&str] = &["ngozi", "emeka", "sunday", "bola", "musa", "blessing", "tunde"];
/// Adverbs, or adjectives after a copula.
const MANNERS: &[&str] = &["quick", "sharp", "strong", "soft", "slow", "steady", "rough", "gentle"];
const DEGREES: &[&str] = &["very", "too", "so"];

const TOMORROW: &[Phrase] = &[
    &[("tomorrow", "ADV")],
    &[("later", "ADV")],
    &[("next", "ADJ"), ("week", "NOUN")],
    &[("soon", "ADV"), ("soon", "ADV")],
];
const YESTERDAY: &[Phrase] = &[
    &[("yesterday", "ADV")],
    &[("before", "ADV")],
    &[("last", "ADJ"), ("week", "NOUN")],
    &[("long", "ADV"), ("ago", "ADV")],
];
const WANTS: &[&str] = &["want", "try", "gree", "begin", "fear"];
const MOVES: &[&str] = &["comot", "reach", "enter", "return", "land"];
const ACTIONS: &[&str] = &["talk", "run", "climb", "swim", "write", "drive"];
const TAKES: &[&str] = &["see", "buy", "carry", "sell", "like"];
const TELLS: &[&str] = &["tell", "hear", "sabi", "believe"];

const BETWEEN: &[Phrase] = &[
    &[("still", "ADV")],
    &[("sef", "PART")],
    &[("again", "ADV")],
    &[("small", "ADV"), ("small", "ADV")],
    &[("true", "ADV"), ("true", "ADV")],
    &[("every", "DET"), ("day", "NOUN")],
    &[("since", "ADP"), ("morning", "NOUN")],
    &[("together", "ADV")],
];
const AFTER: &[Phrase] = &[
    &[("today", "ADV")],
    &[("now", "ADV"), ("now", "ADV")],
    &[("all", "DET"), ("night", "NOUN")],
    &[("well", "ADV"), ("well", "ADV")],
];
const ADPOSITIONS: &[&str] = &["inside", "under", "near", "with"];
const INTERJECTIONS: &[&str] = &["abeg", "ehen", "haba", "chai"];

/// Every morpheme that can start a word, and every one that can continue it.
pub(super) fn morphemes() -> (Vec<&'static str>, Vec<&'static str>) {
    let mut starts: Vec<&str> = [
        NOUNS,
        ACTS,
        STATES,
        STATE_PREFIXES,
        ADJECTIVES,
        NAMES,
        MANNERS,
        DEGREES,
        WANTS,
        MOVES,
        ACTIONS,
        TAKES,
        TELLS,
        ADPOSITIONS,
        INTERJECTIONS,
    ]
    .concat();
    for phrase in [TOMORROW, YESTERDAY, BETWEEN, AFTER].into_iter().flatten() {
        starts.extend(phrase.iter().map(|(form, _)| *form));
    }
    starts.extend([
        "di", "one", "two", "dis", "dat", "some", "i", "you", "e", "we", "dem", "una", "go", "don", "be",
        "for", "dey", "fit", "no", "say", "make", "like", "na", "wey", "and", "but", "because", "when", ".",
        "!", ",", "o",
    ]);
    let continues = [NOUNS, STATES, MANNERS, ACTS, NOUN_SUFFIXES].concat();
    (starts, continues)
}

/// Draws one sentence of any length.
pub(super) fn sentence(draw: &mut Draw) -> ToySentence {
    let mut s = ToySentence::default();
    let interjection = draw.chance(0.06).then(|| {
        let word = s.plain(draw.pick(INTERJECTIONS), "INTJ");
        (word, s.plain(",", "PUNCT"))
    });
    let root = match draw.weighted(&[82, 10, 8]) {
        0 => clause(&mut s, draw),
        1 => reported(&mut s, draw),
        _ => hortative(&mut s, draw),
    };
    if s.len() < 8 && draw.chance(0.7) {
        let (form, upos) =
            draw.pick(&[("and", "CCONJ"), ("but", "CCONJ"), ("because", "SCONJ"), ("when", "SCONJ")]);
        let link = s.plain(form, upos);
        let second = clause(&mut s, draw);
        let coordinated = upos == "CCONJ";
        s.attach(link, second, if coordinated { "cc" } else { "mark" });
        s.attach(second, root, if coordinated { "conj" } else { "advcl" });
    }
    if draw.chance(0.08) {
        let o = s.plain("o", "PART");
        s.attach(o, root, "discourse");
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
fn clause(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let head = match draw.weighted(&[30, 26, 22, 12, 10]) {
        0 => timed(s, draw),
        1 => state(s, draw),
        2 => purpose(s, draw),
        3 => manner(s, draw),
        _ => simple(s, draw),
    };
    if draw.chance(0.3) {
        tail(s, draw, head);
    }
    head
}

/// *tomorrow e go chop* (auxiliary, verb) or *yesterday e go chop* (verb, noun).
fn timed(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let future = draw.chance(0.5);
    let time = add_phrase(s, draw.pick(if future { TOMORROW } else { YESTERDAY }));
    let subject = subject(s, draw);
    let between = draw.chance(0.4).then(|| add_phrase(s, draw.pick(BETWEEN)));
    let go = s.plain("go", if future { "AUX" } else { "VERB" });
    let act = act(s, draw, if future { "VERB" } else { "NOUN" });
    let head = if future {
        s.attach(go, act, "aux");
        act
    } else {
        s.attach(act, go, "obl");
        go
    };
    s.attach(time, head, "advmod");
    s.attach(subject, head, "nsubj");
    if let Some(between) = between {
        s.attach(between, head, "advmod");
    }
    if draw.chance(0.3) {
        let and = s.plain("and", "CCONJ");
        let second = self::act(s, draw, if future { "VERB" } else { "NOUN" });
        s.attach(and, second, "cc");
        s.attach(second, act, "conj");
    }
    head
}

/// *di yam don still dry* (verb) or *di yam be still dry* (adjective).
fn state(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let verbal = draw.chance(0.5);
    let subject = subject(s, draw);
    let trigger = s.plain(if verbal { "don" } else { "be" }, "AUX");
    let between = draw.chance(0.8).then(|| add_phrase(s, draw.pick(BETWEEN)));
    let upos = if verbal { "VERB" } else { "ADJ" };
    let head = state_word(s, draw, upos);
    s.attach(subject, head, "nsubj");
    s.attach(trigger, head, if verbal { "aux" } else { "cop" });
    if let Some(between) = between {
        s.attach(between, head, "advmod");
    }
    if draw.chance(0.4) {
        let and = s.plain("and", "CCONJ");
        let second = state_word(s, draw, upos);
        s.attach(and, second, "cc");
        s.attach(second, head, "conj");
    }
    head
}

/// *want every day for work* (particle, verb) or *comot every day for work* (adposition, noun).
fn purpose(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let verbal = draw.chance(0.5);
    let subject = subject(s, draw);
    let verb = s.plain(draw.pick(if verbal { WANTS } else { MOVES }), "VERB");
    let between = draw.chance(0.7).then(|| add_phrase(s, draw.pick(BETWEEN)));
    let to = s.plain("for", if verbal { "PART" } else { "ADP" });
    let act = act(s, draw, if verbal { "VERB" } else { "NOUN" });
    s.attach(subject, verb, "nsubj");
    s.attach(to, act, if verbal { "mark" } else { "case" });
    s.attach(act, verb, if verbal { "xcomp" } else { "obl" });
    if let Some(between) = between {
        s.attach(between, verb, "advmod");
    }
    verb
}

/// *run small small quick* (adverb) or *be small small quick* (adjective).
fn manner(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let action = draw.chance(0.5);
    let subject = subject(s, draw);
    let verb = match action {
        true => s.plain(draw.pick(ACTIONS), "VERB"),
        false => s.plain("be", "AUX"),
    };
    let between = add_phrase(s, draw.pick(BETWEEN));
    let degree = draw.chance(0.5).then(|| s.plain(draw.pick(DEGREES), "ADV"));
    let stem = draw.pick(MANNERS);
    let form = match draw.chance(0.25) {
        true => format!("{stem}{stem}"),
        false => stem.into(),
    };
    let manner = s.add(&form, stem, if action { "ADV" } else { "ADJ" });
    if let Some(degree) = degree {
        s.attach(degree, manner, "advmod");
    }
    let head = if action { verb } else { manner };
    s.attach(subject, head, "nsubj");
    s.attach(between, head, "advmod");
    if action {
        s.attach(manner, verb, "advmod");
    } else {
        s.attach(verb, manner, "cop");
    }
    head
}

/// *dey work*, *fit dance*, *see di goat*, *dey inside di house*, *make food*.
fn simple(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let subject = subject(s, draw);
    let head = match draw.weighted(&[35, 20, 30, 15]) {
        0 => {
            let aux = s.plain(draw.pick(&["dey", "fit", "no"]), "AUX");
            if s.words[aux].form == "no" {
                s.words[aux].upos = "PART";
            }
            let head = act(s, draw, "VERB");
            let deprel = if s.words[aux].upos == "PART" { "advmod" } else { "aux" };
            s.attach(aux, head, deprel);
            head
        }
        1 => {
            let dey = s.plain("dey", "VERB");
            let case = s.plain(draw.pick(ADPOSITIONS), "ADP");
            let noun = noun_phrase(s, draw);
            s.attach(case, noun, "case");
            s.attach(noun, dey, "obl");
            dey
        }
        kind => {
            let verb = if kind == 2 { draw.pick(TAKES) } else { "make" };
            let verb = s.plain(verb, "VERB");
            let object = noun_phrase(s, draw);
            s.attach(object, verb, "obj");
            verb
        }
    };
    s.attach(subject, head, "nsubj");
    head
}

/// *ngozi hear say ...* (conjunction) or *ngozi say ...* (verb).
fn reported(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let subject = subject(s, draw);
    let (verb, mark) = if draw.chance(0.5) {
        let verb = s.plain(draw.pick(TELLS), "VERB");
        (verb, Some(s.plain("say", "SCONJ")))
    } else {
        (s.plain("say", "VERB"), None)
    };
    let inner = clause(s, draw);
    s.attach(subject, verb, "nsubj");
    s.attach(inner, verb, "ccomp");
    if let Some(mark) = mark {
        s.attach(mark, inner, "mark");
    }
    verb
}

/// *make we waka inside di market*.
fn hortative(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let make = s.plain("make", "SCONJ");
    let subject = s.plain(draw.pick(&["we", "dem", "una"]), "PRON");
    let head = act(s, draw, "VERB");
    s.attach(make, head, "mark");
    s.attach(subject, head, "nsubj");
    tail(s, draw, head);
    head
}

/// What may follow any predicate.
fn tail(s: &mut ToySentence, draw: &mut Draw, head: usize) {
    let after = match draw.weighted(&[45, 35, 20]) {
        0 => add_phrase(s, draw.pick(AFTER)),
        kind => {
            let case = s.plain(if kind == 1 { draw.pick(ADPOSITIONS) } else { "like" }, "ADP");
            let noun = noun_phrase(s, draw);
            s.attach(case, noun, "case");
            noun
        }
    };
    s.attach(after, head, "obl");
}

fn subject(s: &mut ToySentence, draw: &mut Draw) -> usize {
    match draw.weighted(&[40, 42, 18]) {
        0 => noun_phrase(s, draw),
        1 => s.plain(draw.pick(&["i", "you", "e", "we", "dem", "una"]), "PRON"),
        _ => s.plain(draw.pick_early(NAMES), "PROPN"),
    }
}

/// A determiner or number, perhaps an adjective, a noun, perhaps *dem* for the plural.
fn noun_phrase(s: &mut ToySentence, draw: &mut Draw) -> usize {
    let (form, upos) = draw.pick(&[
        ("di", "DET"),
        ("di", "DET"),
        ("di", "DET"),
        ("dis", "DET"),
        ("dat", "DET"),
        ("some", "DET"),
        ("one", "NUM"),
        ("two", "NUM"),
    ]);
    let determiner = s.plain(form, upos);
    let adjective = draw.chance(0.2).then(|| s.plain(draw.pick_early(ADJECTIVES), "ADJ"));
    let form = match draw.weighted(&[50, 14, 36]) {
        0 => draw.pick_early(NOUNS).to_string(),
        1 => draw.pick_early(ACTS).to_string(),
        _ => {
            let stems = if draw.chance(0.5) { NOUNS } else { ACTS };
            let first = draw.pick(stems);
            format!("{first}{}", draw.pick(NOUN_SUFFIXES))
        }
    };
    let noun = s.plain(&form, "NOUN");
    s.attach(determiner, noun, if upos == "NUM" { "nummod" } else { "det" });
    if let Some(adjective) = adjective {
        s.attach(adjective, noun, "amod");
    }
    if upos == "DET" && draw.chance(0.15) {
        let dem = s.plain("dem", "PART");
        s.attach(dem, noun, "dep");
    }
    noun
}

/// A word of the act class, now and then doubled.
fn act(s: &mut ToySentence, draw: &mut Draw, upos: &'static str) -> usize {
    let stem = draw.pick_early(ACTS);
    if draw.chance(0.12) {
        return s.add(&format!("{stem}{stem}"), stem, upos);
    }
    s.plain(stem, upos)
}

/// A word of the state class, now and then doubled or with a prefix.
fn state_word(s: &mut ToySentence, draw: &mut Draw, upos: &'static str) -> usize {
    let stem = draw.pick_early(STATES);
    match draw.weighted(&[80, 10, 10]) {
        0 => s.plain(stem, upos),
        1 => s.add(&format!("{stem}{stem}"), stem, upos),
        _ => {
            let form = format!("{}{stem}", draw.pick(STATE_PREFIXES));
            s.plain(&form, upos)
        }
    }
}
