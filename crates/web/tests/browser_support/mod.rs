//! Drivers for browser tests: one that a test moves by hand, and a network without bandwidth limit
//! or round trips.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod bound;
pub mod graph;
pub mod random;

use loadpath_net::{EventQueue, SimDuration, SimTime};
use loadpath_web::browser::{Browser, BrowserConfig, MainThreadWork, Request};
use loadpath_web::graph::PageGraph;
use loadpath_web::page::Page;

/// What a load came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub load_event: Option<SimTime>,
    pub dom_content_loaded: Option<SimTime>,
    pub why_incomplete: Option<String>,
    pub requests: Vec<(SimTime, Request)>,
    pub work: Vec<MainThreadWork>,
}

/// Loads `page` with responses that are complete `delay(resource)` after the request.
pub fn load_with_delays(
    page: &Page,
    config: &BrowserConfig,
    delay: impl Fn(u32) -> SimDuration,
) -> Load {
    load_until(page, config, delay, SimTime::MAX)
}

/// As [`load_with_delays`], cut off at `end`.
pub fn load_until(
    page: &Page,
    config: &BrowserConfig,
    delay: impl Fn(u32) -> SimDuration,
    end: SimTime,
) -> Load {
    let mut browser = Browser::new(page, config).with_log();
    let mut responses = EventQueue::default();
    let mut requests = Vec::new();
    let mut now = SimTime::ZERO;
    browser.start(now);
    loop {
        while let Some(request) = browser.poll_request() {
            requests.push((now, request));
            responses.push(now + delay(request.resource), request.resource);
        }
        let response = responses.next_time().unwrap_or(SimTime::MAX);
        if response > end && browser.next_timeout().is_none() {
            break;
        }
        match browser.next_timeout() {
            Some(timeout) if timeout <= response => {
                now = timeout;
                browser.on_timeout(now);
            }
            _ => {
                let Some((at, resource)) = responses.pop() else { break };
                now = at;
                browser.on_bytes(now, resource, page.resources[resource as usize].size_bytes);
                browser.on_complete(now, resource);
            }
        }
        if browser.load_event().is_some() {
            break;
        }
    }
    Load {
        load_event: browser.load_event(),
        dom_content_loaded: browser.dom_content_loaded(),
        why_incomplete: browser.why_incomplete(),
        requests,
        work: browser.main_thread_log().to_vec(),
    }
}

/// A browser in the hands of a test: responses and time are what the test says.
pub struct ByHand<'p> {
    page: &'p Page,
    pub browser: Browser<'p>,
    now: SimTime,
    requests: Vec<String>,
}

impl<'p> ByHand<'p> {
    /// Starts the load at time 0.
    pub fn start(page: &'p Page, config: &BrowserConfig) -> Self {
        let mut browser = Browser::new(page, config).with_log();
        browser.start(SimTime::ZERO);
        let mut by_hand = ByHand { page, browser, now: SimTime::ZERO, requests: Vec::new() };
        by_hand.drain();
        by_hand
    }

    /// Lets time pass until `ms`, with what is due by then.
    pub fn until(&mut self, ms: f64) -> &mut Self {
        let end = SimTime::ZERO + SimDuration::from_millis_f64(ms);
        while let Some(due) = self.browser.next_timeout().filter(|&due| due <= end) {
            self.browser.on_timeout(due);
            self.drain();
        }
        self.now = end;
        self
    }

    /// The first `bytes` of a response have arrived.
    pub fn bytes(&mut self, id: &str, bytes: u64) -> &mut Self {
        let resource = self.resource(id);
        self.browser.on_bytes(self.now, resource, bytes);
        self.drain();
        self
    }

    /// A response is complete.
    pub fn complete(&mut self, id: &str) -> &mut Self {
        let resource = self.resource(id);
        self.browser.on_bytes(
            self.now,
            resource,
            self.page.resources[resource as usize].size_bytes,
        );
        self.drain();
        self.browser.on_complete(self.now, resource);
        self.drain();
        self
    }

    fn resource(&self, id: &str) -> u32 {
        let place = self.page.resources.iter().position(|r| r.id == id);
        place.unwrap_or_else(|| panic!("no resource {id}")) as u32
    }

    /// Ids of the resources requested since the last call, those of the preloader marked.
    pub fn requests(&mut self) -> Vec<String> {
        std::mem::take(&mut self.requests)
    }

    fn drain(&mut self) {
        while let Some(request) = self.browser.poll_request() {
            let id = &self.page.resources[request.resource as usize].id;
            let preload = if request.preload { " (preload)" } else { "" };
            self.requests.push(format!("{id}{preload}"));
        }
    }

    /// What the main threads have begun so far, and when.
    pub fn work(&self) -> Vec<(&'p str, f64)> {
        work(self.page, self.browser.main_thread_log())
    }

    /// What the main threads have begun so far, in order.
    pub fn order(&self) -> Vec<&'p str> {
        self.work().into_iter().map(|(id, _)| id).collect()
    }
}

/// Ids and start times, in milliseconds, of main-thread work.
pub fn work<'p>(page: &'p Page, log: &[MainThreadWork]) -> Vec<(&'p str, f64)> {
    log.iter().map(|w| (page.activity_id(w.activity), w.start.as_secs_f64() * 1e3)).collect()
}

/// Compiles a graph that must be valid.
pub fn compile(graph: &PageGraph) -> Page {
    Page::compile(graph).unwrap_or_else(|error| panic!("{error}"))
}
