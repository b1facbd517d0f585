//! Owns how the doctor's findings read on a terminal: at most 100 columns, what matters first.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::examine::{FileReport, Report, SourceReport};
use crate::model::time::Ts;
use crate::plain::{cut, cut_middle, escape};

const WIDTH: usize = 100;
/// Files listed of one source unless all are asked for; those with trouble come first.
const LISTED: usize = 20;

pub fn text(report: &Report, now: Ts, all: bool) -> String {
    let mut out = String::new();
    if report.sources.is_empty() && report.failed.is_empty() {
        out.push_str("No file here is of a format that mechanic reads.\n");
    }
    for source in &report.sources {
        show_source(&mut out, source, now, all);
    }
    list(&mut out, "Could not be read", &report.failed.iter().map(failed_line).collect::<Vec<_>>(), all);
    list(&mut out, "Claimed by no source", &report.ignored.iter().map(|p| cut_middle(&escape(p), WIDTH - 4)).collect::<Vec<_>>(), all);
    let never: Vec<String> = report
        .declared_never_seen
        .iter()
        .map(|d| cut(&format!("{}   (declared in {})", escape(&d.gate), escape(&d.declared_in)), WIDTH - 4))
        .collect();
    list(&mut out, "Declared and never seen running", &never, all);
    if !report.unknowable.is_empty() && !report.sources.is_empty() {
        out.push_str("No file tells, so it cannot be known:\n");
        for unknown in &report.unknowable {
            line(&mut out, &format!("    {:<17} {}", unknown.capability, unknown.unknowable));
        }
    }
    out
}

fn show_source(out: &mut String, source: &SourceReport, now: Ts, all: bool) {
    let mut head = format!("{}: {} file{}, {} records", source.format, source.n_files, plural(source.n_files), source.records);
    let _ = write!(head, ", {} quarantined, {} warnings", source.quarantined, source.warnings.values().sum::<i64>());
    line(out, &head);
    let names: Vec<&str> = source.capabilities.iter().map(String::as_str).collect();
    wrapped(out, "  tells     ", &if names.is_empty() { "nothing".to_owned() } else { names.join(", ") });
    for unknown in &source.unknowable {
        line(out, &format!("  unknown   {}: {}", unknown.capability, unknown.unknowable));
    }
    if !source.warnings.is_empty() {
        wrapped(out, "  warnings  ", &counts(&source.warnings));
    }
    if let Some(at) = source.files.iter().filter_map(|f| f.expires).min() {
        let n = source.files.iter().filter(|f| f.expires.is_some()).count();
        line(out, &format!("  expires   {n} file{}, the first {}: ingest before then", plural(n), when(at, now)));
    }
    // Files in trouble first, the rest by path.
    let mut files: Vec<&FileReport> = source.files.iter().collect();
    files.sort_by_key(|f| f.quarantined == 0 && f.warnings.is_empty() && f.lacks.is_empty());
    let shown = if all { files.len() } else { files.len().min(LISTED) };
    if shown > 0 {
        line(out, &format!("  {:>8} {:>6} {:>6}  {:<10}  file", "records", "quar.", "warn.", "expires"));
    }
    for file in files.iter().take(shown) {
        show_file(out, file);
    }
    if shown < files.len() {
        line(out, &format!("  … and {} more files: --all lists them", files.len() - shown));
    }
    out.push('\n');
}

fn show_file(out: &mut String, file: &FileReport) {
    let expires = file.expires_at.as_deref().and_then(|at| at.get(..10)).unwrap_or("");
    let warnings: i64 = file.warnings.values().sum();
    let path = cut_middle(&escape(&file.path), WIDTH - 38);
    line(out, &format!("  {:>8} {:>6} {:>6}  {expires:<10}  {path}", file.records, file.quarantined, warnings));
    if !file.reasons.is_empty() {
        wrapped(out, "             quarantined: ", &counts(&file.reasons));
    }
    if !file.lacks.is_empty() {
        wrapped(out, "             lacks: ", &file.lacks.join(", "));
    }
}

fn failed_line(file: &FileReport) -> String {
    let error = escape(file.error.as_deref().unwrap_or("unknown"));
    let mut why = String::new();
    wrapped(&mut why, "        ", &error);
    format!("{}\n{}", cut_middle(&escape(&file.path), WIDTH - 4), why.trim_end())
}

fn list(out: &mut String, title: &str, lines: &[String], all: bool) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "{title}: {}", lines.len());
    let shown = if all { lines.len() } else { lines.len().min(LISTED) };
    for text in lines.iter().take(shown) {
        let _ = writeln!(out, "    {text}");
    }
    if shown < lines.len() {
        let _ = writeln!(out, "    … and {} more: --all lists them", lines.len() - shown);
    }
    out.push('\n');
}

/// `kind 12, other 3`.
fn counts(of: &BTreeMap<String, i64>) -> String {
    of.iter().map(|(kind, n)| format!("{} {n}", escape(kind))).collect::<Vec<_>>().join(", ")
}

fn when(at: Ts, now: Ts) -> String {
    let days = at.millis_since(now).div_euclid(86_400_000);
    let day = at.to_string().get(..10).unwrap_or("").to_owned();
    match days {
        i64::MIN..=-1 => format!("was due on {day}"),
        0 => format!("within a day ({day})"),
        1 => format!("in 1 day ({day})"),
        _ => format!("in {days} days ({day})"),
    }
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn line(out: &mut String, text: &str) {
    out.push_str(&cut(text, WIDTH));
    out.push('\n');
}

/// Words after a label, broken at spaces and aligned below the first.
fn wrapped(out: &mut String, label: &str, words: &str) {
    let indent = label.chars().count();
    let mut at = label.to_owned();
    let mut empty = true;
    for word in words.split(' ') {
        if !empty && at.chars().count() + 1 + word.chars().count() > WIDTH {
            line(out, &at);
            at = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            at.push(' ');
        }
        at.push_str(word);
        empty = false;
    }
    line(out, &at);
}
