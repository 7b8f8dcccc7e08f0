"""What of a text that was cut at the token limit can be read: all but its unfinished
end.
"""

from __future__ import annotations

import re

from nlgeval_lib.parsers.text import DIGITS, WORD

# "Score: 4" may have gone on as "4.5" or "4/10", and "Flu" as any word; a number before
# it may count what the word names ("scored four goals")
_LAST_WORD = re.compile(
    rf"(?:(?<!\w)(?:{WORD}|{DIGITS})[^\S\n]+)*\S*[^\S\n]*\Z", re.IGNORECASE
)
# a line that is nothing but the mark of a list is no score
_LIST_MARK = re.compile(r"(?:\A|\n)[ \t>*-]*\(?\d{1,3}[.):]?\s*\Z")


def finished_lines(text: str) -> str:
    """A cut list without the item that it ends in; of one line, without its last
    word.
    """
    lines, line_break, last = text.rpartition("\n")
    return f"{lines}{line_break}" if line_break else finished(last)


def finished(text: str) -> str:
    """A cut text without its last word, unless a line break ends it, and without a last
    line that may be the mark of a list.
    """
    text = _LAST_WORD.sub("", text)
    return _LIST_MARK.sub("\n", text)
