//! Entry point
fn main() {}
