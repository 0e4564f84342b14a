//! Whether coordinators have the same, and whether it is what apps were told.

use std::time::{Duration, Instant};

use super::apps::merged;
use super::asker::Digest;
use super::coordinators::Coordinators;
use super::trouble::PATIENCE;
use crate::soak::{Balance, Diary, Powers};

/// What coordinator `i` has merged, held against what apps did. A page may show what was a moment ago, so one looks again before one
/// complains.
pub fn balance(
    coordinators: &Coordinators,
    i: usize,
    powers: &Powers,
    diaries: &[Diary],
) -> Result<Balance, String> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let model = coordinators.page(i).get("/model");
        let balance =
            model.and_then(|(_, model)| merged(&model)).and_then(|merged| powers.balance(diaries, &merged));
        match balance {
            Ok(balance) => return Ok(balance),
            Err(error) if Instant::now() > deadline => {
                return Err(format!("coordinator {}: {error}", coordinators.name(i)));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

/// Waits until all coordinators have read to the same place; their states must be the same there.
pub fn same_state(coordinators: &Coordinators) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let said: Result<Vec<Digest>, String> =
            (0..coordinators.count()).map(|i| coordinators.digest(i)).collect();
        if let Ok(said) = &said
            && said.iter().all(|one| one.sequence == said[0].sequence && !one.sha256.is_empty())
        {
            return match said.iter().all(|one| one.sha256 == said[0].sha256) {
                true => Ok(()),
                false => Err(format!("states differ at the same sequence: {said:?}")),
            };
        }
        if Instant::now() > deadline {
            return Err(format!("coordinators do not come to the same end: {said:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
