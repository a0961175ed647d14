#include "page.h"

#include "markup.h"

static const char style[] =
    ":root{color-scheme:light dark;--page:#fff;--box:#f6f7f9;--line:#d9dde3;--text:#1b1f24;--dim:#5b6570;"
    "--good:#14713d;--bad:#b3261e;--part:#8a5a00;--bar:#2f6fbd;--track:#e3e7ec}\n"
    "@media(prefers-color-scheme:dark){:root{--page:#14171a;--box:#1d2125;--line:#343a41;--text:#e6e9ec;--dim:#a0a9b3;"
    "--good:#5fd08f;--bad:#ff8a80;--part:#e5b567;--bar:#6aa9f0;--track:#2c3238}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--text);font:16px/1.5 system-ui,sans-serif;"
    "-webkit-text-size-adjust:100%}\n"
    "main{max-width:48rem;margin:0 auto;padding:1rem}\n"
    "main.wide{max-width:80rem}\n"
    "h1{font-size:1.4rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.1rem;margin:0;display:flex;gap:1rem;justify-content:space-between;align-items:baseline}\n"
    "p{margin:.4rem 0;overflow-wrap:anywhere}\n"
    "code,pre{font:.875rem/1.45 ui-monospace,Menlo,Consolas,monospace}\n"
    "code{overflow-wrap:anywhere}\n"
    "pre{margin:.5rem 0;padding:.6rem .75rem;overflow-x:auto;background:var(--page);border:1px solid var(--line);"
    "border-radius:6px}\n"
    "section{background:var(--box);border:1px solid var(--line);border-radius:10px;padding:.8rem 1rem;margin:1rem 0}\n"
    ".dim{color:var(--dim)}.pass{color:var(--good)}.fail{color:var(--bad)}.part{color:var(--part)}\n"
    ".points{white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    ".total{font-size:1.15rem;margin:.2rem 0}.total strong{font-size:1.9rem}\n"
    ".checks{list-style:none;display:flex;flex-wrap:wrap;gap:.4rem;margin:.6rem 0 0;padding:0;font-size:.9rem}\n"
    ".checks li{border:1px solid var(--line);border-radius:999px;padding:.1rem .65rem;background:var(--page)}\n"
    "h3{font-size:1rem;margin:.9rem 0 .2rem}\n"
    "svg{display:block;width:100%;height:14px;margin:.3rem 0;border-radius:4px}\n"
    ".track{fill:var(--track)}.value{fill:var(--bar)}.value.pass{fill:var(--good)}.value.fail{fill:var(--bad)}"
    ".value.part{fill:var(--part)}.mark{fill:var(--text)}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.95rem}\n"
    "th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}\n"
    "th:first-child,td:first-child,th.text,td.text{text-align:left}\n"
    "td:first-child,td.text{white-space:normal;overflow-wrap:anywhere;min-width:9rem}\n"
    "td svg{min-width:5rem;height:8px}a{color:var(--bar)}\n"
    "@media print{section{break-inside:avoid}}\n";

void page_begin(FILE *out, const char *title) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>",
          out);
    markup_text(out, title);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
}

void page_end(FILE *out) {
    fputs("</body>\n</html>\n", out);
}

static double percent(double value, double most) {
    double share = most > 0.0 ? 100.0 * value / most : 0.0;
    return share >= 0.0 && share <= 100.0 ? share : share > 100.0 ? 100.0 : 0.0;
}

void page_bar(FILE *out, const char *kind, double value, double mark, double most, const char *label) {
    fputs("<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"", out);
    markup_attribute(out, label);
    fprintf(
        out,
        "\"><rect class=\"track\" width=\"100\" height=\"10\"/><rect class=\"value %s\" width=\"%.2f\" height=\"10\"/>",
        kind, percent(value, most));
    if (mark > 0.0) {
        fprintf(out, "<rect class=\"mark\" x=\"%.2f\" width=\"1.2\" height=\"10\"/>", percent(mark, most));
    }
    fputs("</svg>\n", out);
}
