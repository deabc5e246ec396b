//! The archives of a release: the same files give the same bytes, whoever makes them and when.

use std::io::{Cursor, Read as _, Write as _};

use anyhow::Context as _;
use flate2::write::GzEncoder;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

/// The time of all files: the first that a ZIP can have, the beginning of 1980.
const TIME_S: u64 = 315_532_800;
/// Everyone may read a file, and its owner may write it.
const FILE_MODE: u32 = 0o644;
/// Everyone may also start it.
const PROGRAM_MODE: u32 = 0o755;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveFile {
    /// The path in the archive's folder, with slashes.
    pub path: String,
    pub bytes: Vec<u8>,
    pub is_program: bool,
}

impl ArchiveFile {
    /// A file that is read.
    pub(super) fn plain(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), is_program: false }
    }

    const fn mode(&self) -> u32 {
        if self.is_program { PROGRAM_MODE } else { FILE_MODE }
    }
}

/// Returns a `.tar.gz` of these files in a folder.
pub(super) fn pack_tar(folder: &str, files: &[ArchiveFile]) -> anyhow::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), flate2::Compression::best()));
    for file in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(file.mode());
        header.set_mtime(TIME_S);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, format!("{folder}/{}", file.path), file.bytes.as_slice())?;
    }
    Ok(archive.into_inner()?.finish()?)
}

/// Returns a `.zip` of these files in a folder.
pub(super) fn pack_zip(folder: &str, files: &[ArchiveFile]) -> anyhow::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        let options = SimpleFileOptions::default().unix_permissions(file.mode()).compression_level(Some(9));
        archive.start_file(format!("{folder}/{}", file.path), options)?;
        archive.write_all(&file.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Returns the program in a wheel, which lies in its folder of scripts.
pub(super) fn wheel_program(wheel: &[u8], program: &str) -> anyhow::Result<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(wheel)).context("the wheel is no ZIP")?;
    let end = format!(".data/scripts/{program}");
    let name = archive.file_names().find(|name| name.ends_with(&end)).map(String::from);
    let name = name.with_context(|| format!("the wheel has no file that ends with {end}"))?;
    let mut bytes = Vec::new();
    archive.by_name(&name)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_files() -> [ArchiveFile; 2] {
        let program = ArchiveFile { path: "frostline".into(), bytes: vec![1, 2, 3], is_program: true };
        [program, ArchiveFile::plain("man/frostline.1", "a page")]
    }

    #[test]
    fn a_tar_has_the_files_with_their_modes_and_always_the_same_bytes() {
        let packed = pack_tar("frostline-1", &two_files()).expect("packed");
        assert_eq!(pack_tar("frostline-1", &two_files()).expect("packed"), packed);
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let found: Vec<(String, u32, Vec<u8>)> = archive
            .entries()
            .expect("entries")
            .map(|entry| {
                let mut entry = entry.expect("an entry");
                let (path, mode) = (entry.path().expect("a path"), entry.header().mode().expect("a mode"));
                let path = path.display().to_string();
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).expect("its bytes");
                (path, mode, bytes)
            })
            .collect();
        assert_eq!(
            found,
            [
                ("frostline-1/frostline".to_string(), 0o755, vec![1, 2, 3]),
                ("frostline-1/man/frostline.1".to_string(), 0o644, b"a page".to_vec()),
            ]
        );
    }

    #[test]
    fn a_zip_has_the_files_and_always_the_same_bytes() {
        let packed = pack_zip("frostline-1", &two_files()).expect("packed");
        assert_eq!(pack_zip("frostline-1", &two_files()).expect("packed"), packed);
        let mut archive = ZipArchive::new(Cursor::new(&packed)).expect("a ZIP");
        let mut program = archive.by_name("frostline-1/frostline").expect("the program");
        assert_eq!(program.unix_mode().map(|mode| mode & 0o777), Some(0o755));
        let mut bytes = Vec::new();
        program.read_to_end(&mut bytes).expect("its bytes");
        assert_eq!(bytes, [1, 2, 3]);
    }

    #[test]
    fn a_wheels_program_is_found_and_its_absence_is_an_error() {
        let script = |path: &str| ArchiveFile::plain(path, "program");
        let wheel = pack_zip("frostline_cli-1.data", &[script("scripts/frostline.exe")]).expect("packed");
        assert_eq!(wheel_program(&wheel, "frostline.exe").expect("the program"), b"program");
        let error = wheel_program(&wheel, "frostline").expect_err("another name").to_string();
        assert!(error.contains("/frostline"), "{error}");
        assert!(wheel_program(b"no archive", "frostline").is_err());
    }
}
