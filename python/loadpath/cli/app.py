"""All verbs."""

from typing import Annotated

import typer

from loadpath import __version__
from loadpath.cli import (
    advise,
    archive,
    characteristics,
    check,
    delays,
    doctor,
    emulate,
    export,
    figure,
    graph,
    import_,
    link,
    origin,
    profile,
    profiles,
    query,
    report,
    reproduce,
    scenario,
    simulate,
    sweep,
    table,
    timesequence,
    transform,
    validate,
    waterfall,
)

app = typer.Typer(
    name="loadpath",
    help="Load real web pages in a packet-level simulation and see what makes them faster.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)

app.command("profile")(profile.profile)
app.command("delays")(delays.delays)
app.command("simulate")(simulate.simulate)
app.command("emulate")(emulate.emulate)
app.command("advise")(advise.advise)
app.command("check")(check.check)
app.command("waterfall")(waterfall.waterfall)
app.command("timesequence")(timesequence.timesequence)
app.command("export")(export.export)
app.command("import")(import_.import_)
app.command("transform")(transform.transform)
app.command("archive")(archive.archive)
app.command("validate")(validate.validate)
app.command("reproduce")(reproduce.reproduce)
app.command("characteristics")(characteristics.characteristics)
app.command("sweep")(sweep.sweep)
app.command("query")(query.query)
app.command("table")(table.table)
app.command("figure")(figure.figure)
app.command("report")(report.report)
app.command("profiles")(profiles.profiles)
app.command("scenario")(scenario.scenario)
app.add_typer(graph.app, name="graph")
# What follows the command of a link is the command's.
app.command("link", context_settings={"allow_interspersed_args": False})(link.link)
app.command("origin")(origin.origin)
app.command("doctor")(doctor.doctor)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"loadpath {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Load real web pages in a packet-level simulation and see what makes them faster."""
