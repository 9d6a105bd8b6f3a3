"""The charts of report.py as SVG text: heat maps and ratio charts, both on logarithmic scales. Colours of text and lines come from the page's CSS."""
import math
from html import escape

# A palette that is even to the eye and tells apart in grey too (dark is slow), after matplotlib's viridis.
PALETTE = [(68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141), (39, 173, 129), (92, 200, 99), (170, 220, 50), (253, 231, 37)]
CHAR_PX = 7.0  # of the 12 px text, on average; labels are measured by it


def text_px(text):
    return len(text) * CHAR_PX


def short(text, n=44):
    return text if len(text) <= n else text[: n - 1] + "…"


def number(value):
    """Three digits, as people read speeds."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:#.3g}"


def log_fraction(value, low, high):
    """Where value lies from low (0) to high (1) on a logarithmic scale."""
    if high <= low:
        return 1.0
    return min(1.0, max(0.0, math.log(value / low) / math.log(high / low)))


def colour(fraction):
    at = fraction * (len(PALETTE) - 1)
    i = min(int(at), len(PALETTE) - 2)
    return tuple(round(a + (b - a) * (at - i)) for a, b in zip(PALETTE[i], PALETTE[i + 1]))


def ink_on(rgb):
    """Black or white, whichever contrasts more (WCAG's relative luminance)."""
    r, g, b = ((c / 255 / 12.92) if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb)
    return "#000" if 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 else "#fff"


def ticks(low, high, most=9):
    """Round numbers within [low, high], as many as fit."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
        found = [m * 10.0**d for d in decades for m in steps if low * 0.999 <= m * 10.0**d <= high * 1.001]
        if len(found) <= most:
            return found
    return found[:: math.ceil(len(found) / most)]


def svg(width, height, parts, label):
    return (f'<svg role="img" aria-label="{escape(label)}" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>')


def text(x, y, content, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(content)}</text>'


def legend(x, y, width, low, high):
    """The colour bar of a heat map with its ticks."""
    n = 48
    parts = [f'<rect x="{x + width * i / n:.2f}" y="{y}" width="{width / n + 0.5:.2f}" height="8" fill="rgb{colour((i + 0.5) / n)}"/>' for i in range(n)]
    if high > low:
        for tick in ticks(low, high, max(2, int(width / (text_px(f"{high:,.0f}") + 12)))):
            parts.append(text(x + width * log_fraction(tick, low, high), y + 22, f"{tick:,g}", 'text-anchor="middle" class="soft"'))
    else:
        parts.append(text(x + width, y + 22, number(low), 'text-anchor="end" class="soft"'))
    parts.append(text(x, y - 5, "tok/s, logarithmic", 'class="soft"'))
    return parts


def heat_map(title, rows, columns, cells, low, high, breaks=()):
    """cells: {(row, column): (value, tooltip)}; value None: it failed. Those that are not there are left blank. low, high: of the colours.
    breaks: rows with a line above them."""
    cell_w, cell_h = 60, 28
    left = max([text_px(short(r)) for r in rows] + [40]) + 14
    slanted = max(text_px(short(c)) for c in columns) * math.sqrt(0.5)
    top = 34 + slanted + 10
    grid_w, grid_h = cell_w * len(columns), cell_h * len(rows)
    legend_w = max(180, min(grid_w, 320))
    width = max(left + grid_w + max(slanted - cell_w / 2, 0) + 8, left + legend_w + 24, text_px(title) * 1.25)
    parts = [text(0, 16, title, 'class="title"')]
    for j, column in enumerate(columns):
        x, y = left + cell_w * (j + 0.5), top - 8
        parts.append(f'<text transform="translate({x:.1f} {y:.1f}) rotate(-45)">{escape(short(column))}<title>{escape(column)}</title></text>')
    for i, row in enumerate(rows):
        y = top + cell_h * i
        parts.append(f'<text x="{left - 8:.1f}" y="{y + cell_h / 2 + 4:.1f}" text-anchor="end">{escape(short(row))}<title>{escape(row)}</title></text>')
        if row in breaks:
            parts.append(f'<line x1="0" x2="{left + grid_w:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="axis"/>')
        for j, column in enumerate(columns):
            parts.append(heat_cell(left + cell_w * j, y, cell_w, cell_h, cells.get((row, column)), low, high))
    parts += legend(left, top + grid_h + 24, legend_w, low, high)
    return svg(width, top + grid_h + 56, parts, title)


def heat_cell(x, y, w, h, cell, low, high):
    box = f'x="{x + 1:.1f}" y="{y + 1:.1f}" width="{w - 2}" height="{h - 2}" rx="3"'
    middle = f'x="{x + w / 2:.1f}" y="{y + h / 2 + 4:.1f}" text-anchor="middle"'
    if cell is None:
        return f'<rect {box} class="blank"/>'
    value, tooltip = cell
    tip = f"<title>{escape(tooltip)}</title>"
    if value is None:
        return f'<g><rect {box} class="failed"/><text {middle} class="soft">failed</text>{tip}</g>'
    rgb = colour(log_fraction(value, low, high))
    return f'<g><rect {box} fill="rgb{rgb}"/><text {middle} style="fill:{ink_on(rgb)}">{number(value)}</text>{tip}</g>'


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def ratio_chart(title, rows, good="Puna ahead", bad="behind"):
    """rows: [(label, low, middle, high, tooltip)]: ratios, above 1 where Puna is ahead. The dashed line is their geometric mean."""
    plot_w, row_h = 360, 26
    left = max(text_px(short(r[0])) for r in rows) + 14
    top, bottom = 64, 44
    mean = geomean([r[2] for r in rows])
    low = min([1.0] + [r[1] for r in rows]) / 1.15
    high = max([1.0] + [r[3] for r in rows]) * 1.15
    place = lambda v: left + plot_w * log_fraction(v, low, high)  # noqa: E731
    end = top + row_h * len(rows)
    parts = [text(0, 16, title, 'class="title"')]
    for tick in ticks(low, high):
        parts.append(f'<line x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="{top}" y2="{end}" class="grid"/>')
        parts.append(text(place(tick), end + 16, f"{tick:g}x", 'text-anchor="middle" class="soft"'))
    parts.append(f'<line x1="{place(1):.1f}" x2="{place(1):.1f}" y1="{top - 6}" y2="{end}" class="axis"/>')
    if high / 1.15 > 1:
        parts.append(text(place(1) + 5, top - 8, f"{good} →", 'class="soft"'))
    if low * 1.15 < 1:
        parts.append(text(place(1) - 5, top - 8, f"← {bad}", 'text-anchor="end" class="soft"'))
    for i, (label, least, middle, most, tooltip) in enumerate(rows):
        y = top + row_h * (i + 0.5)
        kind = "ahead" if middle >= 1 else "behind"
        parts.append(f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(short(label))}<title>{escape(label)}</title></text>')
        parts.append(f'<g class="{kind}"><title>{escape(tooltip)}</title><line x1="{place(least):.1f}" x2="{place(most):.1f}" y1="{y}" y2="{y}"/>'
                     f'<line x1="{place(least):.1f}" x2="{place(least):.1f}" y1="{y - 5}" y2="{y + 5}"/>'
                     f'<line x1="{place(most):.1f}" x2="{place(most):.1f}" y1="{y - 5}" y2="{y + 5}"/><circle cx="{place(middle):.1f}" cy="{y}" r="4.5"/></g>')
        parts.append(text(left + plot_w + 10, y + 4, f"{middle:.3g}x", ""))
    parts.append(f'<line x1="{place(mean):.1f}" x2="{place(mean):.1f}" y1="{top}" y2="{end}" class="mean"/>')
    parts.append(text(0, end + 36, f"dashed: geometric mean {mean:.3g}x; whiskers: least to greatest of the rounds", 'class="soft"'))
    return svg(left + plot_w + 70, end + bottom, parts, f"{title}: geometric mean {mean:.3g}")


def inertia_chart(inertias, chosen):
    """Bars of the inertia by k."""
    bar_w, plot_h, left, top = 56, 120, 10, 40
    most = max(value for _, value in inertias) or 1
    parts = [text(0, 16, "Inertia by number of groups", 'class="title"')]
    for i, (k, value) in enumerate(inertias):
        h = plot_h * value / most
        x = left + bar_w * i
        parts.append(f'<rect x="{x}" y="{top + plot_h - h:.1f}" width="{bar_w - 12}" height="{h:.1f}" class="{"chosen" if k == chosen else "bar"}"/>')
        parts.append(text(x + (bar_w - 12) / 2, top + plot_h - h - 5, number(value) if value else "0", 'text-anchor="middle"'))
        parts.append(text(x + (bar_w - 12) / 2, top + plot_h + 16, f"k = {k}", 'text-anchor="middle" class="soft"'))
    return svg(max(left + bar_w * len(inertias), 220), top + plot_h + 24, parts, "Inertia by number of groups")
