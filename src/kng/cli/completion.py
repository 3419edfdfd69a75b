"""``kng completion``: what a shell needs to complete words of kng."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from kng.cli.help import command

_SHELLS = ("bash", "zsh", "fish")


@command(
    epilog='\b\neval "$(kng completion bash)"                        in ~/.bashrc\n'
    'eval "$(kng completion zsh)"                         in ~/.zshrc\n'
    "kng completion fish > ~/.config/fish/completions/kng.fish"
)
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print a script that completes commands and options."""
    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None  # one of click's own
    # Not .source(), which starts a shell to ask for its version.
    script = kind(root, {}, "kng", "_KNG_COMPLETE")
    click.echo(script.source_template % script.source_vars())
