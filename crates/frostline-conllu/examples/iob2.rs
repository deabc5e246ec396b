//! Turns an IOB2 layer of entities into CoNLL-U with the entities in MISC, in the form `Entity=B-LOC`: `cargo
//! run -p frostline-conllu --example iob2 -- FILE.iob2 > FILE.conllu`. Without a file it converts a small
//! built-in text.

use std::io::{Write, stdout};

use frostline_conllu::{Writer, parse_iob2, with_annotation};

const OWN: &str = "# sent_id = s1\n# text = Ada lives in New York.\n1\tAda\tB-PER\n2\tlives\tO\n3\tin\tO\n4\tNew\tB-LOC\n\
    5\tYork\tI-LOC\n6\t.\tO\n\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = match std::env::args().nth(1).filter(|path| !path.starts_with('-')) {
        Some(path) => std::fs::read_to_string(path)?,
        None => OWN.into(),
    };
    let out = stdout().lock();
    convert_to_conllu(&text, out)
}

/// Writes every sentence; all columns that IOB2 has nothing for are `_`.
fn convert_to_conllu(text: &str, out: impl Write) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = Writer::new(out);
    for sentence in parse_iob2(text) {
        let sentence = sentence?; // Where, what was found, what was expected.
        for comment in &sentence.comments {
            writer.comment(comment)?;
        }
        for row in &sentence.rows {
            let misc = if row.tag == "O" { "_".into() } else { with_annotation("_", "Entity", row.tag) };
            writer.row(&[row.id, row.form, "_", "_", "_", "_", "_", "_", "_", &misc])?;
        }
        writer.end()?;
        for entity in sentence.entities() {
            let words: Vec<&str> =
                sentence.rows[entity.start..entity.end].iter().map(|row| row.form).collect();
            eprintln!("{} {}", entity.kind, words.join(" "));
        }
    }
    Ok(())
}

#[test]
fn entities_come_out_in_misc() {
    let mut out = Vec::new();
    convert_to_conllu(OWN, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.contains("5\tYork\t_\t_\t_\t_\t_\t_\t_\tEntity=I-LOC\n6\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n"),
        "{text}"
    );
    assert!(convert_to_conllu("1\tYork\tI-LOC\n\n", Vec::new()).is_err());
}
