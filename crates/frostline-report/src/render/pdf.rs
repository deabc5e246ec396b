//! Figures as PDF: the SVG with its text in an embedded font, so that it looks the same in every paper.

use std::sync::{Arc, LazyLock};

use krilla::geom::Size;
use krilla::page::PageSettings;
use krilla::{Document, SerializeSettings};
use krilla_svg::{SurfaceExt as _, SvgSettings};
use usvg::fontdb::Database;
use usvg::{Options, Tree};

/// DejaVu Sans Condensed, which is about as wide as Helvetica. It has the letters of Latin, Greek, Cyrillic, Hebrew and
/// Arabic, among others; those that it lacks are left out.
static OPTIONS: LazyLock<Options<'static>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(dejavu::sans_condensed::regular().to_vec());
    fonts.load_font_data(dejavu::sans_condensed::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Options { fontdb: Arc::new(fonts), font_family: "DejaVu Sans".into(), ..Options::default() }
});

/// A figure as the bytes of a file, or why it cannot be one.
pub(crate) fn figure_as_pdf(svg: &str) -> Result<Vec<u8>, String> {
    let tree = Tree::from_str(svg, &OPTIONS).map_err(|error| error.to_string())?;
    let size = Size::from_wh(tree.size().width(), tree.size().height()).ok_or("it has no size")?;
    let mut document = Document::new_with(SerializeSettings::default());
    let mut page = document.start_page_with(PageSettings::new(size));
    let mut surface = page.surface();
    let drawn = surface.draw_svg(&tree, size, SvgSettings::default());
    surface.finish();
    page.finish();
    drawn.ok_or("it cannot be drawn")?;
    document.finish().map_err(|error| format!("{error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_is_embedded_and_the_bytes_repeat() {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='90' height='30' font-family='Helvetica, sans-serif'>\
                   <text x='5' y='20' font-size='12'>±0.5 ß ж</text></svg>";
        let pdf = figure_as_pdf(svg).expect("a figure");
        let has = |name: &[u8]| pdf.windows(name.len()).any(|part| part == name);
        assert!(pdf.starts_with(b"%PDF-"));
        assert!(has(b"+DejaVuSansCondensed") && has(b"/FontFile2"));
        assert_eq!(figure_as_pdf(svg), Ok(pdf));
    }

    #[test]
    fn what_is_no_figure_is_an_error() {
        assert!(figure_as_pdf("<svg").is_err());
    }
}
