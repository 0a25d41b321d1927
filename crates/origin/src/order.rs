//! Which response's bytes go first on a connection. Knows no sockets: a list of responses, and the
//! order in which they may send.

use crate::config::Priorities;

/// Extensible priorities (RFC 9218, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extensible {
    /// 0 is the most urgent, 7 the least.
    pub urgency: u8,
    /// Whether parts of the response are of use.
    pub incremental: bool,
}

impl Default for Extensible {
    fn default() -> Self {
        Extensible { urgency: 3, incremental: false }
    }
}

impl Extensible {
    /// Reads a `priority` field, a dictionary of structured fields; what is not understood has its
    /// default.
    pub fn parse(field: &str) -> Extensible {
        let mut priority = Extensible::default();
        for member in field.split(',') {
            // Parameters of members are ignored.
            let member = member.split(';').next().unwrap_or("").trim();
            match member.split_once('=') {
                Some(("u", value)) => {
                    priority.urgency =
                        value.parse().ok().filter(|u| *u <= 7).unwrap_or(priority.urgency);
                }
                Some(("i", "?0")) => priority.incremental = false,
                Some(("i", "?1")) => priority.incremental = true,
                None if member == "i" => priority.incremental = true,
                _ => {}
            }
        }
        priority
    }
}

/// A response that has bytes to send.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u64,
    /// When it became ready, as a number.
    number: u64,
    rank: u32,
    priority: Extensible,
    /// When it sent last, as a number.
    turn: u64,
    /// Whether it cannot send for reasons of its own.
    aside: bool,
}

/// The responses of a connection.
#[derive(Debug)]
pub(crate) struct Order {
    by: Priorities,
    entries: Vec<Entry>,
    next: u64,
}

impl Order {
    pub fn new(by: Priorities) -> Order {
        Order { by, entries: Vec::new(), next: 0 }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A response of stream `id` is ready.
    pub fn add(&mut self, id: u64, rank: u32, priority: Extensible) {
        let number = self.number();
        self.entries.push(Entry { id, number, rank, priority, turn: 0, aside: false });
    }

    /// The client thinks differently now.
    pub fn set_priority(&mut self, id: u64, priority: Extensible) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.priority = priority;
        }
    }

    /// It cannot send for reasons of its own, or can again.
    pub fn set_aside(&mut self, id: u64, aside: bool) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.aside = aside;
        }
    }

    pub fn remove(&mut self, id: u64) {
        self.entries.retain(|entry| entry.id != id);
    }

    /// It sent a piece.
    pub fn sent(&mut self, id: u64) {
        let turn = self.number();
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.turn = turn;
        }
    }

    /// All, the next one to send first.
    pub fn ids(&self) -> Vec<u64> {
        let mut entries: Vec<&Entry> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|entry| self.key(entry));
        entries.into_iter().map(|entry| entry.id).collect()
    }

    /// The next one to send.
    pub fn first(&self) -> Option<u64> {
        self.entries.iter().min_by_key(|entry| self.key(entry)).map(|entry| entry.id)
    }

    /// RFC 9218, section 10: the more urgent first; of the same urgency those that are of use only as
    /// a whole in the order of the requests, then the others in turns.
    fn key(&self, entry: &Entry) -> (bool, u32, bool, u64) {
        let (urgency, incremental, number) = match self.by {
            Priorities::None => (0, false, entry.number),
            Priorities::Order => (entry.rank, false, entry.number),
            Priorities::Client => {
                let Extensible { urgency, incremental } = entry.priority;
                (urgency.into(), incremental, if incremental { entry.turn } else { entry.id })
            }
        };
        (entry.aside, urgency, incremental, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extensible(urgency: u8, incremental: bool) -> Extensible {
        Extensible { urgency, incremental }
    }

    #[test]
    fn a_priority_field_is_read_with_its_defaults() {
        assert_eq!(Extensible::parse(""), extensible(3, false));
        assert_eq!(Extensible::parse("u=0, i"), extensible(0, true));
        assert_eq!(Extensible::parse("i=?1,u=5"), extensible(5, true));
        assert_eq!(Extensible::parse("u=1;x=2, i=?0"), extensible(1, false));
        assert_eq!(Extensible::parse("u=9, v=1, i=1"), extensible(3, false));
    }

    #[test]
    fn without_priorities_the_first_ready_is_first() {
        let mut order = Order::new(Priorities::None);
        order.add(5, 0, extensible(7, false));
        order.add(1, 0, extensible(0, false));
        order.sent(5);
        assert_eq!(order.ids(), [5, 1]);
        order.remove(5);
        assert_eq!(order.first(), Some(1));
    }

    #[test]
    fn the_scenarios_order_goes_before_all_else() {
        let mut order = Order::new(Priorities::Order);
        order.add(1, u32::MAX, extensible(0, false));
        order.add(3, 1, extensible(0, false));
        order.add(5, 0, extensible(7, false));
        order.add(7, u32::MAX, extensible(0, false));
        assert_eq!(order.ids(), [5, 3, 1, 7]);
    }

    #[test]
    fn urgent_ones_go_first_and_incremental_ones_in_turns() {
        let mut order = Order::new(Priorities::Client);
        order.add(1, 0, extensible(3, true));
        order.add(3, 0, extensible(3, true));
        order.add(7, 0, extensible(3, false));
        order.add(5, 0, extensible(3, false));
        order.add(9, 0, extensible(1, false));
        assert_eq!(order.ids()[..3], [9, 5, 7]);
        for id in [9, 5, 7] {
            order.remove(id);
        }
        let mut turns = Vec::new();
        for _ in 0..4 {
            let id = order.first().unwrap();
            order.sent(id);
            turns.push(id);
        }
        assert_eq!(turns, [1, 3, 1, 3]);
        order.set_priority(3, extensible(0, true));
        assert_eq!(order.first(), Some(3));
        order.set_aside(3, true);
        assert_eq!(order.ids(), [1, 3]);
        order.set_aside(3, false);
        assert_eq!(order.first(), Some(3));
    }
}
