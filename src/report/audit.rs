//! Owns `Audit`: a report before it has a form: every medium prints the same one.

use serde::Serialize;

use super::answers::{Answers, Span};
use super::changes::{self, News};
use super::manifest::Manifest;
use super::replay::{self, Replay};
use super::rich::Rich;
use super::table::Table;
use super::todo::{self, Decides, FIRST, Todo};
use super::unknowns;
use super::views::{self, View};
use super::window::Window;
use crate::model::time::Ts;

/// What frames a report: it depends on nothing but this and the answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Frame {
    /// `mechanic 0.1.0`.
    pub tool: String,
    /// RFC 3339.
    pub now: String,
    pub tz: String,
    pub news: Window,
    pub before: Window,
    pub evidence: Window,
    pub lake_digest: String,
    pub config_digest: String,
}

/// A report.
#[derive(Debug, Clone)]
pub struct Audit {
    pub frame: Frame,
    pub news: News,
    pub todos: Vec<Todo>,
    pub unknown: Vec<Rich>,
    pub views: Vec<View>,
    pub replay: Replay,
    pub answers: Answers,
    pub previous: Option<Manifest>,
}

impl Audit {
    pub fn new(frame: Frame, answers: Answers, previous: Option<Manifest>) -> Audit {
        let todos = todo::todos(&answers);
        let news = changes::news(&answers, &todos, &frame.before, previous.as_ref());
        Audit {
            news,
            unknown: unknowns::unknowns(&answers),
            views: views::views(&answers),
            replay: replay::replay(&answers),
            todos,
            frame,
            answers,
            previous,
        }
    }

    /// The things to do on page one.
    pub fn first(&self) -> &[Todo] {
        &self.todos[..self.todos.len().min(FIRST)]
    }

    /// The others, by what would decide them.
    pub fn rest(&self) -> Vec<(Decides, Vec<&Todo>)> {
        let rest = self.todos.get(FIRST..).unwrap_or_default();
        Decides::ALL
            .into_iter()
            .map(|d| (d, rest.iter().filter(|t| t.decides == d).collect::<Vec<_>>()))
            .filter(|(_, todos)| !todos.is_empty())
            .collect()
    }

    /// The same as JSON, for machines.
    pub fn to_json(&self) -> serde_json::Value {
        let gates: &[super::gate::Gate] = &self.answers.gates;
        let rest: Vec<serde_json::Value> =
            self.rest().into_iter().map(|(d, todos)| serde_json::json!({ "decides": d, "todo": todos })).collect();
        serde_json::json!({
            "frame": self.frame,
            "news": self.news,
            "todo": self.first(),
            "rest": rest,
            "unknown": self.unknown,
            "gates": gates,
            "replay": {
                "lines": self.replay.lines,
                "validators": objects(self.answers.table("replay_validators", Span::Lake)),
            },
            "weeks": objects(self.answers.table("weekly_trend", Span::Evidence)),
        })
    }

    pub fn now(&self) -> Option<Ts> {
        Ts::parse(&self.frame.now)
    }
}

fn objects(table: Option<&Table>) -> Vec<serde_json::Value> {
    let Some(table) = table else { return Vec::new() };
    table
        .rows
        .iter()
        .map(|row| {
            table
                .columns
                .iter()
                .cloned()
                .zip(row.iter().map(|v| serde_json::to_value(v).unwrap_or_default()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        })
        .collect()
}
