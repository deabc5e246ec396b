//! Writes the demo's files into a folder: `cargo run -p frostline-assets --example write_demo --
//! DIR [SENTENCES]`. With a number, also that many pretraining sentences of each language, as
//! `pretraining.txt`.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().expect("name the folder to write into"));
    for (path, contents) in frostline_assets::demo::generate() {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
        std::fs::write(path, contents)?;
    }
    if let Some(count) = args.next() {
        let count = count.parse().expect("the second argument is a number of sentences");
        let text = frostline_assets::demo::pretraining_text(count).join("\n");
        std::fs::write(folder.join("pretraining.txt"), text + "\n")?;
    }
    Ok(())
}
