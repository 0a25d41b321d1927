//! Redundant: every subflow sends everything that is not acknowledged yet, at its own pace; a subflow that
//! has sent all goes on to new data (Frömmgen et al., IEEE ICC 2016; Linux `mptcp_redundant.c`).

use super::super::config::MAX_SUBFLOWS;
use super::{Choice, Schedule, Situation, first_message};

/// How far each subflow has come.
#[derive(Clone, Debug)]
pub(crate) struct Redundant {
    next: [u64; MAX_SUBFLOWS],
}

impl Redundant {
    pub fn new() -> Self {
        Redundant { next: [0; MAX_SUBFLOWS] }
    }
}

impl Schedule for Redundant {
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        for (subflow, _) in s.available() {
            if let Some(entry) = s.log.first_not_on(subflow, self.next[subflow]) {
                self.next[subflow] = entry.data_seq + u64::from(entry.chunk.len);
                return Some(Choice::Again { subflow, data_seq: entry.data_seq });
            }
        }
        let room = s.pool.bytes() > 0 && s.log.next() < s.data_edge;
        let (subflow, _) = s.fastest_available().filter(|_| room)?;
        self.next[subflow] = s.log.next() + 1;
        Some(first_message(subflow))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::data_log::DataLog;
    use super::super::tests::{path, pool, situation};
    use super::*;

    #[test]
    fn each_subflow_sends_each_segment() {
        let mut pool = pool(&[3000]);
        let mut log = DataLog::new();
        let mut redundant = Redundant::new();
        let mut paths = [path(50, 10, 0), path(20, 10, 0)];
        let first = redundant.choose(&Situation { log: &log, ..situation(&paths, &pool) });
        assert_eq!(first, Some(first_message(1)), "new data on the fastest");
        log.push(pool.take(1000).unwrap(), 1);
        paths[0].room = false;
        let second = redundant.choose(&Situation { log: &log, ..situation(&paths, &pool) });
        assert_eq!(second, Some(first_message(1)));
        log.push(pool.take(1000).unwrap(), 1);
        paths[0].room = true;
        for data_seq in [1, 1001] {
            let next = redundant.choose(&Situation { log: &log, ..situation(&paths, &pool) });
            assert_eq!(next, Some(Choice::Again { subflow: 0, data_seq }));
        }
        let next = redundant.choose(&Situation { log: &log, ..situation(&paths, &pool) });
        assert_eq!(next, Some(first_message(1)), "all was repeated");
    }
}
