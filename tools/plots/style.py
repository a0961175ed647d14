"""style.py — one look for all plots, and SVG that a page can take in: no ids, colours as attributes, the same bytes every time.

A plot is WIDTH points wide, so a phone shows it whole. The colours are those of docs/diagrams: text without a colour and the
colours of DARK follow the light or dark scheme of the page that shows the picture.
"""

import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

WIDTH = 400
OURS, PEER, OTHER, ALERT, GRID, QUIET = "#2f74b5", "#3b7a57", "#888888", "#cc0000", "#cccccc", "#666666"
DARK = {OURS: "#7ab3e6", PEER: "#7cc79e", OTHER: "#9a9ca8", ALERT: "#ff9a9a", GRID: "#5d606e", QUIET: "#b8bac4"}

plt.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "plots",
        "font.family": "sans-serif",
        "font.size": 10,
        "figure.dpi": 72,
        "path.simplify": False,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": OTHER,
        "xtick.color": OTHER,
        "ytick.color": OTHER,
        "xtick.labelcolor": "black",
        "ytick.labelcolor": "black",
        "axes.grid": True,
        "grid.color": GRID,
        "grid.linewidth": 0.5,
        "axes.axisbelow": True,
    }
)


def canvas(height: float):
    """An axes of WIDTH x height points, the origin at the top left."""
    figure = plt.figure(figsize=(WIDTH / 72, height / 72))
    axes = figure.add_axes([0, 0, 1, 1])
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    return axes


def chart(height: float, left: float = 46, right: float = 8, top: float = 10, bottom: float = 36):
    """An axes for curves, with these margins in points."""
    figure = plt.figure(figsize=(WIDTH / 72, height / 72))
    return figure.add_axes([left / WIDTH, bottom / height, (WIDTH - left - right) / WIDTH, (height - top - bottom) / height])


def bar_rows(rows: list[tuple], most: float, label_width: float = 100, value_width: float = 64, mark: float | None = None) -> None:
    """Rows from the top: ("title", text), ("head", text), or (label, value, its text, colour). `most` fills the width; a thin line
    stands at `mark`."""
    heights = {"title": 18, "head": 17}
    total = sum(heights.get(row[0], 14) for row in rows) + 6
    axes = canvas(total)
    wide = WIDTH - label_width - value_width
    y = 2.0
    for row in rows:
        if row[0] in heights:
            axes.text(2, y + 13, row[1], fontweight="bold" if row[0] == "title" else "normal", fontsize=10.5 if row[0] == "title" else 10)
            y += heights[row[0]]
            continue
        label, value, text, colour = row
        axes.text(label_width - 5, y + 10.5, label, ha="right", fontsize=9.5)
        axes.add_patch(plt.Rectangle((label_width, y + 2), max(value / most * wide, 0.5), 10, color=colour, lw=0))
        axes.text(WIDTH - 4, y + 10.5, text, ha="right", fontsize=9.5)
        if mark is not None:
            x = label_width + mark / most * wide
            axes.plot([x, x], [y, y + 14], color=ALERT, lw=1)
        y += 14


def attributes(match: re.Match) -> str:
    """style="fill: #888888; opacity: 1" as attributes; a font stays a style."""
    kept = []
    for part in match.group(1).split(";"):
        name, _, value = (text.strip() for text in part.partition(":"))
        if name == "font":
            kept.append(f"""style="font: {re.sub("'.*", "", value)}sans-serif\"""")
        elif name and name not in ("stroke-linejoin", "stroke-miterlimit"):
            kept.append(f'{name}="{value}"')
    return " ".join(kept)


def flat(svg: str) -> str:
    """matplotlib's SVG without ids: markers are copied to where they are used."""
    shapes = dict(re.findall(r'<(?:path|g) id="(\w+)" d="([^"]*)"', svg))

    def copy(match: re.Match) -> str:
        words = dict(re.findall(r'([\w:]+)="([^"]*)"', match.group(0)))
        place = f'transform="translate({words["x"]} {words["y"]})"'
        return f'<path d="{shapes[words["xlink:href"][1:]]}" {place} style="{words.get("style", "")}"/>'

    body = svg[svg.index('<g id="figure_1">') :]
    body = re.sub(r"<use [^>]*/>", copy, body)
    body = re.sub(r"<defs>.*?</defs>", "", body, flags=re.S)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r' (?:id|clip-path)="[^"]*"', "", body)
    body = re.sub(r'style="([^"]*)"', attributes, body)
    body = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number.group()):.2f}", body)
    body = re.sub(r' d="[^"]*"', lambda path: " " + " ".join(path.group().split()).replace(' "', '"'), body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    for _ in range(4):
        body = re.sub(r"<g>\s*</g>\n?", "", body)
    return body


def save(path: str) -> None:
    """Writes the current figure and forgets it."""
    figure = plt.gcf()
    height = round(figure.get_size_inches()[1] * 72)
    figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    with open(path, encoding="utf-8") as file:
        body = flat(file.read())
    dark = " ".join(f'[{which}="{light}"] {{ {which}: {dark}; }}' for light, dark in DARK.items() for which in ("fill", "stroke"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg width="{WIDTH}pt" height="{height}pt"\n')
        file.write(f' viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg">\n')
        file.write(f"<style>@media (prefers-color-scheme: dark) {{ text:not([fill]) {{ fill: #eceefb; }} {dark} }}</style>\n")
        file.write(body)
