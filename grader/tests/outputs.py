"""outputs.py GRADER REPORT... — the outputs of these reports, and of reports full of hostile text, are read by other programs.

For each report: Gradescope's and GitHub's JSON by Python's json and jsonschema, JUnit XML by ElementTree and by xmllint with the
schema, the HTML page by ElementTree (it is written so that it is XML, too) and by Python's HTML parser, which must find nothing
that loads or runs. Prints each problem; exit status 1 when there is one.
"""
import html.parser
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

import jsonschema

grader = sys.argv[1]
schemas = pathlib.Path(__file__).parent / "schemas"
scratch = pathlib.Path(tempfile.mkdtemp())
formats = {"gradescope": "json", "github": "json", "junit": "xml", "html": "html"}
problems = []

hostile = ["<script>alert(1)</script>", "]]>", "]]&gt;", "<![CDATA[", "&amp;&lt;&#0;", "\"'`", "-->", "</style>",
           "</pre></body>", "\x1b[31m", "\x00", "\x07\x08\x0b\x0c\x7f", "a\r\nb\rc\n\td", "\u202egnp.exe", "\ufffe\uffff",
           "\ud83d", "\udc00", "\U0001f600", "é", "%s%n",
           "=1+1", "{}[],:", "::error::x", "x" * 5000, "", " ", "\\", "\\u0000", "javascript:alert(1)", "\x85\x9b"]
raw = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]


def text():
    return "".join(random.choice(hostile) for _ in range(random.randint(1, 4)))


def number():
    return random.choice([0, 1, -1, 3.5, 1e300, -1e-300, 2**53, "NaN", "Infinity", None, text()])


def outcome():
    verdict = random.choice(["pass", "FAIL", "partly", "not started", "waiting", "not run", text()])
    made = {"exercise": text(), "title": text(), "file": text(), "optional": random.random() < 0.3,
            "check": random.choice(["traffic", text()]), "verdict": verdict, "points": number(), "points_max": number()}
    if random.random() < 0.5:
        made.update(figure=number(), limit=number(), floor=number(), measured=text(), target=text())
    if random.random() < 0.5:
        made["failure"] = {"kind": random.choice(["wrong", "repeat", "build", text()]), "where": text(), "element": text(),
                           "comparison": text(), "message": text(), "cause": text(), "other_cause": text(),
                           "expected": number(), "got": number(), "hint": number(),
                           "tolerance": number(), "wrong": number(), "total": number(), "file": text(),
                           "line": random.randint(0, 99)}
    return made


def report():
    made = {"version": 1, "step": text(), "title": text(), "student": text(), "time": "2026-01-31T18:05:00Z", "seconds": 1.5,
            "points": number(), "points_max": number(), "device": text(), "next": text(), "note": text(), "printed": text(),
            "outcomes": [outcome() for _ in range(random.randint(0, 8))]}
    if random.random() < 0.2:
        made["error"] = text()
    data = json.dumps(made).encode()
    for _ in range(random.randint(0, 5)):  # bytes that are no UTF-8, inside of texts
        places = [m.end() for m in re.finditer(rb'": "', data)]
        place = random.choice(places)
        data = data[:place] + random.choice(raw) + data[place:]
    return data


class Page(html.parser.HTMLParser):
    """Finds what a page must not have."""
    loads = {"script", "link", "img", "iframe", "object", "embed", "audio", "video", "base", "form"}

    def handle_starttag(self, tag, attributes):
        if tag in self.loads:
            problems.append(f"{self.name}: an element {tag}")
        for key, _ in attributes:
            if key.startswith("on") or key in ("src", "href", "style"):
                problems.append(f"{self.name}: an attribute {key} of {tag}")


def check_text(name, data):
    try:
        decoded = data.decode()
    except UnicodeDecodeError as problem:
        problems.append(f"{name}: {problem}")
        return ""
    if name.endswith(".json"):
        return decoded
    for character in decoded:
        control = (ord(character) < 32 and character not in "\n\t") or 0x7f <= ord(character) < 0xa0
        if control or character in "\u202e\ufffe\uffff":
            problems.append(f"{name}: character {ord(character)}")
    return decoded


def check_junit(name, data):
    suite = tree.fromstring(data)[0]
    cases = suite.findall("testcase")
    for key, found in (("tests", cases), ("failures", suite.findall("testcase/failure")),
                       ("errors", suite.findall("testcase/error")), ("skipped", suite.findall("testcase/skipped"))):
        if int(suite.get(key)) != len(found):
            problems.append(f"{name}: {key} is {suite.get(key)}, there are {len(found)}")


def check(path):
    made = {kind: scratch / f"{path.stem}.{kind}.{ending}" for kind, ending in formats.items()}
    options = [word for kind, file in made.items() for word in ("--" + kind, str(file))]
    run = subprocess.run([grader, "render", str(path), *options], capture_output=True)
    if run.returncode != 0 or run.stderr:
        problems.append(f"{path}: exit status {run.returncode}: {run.stderr!r}")
        return
    for kind, file in made.items():
        data = file.read_bytes()
        check_text(file.name, data)
        try:
            if kind == "junit":
                check_junit(file.name, data)
            elif kind == "html":
                tree.fromstring(data)
                page = Page()
                page.name = file.name
                page.feed(data.decode())
            else:
                jsonschema.validate(json.loads(data), json.loads((schemas / f"{kind}.json").read_text()))
        except (tree.ParseError, ValueError, jsonschema.ValidationError) as problem:
            problems.append(f"{file.name}: {str(problem)[:300]}")


random.seed(1)
paths = [pathlib.Path(name) for name in sys.argv[2:]]
for i in range(150):
    paths.append(scratch / f"hostile{i}.report")
    paths[-1].write_bytes(report())
for path in paths:
    check(path)
files = [str(scratch / f"{path.stem}.junit.xml") for path in paths]
lint = subprocess.run(["xmllint", "--noout", "--schema", str(schemas / "junit_ant.xsd"), *files], capture_output=True, text=True)
if lint.returncode != 0:
    problems += [line for line in lint.stderr.splitlines() if not line.endswith(" validates")]
print(f"{len(paths)} reports in {len(formats)} formats, {len(problems)} problems")
print("\n".join(problems[:20]))
sys.exit(1 if problems else 0)
