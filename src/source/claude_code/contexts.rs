//! Owns the context windows of a file: which one a line belongs to, and what the file says of each.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::calls::OpenCall;
use super::ids;
use super::line::Entry;
use crate::model::sessions::Context;
use crate::model::time::Ts;
use crate::model::vocabulary::TokenBasis;
use crate::source::cut_home;
use crate::source::emit::Emitter;
use crate::source::lenient::name;
use crate::source::scan::Str;

/// Windows held at once; a hostile file may name any number.
const MAX_CONTEXTS: usize = 4_096;
/// Models told apart in one window.
const MAX_MODELS: usize = 32;

/// One window while its file is read.
#[derive(Serialize, Deserialize)]
pub struct Window {
    pub session: String,
    pub agent: Option<String>,
    pub row: Context,
    /// The call whose lines are being read.
    pub open: Option<OpenCall>,
    /// Time of the line before.
    pub last_ts: Option<Ts>,
    /// Calls by model.
    models: Vec<(String, i64)>,
    /// Whether this file holds the window's own lines, and not only its parent's words about it.
    pub is_own: bool,
    /// Whether the first prompt was looked at for a role.
    pub prompt_seen: bool,
}

impl Window {
    pub fn count_model(&mut self, model: &str) {
        if let Some(found) = self.models.iter_mut().find(|m| m.0 == model) {
            found.1 += 1;
        } else if self.models.len() < MAX_MODELS {
            self.models.push((model.to_owned(), 1));
        }
    }

    /// Takes a line's time and envelope into the window.
    pub fn see(&mut self, entry: &Entry<'_>, ts: Option<Ts>) {
        if let Some(ts) = ts {
            self.row.started_at = Some(self.row.started_at.map_or(ts, |s| s.min(ts)));
            self.row.ended_at = Some(self.row.ended_at.map_or(ts, |e| e.max(ts)));
        }
        let first = |field: &mut Option<String>, value: Option<Str<'_>>, shown: fn(&str) -> String| {
            if field.is_none()
                && let Some(text) = value.filter(|t| !t.is_empty())
            {
                *field = Some(shown(&text.text()));
            }
        };
        first(&mut self.row.cwd, entry.cwd, |t| name(&cut_home(t)));
        first(&mut self.row.tool_version, entry.version, name);
        first(&mut self.row.git_branch, entry.branch, name);
        first(&mut self.row.repo, entry.repository, name);
    }
}

/// The key of a window as it stood in its line.
struct Last {
    session: Vec<u8>,
    agent: Option<Vec<u8>>,
    is_sidechain: bool,
    at: usize,
}

/// A map by more than a text is put by as a list.
mod by_key {
    use std::collections::HashMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Map = HashMap<(String, Option<String>, bool), usize>;

    pub fn serialize<S: Serializer>(map: &Map, to: S) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Map, D::Error> {
        Ok(Vec::deserialize(from)?.into_iter().collect())
    }
}

/// All windows of a file.
#[derive(Default, Serialize, Deserialize)]
pub struct Contexts {
    windows: Vec<Window>,
    #[serde(with = "by_key")]
    by_key: HashMap<(String, Option<String>, bool), usize>,
    /// The window of the line before, with its key as it stood there: a short cut, which a reading that goes on does without.
    #[serde(skip)]
    last: Option<Last>,
    last_session: Option<String>,
}

impl Contexts {
    /// The window of a line. Lines without a session belong to that of the line before. `None` before the first session.
    pub fn of_line(&mut self, entry: &Entry<'_>, line: i64, ts: Option<Ts>, out: &mut Emitter<'_>) -> Option<usize> {
        let agent = entry.agent.filter(|a| !a.is_empty());
        if let (Some(last), Some(session)) = (&self.last, entry.session)
            && last.session == session.raw
            && last.agent.as_deref() == agent.map(|a| a.raw)
            && last.is_sidechain == entry.is_sidechain
        {
            let at = last.at;
            self.windows.get_mut(at)?.see(entry, ts);
            return Some(at);
        }
        let session = match entry.session.filter(|s| !s.is_empty()) {
            Some(session) => session.text().into_owned(),
            None => self.last_session.clone()?,
        };
        let agent_text = agent.map(|a| a.text().into_owned());
        let at = self.at(&session, agent_text.as_deref(), entry.is_sidechain, line, out);
        self.windows.get_mut(at)?.is_own = true;
        self.windows.get_mut(at)?.see(entry, ts);
        if let Some(raw) = entry.session {
            self.last =
                Some(Last { session: raw.raw.to_vec(), agent: agent.map(|a| a.raw.to_vec()), is_sidechain: entry.is_sidechain, at });
        }
        self.last_session = Some(session);
        Some(at)
    }

    /// The window of that key, new where it was not seen before.
    pub fn at(&mut self, session: &str, agent: Option<&str>, is_sidechain: bool, line: i64, out: &mut Emitter<'_>) -> usize {
        let key = (session.to_owned(), agent.map(str::to_owned), is_sidechain && agent.is_none());
        if let Some(at) = self.by_key.get(&key) {
            return *at;
        }
        if self.windows.len() >= MAX_CONTEXTS {
            self.finish(out);
        }
        let is_main = agent.is_none() && !is_sidechain;
        let row = Context {
            context_id: ids::context_id(session, agent, key.2),
            parent_context_id: (!is_main).then(|| ids::context_id(session, None, false)),
            native_run_key: ids::run_key(session),
            role: None,
            role_basis: None,
            agent_name: None,
            model: None,
            started_at: None,
            ended_at: None,
            token_basis: None,
            producer_total_tokens: None,
            tool_version: None,
            cwd: None,
            git_branch: None,
            repo: None,
            n_compactions: None,
            source_id: out.source_id.clone(),
            source_line: line,
        };
        let window = Window {
            session: session.to_owned(),
            agent: agent.map(str::to_owned),
            row,
            open: None,
            last_ts: None,
            models: Vec::new(),
            is_own: false,
            prompt_seen: false,
        };
        self.windows.push(window);
        self.by_key.insert(key, self.windows.len() - 1);
        self.windows.len() - 1
    }

    /// A sub-agent stopped.
    pub fn ended(&mut self, session: &str, agent: &str, ts: Option<Ts>) {
        let key = (session.to_owned(), Some(agent.to_owned()), false);
        if let Some(window) = self.by_key.get(&key).and_then(|at| self.windows.get_mut(*at)) {
            window.row.ended_at = window.row.ended_at.max(ts);
        }
    }

    pub fn get(&mut self, at: usize) -> Option<&mut Window> {
        self.windows.get_mut(at)
    }

    /// Closes every window and writes its row.
    pub fn finish(&mut self, out: &mut Emitter<'_>) {
        for mut window in self.windows.drain(..) {
            if let Some(call) = window.open.take() {
                call.finish(out);
            }
            let mut row = window.row;
            // Of models used equally often the first by name: the order of lines must not decide.
            row.model = window.models.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0))).map(|m| m.0);
            if window.is_own {
                row.n_compactions.get_or_insert(0);
            }
            if row.token_basis.is_none() && row.model.is_some() {
                row.token_basis = Some(TokenBasis::SumOfCalls);
            }
            out.facts.contexts.push(row);
        }
        self.by_key.clear();
        self.last = None;
    }
}
