//! A network for browser tests: no bandwidth limit, no round trips, a delay for each response.

use loadpath_net::{EventQueue, SimDuration, SimTime};
use loadpath_web::browser::{Browser, BrowserConfig, MainThreadWork, Request};
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
