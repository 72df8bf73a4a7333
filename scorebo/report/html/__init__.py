"""One self-contained HTML page that shows where a reproduction stands: no server, no network."""

from scorebo.report.html.write import write_report

__all__ = ["write_report"]
