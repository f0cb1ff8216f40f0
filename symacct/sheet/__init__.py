"""Sheets: what was derived and judged, as a page that people print, read and carry along."""
