//! Sets `cfg(demo_weights)` if the demo encoder's pretrained weights are committed, so that the library also
//! compiles without them: the program that makes them needs this library.

use std::path::Path;

fn main() {
    let weights = "demo/demo-distilbert/model.safetensors";
    println!("cargo::rustc-check-cfg=cfg(demo_weights)");
    println!("cargo::rerun-if-changed=demo/demo-distilbert");
    if Path::new(weights).exists() {
        println!("cargo::rustc-cfg=demo_weights");
    }
}
