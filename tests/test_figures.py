"""Figures show what is in the outcome."""

from xml.etree import ElementTree

import msgspec
import pytest

from loadpath import NotFoundError
from loadpath.analysis.svg import Scale, nice_step
from loadpath.analysis.timesequence import timesequence_svg
from loadpath.analysis.waterfall import PHASES, waterfall_svg
from loadpath.outcome import Phases, Status
from scripted import scripted_outcome

SVG = "{http://www.w3.org/2000/svg}"


def elements(svg: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(f"{SVG}{tag}"))


def tooltips(svg: str) -> list[str]:
    return [
        title.text or ""
        for element in ElementTree.fromstring(svg)
        for title in element.findall(f"{SVG}title")
    ]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in elements(svg, "text")]


class TestWaterfall:
    def test_phases_are_those_of_the_outcome_in_the_legends_order(self) -> None:
        assert list(PHASES) == list(Phases.__struct_fields__)
        assert len({colour for _, colour in PHASES.values()}) == len(PHASES)

    def test_each_phase_has_a_bar_as_long_as_it_takes(self) -> None:
        svg = waterfall_svg(scripted_outcome())
        scale = Scale(0, 176.0 * 1.01, 300, 1185)
        bars = {
            (tip or "").splitlines()[-1]: float(rect.get("width", 0))
            for rect in elements(svg, "rect")
            if (tip := rect.findtext(f"{SVG}title")) and "download" not in tip and "www" in tip
        }
        assert bars["connection setup: 40.00 ms"] == pytest.approx(scale(40) - scale(0), abs=0.02)
        assert bars["server processing: 10.00 ms"] == pytest.approx(scale(10) - scale(0), abs=0.02)
        assert bars["transfer: 43.00 ms"] == pytest.approx(scale(43) - scale(0), abs=0.02)
        assert len(bars) == 5, "phases without time have no bar"

    def test_load_and_dcl_are_marked_and_the_numbers_labelled(self) -> None:
        shown = texts(waterfall_svg(scripted_outcome()))
        assert {"load", "DOMContentLoaded", "main thread"} <= set(shown)
        assert any(text.startswith("simulated: load 176.0 ms") for text in shown)

    def test_the_main_thread_is_drawn(self) -> None:
        tips = tooltips(waterfall_svg(scripted_outcome()))
        assert any(tip.startswith("event DOMContentLoaded") for tip in tips)

    def test_a_failed_load_says_why(self) -> None:
        failed = msgspec.structs.replace(
            scripted_outcome(),
            plt_ms=None,
            dcl_ms=None,
            status=Status(result="failed", reason="connection 0 gave up"),
        )
        assert "simulated; failed: connection 0 gave up" in texts(waterfall_svg(failed))

    def test_hostile_urls_are_text(self) -> None:
        outcome = scripted_outcome()
        resource = msgspec.structs.replace(
            outcome.resources[0], url="http://x/<script>\x00&\ud800\x1b[31m", host="<b>"
        )
        outcome = msgspec.structs.replace(outcome, resources=(resource,))
        assert elements(waterfall_svg(outcome), "script") == []


class TestTimeSequence:
    def test_drops_and_retransmissions_have_their_own_marks(self) -> None:
        svg = timesequence_svg(scripted_outcome(), connection=0)
        marks = {path.get("stroke"): path.get("d", "") for path in elements(svg, "path")}
        assert marks["#0072B2"].count("M") == 4
        assert marks["#D55E00"].count("M") == 1
        assert marks["#000000"].count("l6") == 2, "one cross"

    def test_without_a_choice_all_connections_are_drawn(self) -> None:
        shown = " ".join(texts(timesequence_svg(scripted_outcome())))
        assert "0: www.example, 1 request, 1 retransmission, 0 timeouts" in shown
        assert "1: img.example" in shown

    def test_there_is_no_third_connection(self) -> None:
        with pytest.raises(NotFoundError, match="no connection 2"):
            timesequence_svg(scripted_outcome(), connection=2)


@pytest.mark.parametrize(
    ("span", "most", "expected"),
    [(100, 10, 10), (101, 10, 20), (7, 10, 1), (0.9, 10, 0.1), (0, 5, 1)],
)
def test_axis_steps_are_round(span: float, most: int, expected: float) -> None:
    assert nice_step(span, most) == pytest.approx(expected)
