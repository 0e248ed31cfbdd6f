"""Texts that try to get out of a label, a heading or a cell."""

from __future__ import annotations

OUTSIDE = "http://outside.invalid"

CORPUS = (
    f"![image]({OUTSIDE}/a.png)",
    f"[link]({OUTSIDE}/b)",
    f"<img src={OUTSIDE}/c.png onerror=alert(1)>",
    f"<script src={OUTSIDE}/d.js></script>",
    f"{OUTSIDE}/autolink",
    "www.outside.invalid/autolink",
    "https://outside.invalid",
    "mail me@outside.invalid",
    f"<{OUTSIDE}/angle>",
    f"[ref]\n\n[ref]: {OUTSIDE}/ref",
    f"![ref][x]\n\n[x]: {OUTSIDE}/ref.png",
    "# heading",
    "**bold** _it_ `code` ~~gone~~",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "```\nfence\n```",
    "~~~~\nfence\n~~~~",
    "$x^2$ and $$y$$",
    "\\(x\\)",
    ":red[coloured] :blue-badge[badge]",
    ":material/warning: :smile: :streamlit:",
    "---\ntitle: front\n---",
    "> quote",
    "- list\n1. list",
    "a -> b <- c -- d >= e",
    "&lt;b&gt; &#x3C;i&#x3E;",
    "\u202eright to left",
    "zero\u200bwidth\u2060and\ufeffmark",
    "\x1b[31mred\x1b[0m \x07",
    "\ud800 lone",
    "tag \U000e0041\U000e0042",
    "line\r\nline",
    "\u2028separator\u2029",
    f"<a href='{OUTSIDE}'>a</a>",
    "javascript:alert(1)",
    f"\" onmouseover=\"fetch('{OUTSIDE}')",
    f"<style>body{{background:url({OUTSIDE}/e.png)}}</style>",
)
