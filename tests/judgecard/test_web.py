"""What goes into the report's pages from notebooks and judges is what it says."""

from __future__ import annotations

import base64

import pytest

from judgecard import web

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(40))


@pytest.mark.parametrize("png", [PNG, base64.b64encode(PNG).decode()])
def test_a_picture_is_shown(png):
    encoded = base64.b64encode(PNG).decode()
    expected = f'<img alt="a &lt;b&gt;" src="data:image/png;base64,{encoded}">'
    assert web.picture(png, "a <b>") == expected


@pytest.mark.parametrize(
    "png",
    [
        b"GIF89a",
        "",
        '"><script>alert(1)</script>',
        base64.b64encode(b"<svg onload=alert(1)>").decode(),
    ],
)
def test_what_is_no_picture_is_named_and_not_shown(png):
    shown = web.picture(png, "a <b>")
    assert shown == "<p>a picture that cannot be read: a &lt;b&gt;</p>"
