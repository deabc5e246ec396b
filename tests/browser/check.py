"""Opens a report's page in a real browser and uses it as a reader would.

    python check.py FOLDER [--axe FILE] [--screens DIR] [--times]

FOLDER holds the `index.html` that `cargo run -p frostline-report --example page -- FOLDER 30` writes: a made-up sweep
with hostile names, a failed cell and a missing one. The browser is the system's (`FROSTLINE_CHROMIUM` names another).
`cargo xtask ci --only browser` runs this with axe-core; each check prints a line, and the first that fails ends it with
code 1.
"""

import argparse
import http.server
import json
import os
import pathlib
import shutil
import statistics
import sys
import threading
import time

from playwright.sync_api import Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Failed(Exception):
    """A check that does not hold."""


def expect(holds, what):
    if not holds:
        raise Failed(what)
    print(f"ok   {what}")


def browser_path():
    named = os.environ.get("FROSTLINE_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Reader:
    """A page that is open, with everything that it should not have done."""

    def __init__(self, browser, folder, **options):
        self.context = browser.new_context(viewport={"width": 1360, "height": 900}, accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.faults, self.requests = [], []
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.faults.append(said.text))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.url = (pathlib.Path(folder).resolve() / "index.html").as_uri()
        self.page.goto(self.url)
        if options.get("java_script_enabled", True):
            self.page.wait_for_selector("html[data-ready]", timeout=30_000, state="attached")

    def eval(self, script, *values):
        """What a script gives once the next frame has begun: the page answers a click in the frame after it."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
        return self.page.evaluate(script, *values)

    def until(self, script):
        """Waits until a script gives true. The page's policy forbids it to compile what Playwright would poll."""
        for _ in range(100):
            if self.eval(script):
                return
            time.sleep(0.05)
        raise Failed(f"this stays false: {script}")

    def column(self, table, head):
        """The texts of a column of a table, found by the start of its head."""
        return self.eval(
            """([table, head]) => {
              const place = document.querySelector(table);
              const heads = [...place.querySelectorAll('thead th')].map((th) => th.textContent);
              const at = heads.findIndex((text) => text.startsWith(head));
              return [...place.querySelectorAll('tbody tr:not(.off)')].map((tr) => tr.children[at].textContent);
            }""",
            [table, head],
        )


RESULT = "section[aria-labelledby=result] .table"
CELLS = "section[aria-labelledby=cells] .table"


def opens(reader):
    expect(reader.url.startswith("file://"), "the page opens from disk")
    outside = [url for url in reader.requests if not url.startswith(("file://", "data:", "blob:"))]
    expect(len([url for url in reader.requests if url.startswith("file://")]) == 1, "it reads no other file")
    expect(not outside, f"no request leaves {outside}")
    expect(not reader.faults, f"no error on the console {reader.faults}")
    expect(reader.eval("document.title") == "made-up · Frostline", "no text of a file has run as a script")
    expect(reader.eval("document.querySelectorAll('img, iframe, object, embed, link, base').length") == 0, "no foreign element")
    said = reader.eval("document.querySelector('.synthetic').textContent")
    expect("Synthetic data" in said, "the mark of synthetic data is the first thing below the title")
    expect(reader.eval("document.querySelectorAll('.findings li').length") == 3, "three sentences say what came out")
    expect(reader.eval("document.body.scrollWidth <= innerWidth"), "nothing is wider than the window")


def shows_all(reader):
    """All figures and tables are there, each with a box, wherever it is."""
    reader.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    empty = reader.eval(
        """() => [...document.querySelectorAll('figure .chart > svg, .table table')].filter((one) => {
          const box = one.getBoundingClientRect();
          return box.width < 100 || box.height < 40;
        }).map((one) => one.closest('figure, section').id || one.textContent.slice(0, 40))"""
    )
    count = reader.eval("document.querySelectorAll('figure').length")
    tables = reader.eval("document.querySelectorAll('.table table').length")
    expect(count >= 6 and tables >= 10 and not empty, f"{count} figures and {tables} tables, each with a box {empty}")
    whole = reader.eval("[...document.querySelectorAll('.table table')].every((one) => one.tBodies[0].rows.length > 0)")
    expect(whole, "no table is empty")
    inside(reader, "a wide window")
    cells = reader.eval(f"document.querySelector('{CELLS}').textContent")
    expect("failed" in cells and "missing" in cells and "</script>" in cells, "a failed and a missing cell are listed among the others")
    named = reader.eval("document.querySelectorAll('[id]').length === new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size")
    expect(named, "each id is there once")


def fits(reader, where):
    """The first table fits its place, and a switch shows the columns that it leaves out."""
    heads = f"() => [...document.querySelectorAll('{RESULT}')][0].querySelectorAll('th').length"
    seen = f"() => [...document.querySelector('{RESULT}').querySelectorAll('thead th')].filter((one) => one.getClientRects().length).length"
    scroll = f"() => {{ const one = document.querySelector('{RESULT} .scroll'); return one.scrollWidth <= one.clientWidth + 1; }}"
    few = reader.eval(seen)
    expect(few >= 4 and reader.eval(scroll), f"the first table fits {where}, with {few} columns")
    switch = reader.page.locator(f"{RESULT} .all input").first
    switch.check()
    expect(reader.eval(seen) > few, "a switch shows all columns")
    switch.uncheck()
    expect(reader.eval(heads) > 0 and reader.eval(seen) == few, "and chosen ones again")


def sorts(reader):
    page = reader.page
    head = page.locator(f"{RESULT} thead button", has_text="Dev accuracy").first
    numbers = lambda: [float(text.split()[0]) for text in reader.column(RESULT, "Dev accuracy") if text[0].isdigit()]
    head.click()
    expect(numbers() == sorted(numbers(), reverse=True) and len(set(numbers())) > 3, "a column of numbers sorts from the highest")
    state = lambda: reader.eval(f"document.querySelector('{RESULT} thead th[aria-sort]').getAttribute('aria-sort')")
    expect(state() == "descending", "aria-sort says so")
    head.focus()
    page.keyboard.press("Enter")
    expect(numbers() == sorted(numbers()) and state() == "ascending", "the keyboard sorts it the other way")
    page.locator(f"{RESULT} thead button", has_text="Frozen").click()
    frozen = reader.column(RESULT, "Frozen")
    expect(frozen == sorted(frozen), "words sort as words")


def switches(reader):
    """Policies one after the other, then several at once: figures and tables follow."""
    page = reader.page
    names = reader.eval("[...document.querySelectorAll('.policies .policy')].map((one) => one.textContent.trim())")
    others = [name for name in names if name not in ("none", "first-2")][:2]
    expect(len(others) == 2, f"policies can be switched: {', '.join(names)}")
    for name in others:
        page.locator(".policies .policy", has_text=name).first.click()
    gone = lambda: [name for name in others if name in reader.column(RESULT, "Frozen")]
    expect(not gone(), f"{' and '.join(others)} are off in tables at once")
    drawn = "[...document.querySelectorAll('.chart [data-policy]:not(.off)')].map((one) => one.dataset.policy)"
    reader.until(f"!{drawn}.some((name) => {json.dumps(others)}.includes(name))")
    expect(True, "and in all figures")
    page.locator(".policies button", has_text="Show all").click()
    reader.until(f"{json.dumps(others)}.every((name) => {drawn}.includes(name))")
    expect(gone() == others, "and on again together")
    shown = lambda: reader.eval("document.querySelectorAll('.chart [data-policy=\"first-2\"]:not(.off)').length")
    rows = lambda: reader.column(RESULT, "Frozen").count("first-2")
    expect(shown() > 3 and rows() == 2, "a policy is in figures and tables")
    node = page.locator(".policy", has_text="first-2")
    node.focus()
    page.keyboard.press("Space")
    reader.until("document.querySelectorAll('.chart [data-policy=\"first-2\"]:not(.off)').length === 0")
    expect(rows() == 0 and node.get_attribute("aria-pressed") == "false", "it switches off everywhere at once, by keyboard")
    page.locator(".policies button", has_text="Show all").click()
    reader.until("document.querySelectorAll('.chart [data-policy=\"first-2\"]:not(.off)').length > 3")
    expect(rows() == 2, "and on again")


def tells(reader):
    page = reader.page
    chart = page.locator("figure .chart").first
    chart.focus()
    page.keyboard.press("ArrowRight")
    spoken = page.locator("figure .unseen[role=status]").first
    first = spoken.text_content()
    page.keyboard.press("ArrowRight")
    second = spoken.text_content()
    expect("none" in first and "dev accuracy" in first and first != second, f"arrow keys show the values of a figure: {first}")
    visible = lambda: reader.eval("[...document.querySelectorAll('.tip')].filter((tip) => !tip.hidden).length")
    expect(visible() == 1, "the value is shown too")
    expect(reader.eval("document.querySelectorAll('.chart .dim').length > 2"), "and its policy alone is not dimmed")
    page.keyboard.press("Escape")
    expect(visible() == 0 and reader.eval("document.querySelectorAll('.chart .dim').length === 0"), "Escape hides it")
    page.locator("figure .chart [data-value]").nth(1).hover()
    expect(visible() == 1, "so does the pointer")
    page.mouse.move(1, 1)


def browses(reader):
    page = reader.page
    place = "#sentences-place"
    items = lambda: page.locator(f"{place} .sentences > li").count()
    count = lambda: page.locator(f"{place} .count").text_content()
    everything = int(count().split(" of ")[0].replace(",", ""))
    expect(items() > 5 and everything > 20, f"{everything} sentences on which two policies differ")
    page.locator(f"{place} label", has_text="Who is right").locator("select").select_option("b")
    answers = reader.eval(
        f"""() => [...document.querySelectorAll('{place} .word.differs:not(.aside)')].map((word) =>
          [...word.querySelectorAll('.answer')].map((one) => one.classList.contains('right')))"""
    )
    expect(answers and all(answer == [False, True] for answer in answers), "the filter by who is right holds for each word")
    page.locator(f"{place} label", has_text="Gold tag").locator("select").select_option("NOUN")
    gold = reader.eval(f"() => [...document.querySelectorAll('{place} .word.differs:not(.aside) > .tag')].map((tag) => tag.textContent)")
    expect(gold and set(gold) == {"gold NOUN"}, "and the filter by tag")
    fewer = int(count().split(" of ")[0].replace(",", ""))
    expect(0 < fewer < everything, f"{fewer} sentences are left")
    page.locator(f"{place} label", has_text="Gold tag").locator("select").select_option("")
    page.locator(f"{place} label", has_text="Who is right").locator("select").select_option("")
    page.locator(f"{place} input[type=search]").fill("</script>")
    said = page.locator(f"{place} .sentences").text_content()
    expect(items() > 0 and "</script><script>" in said, "a word that is markup is only read")
    page.locator(f"{place} input[type=search]").fill("")


def complete(browser, folder):
    """The page with its script switched off."""
    reader = Reader(browser, folder, java_script_enabled=False)
    page = reader.page
    expect(page.locator("figure .chart > svg").count() >= 12 and page.locator(".table table").count() >= 10, "without script all figures and tables are there")
    values = page.locator(f"{RESULT} tbody tr").count()
    expect(values >= 10, f"the first table has {values} rows")
    box = page.locator("figure .chart > svg").first.bounding_box()
    expect(box["width"] > 200 and box["height"] > 200, "and a figure its size")
    titles = page.locator("figure .chart [data-value] > title").all_text_contents()
    expect(len(titles) > 100 and "dev accuracy" in titles[0], f"{len(titles)} values have a title")
    head = page.locator(f"{RESULT} thead th.m").first
    expect(not head.is_visible(), "columns that are not chosen are hidden")
    page.locator(f"{RESULT} .all input").first.check()
    expect(head.is_visible(), "and shown by their switch")
    expect(not page.locator("#policies").is_visible(), "what needs the script is not shown")
    reader.context.close()
    reader = Reader(browser, folder, java_script_enabled=False)
    reader.page.emulate_media(media="print")
    folded = reader.page.locator("details:not([open]) table").last
    expect(folded.is_visible() and reader.page.locator("figure .chart > svg").last.is_visible(), "in print it is whole, folds included")
    reader.context.close()


def themes(browser, folder):
    dark = Reader(browser, folder, color_scheme="dark")
    back = lambda: dark.eval("getComputedStyle(document.body).backgroundColor")
    night = back()
    dark.page.locator("#theme").click()
    day = back()
    dark.page.locator("#theme").click()
    expect(night != day and back() == night, "dark follows the system and has a switch")
    dark.context.close()
    phone = Reader(browser, folder, device_scale_factor=2, is_mobile=True, has_touch=True)
    phone.page.set_viewport_size({"width": 390, "height": 844})
    fits(phone, "a phone")
    phone.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    time.sleep(0.5)
    expect(phone.eval("document.documentElement.scrollWidth <= innerWidth"), "a phone shows it without scrolling sideways")
    inside(phone, "a phone")
    phone.context.close()


def inside(reader, where):
    """No word of a figure is cut off at the figure's edge."""
    cut = reader.eval(
        """() => [...document.querySelectorAll('.chart > svg text')].filter((text) => {
          const [box, edge] = [text.getBoundingClientRect(), text.closest('svg').getBoundingClientRect()];
          return box.left < edge.left - 3 || box.right > edge.right + 3 || box.bottom > edge.bottom + 3;
        }).map((text) => `${text.closest('figure').id}: ${text.textContent}`)"""
    )
    expect(not cut, f"no word of a figure is cut off on {where} {cut}")


def accessible(browser, folder, axe):
    script = pathlib.Path(axe).read_text()
    for scheme in ("light", "dark"):
        reader = Reader(browser, folder, color_scheme=scheme, bypass_csp=True)
        reader.eval("document.querySelectorAll('details').forEach((one, at) => { one.open = at < 40; })")
        time.sleep(1)
        reader.eval(script)
        found = reader.eval("axe.run(document, { resultTypes: ['violations'] })")
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        for one in found["violations"]:
            targets = [node["target"] for node in one["nodes"][:3]]
            print(f"     axe, {one['impact']}: {one['id']}: {one['help']} {json.dumps(targets)}")
        expect(not serious, f"axe-core finds no serious fault ({scheme}; {len(found['passes'])} rules pass)")
        reader.context.close()


# What a page of at most so many cells may hold.
MOST_BYTES = 330_000


def small(folder):
    """The size is judged; the time that opening takes is told."""
    size = (pathlib.Path(folder) / "index.html").stat().st_size
    expect(size < MOST_BYTES, f"the page has {size:,} bytes, under {MOST_BYTES:,}")


LIVE = pathlib.Path(__file__).resolve().parents[2] / "crates/frostline-watch/src/serve"


class Live:
    """What `frostline serve` answers, with a state that the test sets: the page's own files, a state, a report."""

    def __init__(self, folder):
        live = self
        self.state, self.away = {}, False

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.lstrip("/") or "live.html"
                kinds = {"html": "text/html", "js": "text/javascript", "css": "text/css", "json": "application/json"}
                kind = kinds.get(name.rsplit(".", 1)[-1], "text/plain")
                if name == "status.json" and not live.away:
                    body = json.dumps(live.state).encode()
                elif name == "report/index.html":
                    body = (pathlib.Path(folder) / "index.html").read_bytes()
                elif name in ("live.html", "live.js", "live.css"):
                    body = (LIVE / name).read_bytes()
                else:
                    return self.send_error(503 if live.away else 404)
                self.send_response(200)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"


def live_state(done, running=True):
    """A sweep of four cells; a title and an error that nobody should put into a page."""
    progress = {
        "step": 30, "steps": 90, "epoch": 3, "loss_nats": 0.5, "tokens_per_s": 1234.0, "left_s": 75.0, "peak_rss_mib": 512.0,
        "losses": [[10, 2.0], [20, 1.0], [30, 0.5]], "dev_accuracy": [[1, 0.5], [2, 0.75]],
    }
    cells = [{"id": "a", "title": "en none <b>seed</b> 1", "state": "running", "by": "frostline sweep on here", "seen_s": 1.0, "loaded": True, "progress": progress}]
    cells.append({"id": "b", "title": "en first-2 seed 1", "state": "failed", "error": "</script><img src=x onerror='document.title=9'>"})
    counts = {"cells": 4, "done": done, "failed": 1, "running": int(running), "left_behind": 0, "waiting": 3 - done - int(running)}
    return {"plan": "live", "synthetic": True, "counts": counts, "left_s": 3725.0, "cells": cells if running else cells[1:], "omitted": 0}


def follows(browser, folder):
    """The live page: rows and curves, new cells, a report that stays until the reader asks, a server that goes away."""
    live = Live(folder)
    live.state = live_state(1)
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(live.url)
    page.wait_for_selector("#rows tr")
    said = page.locator("#counts").text_content()
    expect(said == "1 of 4 cells done, 1 failed, 1 running, 1 waiting, about 1:02:05 to go", f"the live page says how it stands: {said}")
    expect(page.locator("#rows svg path").count() == 2, "a running cell has curves of loss and of accuracy")
    boxes = page.evaluate("[...document.querySelectorAll('#rows svg')].map((one) => one.getBoundingClientRect()).map((box) => box.width * box.height)")
    expect(all(box > 50 for box in boxes), f"each curve has a box {boxes}")
    expect("75.00" in page.locator("#rows tr").first.text_content(), "and its last accuracy")
    expect("<b>seed</b>" in page.locator("#rows th").first.text_content(), "a title that is markup is only read")
    expect(page.locator("#rows img").count() == 0 and "live" in page.title(), "and so is an error")
    expect(page.locator("#report").get_attribute("src") == "report/index.html", "the report is below")
    live.state = live_state(2)
    page.wait_for_selector("#renew:not([hidden])", timeout=20_000)
    expect(page.locator("#renew").text_content() == "Show 1 new cell", "a new cell is offered")
    page.locator("#renew").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#renew", state="hidden")
    expect(True, "and shown by keyboard")
    live.away = True
    page.wait_for_selector("#away:not([hidden])", timeout=20_000)
    live.away, live.state = False, live_state(3, running=False)
    page.wait_for_selector("#away", state="hidden", timeout=20_000)
    expect(page.locator("#rows tr").count() == 1, "a server that was away is asked again")
    expect(page.evaluate("document.body.scrollWidth <= innerWidth"), "nothing is wider than the window")
    expect(not faults, f"no error of the script {faults}")
    context.close()


def screens(browser, folder, into):
    """Pictures to look at: wide, phone, dark, and as printed."""
    into = pathlib.Path(into)
    into.mkdir(parents=True, exist_ok=True)
    for name, width, scheme in (("wide", 1360, "light"), ("phone", 390, "light"), ("dark", 1360, "dark")):
        reader = Reader(browser, folder, color_scheme=scheme)
        reader.page.set_viewport_size({"width": width, "height": 900})
        time.sleep(0.5)
        reader.page.screenshot(path=into / f"{name}.png", full_page=True)
        reader.context.close()
    reader = Reader(browser, folder)
    reader.page.pdf(path=into / "print.pdf", format="A4", print_background=True)
    reader.context.close()


def times(browser, folder, runs=5):
    """Until the page is ready, in seconds; the median. Told, not judged."""
    ready = []
    for _ in range(runs):
        context = browser.new_context(viewport={"width": 1360, "height": 900})
        page = context.new_page()
        started = time.monotonic()
        page.goto((pathlib.Path(folder).resolve() / "index.html").as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        ready.append(time.monotonic() - started)
        context.close()
    size = (pathlib.Path(folder) / "index.html").stat().st_size
    print(f"{folder}: {size:,} bytes, ready after {statistics.median(ready):.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--axe", help="axe.min.js of axe-core")
    parser.add_argument("--screens", help="write pictures here, and check nothing")
    parser.add_argument("--times", action="store_true", help="measure how long it takes to open, and check nothing")
    given = parser.parse_args()
    path = browser_path()
    if path is None:
        print("there is no Chromium: install Debian's `chromium`, or set FROSTLINE_CHROMIUM", file=sys.stderr)
        return 3
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        print(f"Chromium {browser.version}")
        if given.screens:
            screens(browser, given.folder, given.screens)
            return 0
        if given.times:
            times(browser, given.folder)
            return 0
        try:
            reader = Reader(browser, given.folder)
            for check in (opens, sorts, switches, tells, browses, shows_all):
                check(reader)
            expect(not reader.faults, f"no error on the console at the end either {reader.faults}")
            reader.page.set_viewport_size({"width": 1280, "height": 900})
            fits(reader, "1,280 pixels")
            reader.context.close()
            complete(browser, given.folder)
            themes(browser, given.folder)
            follows(browser, given.folder)
            small(given.folder)
            times(browser, given.folder, runs=1)
            if given.axe:
                accessible(browser, given.folder, given.axe)
        except (Failed, Error) as fault:
            print(f"FAIL {fault}")
            return 1
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
