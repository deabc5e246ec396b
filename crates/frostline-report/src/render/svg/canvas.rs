//! SVG text: shapes, lines and words at fixed places. No scripts, style sheets or embedded fonts, so that every
//! viewer and converter agrees. A page gives the same elements its own colours, by the colours that are named here.

use std::fmt::Write as _;

use crate::render::escape::xml;

/// What a point looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PointShape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Wedge,
}

pub(super) const SHAPES: [PointShape; 5] =
    [PointShape::Circle, PointShape::Square, PointShape::Triangle, PointShape::Diamond, PointShape::Wedge];

/// The side of its place on which a text is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lettering {
    pub size: f64,
    pub bold: bool,
    pub colour: &'static str,
    pub anchor: Anchor,
}

impl Lettering {
    pub const fn new(size: f64, colour: &'static str) -> Self {
        Self { size, bold: false, colour, anchor: Anchor::Start }
    }

    pub const fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    pub const fn anchor(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }
}

/// The size and the colour that text has unless it names others: most text of a figure does not.
pub(super) const TEXT_SIZE: f64 = 12.0;
pub(super) const TEXT_COLOUR: &str = "#595959";

/// What a part of a figure shows: its value as a number for scripts, and in words.
#[derive(Clone, Debug, Default)]
pub(super) struct PartLabel {
    pub value: String,
    pub words: String,
}

/// An image under construction. Places are in pixels from the top left.
#[derive(Clone, Debug, Default)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    /// Removes and returns everything that was drawn so far.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.body)
    }

    /// Draws elements as one part, which carries the name of its policy and its value, if it has some.
    pub fn part(&mut self, policy: Option<&str>, shown: Option<&PartLabel>, draw: impl FnOnce(&mut Self)) {
        let policy = policy.map_or_else(String::new, |name| format!(" data-policy=\"{}\"", xml(name)));
        self.put(format_args!("<g{policy}{}>{}", value_attributes(shown), title(shown)));
        draw(self);
        self.put(format_args!("</g>"));
    }

    pub fn text(&mut self, x: f64, y: f64, text: &str, look: Lettering) {
        let anchor = match look.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let bold = if look.bold { " font-weight=\"bold\"" } else { "" };
        let size = match look.size == TEXT_SIZE {
            true => String::new(),
            false => format!(" font-size=\"{}\"", round_pixels(look.size)),
        };
        let fill = match look.colour {
            TEXT_COLOUR => String::new(),
            other => format!(" fill=\"{other}\""),
        };
        self.put(format_args!(
            "<text x=\"{}\" y=\"{}\"{size}{fill}{anchor}{bold}>{}</text>",
            round_pixels(x),
            round_pixels(y),
            xml(text)
        ));
    }

    /// Draws texts of one look, which is named once; each has its place.
    pub fn texts<'t>(&mut self, look: Lettering, texts: impl IntoIterator<Item = ((f64, f64), &'t str)>) {
        let anchor = if look.anchor == Anchor::Middle { "middle" } else { "start" };
        self.put(format_args!(
            "<g font-size=\"{}\" fill=\"{}\" text-anchor=\"{anchor}\">",
            round_pixels(look.size),
            look.colour
        ));
        for ((x, y), text) in texts {
            self.put(format_args!(
                "<text x=\"{}\" y=\"{}\">{}</text>",
                round_pixels(x),
                round_pixels(y),
                xml(text)
            ));
        }
        self.put(format_args!("</g>"));
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        self.put(format_args!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{colour}\"{}/>",
            round_pixels(from.0),
            round_pixels(from.1),
            round_pixels(to.0),
            round_pixels(to.1),
            match width == 1.0 {
                true => String::new(),
                false => format!(" stroke-width=\"{}\"", round_pixels(width)),
            }
        ));
    }

    /// Draws an interval: a line with a short bar at each end that has one.
    pub fn whisker(&mut self, ends: [((f64, f64), bool); 2], reach: f64, colour: &str, width: f64) {
        let [(from, _), (to, _)] = ends;
        let is_level = (to.0 - from.0).abs() > (to.1 - from.1).abs();
        let bar = |((x, y), _): &((f64, f64), bool)| match is_level {
            true => format!("M{},{}V{}", round_pixels(*x), round_pixels(y - reach), round_pixels(y + reach)),
            false => format!("M{},{}H{}", round_pixels(x - reach), round_pixels(*y), round_pixels(x + reach)),
        };
        let bars: String = ends.iter().filter(|(_, has_bar)| *has_bar).map(bar).collect();
        self.put(format_args!(
            "<path d=\"M{},{}L{},{}{bars}\" stroke=\"{colour}\" stroke-width=\"{}\"/>",
            round_pixels(from.0),
            round_pixels(from.1),
            round_pixels(to.0),
            round_pixels(to.1),
            round_pixels(width)
        ));
    }

    /// Nothing if a side has no length: programs that read SVG complain of such a rectangle.
    pub fn rect(&mut self, from: (f64, f64), size: (f64, f64), colour: &str, opacity: f64) {
        let [width, height] = [size.0, size.1].map(|side| round_pixels(side.max(0.0)));
        if width == "0" || height == "0" {
            return;
        }
        self.put(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"{}/>",
            round_pixels(from.0),
            round_pixels(from.1),
            fill_opacity(opacity)
        ));
    }

    pub fn polyline(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        self.put(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\" \
             stroke-linejoin=\"round\"{dash}/>",
            point_list(points),
            round_pixels(width)
        ));
    }

    pub fn polygon(&mut self, points: &[(f64, f64)], colour: &str, opacity: f64) {
        self.put(format_args!(
            "<polygon points=\"{}\" fill=\"{colour}\"{}/>",
            point_list(points),
            fill_opacity(opacity)
        ));
    }

    /// A point with a white rim, so that it shows on lines and on other points.
    pub fn mark(&mut self, shape: PointShape, at: (f64, f64), radius: f64, colour: &str) {
        self.mark_showing(shape, at, radius, colour, None);
    }

    /// Draws the same point as a part with a value.
    pub fn mark_showing(
        &mut self,
        shape: PointShape,
        at: (f64, f64),
        radius: f64,
        colour: &str,
        shown: Option<&PartLabel>,
    ) {
        let value = value_attributes(shown);
        let title = title(shown);
        let rim = "stroke=\"#FFFFFF\"";
        let (x, y) = at;
        let around = |corners: &[(f64, f64)]| -> String {
            let corners: Vec<(f64, f64)> =
                corners.iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect();
            point_list(&corners)
        };
        let corners = match shape {
            PointShape::Circle => {
                return self.put(format_args!(
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{colour}\" {rim}{value}>{title}</circle>",
                    round_pixels(x),
                    round_pixels(y),
                    round_pixels(radius)
                ));
            }
            PointShape::Square => around(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            PointShape::Triangle => around(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
            PointShape::Diamond => around(&[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)]),
            PointShape::Wedge => around(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
        };
        self.put(format_args!(
            "<polygon points=\"{corners}\" fill=\"{colour}\" {rim}{value}>{title}</polygon>"
        ));
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("writing to a string cannot fail");
    }
}

fn value_attributes(shown: Option<&PartLabel>) -> String {
    shown.map_or_else(String::new, |shown| format!(" data-value=\"{}\"", shown.value))
}

fn title(shown: Option<&PartLabel>) -> String {
    shown.map_or_else(String::new, |shown| format!("<title>{}</title>", xml(&shown.words)))
}

/// An upper estimate of a text's width in pixels, for Helvetica and the wider DejaVu Sans.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.32,
            ' ' | 'f' | 'r' | 't' | 'I' | '(' | ')' | '[' | ']' | '-' | '/' => 0.40,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
            'A'..='Z' => 0.74,
            _ => 0.63,
        })
        .sum();
    ems * size
}

/// Breaks a text into lines that fit a width.
pub(super) fn wrap_text(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

fn fill_opacity(opacity: f64) -> String {
    if opacity < 1.0 { format!(" fill-opacity=\"{}\"", shorten_number(opacity, 2)) } else { String::new() }
}

fn point_list(points: &[(f64, f64)]) -> String {
    let places: Vec<String> =
        points.iter().map(|(x, y)| format!("{},{}", round_pixels(*x), round_pixels(*y))).collect();
    places.join(" ")
}

/// A tenth of a pixel is fine enough, and hides the last bits of logarithms.
pub(super) fn round_pixels(value: f64) -> String {
    shorten_number(value, 1)
}

fn shorten_number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_few_digits() {
        assert_eq!(
            (round_pixels(1.0), round_pixels(-0.001), round_pixels(2.345)),
            ("1".into(), "0".into(), "2.3".into())
        );
    }

    #[test]
    fn a_rectangle_without_a_side_is_left_out() {
        let drawn = |width, height| {
            let mut canvas = Svg::default();
            canvas.rect((1.0, 2.0), (width, height), "#000000", 1.0);
            canvas.take().matches("<rect").count()
        };
        assert_eq!([drawn(3.0, 4.0), drawn(0.001, 4.0), drawn(3.0, -1.0)], [1, 0, 0]);
    }

    #[test]
    fn long_text_wraps_and_loses_no_word() {
        let text = "one two three four five six seven";
        let lines = wrap_text(text, 12.0, 80.0);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| text_width(line, 12.0) <= 80.0));
        assert_eq!(lines.join(" "), text);
    }
}
