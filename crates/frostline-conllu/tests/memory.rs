//! Streaming keeps one sentence in memory at a time, measured by counting allocations.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    io::{self, BufRead, Read},
    sync::atomic::{AtomicUsize, Ordering},
};

use frostline_conllu::{Checks, Reader, Stats};

struct CountingAllocator;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is forwarded unchanged to the system allocator; only sizes are counted.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`, and so does this call.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `pointer` came from `System.alloc` with this layout, as the caller guarantees.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

/// The same text repeated, with only one copy in memory.
struct Repeated {
    text: &'static [u8],
    at: usize,
    left: usize,
}

impl Read for Repeated {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Repeated {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(if self.left == 0 { &[] } else { &self.text[self.at..] })
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
        if self.at == self.text.len() {
            self.at = 0;
            self.left -= 1;
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let text = b"# sent_id = s\n1\tIce\tice\tNOUN\t_\t_\t0\troot\t_\t_\n2\tmelts\tmelt\tVERB\t_\t_\t1\tdep\t_\t_\n\n \n\n";
    let mut most = [0; 2];
    for (most, copies) in most.iter_mut().zip([1_000, 300_000]) {
        MOST.store(HELD.load(Ordering::Relaxed), Ordering::Relaxed);
        let before = HELD.load(Ordering::Relaxed);
        let mut reader = Reader::new(
            Repeated { text, at: 0, left: copies },
            Checks { typed: true, metadata: true, nfc: true },
        );
        let mut stats = Stats::default();
        let mut faults = 0;
        while let Some(sentence) = reader.next_sentence().expect("it cannot fail") {
            stats.add(&sentence);
            faults += sentence.faults().len();
        }
        assert_eq!((stats.sentences, stats.words), (copies as u64, 2 * copies as u64));
        assert!(faults >= 2 * copies);
        *most = MOST.load(Ordering::Relaxed) - before;
    }
    // The test harness has a separate thread, which may allocate a little at any time.
    assert!(most[0].abs_diff(most[1]) < 4 << 10, "{most:?} bytes held at most, for 0.1 MB and for 30 MB");
    assert!(most[0] < 32 << 10, "{} bytes held for sentences of 90", most[0]);
}
