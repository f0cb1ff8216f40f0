"""What a reader wants of an account, as data, and how it looks; each renderer is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symacct.account import Account

__all__ = ["html", "latex", "markdown", "text"]


def text(account: Account, width: int = 100) -> str:
    """Return the report of an account as text."""
    from symacct.report.plain import text_of
    from symacct.report.summary import summary

    return text_of(summary(account), width)


def markdown(account: Account) -> str:
    """Return the report of an account in Markdown."""
    from symacct.report.plain import markdown_of
    from symacct.report.summary import summary

    return markdown_of(summary(account))


def latex(account: Account) -> str:
    """Return the report of an account as a LaTeX tabular."""
    from symacct.report.summary import summary
    from symacct.report.tex import latex_of

    return latex_of(summary(account))


def html(account: Account) -> str:
    """Return the report of an account as HTML, formulas in MathML."""
    from symacct.report.page import html_of
    from symacct.report.summary import summary

    return html_of(summary(account))
