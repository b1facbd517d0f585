//! Owns reading on: a line file that has grown is read from where an earlier reading ended, with all that its reader knew there, so that
//! the rows of all readings together are those of one reading of the whole file.

use std::cell::RefCell;
use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::emit::{Emitter, Tally};
use super::salvage::{self, Mark, Record};
use super::{Input, open};

/// Larger states are not put by: such a file is read again whole.
const MAX_STATE: usize = 16 << 20;

/// What a reader knows of the records so far: it can be put by, and nothing else decides what it makes of those to come.
pub trait Knowing: Serialize + DeserializeOwned {
    /// Whether more bytes at the end leave what it began with as it is.
    fn is_settled(&self) -> bool {
        true
    }
}

/// All that a reading knew at its mark.
#[derive(Serialize, Deserialize)]
struct State<R> {
    mark: Mark,
    tally: Tally,
    reader: R,
}

/// Reads the records of a file that only grows at its end, like [`salvage::read_records`], and returns what the reader then knows. It
/// begins with `fresh`, or goes on from [`Emitter::earlier`] where that fits; and tells the emitter from where a later one may go on.
pub fn read<R: Knowing>(
    input: &Input,
    out: &mut Emitter<'_>,
    is_record: fn(&[u8]) -> bool,
    fresh: impl FnOnce() -> io::Result<R>,
    mut each: impl FnMut(&mut R, &Record<'_>, &mut Emitter<'_>) -> serde_json::Result<()>,
) -> anyhow::Result<R> {
    let plain = open::plain_from(input, 0)?;
    let earlier = out.earlier.take().filter(|_| plain.is_some()).and_then(|state| resume(state, out));
    let (mark, reader) = match earlier {
        Some(known) => known,
        None => (Mark::default(), fresh()?),
    };
    let is_plain = plain.is_some();
    let text: Box<dyn io::Read> = match plain {
        Some(mut file) => {
            io::Seek::seek(&mut file, io::SeekFrom::Start(mark.offset.unsigned_abs()))?;
            Box::new(file)
        }
        None => open::open(input)?,
    };
    // Each record changes it, and at the end it is put by: the two never meet.
    let reader = RefCell::new(reader);
    salvage::read_on(
        text,
        mark,
        out,
        is_record,
        |record, out| each(&mut reader.borrow_mut(), record, out),
        |mark, out| {
            if !is_plain || !reader.borrow().is_settled() {
                return Ok(());
            }
            out.settle(|tally| {
                let state = serde_json::to_vec(&State { mark, tally, reader: &*reader.borrow() }).ok()?;
                (state.len() <= MAX_STATE).then_some(state)
            })
        },
    )?;
    Ok(reader.into_inner())
}

/// What was known, if it is such a state.
fn resume<R: Knowing>(state: &[u8], out: &mut Emitter<'_>) -> Option<(Mark, R)> {
    let State { mark, tally, reader } = serde_json::from_slice(state).ok()?;
    out.go_on(tally, mark.offset)?;
    Some((mark, reader))
}

/// Offset from which a reading with that state goes on; `None`: it is none.
pub fn offset_of(state: &[u8]) -> Option<i64> {
    #[derive(Deserialize)]
    struct Head {
        mark: Mark,
    }
    serde_json::from_slice::<Head>(state).ok().map(|h| h.mark.offset)
}
