"""`loadpath graph`: everything about page graphs themselves, one file a verb."""

import typer

from loadpath.cli.graph import build, critical_path, diff, page, stats, view

app = typer.Typer(
    help="Build page graphs and look at them: draw, count, find the critical path, compare.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.command("build")(build.build)
app.command("view")(view.view)
app.command("stats")(stats.stats)
app.command("critical-path")(critical_path.critical_path)
app.command("diff")(diff.diff)
app.command("page")(page.page)
