//! Means over seeds, and how sure one can be of them.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Sample standard deviation; `None` for one seed.
    pub sd: Option<f64>,
    /// Half the width of the 95% confidence interval by Student's t; `None` for one seed.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// From one value per seed.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Estimate {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Estimate { mean, sd: None, ci95: None };
        }
        let sd = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        Estimate { mean, sd: Some(sd), ci95: Some(t_quantile(values.len()) * sd / n.sqrt()) }
    }
}

/// The 97.5% quantile of Student's t for a mean of `n` values.
pub fn t_quantile(n: usize) -> f64 {
    match StudentsT::new(0.0, 1.0, n.saturating_sub(1).max(1) as f64) {
        Ok(law) => law.inverse_cdf(0.975),
        Err(_) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_tables() {
        assert!((t_quantile(2) - 12.706_204_7).abs() < 1e-6);
        assert!((t_quantile(10) - 2.262_157_2).abs() < 1e-6);
        let estimate = Estimate::new([1.0, 2.0, 3.0, 4.0]);
        assert_eq!(estimate.mean, 2.5);
        assert!((estimate.sd.unwrap() - 1.290_994_4).abs() < 1e-6);
        assert!((estimate.ci95.unwrap() - 2.054_260_3).abs() < 1e-6);
    }

    #[test]
    fn one_seed_has_no_spread() {
        assert_eq!(Estimate::new([3.0]), Estimate { mean: 3.0, sd: None, ci95: None });
    }
}
