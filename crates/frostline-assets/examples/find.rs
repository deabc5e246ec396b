//! If a dataset is found, with the hash and licence of its files:
//! `cargo run -p frostline-assets --example find -- UD_English-EWT --data DIR`. Without arguments it shows the embedded demo.

use std::path::{Path, PathBuf};

use frostline_assets::{AssetError, Places, licence_of};

fn main() -> Result<(), AssetError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().filter(|name| !name.starts_with('-')).map_or("embedded:en", String::as_str);
    let data = arguments.windows(2).find(|pair| pair[0] == "--data").map(|pair| PathBuf::from(&pair[1]));
    print!("{}", describe_dataset(&Places::new(data, None), name)?);
    Ok(())
}

fn describe_dataset(places: &Places, name: &str) -> Result<String, AssetError> {
    let dataset = places.dataset(name)?;
    let mut out = String::new();
    for (split, source) in &dataset.sources {
        out += &format!("{split}\t{}\t{} bytes\t{}\n", source.path, source.bytes, source.sha256);
    }
    let folder = dataset.sources.values().next().and_then(|source| Path::new(&source.path).parent());
    if let Some(licence) = folder.and_then(licence_of) {
        out += &format!("licence\t{} ({})\n", licence.name, licence.files.join(", "));
    }
    Ok(out)
}

#[test]
fn the_demo_is_always_there() {
    let text = describe_dataset(&Places::new(None, None), "embedded:en").unwrap();
    assert!(text.contains("train\tembedded:en/train.conllu\t"), "{text}");
    let error = describe_dataset(&Places::new(None, None), "UD_Nowhere-None").unwrap_err().to_string();
    assert!(error.contains("--data DIR"), "{error}");
}
