//! Owns the words in which harvest tells what there is and what was made.

use std::fmt::Write;

use super::Found;
use super::records::{Records, short, shown};
use crate::plain::{cut, escape};
use crate::replay::harvest::{Base, Case, DraftOutcome, Drafted, Saw};
use crate::source::edits::Change;

/// What can be harvested from what, then why the rest cannot.
pub fn list(found: &[Found], records: Option<&Records>) -> String {
    let mut out = String::new();
    let (can, cannot): (Vec<&Found>, Vec<&Found>) = found.iter().partition(|f| f.case.is_ok());
    if !can.is_empty() {
        let _ = writeln!(out, "{} can be harvested:", can.len());
    }
    for one in &can {
        if let Ok(case) = &one.case {
            let _ = writeln!(out, "  {}  {}", head(one), from(case));
        }
    }
    if !cannot.is_empty() {
        let _ = writeln!(out, "{} cannot:", cannot.len());
    }
    for one in &cannot {
        if let Err(why) = &one.case {
            let _ = writeln!(out, "  {}  {}", head(one), escape(why));
        }
    }
    if found.is_empty() {
        out.push_str("No failure is recorded.\n");
    }
    if let Some(records) = records.filter(|r| r.broken > 0) {
        let _ = writeln!(out, "{} lines of {} are no records of this version.", records.broken, escape(&shown(&records.file)));
    }
    out
}

fn head(one: &Found) -> String {
    let at = one.at.map_or("time unknown".to_owned(), |t| t.to_string());
    format!("{}  {:<19.19}  {}", short(&one.id), at, cut(&escape(&one.gate), 50))
}

/// What a case can be rebuilt from, in one line.
fn from(case: &Case) -> String {
    let text = match &case.saw {
        Saw::Command(_) => "the command it judged".to_owned(),
        Saw::Tree { base, edits } => {
            let edits = edits.iter().filter(|p| p.edit.change != Change::Nothing).count();
            let base = match base {
                Base::Recorded { .. } => "the recorded tree".to_owned(),
                Base::Commit { sha, .. } => format!("commit {}", short(sha)),
                Base::LogAlone => "the log alone".to_owned(),
            };
            if edits == 0 { base } else { format!("{base} and {edits} edits") }
        }
    };
    match case.gaps.len() {
        0 => text,
        1 => format!("{text} (1 gap)"),
        n => format!("{text} ({n} gaps)"),
    }
}

/// What became of one.
pub fn drafted(one: &Found, drafted: &Result<Drafted, String>) -> String {
    let mut out = String::new();
    match drafted {
        Err(why) => {
            let _ = writeln!(out, "{}: no draft: {}", short(&one.id), escape(why));
        }
        Ok(Drafted { folder, outcome: DraftOutcome::There, .. }) => {
            let _ = writeln!(out, "{}: {} is there already and stays as it is", short(&one.id), escape(&shown(folder)));
        }
        Ok(Drafted { folder, outcome: DraftOutcome::Written { built, gaps, verified }, .. }) => {
            let state = if *verified { "a validator catches it" } else { "not verified" };
            let _ = writeln!(out, "{}: {} ({state})", short(&one.id), escape(&shown(folder)));
            for line in built {
                let _ = writeln!(out, "  {}", escape(line));
            }
            for line in gaps {
                let _ = writeln!(out, "  gap: {}", escape(line));
            }
        }
    }
    out
}
