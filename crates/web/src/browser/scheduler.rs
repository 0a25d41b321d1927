//! The main threads and their queues: Algorithms 4 and 5 of the PCP thesis.

use crate::page::{FrameNode, NONE};

/// A first-in first-out queue threaded through one shared array of links; an activity is in at most
/// one queue of an array at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    head: u32,
    tail: u32,
}

impl Queue {
    pub const EMPTY: Queue = Queue { head: NONE, tail: NONE };

    pub fn is_empty(self) -> bool {
        self.head == NONE
    }

    pub fn push(&mut self, links: &mut [u32], activity: u32) {
        links[activity as usize] = NONE;
        match self.tail {
            NONE => self.head = activity,
            tail => links[tail as usize] = activity,
        }
        self.tail = activity;
    }

    pub fn pop(&mut self, links: &[u32]) -> Option<u32> {
        if self.head == NONE {
            return None;
        }
        let first = self.head;
        self.head = links[first as usize];
        if self.head == NONE {
            self.tail = NONE;
        }
        Some(first)
    }
}

/// The queue of one frame, in which parsing goes before scripts and style sheets (section 3.7.2).
#[derive(Clone, Copy, Debug)]
struct FrameQueue {
    parse: Queue,
    evaluate: Queue,
}

impl FrameQueue {
    fn is_empty(&self) -> bool {
        self.parse.is_empty() && self.evaluate.is_empty()
    }
}

/// One main thread.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// The activity under evaluation, or [`NONE`].
    running: u32,
    current_frame: u32,
    /// Events and due timers of all frames, in order of arrival.
    first: Queue,
    /// Entries in the queues of this thread's frames.
    queued: u32,
}

/// Where an evaluation queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Events and timers, before everything else.
    First,
    /// Parse chunks.
    Parse,
    /// Scripts and style sheets.
    Evaluate,
}

/// The main threads of a page.
#[derive(Clone, Debug)]
pub(super) struct Scheduler<'p> {
    frames: &'p [FrameNode],
    queues: Vec<FrameQueue>,
    threads: Vec<Thread>,
    links: Vec<u32>,
}

impl<'p> Scheduler<'p> {
    /// `first_frames` holds the frame that each thread begins with; frames belong to the thread of
    /// their process, or to the only one.
    pub fn new(frames: &'p [FrameNode], first_frames: &[u32], activities: usize) -> Self {
        let idle = |&current_frame: &u32| Thread {
            running: NONE,
            current_frame,
            first: Queue::EMPTY,
            queued: 0,
        };
        let empty = FrameQueue { parse: Queue::EMPTY, evaluate: Queue::EMPTY };
        Scheduler {
            frames,
            queues: vec![empty; frames.len()],
            threads: first_frames.iter().map(idle).collect(),
            links: vec![NONE; activities],
        }
    }

    /// The thread that runs the activities of a frame.
    pub fn thread_of(&self, frame: u32) -> u32 {
        if self.threads.len() == 1 { 0 } else { self.frames[frame as usize].process }
    }

    /// The activity under evaluation on a thread, or [`NONE`].
    pub fn running(&self, thread: u32) -> u32 {
        self.threads[thread as usize].running
    }

    /// Ends the evaluation under way on a thread.
    pub fn free(&mut self, thread: u32) {
        self.threads[thread as usize].running = NONE;
    }

    /// PUSH of Algorithm 3.
    pub fn push(&mut self, frame: u32, lane: Lane, activity: u32) {
        let thread = self.thread_of(frame);
        let thread = &mut self.threads[thread as usize];
        let queue = &mut self.queues[frame as usize];
        let lane = match lane {
            Lane::First => &mut thread.first,
            Lane::Parse => &mut queue.parse,
            Lane::Evaluate => &mut queue.evaluate,
        };
        lane.push(&mut self.links, activity);
        if !std::ptr::eq(lane, &thread.first) {
            thread.queued += 1;
        }
    }

    /// EVALUATEPENDING, Algorithm 4: the activity that an idle thread begins now, if any.
    pub fn evaluate_pending(&mut self, thread: u32) -> Option<u32> {
        let state = &mut self.threads[thread as usize];
        if state.running != NONE {
            return None;
        }
        if let Some(activity) = state.first.pop(&self.links) {
            state.running = activity;
            return Some(activity);
        }
        if state.queued == 0 {
            return None;
        }
        if self.queues[state.current_frame as usize].is_empty() {
            let next = self.select_next_frame(thread)?;
            self.threads[thread as usize].current_frame = next;
        }
        let state = &mut self.threads[thread as usize];
        let queue = &mut self.queues[state.current_frame as usize];
        let next = queue.parse.pop(&self.links).or_else(|| queue.evaluate.pop(&self.links));
        let activity = next.expect("the frame has work queued");
        state.queued -= 1;
        state.running = activity;
        Some(activity)
    }

    /// SELECTNEXTFRAME, Algorithm 5: a subframe of the current frame, its parent, or any frame with
    /// work queued. The frames of other processes are other threads' business.
    fn select_next_frame(&self, thread: u32) -> Option<u32> {
        let current = self.threads[thread as usize].current_frame;
        let has_work = |&frame: &u32| {
            !self.queues[frame as usize].is_empty() && self.thread_of(frame) == thread
        };
        let node = &self.frames[current as usize];
        let parent = Some(node.parent).filter(|&parent| parent != NONE);
        let all = 0..self.frames.len() as u32;
        node.subframes.iter().copied().chain(parent).chain(all).find(has_work)
    }
}
