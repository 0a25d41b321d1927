//! One test for each packet script in `tests/scripts`.

mod packet_script;

macro_rules! scripts {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let file = concat!(stringify!($name), ".pkt");
                let text = include_str!(concat!("scripts/", stringify!($name), ".pkt"));
                if let Err(error) = packet_script::run(text) {
                    panic!("tests/scripts/{file}, {error}");
                }
            }
        )*
        const LISTED: &[&str] = &[$(stringify!($name)),*];
    };
}

scripts! {
    ack_of_push_at_once
    ack_of_push_is_delayed_by_default
    ack_out_of_order_at_once
    ack_quick_at_the_start
    ack_rides_on_data
    acks_of_linux_are_quick_at_first
    acks_of_linux_tell_of_short_segments
    acks_of_linux_while_the_window_grows
    acks_of_what_was_not_sent_or_is_old_are_ignored
    avoidance_adds_a_segment_a_round
    cubic_after_a_timeout
    cubic_converges_fast
    cubic_grows_towards_the_plateau
    cubic_idle_time_does_not_count
    cubic_is_no_slower_than_reno
    cubic_linux_counts_segments
    cubic_timeout_in_recovery
    data_behind_fin_are_refused
    data_retries_are_limited
    data_retries_count_for_the_same_data
    delayed_ack_every_second_segment
    delayed_ack_is_not_put_off
    delayed_ack_off
    delayed_ack_timeout
    delivery_in_order
    delivery_out_of_order
    dup_ack_needs_to_be_pure
    exit_ns3
    exit_rfc6582
    exit_ssthresh
    exit_to_one_segment
    fast_open_client
    fast_open_refused
    fast_open_server
    fast_open_syn_lost
    fin_alone_and_retransmitted
    fin_both_ways
    fin_waits_for_the_gap_before_it
    frto_goes_on_if_the_loss_was_real
    frto_takes_a_needless_timeout_back
    go_back_n
    go_back_n_skips_what_the_receiver_holds
    growth_always
    growth_if_half_of_the_window_is_used
    growth_if_half_used_looks_at_the_last_round
    growth_if_half_used_needs_a_full_window_in_avoidance
    growth_only_if_the_window_is_full
    handshake_client
    handshake_data_overtakes_third_ack
    handshake_server
    handshake_with_data_written_before
    limited_transmit
    limited_transmit_off
    loss_window_cwnd
    loss_window_flight
    loss_window_has_a_floor_of_two_segments
    loss_window_rfc5681
    mp_balia_growth
    mp_blest_waits
    mp_data_ack
    mp_delivery_out_of_order
    mp_ecf_waits
    mp_equal_rtt_takes_the_first
    mp_fast_open
    mp_fourth_ack
    mp_handshake_client
    mp_join_after_handshake
    mp_join_at_once
    mp_lia_growth
    mp_lowest_rtt_first
    mp_olia_growth
    mp_opportunistic_retransmission
    mp_otias_queues
    mp_preemption
    mp_push_signal
    mp_push_signal_beyond_a_gap
    mp_push_signal_is_answered
    mp_push_signal_without_news
    mp_receive_window
    mp_redundant
    mp_reinject_on_timeout
    mp_retransmit_on_other
    mp_retransmit_on_other_needs_an_idle_subflow
    mp_round_robin
    mp_stream_highest_rtt_first
    mp_stream_look_ahead
    mp_stream_simple
    mp_subflow_given_up
    mp_subflow_reset
    mp_timeout_without_reinjection
    mp_validation_of_the_other_subflow
    mp_window_probe_is_answered
    mp_window_update_is_no_duplicate_ack
    nack_fallback_for_a_hole_below_one_sent_again
    nack_falls_back_to_partial_acks
    nack_is_forgotten_by_a_cumulative_ack
    nack_list_is_cleared_by_a_timeout
    nack_of_a_loss_behind_the_end_of_slow_start
    nack_of_a_loss_behind_the_point_of_recovery
    nack_receiver_reports_a_gap_once
    nack_receiver_reports_each_gap
    nack_repairs_several_losses_in_a_round_trip
    nack_waits_for_room_even_on_a_partial_ack
    nack_waits_for_room_in_the_window
    nack_whose_predecessor_was_lost
    newreno_no_fast_retransmit_for_segments_sent_in_vain
    newreno_one_retransmission_a_round_trip
    newreno_single_loss
    order_fifo
    order_preemptive
    order_priority
    peer_closes_first
    prr_sends_a_share_of_what_arrives
    prr_slow_start_after_a_burst
    rack_finds_a_lost_retransmission
    rack_probe_for_nothing_costs_nothing
    rack_probe_of_a_lone_segment_waits_longer
    rack_probe_prefers_new_data
    rack_probe_sends_the_last_again
    rack_probe_that_repaired_shrinks_the_window
    rack_sample_of_a_report
    rack_three_reports_are_enough
    rack_timeout_spares_what_left_lately
    rack_waits_for_a_late_segment
    receive_window_grows_with_what_arrives
    receive_window_limits_the_sender
    receiver_closes_and_opens_its_window
    receiver_does_not_tell_of_small_room
    reset_ends_the_connection
    retransmission_repeats_what_was_sent
    rto_backs_off
    rto_does_not_lower_the_threshold_twice
    rto_in_recovery_is_not_rearmed_by_dup_acks
    rto_in_recovery_with_the_window_as_measure
    rto_is_bounded
    rto_of_linux_adds_its_minimum_to_srtt
    rto_restarts_with_each_new_ack
    rto_restarts_with_every_partial_ack_if_told
    rto_stale_fires_without_the_option
    rto_stale_is_rearmed
    rtt_sample_of_every_new_ack
    sack_dup_acks_need_news
    sack_limited_transmit_off
    sack_lost_by_three_ranges
    sack_receiver_blocks
    sack_repairs_several_losses_in_a_round_trip
    sack_rescue_retransmission
    sack_rescues_once_a_recovery
    sack_scoreboard_is_cleared_by_a_timeout
    sack_sends_what_is_missing_but_not_yet_lost
    segments_do_not_span_messages
    send_buffer_limits_what_is_outstanding
    send_buffer_smaller_than_a_segment
    slow_start_by_bytes
    slow_start_by_bytes_stops_at_the_threshold
    slow_start_per_ack
    small_receive_window_is_used
    syn_answer_given_up
    syn_answer_lost
    syn_retries_are_limited
    syn_timeout_doubles
    syn_timeout_is_bounded
    tail_loss_is_counted
    tail_loss_is_not_counted_with_enough_segments_behind
    tail_probe_is_at_least_10_ms
    tail_probe_moves_with_each_ack
    tail_probe_needs_the_end_or_few_segments
    tail_probe_of_a_lone_segment_waits_for_the_delayed_ack
    tail_probe_of_a_lone_segment_without_the_wait
    tail_probe_off
    tail_probe_prefers_new_data
    tail_probe_sends_the_last_again
    third_ack_lost
    timeout_in_recovery
    timestamps_do_not_go_back
    timestamps_echo_the_oldest_unacknowledged
    undo_by_the_echoed_clock
    validation_average_does_not_follow_a_halving
    validation_average_needs_a_full_window_before
    validation_average_starts_anew_when_the_window_fills
    validation_average_stops_at_the_initial_window
    validation_average_takes_the_receive_window
    validation_averages_after_an_application_limited_rto
    validation_counts_from_the_last_ack_if_told
    validation_counts_idle_time_once_even_without_room
    validation_halves_after_one_rto
    validation_halves_for_each_rto
    validation_keeps_three_quarters_as_threshold
    validation_needs_something_to_send
    validation_never_raises_if_told
    validation_off
    validation_once_halves_once
    validation_raises_a_small_window
    validation_spares_a_window_under_repair
    validation_stops_at_the_initial_window
    validation_takes_the_receive_window
    validation_waits_for_an_rto
    window_needs_room_for_a_full_segment
    window_of_an_old_segment_does_not_count
    window_probes_start_anew
    window_room_for_what_fits
    window_room_in_segments
    window_scaling
    zero_window_is_probed
    zero_window_is_probed_with_the_last_byte
}

#[test]
fn every_script_in_the_folder_is_listed_here() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".pkt")?.to_string()))
        .collect();
    found.sort_unstable();
    let mut listed: Vec<&str> = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}

#[test]
fn a_script_that_expects_something_else_fails_at_its_line() {
    let fails_at = |text: &str, line: usize, part: &str| {
        let error = packet_script::run(text).expect_err("it must fail");
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(part), "{error}");
    };
    let start = "established rtt=100\nwrite 1 1000\n";
    assert!(packet_script::run(&format!("{start}> P. 1:1001 ack 1")).is_ok());
    fails_at(&format!("{start}> P. 1:1002 ack 1"), 3, "len differs");
    fails_at(&format!("{start}> . 1:1001 ack 1"), 3, "flags differs");
    fails_at(&format!("{start}> P. 1:1001 ack 1 again"), 3, "again differs");
    fails_at(&format!("{start}+1 > P. 1:1001 ack 1"), 3, "expected at 1");
    fails_at(&format!("{start}> P. 1:1001 ack 1\n> P. 1:1001 ack 1"), 4, "got nothing");
    fails_at(&format!("{start}assert cwnd == 4000"), 3, "nothing expected");
    fails_at(&format!("{start}> P. 1:1001 ack 1\nassert cwnd == 1"), 4, "got 4000");
    fails_at(&format!("{start}> P. 1:1001 ack 1\n+400 wait"), 4, "again");
    fails_at("config nonsense=1", 1, "unknown key");
    fails_at("established rtt=100\nwrite 1 1000\n", 2, "nothing expected");
}
