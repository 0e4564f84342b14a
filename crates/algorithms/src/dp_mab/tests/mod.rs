//! What the paper says, checked on formulas and on scripted inputs. Whole runs are in `testkit`.

mod learnt;
mod membership;
mod messages;
mod parameters;
mod privacy;
mod rules;
mod sums;

use cahoots_core::Setting;

fn setting(clients: usize, arms: usize, horizon: u64) -> Setting {
    Setting::k_armed(clients, arms).with_horizon(horizon)
}
