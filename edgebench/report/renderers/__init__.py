"""Renderers of a report: blocks as terminal, HTML, Markdown and PDF."""
