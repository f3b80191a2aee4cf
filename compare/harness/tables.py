"""Markdown tables and numbers."""


def number(value, places=None):
    """A number as people read it; a dash for none."""
    if value is None:
        return "–"
    if places is None:
        places = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{places}f}"


def cell(value):
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(heads, rows):
    lines = ["| " + " | ".join(map(cell, heads)) + " |", "| " + " | ".join(["---"] * len(heads)) + " |"]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
    return "\n".join(lines)
