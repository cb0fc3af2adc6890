#!/usr/bin/env python3
"""The pages of 'ingot compare' and 'ingot report', also of logs of training: well-formed, of bounded size, harmless whatever the file
says, and, in a headless Chromium at four widths, light and dark, nothing sticks out or overlaps, every chart has
its table, every link leads somewhere, and text can be read. With IG_TEST_QUICK two widths are light and two dark.
"""
import base64
import json
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET

from support import browser as browsers
from support import sample_results
from support.tally import check, finish, skip

INGOT = os.environ.get("INGOT", "build/ingot")
QUICK = bool(os.environ.get("IG_TEST_QUICK"))
SIZE_MOST = 500000
XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
EVIL = "</script></style><img src=x onerror=alert(1)>\"'&<b>" + "\u202e\u0001\ud83d\ude00"


def ingot(*arguments):
    done = subprocess.run([INGOT, *arguments], capture_output=True, text=True, check=False)
    check("ingot " + " ".join(arguments), done.returncode == 0, done.stderr)
    return done.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# ---- without a browser --------------------------------------------------------------------------


def text_of(element):
    return "".join(element.itertext())


def check_tree(name, source):
    """The rules of the page, on its tree: it is well-formed XML, or this raises."""
    tree = ET.fromstring(source)
    tags = [e.tag for e in tree.iter()]
    check(f"{name}: language", tree.get("lang") == "en")
    for bad in ["script", "img", "iframe", "object", "link", "form"]:
        check(f"{name}: no {bad}", XHTML + bad not in tags)
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    check(f"{name}: ids are unique", len(ids) == len(set(ids)))
    levels = [int(t[-1]) for t in tags if re.fullmatch(re.escape(XHTML) + "h[1-6]", t)]
    check(f"{name}: one h1 and headings in order", levels.count(1) == 1 and levels[0] == 1
          and all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels)
    for e in tree.iter():
        check(f"{name}: no handlers", not any(key.startswith("on") for key in e.keys()))
        target = e.get("href") or ""
        if target.startswith("#"):
            check(f"{name}: {target} leads somewhere", target[1:] in ids)
        elif target:
            check(f"{name}: nothing from elsewhere", target.startswith("data:application/json;base64,"))
            json.loads(base64.b64decode(target.split(",", 1)[1]))
        if e.tag == XHTML + "th":
            check(f"{name}: th has a scope", e.get("scope") in ("row", "col"))
        if e.tag == XHTML + "table":
            check(f"{name}: a table has a caption and heads", e.find(XHTML + "caption") is not None
                  and e.find(XHTML + "thead") is not None)
        if e.tag == XHTML + "figure":
            check(f"{name}: a chart has its table", e.find(SVG + "svg") is not None
                  and e.find(f".//{XHTML}table") is not None)
            rows = e.findall(f".//{XHTML}tbody/{XHTML}tr")
            check(f"{name}: with rows", rows, text_of(e)[:80])
        if e.tag == SVG + "svg" and e.get("aria-hidden") != "true":
            check(f"{name}: a picture says what it is", e.get("role") == "img"
                  and e.find(SVG + "title") is not None)
    check(f"{name}: no numbers that are none", not re.search(r"[\"M L]-?(nan|inf)\b", source))
    policy = [e.get("content") for e in tree.iter(XHTML + "meta") if e.get("http-equiv") == "Content-Security-Policy"]
    check(f"{name}: a policy that allows nothing but style", len(policy) == 1 and "default-src 'none'" in policy[0]
          and "script-src" not in policy[0], policy)
    check(f"{name}: no bidirectional controls", not re.search("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", source))
    check(f"{name}: no url()", "url(" not in source and "@import" not in source)
    check(f"{name}: size", len(source.encode()) <= SIZE_MOST, len(source.encode()))
    return tree


def check_contents(tree):
    text = text_of(tree)
    for part in ["notebook gpu multiplies matrices 21 times faster than server cpu", "notebook gpu is faster than notebook cpu from size 512 on",
                 "At a glance", "× faster", "What the works are", "Product of two square matrices", "IG_BLAS=off IG_NUM_THREADS=2 ingot bench", "notebook gpu", "Neoverse-V1", "Where one starts to win",
                 "How near to the machine’s best", "More threads", "Time to the first result",
                 "Which op runs where", "Every sample", "ingot bench", "ingot compare", "FASTER", "SLOWER"]:
        check(f"the page says '{part}'", part in text)
    title = text_of(tree.find(f"{XHTML}head/{XHTML}title"))
    check("the title names the machines and the day", title == "server and notebook, 2026-11-15 – Ingot comparison", title)
    glance = [e for e in tree.iter(XHTML + "table") if "glance" in e.get("class", "")]
    kinds = [text_of(e).split(":")[0].split(" ")[0] for e in glance[0].iter(XHTML + "th") if e.get("scope") == "row"]
    check("one picture by kind", len(glance) == 1 and set(kinds) == {"Compute", "Memory", "Latency", "Training"}, kinds)
    axes = [[text_of(text) for text in e.iter(SVG + "text") if text.get("class").startswith("tick")]
            for e in tree.iter(XHTML + "figure") if text_of(e.find(XHTML + "figcaption")).startswith(("server cpu:", "notebook"))]
    check("rooflines share their axes", len(axes) == 3 and axes[0] == axes[1] == axes[2], axes)
    marked = [text_of(e) for e in tree.iter(XHTML + "mark")]
    check("differing facts are marked", "macOS 15.1" in marked and "strict" not in marked, marked)


# ---- with one ------------------------------------------------------------------------------------

OVERFLOW = """
const wide = document.documentElement.clientWidth, out = [];
if (document.documentElement.scrollWidth > wide) out.push('page ' + document.documentElement.scrollWidth);
for (const e of document.querySelectorAll('body *')) {
    if (e.closest('.scroll, svg, .hidden, pre')) continue;
    const r = e.getBoundingClientRect();
    if (r.width && (r.right > wide + 1 || r.left < -1)) out.push(e.tagName + ' ' + e.className + ' ' + r.right);
}
return out.slice(0, 5);"""

# Pairs of texts that cover each other by more than the space around letters.
OVERLAP = """
const boxes = [], out = [];
for (const e of document.querySelectorAll('body *')) {
    if (e.closest('.hidden, style') || ['TITLE', 'DESC', 'title', 'desc'].includes(e.tagName)) continue;
    for (const n of e.childNodes) {
        if (n.nodeType != 3 || !n.data.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(n);
        for (const box of range.getClientRects()) if (box.width > 1) boxes.push([box, e, n.data.trim().slice(0, 30)]);
    }
}
boxes.sort((a, b) => a[0].top - b[0].top);
boxes.forEach(([a, x, one], i) => {
    for (let k = i + 1; k < boxes.length && boxes[k][0].top < a.bottom - 3; k++) {
        const [b, y, other] = boxes[k];
        if (x != y && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - b.top > 3)
            out.push(one + ' / ' + other);
    }
});
return out.slice(0, 5);"""

# Of text against the nearest background that is not clear.
CONTRAST = """
const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(c) && c != 'transparent') return c; } return 'rgb(255, 255, 255)'; };
const out = {};
for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
    if (['TITLE', 'DESC', 'title', 'desc'].includes(e.tagName)) continue;
    const style = getComputedStyle(e), color = e.closest('svg') ? style.fill : style.color;
    const a = light(color), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) out[e.tagName + '.' + (e.className.baseVal ?? e.className)] = ratio;
}
return out;"""

SMALL_TEXT = """
let least = 99;
for (const e of document.querySelectorAll('svg text')) {
    const box = e.getBoundingClientRect();
    if (box.height) least = Math.min(least, box.height);
}
return least;"""


FULL_WIDTH = """
return [...document.querySelectorAll('.chart')].map(e => [e.getBoundingClientRect().right,
    e.closest('figure').getBoundingClientRect().right]).filter(([chart, column]) => column - chart > 20);"""


def check_looks(browser, name, path):
    for width in [360, 600, 800, 1600]:
        for dark in [False, True]:
            if QUICK and dark != (width in (600, 1600)):
                continue
            look = f"{name} at {width} px, {'dark' if dark else 'light'}"
            browser.look(width, dark=dark)
            browser.open(path)
            out = browser.run(OVERFLOW)
            check(f"{look}: nothing sticks out", not out, out)
            low = browser.run(CONTRAST)
            check(f"{look}: contrast", not low, low)
            browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
            out = browser.run(OVERFLOW)
            check(f"{look}: nor with all details open", not out, out)
            out = browser.run(OVERLAP)
            if name != "hostile":  # its names are too long for any page
                check(f"{look}: no text covers another", not out, out)
            check(f"{look}: words in charts are not tiny", browser.run(SMALL_TEXT) >= 10)
            narrow = browser.run(FULL_WIDTH)
            check(f"{look}: charts fill their column", not narrow, narrow)
    paper = browser.run("return getComputedStyle(document.body).backgroundColor")
    check(f"{name}: dark is dark", max(map(int, re.findall(r"\d+", paper)[:3])) < 60, paper)
    browser.look(800, scripts=True)
    browser.open(path)
    with_scripts = browser.picture()
    browser.look(800, scripts=False)
    browser.open(path)
    check(f"{name}: the same without JavaScript", browser.picture() == with_scripts)
    browser.look(800, scripts=True)
    complaints = [line for line in browser.errors() if "favicon" not in line]
    check(f"{name}: no complaints", not complaints, complaints)


def tainted(value):
    """The same with markup behind every text."""
    if isinstance(value, dict):
        return {k: v if k in ("schema", "verb") else tainted(v) for k, v in value.items()}
    if isinstance(value, list):
        return [tainted(v) for v in value]
    return value + EVIL if isinstance(value, str) else value


def grown(result, times):
    """The same with so many times as many rows, as large files have."""
    rows = []
    for i in range(times):
        for row in result["rows"]:
            rows.append({**row, "size": f"{row['size']}.{i}", "seconds": row["seconds"] * 3,
                         "process": list(range(3 * len(row["process"])))})
    return {**result, "rows": rows}


def crossings(source):
    """The rows of the table that says from which size on a device wins."""
    table = [e for e in ET.fromstring(source).iter(XHTML + "table") if e.get("id") == "crossings"]
    return [[text_of(cell) for cell in row] for t in table for row in t.iter(XHTML + "tr")][1:]


def check_crossings(source):
    """The sample of two devices: the GPU wins on large arrays."""
    rows = crossings(source)
    check("a row for each work", [r[0] for r in rows] == ["matmul f32", "sum f32", "triad f32"], rows)
    check("the size from which on the GPU wins", ["matmul f32", "gpu", "cpu", "512"] in rows, rows)


def check_measured(folder):
    """The same of what two devices of this machine gave, in one file."""
    here, page = os.path.join(folder, "here.json"), os.path.join(folder, "here.html")
    ingot("bench", "--device", "cpu,gang", "--only", "chain 64K,chain 1M", "--seconds", "4", "--quiet", "-o", here)
    with open(here, encoding="utf-8") as file:
        result = json.load(file)
    check("one file has both devices", {(r["device"], r["size"]) for r in result["rows"]} ==
          {(d, s) for d in ("cpu", "gang") for s in ("64K", "1M")}, result["rows"])
    ingot("report", here, "-o", page)
    check("the slow device never wins", crossings(read(page)) == [["chain f32", "gang", "cpu", "at no measured size"]],
          crossings(read(page)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        def made(name, value):
            return sample_results.write(folder, name + ".json", value)

        with_warning = sample_results.server()
        with_warning["rows"][4]["warnings"] = ["drift: the last passes took 7 % more time than the first"]
        server, notebook = made("server", with_warning), made("notebook", sample_results.notebook())
        pages = {name: os.path.join(folder, name + ".html") for name in
                 ["compare", "report", "devices", "hostile", "empty", "large", "three"]}
        ingot("compare", server, notebook, "--html", pages["compare"])
        ingot("report", server, "-o", pages["report"])
        ingot("report", notebook, "-o", pages["devices"])
        hostile = made("hostile", tainted(sample_results.notebook()))
        ingot("report", hostile, "-o", pages["hostile"])
        empty = {**sample_results.server(), "rows": [], "ops": [], "devices": [], "command": None}
        ingot("report", made("empty", empty), "-o", pages["empty"])
        large = [made(f"large{i}", grown(f(), 12)) for i, f in
                 enumerate([sample_results.server, sample_results.notebook])]
        ingot("compare", *large, "--html", pages["large"])
        ingot("compare", server, notebook, made("again", sample_results.server(seed=3)), "--html",
              pages["three"])
        log = os.path.join(folder, "run.jsonl")
        with open(log, "w", encoding="utf-8") as file:
            for step in range(10, 2001, 10):
                line = {"step": step, "loss": 3 + 800 / (step + 100), "lr": step * 1e-6, "tokens_per_second": 120000 + step % 70}
                file.write(json.dumps(line) + "\n" + (json.dumps({"step": step, "test_loss": line["loss"]}) + "\n") * (step % 500 == 0))
        pages["logs"] = os.path.join(folder, "logs.html")
        ingot("report", log, log, "-o", pages["logs"])
        for name, path in pages.items():
            tree = check_tree(name, read(path))
            if name == "compare":
                check_contents(tree)
        check_crossings(read(pages["devices"]))
        check_measured(folder)
        report = read(pages["report"])
        check("intervals and marks in the main table", "<span>14.7 ms – 14.9 ms</span> <abbr class=\"warn\"" in report)
        check("the warnings are listed", "drift: the last passes took 7 % more time" in report)
        check("no empty section for one device", "start to win" not in report and "starts to win" not in report)
        if browsers.find():
            with browsers.Browser() as browser:
                for name in ["compare", "report", "hostile", "empty", "three", "logs"]:
                    check_looks(browser, name, pages[name])
        else:
            skip("looks", "chromium and chromedriver are not there")
    finish()


if __name__ == "__main__":
    main()
