//! The blocks of a page as HTML. Tables and figures are places that the script fills from data.

use std::fmt::Write as _;

use crate::front::CHECK_FIRST;
use crate::page::{Block, Item};
use crate::render::escape::{self, xml};
use crate::render::html::{data, figures, inline, sentences, tables};
use crate::web::{Chapter, WebPage};

/// Writes a page and collects its data.
pub(super) struct Writer<'a> {
    page: &'a WebPage<'a>,
    data: String,
    tables: usize,
    /// The last heading, which names what follows it.
    heading: String,
}

impl<'a> Writer<'a> {
    pub fn new(page: &'a WebPage<'a>) -> Self {
        Self { page, data: String::new(), tables: 0, heading: String::new() }
    }

    /// The data of everything that was written.
    pub fn data(&mut self) -> String {
        let page = self.page;
        let policies: serde_json::Value = page.policies.iter().map(|name| data::text(name)).collect();
        let whole = serde_json::json!({
            "name": data::text(&page.name),
            "synthetic": page.banner.map(|[short, _]| short),
            "policies": policies,
        });
        let mut all = data::element("page-data", &whole);
        for (at, figure) in page.figures.iter().enumerate() {
            all += &data::element(&format!("figure-{at}"), &figures::figure(figure, &page.policies));
        }
        if let Some(browser) = page.browser {
            all += &data::element("sentences-data", &sentences::browser(browser));
        }
        all + &self.data
    }

    /// Everything between the head and the data.
    pub fn body(&mut self) -> String {
        let page = self.page;
        let mut out = String::from("<a class=\"skip\" href=\"#main\">Skip to the report</a>\n");
        out += &self.contents();
        out += "<main id=\"main\" tabindex=\"-1\">\n";
        out += &self.opening();
        for chapter in &page.chapters {
            out += &self.chapter(chapter);
        }
        out += "<footer><p>Written by Frostline from stored records. The page holds all that it shows and \
                loads nothing. In CSV files accuracies and shares are fractions of 1, not percent.</p></footer>\n</main>\n";
        out += &format!(
            "<noscript><p class=\"notice\">Tables and figures need this page's script. <code>{}</code> beside \
             it has them without.</p></noscript>\n",
            page.plain
        );
        out
    }

    fn contents(&self) -> String {
        let link = |chapter: &Chapter| {
            format!(
                "<li><a href=\"#{}\">{}</a></li>\n",
                xml(&chapter.id),
                xml(&inline::plain(&chapter.title))
            )
        };
        let links: String = self.page.chapters.iter().map(link).collect();
        format!(
            "<nav class=\"contents\" aria-label=\"Contents\"><p class=\"brand\"><a href=\"#main\">Frostline</a></p>\n\
             <ol>\n{links}</ol>\n<p class=\"tools\" id=\"tools\"></p></nav>\n"
        )
    }

    /// What was asked, on which data, and what came out.
    fn opening(&mut self) -> String {
        let page = self.page;
        let mut out = String::from("<header class=\"opening\">\n");
        write!(
            out,
            "<p class=\"kicker\">Freezing study · {}</p>\n<h1>{}</h1>\n",
            xml(&page.progress),
            xml(&page.name)
        )
        .expect("a string takes everything");
        if let Some([_, banner]) = page.banner {
            out +=
                &format!("<p class=\"synthetic\" role=\"note\"><strong>Synthetic data.</strong> {}</p>\n", {
                    let rest = banner.split_once(": ").map_or(banner, |(_, rest)| rest);
                    xml(&crate::number::capital(rest))
                });
        }
        if !page.about.is_empty() {
            out += &format!("<p class=\"about\">{}</p>\n", self.inline(&page.about));
        }
        out += &format!("<p>{}</p>\n", self.inline(&page.asked));
        if let Some((summary, lines)) = &page.first {
            let items: String =
                lines.iter().map(|line| format!("<li>{}</li>\n", self.inline(line))).collect();
            out += &format!(
                "<section class=\"first notice\" aria-labelledby=\"first\"><h2 id=\"first\">{CHECK_FIRST}</h2>\n\
                 <p>{}</p>\n<ul>\n{items}</ul></section>\n",
                self.inline(summary)
            );
        }
        self.heading = "Data".into();
        out += &self.table(&page.data);
        if !page.findings.is_empty() {
            let items: String =
                page.findings.iter().map(|said| format!("<li>{}</li>\n", self.inline(said))).collect();
            out += &format!(
                "<section class=\"findings\" aria-labelledby=\"findings\"><h2 id=\"findings\">What came out</h2>\n\
                 <ol>\n{items}</ol></section>\n"
            );
        }
        for said in &page.more {
            out += &format!("<p>{}</p>\n", self.inline(said));
        }
        out + "</header>\n<div id=\"policies\"></div>\n"
    }

    fn chapter(&mut self, chapter: &Chapter) -> String {
        self.heading.clone_from(&chapter.title);
        let id = xml(&chapter.id);
        let mut out = format!(
            "<section class=\"chapter\" aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>\n",
            self.inline(&chapter.title)
        );
        if let Some(file) = chapter.file {
            out += &format!("<p class=\"same\">Also as <code>{file}</code>.</p>\n");
        }
        // Levels of folds that are open at this place.
        let mut open: Vec<usize> = Vec::new();
        let mut folds = 0;
        for (at, block) in chapter.page.blocks.iter().enumerate() {
            let Block::Heading(level, title) = block else {
                if !self.is_said_by_figure(at.checked_sub(1).map(|at| &chapter.page.blocks[at]), block) {
                    out += &self.block(block);
                }
                continue;
            };
            while open.last().is_some_and(|last| last >= level) {
                open.pop();
                out += "</div></details>\n";
            }
            self.heading = inline::plain(title);
            let shown = self.inline(title);
            let rank = (level + 1).min(6);
            if chapter.folds.contains(level) {
                let start = if chapter.opens_first && folds == 0 { " open" } else { "" };
                folds += 1;
                out += &format!(
                    "<details class=\"fold\"{start}><summary><h{rank}>{shown}</h{rank}></summary><div>\n"
                );
                open.push(*level);
            } else {
                out += &format!("<h{rank}>{shown}</h{rank}>\n");
            }
        }
        out += &"</div></details>\n".repeat(open.len());
        if chapter.browses {
            out += "<div id=\"sentences-place\" class=\"place\"></div>\n";
        }
        out + "</section>\n"
    }

    fn block(&mut self, block: &Block) -> String {
        match block {
            Block::Heading(level, title) => format!("<h{0}>{1}</h{0}>\n", level + 1, self.inline(title)),
            Block::Paragraph(text) => format!("<p>{}</p>\n", self.inline(text)),
            Block::Quote(text) => format!("<p class=\"notice\">{}</p>\n", self.inline(text)),
            Block::List(items) => {
                let items: String = items.iter().map(|item| self.item(item)).collect();
                format!("<ul>\n{items}</ul>\n")
            }
            Block::Table(table) => self.table(table),
            Block::Figure { path, .. } => self.figure(path),
            Block::Code(_, text) => {
                format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", xml(&escape::visible(text.trim_end())))
            }
        }
    }

    fn item(&self, item: &Item) -> String {
        let below: String = item.items.iter().map(|text| format!("<li>{}</li>", self.inline(text))).collect();
        let below = if below.is_empty() { below } else { format!("<ul>{below}</ul>") };
        format!("<li>{}{below}</li>\n", self.inline(&item.text))
    }

    fn table(&mut self, table: &crate::table::Table) -> String {
        let id = self.tables;
        self.tables += 1;
        self.data += &data::element(&format!("table-{id}"), &tables::table(table));
        format!(
            "<div class=\"place table-place\" data-table=\"{id}\" data-rows=\"{}\" data-title=\"{}\"></div>\n",
            table.rows.len(),
            xml(&self.heading)
        )
    }

    fn figure(&self, path: &str) -> String {
        match self.page.figures.iter().position(|figure| figure.path == path) {
            Some(at) => {
                format!("<figure class=\"place chart-place\" data-figure=\"{at}\"></figure>\n")
            }
            None => String::new(),
        }
    }

    /// Whether a paragraph is what the figure before it says of itself.
    fn is_said_by_figure(&self, before: Option<&Block>, block: &Block) -> bool {
        let (Some(Block::Figure { path, .. }), Block::Paragraph(text)) = (before, block) else {
            return false;
        };
        self.page.figures.iter().any(|figure| figure.path == *path && figure.about == *text)
    }

    fn inline(&self, text: &str) -> String {
        inline::html(text, &|target| {
            let chapter = self.page.chapters.iter().find(|chapter| chapter.file == Some(target))?;
            Some(chapter.id.clone())
        })
    }
}
