//! The server models: when a request on a connection is processed and answered. They mean what
//! `loadpath_web::http::ServerModel` means.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use crate::config::ServerModel;

/// The requests of a connection that have no answer yet.
#[derive(Debug)]
pub(crate) struct Turns {
    model: ServerModel,
    waiting: Mutex<BTreeSet<u64>>,
    next: Mutex<u64>,
    answered: Notify,
}

impl Turns {
    pub fn new(model: ServerModel) -> Arc<Turns> {
        Arc::new(Turns {
            model,
            waiting: Mutex::default(),
            next: Mutex::default(),
            answered: Notify::new(),
        })
    }

    /// A request arrived.
    pub fn enter(self: &Arc<Self>) -> Turn {
        let mut next = self.next.lock().expect("no panics");
        let number = *next;
        *next += 1;
        self.waiting.lock().expect("no panics").insert(number);
        Turn { turns: self.clone(), number }
    }

    fn is_first(&self, number: u64) -> bool {
        self.waiting.lock().expect("no panics").first() == Some(&number)
    }
}

/// A request's place; dropped when it is answered, or nobody wants the answer any more.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    number: u64,
}

impl Turn {
    /// Whether it can be answered at once if processing takes no time.
    pub fn is_free(&self) -> bool {
        self.turns.model == ServerModel::OutOfOrder || self.turns.is_first(self.number)
    }

    /// Processes the request: returns when its answer is to be written.
    pub async fn process(&self, delay: Duration) {
        match self.turns.model {
            ServerModel::OutOfOrder => sleep(delay).await,
            ServerModel::Parallel => {
                sleep(delay).await;
                self.come_first().await;
            }
            ServerModel::Serial => {
                self.come_first().await;
                sleep(delay).await;
            }
        }
    }

    async fn come_first(&self) {
        loop {
            let mut answered = std::pin::pin!(self.turns.answered.notified());
            answered.as_mut().enable();
            if self.turns.is_first(self.number) {
                return;
            }
            answered.await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.waiting.lock().expect("no panics").remove(&self.number);
        self.turns.answered.notify_waiters();
    }
}

async fn sleep(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    /// When three requests that take 30, 20 and 10 ms are answered, in ms of a clock that stands still
    /// while anything runs.
    fn answers(model: ServerModel) -> Vec<(u64, u64)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let turns = Turns::new(model);
            let start = Instant::now();
            let answers = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = tokio::task::JoinSet::new();
            for ms in [30, 20, 10] {
                let (turn, answers) = (turns.enter(), answers.clone());
                tasks.spawn(async move {
                    turn.process(Duration::from_millis(ms)).await;
                    let now = start.elapsed().as_millis() as u64;
                    answers.lock().unwrap().push((ms, now));
                });
            }
            tasks.join_all().await;
            Arc::into_inner(answers).unwrap().into_inner().unwrap()
        })
    }

    #[test]
    fn a_serial_server_begins_when_the_request_before_is_answered() {
        assert_eq!(answers(ServerModel::Serial), [(30, 30), (20, 50), (10, 60)]);
    }

    #[test]
    fn a_parallel_server_answers_in_the_order_of_requests() {
        assert_eq!(answers(ServerModel::Parallel), [(30, 30), (20, 30), (10, 30)]);
    }

    #[test]
    fn an_out_of_order_server_answers_when_ready() {
        assert_eq!(answers(ServerModel::OutOfOrder), [(10, 10), (20, 20), (30, 30)]);
    }

    #[test]
    fn a_request_that_is_given_up_does_not_let_later_ones_pass_an_earlier_one() {
        let turns = Turns::new(ServerModel::Parallel);
        let (first, second, third) = (turns.enter(), turns.enter(), turns.enter());
        drop(second);
        assert!(first.is_free() && !third.is_free());
        drop(first);
        assert!(third.is_free());
    }
}
