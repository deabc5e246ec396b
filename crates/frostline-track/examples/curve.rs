//! Shows a table of numbers in the dashboards that people have open: each line of a CSV file is a step, each column a curve.
//! `cargo run -p frostline-track --example curve -- FILE.csv FOLDER`, then `tensorboard --logdir FOLDER/tensorboard` or
//! `wandb sync FOLDER/wandb/offline-run-*`. Without arguments it writes a falling loss into a temporary folder.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use frostline_track::{Background, Ending, Parameter, Point, Run, TensorBoard, Value, WeightsAndBiases};

type ExampleError = Box<dyn std::error::Error>;

fn main() -> Result<(), ExampleError> {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    match &arguments[..] {
        [file, folder] => send_table(&std::fs::read_to_string(file)?, Path::new(folder)),
        [] => {
            let folder = own_folder();
            send_table(&built_in_table(), &folder)?;
            println!("written to {}", folder.display());
            Ok(())
        }
        _ => Err("usage: curve FILE.csv FOLDER".into()),
    }
}

fn own_folder() -> PathBuf {
    std::env::temp_dir().join(format!("frostline-curve-{}", std::process::id()))
}

fn built_in_table() -> String {
    let line = |step: u32| format!("{step},{}\n", 2.0 / f64::from(step));
    "step,train/loss_nats\n".to_string() + &(1..=50).map(line).collect::<String>()
}

/// Sends the table's lines to both trackers, on a separate thread that finishes when it is dropped.
fn send_table(table: &str, folder: &Path) -> Result<(), ExampleError> {
    let mut lines = table.lines();
    let names: Vec<&str> = lines.next().ok_or("the table is empty")?.split(',').skip(1).collect();
    let background = Background::start_thread(
        vec![
            Box::new(TensorBoard::new(folder.join("tensorboard"))),
            Box::new(WeightsAndBiases::new(folder.join("wandb"))),
        ],
        |warning| eprintln!("{warning}"),
    );
    background.start(Run {
        id: "7ab1e000".into(),
        name: "a table".into(),
        experiment: "tables".into(),
        parameters: vec![Parameter {
            name: "columns".into(),
            value: Value::Number(names.len() as f64),
            compared: true,
        }],
        started: SystemTime::now(),
        step: 0,
    });
    for line in lines {
        let (step, values) =
            line.split_once(',').ok_or_else(|| format!("{line:?}: expected step,value,..."))?;
        let values: Result<Vec<f64>, _> = values.split(',').map(str::parse).collect();
        let values = names.iter().map(|name| (*name).to_string().into()).zip(values?).collect();
        background.log("7ab1e000", Point { step: step.parse()?, time: SystemTime::now(), values });
    }
    background.end("7ab1e000", Ending::Finished);
    Ok(())
}

#[test]
fn both_trackers_have_written() {
    let folder = own_folder();
    send_table(&built_in_table(), &folder).unwrap();
    for tracker in ["tensorboard", "wandb"] {
        assert!(folder.join(tracker).read_dir().unwrap().next().is_some(), "{tracker}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
