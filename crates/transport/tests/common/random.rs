//! Random configurations, losses and messages.

use loadpath_net::SimDuration;
use loadpath_transport::*;
use proptest::prelude::*;

/// TCP with any of its options.
pub fn tcp() -> impl Strategy<Value = TcpConfig> {
    let recovery = (
        prop::sample::select(vec![
            Recovery::NewReno,
            Recovery::Nack,
            Recovery::Sack,
            Recovery::Rack,
        ]),
        prop::sample::select(vec![
            RecoveryExit::FlightPlusOne,
            RecoveryExit::FlightPlusOneNs3,
            RecoveryExit::Rfc6582,
            RecoveryExit::Ssthresh,
        ]),
        prop::sample::select(vec![
            LossWindow::FlightSize,
            LossWindow::FlightSizeRfc5681,
            LossWindow::Cwnd,
        ]),
        prop::sample::select(vec![PartialAckTimer::First, PartialAckTimer::Every]),
        any::<bool>(),
        any::<bool>(),
        any::<[bool; 2]>(),
        prop::sample::select(vec![RtoFloor::Timeout, RtoFloor::Variance]),
    );
    let window = (
        prop::sample::select(vec![
            Congestion::NewReno,
            Congestion::Cubic,
            Congestion::CubicLinux,
            Congestion::Lia,
            Congestion::Olia,
            Congestion::Balia,
        ]),
        prop::sample::select(vec![SlowStart::PerAck, SlowStart::BytesAcked]),
        prop::sample::select(vec![Growth::Always, Growth::IfWindowFull, Growth::IfHalfUsed]),
        prop::sample::select(vec![
            WindowRoom::FullSegment,
            WindowRoom::Segments,
            WindowRoom::WhatFits,
        ]),
        prop::sample::select(vec![
            Validation::Off,
            Validation::Cumulative { refresh_on_ack: false },
            Validation::Cumulative { refresh_on_ack: true },
            Validation::Once { refresh_on_ack: false },
        ]),
        prop::sample::select(vec![ValidationFloor::Initial, ValidationFloor::NeverRaise]),
        prop::sample::select(vec![1u32, 3, 10]),
        prop::sample::select(vec![None, Some(false), Some(true)]),
    );
    let ends = (
        prop::sample::select(vec![
            SendOrder::Fifo,
            SendOrder::Priority,
            SendOrder::PriorityPreemptive,
        ]),
        prop::sample::select(vec![DeliveryOrder::InOrder, DeliveryOrder::OutOfOrder]),
        1u32..4,
        0u32..3,
        any::<bool>(),
        prop::sample::select(vec![
            TailLossProbe::Off,
            TailLossProbe::DelayedAck,
            TailLossProbe::Signalled,
            TailLossProbe::Rack,
        ]),
        // Buffers from two segments on, with shifts that suit them.
        prop::sample::select(vec![(3_000u64, 0u8), (20_000, 2), (300_000, 7), (1 << 30, 14)]),
        prop::sample::select(vec![2_000u64, 50_000, 1 << 30]),
        any::<bool>(),
        prop::sample::select(vec![AckPolicy::Counted, AckPolicy::Linux]),
        any::<bool>(),
    );
    (recovery, window, ends).prop_map(|(r, w, e)| TcpConfig {
        mss: 1000,
        min_rto: SimDuration::from_millis(200),
        recovery: r.0,
        recovery_exit: r.1,
        loss_window: r.2,
        partial_ack_timer: r.3,
        limited_transmit: r.4,
        rearm_stale_rto: r.5,
        prr: r.6[0],
        frto: r.6[1],
        rto_floor: r.7,
        congestion: w.0,
        slow_start: w.1,
        growth: w.2,
        window_room: w.3,
        validation: w.4,
        validation_floor: w.5,
        initial_window_segments: w.6,
        hystart: w
            .7
            .map(|current| HyStartConfig { ack_delta: SimDuration::from_millis(2), current }),
        send_order: e.0,
        delivery: e.1,
        delayed_ack_segments: e.2,
        quick_ack_segments: e.3,
        ack_push_at_once: e.4,
        tail_loss_probe: e.5,
        receive_buffer_bytes: e.6.0,
        window_scale: e.6.1,
        send_buffer_bytes: e.7,
        // More than any loss pattern here can take from one segment.
        fast_open: e.8,
        acks: e.9,
        tuned_window: e.10,
        max_syn_retries: 200,
        max_data_retries: 200,
        ..TcpConfig::standard()
    })
}

/// Ordinals of the segments that are lost on one way.
pub fn losses() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(0u64..12, 0..6),
        prop::collection::vec(0u64..150, 0..60),
        (5u64..60, 1u64..25).prop_map(|(first, n)| (first..first + n).collect()),
    ]
}

/// Messages (length, priority), some written before the handshake, the others on arrival of the first.
pub fn messages() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((prop_oneof![1u64..3000, 1u64..80_000], 0u32..4), 1..6)
}

/// (id, length) of each.
pub fn written(messages: &[(u64, u32)]) -> Vec<(u32, u64)> {
    (0..).zip(messages).map(|(i, m)| (i, m.0)).collect()
}
