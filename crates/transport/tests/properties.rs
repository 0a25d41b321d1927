//! Properties of a transfer over lossy links, for every way of recovery, controller, delivery order and
//! send order.

mod common;

use common::{Pair, assert_delivered_once};
use loadpath_net::{Capacity, Loss, Queue, SimDuration};
use loadpath_transport::*;
use proptest::prelude::*;

fn config() -> impl Strategy<Value = TcpConfig> {
    let recovery = (
        prop::sample::select(vec![Recovery::NewReno, Recovery::Nack, Recovery::Sack]),
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
    );
    let window = (
        prop::sample::select(vec![Congestion::NewReno, Congestion::Cubic]),
        prop::sample::select(vec![SlowStart::PerAck, SlowStart::BytesAcked]),
        prop::sample::select(vec![Growth::Always, Growth::IfWindowFull, Growth::IfHalfUsed]),
        prop::sample::select(vec![WindowRoom::FullSegment, WindowRoom::WhatFits]),
        prop::sample::select(vec![
            Validation::Off,
            Validation::Cumulative { refresh_on_ack: false },
            Validation::Cumulative { refresh_on_ack: true },
            Validation::Once { refresh_on_ack: false },
        ]),
        prop::sample::select(vec![ValidationFloor::Initial, ValidationFloor::NeverRaise]),
        prop::sample::select(vec![1u32, 3, 10]),
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
        // Buffers from two segments on, with shifts that suit them.
        prop::sample::select(vec![(3_000u64, 0u8), (20_000, 2), (300_000, 7), (1 << 30, 14)]),
        prop::sample::select(vec![2_000u64, 50_000, 1 << 30]),
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
        congestion: w.0,
        slow_start: w.1,
        growth: w.2,
        window_room: w.3,
        validation: w.4,
        validation_floor: w.5,
        initial_window_segments: w.6,
        send_order: e.0,
        delivery: e.1,
        delayed_ack_segments: e.2,
        quick_ack_segments: e.3,
        ack_push_at_once: e.4,
        receive_buffer_bytes: e.5.0,
        window_scale: e.5.1,
        send_buffer_bytes: e.6,
        // More than any loss pattern here can take from one segment.
        max_syn_retries: 200,
        max_data_retries: 200,
        ..TcpConfig::standard()
    })
}

/// Ordinals of the segments that are lost on one way.
fn losses() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(0u64..12, 0..6),
        prop::collection::vec(0u64..150, 0..60),
        (5u64..60, 1u64..25).prop_map(|(first, n)| (first..first + n).collect()),
    ]
}

/// Messages (length, priority), some written before the handshake, the others on arrival of the first.
fn messages() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((prop_oneof![1u64..3000, 1u64..80_000], 0u32..4), 1..6)
}

fn written(messages: &[(u64, u32)]) -> Vec<(u32, u64)> {
    (0..).zip(messages).map(|(i, m)| (i, m.0)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_every_connection_ends(
        config in config(),
        up_losses in losses(),
        down_losses in losses(),
        requests in messages(),
        responses in messages(),
        delay_ms in 1u64..120,
        rate_bps in prop::sample::select(vec![500_000u64, 10_000_000, 1_000_000_000]),
        queue in prop::sample::select(vec![None, Some(5u64), Some(40)]),
    ) {
        let queue = queue.map_or(Queue::Unlimited, |n| Queue::DropTail(Capacity::Packets(n)));
        let mut pair = Pair::new(
            &config,
            &config,
            rate_bps,
            SimDuration::from_millis(delay_ms),
            [Loss::pattern(up_losses), Loss::pattern(down_losses)],
            queue,
        );
        let all = |messages: &[(u64, u32)]| -> Vec<Message> {
            (0..)
                .zip(messages)
                .map(|(i, &(len, priority))| Message { id: MessageId(i), len, priority })
                .collect()
        };
        pair.ends[0].connect(pair.now);
        for m in all(&requests) {
            pair.ends[0].write(m);
        }
        pair.ends[0].close();
        let responses_to_write = all(&responses);
        let (early, late) = responses_to_write.split_at(responses_to_write.len() / 2);
        for m in early {
            pair.ends[1].write(*m);
        }
        let mut late = Some(late.to_vec());
        let mut delivered_until = 0;
        let ended = pair.run_until(|pair| {
            assert!(pair.ends[1].cwnd_bytes() >= 1000 && pair.ends[0].cwnd_bytes() >= 1000);
            delivered_until = delivered_until.max(pair.now.0);
            late.is_none() || !pair.read[1].is_empty()
        });
        prop_assert!(ended, "no request arrived");
        for m in late.take().expect("written once") {
            pair.ends[1].write(m);
        }
        pair.ends[1].close();
        let ended = pair.run_until(|pair| pair.ends.iter().all(Endpoint::is_closed));
        prop_assert!(ended, "stuck at {}: {:?}", pair.now, pair.ends);
        let in_order = config.delivery == DeliveryOrder::InOrder;
        assert_delivered_once(&written(&requests), &pair.read[1], in_order)
            .map_err(TestCaseError::fail)?;
        assert_delivered_once(&written(&responses), &pair.read[0], in_order)
            .map_err(TestCaseError::fail)?;
        for end in &pair.ends {
            prop_assert_eq!(end.failure(), None);
            prop_assert_eq!(end.unsent_bytes() + end.outstanding_bytes() + end.in_flight_bytes(), 0);
        }
        let sent: u64 = responses.iter().map(|m| m.0).sum();
        prop_assert_eq!(pair.ends[1].stats().data_bytes, sent);
    }
}
