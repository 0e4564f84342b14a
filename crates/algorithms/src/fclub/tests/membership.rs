//! Local servers that leave and come back.

use super::*;

impl Miniature {
    fn change(&mut self, change: Membership) {
        self.at_server(|server, cx| server.on_membership(change, cx));
    }

    /// A new machine under this number.
    fn come_back(&mut self, node: u32) {
        let valid = FclubDc::check(serde_json::from_value(keys()).unwrap(), &setting()).unwrap();
        let seat = Seating::PerHost.seat(&setting(), NodeId(node));
        self.locals[node as usize] = FclubDc::client(&valid, &seat);
        self.change(Membership::Joined(NodeId(node)));
        self.deliver();
    }

    /// Observations that are merged.
    fn merged(&self) -> u64 {
        self.server.groups().iter().map(|group| group.view().stats().count).sum()
    }
}

fn keys() -> Value {
    json!({ "deletion": 0.5, "merge": 0.5, "ratio": 1.0 })
}

#[test]
fn left_of_someone_unknown_changes_nothing() {
    let mut federation = Miniature::new::<FclubDc>(keys());
    federation.live(20);
    let before = snapshot::save(&federation.server);
    federation.change(Membership::Left(NodeId(7)));
    assert!(federation.wire.is_empty() && snapshot::save(&federation.server) == before);
}

#[test]
fn a_phase_that_waits_only_for_who_left_goes_on_without_writing_to_it() {
    let mut federation = Miniature::new::<FclubDc>(keys());
    federation.live(100);
    federation.at_server(|server, cx| server.on_wake(cx));
    // What is on its way to server 1 never comes.
    federation.wire.retain(|(_, to, _)| *to == NodeId(0));
    federation.deliver();
    assert_eq!(federation.server.waiting_for(), [NodeId(1)]);
    federation.change(Membership::Left(NodeId(1)));
    assert!(!federation.wire.is_empty() && federation.wire.iter().all(|(_, to, _)| *to == NodeId(0)));
    federation.deliver();
    assert_eq!((federation.server.phase(), federation.server.waiting_for().len()), (1, 0));
    federation.observe(0, [0.6, 0.8], 0.5);
    assert!(federation.wire.is_empty());
}

#[test]
fn a_fresh_machine_under_an_old_number_is_taken_in_and_what_it_had_shared_stays() {
    for phases in [0, 1, 2] {
        let mut federation = Miniature::new::<FclubDc>(keys());
        federation.live(100);
        for _ in 0..phases {
            federation.phase();
            federation.live(20);
        }
        let merged = federation.merged();
        federation.change(Membership::Left(NodeId(1)));
        federation.come_back(1);
        // Its first upload is number 1 again.
        federation.live(5);
        assert!(federation.merged() >= merged + 18, "{phases} phases: {} of {merged}", federation.merged());
        federation.phase();
        federation.live(5);
        assert!(federation.merged() >= merged + 36, "{phases} phases: {} of {merged}", federation.merged());
        assert_eq!(federation.server.groups().len(), 2, "{phases} phases");
        // And once more.
        federation.change(Membership::Left(NodeId(1)));
        federation.come_back(1);
        federation.live(5);
        federation.phase();
        assert!(federation.merged() >= merged + 56, "{phases} phases: {} of {merged}", federation.merged());
    }
}

#[test]
fn who_has_reported_and_comes_back_before_the_phase_is_complete_is_counted_once() {
    let mut federation = Miniature::new::<FclubDc>(keys());
    federation.live(100);
    let merged = federation.merged();
    federation.at_server(|server, cx| server.on_wake(cx));
    let held: Vec<_> = federation.wire.extract_if(.., |(_, to, _)| *to == NodeId(0)).collect();
    federation.deliver();
    federation.change(Membership::Left(NodeId(1)));
    federation.come_back(1);
    federation.wire.extend(held);
    federation.deliver();
    assert_eq!((federation.server.phase(), federation.merged()), (1, merged));
}
