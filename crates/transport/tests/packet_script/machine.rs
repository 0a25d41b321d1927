//! The endpoint of a script: one path, or several subflows.

use loadpath_net::SimTime;
use loadpath_transport::*;

/// Either kind; segments of a single path are those of subflow 0.
pub enum Machine {
    Single(Box<Endpoint>),
    Several(Box<MultipathEndpoint>),
}

macro_rules! either {
    ($self:ident, $endpoint:ident => $result:expr) => {
        match $self {
            Machine::Single($endpoint) => $result,
            Machine::Several($endpoint) => $result,
        }
    };
}

impl Machine {
    pub fn on_segment(&mut self, now: SimTime, segment: &MultipathSegment) {
        match self {
            Machine::Single(endpoint) => endpoint.on_segment(now, &segment.tcp),
            Machine::Several(endpoint) => endpoint.on_segment(now, segment),
        }
    }

    pub fn poll_transmit(&mut self, now: SimTime) -> Option<MultipathSegment> {
        match self {
            Machine::Single(endpoint) => {
                let (_, tcp) = endpoint.poll_transmit(now)?;
                Some(MultipathSegment { tcp, ..MultipathSegment::default() })
            }
            Machine::Several(endpoint) => endpoint.poll_transmit(now).map(|(_, s)| s),
        }
    }

    pub fn connect(&mut self, now: SimTime) {
        either!(self, e => e.connect(now));
    }

    pub fn write(&mut self, message: Message) {
        either!(self, e => e.write(message));
    }

    pub fn close(&mut self) {
        either!(self, e => e.close());
    }

    pub fn read(&mut self) -> Option<Delivery> {
        either!(self, e => e.read())
    }

    pub fn on_timeout(&mut self, now: SimTime) {
        either!(self, e => e.on_timeout(now));
    }

    pub fn next_timeout(&self) -> Option<SimTime> {
        either!(self, e => e.next_timeout())
    }

    pub fn is_established(&self) -> bool {
        either!(self, e => e.is_established())
    }

    /// What a name asks of the connection as a whole, where there are several subflows.
    pub fn of_connection(&self, name: &str) -> Option<String> {
        let Machine::Several(e) = self else { return None };
        Some(match name {
            "outstanding" => e.outstanding_bytes().to_string(),
            "unsent" => e.unsent_bytes().to_string(),
            "established" => e.is_established().to_string(),
            "closed" => e.is_closed().to_string(),
            "peer_closed" => e.peer_closed().to_string(),
            "failure" => e.failure().map_or("none".into(), |f| format!("{f:?}")),
            "reinjections" => e.reinjections().to_string(),
            _ => return None,
        })
    }

    /// The endpoint of a subflow.
    pub fn subflow(&self, number: usize) -> Option<&Endpoint> {
        match self {
            Machine::Single(endpoint) => (number == 0).then_some(endpoint),
            Machine::Several(endpoint) => endpoint.subflows().nth(number).map(|(_, e)| e),
        }
    }
}
