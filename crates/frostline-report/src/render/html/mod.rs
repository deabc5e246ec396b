//! The whole report as one page of HTML that needs nothing else: style and script are inside it, and its policy forbids
//! everything from outside. Tables and figures are part of the page, which is complete without its script and in print.
//!
//! Text from files is escaped here for elements and attributes, and in `data.rs` for the sentences that the script shows.
//! The script makes nodes of text and never parses it as HTML. A figure is the same SVG as its file; the style sheet
//! gives it the page's colours by the colours of the file.

mod blocks;
mod data;
mod guard;
mod inline;
mod tables;

use crate::document::ReportDocument;
use crate::render::escape;

use blocks::PageWriter;

/// The style sheet.
const STYLE: &str = include_str!("assets/page.css");

/// The script.
const SCRIPT: &str = concat!(
    "'use strict';\n(() => {\n",
    include_str!("assets/page.js"),
    include_str!("assets/sentences.js"),
    "start();\n})();\n"
);

/// The page as a file.
pub(crate) fn write_page(page: &ReportDocument<'_>) -> String {
    let body = PageWriter::new(page).body();
    let data = page.browser.map_or_else(String::new, |browser| {
        data::data_element("sentences-data", &data::browser_json(browser))
    });
    let head = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n",
        guard::policy(STYLE, SCRIPT),
        escape::xml(&format!("{} · Frostline", page.name)),
    );
    format!("{head}<body>\n{body}{data}<script>{SCRIPT}</script>\n</body>\n</html>\n")
}
