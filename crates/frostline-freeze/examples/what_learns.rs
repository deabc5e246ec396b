//! Lists the trainable parameters under a policy, and the predicted speed-up of a step: `cargo run -p
//! frostline-freeze --example what_learns -- first-4+embeddings`. The paths belong to a model of your own:
//! `blocks.N` in a path makes it part of block N, `embeddings` part of the embeddings, anything else is a head.

use frostline_freeze::{Accounts, Cost, Machine, Parameter, Policy, PolicyError, Shape, Workload};

/// Blocks of the model.
const DEPTH: usize = 6;
/// Width of its hidden states.
const HIDDEN: usize = 256;

fn main() -> Result<(), PolicyError> {
    let name = std::env::args().nth(1).filter(|name| !name.starts_with("--"));
    print!("{}", describe_policy(name.as_deref().unwrap_or("first-4"))?);
    Ok(())
}

/// Returns the parameters of your own model, as a loader of its weights would list them.
fn model_parameters() -> Vec<Parameter> {
    let of = |path: String, shape: &[usize]| Parameter { path, shape: shape.to_vec() };
    let mut all = vec![of("embeddings.words.weight".into(), &[8_000, HIDDEN])];
    for block in 0..DEPTH {
        all.push(of(format!("blocks.{block}.attention.weight"), &[4 * HIDDEN, HIDDEN]));
        all.push(of(format!("blocks.{block}.feed_forward.weight"), &[8 * HIDDEN, HIDDEN]));
    }
    all.push(of("tagger.weight".into(), &[HIDDEN, 17]));
    all
}

fn describe_policy(name: &str) -> Result<String, PolicyError> {
    let policy = Policy::parse(name)?.resolve(DEPTH, &["tagger"])?;
    let parameters = model_parameters();
    let mut out = String::new();
    for parameter in &parameters {
        let what = if policy.freezes(&parameter.path) { "frozen" } else { "learns" };
        out += &format!("{what}  {:>9}  {}\n", parameter.count(), parameter.path);
    }
    let accounts = Accounts::of(&parameters, &policy);
    out += &format!("{} of {} parameters learn\n", accounts.trainable(), accounts.total());
    let shape = Shape::new(DEPTH, HIDDEN).with_heads(4).with_word_rows(8_000).with_other_rows(512);
    let workload = Workload::typical(16.0, 21.0);
    let full = Policy::none().resolve(DEPTH, &["tagger"])?;
    let [full, this] = [&full, &policy].map(|policy| Cost::of(&shape, &workload, policy));
    let speedup = this.speedup_over(&full, &Machine::default());
    Ok(out + &format!("a step should be {speedup:.2} times as fast as with nothing frozen\n"))
}

#[test]
fn a_policy_says_what_learns() {
    let text = describe_policy("first-4").unwrap();
    assert_eq!(text.matches("frozen  ").count(), 8, "{text}");
    assert!(text.contains("learns     524288  blocks.4.feed_forward.weight\n"), "{text}");
    assert!(describe_policy("first-9").is_err());
}
