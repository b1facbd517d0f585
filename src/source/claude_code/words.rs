//! Owns what is kept of a hook's text until its firing ends: its identity and what it says of defects, never the text itself, because
//! the state of a reading is put by (DESIGN §3.14).

use serde::{Deserialize, Serialize};

use super::runs::{Defect, diagnosed};
use crate::model::id::digest;
use crate::source::hook_failure::cause;

/// Base of the rolling hash.
const BASE: u64 = 0x0100_0000_01B3;

/// A text that was read once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Words {
    bytes: usize,
    rolling: u64,
    digest: String,
    pub is_blank: bool,
    /// Identifier of what went wrong, where the text speaks of a failure.
    pub cause: String,
    /// Defects the text names by place.
    pub diagnosed: Vec<Defect>,
}

impl Words {
    pub fn of(text: &str, cwd: Option<&str>) -> Words {
        Words {
            bytes: text.len(),
            rolling: rolling(text.as_bytes()),
            digest: digest(text.as_bytes()),
            is_blank: text.trim().is_empty(),
            cause: cause(text),
            diagnosed: diagnosed(text, cwd),
        }
    }

    /// Whether the text stands in another.
    pub fn stand_in(&self, other: &str) -> bool {
        let other = other.as_bytes();
        let Some(first) = other.get(..self.bytes) else { return false };
        // Weight of the byte that leaves the window.
        let weight = (1..self.bytes).fold(1u64, |w, _| w.wrapping_mul(BASE));
        let mut hash = rolling(first);
        for from in 0..=other.len() - self.bytes {
            let window = &other[from..from + self.bytes];
            if hash == self.rolling && digest(window) == self.digest {
                return true;
            }
            if let (Some(leaving), Some(entering)) = (window.first(), other.get(from + self.bytes)) {
                let rest = hash.wrapping_sub(weight.wrapping_mul(u64::from(*leaving) + 1));
                hash = rest.wrapping_mul(BASE).wrapping_add(u64::from(*entering) + 1);
            }
        }
        false
    }
}

fn rolling(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_word_of_the_text_is_kept() {
        let kept = serde_json::to_string(&Words::of("the password is hunter2\nnot allowed here", None)).unwrap();
        assert!(!kept.contains("hunter2") && !kept.contains("allowed"), "{kept}");
    }

    proptest! {
        #[test]
        fn a_text_is_found_where_it_stands(text in "[ab\u{e9}\n]{0,4}", other in "[ab\u{e9}\n]{0,12}") {
            prop_assert_eq!(Words::of(&text, None).stand_in(&other), other.contains(&text));
        }
    }
}
