//! Owns results as commands of GitHub's workflow log: one annotation an issue, then the report.

use super::super::results::Results;
use super::super::weigh::Kind;
use super::about;
use crate::plain::visible;

/// `corpus`: the folder of fixtures as it is named from the repository's top.
pub fn github(results: &Results, corpus: &str) -> String {
    let mut out = String::new();
    for issue in &results.issues {
        let command = match issue.kind {
            _ if issue.fails() || issue.kind == Kind::NoVerdict => "error",
            Kind::OnNothing | Kind::Outside | Kind::Unruly | Kind::Degraded | Kind::Differs | Kind::ExpiredWaiver => "warning",
            _ => "notice",
        };
        let file = issue
            .fixture
            .as_ref()
            .map_or(String::new(), |id| format!("file={},", property(&format!("{}/{id}/fixture.toml", corpus.trim_end_matches('/')))));
        let title = property(&format!("{}: {}", issue.kind, about(issue)));
        let waived = issue.waived.as_ref().map_or(String::new(), |w| format!(" (waived by {w})"));
        out.push_str(&format!("::{command} {file}title={title}::{}\n", message(&format!("{}{waived}", issue.text))));
    }
    // The rest of the log must not be taken for commands, whatever a validator printed.
    let token = crate::model::id::stable_id(&["mechanic replay", &out]);
    out.push_str(&format!("::stop-commands::{token}\n{}::{token}::\n", super::text(results)));
    out
}

fn message(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
