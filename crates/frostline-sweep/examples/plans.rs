//! What the built-in plans would run: the cells of each, by language, policy and seed, with settings changed as on the
//! command line. `cargo run -p frostline-sweep --example plans -- data.first=500`.

use frostline_record::{Plan, PlanError};
use frostline_sweep::BUILT_IN;

fn main() -> Result<(), PlanError> {
    let changes: Vec<String> = std::env::args().skip(1).filter(|change| change.contains('=')).collect();
    for built_in in BUILT_IN {
        match count_cells_and_epochs(built_in.name, built_in.text, &changes) {
            Ok((cells, epochs)) => println!("{:<20} {cells:>4} cells {epochs:>6} epochs", built_in.name),
            // A stage may have its own value, or a plan no such setting.
            Err(error) => println!("{:<20} {error}", built_in.name),
        }
    }
    Ok(())
}

/// The number of a plan's cells, and of their epochs in all stages.
fn count_cells_and_epochs(name: &str, text: &str, changes: &[String]) -> Result<(usize, u32), PlanError> {
    let mut plan = Plan::parse(text, name)?;
    for change in changes {
        plan.assign(change)?;
    }
    let cells = plan.expand()?;
    let mut epochs = 0;
    for cell in &cells {
        epochs += cell.in_stages()?.iter().map(|(_, stage)| stage.train.epochs).sum::<u32>();
    }
    Ok((cells.len(), epochs))
}

#[test]
fn every_built_in_plan_has_cells() {
    for built_in in BUILT_IN {
        let (cells, _) = count_cells_and_epochs(built_in.name, built_in.text, &[]).unwrap();
        assert!(cells > 0, "{}", built_in.name);
    }
}
