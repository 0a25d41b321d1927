//! The figures of many loads as columns: what sweeps store, without an object a load.

use crate::load::Summary;
use crate::outcome::{CriticalPhases, Status};

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Times; NaN where a load has none.
    Float(Vec<f64>),
    /// Counts.
    Integer(Vec<i64>),
}

impl Values {
    /// Element type as a format string of the Arrow C data interface.
    pub fn format(&self) -> &'static str {
        match self {
            Values::Float(_) => "g",
            Values::Integer(_) => "l",
        }
    }

    /// The elements in little-endian order of bytes, as Arrow and Parquet have them.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match self {
            Values::Float(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Values::Integer(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }
}

/// The figures of a list of loads, one column each, in the order of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Names, those of the fields of [`Summary`], its totals and, after `critical_`, its critical
    /// path, and values.
    pub columns: Vec<(&'static str, Values)>,
    /// Place in the list and reason of each load that did not reach its load event.
    pub failures: Vec<(usize, String)>,
}

impl Columns {
    /// Turns a list of figures on its side.
    pub fn new(summaries: &[Summary]) -> Columns {
        let float = |of: fn(&Summary) -> Option<f64>| {
            Values::Float(summaries.iter().map(|s| of(s).unwrap_or(f64::NAN)).collect())
        };
        let integer = |of: fn(&Summary) -> u64| {
            let count = |s| i64::try_from(of(s)).expect("counts of a load are far below 2^63");
            Values::Integer(summaries.iter().map(count).collect())
        };
        let phase = |of: fn(&CriticalPhases) -> f64| {
            let value = |s: &Summary| s.critical_path.as_ref().map_or(f64::NAN, |p| of(&p.phases));
            Values::Float(summaries.iter().map(value).collect())
        };
        let failure = |(place, summary): (usize, &Summary)| match &summary.status {
            Status::Complete => None,
            Status::Failed { reason } => Some((place, reason.clone())),
        };
        Columns {
            columns: vec![
                ("plt_ms", float(|s| s.plt_ms)),
                ("dcl_ms", float(|s| s.dcl_ms)),
                ("connections", integer(|s| s.connections)),
                ("requests", integer(|s| s.requests)),
                ("bytes", integer(|s| s.totals.bytes)),
                ("data_packets", integer(|s| s.totals.data_packets)),
                ("packets", integer(|s| s.totals.packets)),
                ("drops", integer(|s| s.totals.drops)),
                ("retransmissions", integer(|s| s.totals.retransmissions)),
                ("timeouts", integer(|s| s.totals.timeouts)),
                ("tail_losses", integer(|s| s.totals.tail_losses)),
                ("tail_probes", integer(|s| s.totals.tail_probes)),
                ("events", integer(|s| s.totals.events)),
                (
                    "critical_bytes",
                    integer(|s| s.critical_path.as_ref().map_or(0, |path| path.bytes)),
                ),
                ("critical_connection_setup_ms", phase(|p| p.network.connection_setup_ms)),
                ("critical_client_queue_ms", phase(|p| p.network.client_queue_ms)),
                ("critical_request_flight_ms", phase(|p| p.network.request_flight_ms)),
                ("critical_server_queue_ms", phase(|p| p.network.server_queue_ms)),
                ("critical_server_processing_ms", phase(|p| p.network.server_processing_ms)),
                ("critical_response_wait_ms", phase(|p| p.network.response_wait_ms)),
                ("critical_first_byte_flight_ms", phase(|p| p.network.first_byte_flight_ms)),
                ("critical_transfer_ms", phase(|p| p.network.transfer_ms)),
                ("critical_timer_wait_ms", phase(|p| p.timer_wait_ms)),
                ("critical_main_thread_wait_ms", phase(|p| p.main_thread_wait_ms)),
                ("critical_parse_ms", phase(|p| p.parse_ms)),
                ("critical_script_ms", phase(|p| p.script_ms)),
                ("critical_style_ms", phase(|p| p.style_ms)),
                ("critical_timer_ms", phase(|p| p.timer_ms)),
                ("critical_event_ms", phase(|p| p.event_ms)),
                ("critical_other_ms", phase(|p| p.other_ms)),
            ],
            failures: summaries.iter().enumerate().filter_map(failure).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Totals;

    fn summary(status: Status, plt_ms: Option<f64>, bytes: u64) -> Summary {
        Summary {
            status,
            plt_ms,
            dcl_ms: None,
            connections: 2,
            requests: 3,
            totals: Totals { bytes, ..Totals::default() },
            critical_path: None,
        }
    }

    #[test]
    fn a_load_without_load_event_is_a_gap_with_a_reason() {
        let failed = Status::Failed { reason: "why".into() };
        let columns = Columns::new(&[
            summary(Status::Complete, Some(1.5), 7),
            summary(failed, None, 1 << 40),
        ]);
        let column = |name| &columns.columns.iter().find(|(n, _)| *n == name).unwrap().1;
        let Values::Float(plt) = column("plt_ms") else { panic!("load times are floats") };
        assert_eq!(plt[0], 1.5);
        assert!(plt[1].is_nan());
        assert_eq!(*column("bytes"), Values::Integer(vec![7, 1 << 40]));
        assert_eq!(columns.failures, [(1, "why".to_owned())]);
    }

    #[test]
    fn bytes_are_little_endian_in_the_format_that_is_named() {
        let integers = Values::Integer(vec![1, -1]);
        assert_eq!(integers.format(), "l");
        assert_eq!(integers.to_le_bytes(), [[1, 0, 0, 0, 0, 0, 0, 0], [0xff; 8]].concat());
        let floats = Values::Float(vec![1.0]);
        assert_eq!(floats.format(), "g");
        assert_eq!(floats.to_le_bytes(), [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    }
}
