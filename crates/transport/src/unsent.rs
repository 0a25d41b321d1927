//! What is written and not yet sent. Priorities reorder only this; what was sent once stays as it
//! was sent.

use std::collections::VecDeque;

use crate::{Message, MessageId, SendOrder};

/// Messages in the order in which they leave.
#[derive(Clone, Debug)]
pub(crate) struct UnsentPool {
    messages: VecDeque<Unsent>,
    bytes: u64,
    order: SendOrder,
}

#[derive(Clone, Debug)]
struct Unsent {
    id: MessageId,
    priority: u32,
    len: u64,
    /// Bytes of it that were sent.
    sent: u64,
}

/// Bytes on their way into a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub message: MessageId,
    pub offset: u64,
    pub len: u32,
    /// They end their message.
    pub end: bool,
}

impl UnsentPool {
    pub fn new(order: SendOrder) -> Self {
        UnsentPool { messages: VecDeque::new(), bytes: 0, order }
    }

    /// Places a message by the send order; among equals, as written.
    pub fn write(&mut self, message: Message) {
        if message.len == 0 {
            return;
        }
        self.place(message, 0);
    }

    /// The rest of a message of which the first `written` bytes were written before. `message.len` is the length
    /// of the whole.
    pub fn write_rest(&mut self, message: Message, written: u64) {
        if message.len <= written {
            return;
        }
        match self.messages.iter_mut().find(|m| m.id == message.id) {
            Some(unsent) => {
                unsent.len = message.len;
                self.bytes += message.len - written;
            }
            None => self.place(message, written),
        }
    }

    fn place(&mut self, message: Message, sent: u64) {
        self.bytes += message.len - sent;
        let mut place = self.messages.len();
        if self.order != SendOrder::Fifo {
            let in_progress = self.order == SendOrder::Priority
                && self.messages.front().is_some_and(|first| first.sent > 0);
            while place > usize::from(in_progress)
                && self.messages[place - 1].priority > message.priority
            {
                place -= 1;
            }
        }
        let Message { id, len, priority } = message;
        self.messages.insert(place, Unsent { id, priority, len, sent });
    }

    /// All bytes in the pool.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Length of the next segment if it may have up to `max` bytes; 0 if there is none.
    #[inline]
    pub fn next_len(&self, max: u32) -> u32 {
        self.messages.front().map_or(0, |m| (m.len - m.sent).min(u64::from(max)) as u32)
    }

    /// Takes up to `max` bytes of the first message.
    #[inline]
    pub fn take(&mut self, max: u32) -> Option<Chunk> {
        self.take_of(0, max)
    }

    /// Takes up to `max` bytes of the message at `place`: look-ahead.
    #[inline]
    pub fn take_of(&mut self, place: usize, max: u32) -> Option<Chunk> {
        let message = self.messages.get_mut(place)?;
        let len = (message.len - message.sent).min(u64::from(max)) as u32;
        let chunk = Chunk {
            message: message.id,
            offset: message.sent,
            len,
            end: message.sent + u64::from(len) == message.len,
        };
        message.sent += u64::from(len);
        self.bytes -= u64::from(len);
        if chunk.end {
            self.messages.remove(place);
        }
        Some(chunk)
    }

    /// Unsent bytes of each message, in the order in which they leave.
    pub fn remaining(&self) -> impl Iterator<Item = u64> {
        self.messages.iter().map(|m| m.len - m.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_of(order: SendOrder) -> Vec<u32> {
        let mut pool = UnsentPool::new(order);
        let write = |pool: &mut UnsentPool, id, priority| {
            pool.write(Message { id: MessageId(id), len: 2, priority });
        };
        write(&mut pool, 1, 5);
        write(&mut pool, 2, 7);
        let mut seen = vec![pool.take(1).unwrap().message.0];
        write(&mut pool, 3, 5);
        write(&mut pool, 4, 1);
        while let Some(chunk) = pool.take(1) {
            seen.push(chunk.message.0);
        }
        assert_eq!(pool.bytes(), 0);
        seen
    }

    #[test]
    fn the_rest_of_a_message_joins_what_is_left_of_it_or_goes_on_where_it_ended() {
        for sent_before in [0, 2, 3] {
            let mut pool = UnsentPool::new(SendOrder::Fifo);
            pool.write(Message { id: MessageId(1), len: 3, priority: 0 });
            if sent_before > 0 {
                assert_eq!(pool.take(sent_before).unwrap().len, sent_before);
            }
            pool.write_rest(Message { id: MessageId(1), len: 10, priority: 0 }, 3);
            assert_eq!(pool.bytes(), 10 - u64::from(sent_before));
            let chunk = pool.take(100).unwrap();
            assert_eq!((chunk.offset, chunk.len), (u64::from(sent_before), 10 - sent_before));
            assert!(chunk.end && pool.bytes() == 0);
        }
    }

    #[test]
    fn each_order_sends_the_messages_as_it_says() {
        assert_eq!(order_of(SendOrder::Fifo), [1, 1, 2, 2, 3, 3, 4, 4]);
        assert_eq!(order_of(SendOrder::Priority), [1, 1, 4, 4, 3, 3, 2, 2]);
        assert_eq!(order_of(SendOrder::PriorityPreemptive), [1, 4, 4, 1, 3, 3, 2, 2]);
    }
}
