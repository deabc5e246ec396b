//! Serves the taggers of folders on a free port until Ctrl-C.
//!
//! `cargo run -p frostline-server --example serve_folders -- en=study/cells/CELL MODEL`

use frostline_server::{NamedFolder, ServedModels, Server, ServerLimits, ServerSettings, until_signal};

fn main() -> anyhow::Result<()> {
    let folders = std::env::args().skip(1).map(|folder| folder.parse());
    let folders: Vec<NamedFolder> = folders.collect::<Result<_, _>>().map_err(anyhow::Error::msg)?;
    let models = ServedModels::load(&folders, &Default::default())?;
    println!("{:?}", models.taggers().sharing());
    let listen = "127.0.0.1:0".parse()?;
    let settings = ServerSettings { listen, names: vec![], limits: ServerLimits::default() };
    let server = Server::bind(models, settings)?;
    println!("curl -d '{{\"text\": \"The ice melts.\"}}' http://{}/v1/tag", server.address()?);
    server.run(until_signal())?;
    Ok(())
}
