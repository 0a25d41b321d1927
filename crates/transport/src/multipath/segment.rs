//! A segment of a subflow with the MPTCP option that it carries.

use crate::{Flags, PathId, Report, Segment};

/// What travels between two ends of a connection over several subflows. `tcp.window` is the window of the
/// connection, counted from `data_ack` (RFC 6824, section 3.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultipathSegment {
    /// The TCP segment, with the sequence numbers of its subflow.
    pub tcp: Segment,
    /// Number of the subflow (its pair of addresses and ports).
    pub subflow: u8,
    /// The path that the subflow takes.
    pub path: PathId,
    /// The option.
    pub option: MultipathOption,
    /// Data sequence number of the first payload byte; data begin at 1.
    pub data_seq: u64,
    /// Next data sequence number expected from the other side.
    pub data_ack: u64,
}

/// The MPTCP option of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MultipathOption {
    /// MP_CAPABLE: the handshake of the first subflow.
    #[default]
    Capable,
    /// MP_JOIN: the handshake of another subflow.
    Join,
    /// DSS: data sequence number, if there is payload, and data ACK.
    Dss,
}

/// DSS with a data ACK alone: kind, length, flags, four bytes of ACK (RFC 6824, section 3.3).
const DSS_ACK_BYTES: u32 = 8;
/// DSS with a mapping: four bytes more of data sequence number, four of subflow sequence number, two of
/// length, and padding in the place of the checksum (RFC 6824, section 3.3).
pub(crate) const DSS_MAPPING_BYTES: u32 = 20;
/// Options of a TCP header (RFC 9293) less timestamps with their padding (RFC 7323, appendix A).
const OPTION_SPACE_BYTES: u32 = 40 - 12;

impl MultipathOption {
    /// Bytes in the header of `tcp`, padded to a multiple of four (RFC 6824, sections 3.1 to 3.3).
    #[inline]
    pub fn wire_bytes(self, tcp: &Segment) -> u32 {
        let (syn, ack) = (tcp.flags.has(Flags::SYN), tcp.flags.has(Flags::ACK));
        match self {
            // One key on SYN and its answer, both on the third segment.
            MultipathOption::Capable => {
                if syn {
                    12
                } else {
                    20
                }
            }
            // Token and nonce, truncated MAC and nonce, whole MAC.
            MultipathOption::Join => match (syn, ack) {
                (true, false) => 12,
                (true, true) => 16,
                _ => 24,
            },
            MultipathOption::Dss => {
                if tcp.len > 0 {
                    DSS_MAPPING_BYTES
                } else {
                    DSS_ACK_BYTES
                }
            }
        }
    }
}

impl MultipathSegment {
    /// Adds the option to the bytes on the wire and drops what it leaves no room for: all but two SACK
    /// blocks beside a data ACK, all beside a mapping.
    #[inline(always)]
    pub(crate) fn count_option(&mut self) {
        let bytes = self.option.wire_bytes(&self.tcp);
        self.tcp.wire_bytes += bytes;
        if !matches!(self.tcp.report, Report::None) {
            self.shorten_report(bytes);
        }
    }

    #[inline(never)]
    fn shorten_report(&mut self, bytes: u32) {
        let before = self.tcp.report.wire_bytes();
        if let Report::Sack(blocks) = &mut self.tcp.report {
            for i in (0..blocks.len()).rev() {
                if bytes + Report::Sack(*blocks).wire_bytes() > OPTION_SPACE_BYTES {
                    blocks[i] = Default::default();
                }
            }
            if bytes + 4 + 8 > OPTION_SPACE_BYTES {
                self.tcp.report = Report::None;
            }
        }
        let after = self.tcp.report.wire_bytes();
        self.tcp.wire_bytes = self.tcp.wire_bytes + after - before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AckRange;

    fn segment(option: MultipathOption, len: u32, report: Report) -> MultipathSegment {
        let tcp = Segment {
            flags: Flags::ACK,
            len,
            report,
            wire_bytes: len + 54 + report.wire_bytes(),
            ..Segment::default()
        };
        let mut segment = MultipathSegment { tcp, option, ..MultipathSegment::default() };
        segment.count_option();
        segment
    }

    #[test]
    fn sack_blocks_share_the_header_with_the_option() {
        let block = AckRange { start: 1000, end: 2000 };
        let three = Report::Sack([block; 3]);
        let ack = segment(MultipathOption::Dss, 0, three);
        assert_eq!(ack.tcp.wire_bytes, 54 + 8 + 20, "two blocks");
        let data = segment(MultipathOption::Dss, 1000, three);
        assert_eq!((data.tcp.report, data.tcp.wire_bytes), (Report::None, 1054 + 20));
        let nack = segment(MultipathOption::Dss, 0, Report::Nack(block));
        assert_eq!((nack.tcp.report, nack.tcp.wire_bytes), (Report::Nack(block), 54 + 8 + 12));
    }

    #[test]
    fn a_segment_with_its_option_is_small() {
        assert!(size_of::<MultipathSegment>() <= 120, "{}", size_of::<MultipathSegment>());
    }
}
