//! Adds up what releases cost: per protected unit, against each observer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cahoots_core::{Composition, NodeId, Noise, ReleaseFact};
use serde::{Deserialize, Serialize};

use crate::gaussian::{epsilon_of, epsilon_of_zcdp};

/// Everything that was released, machine by machine. Units of different machines are different units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accountant {
    machines: BTreeMap<NodeId, Vec<Account>>,
    unprotected: u64,
}

/// One machine's releases of one unit to one observer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Account {
    unit: Cow<'static, str>,
    observer: Cow<'static, str>,
    releases: u64,
    spending: u64,
    /// Sums of what adds up, maxima of what is disjoint.
    adds: Loss,
    disjoint: Loss,
}

/// What one unit has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Loss {
    /// Pure epsilon of Laplace noise.
    pure: f64,
    /// zCDP rho of the same Laplace noise: epsilon^2 / 2 each.
    pure_rho: f64,
    /// zCDP rho of Gaussian noise: (sensitivity / deviation)^2 / 2 each.
    gaussian_rho: f64,
}

impl Loss {
    fn of(fact: &ReleaseFact) -> Loss {
        let ratio = if fact.sensitivity == 0.0 { 0.0 } else { fact.sensitivity / fact.scale };
        match fact.noise {
            Noise::None => Loss { pure: f64::INFINITY, pure_rho: f64::INFINITY, gaussian_rho: 0.0 },
            Noise::Laplace => Loss { pure: ratio, pure_rho: 0.5 * ratio * ratio, gaussian_rho: 0.0 },
            Noise::Gaussian => Loss { gaussian_rho: 0.5 * ratio * ratio, ..Loss::default() },
        }
    }

    fn join(self, other: Loss, join: fn(f64, f64) -> f64) -> Loss {
        Loss {
            pure: join(self.pure, other.pure),
            pure_rho: join(self.pure_rho, other.pure_rho),
            gaussian_rho: join(self.gaussian_rho, other.gaussian_rho),
        }
    }

    /// The best of what composition theorems give; exact for Gaussian noise alone.
    fn epsilon(self, delta: f64) -> f64 {
        let apart = self.pure + epsilon_of((2.0 * self.gaussian_rho).sqrt(), delta);
        if self.pure == 0.0 {
            return apart;
        }
        apart.min(epsilon_of_zcdp(self.pure_rho + self.gaussian_rho, delta))
    }
}

/// What has been spent of one unit, against one observer, by the machine that spent most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// What is protected.
    pub unit: Cow<'static, str>,
    /// From whom.
    pub observer: Cow<'static, str>,
    /// Privacy loss.
    pub epsilon: f64,
    /// Probability that the loss is larger.
    pub delta: f64,
    /// The same in zero-concentrated differential privacy.
    pub rho: f64,
    /// Releases of the machine that spent most.
    pub releases: u64,
    /// Those of them that cost something (the others belong to a mechanism that is paid for).
    pub spending: u64,
}

impl Spent {
    /// Of each unit and observer the largest loss; largest first.
    pub fn largest(all: impl IntoIterator<Item = Spent>) -> Vec<Spent> {
        let mut worst: BTreeMap<(String, String), Spent> = BTreeMap::new();
        for spent in all {
            let entry = worst.entry((spent.unit.to_string(), spent.observer.to_string()));
            let known = entry.or_insert_with(|| spent.clone());
            if spent.epsilon > known.epsilon {
                *known = spent;
            }
        }
        let mut list: Vec<Spent> = worst.into_values().collect();
        list.sort_by(|a, b| b.epsilon.total_cmp(&a.epsilon));
        list
    }
}

impl Account {
    fn spent(&self, delta: f64) -> Spent {
        let loss = self.adds.join(self.disjoint, |a, b| a + b);
        let needs_delta = loss.gaussian_rho > 0.0;
        // Laplace alone is stated without a delta unless the delta helps.
        let (with, without) = (loss.epsilon(delta), loss.epsilon(0.0));
        let (epsilon, delta) = if with < without || needs_delta { (with, delta) } else { (without, 0.0) };
        Spent {
            unit: self.unit.clone(),
            observer: self.observer.clone(),
            epsilon,
            delta,
            rho: loss.pure_rho + loss.gaussian_rho,
            releases: self.releases,
            spending: self.spending,
        }
    }
}

impl Accountant {
    /// Puts a release of a machine on record.
    pub fn record(&mut self, machine: NodeId, fact: &ReleaseFact) {
        if fact.noise == Noise::None && fact.composition != Composition::Covered {
            self.unprotected += 1;
            return;
        }
        let accounts = self.machines.entry(machine).or_default();
        let known = accounts.iter().position(|a| a.unit == fact.unit && a.observer == fact.observer);
        let place = known.unwrap_or_else(|| {
            accounts.push(Account {
                unit: fact.unit.clone(),
                observer: fact.observer.clone(),
                releases: 0,
                spending: 0,
                adds: Loss::default(),
                disjoint: Loss::default(),
            });
            accounts.len() - 1
        });
        let account = &mut accounts[place];
        account.releases += 1;
        let loss = Loss::of(fact);
        match fact.composition {
            Composition::Adds => account.adds = account.adds.join(loss, |a, b| a + b),
            Composition::Disjoint => account.disjoint = account.disjoint.join(loss, f64::max),
            Composition::Covered => return,
        }
        account.spending += 1;
    }

    /// Adds all that another accountant has on record. The same units may have been in both, so that nothing of it is
    /// disjoint any more: losses add up.
    pub fn absorb(&mut self, other: &Accountant) {
        self.unprotected += other.unprotected;
        for (machine, accounts) in &other.machines {
            let own = self.machines.entry(*machine).or_default();
            for account in accounts {
                let loss = account.adds.join(account.disjoint, |a, b| a + b);
                match own.iter_mut().find(|a| a.unit == account.unit && a.observer == account.observer) {
                    Some(known) => {
                        known.releases += account.releases;
                        known.spending += account.spending;
                        known.adds = known.adds.join(loss, |a, b| a + b);
                    }
                    None => own.push(Account { adds: loss, disjoint: Loss::default(), ..account.clone() }),
                }
            }
        }
    }

    /// Releases without any noise.
    pub fn unprotected(&self) -> u64 {
        self.unprotected
    }

    /// What has been spent so far, stated at `delta`: one entry per unit and observer, largest loss first.
    pub fn spent(&self, delta: f64) -> Vec<Spent> {
        Spent::largest(self.machines.values().flatten().map(|account| account.spent(delta)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(noise: Noise, scale: f64, sensitivity: f64, composition: Composition) -> ReleaseFact {
        ReleaseFact {
            mechanism: "test".into(),
            scale,
            sensitivity,
            unit: "one reward".into(),
            observer: "the server".into(),
            noise,
            composition,
        }
    }

    fn spent(facts: &[(u32, ReleaseFact)], delta: f64) -> Spent {
        let mut accountant = Accountant::default();
        facts.iter().for_each(|(machine, fact)| accountant.record(NodeId(*machine), fact));
        accountant.spent(delta).remove(0)
    }

    #[test]
    fn pure_losses_of_one_machine_add_up_and_machines_do_not() {
        let laplace = |scale| fact(Noise::Laplace, scale, 1.0, Composition::Adds);
        let total = spent(&[(0, laplace(2.0)), (0, laplace(4.0)), (1, laplace(2.0))], 0.0);
        assert_eq!((total.epsilon, total.delta, total.spending), (0.75, 0.0, 2));
    }

    #[test]
    fn of_disjoint_releases_the_largest_counts() {
        let laplace = |scale, composition| fact(Noise::Laplace, scale, 1.0, composition);
        let facts = [
            (0, laplace(2.0, Composition::Disjoint)),
            (0, laplace(4.0, Composition::Disjoint)),
            (0, laplace(10.0, Composition::Adds)),
        ];
        assert_eq!(spent(&facts, 0.0).epsilon, 0.6);
    }

    #[test]
    fn what_is_covered_costs_nothing_more() {
        let tree = fact(Noise::Gaussian, 6.0, 2.0, Composition::Adds);
        let node = fact(Noise::Gaussian, 6.0, 2.0, Composition::Covered);
        let once = spent(&[(0, tree.clone())], 1e-5);
        let often = spent(&[(0, tree), (0, node.clone()), (0, node)], 1e-5);
        assert_eq!((once.epsilon, often.releases, often.spending), (often.epsilon, 3, 1));
    }

    #[test]
    fn renewals_of_gaussian_noise_compose_exactly() {
        let tree = fact(Noise::Gaussian, 8.0, 2.0, Composition::Adds);
        let four = spent(&vec![(0, tree); 4], 1e-5);
        assert!((four.epsilon - epsilon_of(0.5, 1e-5)).abs() < 1e-9);
        assert_eq!(four.rho, 4.0 * 0.5 / 16.0);
    }

    #[test]
    fn many_small_laplace_losses_profit_from_a_delta() {
        let facts = vec![(0, fact(Noise::Laplace, 100.0, 1.0, Composition::Adds)); 400];
        assert!((spent(&facts, 0.0).epsilon - 4.0).abs() < 1e-9);
        let with = spent(&facts, 1e-5);
        assert!(with.epsilon < 1.0 && with.delta == 1e-5, "{with:?}");
    }

    /// Two copies of one store went on: what each released was about the same data.
    #[test]
    fn what_another_accountant_knows_of_the_same_data_adds_up() {
        let laplace = |composition| fact(Noise::Laplace, 2.0, 1.0, composition);
        let mut accountant = Accountant::default();
        accountant.record(NodeId(0), &laplace(Composition::Disjoint));
        accountant.record(NodeId(0), &laplace(Composition::Disjoint));
        accountant.record(NodeId(0), &fact(Noise::Gaussian, 8.0, 2.0, Composition::Adds));
        accountant.record(NodeId(0), &fact(Noise::None, 0.0, 1.0, Composition::Adds));
        let (once, copy) = (accountant.spent(1e-5).remove(0), accountant.clone());
        accountant.absorb(&copy);
        let twice = accountant.spent(1e-5).remove(0);
        assert_eq!((twice.rho, twice.releases, twice.spending), (2.0 * once.rho, 6, 6));
        assert_eq!(accountant.unprotected(), 2);
        // The next of a kind of which the largest counts is no larger than those before.
        accountant.record(NodeId(0), &laplace(Composition::Disjoint));
        assert_eq!(accountant.spent(1e-5).remove(0).rho, twice.rho);
        let mut other = Accountant::default();
        other.absorb(&copy);
        assert_eq!(other.spent(1e-5), copy.spent(1e-5));
    }

    #[test]
    fn no_noise_is_not_a_guarantee() {
        let mut accountant = Accountant::default();
        accountant.record(NodeId(0), &fact(Noise::None, 0.0, 1.0, Composition::Adds));
        assert_eq!(accountant.unprotected(), 1);
        assert!(accountant.spent(0.1).is_empty());
    }
}
