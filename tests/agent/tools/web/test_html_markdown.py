"""HTML as Markdown: no text lost, nothing of scripts, bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.web.html_markdown import convert

BASE = "https://example.org/docs/"


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("plain  text\n with   blanks", "plain text with blanks"),
        ("a<br>b", "a\nb"),
        ("<h2>Head</h2>text", "## Head\n\ntext"),
        ("<b>x</b> <i>y</i> <code>z</code>", "**x** *y* `z`"),
        ('<a href="../a?b=1&amp;c=2">text</a>', "[text](https://example.org/a?b=1&c=2)"),
        ('<a href="javascript:x()">text</a>', "text"),
        ('<a href="data:text/html,x">text</a>', "text"),
        ('<a href="#part">text</a>', "text"),
        ('<a href="https://x.test/a(b)">t</a>', "[t](https://x.test/a%28b%29)"),
        ('<a href="/x"><div><h3>Card</h3><p>words</p></div></a>',
         "### [Card](https://example.org/x)\n\nwords"),
        ('<img src="a.png" alt="A  picture">', "![A picture](https://example.org/docs/a.png)"),
        ('<img src="a.png">', ""),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d"),
        ("<ol start=3><li>a</li><li>b</li></ol>", "3. a\n4. b"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\n\n  b"),
        ("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc"),
        ("<pre>  x\n   y</pre>", "```\n  x\n   y\n```"),
        ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
        ("<table><tr><th>A<th>B<tr><td>1|2<td>x<br>y</table>",
         "| A | B |\n| --- | --- |\n| 1\\|2 | x y |"),
        ("<table><tr><td>only</td></tr><tr><td>one</td></tr></table>", "only\none"),
        ("<table><tr><td><table><tr><td>in</td></tr></table></td><td>out</td></tr></table>",
         "| in | out |\n| --- | --- |"),
        ("<title>T &amp; U</title><p>x", "# T & U\n\nx"),
        ("<title>T</title><h1>T</h1>", "# T"),
        ("a<hr>b", "a\n---\nb"),
        ("x &lt;b&gt; &#x41; &unknown;", "x <b> A &unknown;"),
        ("<script>if (a<b) x='</p>'</script>y", "y"),
        ("<style>p{}</style><svg><text>no</text></svg><noscript>no</noscript>y", "y"),
        ("<div hidden>x</div>", "x"),
        ("<p>unfinished <b>bold", "unfinished **bold"),
        ("</p></div></ul></table></blockquote>x", "x"),
    ],
)  # fmt: skip
def test_pieces(html: str, markdown: str) -> None:
    assert convert(html, BASE) == markdown


def test_plain_text_has_no_marks() -> None:
    html = '<h1>Head</h1><p><b>x</b> <a href="/y">y</a></p><pre>z</pre><img alt=p src=q>'
    assert convert(html, BASE, markup=False) == "Head\n\nx y\n\nz\n\np"


@given(st.lists(st.sampled_from([
    "<p>", "</p>", "<ul>", "</ul>", "<li>", "</li>", "<a href=x>", "</a>", "<pre>", "</pre>",
    "<table>", "</table>", "<tr>", "<td>", "</td>", "<blockquote>", "</blockquote>", "<b>", "</b>",
    "<h1>", "</h1>", "<script>", "</script>", "<br>", "<", "&", "word ", "<title>", "</title>",
]), max_size=40))  # fmt: skip
def test_no_order_of_tags_breaks_it(pieces: list[str]) -> None:
    convert("".join(pieces), BASE)


NESTING = [
    "<p>", "</p>", "<ul>", "<li>", "</ul>", "<div>", "</div>", "<b>", "</b>", "<table>", "<tr>",
    "<td>", "</table>", "<blockquote>", "</blockquote>",
]  # fmt: skip


@given(st.lists(st.sampled_from(NESTING), max_size=25))
def test_text_is_never_lost(tags: list[str]) -> None:
    html = "".join(f"{tag}word{n} " for n, tag in enumerate(tags))
    text = convert(html, BASE)
    assert all(f"word{n}" in text for n in range(len(tags)))


@pytest.mark.parametrize(
    "html",
    [
        "<style>" + "a{color:red}" * 90_000 + "</style>words",
        "<div>" * 50_000 + "words" + "</div>" * 50_000,
        "<ul><li>" * 5_000 + "words",
        "<blockquote>" * 20_000 + "words",
        "<a href=x>" * 50_000 + "words",
        "<b>" * 100_000 + "words",
        "<table><tr><td>" * 10_000 + "words",
    ],
)
def test_heavy_pages_stay_small(html: str) -> None:
    text = convert(html, BASE)
    assert "words" in text
    assert len(text) < len(html)
