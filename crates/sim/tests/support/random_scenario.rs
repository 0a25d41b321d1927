//! Random scenarios.
