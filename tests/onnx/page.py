"""Opens docs/browser/tag.html in a real browser and compares the tags on it with Frostline's.

    python page.py --program FILE --modules node_modules [--screen FILE.png]

Called by hand, since the packages from npm take 600 MB: `npm install --ignore-scripts @huggingface/transformers@4.3.2` makes the
folder that `--modules` names. Needs the package playwright (tests/browser/requirements.txt) and the system's Chromium. It trains
the demo's tagger, exports it in int8 for transformers.js, and types sentences of the demo into the page.
"""

import argparse
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
DEMO = ["sweep", "--lang", "en", "--policies", "none", "--seeds", "42", "--set", "save.model=true", "--no-timing"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SENTENCES = 25
READY = "!document.getElementById('text').disabled || document.getElementById('state').textContent.startsWith('The model')"
SHOWN = "words => [...document.querySelectorAll('#words li')].map(item => item.firstChild.textContent).join() === words.join()"
WORDS = "items => items.map(item => [item.firstChild.textContent, item.querySelector('span').textContent])"


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript"}

    def log_message(self, *about):
        pass


def run(program, *arguments):
    done = subprocess.run([str(part) for part in (program, *arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def make_folder(program, modules, folder):
    """The page with what it needs, as docs/onnx.md describes. Returns sentences with Frostline's tags."""
    run(program, *DEMO, "--out", folder / "demo")
    cell = next((folder / "demo/cells").iterdir())
    web = ["--onnx", "--layout", "transformers.js", "--quantize", "--out", folder / "page/models/tagger"]
    run(program, "export", "--run", cell, *web)
    shutil.copy(ROOT / "docs/browser/tag.html", folder / "page/index.html")
    (folder / "page/node_modules").symlink_to(modules.resolve())
    dev = ROOT / "crates/frostline-assets/demo/en/dev.conllu"
    blocks = run(program, "tag", "--run", cell, "--input", dev).strip().split("\n\n")[:SENTENCES]
    rows = [[line.split("\t") for line in block.splitlines() if line[:1].isdigit()] for block in blocks]
    return [[[row[1], row[3]] for row in sentence if row[0].isdigit()] for sentence in rows]


def compare(page, sentences):
    """Types each sentence, and returns those whose words or tags differ."""
    wrong = []
    for sentence in sentences:
        page.fill("#text", " ".join(word for word, _ in sentence))
        page.wait_for_function(SHOWN, arg=[word for word, _ in sentence])
        found = page.eval_on_selector_all("#words li", WORDS)
        if not sentence or found != sentence:
            wrong.append((sentence, found))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", required=True, type=Path, help="the built program")
    parser.add_argument("--modules", required=True, type=Path, help="folder with @huggingface/transformers")
    parser.add_argument("--screen", type=Path, help="where to write what the page looks like")
    given = parser.parse_args()
    chromium = os.environ.get("FROSTLINE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        sentences = make_folder(given.program.resolve(), given.modules, folder)
        handler = functools.partial(Handler, directory=folder / "page")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 900, "height": 420})
            outside = []
            page.on("request", lambda asked: outside.append(asked.url) if "127.0.0.1" not in asked.url else None)
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            page.wait_for_function(READY, timeout=120_000)
            wrong = compare(page, sentences)
            if given.screen:
                page.screenshot(path=given.screen)
            print(page.inner_text("#state"))
            browser.close()
    if wrong or outside:
        sys.exit(f"FAIL {len(wrong)} of {len(sentences)} sentences differ, first {wrong[:1]}; outside: {outside}")
    print(f"ok   {sum(map(len, sentences))} words have Frostline's tags on the page, and nothing came from elsewhere")


if __name__ == "__main__":
    main()
