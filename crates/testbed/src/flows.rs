//! Flows of real packets, in the order in which they appear on a path.

use std::collections::BTreeMap;

use loadpath_net::Direction;

/// More flows than an exact loss can name; later ones are not counted apart.
const MOST_FLOWS: usize = 65_536;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Protocol, client's and server's address with port.
type Key = (u8, [u8; 6], [u8; 6]);

/// Numbers of the flows seen so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flows(BTreeMap<Key, u32>);

impl Flows {
    /// Number of the flow of a packet that carries data; `None` if it carries none, or is of no flow.
    /// Packets without data, such as a SYN, make their flow appear.
    pub(crate) fn of_data(&mut self, direction: Direction, packet: &[u8]) -> Option<u32> {
        let (key, has_data) = parse(direction, packet)?;
        let next = self.0.len();
        let number = match self.0.get(&key) {
            Some(number) => *number,
            None if next < MOST_FLOWS => *self.0.entry(key).or_insert(next as u32),
            None => return None,
        };
        has_data.then_some(number)
    }
}

/// RFC 791, 9293 and 768: the flow of a TCP or UDP packet, and whether it carries data. A later
/// fragment has no ports, and no packet here is too large to pass in one piece.
fn parse(direction: Direction, packet: &[u8]) -> Option<(Key, bool)> {
    let version_and_length = *packet.first()?;
    let ip_bytes = usize::from(version_and_length & 0xF) * 4;
    if version_and_length >> 4 != 4 || ip_bytes < 20 {
        return None;
    }
    let total = usize::from(u16::from_be_bytes(packet.get(2..4)?.try_into().ok()?));
    let fragment_offset = u16::from_be_bytes(packet.get(6..8)?.try_into().ok()?) & 0x1FFF;
    if fragment_offset > 0 {
        return None;
    }
    let protocol = *packet.get(9)?;
    let rest = packet.get(ip_bytes..total.min(packet.len()))?;
    let header_bytes = match protocol {
        TCP => usize::from(*rest.get(12)? >> 4) * 4,
        UDP => 8,
        _ => return None,
    };
    let end = |address: usize, port: usize| -> Option<[u8; 6]> {
        let mut end = [0; 6];
        end[..4].copy_from_slice(packet.get(address..address + 4)?);
        end[4..].copy_from_slice(rest.get(port..port + 2)?);
        Some(end)
    };
    let (source, destination) = (end(12, 0)?, end(16, 2)?);
    let key = match direction {
        Direction::Up => (protocol, source, destination),
        Direction::Down => (protocol, destination, source),
    };
    Some((key, rest.len() > header_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(protocol: u8, from: [u8; 6], to: [u8; 6], payload: usize) -> Vec<u8> {
        let header = if protocol == TCP { 20 } else { 8 };
        let total = 20 + header + payload;
        let mut packet = vec![0; total];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        packet[9] = protocol;
        packet[12..16].copy_from_slice(&from[..4]);
        packet[16..20].copy_from_slice(&to[..4]);
        packet[20..22].copy_from_slice(&from[4..]);
        packet[22..24].copy_from_slice(&to[4..]);
        if protocol == TCP {
            packet[32] = 5 << 4;
        }
        packet
    }

    #[test]
    fn flows_are_numbered_as_they_appear_whichever_way() {
        const A: [u8; 6] = [100, 64, 0, 1, 0x90, 1];
        const B: [u8; 6] = [100, 64, 0, 1, 0x90, 2];
        const SERVER: [u8; 6] = [100, 64, 0, 2, 0, 80];
        let mut flows = Flows::default();
        assert_eq!(flows.of_data(Direction::Up, &packet(TCP, A, SERVER, 0)), None);
        assert_eq!(flows.of_data(Direction::Up, &packet(UDP, A, SERVER, 3)), Some(1));
        assert_eq!(flows.of_data(Direction::Down, &packet(TCP, SERVER, A, 9)), Some(0));
        assert_eq!(flows.of_data(Direction::Up, &packet(TCP, B, SERVER, 1)), Some(2));
        assert_eq!(flows.of_data(Direction::Down, &packet(UDP, SERVER, A, 1)), Some(1));
        assert_eq!(flows.of_data(Direction::Down, &packet(UDP, SERVER, A, 0)), None);
    }

    #[test]
    fn what_is_no_flow_is_none() {
        let mut flows = Flows::default();
        let echo = packet(1, [0; 6], [0; 6], 5);
        let mut fragment = packet(UDP, [0; 6], [0; 6], 5);
        fragment[7] = 1;
        let whole = packet(TCP, [0; 6], [0; 6], 5);
        for other in [&echo, &fragment, &whole[..30].to_vec(), &vec![0x60; 40], &vec![]] {
            assert_eq!(flows.of_data(Direction::Up, other), None);
        }
    }
}
