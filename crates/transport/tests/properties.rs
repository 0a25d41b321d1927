//! Properties of a transfer over lossy links, for every way of recovery, controller, delivery order and
//! send order.

mod common;
#[path = "common/paths.rs"]
mod paths;
#[path = "common/random.rs"]
mod random;

use common::{Pair, assert_delivered_once};
use loadpath_net::{Capacity, Loss, Queue, SimDuration};
use loadpath_transport::*;
use paths::{PathSpec, Paths};
use proptest::prelude::*;
use random::{losses, messages, tcp, written};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_every_connection_ends(
        config in tcp(),
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

fn several() -> impl Strategy<Value = MultipathConfig> {
    let schedulers = vec![
        PathScheduler::LowestRtt,
        PathScheduler::RoundRobin,
        PathScheduler::Redundant,
        PathScheduler::Blest,
        PathScheduler::Ecf,
        PathScheduler::Otias,
        PathScheduler::Linux,
        PathScheduler::StreamSimple,
        PathScheduler::Stream,
    ];
    (
        tcp(),
        2u8..4,
        prop::sample::select(vec![Join::AfterDss, Join::AfterHandshake, Join::AtOnce]),
        prop::sample::select(schedulers),
        prop::sample::select(vec![Estimator::Loop, Estimator::ClosedForm]),
        any::<[bool; 5]>(),
        any::<[bool; MAX_SUBFLOWS]>(),
    )
        .prop_map(|(tcp, subflows, join, scheduler, estimator, options, second)| {
            MultipathConfig {
                subflows,
                join,
                scheduler,
                estimator,
                fourth_ack: options[0],
                retransmit_on_other: options[1],
                opportunistic_retransmission: options[2],
                reinject_on_timeout: options[3],
                options_on_the_wire: options[4],
                paths: second.map(|second| PathId(u8::from(second))),
                ..MultipathConfig::new(tcp)
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn over_several_subflows_every_byte_arrives_once_and_every_connection_ends(
        config in several(),
        lost in [losses(), losses(), losses(), losses()],
        requests in messages(),
        responses in messages(),
        rtt_ms in [1u64..240, 1u64..240],
        rate_bps in prop::sample::select(vec![500_000u64, 10_000_000, 1_000_000_000]),
        queue in prop::sample::select(vec![None, Some(5u64), Some(40)]),
    ) {
        let [a, b, c, d] = lost.map(Loss::pattern);
        let queue = queue.map_or(Queue::Unlimited, |n| Queue::DropTail(Capacity::Packets(n)));
        let path = |i: usize, losses| PathSpec {
            losses,
            queue: queue.clone(),
            ..PathSpec::new(rate_bps, rtt_ms[i])
        };
        let mut paths = Paths::new(&config, &config, vec![path(0, [a, b]), path(1, [c, d])]);
        let write = |end: &mut MultipathEndpoint, messages: &[(u64, u32)]| {
            for (i, &(len, priority)) in (0..).zip(messages) {
                end.write(Message { id: MessageId(i), len, priority });
            }
        };
        paths.ends[0].connect(paths.now);
        write(&mut paths.ends[0], &requests);
        paths.ends[0].close();
        prop_assert!(paths.run_until(|p| !p.read[1].is_empty()), "no request arrived");
        write(&mut paths.ends[1], &responses);
        paths.ends[1].close();
        let ended = paths.run_until(|p| p.ends.iter().all(MultipathEndpoint::is_closed));
        prop_assert!(ended, "stuck at {}: {:#?}", paths.now, paths.ends);
        let in_order = config.tcp.delivery == DeliveryOrder::InOrder;
        assert_delivered_once(&written(&requests), &paths.read[1], in_order)
            .map_err(TestCaseError::fail)?;
        assert_delivered_once(&written(&responses), &paths.read[0], in_order)
            .map_err(TestCaseError::fail)?;
        for end in &paths.ends {
            prop_assert_eq!(end.failure(), None);
            prop_assert_eq!(end.unsent_bytes() + end.outstanding_bytes(), 0);
        }
        let sent: u64 = responses.iter().map(|m| m.0).sum();
        prop_assert_eq!(paths.ends[1].stats().data_bytes, sent);
    }
}
