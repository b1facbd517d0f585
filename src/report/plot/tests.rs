//! Owns the tests of the plots.

use super::canvas::{step, text_width};
use super::{Plot, plots};
use crate::report::testing::shop;

fn drawn() -> Vec<Plot> {
    plots(&shop()).unwrap()
}

#[test]
fn the_four_plots_are_whole_documents_that_fetch_nothing() {
    let plots = drawn();
    assert_eq!(plots.iter().map(|p| p.name).collect::<Vec<_>>(), ["first-stops", "cost-yield", "weekly-trend", "time-shares"]);
    for plot in &plots {
        assert!(plot.svg.starts_with("<svg ") && plot.svg.trim_end().ends_with("</svg>"), "{}", plot.name);
        assert!(plot.svg.contains("role=\"img\" aria-label=\""), "{}", plot.name);
        assert_eq!(plot.svg.matches("http").count(), 1, "only the name space: {}", plot.name);
    }
}

/// Every text lies inside the picture by a generous estimate of its width, so none is cut.
#[test]
fn no_text_reaches_over_the_edge() {
    for plot in drawn() {
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
