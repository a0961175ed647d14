"""class.py OUT COUNT — the results of a class, read by Python: results.csv has COUNT rows that agree with results/*.json,
every name is there, and the pages are XML. Prints the CSV's rows; exit status 1 with the reason if something is wrong."""
import csv
import html
import json
import pathlib
import sys
import xml.etree.ElementTree as tree

out, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
rows = list(csv.DictReader((out / "results.csv").open(newline="", encoding="utf-8")))
results = [json.loads(path.read_bytes().decode()) for path in sorted((out / "results").glob("*.json"))]
assert len(rows) == count, f"{len(rows)} rows"
assert len(results) == count, f"{len(results)} results"
assert len(list((out / "pages").glob("*.html"))) == count
strange = [path.name for path in out.rglob("*") if path.name.endswith(".tmp") or path.name == ".work"]
assert not strange, strange


def plain(name):
    """As the CSV has it: without control characters and formulas. (For a byte that is no UTF-8, JSON has ?, the CSV U+FFFD.)"""
    text = "".join(" " if ord(c) < 32 else c for c in name.replace("\ufffd", "?"))
    return "'" + text if text[:1] in "=+-@" else text


by_name = {plain(result["student"]): result for result in results}
for row in rows:
    result = by_name[row["student"].replace("\ufffd", "?")]
    assert row["status"] == result["status"], row
    if row["status"] == "marked":
        others = ("student", "status", "points", "points_max", "reason")
        exercises = [float(value) for key, value in row.items() if key not in others]
        assert float(row["points"]) == result["points"] == sum(exercises), row
        assert row["reason"] == "", row
    else:
        assert row["points"] == "" and row["reason"] == result["error"], row
index = (out / "index.html").read_text(encoding="utf-8")
tree.fromstring(index)
for path in (out / "pages").glob("*.html"):
    tree.fromstring(path.read_bytes())
    assert f'href="pages/{path.name}"' in index, path
for row in rows:
    print(row["student"], row["status"], row["points"], html.unescape(row["reason"]))
