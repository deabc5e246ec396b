//! Figures as data of the page: the table behind a figure holds all its numbers, and the chart says where they go.

use frostline_score::MeanStd;
use serde_json::{Value as Json, json};

use crate::chart::{
    Across, BarRow, Bars, Chart, Figure, Heat, HeatColour, HeatField, Lengths, Line, LineKey, Lines, Note,
    Scatter, ScatterPoint, Sets, Spread, Tone, XAxis, YAxis,
};
use crate::render::html::data::{number, text};
use crate::render::html::{inline, tables};
use crate::table::{Columns, Quantity, Table, Value};

/// A figure. `policies` are all that can be left out, in the plan's order.
pub(super) fn figure(figure: &Figure, policies: &[&str]) -> Json {
    let names = Names { policies };
    let (mut found, table) = match &figure.chart {
        Chart::Bars(bars) => of_bars(bars),
        Chart::Lines(lines) => of_lines(lines, &names),
        Chart::Scatter(scatter) => of_scatter(scatter, &names),
        Chart::Heat(heat) => of_heat(heat),
        Chart::Sets(sets) => of_sets(sets),
    };
    found["title"] = text(figure.title);
    found["about"] = text(&inline::plain(&figure.about));
    found["file"] = text(figure.path.trim_start_matches("figures/").trim_end_matches(".svg"));
    found["across"] = figure.across.into();
    let notes = figure.notes.iter().filter_map(|note| match note {
        Note::Text(said) => Some(text(&inline::plain(said))),
        // The script says how it spaced an axis.
        Note::XAxis | Note::YAxis => None,
    });
    found["notes"] = notes.collect();
    found["table"] = tables::table(&table);
    found
}

/// The names of policies by their tones.
struct Names<'a> {
    policies: &'a [&'a str],
}

impl Names<'_> {
    /// The name that something of a tone has where it carries none.
    fn of(&self, name: Option<&String>, tone: Tone) -> Value {
        let hidden = || match tone {
            Tone::Unnamed(Some(place)) | Tone::Policy(Some(place)) => {
                self.policies.iter().filter(|name| **name != "none").nth(place).copied()
            }
            Tone::Unnamed(None) | Tone::Policy(None) => Some("none"),
            Tone::Reference(_) => None,
        };
        name.map(String::as_str).or_else(hidden).into()
    }
}

/// A tone as a number: the policy's place, -1 for the baseline, from 1,000 on references; not named ones apart.
fn tone(tone: Tone) -> Json {
    match tone {
        Tone::Policy(None) | Tone::Unnamed(None) => (-1).into(),
        Tone::Policy(Some(place)) => place.into(),
        Tone::Reference(place) => (1000 + place).into(),
        Tone::Unnamed(Some(_)) => (-2).into(),
    }
}

fn titles<'a>(titles: impl Iterator<Item = &'a String>) -> Json {
    titles.map(|title| text(title)).collect()
}

/// A row of the table behind bars.
struct BarLine<'a> {
    panel: usize,
    title: &'a str,
    row: &'a BarRow,
    bar: &'a crate::chart::Bar,
}

fn of_bars(bars: &Bars) -> (Json, Table) {
    let rows = bars.panels.iter().enumerate().flat_map(|(panel, of)| {
        let lines = move |row| move |bar| BarLine { panel, title: &of.title, row, bar };
        of.rows.iter().flat_map(move |row: &BarRow| row.bars.iter().map(lines(row)))
    });
    let rows: Vec<BarLine<'_>> = rows.collect();
    let (unit, ends) = match &bars.lengths {
        Lengths::Differences(unit) => (*unit, Quantity::Change(2)),
        Lengths::Parts(_) => (Quantity::Measured("s"), Quantity::Measured("s")),
        _ => (Quantity::Percent(2), Quantity::Share(2)),
    };
    let name = match &bars.lengths {
        Lengths::Differences(Quantity::Points(_)) => "Difference",
        Lengths::Differences(_) => "Time saved",
        Lengths::Parts(names) => names[0],
        _ => "Value",
    };
    let parts: Vec<(usize, &str)> = match &bars.lengths {
        Lengths::Parts(names) => names.iter().copied().enumerate().skip(1).collect(),
        _ => Vec::new(),
    };
    let columns = Columns::default()
        .column("Panel", Quantity::Text, |line: &&BarLine<'_>| line.title)
        .column("Frozen", Quantity::Text, |line| line.row.name.clone())
        .optional("Of", Quantity::Text, |line| Some(line.bar.name.clone()).filter(|name| !name.is_empty()))
        .column(name, unit, |line| line.bar.value)
        .optional(bars.interval, ends, |line| line.bar.interval)
        .optional(capital(bars.diamond), unit, |line| line.bar.diamond)
        .each(
            parts,
            |(_, name)| (*name).into(),
            Quantity::Measured("s"),
            |line, (at, _)| line.bar.parts.get(*at).copied(),
        );
    let table = columns.table(&rows);
    let panels: Json = bars
        .panels
        .iter()
        .map(|panel| {
            let references: Json =
                panel.references.iter().map(|(name, value)| json!([text(name), number(*value)])).collect();
            let names: Json = panel.rows.iter().map(|row| json!([text(&row.name), tone(row.tone)])).collect();
            json!({ "title": text(&panel.title), "axis": text(&panel.axis), "kind": text(&panel.kind),
                    "refs": references, "rows": names })
        })
        .collect();
    let lengths = match &bars.lengths {
        Lengths::Shares => "shares",
        Lengths::Groups => "groups",
        Lengths::Differences(_) => "differences",
        Lengths::Parts(_) => "parts",
    };
    let parts = match &bars.lengths {
        Lengths::Parts(names) => names.iter().map(|name| text(name)).collect(),
        _ => Json::Null,
    };
    // Which row of its panel a bar belongs to.
    let of: Vec<[usize; 2]> = rows
        .iter()
        .map(|line| {
            let rows = &bars.panels[line.panel].rows;
            let row = rows.iter().position(|row| std::ptr::eq(row, line.row)).unwrap_or(0);
            [line.panel, row]
        })
        .collect();
    let found = json!({ "kind": "bars", "lengths": lengths, "parts": parts, "panels": panels, "of": of,
                        "interval": text(bars.interval), "diamond": text(&capital(bars.diamond)) });
    (found, table)
}

/// A row of the table behind lines: a point.
struct Point<'a> {
    title: &'a str,
    line: &'a Line,
    at: f64,
    stat: MeanStd,
}

fn of_lines(lines: &Lines, names: &Names<'_>) -> (Json, Table) {
    let mut points: Vec<Point<'_>> = Vec::new();
    let mut all: Vec<Json> = Vec::new();
    for (number, panel) in lines.panels.iter().enumerate() {
        for line in &panel.lines {
            let from = points.len();
            points.extend(line.points.iter().map(|(at, stat)| Point {
                title: &panel.title,
                line,
                at: *at,
                stat: *stat,
            }));
            all.push(json!([number, tone(line.tone), from, points.len(), u8::from(line.name.is_some())]));
        }
    }
    let unit = match lines.y {
        YAxis::Shares => Quantity::Percent(2),
        YAxis::Loss => Quantity::Number(4, ""),
    };
    let across = Quantity::Number(if lines.x == XAxis::Rates { 7 } else { 0 }, "");
    let columns = Columns::default()
        .column("Panel", Quantity::Text, |point: &&Point<'_>| point.title)
        .column("Frozen", Quantity::Text, |point| names.of(point.line.name.as_ref(), point.line.tone))
        .column(capital(lines.x_title), across, |point| point.at)
        .column(unitless(lines.y_title), unit, |point| point.stat);
    let table = columns.table(&points);
    let spread = match lines.spread {
        Spread::Band => "band",
        Spread::Whisker => "whisker",
        Spread::Nothing => "",
    };
    let key = match lines.key {
        LineKey::Marks => "marks",
        LineKey::Dashes => "dashes",
        LineKey::Both => "both",
    };
    let x = match lines.x {
        XAxis::From(first) => json!(first),
        XAxis::Sizes => json!("sizes"),
        XAxis::Rates => json!("rates"),
    };
    let found = json!({
        "kind": "lines", "panels": titles(lines.panels.iter().map(|panel| &panel.title)), "lines": all,
        "x": x, "y": if lines.y == YAxis::Loss { "loss" } else { "shares" }, "xt": text(lines.x_title),
        "yt": text(lines.y_title), "spread": spread, "key": key,
    });
    (found, table)
}

fn of_scatter(scatter: &Scatter, names: &Names<'_>) -> (Json, Table) {
    let mut points: Vec<(&str, &ScatterPoint)> = Vec::new();
    let mut of: Vec<Json> = Vec::new();
    for (number, panel) in scatter.panels.iter().enumerate() {
        for point in &panel.points {
            points.push((&panel.title, point));
            of.push(json!([number, tone(point.tone), u8::from(point.name.is_some())]));
        }
    }
    let (unit, name) = match scatter.across {
        Across::Count => (Quantity::Count, capital(scatter.x_title)),
        Across::Saved => (Quantity::Number(1, "%"), unitless(scatter.x_title)),
    };
    let interval_of = name.clone();
    let columns = Columns::default()
        .column("Panel", Quantity::Text, |point: &&(&str, &ScatterPoint)| point.0)
        .column("Frozen", Quantity::Text, |(_, point)| names.of(point.name.as_ref(), point.tone))
        .column(name, unit, |(_, point)| match scatter.across {
            Across::Count => Value::Count(point.x as u64),
            Across::Saved => Value::Number(point.x),
        })
        .column(unitless(scatter.y_title), Quantity::Percent(2), |(_, point)| point.y)
        .optional(format!("{interval_of}, interval"), Quantity::Share(1), |(_, point)| {
            point.x_interval.map(|ends| ends.map(|percent| percent / 100.0))
        })
        .optional("Whisker", Quantity::Share(2), |(_, point)| point.interval);
    let table = columns.table(&points);
    let panels: Json = scatter
        .panels
        .iter()
        .map(|panel| {
            let front: Json = panel.front.iter().map(|(x, y)| json!([number(*x), number(*y)])).collect();
            let refs: Json =
                panel.references.iter().map(|(name, at)| json!([text(name), number(*at)])).collect();
            json!({ "title": text(&panel.title), "front": front, "refs": refs })
        })
        .collect();
    let across = if scatter.across == Across::Count { "count" } else { "saved" };
    let found = json!({ "kind": "scatter", "scale": across, "xt": text(scatter.x_title), "yt": text(scatter.y_title),
                        "panels": panels, "of": of });
    (found, table)
}

/// A field with where it stands: title, row, column.
type FieldLine<'a> = (&'a str, &'a str, String, &'a HeatField);

fn of_heat(heat: &Heat) -> (Json, Table) {
    let mut fields: Vec<FieldLine<'_>> = Vec::new();
    let mut of: Vec<[usize; 3]> = Vec::new();
    for (number, panel) in heat.panels.iter().enumerate() {
        for (row, (name, values)) in panel.rows.iter().enumerate() {
            for (column, field) in values.iter().enumerate() {
                let Some(field) = field else { continue };
                fields.push((&panel.title, name, panel.columns[column].join(" "), field));
                of.push([number, row, column]);
            }
        }
    }
    let columns = Columns::default()
        .column("Panel", Quantity::Text, |field: &&FieldLine<'_>| field.0)
        .column("Frozen", Quantity::Text, |field| field.1)
        .column("Column", Quantity::Text, |field| field.2.clone())
        .column("Value", Quantity::Text, |field| field.3.label.clone());
    let table = columns.table(&fields);
    let panels: Json = heat
        .panels
        .iter()
        .map(|panel| {
            let columns: Json = panel.columns.iter().map(|lines| titles(lines.iter())).collect();
            let rows = titles(panel.rows.iter().map(|(name, _)| name));
            json!({ "title": text(&panel.title), "columns": columns, "rows": rows })
        })
        .collect();
    let colour = if heat.colour == HeatColour::Much { "much" } else { "missing" };
    let shades: Json = fields.iter().map(|field| number((field.3.shade * 100.0).round() / 100.0)).collect();
    (json!({ "kind": "heat", "panels": panels, "of": of, "shades": shades, "colour": colour }), table)
}

fn of_sets(sets: &Sets) -> (Json, Table) {
    let rows = sets.panels.iter().flat_map(|panel| {
        panel.columns.iter().map(move |(set, stat)| {
            let blocks: Vec<String> = (0..panel.blocks)
                .filter(|block| set >> block & 1 == 1)
                .map(|block| block.to_string())
                .collect();
            (&panel.title, blocks, *stat)
        })
    });
    let rows: Vec<(&String, Vec<String>, MeanStd)> = rows.collect();
    let columns = Columns::default()
        .column("Panel", Quantity::Text, |row: &&(&String, Vec<String>, MeanStd)| row.0.clone())
        .column("Frozen blocks", Quantity::Text, |row| match row.1.is_empty() {
            true => "none".to_string(),
            false => row.1.join(", "),
        })
        .column("Count", Quantity::Count, |row| row.1.len())
        .column(unitless(sets.y_title), Quantity::Percent(2), |row| row.2);
    let table = columns.table(&rows);
    let panels: Json = sets
        .panels
        .iter()
        .map(|panel| {
            let sets: Json = panel.columns.iter().map(|(set, _)| Json::from(*set)).collect();
            json!({ "title": text(&panel.title), "blocks": panel.blocks, "sets": sets })
        })
        .collect();
    (json!({ "kind": "sets", "yt": text(sets.y_title), "panels": panels }), table)
}

fn capital(words: &str) -> String {
    crate::number::capital(words)
}

/// An axis's title as a column's name, whose unit follows it.
fn unitless(title: &str) -> String {
    capital(title.split(", %").next().unwrap_or(title).trim_end_matches(" %"))
}
