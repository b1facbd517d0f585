//! Owns how chains read on a terminal: at most 100 columns, nothing from a log can steer it.

use std::fmt::Write;

use super::chain::{GateChain, Link, ProblemChain, RunChain};
use crate::plain::{cut, cut_middle, escape};
use crate::source::quote::{Quote, State};

const WIDTH: usize = 100;
/// Fields quoted of one record.
const FIELDS: usize = 4;
/// What a link is shown in: its own id is not repeated at each link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Gate,
    Problem,
    Run,
}

/// Links listed of one kind unless all are asked for.
pub const LISTED: usize = 20;

pub fn gate(chain: &GateChain, all: bool) -> String {
    let mut out = String::new();
    let facts = [chain.purpose, chain.kind, chain.mode].into_iter().flatten().collect::<Vec<_>>().join(", ");
    line(&mut out, &format!("Gate {}{}", escape(&chain.gate), if facts.is_empty() { String::new() } else { format!(" ({facts})") }));
    if let Some(file) = &chain.declared_in {
        line(&mut out, &format!("  declared in {}", escape(file)));
    }
    figures(&mut out, chain);
    links(&mut out, "First stops", &chain.first_stops, Within::Gate, all);
    links(&mut out, "Misses", &chain.misses, Within::Gate, all);
    out
}

/// Two figures a line; what is zero or unknown is left out, except how often it ran.
fn figures(out: &mut String, chain: &GateChain) {
    let always = ["n_gate_runs", "n_runs"];
    let shown: Vec<(&String, String)> = chain
        .figures
        .iter()
        .filter(|(name, value)| always.contains(&name.as_str()) || !(value.is_null() || value.as_i64() == Some(0)))
        .filter(|(_, value)| value.is_number())
        .map(|(name, value)| (name, value.to_string()))
        .collect();
    for pair in shown.chunks(2) {
        let cells: Vec<String> = pair.iter().map(|(name, value)| format!("{name:<28} {value:>16}")).collect();
        line(out, &format!("  {}", cells.join("   ")));
    }
    line(out, "  (everything in the lake; `mechanic query gate_economics --explain` says what each means)");
}

pub fn problem(chain: &ProblemChain, all: bool) -> String {
    let mut out = String::new();
    line(&mut out, &format!("Problem {}", chain.problem));
    pair(&mut out, "run", &named_run(&chain.run, chain.task.as_deref()));
    pair(&mut out, "defect", &format!("{} ({})", escape(&chain.fingerprint), chain.fingerprint_basis));
    let unit = chain.unit.as_deref().map_or(String::new(), |u| format!(", unit {}", escape(u)));
    pair(&mut out, "severity", &format!("{}, about {}{unit}", chain.severity.unwrap_or("not said"), chain.about));
    pair(&mut out, "first seen by", &chain.first_detection.as_deref().map_or("no gate".to_owned(), escape));
    let stop = match (&chain.first_stop, chain.stop_basis) {
        (Some(gate), basis) => format!("{} ({}, order by {})", escape(gate), basis.unwrap_or("basis unknown"), chain.order_basis),
        (None, _) => "no gate: no record attributes it".to_owned(),
    };
    pair(&mut out, "first stopped by", &stop);
    if !chain.co_first.is_empty() {
        pair(&mut out, "at the same time", &chain.co_first.iter().map(|g| escape(g)).collect::<Vec<_>>().join(", "));
    }
    if chain.escaped == Some(true) {
        pair(&mut out, "escaped", "first seen after merge");
    }
    let closed = chain.closed_at.as_deref().map_or("open at the end of the run".to_owned(), |at| format!("closed {at}"));
    pair(&mut out, "what became of it", &format!("{}, {closed}", chain.disposition));
    if let Some(label) = &chain.label {
        pair(&mut out, "labelled", &escape(label));
    }
    if let Some(earlier) = &chain.recurs_of {
        pair(&mut out, "came back from", earlier);
    }
    let n = chain.chain.iter().filter(|l| l.finding.is_some()).count() as i64;
    let title = if n == chain.n_findings {
        "Chain".to_owned()
    } else {
        format!("Chain ({n} of {} findings could be placed in it)", chain.n_findings)
    };
    links(&mut out, &title, &chain.chain, Within::Problem, all);
    if !chain.never_ran.is_empty() {
        pair(&mut out, "never ran here", &chain.never_ran.iter().map(|g| escape(g)).collect::<Vec<_>>().join(", "));
    }
    if let Some(finding) = chain.chain.iter().find_map(|l| l.finding.as_deref()) {
        let _ = writeln!(out, "\nWas it right? mechanic label {} true|false-alarm|duplicate", short(finding));
    }
    out
}

pub fn run(chain: &RunChain, all: bool) -> String {
    let mut out = String::new();
    line(&mut out, &format!("Run {}", named_run(&chain.run, chain.task.as_deref())));
    let span = format!("{} to {}", chain.started_at.as_deref().unwrap_or("?"), chain.ended_at.as_deref().unwrap_or("?"));
    pair(&mut out, "time", &span);
    pair(&mut out, "run by, joined by", &format!("{}, {}", chain.run_basis, chain.link_basis));
    let harness = [chain.harness.as_deref(), chain.harness_version.as_deref()];
    for (label, value) in [
        ("harness", Some(harness.into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|h| !h.is_empty())),
        ("model", chain.model.clone()),
        ("repository", chain.repo.clone()),
        ("branch", chain.branch.clone()),
        ("outcome", chain.outcome.clone()),
        ("can be known", Some(chain.observes.join(", "))),
    ] {
        pair(&mut out, label, &value.map_or("not recorded".to_owned(), |v| escape(&v)));
    }
    let _ = writeln!(out, "\nMembers: {}", chain.members.len());
    let shown = if all { chain.members.len() } else { chain.members.len().min(LISTED) };
    for member in chain.members.iter().take(shown) {
        line(&mut out, &format!("  {:<10} {:<12} {}", member.kind, member.link_basis, escape(&member.id)));
    }
    rest(&mut out, chain.members.len() - shown);
    links(&mut out, "Problems", &chain.problems, Within::Run, all);
    links(&mut out, "Gate runs", &chain.gate_runs, Within::Run, all);
    out
}

fn named_run(run: &str, task: Option<&str>) -> String {
    task.map_or_else(|| short(run), |task| format!("{} (issue {})", short(run), escape(task)))
}

fn links(out: &mut String, title: &str, links: &[Link], within: Within, all: bool) {
    let _ = writeln!(out, "\n{title}: {}", if links.is_empty() { "none".to_owned() } else { links.len().to_string() });
    let shown = if all { links.len() } else { links.len().min(LISTED) };
    for link in links.iter().take(shown) {
        show_link(out, link, within);
    }
    rest(out, links.len() - shown);
}

fn rest(out: &mut String, n: usize) {
    if n > 0 {
        let _ = writeln!(out, "  … and {n} more: --all shows them");
    }
}

fn show_link(out: &mut String, link: &Link, within: Within) {
    let mut head = format!("  {}", link.at.as_deref().unwrap_or("time unknown"));
    let mut gate = escape(&link.gate);
    if let Some(rule) = link.rule.as_deref().filter(|r| *r != link.gate) {
        let _ = write!(gate, " / {}", escape(rule));
    }
    if let Some(verdict) = link.verdict {
        let _ = write!(gate, ": {verdict}");
    }
    if !link.is.is_empty() {
        let _ = write!(head, "  {}", escape(&link.is.join("; ")));
    }
    if head.chars().count() + gate.chars().count() + 2 <= WIDTH {
        line(out, &format!("{head}  {gate}"));
    } else {
        line(out, &head);
        line(out, &format!("      {gate}"));
    }
    let mut about = Vec::new();
    about.extend(link.unit.as_deref().map(|u| format!("unit {}", escape(u))));
    about.extend(link.severity.map(str::to_owned));
    about.extend(link.about.filter(|a| *a != "product").map(|a| format!("about {a}")));
    let mut ids = Vec::new();
    if within == Within::Gate {
        ids.extend(link.run.as_deref().map(|r| format!("run {}", named_run(r, link.task.as_deref()))));
    }
    if within != Within::Problem {
        ids.extend(link.problem.as_deref().map(|p| format!("problem {}", short(p))));
    }
    ids.extend(link.finding.as_deref().map(|f| format!("finding {}", short(f))));
    for part in [about, ids].into_iter().filter(|p| !p.is_empty()) {
        line(out, &format!("      {}", part.join(", ")));
    }
    if let Some(place) = &link.place {
        line(out, &format!("      {}:{}", cut_middle(&escape(&place.file), WIDTH - 16), place.line));
        if let Some(quote) = &place.quote {
            show_quote(out, quote);
        }
    }
}

fn show_quote(out: &mut String, quote: &Quote) {
    let said = match &quote.state {
        State::Read => None,
        State::Gone => Some("the file is gone: its rows stay, its words are lost".to_owned()),
        State::Changed => Some("the file was changed since it was read: ingest it again to see its words".to_owned()),
        State::TooLong(bytes) => Some(format!("a record of {bytes} bytes: too long to show")),
        State::NoText => Some("what git says of a commit; `git show` has its words".to_owned()),
        State::Missing => Some("the file has no such record now".to_owned()),
        State::Unreadable(e) => Some(format!("cannot be read now: {}", escape(e))),
    };
    if let Some(said) = said {
        line(out, &format!("      ({said})"));
    }
    let said = quote.fields.iter().filter(|f| f.said).count();
    for field in quote.fields.iter().take(if said > 0 { said.min(FIELDS) } else { 2 }) {
        let name = if field.name.is_empty() { String::new() } else { format!("{}: ", escape(&field.name)) };
        quoted(out, &format!("{name}{}", escape(&field.text)));
    }
}

/// A quotation over at most three lines.
fn quoted(out: &mut String, text: &str) {
    const LEAD: &str = "      | ";
    let width = WIDTH - LEAD.len();
    let chars: Vec<char> = text.chars().collect();
    let mut chunks = chars.chunks(width).peekable();
    for n in 0..3 {
        let Some(chunk) = chunks.next() else { return };
        let mut part: String = chunk.iter().collect();
        if n == 2 && chunks.peek().is_some() {
            part = cut(&(part + "…"), width);
        }
        line(out, &format!("{LEAD}{part}"));
    }
}

fn pair(out: &mut String, label: &str, value: &str) {
    line(out, &format!("  {label:<18} {value}"));
}

fn line(out: &mut String, text: &str) {
    out.push_str(&cut(text, WIDTH));
    out.push('\n');
}

/// Enough of an id to name it.
pub fn short(id: &str) -> String {
    if id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()) { id.chars().take(12).collect() } else { escape(id) }
}
