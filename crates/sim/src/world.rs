//! The simulated world: one page load over the topology of thesis Figure 3.17 or 6.2.
//!
//! A data packet costs two events (it reaches the switch, it reaches the client) and its share of an
//! ACK one more: departures behind a queue are computed, and towards the servers nothing merges on a
//! single path, so both hops of that way are computed at once. Packets of several paths merge at the
//! switch, which costs an event.

mod handshake;

use loadpath_net::{Direction, EventQueue, SimDuration, SimTime, Streams};
use loadpath_transport::{Message, MessageId, PathId, Transport, Wire};
use loadpath_web::browser::{Browser, Jitter};
use loadpath_web::graph::MimeClass;
use loadpath_web::http::tls::Handshake;
use loadpath_web::http::{Action, Asked, Client, Reassembly, ServerConnection, Throttle};
use loadpath_web::page::Page;

use crate::outcome::PacketEvent;
use crate::scenario::{End, Scenario};
use crate::settings::{Settings, browser_config};
use crate::topology::Topology;
use crate::trace::Tracer;

/// First message number of TLS flights; resources lie below.
const TLS_MESSAGES: u32 = u32::MAX - 15;
/// SETTINGS of either side, before its first request or response.
const PREFACE: MessageId = MessageId(TLS_MESSAGES + 8);
const SETTINGS_ACK: MessageId = MessageId(TLS_MESSAGES + 9);

#[derive(Clone, Copy, Debug)]
enum Event {
    ToSwitch { host: u32 },
    UpToSwitch { path: u8 },
    ToClient { path: u8 },
    ToServer { host: u32 },
    ClientTimer { connection: u32 },
    ServerTimer { connection: u32 },
    Processed { connection: u32, resource: u32 },
    NameResolved { connection: u32 },
    Stalled { resource: u32 },
    Browser,
}

#[derive(Clone, Copy)]
pub(crate) struct Packet<W> {
    connection: u32,
    segment: W,
}

/// `C` is an end of a connection.
pub(crate) struct World<'a, T, C: Transport> {
    pub(crate) page: &'a Page,
    pub(crate) tracer: T,
    pub(crate) browser: Browser<'a>,
    pub(crate) connections: Vec<Connection<C>>,
    pub(crate) timelines: Vec<Timeline>,
    /// Resources in order of request.
    pub(crate) requested: Vec<u32>,
    pub(crate) topology: Topology<Packet<C::Wire>>,
    pub(crate) now: SimTime,
    pub(crate) events_handled: u64,
    pub(crate) data_packets: u64,
    pub(crate) packets: u64,
    /// Packets that reach the next hop: one event a link.
    arrivals: EventQueue<Event>,
    /// Everything else, mostly retransmission timers far ahead, which would only make the queue of
    /// arrivals deeper.
    timers: EventQueue<Event>,
    client: Client,
    browser_armed: SimTime,
    throttle: Option<Throttle>,
    /// When the last request that was stalled reaches the network stack.
    stalled_until: SimTime,
    streams: Streams,
    client_transport: C::Config,
    server_transport: C::Config,
    settings: Settings,
}

pub(crate) struct Connection<C> {
    pub(crate) host: u32,
    pub(crate) client: C,
    pub(crate) server: C,
    /// When the server could first send on each subflow, where there are several.
    pub(crate) subflows_ready: Vec<Option<SimTime>>,
    pub(crate) opened: SimTime,
    pub(crate) ready: Option<SimTime>,
    pub(crate) requests: u64,
    responses: u64,
    client_armed: SimTime,
    server_armed: SimTime,
    http: ServerConnection,
    handshake_started: bool,
    handshake: Handshake,
    flight: Reassembly,
}

impl<C: Transport> Connection<C> {
    /// A segment of subflow `i` reached the server.
    #[inline]
    fn note_ready_subflows(&mut self, at: SimTime, i: u8) {
        if !matches!(self.subflows_ready.get(usize::from(i)), Some(Some(_))) {
            self.look_for_ready_subflows(at);
        }
    }

    #[inline(never)]
    fn look_for_ready_subflows(&mut self, at: SimTime) {
        let ready = self.server.subflows().map(|(_, subflow)| subflow.is_established());
        for (i, ready) in ready.enumerate() {
            if self.subflows_ready.len() <= i {
                self.subflows_ready.push(None);
            }
            if ready {
                self.subflows_ready[i].get_or_insert(at);
            }
        }
    }
}

/// When each step of a resource's download happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) connection: Option<u32>,
    pub(crate) preloaded: bool,
    /// Its request has high priority by now.
    raised: bool,
    pub(crate) requested: SimTime,
    pub(crate) request_sent: Option<SimTime>,
    pub(crate) request_arrived: Option<SimTime>,
    pub(crate) processing_started: Option<SimTime>,
    pub(crate) processed: Option<SimTime>,
    pub(crate) response_sent: Option<SimTime>,
    pub(crate) first_byte: Option<SimTime>,
    pub(crate) last_byte: Option<SimTime>,
    request_bytes: u64,
    response_header_bytes: u64,
    /// With the records around it.
    response_bytes: u64,
    body_received: u64,
    request: Reassembly,
    response: Reassembly,
}

impl Timeline {
    /// Body bytes that reached the browser in order.
    pub(crate) fn body_received(&self) -> u64 {
        self.body_received
    }
}

impl<'a, T: Tracer, C: Transport> World<'a, T, C> {
    pub(crate) fn new(
        page: &'a Page,
        scenario: &Scenario,
        transport: impl Fn(End) -> C::Config,
        run: u64,
        tracer: T,
        log: bool,
    ) -> Self {
        let streams = Streams::new(scenario.random.seed, run);
        let jitter = Jitter { fraction: scenario.browser.jitter_fraction, streams };
        let browser = Browser::new(page, &browser_config(scenario, jitter));
        let h = &scenario.http;
        World {
            page,
            tracer,
            browser: if log { browser.with_log() } else { browser },
            connections: Vec::with_capacity(page.hosts.len()),
            timelines: vec![Timeline::default(); page.resources.len()],
            requested: Vec::with_capacity(page.resources.len()),
            topology: Topology::new(scenario, page, &streams),
            now: SimTime::ZERO,
            events_handled: 0,
            data_packets: 0,
            packets: 0,
            arrivals: EventQueue::default(),
            timers: EventQueue::default(),
            client: Client::new(
                h.version,
                page.hosts.len(),
                h.connections_per_host.get() as u32,
                h.pool_order,
            ),
            throttle: scenario
                .browser
                .throttle
                .then(|| Throttle::new(page.frame_count(), page.hosts.len(), page.resources.len())),
            browser_armed: SimTime::MAX,
            stalled_until: SimTime::ZERO,
            streams,
            client_transport: transport(End::Client),
            server_transport: transport(End::Server),
            settings: Settings::new(scenario, jitter),
        }
    }

    /// Runs the load to its load event; the error says why there was none.
    pub(crate) fn run(&mut self) -> Result<(), String> {
        self.browser.start(self.now);
        self.follow_browser();
        while self.browser.load_event().is_none() {
            let next = self.next_event();
            let why = || self.browser.why_incomplete().unwrap_or_default();
            let Some((at, event)) = next else {
                return Err(format!("nothing left to do: {}", why()));
            };
            debug_assert!(at >= self.now, "time went back");
            if at > self.settings.time_limit {
                return Err(format!("not loaded by {}: {}", self.settings.time_limit, why()));
            }
            self.now = at;
            self.events_handled += 1;
            match event {
                Event::ToSwitch { host } => self.at_switch(host),
                Event::UpToSwitch { path } => self.up_at_switch(path),
                Event::ToClient { path } => self.at_client(path)?,
                Event::ToServer { host } => self.at_server(host)?,
                Event::ClientTimer { connection } => self.client_timer(connection)?,
                Event::ServerTimer { connection } => self.server_timer(connection)?,
                Event::Processed { connection, resource } => self.processed(connection, resource),
                Event::NameResolved { connection } => self.connect(connection),
                Event::Stalled { resource } => {
                    self.request(resource);
                    self.follow_browser();
                }
                Event::Browser => {
                    if self.browser_armed == at {
                        self.browser_armed = SimTime::MAX;
                        self.browser.on_timeout(at);
                        self.follow_browser();
                    }
                }
            }
        }
        Ok(())
    }

    /// The earliest event; at the same instant arrivals come before timers.
    #[inline]
    fn next_event(&mut self) -> Option<(SimTime, Event)> {
        if self.arrivals.settled_time() <= self.timers.settled_time() {
            self.arrivals.pop()
        } else {
            self.timers.pop()
        }
    }

    fn at_switch(&mut self, host: u32) {
        let link = &mut self.topology.servers[host as usize].to_switch;
        let Some((at, packet)) = link.poll(self.now) else { return };
        if let Some(next) = link.next_event() {
            self.arrivals.push(next, Event::ToSwitch { host });
        }
        let PathId(number) = packet.segment.path();
        let path = &mut self.topology.paths[usize::from(number)];
        let down = &mut self.topology.bottlenecks[path.bottleneck as usize].down;
        let queue = path.bottleneck.hop_index(Direction::Down);
        self.tracer.queue(at, queue, || down.occupancy(at));
        let tcp = packet.segment.tcp();
        let flow = (tcp.len > 0).then_some(packet.connection);
        match down.admit_of(flow, at, tcp.wire_bytes) {
            None => {
                let p = &packet;
                let (event, to) = (PacketEvent::Dropped, Direction::Down);
                self.tracer.packet(at, event, to, p.connection, &p.segment);
            }
            Some(delivery) => {
                let delivery = delivery + path.extra_delay;
                if path.down.is_empty() {
                    self.arrivals.push(delivery, Event::ToClient { path: number });
                }
                path.down.push(delivery, packet);
            }
        }
    }

    fn at_client(&mut self, number: u8) -> Result<(), String> {
        let lane = &mut self.topology.paths[usize::from(number)].down;
        let Some((at, Packet { connection, segment })) = lane.poll(self.now) else {
            return Ok(());
        };
        if let Some(next) = lane.next_event() {
            self.arrivals.push(next, Event::ToClient { path: number });
        }
        self.tracer.packet(at, PacketEvent::Delivered, Direction::Down, connection, &segment);
        let has_data = segment.tcp().len > 0;
        self.data_packets += u64::from(has_data);
        let c = &mut self.connections[connection as usize];
        c.client.on_segment(at, &segment);
        if has_data {
            self.read_responses(connection);
        }
        let c = &mut self.connections[connection as usize];
        if !c.handshake_started && c.client.is_established() {
            c.handshake_started = true;
            self.begin_handshake(connection);
        }
        let c = &mut self.connections[connection as usize];
        if c.client.peer_closed() && !c.client.is_closed() {
            c.client.close();
        }
        self.flush_client(connection)
    }

    /// A packet of one of several paths reaches the switch on its way to a server.
    fn up_at_switch(&mut self, number: u8) {
        let lane = &mut self.topology.paths[usize::from(number)].up;
        let Some((at, packet)) = lane.poll(self.now) else { return };
        if let Some(next) = lane.next_event() {
            self.arrivals.push(next, Event::UpToSwitch { path: number });
        }
        let host = self.connections[packet.connection as usize].host;
        let link = &mut self.topology.servers[host as usize].from_switch;
        let was_empty = link.in_flight() == 0;
        link.enqueue(at, packet.segment.tcp().wire_bytes, packet);
        if was_empty {
            let next = link.next_event().expect("a packet was just enqueued");
            self.arrivals.push(next, Event::ToServer { host });
        }
    }

    fn read_responses(&mut self, connection: u32) {
        let at = self.now;
        let mut news = false;
        while let Some(delivery) = self.connections[connection as usize].client.read() {
            let resource = delivery.id.0;
            if resource >= TLS_MESSAGES {
                self.on_overhead(connection, delivery, false);
                continue;
            }
            let t = &mut self.timelines[resource as usize];
            t.first_byte.get_or_insert(at);
            let received = t.response.add(&delivery);
            let readable = self.settings.records.readable_bytes(received, t.response_bytes);
            let framing = self.settings.protocol.framing;
            let body = framing.body_bytes(t.response_header_bytes, readable);
            // An empty message still costs a byte, which is no part of the body.
            let body = body.min(self.page.resources[resource as usize].size_bytes);
            if body > t.body_received {
                t.body_received = body;
                self.browser.on_bytes(at, resource, body);
                news = true;
            }
            if received == t.response_bytes && t.last_byte.is_none() {
                t.last_byte = Some(at);
                self.browser.on_complete(at, resource);
                self.client.on_response(connection);
                let r = &self.page.resources[resource as usize];
                if let Some(throttle) = &mut self.throttle {
                    throttle.finish(resource, r.frame, r.host);
                    self.begin_requests(r.frame);
                }
                news = true;
            }
        }
        if news {
            self.follow_browser();
        }
    }

    /// Carries out what the browser and the connection pools want.
    fn follow_browser(&mut self) {
        while let Some(request) = self.browser.poll_request() {
            let t = &mut self.timelines[request.resource as usize];
            t.requested = request.asked;
            t.preloaded = request.preload;
            let resource = &self.page.resources[request.resource as usize];
            self.requested.push(request.resource);
            let mut at = self.now;
            if self.settings.stalls {
                let jitter = &self.settings.jitter;
                at += jitter.of(resource.stalled, "browser.stall", || resource.key);
                // They reach the network stack in order; navigations come by another process.
                if resource.mime_class != MimeClass::Html {
                    self.stalled_until = self.stalled_until.max(at);
                    at = self.stalled_until;
                }
            }
            if at > self.now {
                self.timers.push(at, Event::Stalled { resource: request.resource });
            } else {
                self.request(request.resource);
            }
        }
        while let Some(resource) = self.browser.poll_raised() {
            self.on_raised(resource);
        }
        while let Some(action) = self.client.poll_action() {
            match action {
                Action::Open { connection, host } => self.open(connection, host),
                Action::Send { connection, request } => {
                    let c = &mut self.connections[connection as usize];
                    let s = &self.settings;
                    let recorded = self.page.resources[request as usize].request_header_bytes;
                    let len = s.protocol.request_frame_bytes + s.request.of(recorded, c.requests);
                    // A message without bytes would never arrive.
                    let len = len.max(1);
                    c.requests += 1;
                    let t = &mut self.timelines[request as usize];
                    t.connection = Some(connection);
                    t.request_bytes = len;
                    c.client.write(Message { id: MessageId(request), len, priority: 0 });
                    // A failure shows at the next timer.
                    let _ = self.flush_client(connection);
                }
            }
        }
        if let Some(at) = self.browser.next_timeout()
            && at < self.browser_armed
        {
            self.browser_armed = at;
            self.timers.push(at, Event::Browser);
        }
    }

    fn open(&mut self, connection: u32, host: u32) {
        debug_assert_eq!(connection as usize, self.connections.len());
        self.connections.push(Connection {
            host,
            client: C::client(&self.client_transport),
            server: C::server(&self.server_transport),
            subflows_ready: Vec::new(),
            opened: self.now,
            ready: None,
            requests: 0,
            responses: 0,
            client_armed: SimTime::MAX,
            server_armed: SimTime::MAX,
            http: ServerConnection::new(self.settings.model),
            handshake_started: false,
            handshake: self.settings.handshake,
            flight: Reassembly::default(),
        });
        // Connections that are opened during a lookup wait for the same one.
        let answer = self.now + self.settings.dns;
        let at = *self.topology.servers[host as usize].name_known_at.get_or_insert(answer);
        if at <= self.now {
            self.connect(connection);
        } else {
            self.timers.push(at, Event::NameResolved { connection });
        }
    }

    fn connect(&mut self, connection: u32) {
        if self.settings.fast_open {
            // What is written now goes with the SYN.
            self.connections[connection as usize].handshake_started = true;
            self.begin_handshake(connection);
        }
        self.connections[connection as usize].client.connect(self.now);
        let _ = self.flush_client(connection);
    }

    fn at_server(&mut self, host: u32) -> Result<(), String> {
        let link = &mut self.topology.servers[host as usize].from_switch;
        let Some((at, Packet { connection, segment })) = link.poll(self.now) else {
            return Ok(());
        };
        if let Some(next) = link.next_event() {
            self.arrivals.push(next, Event::ToServer { host });
        }
        self.tracer.packet(at, PacketEvent::Delivered, Direction::Up, connection, &segment);
        let c = &mut self.connections[connection as usize];
        c.server.on_segment(at, &segment);
        if C::SEVERAL_PATHS {
            c.note_ready_subflows(at, segment.subflow());
        }
        if segment.tcp().len > 0 {
            self.read_requests(connection);
        }
        self.flush_server(connection)
    }

    /// A request has reached the network stack.
    fn request(&mut self, resource: u32) {
        let r = &self.page.resources[resource as usize];
        match &mut self.throttle {
            // Navigations come by another process.
            Some(throttle) if r.mime_class != MimeClass::Html => {
                let urgency = r.priorities.browser;
                throttle.add(Asked { request: resource, frame: r.frame, host: r.host, urgency });
                if self.timelines[resource as usize].raised {
                    throttle.promote(resource, r.frame);
                }
                self.begin_requests(r.frame);
            }
            _ => self.begin_request(resource),
        }
    }

    /// What the network service lets begin.
    fn begin_requests(&mut self, frame: u32) {
        while let Some(resource) = self.throttle.as_mut().and_then(|throttle| throttle.poll(frame))
        {
            self.begin_request(resource);
        }
    }

    fn begin_request(&mut self, resource: u32) {
        let r = &self.page.resources[resource as usize];
        self.client.request(resource, r.host, self.urgency(resource));
    }

    fn urgency(&self, resource: u32) -> u32 {
        let raised = self.timelines[resource as usize].raised;
        self.settings.urgency(&self.page.resources[resource as usize], raised)
    }

    /// A request has become one of high priority.
    fn on_raised(&mut self, resource: u32) {
        self.timelines[resource as usize].raised = true;
        let r = &self.page.resources[resource as usize];
        self.client.promote(resource, r.host, self.urgency(resource));
        if let Some(throttle) = &mut self.throttle {
            throttle.promote(resource, r.frame);
            self.begin_requests(r.frame);
        }
    }

    fn read_requests(&mut self, connection: u32) {
        while let Some(delivery) = self.connections[connection as usize].server.read() {
            let resource = delivery.id.0;
            if resource >= TLS_MESSAGES {
                self.on_overhead(connection, delivery, true);
                continue;
            }
            let t = &mut self.timelines[resource as usize];
            if t.request.add(&delivery) == t.request_bytes {
                t.request_arrived = Some(self.now);
                let start = self.connections[connection as usize].http.on_request(resource);
                if let Some(resource) = start {
                    self.start_processing(connection, resource);
                }
            }
        }
    }

    fn start_processing(&mut self, connection: u32, resource: u32) {
        self.timelines[resource as usize].processing_started = Some(self.now);
        let delay = if self.settings.server_delays {
            let r = &self.page.resources[resource as usize];
            r.server_delay.unwrap_or_else(|| {
                let mut stream = self.streams.stream("server.delay", r.key);
                self.page.drawn_delay(r, stream.unit())
            })
        } else {
            SimDuration::ZERO
        };
        self.timers.push(self.now + delay, Event::Processed { connection, resource });
    }

    fn processed(&mut self, connection: u32, resource: u32) {
        self.timelines[resource as usize].processed = Some(self.now);
        self.connections[connection as usize].http.on_processed(resource);
        loop {
            let c = &mut self.connections[connection as usize];
            let Some(resource) = c.http.poll_response() else { break };
            let r = &self.page.resources[resource as usize];
            let s = &self.settings;
            let header_bytes = s.response.of(r.response_header_bytes, c.responses);
            c.responses += 1;
            let len = s.records.wire_bytes(s.protocol.response_bytes(header_bytes, r.size_bytes));
            let t = &mut self.timelines[resource as usize];
            t.response_header_bytes = header_bytes;
            t.response_bytes = len;
            let message = Message { id: MessageId(resource), len, priority: s.priorities.of(r) };
            let head = s.protocol.framing.body_start(header_bytes);
            if s.headers_apart && 0 < head && head < len {
                c.server.write(Message { len: head, ..message });
                let _ = self.flush_server(connection);
                self.connections[connection as usize].server.write_rest(message, head);
            } else {
                c.server.write(message);
            }
            let c = &mut self.connections[connection as usize];
            if self.settings.protocol.closes_after_response {
                c.server.close();
            }
        }
        if let Some(next) = self.connections[connection as usize].http.next_to_start() {
            self.start_processing(connection, next);
        }
        let _ = self.flush_server(connection);
    }

    fn client_timer(&mut self, connection: u32) -> Result<(), String> {
        let c = &mut self.connections[connection as usize];
        if c.client_armed != self.now {
            return Ok(());
        }
        c.client_armed = SimTime::MAX;
        c.client.on_timeout(self.now);
        self.flush_client(connection)
    }

    fn server_timer(&mut self, connection: u32) -> Result<(), String> {
        let c = &mut self.connections[connection as usize];
        if c.server_armed != self.now {
            return Ok(());
        }
        c.server_armed = SimTime::MAX;
        c.server.on_timeout(self.now);
        self.flush_server(connection)
    }

    /// Sends what the client's endpoint has to send and sets its timer.
    fn flush_client(&mut self, connection: u32) -> Result<(), String> {
        let now = self.now;
        let c = &mut self.connections[connection as usize];
        let links = &mut self.topology.servers[c.host as usize];
        while let Some((PathId(number), segment)) = c.client.poll_transmit(now) {
            self.packets += 1;
            let tcp = segment.tcp();
            if tcp.len > 0 && tcp.offset == 0 && tcp.message.0 < TLS_MESSAGES {
                self.timelines[tcp.message.0 as usize].request_sent.get_or_insert(now);
            }
            self.tracer.packet(now, PacketEvent::Sent, Direction::Up, connection, &segment);
            let path = &mut self.topology.paths[usize::from(number)];
            let up = &mut self.topology.bottlenecks[path.bottleneck as usize].up;
            let queue = path.bottleneck.hop_index(Direction::Up);
            self.tracer.queue(now, queue, || up.occupancy(now));
            let flow = (tcp.len > 0).then_some(connection);
            match up.admit_of(flow, now, tcp.wire_bytes) {
                None => {
                    self.tracer.packet(
                        now,
                        PacketEvent::Dropped,
                        Direction::Up,
                        connection,
                        &segment,
                    );
                }
                Some(at_switch) if C::SEVERAL_PATHS => {
                    let at_switch = at_switch + path.extra_delay;
                    if path.up.is_empty() {
                        self.arrivals.push(at_switch, Event::UpToSwitch { path: number });
                    }
                    path.up.push(at_switch, Packet { connection, segment });
                }
                Some(at_switch) => {
                    let link = &mut links.from_switch;
                    let was_empty = link.in_flight() == 0;
                    let packet = Packet { connection, segment };
                    link.enqueue(at_switch, tcp.wire_bytes, packet);
                    if was_empty {
                        let next = link.next_event().expect("a packet was just enqueued");
                        self.arrivals.push(next, Event::ToServer { host: c.host });
                    }
                }
            }
        }
        if let Some(at) = c.client.next_timeout()
            && at < c.client_armed
        {
            c.client_armed = at;
            self.timers.push(at, Event::ClientTimer { connection });
        }
        match c.client.failure() {
            None => Ok(()),
            Some(failure) => Err(self.failed(connection, "client", failure)),
        }
    }

    /// Sends what the server's endpoint has to send and sets its timer.
    fn flush_server(&mut self, connection: u32) -> Result<(), String> {
        let now = self.now;
        let c = &mut self.connections[connection as usize];
        let link = &mut self.topology.servers[c.host as usize].to_switch;
        while let Some((_, segment)) = c.server.poll_transmit(now) {
            self.packets += 1;
            let tcp = segment.tcp();
            if tcp.len > 0 && tcp.offset == 0 && tcp.message.0 < TLS_MESSAGES {
                self.timelines[tcp.message.0 as usize].response_sent.get_or_insert(now);
            }
            if T::KEEPS_COMPLETIONS
                && tcp.len > 0
                && !tcp.retransmission
                && tcp.message.0 < TLS_MESSAGES
            {
                let response = &self.timelines[tcp.message.0 as usize];
                let remaining = response.response_bytes - tcp.offset;
                self.tracer.completion(now, connection, &segment, &c.server, remaining);
            }
            self.tracer.packet(now, PacketEvent::Sent, Direction::Down, connection, &segment);
            let was_empty = link.in_flight() == 0;
            link.enqueue(now, tcp.wire_bytes, Packet { connection, segment });
            if was_empty {
                let next = link.next_event().expect("a packet was just enqueued");
                self.arrivals.push(next, Event::ToSwitch { host: c.host });
            }
        }
        self.tracer.window(now, connection, &c.server);
        if let Some(at) = c.server.next_timeout()
            && at < c.server_armed
        {
            c.server_armed = at;
            self.timers.push(at, Event::ServerTimer { connection });
        }
        match c.server.failure() {
            None => Ok(()),
            Some(failure) => Err(self.failed(connection, "server", failure)),
        }
    }

    fn failed(&self, connection: u32, side: &str, failure: loadpath_transport::Failure) -> String {
        let host = self.connections[connection as usize].host;
        let host = &self.page.hosts[host as usize].name;
        format!("connection {connection} to {host} failed at the {side}: {failure:?}")
    }
}
