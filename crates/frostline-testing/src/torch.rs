//! Files as `torch.save` writes them, built from bytes: for tests of readers that must not run a pickle's code.

/// Returns a ZIP archive of entries that are stored, not compressed.
#[must_use]
pub fn stored_zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in entries {
        let start = file.len() as u32;
        let size = (bytes.len() as u32).to_le_bytes();
        // Version, flags, method, time, date, checksum (which readers of this project ignore), sizes, lengths of the names.
        let mut common = [20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].to_vec();
        common.extend(size);
        common.extend(size);
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(*bytes);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(start.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, size, count) = (file.len() as u32, directory.len() as u32, entries.len() as u16);
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend(size.to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// Returns a pickle of text.
#[must_use]
pub fn pickled_text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

/// Returns a pickle of an integer.
#[must_use]
pub fn pickled_number(number: u64) -> Vec<u8> {
    [b"\x8a\x08", &number.to_le_bytes()[..]].concat()
}

/// Returns the commands that put a tensor on the stack, with the storage `key` of `storage` elements.
#[must_use]
pub fn pickled_tensor(
    class: &str,
    key: &str,
    storage: u64,
    offset: u64,
    shape: &[u64],
    strides: &[u64],
) -> Vec<u8> {
    let tuple = |numbers: &[u64]| {
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| pickled_number(*number)).collect();
        [b"(", numbers.as_slice(), b"t"].concat()
    };
    [
        b"ctorch._utils\n_rebuild_tensor_v2\n((".to_vec(),
        pickled_text("storage"),
        format!("ctorch\n{class}\n").into_bytes(),
        pickled_text(key),
        pickled_text("cpu"),
        pickled_number(storage),
        b"tQ".to_vec(),
        pickled_number(offset),
        tuple(shape),
        tuple(strides),
        b"\x89ccollections\nOrderedDict\n)RtR".to_vec(),
    ]
    .concat()
}

/// Returns the strides of row-major order.
#[must_use]
pub fn row_major(shape: &[u64]) -> Vec<u64> {
    (0..shape.len()).map(|dimension| shape[dimension + 1..].iter().product()).collect()
}

/// Returns a file of `torch.save` with a dictionary of tensors of f32, each in its own storage.
#[must_use]
pub fn torch_file(tensors: &[(&str, &[u64], &[f32])]) -> Vec<u8> {
    let mut pickle = b"\x80\x02}(".to_vec();
    for (place, (name, shape, values)) in tensors.iter().enumerate() {
        pickle.extend(pickled_text(name));
        let count = values.len() as u64;
        pickle.extend(pickled_tensor("FloatStorage", &place.to_string(), count, 0, shape, &row_major(shape)));
    }
    pickle.extend(b"u.");
    let storages: Vec<(String, Vec<u8>)> = tensors
        .iter()
        .enumerate()
        .map(|(place, (_, _, values))| {
            (format!("archive/data/{place}"), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        })
        .collect();
    let mut entries: Vec<(&str, &[u8])> =
        vec![("archive/data.pkl", &pickle), ("archive/byteorder", b"little")];
    entries.extend(storages.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())));
    stored_zip(&entries)
}
