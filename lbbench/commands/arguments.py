"""The arguments that commands take, as Typer has them."""

from pathlib import Path
from typing import Annotated

import typer

Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE[,VALUE]", help="Settings; commas sweep. See `lbbench show`.", show_default=False),
]
Filters = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE[,VALUE]", help="See above; commas give several.", show_default=False),
]
Place = Annotated[
    list[str] | None,
    typer.Argument(metavar="out=…", help="Where traces go.", show_default=False),
]
Directory = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Has experiment.yaml.", show_default=False)]
Kind = Annotated[str, typer.Argument(metavar="[methods|problems|experiments]", show_default=False)]
Shell = Annotated[str, typer.Argument(metavar="bash|zsh|fish", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="NAME|MODULE:NAME", help="A method or problem.", show_default=False)]
