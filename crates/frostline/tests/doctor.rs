//! `frostline doctor`: what it finds, and the command that it names for each lack.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What it prints in a folder, with a cache.
fn run_doctor(folder: &Path, cache: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command.arg("doctor").args(arguments).current_dir(folder).env("FROSTLINE_CACHE", cache);
    command.env_remove("FROSTLINE_ISA").env_remove("FROSTLINE_DEVICE");
    command.env_remove("HF_HOME").env_remove("HF_HUB_CACHE");
    let output = command.output().expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The line below the one that begins so.
fn line_below<'a>(said: &'a str, start: &str) -> &'a str {
    let mut lines = said.lines().skip_while(|line| !line.starts_with(start));
    lines.next().unwrap_or_else(|| panic!("no line `{start}` in\n{said}"));
    lines.next().unwrap_or_default().trim()
}

#[test]
fn inputs_of_the_study_that_are_absent_come_with_the_command_that_fetches_them() {
    let folder = tempfile::tempdir().unwrap();
    let said = run_doctor(folder.path(), &folder.path().join("cache"), &[]);
    for name in ["UD_English-EWT", "UD_Naija-NSC", "distilbert-base-multilingual-cased"] {
        let fix = line_below(&said, &format!("plan        paper reads {name}"));
        assert_eq!(fix, format!("fix: frostline fetch {name}"), "{said}");
    }
    assert!(said.contains(": empty; `frostline fetch` makes it"), "{said}");
    assert!(said.contains("dataset     embedded:en: complete"), "{said}");
}

#[test]
fn a_treebank_that_is_there_is_not_absent() {
    let folder = tempfile::tempdir().unwrap();
    let bank = folder.path().join("cache/treebanks/UD_English-EWT");
    fs::create_dir_all(&bank).unwrap();
    let sentence = "1\tice\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n";
    fs::write(bank.join("en_ewt-ud-train.conllu"), sentence).unwrap();
    let cache = folder.path().join("cache");
    let said = run_doctor(folder.path(), &cache, &[]);
    let fix = format!("fix: delete {}, then: frostline fetch UD_English-EWT", bank.display());
    assert_eq!(line_below(&said, "dataset     UD_English-EWT: "), fix, "{said}");
    assert_eq!(line_below(&said, "plan        paper reads UD_English-EWT"), fix, "{said}");
    fs::write(bank.join("en_ewt-ud-dev.conllu"), sentence).unwrap();
    fs::File::create(bank.join("large")).unwrap().set_len(200 << 20).unwrap();
    let said = run_doctor(folder.path(), &cache, &[]);
    assert!(!said.contains("paper reads UD_English-EWT"), "{said}");
    assert!(said.contains("cache: 0.2 GiB in it, can be written"), "{said}");
}

#[test]
fn a_cache_that_cannot_be_written_is_a_lack() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let said = run_doctor(folder.path(), &file.join("cache"), &[]);
    assert!(said.contains("file/cache: cannot be written"), "{said}");
    assert!(line_below(&said, "cache ").starts_with("fix: export FROSTLINE_CACHE=DIR"), "{said}");
    #[cfg(unix)]
    assert!(said.contains("GiB free in the current folder"), "{said}");
}

#[test]
fn a_backend_that_the_build_lacks_comes_with_the_command_that_builds_it() {
    let folder = tempfile::tempdir().unwrap();
    let said = run_doctor(folder.path(), folder.path(), &[]);
    for name in ["cuda", "wgpu"] {
        if said.contains(&format!("{name:<12}not in this build")) {
            let fix = line_below(&said, &format!("{name:<12}"));
            assert!(fix.ends_with(&format!("--features {name}, in a checkout")), "{said}");
        }
    }
    assert!(said.lines().any(|line| line.starts_with("flex  ")), "{said}");
}
