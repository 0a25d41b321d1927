"""What a check found, for people, pull requests and CI systems."""

from xml.etree import ElementTree

from loadpath.experiments.gate.check import Check, Verdict
from loadpath.experiments.gate.measurement import Measurement

__all__ = ["COLUMNS", "check_rows", "junit", "markdown"]

COLUMNS = ["check", "verdict", "value", "allowed", "result"]


def check_rows(checks: list[Check]) -> list[list[str]]:
    """A row for each check."""
    return [
        [
            check.what,
            check.verdict.value,
            _amount(check.value, check.unit),
            _amount(check.allowed, check.unit),
            check.message,
        ]
        for check in checks
    ]


def markdown(measured: Measurement, checks: list[Check]) -> str:
    """A summary for a pull request."""
    broken = [check for check in checks if check.verdict is Verdict.BROKEN]
    word = f"{len(broken)} of {len(checks)} checks broken" if broken else "all checks passed"
    lines = [
        f"### {measured.page}: {word}",
        "",
        f"{measured.url}, {measured.runs} runs, {measured.label}, {measured.network}",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|" + " --- |" * len(COLUMNS),
    ]
    for row in check_rows(checks):
        row[1] = f"**{row[1]}**" if row[1] == Verdict.BROKEN else row[1]
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |")
    return "\n".join([*lines, ""])


def junit(measured: Measurement, checks: list[Check]) -> bytes:
    """JUnit XML: a test case for each check."""
    count = {verdict: sum(check.verdict is verdict for check in checks) for verdict in Verdict}
    totals = {
        "tests": str(len(checks)),
        "failures": str(count[Verdict.BROKEN]),
        "errors": "0",
        "skipped": str(count[Verdict.SKIPPED]),
    }
    suites = ElementTree.Element("testsuites", {"name": "loadpath check"} | totals)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": measured.page} | totals)
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("label", measured.label), ("network", measured.network)):
        ElementTree.SubElement(properties, "property", name=name, value=value)
    for check in checks:
        case = ElementTree.SubElement(suite, "testcase", classname=measured.page, name=check.what)
        if check.verdict is Verdict.BROKEN:
            value, allowed = _amount(check.value, check.unit), _amount(check.allowed, check.unit)
            failure = ElementTree.SubElement(case, "failure", message=check.message)
            failure.text = f"{check.what}: {value}, allowed {allowed}"
        elif check.verdict is Verdict.SKIPPED:
            ElementTree.SubElement(case, "skipped", message=check.message)
    ElementTree.indent(suites)
    text: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:.1f} {unit}" if unit else f"{value:g}"
