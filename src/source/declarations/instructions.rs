//! Owns the source `instruction-files`: files that an agent loads by itself, as rules with a size. Which agent loads which file is
//! known to [`crate::config::instructions`].

use crate::config::instructions::{InstructionFile, kinds_of};
use crate::model::gates::Rule;
use crate::model::vocabulary::LoadMode;
use crate::source::delivery_harness::whole;
use crate::source::emit::Emitter;
use crate::source::hook_identity::clean_name;
use crate::source::{Input, Probe, Source, cut_home};

/// Name of the format.
pub const FORMAT: &str = "instruction-files";

/// Bytes that stand for a token where nothing counts them.
const BYTES_A_TOKEN: usize = 4;
/// Files that one file may import.
const IMPORTS: usize = 200;

pub struct InstructionFiles;

impl Source for InstructionFiles {
    fn format(&self) -> &'static str {
        FORMAT
    }

    fn version(&self) -> u32 {
        1
    }

    fn claims(&self, probe: &Probe<'_>) -> bool {
        !kinds_of(&parts(probe.input)).is_empty()
    }

    fn read(&self, input: &Input, out: &mut Emitter<'_>) -> anyhow::Result<()> {
        let Some(bytes) = whole::read(input, out)? else { return Ok(()) };
        out.summary.records += 1;
        let text = String::from_utf8_lossy(&bytes);
        let source_id = out.source_id.clone();
        for (kind, path) in kinds_of(&parts(input)) {
            let waits = kind.condition.as_deref().is_some_and(|key| has_key(&text, key));
            let load = if waits { LoadMode::OnDemand } else { kind.load };
            out.facts.rules.push(Rule {
                lines: Some(text.lines().count() as i64),
                tokens: Some(bytes.len().div_ceil(BYTES_A_TOKEN) as i64),
                ..rule(kind, &path, load, &source_id, 1)
            });
            if kind.imports {
                // What is imported stands in a file of its own: its size is not known here.
                out.facts
                    .rules
                    .extend(imports(&text).into_iter().map(|(line, imported)| rule(kind, &cut_home(imported), load, &source_id, line)));
            }
        }
        Ok(())
    }
}

fn parts(input: &Input) -> Vec<&str> {
    input.shown_path.split(['/', '\\']).filter(|p| !p.is_empty()).collect()
}

fn rule(kind: &InstructionFile, path: &str, load: LoadMode, source_id: &str, source_line: i64) -> Rule {
    Rule {
        rule_id: clean_name(&format!("{}:{path}", kind.loaded_by)),
        gate_id: None,
        clause: None,
        path: Some(clean_name(path)),
        lines: None,
        tokens: None,
        load: Some(load),
        loaded_by: Some(kind.loaded_by.clone()),
        pinned: None,
        since: None,
        until: None,
        covers: None,
        source_id: source_id.to_owned(),
        source_line,
    }
}

/// Whether the front matter has the key.
fn has_key(text: &str, key: &str) -> bool {
    let mut lines = text.lines();
    lines.next().is_some_and(|l| l.trim_end() == "---")
        && lines.take_while(|l| l.trim_end() != "---").any(|l| l.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':')))
}

/// Files named `@path` outside of code, each once, with their 1-based line.
fn imports(text: &str) -> Vec<(i64, &str)> {
    let mut found: Vec<(i64, &str)> = Vec::new();
    let mut fenced = false;
    for (number, line) in (1i64..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every second part of a line split at back-ticks is code.
        for word in line.split('`').step_by(2).flat_map(str::split_whitespace) {
            let path = word.strip_prefix('@').unwrap_or("").trim_end_matches(['.', ',', ';', ':', ')']);
            // A mention (`@ann`) or a scoped package is no file: a file has an extension.
            let is_file = path.rsplit('/').next().is_some_and(|name| name.rfind('.').is_some_and(|dot| dot > 0));
            if is_file && found.len() < IMPORTS && !found.iter().any(|(_, known)| *known == path) {
                found.push((number, path));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::emit::{Collect, Facts};
    use crate::source::{claim, head_of, read_file};

    fn read(path: &str, text: &str) -> Facts {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("shop").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let input = Input::new(&file).unwrap();
        let source = claim(&input, &head_of(&input).unwrap()).filter(|s| s.format() == FORMAT).expect("an instruction file");
        let mut sink = Collect::default();
        let summary = read_file(source, &input, &mut sink).unwrap();
        assert_eq!((summary.records, summary.quarantined), (1, 0));
        sink.0
    }

    /// Name, path, lines, load and line of a rule.
    type Shown<'f> = (&'f str, Option<&'f str>, Option<i64>, Option<LoadMode>, i64);

    fn shown(facts: &Facts) -> Vec<Shown<'_>> {
        facts.rules.iter().map(|r| (r.rule_id.as_str(), r.path.as_deref(), r.tokens, r.load, r.source_line)).collect()
    }

    #[test]
    fn a_file_that_two_agents_load_is_a_rule_of_each_and_what_it_imports_has_no_size() {
        let text = "Be brief.\nSee @docs/style.md, and ask @ann.\n```\n@not/this.md\n```\nNor `@that.md` or @scope/package.\n";
        let facts = read("CLAUDE.md", text);
        let tokens = Some(text.len().div_ceil(4) as i64);
        let always = Some(LoadMode::Always);
        assert_eq!(
            shown(&facts),
            [
                ("claude-code:CLAUDE.md", Some("CLAUDE.md"), tokens, always, 1),
                ("claude-code:docs/style.md", Some("docs/style.md"), None, always, 2),
                ("copilot-cli:CLAUDE.md", Some("CLAUDE.md"), tokens, always, 1),
            ]
        );
        assert_eq!(facts.rules[0].lines, Some(6));
        assert!(!format!("{facts:?}").contains("Be brief"));
    }

    #[test]
    fn a_file_that_waits_for_matching_paths_is_loaded_on_demand() {
        let of = |path: &str, text: &str| read(path, text).rules[0].load;
        assert_eq!(of(".claude/rules/sql.md", "---\npaths: queries/**\n---\nOrder totally.\n"), Some(LoadMode::OnDemand));
        assert_eq!(of(".claude/rules/sql.md", "Mind the paths: all of them.\n"), Some(LoadMode::Always));
        assert_eq!(of(".github/instructions/sql.instructions.md", "---\napplyTo: '**/*.sql'\n---\nx\n"), Some(LoadMode::OnDemand));
        assert_eq!(of("AGENTS.md", ""), Some(LoadMode::Always));
    }
}
