//! The simulated world: a pure function from scenario and page to outcome.

pub mod outcome;
pub mod scenario;
