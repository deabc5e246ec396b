//! Several programs share a folder of work, without locks and without a server: start this in any number of terminals or
//! machines, `cargo run -p frostline-files --example share_work -- FOLDER`. Each piece is done once, and its result is a
//! file that is whole and carries a checksum. Without a folder it works alone in a temporary one.

use std::path::{Path, PathBuf};

use frostline_files::claim::{Attempt, Claimant, Disk, LEASE, Owner};
use frostline_files::{seal, unseal};

/// Pieces of work.
const PIECES: u32 = 5;

/// The largest result that is read.
const MOST: u64 = 1 << 20;

type ShareError = Box<dyn std::error::Error>;

fn main() -> Result<(), ShareError> {
    let given = std::env::args().nth(1).filter(|folder| !folder.starts_with('-'));
    let folder = given.as_ref().map_or_else(own_folder, PathBuf::from);
    println!("{} done by this process", do_pieces(&folder)?);
    if given.is_none() {
        frostline_files::remove_own_folder(&folder)?;
    }
    Ok(())
}

fn own_folder() -> PathBuf {
    std::env::temp_dir().join(format!("frostline-share-work-{}", std::process::id()))
}

/// Does all pieces that no other process has done or is doing; returns their number.
fn do_pieces(folder: &Path) -> Result<u32, ShareError> {
    frostline_files::create_folder(folder)?;
    let claimant = Claimant::new(Disk, Owner::this_process("an example", LEASE));
    let mut done = 0;
    for piece in 1..=PIECES {
        let result = folder.join(format!("{piece}.result"));
        if is_done(&result) {
            continue;
        }
        let Attempt::Claimed(claim, _) = claimant.attempt(&folder.join(format!("{piece}.claim")))? else {
            continue;
        };
        if !is_done(&result) {
            let mut bytes = format!("the square of {piece} is {}", piece * piece).into_bytes();
            bytes.extend(seal(&bytes));
            frostline_files::write(&result, &bytes)?;
            done += 1;
        }
        claimant.release(&claim)?;
    }
    Ok(done)
}

/// Returns whether the result is there and whole: a file that was cut off or changed is done again.
fn is_done(result: &Path) -> bool {
    frostline_files::read(result, MOST).is_ok_and(|bytes| unseal(&bytes).is_some())
}

#[test]
fn each_piece_is_done_once() {
    let folder = own_folder();
    assert_eq!(do_pieces(&folder).unwrap(), PIECES);
    assert_eq!(do_pieces(&folder).unwrap(), 0);
    frostline_files::write(&folder.join("2.result"), b"damaged").unwrap();
    assert_eq!(do_pieces(&folder).unwrap(), 1);
    frostline_files::remove_own_folder(&folder).unwrap();
}
