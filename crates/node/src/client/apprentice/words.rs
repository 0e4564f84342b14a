//! How an apprenticeship stands, in plain words.

use cahoots_core::apprentice::Status;

use crate::client::gain::figure;

/// All of it.
pub(super) fn in_words(status: &Status, explore: f64) -> String {
    let Status { in_charge, round, decisions, differed, open, low, estimate, high, confidence, .. } = *status;
    let share = format!("{}%", figure(100.0 * explore));
    let who = if in_charge {
        format!("This client is in charge: its app decides {share} by itself, to be compared.")
    } else {
        format!(
            "This client is an apprentice: its app decides, and {share} of decisions are its own, to be compared."
        )
    };
    let before = match round {
        1 => String::new(),
        round => format!(" It was in charge before and gave back; this is round {round}."),
    };
    let waits = if open > 0 { format!(" {open} wait for their reward.") } else { String::new() };
    if differed == 0 {
        return format!("{who}{before} In {decisions} decisions nothing was compared yet.{waits}");
    }
    let (than, what) = if estimate < 0.0 { ("less", -1.0) } else { ("more", 1.0) };
    let (least, most) = if estimate < 0.0 { (-high, -low) } else { (low, high) };
    let next = match in_charge {
        true => " It gives back when it is not certain any more that its picks are better.",
        false => " It takes over once it is certain that its picks are better.",
    };
    format!(
        "{who}{before} Where the two differed ({differed} of {decisions} decisions), its picks earned {} {than} reward than the app's \
         (between {} and {}, {}% sure on either side, at all times at once).{waits}{next}",
        figure(what * estimate),
        figure(least),
        figure(most),
        figure(100.0 * confidence),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: Status = Status {
        in_charge: false,
        round: 1,
        decisions: 100,
        differed: 40,
        missing: 0,
        open: 0,
        low: -1.0,
        estimate: 3.5,
        high: 7.0,
        confidence: 0.9625,
        takeovers: 0,
    };

    #[test]
    fn words_say_who_decides_and_how_it_stands() {
        assert_eq!(
            in_words(&STATUS, 0.1),
            "This client is an apprentice: its app decides, and 10% of decisions are its own, to be compared. Where the two differed \
             (40 of 100 decisions), its picks earned 3.5 more reward than the app's (between -1 and 7, 96.25% sure on either side, at \
             all times at once). It takes over once it is certain that its picks are better."
        );
        let worse = Status { estimate: -3.0, low: -5.0, high: -0.5, open: 2, round: 2, ..STATUS };
        let words = in_words(&worse, 0.05);
        assert!(words.contains("earned 3 less reward than the app's (between 0.5 and 5,"), "{words}");
        assert!(
            words.contains("5% of decisions") && words.contains("2 wait") && words.contains("round 2"),
            "{words}"
        );
        let words = in_words(&Status { in_charge: true, low: 1.0, ..STATUS }, 0.1);
        assert!(
            words.contains("is in charge: its app decides 10%") && words.contains("gives back"),
            "{words}"
        );
        assert!(in_words(&Status { differed: 0, ..STATUS }, 0.1).contains("nothing was compared yet"));
    }
}
