//! Owns `Canvas`: the few shapes plots are made of, in pixels, and the colours with their counterparts on a dark page.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::PlotError;
use crate::report::escape;

pub type Colour = RGBColor;

pub const INK: Colour = RGBColor(0x1f, 0x23, 0x28);
pub const MUTED: Colour = RGBColor(0x65, 0x6d, 0x76);
pub const GRID: Colour = RGBColor(0xd8, 0xde, 0xe4);
pub const CRITICAL: Colour = RGBColor(0xb4, 0x23, 0x18);
pub const MAJOR: Colour = RGBColor(0xe8, 0x71, 0x0a);
pub const MINOR: Colour = RGBColor(0xd4, 0xa7, 0x2c);
pub const INFO: Colour = RGBColor(0x4c, 0x8d, 0xae);
pub const UNRATED: Colour = RGBColor(0x8c, 0x95, 0x9f);
pub const BLUE: Colour = RGBColor(0x2f, 0x6f, 0xb0);
pub const GREEN: Colour = RGBColor(0x4f, 0x9d, 0x69);
pub const VIOLET: Colour = RGBColor(0x8a, 0x63, 0xa9);
pub const PALE: Colour = RGBColor(0xc9, 0xd1, 0xd9);
/// Of letters on a bright fill, on a dark page too.
pub const BLACK: Colour = RGBColor(0x0d, 0x11, 0x17);
/// Of letters on a dark fill; dark on a dark page, where such fills are bright.
pub const WHITE: Colour = RGBColor(0xff, 0xff, 0xff);

/// What the colours become on a dark page: attributes give way to style sheets.
pub const DARK_CSS: &str = "svg.plot [fill=\"#1F2328\"]{fill:#e6edf3}svg.plot [fill=\"#656D76\"]{fill:#9aa4af}\
    svg.plot [stroke=\"#1F2328\"]{stroke:#e6edf3}svg.plot [stroke=\"#656D76\"]{stroke:#9aa4af}\
    svg.plot [stroke=\"#D8DEE4\"]{stroke:#30363d}svg.plot [fill=\"#D8DEE4\"]{fill:#30363d}\
    svg.plot [fill=\"#B42318\"]{fill:#f0665c}svg.plot [stroke=\"#B42318\"]{stroke:#f0665c}\
    svg.plot [fill=\"#E8710A\"]{fill:#f0883e}svg.plot [fill=\"#D4A72C\"]{fill:#d9b44a}\
    svg.plot [fill=\"#2F6FB0\"]{fill:#6aa5e3}svg.plot [stroke=\"#2F6FB0\"]{stroke:#6aa5e3}\
    svg.plot [fill=\"#4C8DAE\"]{fill:#6fb1d1}svg.plot [fill=\"#C9D1D9\"]{fill:#484f58}svg.plot [fill=\"#8A63A9\"]{fill:#b58bd6}\
    svg.plot [fill=\"#FFFFFF\"]{fill:#0d1117}";

/// Font size of labels, pixels.
pub const SIZE: i32 = 13;

/// Where a text is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Left,
    Middle,
    Right,
}

/// A drawing area in pixels.
pub struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    name: &'static str,
}

/// Draws a document of that size; `alt` says in words what it shows.
pub fn draw(
    name: &'static str,
    (width, height): (i32, i32),
    alt: &str,
    with: impl FnOnce(&Canvas<'_>) -> Result<(), PlotError>,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let size = (width.max(1).unsigned_abs(), height.max(1).unsigned_abs());
        let canvas = Canvas { area: SVGBackend::with_string(&mut svg, size).into_drawing_area(), name };
        with(&canvas)?;
        canvas.area.present().map_err(|e| canvas.error(e))?;
    }
    let Some(head) = svg.find('>') else { return Ok(svg) };
    let style = format!("<style>@media (prefers-color-scheme: dark){{{DARK_CSS}}}</style>");
    let open = format!(" class=\"plot\" role=\"img\" aria-label=\"{}\">\n{style}", escape::html(alt));
    svg.replace_range(head..=head, &open);
    Ok(svg)
}

impl Canvas<'_> {
    fn error(&self, error: impl std::fmt::Display) -> PlotError {
        PlotError { name: self.name, message: error.to_string() }
    }

    pub fn rect(&self, (x0, y0): (i32, i32), (x1, y1): (i32, i32), colour: Colour, opacity: f64) -> Result<(), PlotError> {
        if x1 <= x0 || y1 <= y0 {
            return Ok(());
        }
        self.area.draw(&Rectangle::new([(x0, y0), (x1, y1)], colour.mix(opacity).filled())).map_err(|e| self.error(e))
    }

    pub fn line(&self, from: (i32, i32), to: (i32, i32), colour: Colour) -> Result<(), PlotError> {
        self.area.draw(&PathElement::new([from, to], colour.stroke_width(1))).map_err(|e| self.error(e))
    }

    pub fn dot(&self, at: (i32, i32), radius: i32, colour: Colour, filled: bool) -> Result<(), PlotError> {
        let style = if filled { colour.filled() } else { colour.stroke_width(2) };
        self.area.draw(&Circle::new(at, radius, style)).map_err(|e| self.error(e))
    }

    pub fn text(&self, text: &str, at: (i32, i32), anchor: At, colour: Colour) -> Result<(), PlotError> {
        self.write(text, at, anchor, colour, FontStyle::Normal)
    }

    pub fn bold(&self, text: &str, at: (i32, i32), anchor: At) -> Result<(), PlotError> {
        self.write(text, at, anchor, INK, FontStyle::Bold)
    }

    /// A text that begins at `at` and goes up.
    pub fn upwards(&self, text: &str, at: (i32, i32), colour: Colour) -> Result<(), PlotError> {
        let font = ("sans-serif", f64::from(SIZE) * 1.24, FontStyle::Normal).into_font().transform(FontTransform::Rotate270);
        let font = font.color(&colour).pos(Pos::new(HPos::Left, VPos::Center));
        self.area.draw_text(&escape::visible(text), &font, at).map_err(|e| self.error(e))
    }

    /// A letter in the middle of a cell.
    pub fn letter(&self, text: &str, at: (i32, i32), colour: Colour) -> Result<(), PlotError> {
        self.small(text, at, colour, 11.0, FontStyle::Bold)
    }

    /// A number below a narrow column.
    pub fn number(&self, n: &str, at: (i32, i32), colour: Colour) -> Result<(), PlotError> {
        self.small(n, at, colour, 10.0, FontStyle::Normal)
    }

    fn small(&self, text: &str, at: (i32, i32), colour: Colour, size: f64, style: FontStyle) -> Result<(), PlotError> {
        let font = ("sans-serif", size * 1.24, style).into_font().color(&colour).pos(Pos::new(HPos::Center, VPos::Center));
        self.area.draw_text(text, &font, at).map_err(|e| self.error(e))
    }

    /// The edge of a rectangle.
    pub fn frame(&self, (x0, y0): (i32, i32), (x1, y1): (i32, i32), colour: Colour) -> Result<(), PlotError> {
        self.area.draw(&Rectangle::new([(x0, y0), (x1, y1)], colour.stroke_width(2))).map_err(|e| self.error(e))
    }

    fn write(&self, text: &str, at: (i32, i32), anchor: At, colour: Colour, style: FontStyle) -> Result<(), PlotError> {
        let h = match anchor {
            At::Left => HPos::Left,
            At::Middle => HPos::Center,
            At::Right => HPos::Right,
        };
        // The backend divides font sizes by 1.24.
        let font = ("sans-serif", f64::from(SIZE) * 1.24, style).into_font().color(&colour).pos(Pos::new(h, VPos::Center));
        self.area.draw_text(&escape::visible(text), &font, at).map_err(|e| self.error(e))
    }

    /// Swatches with words, from `at` to the right, broken at `width`; gives the y below them.
    pub fn legend(&self, entries: &[(&str, Colour, f64)], at: (i32, i32), width: i32) -> Result<i32, PlotError> {
        let (mut x, mut y) = at;
        for (label, colour, opacity) in entries {
            let need = 18 + text_width(label) + 14;
            if x > at.0 && x + need > width {
                x = at.0;
                y += 20;
            }
            self.rect((x, y - 6), (x + 12, y + 6), *colour, *opacity)?;
            self.text(label, (x + 18, y), At::Left, INK)?;
            x += need;
        }
        Ok(y + 16)
    }
}

/// Pixels a text takes at most in a common sans-serif face.
pub fn text_width(text: &str) -> i32 {
    let units: i32 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 34,
            'f' | 't' | 'r' | ' ' | '(' | ')' | '-' | '/' | '[' | ']' => 45,
            'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '→' => 102,
            c if c.is_ascii_uppercase() => 76,
            c if c.is_ascii() => 66,
            _ => 105,
        })
        .sum();
    units * SIZE / 100 + 2
}

/// A step of 1, 2 or 5 times a power of ten that divides `max` into at most `parts`.
pub fn step(max: i64, parts: i64) -> i64 {
    let mut unit = 1i64;
    loop {
        for factor in [1, 2, 5] {
            if unit.saturating_mul(factor).saturating_mul(parts) >= max {
                return unit.saturating_mul(factor);
            }
        }
        match unit.checked_mul(10) {
            Some(next) => unit = next,
            None => return i64::MAX,
        }
    }
}

/// The part of `length` pixels that `value` of `max` takes.
pub fn scaled(value: i64, max: i64, length: i32) -> i32 {
    if max <= 0 {
        return 0;
    }
    (value.max(0) as f64 / max as f64 * f64::from(length)).round() as i32
}
