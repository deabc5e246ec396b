//! The whole report as one page of HTML that needs nothing else: style, script and data are inside it, and its policy
//! forbids everything from outside. Tables and figures are data of the page, which its script draws when they are
//! looked at.
//!
//! Text from files is escaped here for elements and attributes, and in `data.rs` for data. The script makes nodes of
//! text and never parses it as HTML.

mod blocks;
mod data;
mod figures;
mod guard;
mod inline;
mod sentences;
mod tables;

use crate::render::escape;
use crate::web::WebPage;

use blocks::Writer;

/// The style sheet.
const STYLE: &str = include_str!("assets/page.css");

/// The script, in the order of what uses what.
const SCRIPT: &str = concat!(
    "'use strict';\n(() => {\n",
    include_str!("assets/dom.js"),
    include_str!("assets/state.js"),
    include_str!("assets/save.js"),
    include_str!("assets/table.js"),
    include_str!("assets/scale.js"),
    include_str!("assets/chart.js"),
    include_str!("assets/marks.js"),
    include_str!("assets/lines.js"),
    include_str!("assets/points.js"),
    include_str!("assets/bars.js"),
    include_str!("assets/fields.js"),
    include_str!("assets/sentences.js"),
    include_str!("assets/start.js"),
    "})();\n"
);

/// The page as a file.
pub(crate) fn page(page: &WebPage<'_>) -> String {
    let mut writer = Writer::new(page);
    let body = writer.body();
    let head = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n",
        guard::policy(STYLE, SCRIPT),
        escape::xml(&format!("{} · Frostline", page.name)),
    );
    format!("{head}<body>\n{body}{}<script>{SCRIPT}</script>\n</body>\n</html>\n", writer.data())
}
