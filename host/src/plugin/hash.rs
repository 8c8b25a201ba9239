//! The hashes of plugins' files.

use sha2::{Digest, Sha256};
use std::{fs::File, io, io::Read, path::Path};

/// The SHA-256 of a file in hexadecimal digits.
///
/// # Errors
/// Returns an error if it cannot be read.
pub fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
    }
    Ok(digits(hasher))
}

/// The SHA-256 of bytes in hexadecimal digits.
pub fn sha256_of_bytes(bytes: &[u8]) -> String {
    digits(Sha256::new_with_prefix(bytes))
}

fn digits(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_hash_that_the_standard_says() {
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of_bytes(b"abc"), hash);
        assert!(sha256_of(Path::new("/nowhere")).is_err());
    }
}
