//! The one integration-test binary: each module is one promise of the program, checked through the binary.

mod audit;
mod crash;
mod demo;
mod hand;
mod order;
mod real;
mod support;
mod truth;
