//! Owns the texts of `queries/`, embedded at build time: named queries, the relations they share, and the views that are more than a table.

include!(concat!(env!("OUT_DIR"), "/queries.rs"));
