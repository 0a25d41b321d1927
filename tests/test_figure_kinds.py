"""Figures of papers: every kind renders, the same numbers give the same files."""

import csv
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from loadpath import LoadpathError, OutputExistsError
from loadpath.analysis.figures import (
    FORMATS,
    Figure,
    bars,
    best_choice,
    best_choices,
    cdf,
    contour,
    cost_of_choice,
    difference_cdf,
    heat_map,
    histogram,
    lines,
    regions,
    render,
    save,
    surface,
    to_csv,
)

HOSTILE = "<script>alert(1)</script> & $x^2_{ \x07 \u4e2d"
RATES = (500_000, 10_000_000, 1_000_000_000)
RTTS = (8, 100, 400)
GRID = [(rate, rtt, rtt / 10 + 1e7 / rate - 21.0) for rate in RATES for rtt in RTTS]
TIMES = [(rate, rtt, rtt / 10 + 1e7 / rate) for rate in RATES for rtt in RTTS]
GAINS = ("rate_bps", "rtt_ms", "improvement_percent")
MEDIANS = ("rate_bps", "rtt_ms", "median_s")


def samples() -> dict[str, list[float]]:
    draws = random.Random(4)
    return {
        name: [draws.gauss(mean, 1) for _ in range(500)] for name, mean in ((HOSTILE, 0), ("b", 1))
    }


KINDS: dict[str, Callable[[dict[str, Any]], Figure]] = {
    "heat-map": lambda text: heat_map(
        **text, columns=GAINS, rows=GRID, x="rtt_ms", y="rate_bps", value=GAINS[2], centre=0.0
    ),
    "heat-map-log": lambda text: heat_map(
        **text, columns=MEDIANS, rows=TIMES, x="rtt_ms", y="rate_bps", value="median_s", log=True
    ),
    "regions": lambda text: regions(
        **text, columns=GAINS, rows=GRID, x="rtt_ms", y="rate_bps", value=GAINS[2], margin=2.0
    ),
    "lines": lambda text: lines(
        **text, columns=MEDIANS, rows=TIMES, x="rate_bps", y="median_s", by="rtt_ms"
    ),
    "cdf": lambda text: cdf(**text, samples=samples(), column="plt_s"),
    "difference-cdf": lambda text: difference_cdf(**text, samples=samples(), column="difference_s"),
    "histogram": lambda text: histogram(**text, values=[1, 1, 3], column="shards", of="sites"),
    "surface": lambda text: surface(
        **text, columns=MEDIANS, rows=TIMES, x="rate_bps", y="rtt_ms", value="median_s"
    ),
    "surface-inverse": lambda text: surface(
        **text,
        columns=MEDIANS,
        rows=TIMES,
        x="rate_bps",
        y="rtt_ms",
        value="median_s",
        inverse_x=True,
    ),
    "contour": lambda text: contour(
        **text, columns=MEDIANS, rows=TIMES, x="rate_bps", y="rtt_ms", value="median_s"
    ),
    "bars": lambda text: bars(
        **text,
        columns=("page", "case", "gain", "low", "high"),
        rows=[(HOSTILE, "spdy", 0.3, 0.1, 0.4), ("B", "spdy", -0.1, -0.2, None)],
        x="page",
        by="case",
        value="gain",
        low="low",
        high="high",
    ),
    "best": lambda text: best_choice(
        **text,
        rows=[(1e6, 8, 2), (1e7, 8, 4), (1e6, 40, 6)],
        x="rate_bps",
        by="rtt_ms",
        choice="connections",
    ),
    "cost": lambda text: cost_of_choice(
        **text, rows=[(1e6, 8, 0.5), (1e7, 8, 4.0)], x="rate_bps", by="rtt_ms"
    ),
}


def figure(kind: str) -> Figure:
    return KINDS[kind]({"name": kind, "title": HOSTILE, "caption": "simulated"})


def texts(svg: bytes) -> list[str]:
    tag = "{http://www.w3.org/2000/svg}text"
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(tag)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_renders_the_same_bytes_twice(kind: str) -> None:
    first, second = render(figure(kind), "svg"), render(figure(kind), "svg")
    assert first == second
    root = ElementTree.fromstring(first)
    assert not list(root.iter("{http://www.w3.org/2000/svg}image")), "vectors, not pixels"
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert any(text.startswith("<script>alert(1)") for text in texts(first)), "names are text"


@pytest.mark.parametrize(("format", "start"), [("pdf", b"%PDF-"), ("png", b"\x89PNG")])
def test_print_formats_are_the_same_bytes_twice(format: str, start: bytes) -> None:
    first = render(figure("heat-map"), format)
    assert first.startswith(start)
    assert first == render(figure("heat-map"), format)


def test_settings_of_the_user_change_nothing() -> None:
    import matplotlib as mpl

    plain = render(figure("lines"), "svg")
    with mpl.rc_context({"font.size": 30, "svg.hashsalt": "other", "axes.grid": True}):
        assert render(figure("lines"), "svg") == plain


def test_cells_hold_their_values_and_axes_their_units() -> None:
    shown = texts(render(figure("heat-map"), "svg"))
    assert {"−0.2", "+19.0", "8 ms", "400 ms", "500 kbit/s", "1 Gbit/s"} <= set(shown)
    assert {"bandwidth", "round-trip time", "improvement (%)"} <= set(shown)


def test_differences_say_how_many_are_not_above_zero() -> None:
    drawn = figure("difference-cdf")
    share = sum(v <= 0 for v in samples()["b"]) / 5
    assert f"b ({share:.0f} % ≤ 0)" in texts(render(drawn, "svg"))


def test_the_csv_has_all_numbers(tmp_path: Path) -> None:
    files = save(figure("heat-map"), tmp_path / "new" / "folder")
    assert [file.name for file in files] == [
        *(f"heat-map.{format}" for format in FORMATS),
        "heat-map.csv",
    ]
    rows = list(csv.reader(io.StringIO(files[-1].read_text())))
    assert tuple(rows[0]) == GAINS
    assert [(int(r), int(t), float(v)) for r, t, v in rows[1:]] == GRID
    assert files[-1].read_text() == to_csv(figure("heat-map"))


def test_a_file_gets_its_csv_beside_it_and_nothing_is_replaced(tmp_path: Path) -> None:
    assert save(figure("bars"), tmp_path / "x.png") == [tmp_path / "x.png", tmp_path / "x.csv"]
    with pytest.raises(OutputExistsError, match=r"x\.csv"):
        save(figure("bars"), tmp_path / "x.svg")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.csv", "x.png"]
    save(figure("bars"), tmp_path / "x.svg", force=True)


def test_an_unknown_format_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LoadpathError, match=r"no format for figures ends with \.gif"):
        save(figure("bars"), tmp_path / "x.gif")


def test_the_best_is_the_smallest_within_the_margin() -> None:
    rows = [(1, 8, 1, 2.0), (1, 8, 2, 1.015), (1, 8, 6, 1.0), (2, 8, 1, 1.0), (2, 8, 6, 3.0)]
    assert best_choices(rows, margin=0.02, fixed=6) == [
        (1, 8, 2, 1.015, 0.0),
        (2, 8, 1, 1.0, pytest.approx(200.0)),
    ]


def test_an_empty_figure_is_drawn_too() -> None:
    nothing = lines(name="n", title="t", caption="c", columns=("x", "y"), rows=[], x="x", y="y")
    assert render(nothing, "svg")
    assert render(cdf(name="n", title="t", caption="c", samples={}, column="plt_s"), "svg")
