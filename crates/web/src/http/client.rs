//! The client's connection pools: one a host name, connections opened when first needed.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::Protocol;

/// A connection of the load, numbered in order of opening.
pub type ConnectionId = u32;

/// What the client wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a connection; report [`Client::on_ready`] when it can carry requests.
    Open {
        /// Its number: one more than that of the connection opened before.
        connection: ConnectionId,
        /// Index of the host.
        host: u32,
    },
    /// Send this request now.
    Send {
        /// Where.
        connection: ConnectionId,
        /// The request.
        request: u32,
    },
}

/// Which request is served first where connections carry one at a time, and by which of several that
/// are idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolOrder {
    /// The one that came first; the connection that was opened first.
    Arrival,
    /// The most urgent; the connection that was used last, or opened first if none was used (Chromium,
    /// net/socket/transport_client_socket_pool.cc, `unbound_requests_` and `AssignIdleSocketToRequest`).
    Urgency,
}

/// All connection pools of one page load.
#[derive(Debug)]
pub struct Client {
    protocol: &'static Protocol,
    max_connections: u32,
    order: PoolOrder,
    /// Responses that have come.
    responses: u64,
    pools: Vec<Pool>,
    connections: Vec<Connection>,
    actions: VecDeque<Action>,
}

#[derive(Debug, Default)]
struct Pool {
    /// Open or opening connections.
    connections: Vec<ConnectionId>,
    /// Requests that wait for a connection of their own turn (one request a connection at a time).
    waiting: VecDeque<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: u32,
    /// Lower is more urgent; all alike in order of arrival.
    urgency: u32,
}

#[derive(Debug)]
struct Connection {
    host: u32,
    ready: bool,
    outstanding: u32,
    /// The number of its last response among all, 0 if there was none.
    last_response: u64,
    /// Requests given to the connection before it was ready.
    held: VecDeque<u32>,
}

impl Client {
    /// Pools for `hosts` hosts of at most `max_connections` connections each.
    pub fn new(
        protocol: &'static Protocol,
        hosts: usize,
        max_connections: u32,
        order: PoolOrder,
    ) -> Self {
        Client {
            protocol,
            max_connections,
            order,
            responses: 0,
            pools: (0..hosts).map(|_| Pool::default()).collect(),
            connections: Vec::new(),
            actions: VecDeque::new(),
        }
    }

    /// The browser wants `request` from `host`; a lower `urgency` is more urgent.
    pub fn request(&mut self, request: u32, host: u32, urgency: u32) {
        match self.protocol.max_outstanding {
            Some(limit) => {
                let urgency = if self.order == PoolOrder::Urgency { urgency } else { 0 };
                self.request_when_free(Waiting { request, urgency }, host, limit);
            }
            None => self.request_at_once(request, host),
        }
    }

    /// A request has become more urgent.
    pub fn promote(&mut self, request: u32, host: u32, urgency: u32) {
        let waiting = &mut self.pools[host as usize].waiting;
        if self.order == PoolOrder::Urgency
            && let Some(place) = waiting.iter().position(|w| w.request == request)
        {
            waiting.remove(place);
            let place = waiting.partition_point(|before| before.urgency <= urgency);
            waiting.insert(place, Waiting { request, urgency });
        }
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// `connection` can carry requests.
    pub fn on_ready(&mut self, connection: ConnectionId) {
        let c = &mut self.connections[connection as usize];
        c.ready = true;
        while let Some(request) = c.held.pop_front() {
            self.actions.push_back(Action::Send { connection, request });
        }
        self.fill(connection);
    }

    /// A response on `connection` is complete.
    pub fn on_response(&mut self, connection: ConnectionId) {
        self.responses += 1;
        let c = &mut self.connections[connection as usize];
        c.outstanding -= 1;
        c.last_response = self.responses;
        if self.protocol.closes_after_response {
            self.retire(connection);
        } else {
            self.fill(connection);
        }
    }

    /// An idle connection, else a new one, else wait for whichever is free first.
    fn request_when_free(&mut self, new: Waiting, host: u32, limit: u32) {
        let pool = &mut self.pools[host as usize];
        let mut free = pool.connections.iter().copied().filter(|&c| {
            let c = &self.connections[c as usize];
            c.ready && c.outstanding < limit
        });
        let chosen = match self.order {
            PoolOrder::Arrival => free.next(),
            PoolOrder::Urgency => {
                free.max_by_key(|&c| (self.connections[c as usize].last_response, Reverse(c)))
            }
        };
        if let Some(connection) = chosen {
            self.connections[connection as usize].outstanding += 1;
            self.actions.push_back(Action::Send { connection, request: new.request });
            return;
        }
        let place = pool.waiting.partition_point(|before| before.urgency <= new.urgency);
        pool.waiting.insert(place, new);
        self.open_for_waiting(host);
    }

    /// Any number under way: the connection with the fewest, where a new one has none.
    fn request_at_once(&mut self, request: u32, host: u32) {
        let pool = &self.pools[host as usize];
        let least = pool
            .connections
            .iter()
            .copied()
            .min_by_key(|&c| (self.connections[c as usize].outstanding, c));
        let connection = match least {
            Some(c)
                if self.connections[c as usize].outstanding == 0
                    || pool.connections.len() as u32 >= self.max_connections =>
            {
                c
            }
            _ => self.open(host),
        };
        let c = &mut self.connections[connection as usize];
        c.outstanding += 1;
        if c.ready {
            self.actions.push_back(Action::Send { connection, request });
        } else {
            c.held.push_back(request);
        }
    }

    /// Opens connections while more requests wait than connections are being opened for them.
    fn open_for_waiting(&mut self, host: u32) {
        loop {
            let pool = &self.pools[host as usize];
            let opening =
                pool.connections.iter().filter(|&&c| !self.connections[c as usize].ready).count();
            if opening >= pool.waiting.len()
                || pool.connections.len() as u32 >= self.max_connections
            {
                return;
            }
            self.open(host);
        }
    }

    fn open(&mut self, host: u32) -> ConnectionId {
        let connection = self.connections.len() as ConnectionId;
        self.connections.push(Connection {
            host,
            ready: false,
            outstanding: 0,
            last_response: 0,
            held: VecDeque::new(),
        });
        self.pools[host as usize].connections.push(connection);
        self.actions.push_back(Action::Open { connection, host });
        connection
    }

    /// Gives waiting requests to a connection that has room.
    fn fill(&mut self, connection: ConnectionId) {
        let Some(limit) = self.protocol.max_outstanding else { return };
        let c = &mut self.connections[connection as usize];
        while c.outstanding < limit {
            let Some(next) = self.pools[c.host as usize].waiting.pop_front() else { return };
            c.outstanding += 1;
            self.actions.push_back(Action::Send { connection, request: next.request });
        }
    }

    fn retire(&mut self, connection: ConnectionId) {
        let host = self.connections[connection as usize].host;
        self.pools[host as usize].connections.retain(|&c| c != connection);
        self.open_for_waiting(host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: &str, max: u32) -> Client {
        Client::new(Protocol::by_name(name).unwrap(), 2, max, PoolOrder::Arrival)
    }

    fn actions(c: &mut Client) -> Vec<Action> {
        std::iter::from_fn(|| c.poll_action()).collect()
    }

    const fn open(connection: u32, host: u32) -> Action {
        Action::Open { connection, host }
    }
    const fn send(connection: u32, request: u32) -> Action {
        Action::Send { connection, request }
    }

    #[test]
    fn http_1_1_opens_up_to_its_limit_and_queues_the_rest_in_order() {
        let mut c = client("http/1.1", 2);
        for r in 0..4 {
            c.request(r, 0, 0);
        }
        assert_eq!(actions(&mut c), [open(0, 0), open(1, 0)]);
        c.on_ready(1);
        assert_eq!(actions(&mut c), [send(1, 0)], "first free connection, first request");
        c.on_ready(0);
        assert_eq!(actions(&mut c), [send(0, 1)]);
        c.on_response(1);
        assert_eq!(actions(&mut c), [send(1, 2)]);
    }

    #[test]
    fn http_1_1_reuses_an_idle_connection() {
        let mut c = client("http/1.1", 6);
        c.request(0, 0, 0);
        c.on_ready(0);
        c.on_response(0);
        actions(&mut c);
        c.request(1, 0, 0);
        assert_eq!(actions(&mut c), [send(0, 1)]);
    }

    #[test]
    fn http_1_0_opens_a_connection_for_every_request() {
        let mut c = client("http/1.0", 1);
        c.request(0, 0, 0);
        c.request(1, 0, 0);
        c.on_ready(0);
        assert_eq!(actions(&mut c), [open(0, 0), send(0, 0)]);
        c.on_response(0);
        assert_eq!(actions(&mut c), [open(1, 0)]);
        c.on_ready(1);
        assert_eq!(actions(&mut c), [send(1, 1)]);
    }

    #[test]
    fn http_2_sends_everything_on_one_connection_once_it_is_ready() {
        let mut c = client("http/2", 1);
        c.request(0, 0, 0);
        c.request(1, 0, 0);
        c.request(2, 1, 0);
        assert_eq!(actions(&mut c), [open(0, 0), open(1, 1)]);
        c.on_ready(0);
        assert_eq!(actions(&mut c), [send(0, 0), send(0, 1)]);
        c.request(3, 0, 0);
        assert_eq!(actions(&mut c), [send(0, 3)]);
    }

    #[test]
    fn http_2_with_two_connections_takes_the_one_with_fewer_requests() {
        let mut c = client("http/2", 2);
        for r in 0..3 {
            c.request(r, 0, 0);
        }
        assert_eq!(actions(&mut c), [open(0, 0), open(1, 0)]);
        c.on_ready(0);
        c.on_ready(1);
        assert_eq!(actions(&mut c), [send(0, 0), send(0, 2), send(1, 1)]);
    }

    #[test]
    fn the_most_urgent_request_goes_first_on_the_connection_that_was_used_last() {
        let protocol = Protocol::by_name("http/1.1").unwrap();
        let mut c = Client::new(protocol, 1, 2, PoolOrder::Urgency);
        for (request, urgency) in [(0, 3), (1, 3), (2, 3), (3, 0), (4, 3)] {
            c.request(request, 0, urgency);
        }
        actions(&mut c);
        c.on_ready(0);
        c.on_ready(1);
        assert_eq!(actions(&mut c), [send(0, 3), send(1, 0)]);
        c.on_response(0);
        c.on_response(0);
        c.on_response(0);
        c.on_response(1);
        assert_eq!(actions(&mut c), [send(0, 1), send(0, 2), send(0, 4)]);
        c.on_response(0);
        c.request(5, 0, 0);
        assert_eq!(actions(&mut c), [send(0, 5)], "both are idle");
        c.on_response(0);

        let mut unused = Client::new(protocol, 1, 2, PoolOrder::Urgency);
        unused.request(0, 0, 0);
        unused.request(1, 0, 0);
        unused.on_ready(1);
        unused.on_response(1);
        unused.on_response(1);
        unused.on_ready(0);
        actions(&mut unused);
        unused.request(2, 0, 0);
        assert_eq!(actions(&mut unused), [send(1, 2)], "a used one before one that was not");
    }
}
