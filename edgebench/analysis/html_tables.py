"""Small tables for notebooks, all text in them escaped; nothing in them is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment

from edgebench.report import words

MOST_ROWS = 60

_TABLE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<table style="white-space: nowrap">
<caption style="text-align: left">{{ caption }}</caption>
<thead><tr>
{% for heading in headings %}
<th>{{ heading }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr>
{% for text in row %}
<td>{{ text }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
""")
_SENTENCES = Environment(autoescape=True).from_string("{% for text in texts %}<p>{{ text }}</p>{% endfor %}")


def table_html(
    caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> str:
    """The first rows as a table, then how many more there are, and the notes.

    Control and direction characters are shown as U+FFFD, so that a name reorders nothing around it.
    """
    more = len(rows) - MOST_ROWS
    last = [f"and {words.counted(more, 'more row')}"] if more > 0 else []
    table = _TABLE.render(
        caption=words.plain(caption),
        headings=[words.plain(heading) for heading in headings],
        rows=[[words.plain(text) for text in row] for row in rows[:MOST_ROWS]],
    )
    return table + sentences_html([*last, *notes])


def sentences_html(texts: Sequence[str]) -> str:
    """A paragraph each, cleaned and escaped in the same way."""
    return _SENTENCES.render(texts=[words.plain(text) for text in texts])
