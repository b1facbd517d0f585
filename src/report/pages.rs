//! Owns the pages: what the templates in `reports/` are given, escaped for Markdown and for HTML.

use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, context};

use super::audit::Audit;
use super::escape;
use super::figures::{count, known, millis, tokens, usd};
use super::plot::{Plot, REPLAY};
use super::rich::Rich;
use super::todo::Todo;
use super::views::{Cell, View};

const MARKDOWN: &str = include_str!("../../reports/audit.md.j2");
const HTML: &str = include_str!("../../reports/audit.html.j2");
const STYLE: &str = include_str!("../../reports/audit.css");
const SCRIPT: &str = include_str!("../../reports/audit.js");

/// Why a page could not be made: a template that does not fit the program.
#[derive(Debug, thiserror::Error)]
#[error("failed to fill the template of {page}: {source}")]
pub struct PageError {
    page: &'static str,
    #[source]
    source: minijinja::Error,
}

/// What a page lists under "files": name, rows, what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile {
    pub stem: String,
    pub title: String,
    pub rows: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Medium {
    Markdown,
    Html,
}

impl Medium {
    fn rich(self, rich: &Rich) -> Value {
        match self {
            Medium::Markdown => Value::from(rich.to_markdown()),
            Medium::Html => Value::from_safe_string(rich.to_html()),
        }
    }

    fn cell(self, cell: &Cell) -> Value {
        match (self, cell.name) {
            (Medium::Markdown, true) => Value::from(escape::code_in_cell(&cell.text)),
            (Medium::Markdown, false) => Value::from(escape::markdown(&cell.text)),
            (Medium::Html, true) => Value::from_safe_string(format!("<code>{}</code>", breakable(&cell.text))),
            (Medium::Html, false) => Value::from(escape::visible(&cell.text)),
        }
    }
}

/// Escaped, with places where a narrow column may break a long name.
fn breakable(name: &str) -> String {
    let mut out = String::new();
    for part in escape::visible(name).split_inclusive([':', '/', '.', '_', '-']) {
        out.push_str(&escape::html(part));
        out.push_str("<wbr>");
    }
    out
}

/// The Markdown page.
pub fn markdown(audit: &Audit, plots: &[Plot], files: &[TableFile]) -> Result<String, PageError> {
    render("audit.md", MARKDOWN, AutoEscape::None, audit, plots, files, Medium::Markdown)
}

/// The HTML page: one file, nothing fetched, readable without its script.
pub fn html(audit: &Audit, plots: &[Plot], files: &[TableFile]) -> Result<String, PageError> {
    render("audit.html", HTML, AutoEscape::Html, audit, plots, files, Medium::Html)
}

fn render(
    page: &'static str,
    template: &'static str,
    escape: AutoEscape,
    audit: &Audit,
    plots: &[Plot],
    files: &[TableFile],
    medium: Medium,
) -> Result<String, PageError> {
    let failed = |source| PageError { page, source };
    let mut env = Environment::new();
    env.set_auto_escape_callback(move |_| escape);
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    env.set_trim_blocks(true);
    env.set_lstrip_blocks(true);
    env.add_template(page, template).map_err(failed)?;
    env.get_template(page).and_then(|t| t.render(context(audit, plots, files, medium))).map_err(failed)
}

fn context(audit: &Audit, plots: &[Plot], files: &[TableFile], medium: Medium) -> Value {
    let rich = |items: &[Rich]| items.iter().map(|r| medium.rich(r)).collect::<Vec<_>>();
    let frame = &audit.frame;
    let rest: Vec<Value> = audit
        .rest()
        .into_iter()
        .map(|(d, todos)| context! { heading => d.heading(), todos => todos.iter().map(|t| todo(t, medium)).collect::<Vec<_>>() })
        .collect();
    context! {
        tool => &frame.tool, now => &frame.now, tz => &frame.tz,
        week => &frame.news.label, days => &frame.news.days, evidence_days => &frame.evidence.days,
        lake_digest => &frame.lake_digest, config_digest => &frame.config_digest,
        tiles => tiles(audit),
        happened => rich(&audit.news.happened), changed => rich(&audit.news.changed),
        against => &audit.news.against.label, against_report => audit.news.against.is_report,
        first => audit.first().iter().map(|t| todo(t, medium)).collect::<Vec<_>>(),
        n_todo => audit.todos.len(), n_rest => audit.todos.len() - audit.first().len(),
        rest,
        unknown => rich(&audit.unknown),
        views => audit.views.iter().map(|v| view(v, medium)).collect::<Vec<_>>(),
        plots => plots.iter().filter(|p| p.name != REPLAY).map(plot).collect::<Vec<_>>(),
        replay => context! {
            lines => rich(&audit.replay.lines),
            plots => plots.iter().filter(|p| p.name == REPLAY).map(plot).collect::<Vec<_>>(),
            views => audit.replay.views.iter().map(|v| view(v, medium)).collect::<Vec<_>>(),
        },
        files => files.iter().map(|f| context! { stem => &f.stem, title => &f.title, rows => f.rows }).collect::<Vec<_>>(),
        css => Value::from_safe_string(STYLE.to_owned()), js => Value::from_safe_string(SCRIPT.to_owned()),
    }
}

fn plot(plot: &Plot) -> Value {
    context! { name => plot.name, caption => plot.caption, svg => Value::from_safe_string(plot.svg.clone()) }
}

fn todo(todo: &Todo, medium: Medium) -> Value {
    context! {
        rank => todo.rank.as_str(),
        title => medium.rich(&todo.title),
        evidence => todo.evidence.iter().map(|e| medium.rich(e)).collect::<Vec<_>>(),
        commands => todo.commands.iter().map(|c| match medium {
            Medium::Markdown => Value::from(escape::code(c)),
            Medium::Html => Value::from(escape::visible(c)),
        }).collect::<Vec<_>>(),
    }
}

fn view(view: &View, medium: Medium) -> Value {
    let rows: Vec<Vec<Value>> = view
        .rows
        .iter()
        .map(|row| {
            row.iter().map(|c| context! { text => medium.cell(c), sort => c.sort.map(|x| format!("{x}")), alarm => c.alarm }).collect()
        })
        .collect();
    context! {
        id => view.id, title => view.title, note => view.note, file => &view.file,
        columns => view.columns.iter().map(|c| context! { label => c.label, doc => c.doc, numeric => c.numeric }).collect::<Vec<_>>(),
        rows,
    }
}

/// The figures at the head of the page, each with the one it is held against.
fn tiles(audit: &Audit) -> Vec<Value> {
    let (now, then) = (&audit.news.headline, &audit.news.against.headline);
    // `W47` of `2026-W47`; a span that is no week is only "before".
    let short = audit.news.against.label.split_once("-W").map_or("before".to_owned(), |(_, week)| format!("W{week}"));
    let tile =
        |label: &str, value: String, before: String, alarm: bool| context! { label, value, before => format!("{short}: {before}"), alarm };
    let n = |label: &str, now: Option<i64>, then: Option<i64>, bad: bool| {
        tile(label, known(now, count), known(then, count), bad && now > Some(0))
    };
    vec![
        n("runs ended", Some(now.n_runs), Some(then.n_runs), false),
        n("product problems", now.n_problems, then.n_problems, false),
        tile(
            "stopped first, enforced + acted on",
            format!("{} + {}", known(now.n_first_stops_enforced, count), known(now.n_first_stops_acted_on, count)),
            format!("{} + {}", known(then.n_first_stops_enforced, count), known(then.n_first_stops_acted_on, count)),
            false,
        ),
        n("seen only after merge", now.n_escaped, then.n_escaped, true),
        n("gate runs that failed to run", now.n_tolls, then.n_tolls, true),
        tile("gate time", known(now.gate_busy_ms, millis), known(then.gate_busy_ms, millis), false),
        tile("output tokens", known(now.output_tokens, tokens), known(then.output_tokens, tokens), false),
        tile("price, complete calls", known(now.nano_usd, usd), known(then.nano_usd, usd), false),
    ]
}
