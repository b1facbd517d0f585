//! Owns the summary for a terminal: at most 100 columns, styled with escape codes that the printer strips where no terminal is.

use anstyle::{AnsiColor, Style};

use super::audit::Audit;
use super::escape::shorten;
use super::figures::{UNKNOWN, count, counted, known, millis, percent, usd};
use super::gate::Gate;
use super::todo::Rank;

/// Columns at most.
pub const WIDTH: usize = 100;
/// Gates the summary lists; the report has all.
const GATES: usize = 30;
/// Lines of a kind the summary lists.
const LINES: usize = 6;

const HEAD: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// The summary. `written` are the paths of the files, as the user would name them.
pub fn summary(audit: &Audit, written: &[String]) -> String {
    let mut out = String::new();
    let frame = &audit.frame;
    line(&mut out, &format!("{HEAD}Gate audit {}{HEAD:#}: {}, {}", frame.news.label, frame.news.days, frame.tz));
    line(&mut out, &format!("{FAINT}rates and bounds over {}{FAINT:#}", frame.evidence.days));
    section(&mut out, "News");
    for item in &audit.news.happened {
        bullet(&mut out, &item.to_text());
    }
    let since = match audit.news.against.is_report {
        true => format!("Since the report of {}", audit.news.against.label),
        false => format!("Against {} (no earlier report is there)", audit.news.against.label),
    };
    section(&mut out, &since);
    for item in audit.news.changed.iter().take(LINES) {
        bullet(&mut out, &item.to_text());
    }
    more(&mut out, audit.news.changed.len(), LINES);
    gates(&mut out, audit);
    todos(&mut out, audit);
    section(&mut out, "Could not be known");
    for item in audit.unknown.iter().take(LINES) {
        bullet(&mut out, &item.to_text());
    }
    more(&mut out, audit.unknown.len(), LINES);
    section(&mut out, "Written");
    for path in written {
        line(&mut out, &format!("  {path}"));
    }
    out
}

fn gates(out: &mut String, audit: &Audit) {
    let mut seen: Vec<&Gate> = audit.answers.gates.iter().filter(|g| g.n_gate_runs > 0).collect();
    // What has a yield comes first, each part in the harness's own order.
    seen.sort_by_key(|g| !g.is_control());
    section(out, "Gates");
    if seen.is_empty() {
        bullet(out, "no gate run is recorded in these weeks");
        return;
    }
    let head = ["gate runs", "n", "fails", "stopped", "bound", "time", "USD", "toll"];
    line(out, &format!("{FAINT}{}{FAINT:#}", row("gate", &head.map(str::to_owned))));
    for gate in seen.iter().take(GATES) {
        let name = shorten(&gate.gate_id, NAME);
        let cells = [
            count(gate.n_gate_runs),
            if gate.is_control() { count(gate.n_runs_counted) } else { UNKNOWN.to_owned() },
            count(gate.n_fail + gate.n_warn),
            gate.stops_text().unwrap_or_else(|| gate.purpose.clone()),
            known(gate.upper95, percent),
            known(gate.own_ms(), millis),
            known(gate.nano_usd, usd),
            toll(gate),
        ];
        let text = row(&name, &cells);
        let style = if gate.n_tolls > 0 || gate.n_misses_proven.unwrap_or(0) > 0 { YELLOW } else { Style::new() };
        line(out, &format!("{style}{text}{style:#}"));
    }
    more(out, seen.len(), GATES);
    let about = "stopped: product problems stopped first, enforced + acted on, under the one order these records show; (n?): stops by a person, not \
                 labelled. n: runs that count. bound: with none stopped, up to so many runs could still have one (95 %). toll: gate runs that \
                 failed to run.";
    for text in wrap(about, WIDTH - 2) {
        line(out, &format!("  {FAINT}{text}{FAINT:#}"));
    }
}

const NAME: usize = 30;
const WIDTHS: [usize; 8] = [9, 5, 5, 10, 7, 8, 8, 6];

fn row(name: &str, cells: &[String; 8]) -> String {
    let mut text = format!("  {name:<NAME$}");
    for (cell, width) in cells.iter().zip(WIDTHS) {
        text.push_str(&format!(" {cell:>width$}"));
    }
    text.trim_end().to_owned()
}

fn toll(gate: &Gate) -> String {
    if gate.n_tolls == 0 { "·".to_owned() } else { count(gate.n_tolls) }
}

fn todos(out: &mut String, audit: &Audit) {
    section(out, "To do");
    if audit.todos.is_empty() {
        bullet(out, "nothing that these records ask for");
    }
    for (i, todo) in audit.first().iter().enumerate() {
        let style = match todo.rank {
            Rank::Critical => RED,
            Rank::Major => YELLOW,
            _ => FAINT,
        };
        let lead = format!("  {} {:<9}", i + 1, todo.rank.as_str());
        let mut lines = wrap(&todo.title.to_text(), WIDTH - lead.len()).into_iter();
        line(out, &format!("{style}{lead}{style:#}{}", lines.next().unwrap_or_default()));
        let indent = " ".repeat(lead.len());
        for text in lines {
            line(out, &format!("{indent}{text}"));
        }
        for text in todo.evidence.iter().flat_map(|e| wrap(&e.to_text(), WIDTH - lead.len())) {
            line(out, &format!("{indent}{FAINT}{text}{FAINT:#}"));
        }
        // A command longer than the line stays whole where it would fit on a line of its own.
        for command in todo.commands.iter().flat_map(|c| wrap(c, WIDTH - lead.len() - 2)) {
            line(out, &format!("{indent}$ {command}"));
        }
    }
    let rest = audit.rest();
    if !rest.is_empty() {
        let parts: Vec<String> = rest
            .iter()
            .map(|(d, todos)| format!("{} ({})", d.heading().split(':').next().unwrap_or_default().to_lowercase(), todos.len()))
            .collect();
        let n: usize = rest.iter().map(|(_, t)| t.len()).sum();
        for text in wrap(&format!("and {n} more in the report, by what would decide: {}", parts.join(", ")), WIDTH - 2) {
            line(out, &format!("  {FAINT}{text}{FAINT:#}"));
        }
    }
}

fn section(out: &mut String, title: &str) {
    line(out, "");
    line(out, &format!("{HEAD}{title}{HEAD:#}"));
}

fn bullet(out: &mut String, text: &str) {
    for (i, part) in wrap(text, WIDTH - 4).into_iter().enumerate() {
        line(out, &format!("  {} {part}", if i == 0 { "·" } else { " " }));
    }
}

fn more(out: &mut String, n: usize, shown: usize) {
    if n > shown {
        line(out, &format!("  {FAINT}and {}{FAINT:#}", counted((n - shown) as i64, "more in the report", "more in the report")));
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Breaks text at spaces into lines of at most `width` characters; a longer word is broken.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    // A percent sign stays with its number.
    for word in text.replace(" %", "\u{a0}%").split(' ') {
        let mut word: Vec<char> = word.replace('\u{a0}', " ").chars().collect();
        if used > 0 && used + 1 + word.len() <= width {
            current.push(' ');
            used += 1;
        } else if used > 0 {
            lines.push(std::mem::take(&mut current));
            used = 0;
        }
        while word.len() > width {
            let rest = word.split_off(width);
            lines.push(word.into_iter().collect());
            word = rest;
        }
        used += word.len();
        current.extend(word);
    }
    if used > 0 || lines.is_empty() {
        lines.push(current);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_long_words_break_anywhere() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij x", 4), ["abcd", "efgh", "ij x"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("up to 35 %", 8), ["up to", "35 %"]);
    }
}
