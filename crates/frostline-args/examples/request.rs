//! The request that a command line of `frostline sweep` stands for.
//! `cargo run -p frostline-args --example request -- --plan paper --lang en --list`.

use clap::Parser;
use frostline_args::SweepArgs;

#[derive(Parser)]
struct ExampleLine {
    #[command(flatten)]
    sweep: SweepArgs,
}

/// Parses a command line; without arguments, one of its own.
fn parse_line(arguments: Vec<String>) -> ExampleLine {
    let own = ["sweep", "--lang", "en", "--seeds", "42-44"];
    if arguments.len() > 1 { ExampleLine::parse_from(arguments) } else { ExampleLine::parse_from(own) }
}

fn main() {
    match parse_line(std::env::args().collect()).sweep.into_command() {
        Ok(command) => println!("{command:#?}"),
        Err(error) => eprintln!("error: {:#}", error.error),
    }
}

#[test]
fn the_own_command_line_is_a_sweep() {
    let command = parse_line(Vec::new()).sweep.into_command().unwrap();
    let frostline_args::SweepCommand::Sweep(request) = command else { panic!("{command:?}") };
    assert_eq!(request.changes.seeds, [42, 43, 44]);
}
