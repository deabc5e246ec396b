//! Output for programs and people while a sweep runs: `--json`, `--quiet`, and `watch` and `serve` on its
//! folder.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use frostline_e2e::{CellDeed, Ended, World, start_captured};
use serde_json::Value;

use crate::{new_world, show_ended};

/// `frostline` in this world.
fn frostline_command(world: &World, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner-under-test"));
    command.args(arguments).current_dir(world.path_of(""));
    command
}

/// Returns the objects of an output with one per line.
fn json_objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

fn count_events(events: &[Value], name: &str) -> usize {
    events.iter().filter(|event| event["event"] == name).count()
}

#[test]
fn json_has_one_object_per_event_and_nothing_else() {
    let world = new_world();
    world.set_script(&[("pcm none seed 1", CellDeed::Fail)]);
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--json"]));
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let events = json_objects(&ended.out);
    assert_eq!(events[0]["event"], "begin");
    assert_eq!(events[0]["cells"], 8);
    assert_eq!(
        (count_events(&events, "started"), count_events(&events, "done"), count_events(&events, "failed")),
        (8, 7, 1)
    );
    assert!(count_events(&events, "step") >= 7 && count_events(&events, "epoch") >= 7);
    let done = events.iter().find(|event| event["event"] == "done").expect("a cell");
    assert!(done["accuracy"]["dev"].is_f64() && done["total_s"].is_f64(), "{done}");
    let last = events.last().expect("an end");
    assert_eq!((&last["event"], &last["done"], &last["failed"]), (&"end".into(), &7.into(), &1.into()));
    // The text for people is printed too, on the other stream.
    assert!(ended.err.contains("report/"), "{}", ended.err);

    let again = json_objects(&Ended::run_to_end(&mut world.work_command(&["--failed", "--json"])).out);
    assert_eq!(
        (count_events(&again, "begin"), count_events(&again, "failed"), count_events(&again, "end")),
        (1, 1, 1)
    );
}

#[test]
fn quiet_says_what_failed_and_nothing_else() {
    let world = new_world();
    let ended = Ended::run_to_end(&mut world.sweep_command(&["--quiet", "--lang", "en"]));
    assert_eq!(show_ended(&world, &ended), "exit code 0\n--- out\n--- err\n");
    world.set_script(&[("pcm none seed 1", CellDeed::Fail)]);
    let ended = Ended::run_to_end(&mut world.sweep_command(&["-q"]));
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(ended.err.starts_with("pcm none seed 1: FAILED: "), "{}", ended.err);
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
}

#[test]
fn a_finished_sweep_can_be_watched() {
    let world = new_world();
    world.set_script(&[("pcm none seed 1", CellDeed::Fail)]);
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(1));
    let once = Ended::run_to_end(&mut frostline_command(&world, &["watch", "out", "--once"]));
    insta::assert_snapshot!(show_ended(&world, &once));
    // If there is no terminal it is the same.
    assert_eq!(Ended::run_to_end(&mut frostline_command(&world, &["watch", "out"])).out, once.out);

    let state = json_objects(
        &Ended::run_to_end(&mut frostline_command(&world, &["watch", "out", "--once", "--json"])).out,
    );
    assert_eq!((&state[0]["counts"]["done"], &state[0]["counts"]["failed"]), (&7.into(), &1.into()));
    let ended = Ended::run_to_end(&mut frostline_command(&world, &["watch", "out", "--json"]));
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        json_objects(&ended.out).iter().map(|event| event["event"].clone()).collect::<Vec<_>>(),
        ["begin", "end"]
    );

    let none = Ended::run_to_end(&mut frostline_command(&world, &["watch", "data"]));
    assert_eq!(none.code, Some(3));
    assert!(none.err.contains("holds no sweep"), "{}", none.err);
}

#[cfg(unix)]
#[test]
fn a_running_sweep_is_watched_from_its_folder_alone() {
    let world = new_world();
    world.set_script(&[("pcm none seed 1", CellDeed::Hang)]);
    let mut sweep = start_captured(&mut world.sweep_command(&[]));
    world.wait_until("the sweep", || world.path_of("out/sweep.json").exists());
    let mut watch =
        start_captured(&mut frostline_command(&world, &["watch", "out", "--json", "--every-s", "0.1"]));
    let mut lines = BufReader::new(watch.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let hangs = |line: &String| line.contains("started") && line.contains("pcm none seed 1");
    assert!(lines.any(|line| hangs(&line)), "the cell that hangs is seen");
    let once = Ended::run_to_end(&mut frostline_command(&world, &["watch", "out", "--once"]));
    assert!(
        once.out.contains("running   pcm none seed 1: xtask sweep on")
            || once.out.contains("running   pcm none seed 1: frostline sweep on"),
        "{}",
        once.out
    );
    // The sweep cannot see this process.
    sweep.kill().expect("killed");
    sweep.wait().expect("ended");
    assert!(lines.any(|line| line.contains(r#""event":"left""#)), "the dead process is seen");
    world.set_script(&[]);
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    assert!(lines.any(|line| line.contains(r#""event":"end","cells":8,"done":8,"failed":0"#)));
    assert_eq!(watch.wait().expect("ended").code(), Some(0));
}

#[test]
fn the_live_page_is_served_with_the_report() {
    let world = new_world();
    assert_eq!(Ended::run_to_end(&mut world.sweep_command(&[])).code, Some(0));
    // A folder that other users cannot read.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(world.path_of("out"), private).expect("its mode is set");
    }
    let mut server =
        start_captured(&mut frostline_command(&world, &["serve", "out", "--listen", "127.0.0.1:0"]));
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("its output")).read_line(&mut line).expect("an address");
    let at =
        line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_string();
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(&at).expect("a connection");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let token = line.split("?token=").nth(1).and_then(|rest| rest.split(' ').next()).expect("a token");
    assert!(ask("/status.json").starts_with("HTTP/1.1 401"));
    let get = |path: &str| ask(&format!("{path}?token={token}"));
    assert!(get("/").starts_with("HTTP/1.1 303"), "the token does not stay in the address");
    assert!(get("/live.js").contains("status.json"));
    assert!(get("/status.json").contains(r#""done":8"#));
    let page = std::fs::read_to_string(world.path_of("out/report/index.html")).expect("the page");
    assert!(get("/report/index.html").ends_with(&page), "it is the page of the report");
    let taken = Ended::run_to_end(&mut frostline_command(&world, &["serve", "out", "--listen", &at]));
    assert_eq!(taken.code, Some(3));
    assert!(taken.err.contains("0 for any free one"), "{}", taken.err);
    server.kill().expect("killed");
    server.wait().expect("ended");
}
