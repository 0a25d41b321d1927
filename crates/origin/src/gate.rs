//! The responses of an HTTP/3 connection take turns here: QUIC sends what it has been given, so what
//! it is given has to be in order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use crate::config::Priorities;
use crate::order::{Extensible, Order};

/// Priorities may come before their requests; of so many.
const MAX_EARLY: usize = 128;

/// Lets one response send at a time.
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    order: Order,
    /// What the client said last, by stream.
    updates: BTreeMap<u64, Extensible>,
}

impl Gate {
    pub fn new(by: Priorities) -> Arc<Gate> {
        let state = State { order: Order::new(by), updates: BTreeMap::new() };
        Arc::new(Gate { state: Mutex::new(state), changed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panics")
    }

    /// The client thinks so of a stream now, or of one to come.
    pub fn set_priority(&self, id: u64, priority: Extensible) {
        let mut state = self.state();
        if state.updates.len() >= MAX_EARLY && !state.updates.contains_key(&id) {
            state.updates.pop_first();
        }
        state.updates.insert(id, priority);
        state.order.set_priority(id, priority);
        drop(state);
        self.changed.notify_waiters();
    }

    /// A response is ready.
    pub fn enter(self: &Arc<Self>, id: u64, rank: u32, priority: Extensible) -> Place {
        let mut state = self.state();
        let priority = state.updates.get(&id).copied().unwrap_or(priority);
        state.order.add(id, rank, priority);
        drop(state);
        Place { gate: self.clone(), id }
    }
}

/// A response that has something to send.
pub(crate) struct Place {
    gate: Arc<Gate>,
    id: u64,
}

impl Place {
    /// Waits until nothing goes before this response.
    pub async fn come_first(&self) {
        loop {
            let mut changed = std::pin::pin!(self.gate.changed.notified());
            changed.as_mut().enable();
            if self.gate.state().order.first() == Some(self.id) {
                return;
            }
            changed.await;
        }
    }

    /// Lets others pass while the client does not take what this stream sends, or no longer.
    pub fn set_aside(&self, aside: bool) {
        self.gate.state().order.set_aside(self.id, aside);
        self.gate.changed.notify_waiters();
    }

    /// A piece was sent: it may be the turn of another.
    pub fn sent(&self) {
        let mut state = self.gate.state();
        state.order.sent(self.id);
        let stays = state.order.first() == Some(self.id);
        drop(state);
        if !stays {
            self.gate.changed.notify_waiters();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        state.order.remove(self.id);
        state.updates.remove(&self.id);
        drop(state);
        self.gate.changed.notify_waiters();
    }
}
