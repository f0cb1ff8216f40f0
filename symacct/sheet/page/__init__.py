"""Live pages: a sheet whose rows go on computing in a browser, from formulas that were derived here."""

from symacct.sheet.page.making import page_data, page_json

__all__ = ["page_data", "page_json"]
