//! Tells the library whether the demo encoder's pretrained weights are committed, so that it also
//! compiles without them: they are made by a runner that itself needs this library.

use std::path::Path;

fn main() {
    let weights = "demo/demo-distilbert/model.safetensors";
    println!("cargo::rustc-check-cfg=cfg(demo_weights)");
    println!("cargo::rerun-if-changed=demo/demo-distilbert");
    if Path::new(weights).exists() {
        println!("cargo::rustc-cfg=demo_weights");
    }
}
