//! What no algorithm can beat: the lower bounds of Theorem 1 and Corollary 1, and what Conjecture 1
//! would make of them. All are factors of log T, for T to infinity, without communication.

/// A game: every client's mean of every arm, and the personalisation alpha.
#[derive(Clone, Debug, PartialEq)]
pub struct Game {
    alpha: f64,
    local: Vec<Vec<f64>>,
    /// mu'_{k,m}, client by client.
    mixed: Vec<Vec<f64>>,
    /// k'_{*,m}.
    best: Vec<usize>,
}

/// A reward that was made easier: `scale` times the reward of one arm of one client, plus `shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Degenerate {
    /// Factor of the reward.
    pub scale: f64,
    /// What is added to it.
    pub shift: f64,
    /// Mean of the reward itself.
    pub mean: f64,
}

/// Kullback-Leibler divergence where rewards are N(mean, deviation^2).
pub fn gaussian(deviation: f64) -> impl Fn(Degenerate, Degenerate) -> f64 {
    move |one, other| {
        let distance = (one.scale * one.mean + one.shift) - (other.scale * other.mean + other.shift);
        let spread = one.scale * deviation;
        if spread == 0.0 { f64::INFINITY } else { distance * distance / (2.0 * spread * spread) }
    }
}

/// Kullback-Leibler divergence where rewards are 0 or 1. Two of them that were shifted apart have no value
/// in common, and one look tells which is which.
pub fn bernoulli(one: Degenerate, other: Degenerate) -> f64 {
    let part = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * libm::log(p / q) };
    if one.scale == 0.0 || (one.shift - other.shift).abs() > 1e-12 {
        return f64::INFINITY;
    }
    part(one.mean, other.mean) + part(1.0 - one.mean, 1.0 - other.mean)
}

impl Game {
    /// A game in which every client has one best arm; nothing otherwise.
    pub fn new(means: &[Vec<f64>], alpha: f64) -> Option<Game> {
        let clients = means.len() as f64;
        let arms = means.first()?.len();
        if arms == 0 || means.iter().any(|row| row.len() != arms) {
            return None;
        }
        let average = |arm: usize| means.iter().map(|row| row[arm]).sum::<f64>() / clients;
        let mixed: Vec<Vec<f64>> = means
            .iter()
            .map(|row| (0..arms).map(|arm| alpha * row[arm] + (1.0 - alpha) * average(arm)).collect())
            .collect();
        let best = mixed.iter().map(|row| unique_best(row)).collect::<Option<_>>()?;
        Some(Game { alpha, local: means.to_vec(), mixed, best })
    }

    /// k'_{*,m}: the best arm of each client.
    pub fn best_arms(&self) -> &[usize] {
        &self.best
    }

    /// Delta'_{k,m}.
    pub fn gap(&self, client: usize, arm: usize) -> f64 {
        let row = &self.mixed[client];
        row[self.best[client]] - row[arm]
    }

    /// beta: what a client's own reward weighs in its mixed model.
    pub fn own_weight(&self) -> f64 {
        self.alpha + self.other_weight()
    }

    /// gamma: what another client's reward weighs in it.
    pub fn other_weight(&self) -> f64 {
        (1.0 - self.alpha) / self.local.len() as f64
    }

    /// Theorem 1, Eq. (7), for any law of rewards.
    pub fn theorem_1(&self, kl: impl Fn(Degenerate, Degenerate) -> f64) -> f64 {
        let clients = 0..self.local.len();
        let mut bound = 0.0;
        for (client, arm) in self.suboptimal() {
            // Y_{k,m}: everything about others is known. Z^m_{k,n}: all but this client's arm is.
            let own = self.divergence(&kl, self.own_weight(), client, client, arm);
            let others = clients.clone().filter(|n| *n != client && self.best[*n] != arm);
            let hardest = others
                .map(|n| self.divergence(&kl, self.other_weight(), client, n, arm))
                .fold(f64::INFINITY, f64::min);
            let gap = self.gap(client, arm);
            bound += (gap / own).max(gap / hardest);
        }
        bound
    }

    /// kl between `arm` and the best arm of `learner`, when only the rewards of `client` are random.
    fn divergence(
        &self,
        kl: &impl Fn(Degenerate, Degenerate) -> f64,
        scale: f64,
        client: usize,
        learner: usize,
        arm: usize,
    ) -> f64 {
        let degenerate = |arm: usize| {
            let mean = self.local[client][arm];
            Degenerate { scale, shift: self.mixed[learner][arm] - scale * mean, mean }
        };
        kl(degenerate(arm), degenerate(self.best[learner]))
    }

    /// Corollary 1, for rewards N(mean, deviation^2).
    pub fn corollary_1(&self, deviation: f64) -> f64 {
        let (beta, gamma) = (self.own_weight(), self.other_weight());
        let term = |(client, arm): (usize, usize)| {
            let gap = self.gap(client, arm);
            let smallest = self.losers(arm).map(|n| self.gap(n, arm)).fold(f64::INFINITY, f64::min);
            (2.0 * beta * beta / gap).max(2.0 * gamma * gamma * gap / (smallest * smallest))
        };
        deviation * deviation * self.suboptimal().map(term).sum::<f64>()
    }

    /// The least regret that Conjecture 1 would allow, for rewards N(mean, deviation^2). A conjecture,
    /// not a bound: nobody has proved it.
    pub fn conjecture_1(&self, deviation: f64) -> f64 {
        let (beta, gamma) = (self.own_weight(), self.other_weight());
        let arms = 0..self.local[0].len();
        let each = |arm: usize| {
            let gaps: Vec<f64> = self.losers(arm).map(|client| self.gap(client, arm)).collect();
            // With x = log T / T_{k,m}: (beta^2 - gamma^2) x_m + gamma^2 sum(x) <= Delta_m^2 / 2, because
            // X' has variance eta^2, which cancels.
            least_loss(&gaps, (beta * beta - gamma * gamma).max(0.0), gamma * gamma)
        };
        deviation * deviation * arms.map(each).sum::<f64>()
    }

    /// Clients whose best arm is another one.
    fn losers(&self, arm: usize) -> impl Iterator<Item = usize> {
        (0..self.best.len()).filter(move |client| self.best[*client] != arm)
    }

    /// Every client with every arm but its best.
    fn suboptimal(&self) -> impl Iterator<Item = (usize, usize)> {
        let arms = self.local[0].len();
        (0..self.local.len())
            .flat_map(move |client| (0..arms).map(move |arm| (client, arm)))
            .filter(|(client, arm)| self.best[*client] != *arm)
    }
}

/// Index of the largest value, if no other is as large.
fn unique_best(row: &[f64]) -> Option<usize> {
    let best = (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b]))?;
    let alone = row.iter().enumerate().all(|(arm, value)| arm == best || *value < row[best]);
    (row[best].is_finite() && alone).then_some(best)
}

/// Least sum of gap / x subject to own x_m + shared sum(x) <= gap_m^2 / 2: for every value s of the sum
/// the rest is water-filling, and what it gives is convex in s.
fn least_loss(gaps: &[f64], own: f64, shared: f64) -> f64 {
    if gaps.is_empty() {
        return 0.0;
    }
    let room = |gap: f64, sum: f64| {
        let left = gap * gap / 2.0 - shared * sum;
        if own > 0.0 { left / own } else { f64::INFINITY }
    };
    let smallest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
    let most = gaps.iter().map(|gap| room(*gap, 0.0)).sum::<f64>();
    let most = if shared > 0.0 { most.min(smallest * smallest / 2.0 / shared) } else { most };
    let loss = |sum: f64| fill(gaps, sum, |gap| room(gap, sum));
    minimum(most, loss)
}

/// Least sum of gap / x subject to sum(x) <= sum and x_m <= room(gap_m): those with room share what the
/// others leave, in proportion to the root of their gap.
fn fill(gaps: &[f64], sum: f64, room: impl Fn(f64) -> f64) -> f64 {
    let mut open: Vec<f64> = gaps.to_vec();
    let (mut left, mut loss) = (sum, 0.0);
    loop {
        let roots: f64 = open.iter().map(|gap| gap.sqrt()).sum();
        let share = |gap: f64| left * gap.sqrt() / roots;
        let (full, free): (Vec<f64>, Vec<f64>) = open.iter().partition(|gap| room(**gap) < share(**gap));
        if full.is_empty() {
            return loss + open.iter().map(|gap| gap / share(*gap)).sum::<f64>();
        }
        for gap in full {
            left -= room(gap);
            loss += gap / room(gap).max(0.0);
        }
        if free.is_empty() {
            return loss;
        }
        open = free;
    }
}

/// Least value of a convex function between 0 and `end`, by golden section.
fn minimum(end: f64, value: impl Fn(f64) -> f64) -> f64 {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (0.0, end);
    for _ in 0..200 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if value(left) < value(right) { high = right } else { low = left }
    }
    value((low + high) / 2.0).min(value(end))
}
