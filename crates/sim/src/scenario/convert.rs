//! From scenario values to the parameters of endpoints.

use loadpath_net::SimDuration;
use loadpath_transport::{
    Congestion, HyStartConfig, MAX_SUBFLOWS, MultipathConfig, PathId, SendOrder, TcpConfig,
    Validation,
};

use super::{
    CouplingKind, CubicKind, PathsKind, Scenario, ScenarioError, SlowStartExitKind, ValidationKind,
};

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Server,
}

impl Scenario {
    pub(super) fn fill_in_autos(&mut self) {
        self.network.up_rate_bps.fill(self.network.rate_bps);
        let (n, p) = (&self.network, &mut self.path2);
        p.rate_bps.fill(n.rate_bps);
        p.up_rate_bps.fill(p.rate_bps.get());
        p.rtt_ms.fill(n.rtt_ms);
        p.queue.fill(n.queue);
        p.up_queue.fill(n.up_queue);
        p.queue_limit_bdp.fill(n.queue_limit_bdp);
        p.queue_limit.fill(n.queue_limit);
        let rtt2_ms = if self.uses_path2() { self.path2.rtt_ms.get() } else { 0.0 };
        let rtt_ms = self.network.rtt_ms.max(rtt2_ms);
        let syn_timeout_ms = if rtt_ms < 200.0 { 1000.0 } else { 2000.0 };
        self.transport.syn_timeout_ms.fill(syn_timeout_ms);
        let initial_window_segments = self.transport.initial_window_segments;
        self.transport.client_initial_window_segments.fill(initial_window_segments);
        let protocol = self.http.version;
        self.http.connections_per_host.fill(protocol.default_connections.into());
        self.http.send_order.fill(match protocol.default_send_order {
            SendOrder::Priority if self.http.preemption => SendOrder::PriorityPreemptive,
            order => order,
        });
        let left = if self.http.hpack { protocol.hpack } else { protocol.header_compression };
        self.http.request_first_fraction.fill(left.first_request);
        self.http.request_later_fraction.fill(left.later_request);
        self.http.response_first_fraction.fill(left.first_response);
        self.http.response_later_fraction.fill(left.later_response);
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
        let rtt2_ms = self.path2.rtt_ms.get();
        if self.multipath.paths == PathsKind::SharedBottleneck && rtt2_ms < n.rtt_ms {
            return Err(ScenarioError::new(
                origin,
                format!(
                    "path2.rtt_ms = {rtt2_ms}: expected at least network.rtt_ms = {} behind a shared bottleneck",
                    n.rtt_ms
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

    pub(crate) fn tcp(&self, end: End) -> TcpConfig {
        let t = &self.transport;
        let initial_window_segments = match end {
            End::Client => t.client_initial_window_segments.get(),
            End::Server => t.initial_window_segments,
        };
        let ms = SimDuration::from_millis_f64;
        TcpConfig {
            mss: t.mss_bytes as u32,
            header_bytes: t.header_bytes as u32,
            link_header_bytes: t.link_header_bytes as u32,
            initial_window_segments: initial_window_segments as u32,
            send_buffer_bytes: t.send_buffer_bytes,
            receive_buffer_bytes: t.receive_buffer_bytes,
            window_scale: t.window_scale as u8,
            min_rto: ms(t.min_rto_ms),
            max_rto: ms(t.max_rto_ms),
            syn_timeout: ms(t.syn_timeout_ms.get()),
            fast_open: t.fast_open,
            max_syn_retries: t.syn_retries as u32,
            max_data_retries: t.data_retries as u32,
            rearm_stale_rto: t.rearm_stale_rto,
            delayed_ack_segments: t.delayed_ack_segments as u32,
            delayed_ack_timeout: ms(t.delayed_ack_ms),
            quick_ack_segments: t.quick_ack_segments as u32,
            ack_push_at_once: t.ack_push_at_once,
            dup_ack_threshold: t.dup_ack_threshold as u32,
            limited_transmit: t.limited_transmit,
            acks: t.acks,
            tuned_window: t.receive_window_tuning,
            recovery: t.recovery,
            recovery_exit: t.recovery_exit,
            loss_window: t.loss_window,
            congestion: self.controller(),
            slow_start: t.slow_start,
            hystart: self.hystart(),
            nagle: end == End::Server && self.server.nagle,
            growth: t.growth,
            window_room: t.window_room,
            partial_ack_timer: t.partial_ack_timer,
            rto_floor: t.rto_floor,
            validation_floor: t.validation_floor,
            tail_loss_probe: t.tail_loss_probe,
            prr: t.prr,
            frto: t.frto,
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

    fn controller(&self) -> Congestion {
        match (self.transport.congestion, self.transport.cubic) {
            (Congestion::Cubic, CubicKind::Linux) => Congestion::CubicLinux,
            (congestion, _) => congestion,
        }
    }

    fn hystart(&self) -> Option<HyStartConfig> {
        let t = &self.transport;
        let ack_delta = SimDuration::from_millis_f64(t.hystart_ack_delta_ms);
        match t.slow_start_exit {
            SlowStartExitKind::Loss => None,
            SlowStartExitKind::HyStart => Some(HyStartConfig { ack_delta, current: false }),
            // Linux has it in CUBIC only.
            SlowStartExitKind::HyStartLinux if t.congestion == Congestion::Cubic => {
                Some(HyStartConfig { ack_delta, current: true })
            }
            SlowStartExitKind::HyStartLinux => None,
        }
    }

    /// Several subflows; not for [`PathsKind::Single`].
    pub(crate) fn multipath(&self, end: End) -> MultipathConfig {
        let m = &self.multipath;
        let mut tcp = self.tcp(end);
        tcp.congestion = match m.congestion {
            CouplingKind::None => tcp.congestion,
            CouplingKind::Lia => Congestion::Lia,
            CouplingKind::Olia => Congestion::Olia,
            CouplingKind::Balia => Congestion::Balia,
        };
        let order = if m.first_path == 2 { [1, 0] } else { [0, 1] };
        let path_of = |i: usize| PathId(if self.uses_path2() { order[i % 2] } else { 0 });
        MultipathConfig {
            paths: std::array::from_fn::<_, MAX_SUBFLOWS, _>(path_of),
            subflows: m.subflows as u8,
            join: m.join,
            fourth_ack: m.fourth_ack,
            scheduler: m.scheduler,
            estimator: m.estimator,
            retransmit_on_other: m.retransmit_on_other,
            opportunistic_retransmission: m.opportunistic_retransmission,
            reinject_on_timeout: m.reinject_on_timeout,
            options_on_the_wire: m.options_on_the_wire,
            ..MultipathConfig::new(tcp)
        }
    }

    /// True unless everything goes over the first path.
    pub(crate) fn uses_path2(&self) -> bool {
        matches!(self.multipath.paths, PathsKind::Independent | PathsKind::SharedBottleneck)
    }
}
