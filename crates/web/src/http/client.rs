//! The client's connection pools: one a host name, connections opened when first needed.

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

/// All connection pools of one page load.
#[derive(Debug)]
pub struct Client {
    protocol: &'static Protocol,
    max_connections: u32,
    pools: Vec<Pool>,
    connections: Vec<Connection>,
    actions: VecDeque<Action>,
}

#[derive(Debug, Default)]
struct Pool {
    /// Open or opening connections.
    connections: Vec<ConnectionId>,
    /// Requests that wait for a connection of their own turn (one request a connection at a time).
    waiting: VecDeque<u32>,
}

#[derive(Debug)]
struct Connection {
    host: u32,
    ready: bool,
    outstanding: u32,
    /// Requests given to the connection before it was ready.
    held: VecDeque<u32>,
}

impl Client {
    /// Pools for `hosts` hosts of at most `max_connections` connections each.
    pub fn new(protocol: &'static Protocol, hosts: usize, max_connections: u32) -> Self {
        Client {
            protocol,
            max_connections,
            pools: (0..hosts).map(|_| Pool::default()).collect(),
            connections: Vec::new(),
            actions: VecDeque::new(),
        }
    }

    /// The browser wants `request` from `host`.
    pub fn request(&mut self, request: u32, host: u32) {
        match self.protocol.max_outstanding {
            Some(limit) => self.request_when_free(request, host, limit),
            None => self.request_at_once(request, host),
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
        self.connections[connection as usize].outstanding -= 1;
        if self.protocol.closes_after_response {
            self.retire(connection);
        } else {
            self.fill(connection);
        }
    }

    /// First in, first out: an idle connection, else a new one, else wait for whichever is free
    /// first.
    fn request_when_free(&mut self, request: u32, host: u32, limit: u32) {
        let pool = &mut self.pools[host as usize];
        let free = pool.connections.iter().copied().find(|&c| {
            let c = &self.connections[c as usize];
            c.ready && c.outstanding < limit
        });
        if let Some(connection) = free {
            self.connections[connection as usize].outstanding += 1;
            self.actions.push_back(Action::Send { connection, request });
            return;
        }
        pool.waiting.push_back(request);
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
            let Some(request) = self.pools[c.host as usize].waiting.pop_front() else { return };
            c.outstanding += 1;
            self.actions.push_back(Action::Send { connection, request });
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
        Client::new(Protocol::by_name(name).unwrap(), 2, max)
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
            c.request(r, 0);
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
        c.request(0, 0);
        c.on_ready(0);
        c.on_response(0);
        actions(&mut c);
        c.request(1, 0);
        assert_eq!(actions(&mut c), [send(0, 1)]);
    }

    #[test]
    fn http_1_0_opens_a_connection_for_every_request() {
        let mut c = client("http/1.0", 1);
        c.request(0, 0);
        c.request(1, 0);
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
        c.request(0, 0);
        c.request(1, 0);
        c.request(2, 1);
        assert_eq!(actions(&mut c), [open(0, 0), open(1, 1)]);
        c.on_ready(0);
        assert_eq!(actions(&mut c), [send(0, 0), send(0, 1)]);
        c.request(3, 0);
        assert_eq!(actions(&mut c), [send(0, 3)]);
    }

    #[test]
    fn http_2_with_two_connections_takes_the_one_with_fewer_requests() {
        let mut c = client("http/2", 2);
        for r in 0..3 {
            c.request(r, 0);
        }
        assert_eq!(actions(&mut c), [open(0, 0), open(1, 0)]);
        c.on_ready(0);
        c.on_ready(1);
        assert_eq!(actions(&mut c), [send(0, 0), send(0, 2), send(1, 1)]);
    }
}
