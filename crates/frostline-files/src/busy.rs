//! Operations that Windows refuses for a moment.
//!
//! A file that another process is reading, or that a scanner looks at, can often not be replaced, opened or removed there, and
//! the name of a removed file stays until its last reader has closed it. Unix has none of this.

use std::io;
use std::time::Duration;

/// How long an operation is repeated: longer than files are read, shorter than a person waits without a message.
const LIMIT: Duration = Duration::from_secs(2);

/// The first pause; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(1);

/// Runs an operation, and repeats it for a while if the system answers that another process uses the file.
pub(crate) fn retry_while_busy<T>(operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    repeat_while(is_busy, std::thread::sleep, operation)
}

/// Runs an operation until it gives another result than an error of this kind, or until the pauses reach [`LIMIT`].
fn repeat_while<T>(
    is_passing: impl Fn(&io::Error) -> bool,
    wait: impl Fn(Duration),
    mut operation: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let (mut pause, mut waited) = (FIRST_PAUSE, Duration::ZERO);
    loop {
        match operation() {
            Err(error) if is_passing(&error) && waited < LIMIT => {
                wait(pause);
                waited += pause;
                pause *= 2;
            }
            result => return result,
        }
    }
}

/// Returns whether an error may be over soon. A lack of rights gives the same answer as a file that is being removed.
#[cfg(windows)]
fn is_busy(error: &io::Error) -> bool {
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    const DELETE_PENDING: i32 = 303;
    const USER_MAPPED_FILE: i32 = 1224;
    const ALL: [i32; 5] =
        [ACCESS_DENIED, SHARING_VIOLATION, LOCK_VIOLATION, DELETE_PENDING, USER_MAPPED_FILE];
    error.raw_os_error().is_some_and(|code| ALL.contains(&code))
}

/// Returns that no error passes by itself.
#[cfg(not(windows))]
fn is_busy(_error: &io::Error) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::ErrorKind;

    use super::*;

    #[test]
    fn an_operation_is_repeated_until_it_succeeds_or_the_time_is_over() {
        let waited = Cell::new(Duration::ZERO);
        let wait = |pause| waited.set(waited.get() + pause);
        let is_passing = |error: &io::Error| error.kind() == ErrorKind::ResourceBusy;
        let mut tries = 0;
        let third = repeat_while(is_passing, wait, || {
            tries += 1;
            if tries < 3 { Err(ErrorKind::ResourceBusy.into()) } else { Ok(tries) }
        });
        assert_eq!((third.expect("it succeeds"), waited.take()), (3, Duration::from_millis(3)));
        let never = repeat_while(is_passing, wait, || Err::<(), _>(ErrorKind::ResourceBusy.into()));
        assert_eq!(never.expect_err("busy for ever").kind(), ErrorKind::ResourceBusy);
        assert!(waited.get() >= LIMIT && waited.take() < 2 * LIMIT);
        let other = repeat_while(is_passing, wait, || Err::<(), _>(ErrorKind::NotFound.into()));
        assert_eq!(
            (other.expect_err("missing").kind(), waited.take()),
            (ErrorKind::NotFound, Duration::ZERO)
        );
    }

    /// A reader without the right to share the file keeps it from being replaced.
    #[cfg(windows)]
    #[test]
    fn a_file_is_replaced_once_its_reader_has_closed_it() {
        use std::os::windows::fs::OpenOptionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "old").expect("written");
        let reader = std::fs::OpenOptions::new().read(true).share_mode(1).open(&path).expect("opened");
        let closing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(reader);
        });
        crate::write(&path, b"new").expect("replaced");
        closing.join().expect("it ends");
        assert_eq!(std::fs::read(&path).expect("it is there"), b"new");
    }
}
