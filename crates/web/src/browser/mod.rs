//! The browser executor: Algorithms 3 to 5 of the PCP thesis (section 3.7.2), with session cache and
//! preloader (section 3.7.5), as a state machine without clock or network.
//!
//! After any call that takes `now`, drain [`Browser::poll_request`] and look at
//! [`Browser::next_timeout`] again.

mod config;
mod critical_path;
mod scheduler;
mod tight;

use std::collections::VecDeque;

use loadpath_net::{EventQueue, SimDuration, SimTime, key_of};

pub use config::{BrowserConfig, Jitter, MainThreads};
use critical_path::Began;
pub use critical_path::{AwaitedResponse, CriticalPath, PathStep};
use scheduler::{Lane, Queue, Scheduler};
use tight::TightMode;

use crate::page::{NONE, Page, Step};

/// A request to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index in [`Page::resources`].
    pub resource: u32,
    /// Found by the preloader.
    pub preload: bool,
    /// When it was made: the browser may hold it back.
    pub asked: SimTime,
}

/// A stretch of main-thread work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MainThreadWork {
    /// When it began.
    pub start: SimTime,
    /// When it ended, or would have: the load event ends the record.
    pub end: SimTime,
    /// Index of the activity in the page: see [`Page::activity_id`].
    pub activity: u32,
    /// Index of the main thread.
    pub thread: u32,
}

/// One load of a page.
#[derive(Clone, Debug)]
pub struct Browser<'p> {
    page: &'p Page,
    config: BrowserConfig,
    scheduler: Scheduler<'p>,
    /// Parents that each activity still waits for.
    missing: Vec<u32>,
    complete: Vec<bool>,
    began: Vec<Began>,
    /// The activity whose completion is under way, or [`NONE`].
    completing: u32,
    fetches: Vec<Fetch>,
    /// Links of the queues of activities that wait for a fetch.
    waiting_links: Vec<u32>,
    preloaders: Vec<Preloader>,
    preload_links: Vec<u32>,
    /// Activities that completed and whose children have not been executed yet.
    completed: VecDeque<u32>,
    /// Frames whose preloader has to run once the children of an activity have been executed.
    to_preload: Vec<u32>,
    /// By frame.
    tight: Vec<TightMode>,
    /// Responses of frames in tight mode that the main thread has not dealt with yet.
    finished: Vec<u32>,
    wakes: EventQueue<Wake>,
    requests: VecDeque<Request>,
    /// Resources whose requests have become urgent.
    raised: VecDeque<u32>,
    in_flight: u32,
    load_event: Option<SimTime>,
    dom_content_loaded: Option<SimTime>,
    log: Option<Vec<MainThreadWork>>,
}

/// A session-cache slot: one URL and method.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    /// The resource whose request is or was in flight, or [`NONE`].
    leader: u32,
    /// When it was requested.
    began: Began,
    /// Body bytes received in order; [`u64::MAX`] once the response is complete.
    received: u64,
    /// What the most modest of `chunks` waits for.
    next_need: u64,
    /// Download chunks that wait for bytes.
    chunks: Queue,
    /// Resources that wait for the response.
    resources: Queue,
}

impl Fetch {
    const IDLE: Fetch = Fetch {
        leader: NONE,
        began: Began::NEVER,
        received: 0,
        next_need: u64::MAX,
        chunks: Queue::EMPTY,
        resources: Queue::EMPTY,
    };

    fn is_complete(&self) -> bool {
        self.received == u64::MAX
    }
}

/// The second parser of a frame.
#[derive(Clone, Copy, Debug)]
struct Preloader {
    /// Clones of parse chunks whose text has arrived.
    clones: Queue,
    /// The last piece of the script that the frame's parser last waited for, or [`NONE`].
    blocked_until: u32,
    /// The parser had something to parse.
    begun: bool,
}

/// The link of a parse chunk that has no clone yet.
const NOT_CLONED: u32 = NONE - 1;

#[derive(Clone, Copy, Debug)]
enum Wake {
    /// A timer is due.
    Timer(u32),
    /// A main thread has finished its activity.
    Done { thread: u32 },
}

impl<'p> Browser<'p> {
    /// A browser about to load `page`.
    pub fn new(page: &'p Page, config: &BrowserConfig) -> Self {
        let count = page.activities.len();
        let first_frames = match config.threads {
            MainThreads::OnePerPage => std::slice::from_ref(&page.main_frame),
            MainThreads::OnePerProcess => &page.process_frames,
        };
        Browser {
            page,
            config: config.clone(),
            scheduler: Scheduler::new(&page.frames, first_frames, count),
            missing: page.activities.iter().map(|a| a.parents).collect(),
            complete: vec![false; count],
            began: vec![Began::NEVER; count],
            completing: NONE,
            fetches: vec![Fetch::IDLE; page.slots as usize],
            waiting_links: vec![NONE; count],
            preloaders: vec![
                Preloader { clones: Queue::EMPTY, blocked_until: NONE, begun: false };
                page.frames.len()
            ],
            preload_links: vec![NOT_CLONED; count],
            completed: VecDeque::new(),
            to_preload: Vec::new(),
            tight: (page.frames.iter())
                .map(|frame| TightMode::new(config.tight_mode && frame.body != NONE))
                .collect(),
            finished: Vec::new(),
            wakes: EventQueue::default(),
            requests: VecDeque::new(),
            raised: VecDeque::new(),
            in_flight: 0,
            load_event: None,
            dom_content_loaded: None,
            log: None,
        }
    }

    /// Keeps a record of main-thread work for [`Browser::main_thread_log`].
    pub fn with_log(mut self) -> Self {
        self.log = Some(Vec::new());
        self
    }

    /// Begins the load: executes the root (Algorithm 3, line 20).
    pub fn start(&mut self, now: SimTime) {
        self.execute(now, self.page.root);
        self.run(now);
    }

    /// The first `received_bytes` of a response body have arrived. Cheap unless a download chunk
    /// waits for just these bytes.
    #[inline]
    pub fn on_bytes(&mut self, now: SimTime, resource: u32, received_bytes: u64) {
        let slot = self.page.resources[resource as usize].slot;
        let fetch = &mut self.fetches[slot as usize];
        if fetch.leader != resource {
            return;
        }
        fetch.received = fetch.received.max(received_bytes);
        if fetch.received >= fetch.next_need {
            self.release_chunks(slot);
            self.run(now);
        }
    }

    /// A response is complete.
    pub fn on_complete(&mut self, now: SimTime, resource: u32) {
        let slot = self.page.resources[resource as usize].slot;
        let fetch = &mut self.fetches[slot as usize];
        if fetch.leader != resource || fetch.is_complete() {
            return;
        }
        fetch.received = u64::MAX;
        self.in_flight -= 1;
        if self.tight[self.page.resources[resource as usize].frame as usize].is_on() {
            self.finished.push(resource);
            self.finish_responses();
        }
        self.release_chunks(slot);
        let waiting = &mut self.fetches[slot as usize].resources;
        while let Some(activity) = waiting.pop(&self.waiting_links) {
            self.completed.push_back(activity);
        }
        self.run(now);
    }

    /// The next request to send; call until `None`.
    #[inline]
    pub fn poll_request(&mut self) -> Option<Request> {
        self.requests.pop_front()
    }

    /// The next resource whose request is of high priority from now on: a parser waits for it, or layout found
    /// it within the window; call until `None`.
    #[inline]
    pub fn poll_raised(&mut self) -> Option<u32> {
        self.raised.pop_front()
    }

    /// When the next timer or main-thread activity is due.
    #[inline]
    pub fn next_timeout(&self) -> Option<SimTime> {
        self.wakes.next_time()
    }

    /// Handles every timer and main-thread activity that is due.
    pub fn on_timeout(&mut self, now: SimTime) {
        while self.wakes.next_time().is_some_and(|at| at <= now) {
            match self.wakes.pop().expect("a wake is due").1 {
                Wake::Timer(timer) => self.enqueue(now, timer),
                Wake::Done { thread } => self.completed.push_back(self.scheduler.running(thread)),
            }
            self.run(now);
        }
    }

    /// When the load event began to run: the page load time. The load stops there.
    pub fn load_event(&self) -> Option<SimTime> {
        self.load_event
    }

    /// When DOMContentLoaded of the main frame began to run.
    pub fn dom_content_loaded(&self) -> Option<SimTime> {
        self.dom_content_loaded
    }

    /// The record of main-thread work, in order of starts; empty unless asked for.
    pub fn main_thread_log(&self) -> &[MainThreadWork] {
        self.log.as_deref().unwrap_or_default()
    }

    /// What a load that has not fired its load event waits for.
    pub fn why_incomplete(&self) -> Option<String> {
        if self.load_event.is_some() {
            return None;
        }
        let leader = |f: &Fetch| (f.leader != NONE && !f.is_complete()).then_some(f.leader);
        if let Some(resource) = self.fetches.iter().find_map(leader) {
            let url = &self.page.resources[resource as usize].url;
            return Some(format!("{} responses are outstanding, among them {url}", self.in_flight));
        }
        if !self.wakes.is_empty() {
            return Some("timers or main-thread work are outstanding".to_owned());
        }
        // Whatever else a valid graph waits for leads back to one of these.
        Some("the load has not been started".to_owned())
    }

    /// Executes the children of completed activities, and so on, until nothing more happens now.
    /// Activities without cost go through the same list, so that depth costs no stack.
    fn run(&mut self, now: SimTime) {
        while let Some(activity) = self.completed.pop_front() {
            if self.load_event.is_some() {
                self.completed.clear();
                return;
            }
            self.completion(now, activity);
        }
    }

    /// COMPLETION, Algorithm 3.
    fn completion(&mut self, now: SimTime, activity: u32) {
        let page = self.page;
        self.complete[activity as usize] = true;
        self.completing = activity;
        let thread = self.thread_running(activity);
        if let Some(thread) = thread {
            self.scheduler.free(thread);
            if !self.finished.is_empty() {
                self.finish_responses();
            }
        }
        for &resource in page.raises(activity) {
            let leader = self.fetches[page.resources[resource as usize].slot as usize].leader;
            self.raised.push_back(if leader == NONE { resource } else { leader });
        }
        if let Step::Chunk { .. } = page.activities[activity as usize].step {
            self.clone_parse_chunks(now, activity);
        }
        for &child in page.children(activity) {
            self.parent_completed(now, child);
        }
        while let Some(frame) = self.to_preload.pop() {
            self.preload(now, frame);
        }
        if let Some(thread) = thread {
            self.evaluate_pending(now, thread);
        }
    }

    fn thread_running(&self, activity: u32) -> Option<u32> {
        let frame = self.page.activities[activity as usize].step.frame()?;
        let thread = self.scheduler.thread_of(frame);
        (self.scheduler.running(thread) == activity).then_some(thread)
    }

    /// Algorithm 3, lines 5 to 7: a child is executed once its last parent has completed.
    fn parent_completed(&mut self, now: SimTime, child: u32) {
        let missing = &mut self.missing[child as usize];
        *missing -= 1;
        if *missing == 0 {
            self.execute(now, child);
        }
    }

    /// EXECUTE, Algorithm 3, for an activity that is ready.
    fn execute(&mut self, now: SimTime, activity: u32) {
        if self.load_event.is_some() {
            return;
        }
        self.began[activity as usize] = Began { after: self.completing, at: now };
        let page = self.page;
        match page.activities[activity as usize].step {
            Step::Parse { frame } => {
                if self.config.preload_on_arrival && !self.preloaders[frame as usize].begun {
                    self.preloaders[frame as usize].begun = true;
                    self.preload(now, frame);
                }
                self.enqueue(now, activity);
            }
            Step::Evaluate { .. } | Step::Event { .. } => {
                self.enqueue(now, activity);
            }
            Step::OtherWork { .. } if self.config.other_main_thread_work => {
                self.enqueue(now, activity);
            }
            Step::Timer { timeout, level, .. } => {
                self.wakes.push(now + self.timer_wait(timeout, level), Wake::Timer(activity));
            }
            Step::Fetch(resource) => {
                self.fetch(now, activity, resource);
            }
            Step::Chunk { slot, need } if slot != NONE => {
                let fetch = &mut self.fetches[slot as usize];
                if fetch.received >= need {
                    self.completed.push_back(activity);
                } else {
                    fetch.next_need = fetch.next_need.min(need);
                    fetch.chunks.push(&mut self.waiting_links, activity);
                }
            }
            Step::AtOnce | Step::OtherWork { .. } | Step::Chunk { .. } => {
                for &chunk in page.streams(activity) {
                    self.parent_completed(now, chunk);
                }
                self.completed.push_back(activity);
            }
        }
    }

    fn timer_wait(&self, timeout: SimDuration, level: u32) -> SimDuration {
        if !self.config.timers {
            SimDuration::ZERO
        } else if level >= self.config.timer_clamp_level {
            timeout.max(self.config.timer_clamp)
        } else {
            timeout
        }
    }

    /// Requests a resource, unless its response is in the session cache or on its way.
    fn fetch(&mut self, now: SimTime, activity: u32, resource: u32) {
        let page = self.page;
        let slot = page.resources[resource as usize].slot as usize;
        self.request(now, resource, false);
        for &chunk in page.streams(activity) {
            self.parent_completed(now, chunk);
        }
        let fetch = &mut self.fetches[slot];
        if fetch.is_complete() {
            self.completed.push_back(activity);
            return;
        }
        fetch.resources.push(&mut self.waiting_links, activity);
        let blocks = page.blocks(activity);
        if !blocks.is_empty() {
            self.raised.push_back(fetch.leader);
        }
        for block in blocks {
            self.preloaders[block.frame as usize].blocked_until = block.until;
            self.to_preload.push(block.frame);
        }
    }

    fn request(&mut self, now: SimTime, resource: u32, preload: bool) {
        let slot = self.page.resources[resource as usize].slot;
        let fetch = &mut self.fetches[slot as usize];
        if fetch.leader == NONE {
            fetch.leader = resource;
            fetch.began = Began { after: self.completing, at: now };
            self.in_flight += 1;
            let request = Request { resource, preload, asked: now };
            let resource = &self.page.resources[resource as usize];
            let tight = &mut self.tight[resource.frame as usize];
            match resource.urgency {
                Some(urgency) if tight.is_on() => tight.add(request, urgency, &mut self.requests),
                _ => self.requests.push_back(request),
            }
        }
    }

    /// Tells frames in tight mode of the responses that their main threads can deal with now, which they do
    /// between two tasks.
    fn finish_responses(&mut self) {
        let Browser { page, scheduler, tight, finished, requests, .. } = self;
        finished.retain(|&resource| {
            let resource = &page.resources[resource as usize];
            let tight = &mut tight[resource.frame as usize];
            let busy = scheduler.running(scheduler.thread_of(resource.frame)) != NONE;
            if !busy
                && tight.is_on()
                && let Some(urgency) = resource.urgency
            {
                tight.finish(urgency, requests);
            }
            busy
        });
    }

    /// Completes the chunks of a document whose bytes have arrived.
    fn release_chunks(&mut self, slot: u32) {
        let fetch = &mut self.fetches[slot as usize];
        let mut waiting = std::mem::replace(&mut fetch.chunks, Queue::EMPTY);
        fetch.next_need = u64::MAX;
        while let Some(chunk) = waiting.pop(&self.waiting_links) {
            let Step::Chunk { need, .. } = self.page.activities[chunk as usize].step else {
                unreachable!("only download chunks wait for bytes");
            };
            if fetch.received >= need {
                self.completed.push_back(chunk);
            } else {
                fetch.next_need = fetch.next_need.min(need);
                fetch.chunks.push(&mut self.waiting_links, chunk);
            }
        }
    }

    /// Pushes an evaluation onto its queue and lets its thread look (Algorithm 3, lines 9 and 10).
    fn enqueue(&mut self, now: SimTime, activity: u32) {
        let (frame, lane) = match self.page.activities[activity as usize].step {
            Step::Parse { frame } => (frame, Lane::Parse),
            Step::Evaluate { frame } => (frame, Lane::Evaluate),
            // Rendering and the handling of responses are tasks like those of events: first come,
            // first served (Chromium, main_thread_scheduler_impl.cc).
            Step::Event { frame } | Step::Timer { frame, .. } | Step::OtherWork { frame } => {
                (frame, Lane::First)
            }
            Step::AtOnce | Step::Fetch(_) | Step::Chunk { .. } => {
                unreachable!("only evaluations are scheduled")
            }
        };
        self.scheduler.push(frame, lane, activity);
        self.evaluate_pending(now, self.scheduler.thread_of(frame));
    }

    /// Starts the next activity of a thread if it is idle. One without duration completes behind
    /// what has completed already, without an event of its own.
    fn evaluate_pending(&mut self, now: SimTime, thread: u32) {
        if self.load_event.is_some() {
            return;
        }
        let Some(activity) = self.scheduler.evaluate_pending(thread) else { return };
        let duration = self.duration(activity);
        let end = now + duration;
        if let Some(log) = &mut self.log {
            log.push(MainThreadWork { start: now, end, activity, thread });
        }
        if duration == SimDuration::ZERO {
            self.completed.push_back(activity);
        } else {
            self.wakes.push(end, Wake::Done { thread });
        }
        self.begin(now, activity);
    }

    /// How long an activity keeps its main thread in this load.
    fn duration(&self, activity: u32) -> SimDuration {
        let recorded = &self.page.activities[activity as usize];
        self.config.jitter.of(recorded.duration, "browser.work", || key_of(&recorded.id))
    }

    /// Notes the events that the load is measured by. The load stops at the load event.
    fn begin(&mut self, now: SimTime, activity: u32) {
        if let Step::Parse { frame } = self.page.activities[activity as usize].step
            && activity == self.page.frames[frame as usize].body
        {
            self.tight[frame as usize].loosen(&mut self.requests);
        }
        if activity == self.page.dom_content_loaded_event {
            self.dom_content_loaded = Some(now);
        }
        if activity == self.page.load_event {
            self.load_event = Some(now);
            self.completed.clear();
            self.to_preload.clear();
            self.wakes.clear();
        }
    }

    /// Clones the parse chunks of a download chunk that has arrived, for the preloader.
    fn clone_parse_chunks(&mut self, now: SimTime, chunk: u32) {
        if !self.config.preloader {
            return;
        }
        let page = self.page;
        for &child in page.children(chunk) {
            // A clone that two download chunks announce joins the queue with the first.
            if let Step::Parse { frame } = page.activities[child as usize].step
                && self.preload_links[child as usize] == NOT_CLONED
            {
                self.preloaders[frame as usize].clones.push(&mut self.preload_links, child);
                self.preload(now, frame);
            }
        }
    }

    /// Drains the preload queue of a frame while its parser waits for a script, or at any time once it
    /// has begun: requests the style sheets, scripts and images of text that the parser has not reached;
    /// in the second case what the recording's preloader found, where the graph says so.
    fn preload(&mut self, now: SimTime, frame: u32) {
        let page = self.page;
        let Preloader { begun, blocked_until: until, .. } = self.preloaders[frame as usize];
        let blocked = until != NONE && !self.complete[until as usize];
        let open = if self.config.preload_on_arrival { begun } else { blocked };
        if !open {
            return;
        }
        while let Some(parse_chunk) =
            self.preloaders[frame as usize].clones.pop(&self.preload_links)
        {
            if self.complete[parse_chunk as usize] {
                continue;
            }
            for &child in page.children(parse_chunk) {
                if let Step::Fetch(resource) = page.activities[child as usize].step {
                    let r = &page.resources[resource as usize];
                    let found = match r.found_by_preloader {
                        Some(found) if self.config.preload_on_arrival => found,
                        _ => r.mime_class.is_preloaded(),
                    };
                    if found {
                        self.request(now, resource, true);
                    }
                }
            }
        }
    }
}
