"""look.py SITE [PAGE...] — open every page of the built book in a browser, as a phone, a laptop and a wide screen show it, light and
dark, and report what cannot be read:

  - violations of WCAG 2.1, levels A and AA, as axe-core finds them; contrast is among them
  - text of a diagram or a plot whose contrast to what is drawn below it is less than 4.5
  - a page wider than the window; on a laptop or wider also a table wider than the page
  - a link to a page, an anchor or a file that is not there; a picture that does not load
  - a scheme that the switch does not change

One line for each finding, at most 5 of a kind and page. Exit status 1 if there is one. BROWSER names the browser."""

import collections
import concurrent.futures
import os
import pathlib
import sys
import urllib.parse

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

WIDTHS = (390, 1280, 1920)
SCHEMES = {"light": "default", "dark": "slate"}
CONTEXT = {"exclude": ["tbody tr:nth-child(n + 5)"]}  # rows of a table look alike, and take long
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}

# What a reader sees cut off. A program or a diagram may scroll by itself anywhere, a table on a phone.
TOO_WIDE = """laptop => {
    const found = [], room = document.documentElement.clientWidth
    if (document.documentElement.scrollWidth > room) {
        const inside = [...document.querySelectorAll("body *")].filter(e => Math.max(e.scrollWidth, e.getBoundingClientRect().right) > room + 1 &&
            !e.closest("pre, .md-typeset__scrollwrap, .diagram"))
        found.push("the page is " + document.documentElement.scrollWidth + " wide: " + (inside.pop() || document.body).outerHTML.slice(0, 100))
    }
    for (const table of laptop ? document.querySelectorAll(".md-content table") : []) {
        const frame = table.closest(".md-typeset__scrollwrap") || table.parentElement
        if (frame.scrollWidth > frame.clientWidth + 1)
            found.push("a table is " + frame.scrollWidth + " wide, the page has " + frame.clientWidth + ": " +
                table.textContent.trim().replace(/\\s+/g, " ").slice(0, 60))
    }
    return found
}"""

# The page's script waits for a timer after loading, and its observers of sizes report once a frame has been laid out.
SETTLED = "() => new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done()))))"

# axe-core does not judge text that is drawn. What is below a letter is the last shape before it, in drawing order, that covers it.
PALE_DRAWING = """page => {
    const channels = color => (color.match(/[\\d.]+/g) || []).map(Number)
    const over = (top, below) => { const a = top[3] === undefined ? 1 : top[3]; return [0, 1, 2].map(i => top[i] * a + below[i] * (1 - a)) }
    const luminance = rgb => rgb.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
    const found = []
    for (const drawing of document.querySelectorAll("svg[role=img], svg:root")) {
        let ground = page || [255, 255, 255]
        if (!drawing.matches(":root")) ground = channels(getComputedStyle(document.body).backgroundColor)
        const shapes = []
        for (const part of drawing.querySelectorAll("polygon, path, ellipse, circle, rect, text")) {
            const style = getComputedStyle(part)
            if (part.closest("defs, clipPath") || style.visibility === "hidden" || style.display === "none") continue
            if (part.tagName !== "text") {
                if (style.fill !== "none" && style.fill !== "transparent") shapes.push([part, style])
                continue
            }
            const box = part.getBoundingClientRect()
            if (!box.width) continue
            let below = ground
            for (const [shape, its] of shapes) {
                const point = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2).matrixTransform(shape.getScreenCTM().inverse())
                const fill = channels(its.fill)
                if (shape.isPointInFill(point)) below = over([fill[0], fill[1], fill[2], (fill[3] ?? 1) * its.fillOpacity * its.opacity], below)
            }
            const light = [luminance(over(channels(style.fill), below)), luminance(below)].sort((a, b) => b - a)
            const contrast = (light[0] + 0.05) / (light[1] + 0.05)
            if (!(contrast >= 4.5)) found.push("drawn text has a contrast of " + contrast.toFixed(1) + ": " + part.textContent)
        }
    }
    return found
}"""

REFERENCES = """() => ({
    ids: [...document.querySelectorAll("[id], a[name]")].map(e => e.id || e.name),
    links: [...document.querySelectorAll("a[href]")].map(e => [e.href, e.getAttribute("href")]),
    pictures: [...document.images].map(e => e.currentSrc || e.src),
    broken: [...document.images].filter(e => e.loading !== "lazy" && !(e.complete && e.naturalWidth)).map(e => e.getAttribute("src")),
})"""


def look(site, pages, scheme):
    """Findings, as (page, text), and the references of each page, with one scheme."""
    findings, references = [], {}
    axe = Axe()
    with sync_playwright() as playwright:
        sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium's own does not work for root
        browser = playwright.chromium.launch(executable_path=os.environ["BROWSER"], args=sandbox)
        tab = browser.new_page(color_scheme=scheme)
        for page in pages:
            where = f"{page}, {scheme}"
            for width in WIDTHS:
                tab.set_viewport_size({"width": width, "height": 900})
                if width == WIDTHS[0]:
                    tab.goto((site / page).as_uri())
                tab.evaluate(SETTLED)
                findings += [(f"{where}, {width} px", text) for text in tab.evaluate(TOO_WIDE, width > 1000)]
                if width == WIDTHS[1]:
                    for violation in axe.run(tab, context=CONTEXT, options=RULES).response["violations"]:
                        for node in violation["nodes"]:
                            why = (node["any"] or node["all"] or node["none"])[0]["message"]
                            findings.append((where, f"[{violation['id']}] {why}: {' '.join(node['html'].split())[:100]}"))
                    findings += [(where, text) for text in tab.evaluate(PALE_DRAWING, None)]
                    if tab.evaluate("document.body.dataset.mdColorScheme") != SCHEMES[scheme]:
                        findings.append((where, "the page does not have the colours that the system asks for"))
            references[page] = tab.evaluate(REFERENCES)
            findings += [(where, f"a picture does not load: {source}") for source in references[page]["broken"]]
        drawings = {name for each in references.values() for name in each["pictures"] if name.split("#")[0].endswith(".svg")}
        for drawing in sorted(drawings):
            if drawing.endswith("#only-" + {"light": "dark", "dark": "light"}[scheme]):
                continue
            tab.goto(drawing)
            ground = [46, 48, 62] if scheme == "dark" else [255, 255, 255]
            findings += [(f"{os.path.basename(drawing)}, {scheme}", text) for text in tab.evaluate(PALE_DRAWING, ground)]
        tab.goto((site / pages[0]).as_uri())
        tab.locator("label[for^=__palette_]:visible").click()
        if tab.evaluate("document.body.dataset.mdColorScheme") == SCHEMES[scheme]:
            findings.append((pages[0], f"the switch does not leave the {scheme} scheme"))
        browser.close()
    return findings, references


def unresolved(site, references):
    """Findings: links that lead nowhere."""
    for page, its in references.items():
        for address, written in its["links"]:
            target = urllib.parse.urlsplit(address)
            if target.scheme != "file":
                continue
            file = pathlib.Path(urllib.parse.unquote(target.path))
            anchor = urllib.parse.unquote(target.fragment)
            name = str(file.relative_to(site)) if file.is_relative_to(site) else None
            if not file.is_file():
                yield page, f"there is no {written}"
            elif anchor and name in references and anchor not in references[name]["ids"]:
                yield page, f"there is no such place: {written}"


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    every = sorted(str(page.relative_to(site)) for page in site.rglob("*.html") if page.name != "404.html")
    pages = sys.argv[2:] or every
    if not pages:
        sys.exit(f"{site} has no page; make docs builds them")
    with concurrent.futures.ProcessPoolExecutor() as pool:
        results = list(pool.map(look, [site] * len(SCHEMES), [pages] * len(SCHEMES), SCHEMES))
    findings = [finding for result, _ in results for finding in result]
    if pages == every:
        findings += unresolved(site, results[0][1])
    seen = collections.Counter()
    for where, text in findings:
        kind = where, text.split(":")[0]
        seen[kind] += 1
        if seen[kind] <= 5:
            print(f"{where}: {text}")
    print(f"{len(pages)} pages at {', '.join(map(str, WIDTHS))} px, light and dark: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
