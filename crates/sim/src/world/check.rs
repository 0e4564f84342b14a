//! Checks that several environments share. Each complaint names the key and
//! says what would be right.

use cahoots_core::{NodeId, ParamError};

use super::pool::PoolKind;

/// Refuses 0, and what does not fit the numbering of clients.
pub(crate) fn count(key: &str, value: usize) -> Result<(), ParamError> {
    let most = NodeId::SERVER.index() - 1;
    if value == 0 {
        Err(ParamError::new(key, "must be at least 1, not 0"))
    } else if value > most {
        Err(ParamError::new(key, format!("must be at most {most}, not {value}")))
    } else {
        Ok(())
    }
}

/// Largest number that a world may be made of: sums of squares of as many as there will ever be stay finite.
pub(crate) const LARGEST: f64 = 1e100;

/// Refuses anything but the deviation of a noise whose sums stay finite.
pub(crate) fn deviation(key: &str, value: f64) -> Result<(), ParamError> {
    ParamError::not_negative(key, value)?;
    if value > LARGEST {
        return Err(ParamError::new(
            key,
            format!("must be at most {LARGEST:e}, not {value:e}: rewards would overflow"),
        ));
    }
    Ok(())
}

/// Refuses a horizon without a step.
pub(crate) fn horizon(ticks: u64) -> Result<(), ParamError> {
    if ticks == 0 { Err(ParamError::new("horizon", "must be at least 1, not 0")) } else { Ok(()) }
}

/// Refuses more arms than the pool holds.
pub(crate) fn pool(kind: PoolKind, pool_size: usize, arms: usize) -> Result<(), ParamError> {
    count("arms", arms)?;
    count("pool_size", pool_size)?;
    if kind.fresh().is_none() && arms > pool_size {
        let problem = format!("a pool of {pool_size} cannot offer {arms}: lower arms, or raise pool_size");
        return Err(ParamError::new("arms", problem));
    }
    Ok(())
}

/// Refuses what no parameter can turn by.
pub(crate) fn drift(radians: f64, dim: usize) -> Result<(), ParamError> {
    if !(0.0..=1000.0).contains(&radians) {
        return Err(ParamError::new("drift", format!("must lie between 0 and 1000, not {radians}")));
    }
    if radians > 0.0 && dim < 2 {
        return Err(ParamError::new("drift", "one feature cannot turn: raise dim, or leave drift out"));
    }
    Ok(())
}

/// Refuses a distance that no two unit vectors have.
pub(crate) fn separation(value: f64) -> Result<(), ParamError> {
    ParamError::not_negative("separation", value)?;
    if value > 2.0 {
        return Err(ParamError::new(
            "separation",
            format!("unit vectors are at most 2 apart, so it must lie between 0 and 2, not {value}"),
        ));
    }
    Ok(())
}

/// Refuses more groups than there are members: one group would be empty.
pub(crate) fn groups(key: &str, groups: usize, members_key: &str, members: usize) -> Result<(), ParamError> {
    count(key, groups)?;
    if groups > members {
        let problem = format!("must be at most {members_key} ({members}), not {groups}");
        return Err(ParamError::new(key, problem));
    }
    Ok(())
}
