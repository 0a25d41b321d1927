//! From scenario values to the parameters of links and endpoints.

use loadpath_net::{Bitrate, Capacity, RedConfig, RedUnit, SimDuration};
use loadpath_transport::{TcpConfig, Validation};

use super::{Network, QueueKind, Scenario, ScenarioError, ValidationKind};

/// Queue of the bottleneck, without its random stream.
pub(crate) enum QueuePlan {
    Unlimited,
    DropTail(Capacity),
    Red(RedConfig),
}

impl Scenario {
    pub(super) fn fill_in_autos(&mut self) {
        self.network.up_rate_bps.fill(self.network.rate_bps);
        let syn_timeout_ms = if self.network.rtt_ms < 200.0 { 1000.0 } else { 2000.0 };
        self.transport.syn_timeout_ms.fill(syn_timeout_ms);
        let protocol = self.http.version;
        self.http.connections_per_host.fill(protocol.default_connections.into());
        self.http.send_order.fill(protocol.default_send_order);
        self.server.model.fill(protocol.default_server);
    }

    /// Combinations that cannot be.
    pub(super) fn check(&self, origin: &str) -> Result<(), ScenarioError> {
        let n = &self.network;
        if n.red_min_fraction >= n.red_max_fraction {
            return Err(ScenarioError::new(
                origin,
                format!(
                    "network.red_min_fraction = {}: expected less than network.red_max_fraction = {}",
                    n.red_min_fraction, n.red_max_fraction
                ),
            ));
        }
        let t = &self.transport;
        if t.min_rto_ms > t.max_rto_ms {
            return Err(ScenarioError::new(
                origin,
                format!(
                    "transport.min_rto_ms = {}: expected at most transport.max_rto_ms = {}",
                    t.min_rto_ms, t.max_rto_ms
                ),
            ));
        }
        if t.receive_buffer_bytes >> t.window_scale == 0 {
            return Err(ScenarioError::new(
                origin,
                format!(
                    "transport.receive_buffer_bytes = {}: expected at least {}, the unit of windows with transport.window_scale = {}",
                    t.receive_buffer_bytes,
                    1u64 << t.window_scale,
                    t.window_scale
                ),
            ));
        }
        Ok(())
    }

    pub(crate) fn tcp(&self) -> TcpConfig {
        let t = &self.transport;
        let ms = SimDuration::from_millis_f64;
        TcpConfig {
            mss: t.mss_bytes as u32,
            header_bytes: t.header_bytes as u32,
            link_header_bytes: t.link_header_bytes as u32,
            initial_window_segments: t.initial_window_segments as u32,
            send_buffer_bytes: t.send_buffer_bytes,
            receive_buffer_bytes: t.receive_buffer_bytes,
            window_scale: t.window_scale as u8,
            min_rto: ms(t.min_rto_ms),
            max_rto: ms(t.max_rto_ms),
            syn_timeout: ms(t.syn_timeout_ms.get()),
            max_syn_retries: t.syn_retries as u32,
            max_data_retries: t.data_retries as u32,
            rearm_stale_rto: t.rearm_stale_rto,
            delayed_ack_segments: t.delayed_ack_segments as u32,
            delayed_ack_timeout: ms(t.delayed_ack_ms),
            quick_ack_segments: t.quick_ack_segments as u32,
            ack_push_at_once: t.ack_push_at_once,
            dup_ack_threshold: t.dup_ack_threshold as u32,
            limited_transmit: t.limited_transmit,
            recovery: t.recovery,
            recovery_exit: t.recovery_exit,
            loss_window: t.loss_window,
            congestion: t.congestion,
            slow_start: t.slow_start,
            growth: t.growth,
            window_room: t.window_room,
            partial_ack_timer: t.partial_ack_timer,
            rto_floor: t.rto_floor,
            validation_floor: t.validation_floor,
            validation: match t.validation {
                ValidationKind::Off => Validation::Off,
                ValidationKind::Cumulative => Validation::Cumulative { refresh_on_ack: false },
                ValidationKind::CumulativeAcks => Validation::Cumulative { refresh_on_ack: true },
                ValidationKind::Once => Validation::Once { refresh_on_ack: false },
                ValidationKind::OnceAcks => Validation::Once { refresh_on_ack: true },
            },
            send_order: self.http.send_order.get(),
            delivery: self.http.version.delivery,
        }
    }

    /// Bytes of a full packet on the bottleneck.
    fn packet_bytes(&self) -> u64 {
        self.transport.mss_bytes + self.transport.header_bytes + self.transport.link_header_bytes
    }

    pub(crate) fn queue(&self, kind: QueueKind, rate: Bitrate) -> QueuePlan {
        let n: &Network = &self.network;
        let packet = match n.queue_unit {
            RedUnit::Packets => 1.0,
            RedUnit::Bytes => self.packet_bytes() as f64,
        };
        let limit = if n.queue_limit > 0 {
            n.queue_limit as f64
        } else {
            let bdp_packets = rate.bps() as f64 * n.rtt_ms / 8_000.0 / self.packet_bytes() as f64;
            packet * (n.queue_limit_bdp * bdp_packets).max(n.queue_floor_packets as f64)
        };
        match kind {
            QueueKind::Unlimited => QueuePlan::Unlimited,
            QueueKind::DropTail => QueuePlan::DropTail(match n.queue_unit {
                RedUnit::Packets => Capacity::Packets(limit as u64),
                RedUnit::Bytes => Capacity::Bytes(limit as u64),
            }),
            QueueKind::Red => QueuePlan::Red(RedConfig {
                unit: n.queue_unit,
                min: n.red_min_fraction * limit,
                max: n.red_max_fraction * limit,
                limit,
                max_p: n.red_max_probability,
                gentle: n.red_gentle,
                mean_packet_bytes: n.red_mean_packet_bytes,
            }),
        }
    }
}
