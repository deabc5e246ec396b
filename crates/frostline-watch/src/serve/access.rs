//! Decides whether a server needs a token: it does if it would show a folder to users who cannot read it
//! otherwise.

use std::net::IpAddr;
use std::path::Path;

/// Returns whether only requests with a token may be answered at this address. Every user of this machine can
/// reach every port of it, so at a loopback address the folder has to be readable by all of them. At any other
/// address there are other machines, whose users cannot read it.
pub(super) fn needs_token(at: IpAddr, folder: &Path) -> bool {
    !at.is_loopback() || !everyone_can_read(folder, Path::new("/"))
}

/// Returns whether everyone who can pass through `root` can read a sweep's folder, by the modes of the folders
/// down to it, of the folder of cells and of `sweep.json`. A path with access control lists counts as private,
/// since they can exclude users that the modes allow.
#[cfg(unix)]
fn everyone_can_read(folder: &Path, root: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const READ: u32 = 0o4;
    const PASS: u32 = 0o1;
    let allows = |path: &Path, wanted: u32| {
        std::fs::metadata(path).is_ok_and(|found| found.mode() & wanted == wanted)
            && !frostline_files::has_access_list(path)
    };
    let (Ok(folder), Ok(root)) = (folder.canonicalize(), root.canonicalize()) else { return false };
    let cells = folder.join("cells");
    folder.ancestors().skip(1).take_while(|above| above.starts_with(&root)).all(|above| allows(above, PASS))
        && allows(&folder, READ | PASS)
        && allows(&folder.join("sweep.json"), READ)
        && (!cells.exists() || allows(&cells, READ | PASS))
}

/// The rights are not known here.
#[cfg(not(unix))]
fn everyone_can_read(_folder: &Path, _root: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{Permissions, create_dir_all, set_permissions, write};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_is_open_if_each_part_of_its_path_is() {
        let root = tempfile::tempdir().expect("a folder");
        let [above, folder] = ["above", "above/sweep"].map(|name| root.path().join(name));
        create_dir_all(folder.join("cells")).expect("folders");
        write(folder.join("sweep.json"), "{}").expect("a file");
        let set = |path: &Path, mode: u32| {
            set_permissions(path, Permissions::from_mode(mode)).expect("its mode is set");
        };
        let open = |path: &Path| set(path, if path.is_dir() { 0o755 } else { 0o644 });
        let parts = [
            root.path().into(),
            above.clone(),
            folder.clone(),
            folder.join("cells"),
            folder.join("sweep.json"),
        ];
        parts.iter().for_each(|part| open(part));
        assert!(everyone_can_read(&folder, root.path()));
        for part in &parts {
            // Readable only for the group.
            set(part, 0o750);
            assert!(!everyone_can_read(&folder, root.path()), "{}", part.display());
            open(part);
        }
        assert!(!everyone_can_read(&root.path().join("none"), root.path()));
    }

    #[test]
    fn other_machines_never_read_without_a_token() {
        for at in ["0.0.0.0", "192.0.2.7", "::"] {
            assert!(needs_token(at.parse().expect("an address"), Path::new("/")), "{at}");
        }
    }
}
