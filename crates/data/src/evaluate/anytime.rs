//! An interval that holds at any time: however long a log has grown, and whenever one chose to look.

/// The predictable plug-in empirical-Bernstein confidence sequence of Waudby-Smith and Ramdas ("Estimating means of
/// bounded random variables by betting", JRSS-B 2023, Theorem 2), for values whose mean, given those before, is always
/// the same and which never leave a known range. The intersection over time is kept (their section 2.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Anytime {
    range: (f64, f64),
    /// ln(2 / alpha).
    level: f64,
    count: f64,
    sum: f64,
    squares: f64,
    bets: f64,
    weighted: f64,
    variance: f64,
    interval: (f64, f64),
}

/// No bet is larger: the constant c of their equation (15), which they advise to be 1/2 or 3/4.
const LARGEST_BET: f64 = 0.5;

impl Anytime {
    /// Nothing seen: the interval is the range.
    pub fn new(range: (f64, f64), confidence: f64) -> Anytime {
        Anytime {
            range,
            level: libm::log(2.0 / (1.0 - confidence)),
            count: 0.0,
            sum: 0.0,
            squares: 0.0,
            bets: 0.0,
            weighted: 0.0,
            variance: 0.0,
            interval: (0.0, 1.0),
        }
    }

    /// One more value.
    pub fn see(&mut self, value: f64) {
        let (low, high) = self.range;
        if high <= low {
            return;
        }
        let x = ((value - low) / (high - low)).clamp(0.0, 1.0);
        // Eq. (15): mean and variance so far, each begun with one value of 1/2 and one square of 1/4.
        let mean = (0.5 + self.sum) / (self.count + 1.0);
        let spread = (0.25 + self.squares) / (self.count + 1.0);
        self.count += 1.0;
        let bet =
            (2.0 * self.level / (spread * self.count * libm::log(1.0 + self.count))).sqrt().min(LARGEST_BET);
        // Theorem 2, with v = 4 (x - mean)^2 and psi_E(bet) = (-ln(1 - bet) - bet) / 4.
        self.bets += bet;
        self.weighted += bet * x;
        self.variance += (x - mean) * (x - mean) * (-libm::log1p(-bet) - bet);
        self.sum += x;
        let after = (0.5 + self.sum) / (self.count + 1.0);
        self.squares += (x - after) * (x - after);
        let (middle, half) = (self.weighted / self.bets, (self.level + self.variance) / self.bets);
        self.interval = (self.interval.0.max(middle - half), self.interval.1.min(middle + half));
    }

    /// Where the mean lies. Bounds that cross (which happens only where the promise has failed) are shown as they are.
    pub fn interval(&self) -> (f64, f64) {
        let (low, high) = self.range;
        let scale = |x: f64| low + x * (high - low).max(0.0);
        (scale(self.interval.0), scale(self.interval.1))
    }
}

#[cfg(test)]
mod tests {
    use cahoots_sim::draw::{Draw, Purpose};

    use super::*;

    #[test]
    fn before_any_value_the_interval_is_the_range() {
        assert_eq!(Anytime::new((-2.0, 6.0), 0.95).interval(), (-2.0, 6.0));
    }

    #[test]
    fn never_leaving_the_mean_at_any_time_is_what_is_promised() {
        // 400 sequences of skewed values, looked at after each: at most 10% may ever miss. Of 400 with a chance of 0.1
        // each, more than 64 fail with probability below 1e-4 (binomial).
        let mut missed = 0;
        for seed in 0..400 {
            let mut draw = Draw::keyed(seed, Purpose::World, 77, 0);
            let mut sequence = Anytime::new((0.0, 5.0), 0.9);
            let mut ever = false;
            for _ in 0..500 {
                sequence.see(if draw.uniform() < 0.1 { 5.0 } else { 0.0 });
                let (low, high) = sequence.interval();
                ever |= low > 0.5 || high < 0.5;
            }
            missed += u32::from(ever);
        }
        assert!(missed <= 64, "{missed} of 400 missed");
    }

    #[test]
    fn it_narrows() {
        let mut sequence = Anytime::new((0.0, 1.0), 0.95);
        for i in 0..10_000 {
            sequence.see(f64::from(i % 2));
        }
        let (low, high) = sequence.interval();
        assert!(low < 0.5 && high > 0.5 && high - low < 0.06, "{low} {high}");
    }
}
