//! What was seen of a member since the start of this process.

/// A member, as the coordinator has seen it.
#[derive(Clone, Debug)]
pub(in crate::coordinator) struct Seen {
    /// When this was last another, as a number of changes.
    pub(in crate::coordinator) revision: u64,
    /// Since when it is here, or away.
    pub(in crate::coordinator) since: f64,
    pub(in crate::coordinator) last_contact: Option<f64>,
    /// The last contact that was a change.
    pub(in crate::coordinator) shown_contact: f64,
    pub(in crate::coordinator) joined: Option<f64>,
    pub(in crate::coordinator) bytes_received: u64,
    pub(in crate::coordinator) bytes_sent: u64,
    /// Messages of its that were refused, since it was last forgiven.
    pub(in crate::coordinator) refused: u64,
    /// When the last of them was.
    pub(super) refused_at: f64,
    /// When it was last not let in, and why; none once it was.
    pub(in crate::coordinator) turned_away: Option<(f64, String)>,
    /// Why the last of its messages was refused.
    pub(in crate::coordinator) reason: String,
    /// Its number was freed: it is shown once more, as gone.
    pub(in crate::coordinator) gone: bool,
}

impl Seen {
    /// Seconds after which a new contact of a member that is here anyway counts as a change.
    pub(super) const CONTACT: f64 = 30.0;

    /// The clock was set back.
    pub(super) fn shift(&mut self, by: f64) {
        let turned_away = self.turned_away.as_mut().map(|(last, _)| last);
        let times = [&mut self.since, &mut self.shown_contact, &mut self.refused_at];
        let times =
            times.into_iter().chain(&mut self.last_contact).chain(&mut self.joined).chain(turned_away);
        times.for_each(|time| *time += by);
    }

    pub(super) fn new(started: f64) -> Seen {
        Seen {
            revision: 0,
            since: started,
            last_contact: None,
            shown_contact: f64::NEG_INFINITY,
            joined: None,
            bytes_received: 0,
            bytes_sent: 0,
            refused: 0,
            refused_at: f64::NEG_INFINITY,
            turned_away: None,
            reason: String::new(),
            gone: false,
        }
    }
}
