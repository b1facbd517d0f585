//! Owns abbreviated ids: a unique beginning stands for the whole.

use super::Usage;

/// Shortest beginning that is looked up: shorter ones are more likely slips.
const SHORTEST: usize = 4;

/// The one id that is `given` or begins with it. An error says what was looked for, what comes near, and how to list what there is.
pub fn resolve<'a>(kind: &str, given: &str, ids: impl Iterator<Item = &'a str>, list: &str) -> Result<&'a str, Usage> {
    let mut matches: Vec<&str> = Vec::new();
    for id in ids {
        if id == given {
            return Ok(id);
        }
        if given.chars().count() >= SHORTEST && id.starts_with(given) {
            matches.push(id);
        }
    }
    matches.sort_unstable();
    matches.dedup();
    match matches.as_slice() {
        [one] => Ok(one),
        [] => Err(Usage(format!("no {kind} `{given}` in the lake: {list}"))),
        several => {
            let shown = several.iter().take(5).copied().collect::<Vec<_>>().join(", ");
            let more = if several.len() > 5 { ", …" } else { "" };
            Err(Usage(format!("{} {kind}s begin with `{given}` ({shown}{more}): give more of it", several.len())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_whole_or_by_a_unique_beginning_and_refused_with_a_reason_otherwise() {
        let ids = ["abcd1", "abcd2", "abc", "xyzw1"];
        let find = |given: &str| {
            resolve("problem", given, ids.iter().copied(), "`mechanic explain problem` lists them").map_err(|e| e.to_string())
        };
        assert_eq!(find("xyzw"), Ok("xyzw1"));
        assert_eq!(find("abc"), Ok("abc"));
        assert!(find("abcd").unwrap_err().contains("abcd1, abcd2"));
        assert!(find("xyz").unwrap_err().contains("no problem `xyz`"));
        assert!(find("nothing").unwrap_err().contains("lists them"));
    }
}
