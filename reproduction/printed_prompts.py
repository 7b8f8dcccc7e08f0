"""Is a template the prompt that its paper prints? Compared character by character, what
the conversion of the PDF does to a text aside.

`data/printed_prompts.csv` says where a prompt stands in the text of its paper. The text
itself is never kept: what is kept are hashes, counts and the differences, written by
`tools/printed_prompts.py` where the texts lie. In the form that is compared a slot is
`⟦name⟧`.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.prompts import Template, load_definitions, template

# files of data/: where prompts stand, and the last comparison
PLACES = "printed_prompts.csv"
COMPARED = "printed_prompts_compared.csv"
DIFFERENCES = "printed_prompts_differences.csv"
KEY = ["paper", "id", "part"]  # what names a printed prompt
# what the conversion of the PDF to text does, and is undone on the printed side
NORMALISED = {
    "white space": "line breaks and blanks become single blanks; none beside a slot",
    "ligatures": "a ligature becomes its letters",
    "hyphenation": "a word that is parted at a line's end becomes whole",
    "markup": "marks of headings, emphasis, lists, paragraphs, rules and formulas go",
    "slots": "place holders, whatever their brackets, become slots of one form",
}
_LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
}
# pattern, and what takes its place; the order matters
_MARKUP = (
    (r"(?m)^\s*---\s*$", ""),  # rules around a table
    (r"(?m)^\s*#{1,4} (?=###|\\\*)", ""),  # a heading before a mark that is printed
    (r"(?m)^\s*\d+\. \*(?=\d+\.)", ""),  # a list's number before the printed one
    (r"</?p>", " "),
    (r"`", ""),
    (r"(?<!\\)\*+", ""),  # emphasis
    (r"\\text\{((?:[^{}\\]|\\.)*)\}", r"\1"),  # words of a formula
    (r"\\text\{", ""),
    (r"\\dots", "..."),
    (r"(?<!\\)\$(?!\{)", ""),  # ends of a formula
    (r"\\([{}_*$])", r"\1"),
    (r"(?<=\w)-\n(?=[a-z])", ""),
)
# place holders: "{name}", "${name}", "{{ name }}", "$name"; and "[Name]"
_BRACES = re.compile(r"\$?\{+ *([A-Za-z][A-Za-z0-9_ ]*?) *\}+|\$([a-z]+)\b")
_BRACKETS = re.compile(r"\[([A-Z][A-Za-z ]+)\]")
# what is compared: a slot, a word, or a single other character
_TOKEN = re.compile(r"⟦\w+⟧|\w+|\s|[^\w\s]")


def places() -> pd.DataFrame:
    """Where the prompts stand: `paper, id, part, template`; `first, last`: lines of the
    paper's text, from 1; `begins, ends, cut`: what to take of them; `slots, definitions,
    values`: what fills the template's slots there.
    """
    return _table(PLACES)


def kept() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The last comparison as it is kept, columns as `compare` gives them."""
    return _table(COMPARED), _table(DIFFERENCES)


def texts() -> Path:
    """Where the papers' texts lie, when somebody has put them beside the checkout."""
    return files.root().parent / "shared" / "papers"


def compare(folder: Path | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every printed prompt beside its template: a row a prompt, with its hashes,
    `characters` and number of `differences`; and a row a difference, whose `position`
    counts characters of the template as it is compared.

    folder: of the papers' texts (None: `texts()`).
    Raises: FileNotFoundError; ValueError where a prompt is not found in its lines.
    """
    folder = folder or texts()
    rows = []
    difference_rows = []
    for place in places().to_dict("records"):
        text = (folder / f"{place['paper']}.txt").read_text(encoding="utf-8")
        printed = normal_print(text.split("\n"), place)
        ours = normal_template(template(place["template"]), place)
        key = {name: place[name] for name in KEY}
        differing = [key | difference for difference in differences(printed, ours)]
        difference_rows += differing
        rows.append(
            {
                **key,
                "template": place["template"],
                "characters": str(len(printed)),
                "differences": str(len(differing)),
                "printed_sha": sha(printed),
                "template_sha": sha(ours),
            }
        )
    columns = [*KEY, "kind", "position", "printed_length", "length", "printed", "ours"]
    return pd.DataFrame(rows), pd.DataFrame(difference_rows, columns=columns)


def sha(text: str) -> str:
    """The first 12 hexadecimal digits of a text's SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def verdict(differing: int) -> str:
    """What the scoreboard says of a prompt with so many differences.

    Example:
    >>> verdict(2)
    'prompt: 2 differences'
    """
    if not differing:
        return "prompt: equal"
    plural = "s" if differing > 1 else ""
    return f"prompt: {differing} difference{plural}"


def verdicts() -> dict[tuple[str, str], str]:
    """What is said of each printed table or figure that prints a prompt, by (paper, id);
    the differences of its parts are added up.
    """
    if not (files.data() / COMPARED).exists():
        return {}
    compared, _ = kept()
    counts = compared["differences"].astype(int)
    sums = counts.groupby([compared["paper"], compared["id"]]).sum()
    return {place: verdict(int(number)) for place, number in sums.items()}


def normal_print(lines: list[str], place: Mapping[str, str]) -> str:
    """The printed prompt of a place, as it is compared. Raises: ValueError where what it
    begins or ends with is not in its lines.
    """
    first = int(place["first"])
    last = int(place["last"])
    text = "\n".join(lines[first - 1 : last])
    for name in ("begins", "ends"):
        if place[name] and place[name] not in text:
            title = f"{place['paper']} {place['id']} {place['part']}"
            raise ValueError(f"{title}: {place[name]!r} is not in its lines")
    # What stands before and after the prompt in the same lines.
    if place["begins"]:
        text = text.partition(place["begins"])[2]
    if place["ends"]:
        text = text.partition(place["ends"])[0]
    # Stretches that the paper fills with an example and the template has a slot for.
    for pattern, slot in _pairs(place["cut"], " -> "):
        text = re.sub(pattern, f"⟦{slot}⟧", text, flags=re.DOTALL)
    for ligature, letters in _LIGATURES.items():
        text = text.replace(ligature, letters)
    for pattern, replacement in _MARKUP:
        text = re.sub(pattern, replacement, text)
    slot_names = dict(_pairs(place["slots"], "="))
    with_slots = _slots(text, slot_names)
    return _blanks(with_slots)


def normal_template(template: Template, place: Mapping[str, str]) -> str:
    """A template as it is compared, with what its place prints in its slots."""
    values = {name: f"⟦{name}⟧" for name in template.variables}
    for name, value in _filled(place).items():
        if name in values:
            values[name] = value
    return _blanks(template.render(**values))


def differences(printed: str, ours: str) -> Iterator[dict[str, str]]:
    """Where two texts differ, by words and marks: `kind, position, printed_length,
    length, printed, ours`. A printed stretch of more than 16 characters is left empty.
    """
    printed_tokens = _TOKEN.findall(printed)
    our_tokens = _TOKEN.findall(ours)
    matcher = difflib.SequenceMatcher(None, printed_tokens, our_tokens, autojunk=False)
    kinds = {"replace": "changed", "delete": "left out", "insert": "added"}
    for code, printed_from, printed_to, our_from, our_to in matcher.get_opcodes():
        if code == "equal":
            continue
        printed_text = "".join(printed_tokens[printed_from:printed_to])
        our_text = "".join(our_tokens[our_from:our_to])
        text_before = "".join(our_tokens[:our_from])
        yield {
            "kind": kinds[code],
            "position": str(len(text_before)),
            "printed_length": str(len(printed_text)),
            "length": str(len(our_text)),
            # no long stretch of a paper's text is kept
            "printed": printed_text if len(printed_text) <= 16 else "",
            "ours": our_text,
        }


def _slots(text: str, names: Mapping[str, str]) -> str:
    """The text with its place holders as slots of one form."""

    def braces(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        slot = name.lower().replace(" ", "_")
        return f"⟦{names.get(name, slot)}⟧"

    def brackets(match: re.Match[str]) -> str:
        name = match[1]
        return f"⟦{names[name]}⟧" if name in names else match[0]

    text = _BRACES.sub(braces, text)
    return _BRACKETS.sub(brackets, text)


def _blanks(text: str) -> str:
    """The text with single blanks, and none beside a slot."""
    single_blanks = " ".join(text.split())
    return re.sub(r" ?(⟦\w+⟧) ?", r"\1", single_blanks)


def _filled(place: Mapping[str, str]) -> dict[str, str]:
    """What the paper's example has in the slots: of the place, and of our definitions
    where they are the paper's own.
    """
    values: dict[str, str] = {}
    if place["definitions"]:
        name, task = place["definitions"].split()
        definition = load_definitions(name)["tasks"][task]
        for key, words in definition.items():
            if isinstance(words, str):
                values[key] = words
        target = definition.get("targets", {}).get("overall")
        if target:
            values["aspect_name"] = target["name"]
            values["aspect_definition"] = target["definition"]
    return values | dict(_pairs(place["values"], "="))


def _pairs(text: str, between: str) -> list[tuple[str, str]]:
    """The pairs of a list in one text: "a=1; b=2" is ("a", "1") and ("b", "2"), where
    `between` is "=".
    """
    pairs = []
    for pair in filter(None, text.split("; ")):
        first, _, second = pair.partition(between)
        pairs.append((first, second))
    return pairs


def _table(name: str) -> pd.DataFrame:
    """A file of data/, all columns text."""
    return pd.read_csv(files.data() / name, dtype=str, keep_default_na=False)
