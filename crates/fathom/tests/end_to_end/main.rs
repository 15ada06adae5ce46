//! The real binary, end to end: every promise of the command line is kept on real files, loop devices, signals and pipes.
//!
//! Each test has a folder and a store of its own. What needs root, a device, or another program is probed, and what is
//! missing is said aloud on standard error.

mod bad_jobs;
mod bad_targets;
mod by_target;
mod commands;
mod comparison;
mod connections;
mod control;
mod convert;
mod devices;
mod examples;
mod iometer;
mod iometer_workers;
mod job_commands;
mod names;
mod operations;
mod outputs;
mod ownership;
mod pages;
mod peer;
mod peer_command_line;
mod peer_contents;
mod peer_corpus;
mod peer_distributions;
mod peer_failures;
mod peer_faults;
mod peer_grammar;
mod peer_help;
mod peer_logs;
mod peer_memory_devices;
mod peer_places;
mod peer_rates;
mod peer_reports;
mod peer_settling;
mod peer_setup;
mod peer_table;
mod peer_traces;
mod provoked;
mod questions;
mod results;
mod scale;
mod scans;
mod seeds;
mod sequences;
mod serve;
mod short_transfers;
mod signals;
mod steady;
mod support;
mod tables;
mod terminal;
mod trees;
mod verify;
mod wrappers;
