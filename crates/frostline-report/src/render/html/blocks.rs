//! The blocks of a page as HTML.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::document::{CHECK_FIRST, Chapter, FINDINGS, ReportDocument, ShownIn};
use crate::number::capital;
use crate::page::{Item, PageBlock};
use crate::render::escape::{self, xml};
use crate::render::html::{inline, tables};
use crate::render::svg;
use crate::study::words::SYNTHETIC;

/// The chapters of the page.
fn shown_chapters<'a>(page: &'a ReportDocument<'_>) -> impl Iterator<Item = &'a Chapter> {
    page.chapters.iter().filter(|chapter| chapter.shown != ShownIn::TextOnly)
}

/// Writes a page.
pub(super) struct PageWriter<'a> {
    page: &'a ReportDocument<'a>,
    /// Notes of figures that the page has already.
    noted: HashSet<String>,
    /// The last heading, which names what follows it.
    heading: String,
}

impl<'a> PageWriter<'a> {
    pub fn new(page: &'a ReportDocument<'a>) -> Self {
        Self { page, noted: HashSet::new(), heading: String::new() }
    }

    /// Everything between the head and the data.
    pub fn body(&mut self) -> String {
        let page = self.page;
        let mut out = String::from("<a class=\"skip\" href=\"#main\">Skip to the report</a>\n");
        out += &self.contents();
        out += "<main id=\"main\" tabindex=\"-1\">\n";
        out += &self.opening();
        for chapter in shown_chapters(page) {
            out += &self.chapter(chapter);
        }
        out += "<footer><p>Written by Frostline from stored records. The page loads nothing.</p></footer>\n</main>\n";
        out
    }

    fn contents(&self) -> String {
        let link = |chapter: &Chapter| {
            format!(
                "<li><a href=\"#{}\">{}</a></li>\n",
                xml(&chapter.id),
                xml(&inline::plain_text(&chapter.title))
            )
        };
        let links: String = shown_chapters(self.page).map(link).collect();
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
            "<p class=\"kicker\">{} · {}</p>\n<h1>{}</h1>\n",
            page.kind,
            xml(&page.progress),
            xml(&page.name)
        )
        .expect("a string takes everything");
        if page.is_synthetic {
            let rest = SYNTHETIC.split_once(": ").map_or(SYNTHETIC, |(_, rest)| rest);
            out += &format!(
                "<p class=\"synthetic\" role=\"note\"><strong>Synthetic data.</strong> {}</p>\n",
                xml(&capital(rest))
            );
        }
        if !page.about.is_empty() {
            out += &format!("<p class=\"about\">{}</p>\n", self.inline(&page.about));
        }
        out += &format!("<p>{}</p>\n", self.inline(&page.asked));
        if let Some((summary, lines)) = &page.warnings {
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
                "<section class=\"findings\" aria-labelledby=\"findings\"><h2 id=\"findings\">{FINDINGS}</h2>\n\
                 <ol>\n{items}</ol></section>\n"
            );
        }
        for said in &page.more {
            out += &format!("<p>{}</p>\n", self.inline(said));
        }
        out + "</header>\n" + &self.switches()
    }

    /// The switches of policies, which the script shows.
    fn switches(&self) -> String {
        let page = self.page;
        if page.policies.len() < 2 {
            return String::new();
        }
        let switch = |name: &&str| {
            format!(
                "<button type=button class=policy aria-pressed=true data-name=\"{}\" title=\"Double-click shows this \
                 policy alone\">{}<span>{}</span></button>\n",
                xml(name),
                svg::draw_swatch(&page.policies, name),
                xml(name)
            )
        };
        let switches: String = page.policies.iter().map(switch).collect();
        format!(
            "<div id=policies hidden><div class=policies role=group aria-label=\"Policies shown in all figures and \
             tables\"><span class=label>Policies</span><div class=switches>\n{switches}</div></div></div>\n"
        )
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
            let PageBlock::Heading(level, title) = block else {
                if !self.is_said_by_figure(at.checked_sub(1).map(|at| &chapter.page.blocks[at]), block) {
                    out += &self.block(block);
                }
                continue;
            };
            while open.last().is_some_and(|last| last >= level) {
                open.pop();
                out += "</div></details>\n";
            }
            self.heading = inline::plain_text(title);
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
            out += "<noscript><p class=notice>Choosing two policies needs the page's script. The predictions are in \
                    <code>cells/</code>, a file per cell.</p></noscript>\n<div id=\"sentences-place\"></div>\n";
        }
        out + "</section>\n"
    }

    fn block(&mut self, block: &PageBlock) -> String {
        match block {
            PageBlock::Heading(level, title) => format!("<h{0}>{1}</h{0}>\n", level + 1, self.inline(title)),
            PageBlock::Paragraph(text) => format!("<p>{}</p>\n", self.inline(text)),
            PageBlock::Quote(text) => format!("<p class=\"notice\">{}</p>\n", self.inline(text)),
            PageBlock::List(items) => {
                let items: String = items.iter().map(|item| self.item(item)).collect();
                format!("<ul>\n{items}</ul>\n")
            }
            PageBlock::Table(table) => self.table(table),
            PageBlock::Figure { path, .. } => self.figure(path),
            PageBlock::Code(_, text) => {
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
        tables::table(table, &self.heading, &self.page.policies, &|text| self.inline(text))
    }

    /// A figure with its description, and its notes, unless earlier figures have them.
    fn figure(&mut self, path: &str) -> String {
        let page = self.page;
        let Some((figure, drawing)) = page.figures.iter().find(|(figure, _)| figure.path == path) else {
            return String::new();
        };
        let mut out = format!(
            "<figure id=\"figure-{}\"><figcaption><strong>{}</strong> {}</figcaption>\n<div class=chart aria-label=\"{}. Arrow \
             keys show its values one by one.\">\n{}</div>\n",
            xml(figure.name()),
            xml(figure.title),
            self.inline(&figure.about),
            xml(figure.title),
            drawing.elements()
        );
        let notes = drawing.notes.iter().filter(|note| self.noted.insert(note.to_string()));
        let notes: String =
            notes.map(|note| format!("<li>{}</li>\n", xml(&inline::plain_text(note)))).collect();
        if !notes.is_empty() {
            out += &format!("<ul class=notes>\n{notes}</ul>\n");
        }
        out + "</figure>\n"
    }

    /// Whether a paragraph is the description of the figure before it.
    fn is_said_by_figure(&self, before: Option<&PageBlock>, block: &PageBlock) -> bool {
        let (Some(PageBlock::Figure { path, .. }), PageBlock::Paragraph(text)) = (before, block) else {
            return false;
        };
        self.page.figures.iter().any(|(figure, _)| figure.path == *path && figure.about == *text)
    }

    fn inline(&self, text: &str) -> String {
        inline::inline_html(text, &|target| {
            let chapter = self.page.chapters.iter().find(|chapter| chapter.file == Some(target))?;
            Some(chapter.id.clone())
        })
    }
}
