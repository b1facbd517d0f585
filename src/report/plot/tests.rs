//! Owns the tests of the plots.

use super::canvas::{step, text_width};
use super::{Plot, plots};
use crate::model::vocabulary::ReplayOutcome;
use crate::report::answers::Span;
use crate::report::testing::{shop, table};

fn drawn() -> Vec<Plot> {
    plots(&shop()).unwrap()
}

#[test]
fn the_plots_are_whole_documents_that_fetch_nothing() {
    let plots = drawn();
    assert_eq!(
        plots.iter().map(|p| p.name).collect::<Vec<_>>(),
        ["first-stops", "cost-yield", "weekly-trend", "time-shares", "replay-matrix"]
    );
    for plot in &plots {
        assert!(plot.svg.starts_with("<svg ") && plot.svg.trim_end().ends_with("</svg>"), "{}", plot.name);
        assert!(plot.svg.contains("role=\"img\" aria-label=\""), "{}", plot.name);
        assert_eq!(plot.svg.matches("http").count(), 1, "only the name space: {}", plot.name);
    }
}

/// Every text lies inside the picture by a generous estimate of its width, so none is cut.
#[test]
fn no_text_reaches_over_the_edge() {
    for plot in drawn().into_iter().chain([large(106, 25), large(500, 90), large(1, 1)]) {
        let attr = |tag: &str, name: &str| -> String {
            tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split_once('"')).map(|(v, _)| v.to_owned()).unwrap_or_default()
        };
        let size = |name: &str| attr(plot.svg.lines().next().unwrap(), name).parse::<i32>().unwrap();
        let (width, height) = (size("width"), size("height"));
        for piece in plot.svg.split("<text").skip(1) {
            let (tag, rest) = piece.split_once('>').unwrap();
            let text = rest.split_once("</text>").unwrap().0.trim().replace("&lt;", "<").replace("&gt;", ">");
            let (x, y): (i32, i32) = (attr(tag, "x").parse().unwrap(), attr(tag, "y").parse().unwrap());
            let w = text_width(&text);
            if attr(tag, "transform").starts_with("rotate(270") {
                assert!(y <= height && y - w >= -1 && x >= 6 && x <= width - 6, "{}: {text} up from {x}, {y}", plot.name);
                continue;
            }
            let (from, to) = match attr(tag, "text-anchor").as_str() {
                "start" => (x, x + w),
                "end" => (x - w, x),
                _ => (x - w / 2, x + w / 2),
            };
            assert!(
                from >= -1 && to <= width + 1 && y >= 6 && y <= height - 6,
                "{}: {text} at {from}..{to}, {y} of {width}×{height}",
                plot.name
            );
        }
    }
}

#[test]
fn ticks_are_round_and_few() {
    assert_eq!([step(1, 8), step(9, 8), step(37, 8), step(1_000, 4)], [1, 2, 5, 500]);
}

/// A replay of so many fixtures and validators, with every outcome in it.
fn large(n_fixtures: usize, n_validators: usize) -> Plot {
    let mut answers = shop();
    let mut cells =
        "replay_id | replayed_at | part | fixture_id | fixture_class | validator_id | outcome | n_catchers | issues | waived\n".to_owned();
    for f in 0..n_fixtures {
        let class = ["normative", "normative", "known_defect", "control"][f * 4 / n_fixtures];
        for v in 0..n_validators {
            let outcome = ReplayOutcome::ALL[(f * 7 + v * v) % ReplayOutcome::ALL.len()];
            let (issues, waived) = if (f + v) % 29 == 0 { ("[missed]", "false") } else { ("[]", "-") };
            cells += &format!(
                "p | - | - | a-fixture-with-a-rather-long-name-of-its-own-{f:03} | {class} | a-validator-with-a-long-name-{v:02} | {outcome} | {} | {issues} | {waived}\n",
                f % 4
            );
        }
    }
    let mut validators = "gate_id | validator_id | believed | n_caught | n_alone\n".to_owned();
    for v in 0..n_validators {
        validators += &format!("gate-{} | a-validator-with-a-long-name-{v:02} | {} | 106 | {v}\n", v / 3, v % 5 != 4);
    }
    answers.insert("replay_matrix", Span::Lake, table(&cells));
    answers.insert("replay_validators", Span::Lake, table(&validators));
    let plot = plots(&answers).unwrap().pop().unwrap();
    if let Some(folder) = std::env::var_os("MECHANIC_KEEP_PLOTS") {
        std::fs::write(std::path::Path::new(&folder).join(format!("{n_fixtures}x{n_validators}.svg")), &plot.svg).unwrap();
    }
    plot
}

#[test]
fn a_replay_of_106_fixtures_and_25_validators_is_drawn_whole_and_a_letter_tells_each_outcome() {
    let plot = large(106, 25);
    assert_eq!(plot.name, "replay-matrix");
    let names = plot.svg.matches("a-fixture-").count();
    assert_eq!(names, 106);
    let mut letters: Vec<char> = ReplayOutcome::ALL.iter().map(|o| o.letter()).collect();
    letters.sort_unstable();
    letters.dedup();
    assert_eq!(letters.len(), ReplayOutcome::ALL.len());
    for label in
        ["caught", "passed", "false alarm on a control", "read nothing", "crashed", "timed out", "† not believed", "fails the check"]
    {
        assert!(plot.svg.contains(label), "{label}");
    }
    assert!(large(500, 90).svg.contains("fixtures and 30 validators more: see the table"));
}
