"""Sheets as people have them, by openpyxl, odfpy and pandas: the numbers, names, labels and warnings that leat reads are those
that pandas reads of the same file, or it is refused with a sentence; what becomes of each stands beside it.

The reader is asked by test_table_messy (LEAT_MESSY), the program by a run, an archive, standard input and the service.
"""
# ctest: asan=soak tsan=soak
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

from lib import LEAT, begin

begin("openpyxl", "odf", "pandas", "numpy")
import numpy as np
import openpyxl
import pandas as pd
from service import Service

random.seed(33)
folder = pathlib.Path("sheets")
folder.mkdir()
expected = []
Day = datetime.datetime


def number(value):
    """A cell as pandas has it: a text may hold a German number, a time is a part of a day."""
    if isinstance(value, datetime.time):
        value = value.hour / 24
    if isinstance(value, str):
        value = float(value.replace(".", "").replace(",", ".") if "," in value else value)
    return repr(float(value)) if value == value else "nan"


def text(value):
    """What names a row."""
    return value.isoformat().removesuffix("T00:00:00") if isinstance(value, Day) else "" if value != value else str(value)


def check(name, *warnings, sheet=0, header=0, first=None, rows=None, keep=None, label=None, options=None, refused=None):
    """Below row `header` (None: there is none), from row `first` on, the columns `keep` are what pandas reads, and `label` names
    the rows."""
    expected.append(name)
    if options:
        expected.append(f"  options {options}")
    if refused:
        expected.append(f"  refused {refused}")
        return
    frame = pd.read_excel(folder / name, sheet_name=sheet, header=None)
    first = first if first is not None else 0 if header is None else header + 1
    body = frame.iloc[first:first + rows if rows else None]
    body = body[~body.isna().all(axis=1)]
    keep = list(frame.columns) if keep is None else keep
    expected.append(f"  shape {len(body)} x {len(keep)}")
    if header is not None:
        expected.append("  names " + "|".join(str(frame.iloc[header, c]) for c in keep))
    if label is not None:
        expected.append("  labels " + "|".join(map(text, body[label])))
    expected.append("  values " + "".join(" ".join(map(number, row)) + " / " for row in body[keep].values.tolist()))
    expected.extend(f"  warn {warning}" for warning in warnings)


def save(name, *sheets, epoch=None):
    """A workbook of sheets: rows, or a function that fills one; a pair begins with its name."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    made.epoch = epoch or made.epoch
    for i, sheet in enumerate(sheets):
        title, rows = sheet if isinstance(sheet, tuple) else (f"Sheet{i + 1}", sheet)
        page = made.create_sheet(title)
        for row in [] if callable(rows) else rows:
            page.append(row)
        if callable(rows):
            rows(page)
    made.save(folder / name)


def normal(n, m):
    return [[random.gauss(0, 1) for _ in range(m)] for _ in range(n)]


def words(column, name, what="no number", names=True):
    return f'column {column} "{name}" holds {what}: left out' + (" (its text names the lines)" if names else "")


# --- tables alone
save("plain.xlsx", [["a", "b", "c"], *normal(12, 3)])
check("plain.xlsx")
save("no_names.xlsx", normal(9, 4))
check("no_names.xlsx", header=None)
save("integers.xlsx", [["n", "square"], *([i, i * i] for i in range(1, 30))])
check("integers.xlsx")
save("large_and_small.xlsx", [["v", "w"], [1e300, 1e-300], [123456789012345678, 0.1], [-0.0, 5e-324], [2 / 3, 1e15]])
check("large_and_small.xlsx")
save("wide.xlsx", [[f"c{i}" for i in range(300)], *normal(6, 300)])
check("wide.xlsx")
save("long.xlsx", [["x", "y"], *([i, random.random()] for i in range(50000))])
check("long.xlsx")
save("one_column.xlsx", [["level"], *normal(7, 1)])
check("one_column.xlsx")
save("macros.xlsm", [["a", "b"], *normal(5, 2)])
check("macros.xlsm")

# --- what stands around them
report = [["Report of the wells"], ["by hand, 2024"], [], ["well", "p", "q"], *([f"w{i}", *row] for i, row in enumerate(normal(8, 2)))]


def merged(page):
    for row in report:
        page.append(row)
    page.merge_cells("A1:C1")
    page.merge_cells("A2:C2")


above = 'lines 1 to 2 stand above the table: not read (""Report of the wells",,")'
save("merged_titles.xlsx", merged)
check("merged_titles.xlsx", above, words(1, "well"), header=3, keep=[1, 2], label=0)
save("skip.xlsx", merged)
check("skip.xlsx", words(1, "well"), header=3, keep=[1, 2], label=0, options="skip=3")
save("totals.xlsx", [["site", "a", "b"], ["one", 1, 2.5], ["two", 3, 4.5], ["three", 6, 5], ["Total", 10, 12]])
check("totals.xlsx", words(1, "site"),
      "1 row whose first cell names a sum or mean of others is left out; the first is row 5; if it is data: -s sums=data",
      keep=[1, 2], label=0, rows=3)
save("units.xlsx", [["depth", "T"], ["m", "°C"], *normal(7, 2)])
check("units.xlsx", 'line 2 holds units or a ruler, no numbers: not read (""m","°C"")', first=2)
save("blanks.xlsx", [["a", "b", "c"], [1, None, 3], [None, None, None], [4, 5, None], [None, 8, 9], [0, 1, 2]])
check("blanks.xlsx")


def offset(page):
    for i, row in enumerate([["a", "b"], [1, 2], [3, 5], [4, 4]]):
        for k, value in enumerate(row):
            page.cell(6 + i, 3 + k, value)


save("far_from_the_corner.xlsx", offset)
check("far_from_the_corner.xlsx", "column 1 holds no number: left out", "column 2 holds no number: left out", header=5, keep=[2, 3])


def hidden(page):
    for row in [["a", "b"], *normal(6, 2)]:
        page.append(row)
    page.row_dimensions[3].hidden = True
    page.column_dimensions["B"].hidden = True


save("hidden_rows.xlsx", hidden)
check("hidden_rows.xlsx")
save("texts_with_all_signs.xlsx", [['say "so", or\nnot', "b;c"], ["é, <&>", 1.5], ["#1", 2.5], ["Total 2001", 3]])
check("texts_with_all_signs.xlsx", words(1, 'say "so", or not'), keep=[1], label=0)

# --- kinds of cells
save("dates.xlsx", [["day", "v"], *([Day(2024, 2, 27) + datetime.timedelta(days=i), i / 7] for i in range(9))])
check("dates.xlsx", words(1, "day"), keep=[1], label=0)
save("moments.xlsx", [["at", "v"], *([Day(1999, 12, 31, 22, 30) + datetime.timedelta(hours=i), i / 7] for i in range(9))])
check("moments.xlsx", words(1, "at"), keep=[1], label=0)
save("dates_1904.xlsx", [["day", "v"], *([Day(2024, 2, 27) + datetime.timedelta(days=i), i / 7] for i in range(5))],
     epoch=openpyxl.utils.datetime.CALENDAR_MAC_1904)
check("dates_1904.xlsx", words(1, "day"), keep=[1], label=0)


def formats(page):
    for row in [["day", "v"], [45000, 1.5], [45001, 2.5], [45002.25, 4]]:
        page.append(row)
    page["A2"].number_format, page["A3"].number_format, page["A4"].number_format = "yyyy/mm/dd", '[Red]"am" d.m.yy', "d/m hh:mm"
    page["B2"].number_format, page["B3"].number_format, page["B4"].number_format = '0.0 "days"', "[Red]0.0%", '#,##0.00\\ "d"'


save("own_formats.xlsx", formats)
check("own_formats.xlsx", words(1, "day"), keep=[1], label=0)
save("times.xlsx", [["at", "v"], *([datetime.time(3 * h), h] for h in range(5))])
check("times.xlsx")


def percentages(page):
    for row in [["share", "price"], [0.125, 3.5], [0.5, 1234.5], [1, 2]]:
        page.append(row)
    for row in page["A2:B4"]:
        row[0].number_format, row[1].number_format = "0.0%", '#,##0.00 "€"'


save("percentages.xlsx", percentages)
check("percentages.xlsx")
save("booleans.xlsx", [["is", "v"], [True, 1.5], [False, 2], [True, 3]])
check("booleans.xlsx")
save("errors.xlsx", [["a", "b"], [1, 2], ["#N/A", 3], [4, "#DIV/0!"], [5, 7]])
check("errors.xlsx", 'cell B4 of "Sheet1": an error value of a spreadsheet is taken as missing, and so is any other')
save("numbers_in_texts.xlsx", [["a", "b"], ["1.5", 1], ["2", 2], [" 3e2 ", 4]])
check("numbers_in_texts.xlsx")
save("german_texts.xlsx", [["Tiefe", "Druck"], ["1,5", "1.234,5"], ["2,25", "2.000,75"], ["0,5", "12,25"]])
check("german_texts.xlsx", "points are read as thousands separators, and a comma as the decimal sign; "
      "thousands=point says that this is right")
save("german_texts_beside_numbers.xlsx", [["Tiefe", "Druck"], ["1,5", 2.125], ["2,25", 1.625], ["0,5", 0.375]])
check("german_texts_beside_numbers.xlsx")
save("german_texts_said.xlsx", [["Tiefe", "Druck"], ["1,500", 2.125], ["2,250", 1.625], ["0,5", 0.375]])
check("german_texts_said.xlsx", options="decimal=comma")
save("unsure_texts.xlsx", [["a", "b"], ["1,234", 1], ["2,345", 2]])
check("unsure_texts.xlsx", refused='bad-input cell A2 of "Sheet1" (a): "1,234" may be a fraction, or a number with its '
      "thousands parted: set -s decimal=comma or -s thousands=comma")
save("a_word.xlsx", [["a", "b"], [1, 2], [2, 3], [4, "broken"], [5, 7]])
check("a_word.xlsx", refused='bad-input cell B4 of "Sheet1" (b): "broken" is not a number; if it stands for a missing number: '
      "-s missing_value=broken")
save("a_word_said.xlsx", [["a", "b"], [1, 2], [2, 3], [4, -9], [5, 7]])
check("a_word_said.xlsx", options="missing_value=-1", keep=[0, 1])
save("formulas_not_stored.xlsx", [["a", "b"], [1, 2], [2, "=A2*2"]])
check("formulas_not_stored.xlsx", refused='unsupported cell B3 of "Sheet1" has a formula without a value; open the file in Excel or '
      "LibreOffice, and save it once")

# --- several sheets
others = 'the sheet "Data" is read; others have numbers, too: "More" (-s sheet=NAME reads one)'
pages = ("Notes", [["what this is"], ["words alone"]]), ("Data", [["x", "y"], *normal(5, 2)]), ("More", [["x", "y"], *normal(4, 2)])
save("two_sheets.xlsx", *pages)
check("two_sheets.xlsx", others, sheet=1)
save("sheet_by_name.xlsx", *pages)
check("sheet_by_name.xlsx", sheet=2, options="sheet=More")
save("sheet_by_number.xlsx", *pages)
check("sheet_by_number.xlsx", sheet=2, options="sheet=3")
save("no_such_sheet.xlsx", *pages)
check("no_such_sheet.xlsx", options="sheet=Mor",
      refused='bad-argument has no sheet "Mor"; its sheets are "Notes", "Data", "More"')
save("empty_first.xlsx", [], [["x", "y"], *normal(5, 2)])
check("empty_first.xlsx", sheet=1)
save("empty.xlsx", [])
check("empty.xlsx", refused='bad-input the sheet "Sheet1" is empty')
save("words_alone.xlsx", [["a", "b"], ["c", "d"]])
check("words_alone.xlsx", refused="bad-input no column of the sheet holds a number in the lines from line 1 on; another sheet: "
      "-s sheet=...")


def hide(page):
    page.append([1, 2])
    page.sheet_state = "hidden"


save("hidden_sheet.xlsx", ("Lists", hide), ("Data", [["x", "y"], *normal(5, 2)]))
check("hidden_sheet.xlsx", 'the sheet "Data" is read; others have numbers, too: "Lists" (-s sheet=NAME reads one)', sheet=1)

# --- OpenDocument
frame = pd.DataFrame({"well": ["A", "B", "C", "D"], "p": [1.5, 1.5, np.nan, 4], "q": [0.1, 0.1, 0.1, 7], "ok": [True, False, True, True]})
frame.to_excel(folder / "plain.ods", index=False, engine="odf")
check("plain.ods", words(1, "well"), keep=[1, 2, 3], label=0)
pd.DataFrame({"day": pd.date_range("2024-02-27", periods=5), "v": [1.0, 2.5, 4, 8, 16]}).to_excel(folder / "dates.ods", index=False, engine="odf")
check("dates.ods", words(1, "day"), keep=[1], label=0)
with pd.ExcelWriter(folder / "two_sheets.ods", engine="odf") as both:
    pd.DataFrame({"note": ["words"]}).to_excel(both, sheet_name="Notes", index=False)
    pd.DataFrame(normal(5, 2), columns=["x", "y"]).to_excel(both, sheet_name="Data", index=False)
    pd.DataFrame(normal(4, 2), columns=["x", "y"]).to_excel(both, sheet_name="More", index=False)
check("two_sheets.ods", others, sheet="Data")
pd.DataFrame(normal(40, 120), columns=[f"c{i}" for i in range(120)]).to_excel(folder / "wide.ods", index=False, engine="odf")
check("wide.ods")

(folder / "expected").write_text("\n".join(expected) + "\n")
reader = pathlib.Path(os.environ["SPOOL_HARNESS"]).parent / "test_table_messy"
asked = subprocess.run([reader], env={**os.environ, "LEAT_MESSY": str(folder.resolve())}, capture_output=True, text=True)
if asked.returncode:
    sys.exit(f"FAILED: {asked.stdout}{asked.stderr}")

# --- the program: the same result as of the same numbers in CSV, from a file, an archive and standard input
pd.read_excel(folder / "plain.xlsx").to_csv("plain.csv", index=False)
subprocess.run(["zip", "-q", "-j", "archive.zip", folder / "plain.xlsx"], check=True)


def run(out, *inputs, **more):
    subprocess.run([LEAT, "run", "-q", "-b", "cpu", "--pipeline", "kmeans", "-s", "k=2", "-o", out, *inputs], check=True, **more)
    [result] = pathlib.Path(out).rglob("kmeans.npz")
    return result.read_bytes()


wanted = run("csv", "plain.csv")
assert run("xlsx", folder / "plain.xlsx") == wanted
[of] = json.loads(pathlib.Path("xlsx/plain/result.json").read_text())["inputs"]
assert (of["format"], of["sheet"]) == ("xlsx", "Sheet1"), of
assert run("zip", "archive.zip") == wanted
with open(folder / "plain.xlsx", "rb") as file:
    assert run("stdin", "-", "--name", "plain.xlsx", stdin=file) == wanted
with subprocess.Popen(["cat", folder / "plain.xlsx"], stdout=subprocess.PIPE) as cat:
    assert run("pipe", "-", "--name", "plain.xlsx", stdin=cat.stdout) == wanted

# --- without its module: the package, and what converts the file
os.mkdir("module")
pathlib.Path("module/leat_xlsx.so").write_text("no module")
none = {"LEAT_MODULE_DIR": os.path.abspath("module")}
said = subprocess.run([LEAT, "run", "-q", "-b", "cpu", "-o", "none", folder / "plain.xlsx"], env={**os.environ, **none}, capture_output=True, text=True).stderr
assert "sheets/plain.xlsx: is a spreadsheet: cannot load the XML module: " in said and \
    "; install the package leat-xlsx, or convert it: python3 -c 'import sys, pandas; pandas.read_excel(" in said, said
spool = Service("without", env=none)
shutil.copy(folder / "plain.xlsx", "without/in/plain.clusters.xlsx")
spool.until(lambda: "install the package leat-xlsx, or convert it" in spool.reasons().get("plain.clusters.xlsx", {"reason": ""})["reason"], "no module")
spool.stop()

# --- the service, in whose worker all calls of the system but a few are refused
spool = Service("spool")
shutil.copy(folder / "plain.xlsx", "spool/in/plain.clusters.xlsx")
spool.until(lambda: spool.status()["totals"].get("done") == 1, "the sheet is done")
shutil.copy("plain.csv", "plain.clusters.csv")
subprocess.run([LEAT, "run", "-q", "-b", "cpu", "-o", "own", "plain.clusters.csv"], check=True)
spool.check(pathlib.Path("spool/out/plain/pearson.npz").read_bytes() == pathlib.Path("own/plain/pearson.npz").read_bytes(), "another result")
spool.stop()
print(f"{sum(not line.startswith(' ') for line in expected)} sheets are read as pandas reads them, or refused")
