//! Sets `cfg(mechanic_data)` where the variable `MECHANIC_DATA` names the folder of real files, so that tests that need them are
//! counted as ignored elsewhere, never as passed.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(mechanic_data)");
    println!("cargo::rerun-if-env-changed=MECHANIC_DATA");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("MECHANIC_DATA").is_some_and(|dir| std::path::Path::new(&dir).is_dir()) {
        println!("cargo::rustc-cfg=mechanic_data");
    }
}
