//! The server models of thesis section 3.7.6 (Figure 3.15), per connection.

use std::collections::VecDeque;

/// How a server treats several requests on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerModel {
    /// One request is processed at a time.
    Serial,
    /// Requests are processed at once, responses queued in order of the requests.
    Parallel,
    /// Requests are processed at once and answered when ready.
    OutOfOrder,
}

/// The requests of one connection at its server. Requests are numbered by the caller, who also keeps
/// the time: a request that is to start comes back to `on_processed` after its processing delay.
#[derive(Clone, Debug)]
pub struct ServerConnection {
    model: ServerModel,
    /// Requests without a response yet, oldest first, and whether they are processed.
    requests: VecDeque<(u32, bool)>,
}

impl ServerConnection {
    /// A connection without requests.
    pub fn new(model: ServerModel) -> Self {
        ServerConnection { model, requests: VecDeque::new() }
    }

    /// A request arrived; returns it if its processing starts now.
    pub fn on_request(&mut self, request: u32) -> Option<u32> {
        self.requests.push_back((request, false));
        let starts = self.model != ServerModel::Serial || self.requests.len() == 1;
        starts.then_some(request)
    }

    /// The processing of `request` ended. Call [`poll_response`](Self::poll_response) until `None`,
    /// then [`next_to_start`](Self::next_to_start).
    pub fn on_processed(&mut self, request: u32) {
        if let Some(entry) = self.requests.iter_mut().find(|(r, _)| *r == request) {
            entry.1 = true;
        }
    }

    /// The next response to write.
    pub fn poll_response(&mut self) -> Option<u32> {
        let ready = match self.model {
            ServerModel::OutOfOrder => self.requests.iter().position(|(_, done)| *done)?,
            ServerModel::Serial | ServerModel::Parallel => {
                self.requests.front().filter(|(_, done)| *done).map(|_| 0)?
            }
        };
        self.requests.remove(ready).map(|(r, _)| r)
    }

    /// After a response: the request whose processing starts now, at a serial server.
    pub fn next_to_start(&self) -> Option<u32> {
        match self.model {
            ServerModel::Serial => self.requests.front().map(|(r, _)| *r),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn responses(c: &mut ServerConnection) -> Vec<u32> {
        std::iter::from_fn(|| c.poll_response()).collect()
    }

    #[test]
    fn a_serial_server_starts_a_request_when_the_one_before_is_answered() {
        let mut c = ServerConnection::new(ServerModel::Serial);
        assert_eq!(c.on_request(1), Some(1));
        assert_eq!(c.on_request(2), None);
        c.on_processed(1);
        assert_eq!(responses(&mut c), [1]);
        assert_eq!(c.next_to_start(), Some(2));
        c.on_processed(2);
        assert_eq!(responses(&mut c), [2]);
        assert_eq!(c.next_to_start(), None);
    }

    #[test]
    fn a_parallel_server_holds_a_response_behind_an_earlier_slower_one() {
        let mut c = ServerConnection::new(ServerModel::Parallel);
        assert_eq!((c.on_request(1), c.on_request(2)), (Some(1), Some(2)));
        c.on_processed(2);
        assert!(responses(&mut c).is_empty());
        c.on_processed(1);
        assert_eq!(responses(&mut c), [1, 2]);
        assert_eq!(c.next_to_start(), None);
    }

    #[test]
    fn an_out_of_order_server_answers_when_ready() {
        let mut c = ServerConnection::new(ServerModel::OutOfOrder);
        assert_eq!((c.on_request(1), c.on_request(2)), (Some(1), Some(2)));
        c.on_processed(2);
        assert_eq!(responses(&mut c), [2]);
        c.on_processed(1);
        assert_eq!(responses(&mut c), [1]);
    }
}
