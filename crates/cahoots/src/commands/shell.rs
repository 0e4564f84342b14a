//! `cahoots completions` and `cahoots man`: for shells and for readers of manuals.

use std::path::PathBuf;

use cahoots_lab::LabError;
use clap_complete::Shell;

use crate::print;

/// Print what a shell needs to complete this command's names and options.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cahoots completions bash > ~/.local/share/bash-completion/completions/cahoots
  cahoots completions zsh > ~/.zfunc/_cahoots
  cahoots completions fish > ~/.config/fish/completions/cahoots.fish")]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

/// Print the manual page, or write those of all commands to a folder.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cahoots man | man -l -
  cahoots man ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Folder for a page per command.
    dir: Option<PathBuf>,
}

pub(crate) fn completions(args: &Completions, mut command: clap::Command) -> Result<(), LabError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "cahoots", &mut text);
    print::out(&String::from_utf8_lossy(&text))
}

pub(crate) fn man(args: &Man, command: clap::Command) -> Result<(), LabError> {
    if let Some(dir) = &args.dir {
        std::fs::create_dir_all(dir).map_err(|error| LabError::io("create", dir, &error))?;
        return clap_mangen::generate_to(command, dir).map_err(|error| LabError::io("write to", dir, &error));
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut text)
        .map_err(|error| LabError::Failed(format!("cannot write the manual page: {error}")))?;
    print::out(&String::from_utf8_lossy(&text))
}
