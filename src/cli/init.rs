//! Owns `mechanic init`: its arguments, one call, what is printed.

use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::discover::{Homes, Place, discover};
use super::{Usage, print};
use crate::config::Config;
use crate::config::file::FILE_NAME;
use crate::plain::escape;
use crate::source::cut_home;

/// Writes a commented mechanic.toml from what it finds: traces, sessions, hooks, the harness's contract.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  mechanic init\n  mechanic init --force")]
pub struct Args {
    /// Replace a mechanic.toml that is there.
    #[arg(long)]
    force: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let here = std::env::current_dir()?;
    let places = discover(&here, &Config::default(), &Homes::of_environment(), false);
    let file = here.join(FILE_NAME);
    write_file(&file, &compose(&places, &here), args.force)?;
    let mut said = format!("Wrote {}.\n", cut_home(&file.to_string_lossy()));
    said.push_str(&match places.as_slice() {
        [] => "Found no traces or sessions of this repository: name them under `paths`, or on the command line.\n".to_owned(),
        places => format!("Found for this repository:\n{}Next: mechanic audit\n", super::discover::describe(places)),
    });
    print(&said)?;
    Ok(ExitCode::SUCCESS)
}

fn write_file(file: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut open = options.open(file).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => {
            anyhow::Error::new(Usage(format!("{} is there already: edit it, or replace it with --force", file.display())))
        }
        _ => anyhow::Error::new(e).context(format!("write {}", file.display())),
    })?;
    open.write_all(text.as_bytes())?;
    open.sync_all()?;
    Ok(())
}

/// The file's text. Everything in it is a comment, so that it changes nothing until a line is made active.
fn compose(places: &[Place], here: &Path) -> String {
    let mut text = String::from(HEAD);
    text.push_str("# Found here:\n");
    if places.is_empty() {
        text.push_str("#   nothing\n");
    }
    for place in places {
        let _ = writeln!(text, "#   {:<22} {}", place.what, escape(&written(&place.path, here)));
    }
    text.push_str("#\n# paths = [\n");
    for place in places {
        let _ = writeln!(text, "#   {},", quoted(&written(&place.path, here)));
    }
    text.push_str("# ]\n");
    text.push_str(TAIL);
    text
}

/// As a user would write it: relative to the file where the place is below it, else with `~`.
fn written(path: &Path, here: &Path) -> String {
    match path.strip_prefix(here) {
        Ok(relative) => relative.to_string_lossy().into_owned(),
        Err(_) => {
            match std::env::home_dir().filter(|h| h.components().count() > 1).and_then(|h| path.strip_prefix(h).ok().map(PathBuf::from)) {
                Some(below) => format!("~/{}", below.to_string_lossy()),
                None => path.to_string_lossy().into_owned(),
            }
        }
    }
}

/// A TOML string on one line: its escapes are those of JSON, and DEL.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

const HEAD: &str = "\
# What mechanic reads, and how it judges. Every line is a comment: what stands in it is the default or an example.

# Files and folders that are read when no PATH is given, relative to this file; `~` is the home directory. Without this
# key the places below are looked for each time, so new sessions and worktrees are found by themselves.
";

const TAIL: &str = r##"
# Time zone of weeks and days (IANA name).
# timezone = "UTC"

# Folder of the lake.
# lake = ".mechanic/lake"

# Prices laid over the built-in ones: US dollars a million tokens. `model` may hold `*`; `from` is the first day, `until` the first
# day after.
# [[price]]
# model = "example-model-*"
# from = "2026-07-01"
# until = "2027-01-01"
# input = 3.0
# cache_read = 0.3
# cache_write_5m = 3.75
# cache_write_1h = 6.0
# output = 15.0

# Changes to what is known of a harness's gates and rules. Keys of a gate: order, purpose (control, context, recorder, notifier),
# kind (deterministic, model, human, external), mode (block, warn, observe), irreversible, pass_recorded, pinned, covers, aliases.
# A pinned gate or rule is never proposed for removal. Keys of a rule: about (product, harness, infrastructure) and mode; only product
# problems earn yield. Keys of the layout: tracking and worktrees (folders), task_prefixes (before the number of an issue in names of
# branches and work trees).
# [[profile.agent-delivery-harness.gate]]
# id = "gate_review"
# pinned = true
#
# [[profile.agent-delivery-harness.rule]]
# id = "trace-consistency"
# mode = "block"
#
# [profile.agent-delivery-harness.layout]
# task_prefixes = ["issue-"]
"##;

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Vec<Place> {
        vec![
            Place { what: "delivery traces", path: PathBuf::from("/srv/loom/.copilot-tracking/issues") },
            Place { what: "Copilot sessions", path: PathBuf::from("/elsewhere/a \"b\"\\c\n[[price]]\u{7f}") },
        ]
    }

    #[test]
    fn the_file_as_written_changes_nothing() {
        let text = compose(&places(), Path::new("/srv/loom"));
        assert!(text.lines().all(|l| l.is_empty() || l.starts_with('#')), "{text}");
        assert_eq!(Config::parse(&text, Path::new("/srv/loom/mechanic.toml")).unwrap().digest(), Config::default().digest());
    }

    #[test]
    fn the_file_with_every_line_made_active_is_valid_and_names_what_was_found() {
        let text = compose(&places()[..1], Path::new("/srv/loom"));
        // Text lines of comments begin with a capital letter or go on from one; keys, tables and array items do not.
        let active = |l: &str| {
            let l = l.trim_start_matches('#').trim_start();
            let key =
                l.split_once(" = ").is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit()));
            key || l.starts_with('[') || l.starts_with('"') || l.starts_with(']')
        };
        assert!(quoted("a\n\u{7f}\"").parse::<toml::Value>().is_ok_and(|v| v.as_str() == Some("a\n\u{7f}\"")));
        let toml: String = text.lines().filter(|l| active(l)).map(|l| l.trim_start_matches('#').trim_start().to_owned() + "\n").collect();
        let config = Config::parse(&toml, Path::new("/srv/loom/mechanic.toml")).unwrap();
        assert_eq!(config.paths, [PathBuf::from("/srv/loom/.copilot-tracking/issues")]);
        assert_eq!((config.prices.len(), config.profiles.len()), (1, 1));
        assert_eq!(config.timezone, Config::default().timezone);
    }

    #[test]
    fn a_file_that_is_there_is_replaced_only_when_asked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE_NAME);
        write_file(&file, "# one\n", false).unwrap();
        let error = write_file(&file, "# two\n", false).unwrap_err();
        assert!(error.is::<Usage>() && error.to_string().contains("--force"), "{error}");
        write_file(&file, "#\n", true).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "#\n");
    }
}
