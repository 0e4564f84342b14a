//! Standard normals by the ziggurat (Marsaglia and Tsang 2000, in the form of
//! Doornik 2005): 256 boxes of equal area, one multiplication and one
//! comparison for 98.8% of the draws.

use std::sync::LazyLock;

use super::Draw;

/// Where the tail begins, for 256 boxes.
const TAIL: f64 = 3.654_152_885_361_009;

/// Right edges of the boxes, widest first, and the density there.
pub(super) struct Ziggurat {
    edge: [f64; 257],
    density: [f64; 257],
}

impl Ziggurat {
    /// The one table.
    #[inline]
    pub(super) fn shared() -> &'static Ziggurat {
        static TABLE: LazyLock<Ziggurat> = LazyLock::new(Ziggurat::new);
        &TABLE
    }

    fn new() -> Ziggurat {
        // Area of each box: that of the lowest, the tail included.
        let tail = libm::erfc(TAIL / std::f64::consts::SQRT_2) * (std::f64::consts::PI / 2.0).sqrt();
        let area = TAIL * density(TAIL) + tail;
        let mut edge = [0.0; 257];
        edge[0] = area / density(TAIL);
        edge[1] = TAIL;
        for i in 2..256 {
            edge[i] = (-2.0 * libm::log(area / edge[i - 1] + density(edge[i - 1]))).sqrt();
        }
        Ziggurat { edge, density: edge.map(density) }
    }

    #[inline]
    pub(super) fn normal(&self, draw: &mut Draw) -> f64 {
        let bits = draw.bits();
        let slot = (bits & 0xff) as usize;
        let x = signed(bits) * self.edge[slot];
        if x.abs() < self.edge[slot + 1] {
            return x;
        }
        let (x, moved) = self.outside(draw.clone(), slot, x);
        *draw = moved;
        x
    }

    /// The draw lies beside its box's inner part: in the wedge, in the tail, or nowhere.
    /// The generator goes in and out by value: a reference would keep it out of registers in the
    /// common case too.
    #[cold]
    #[inline(never)]
    fn outside(&self, mut draw: Draw, mut slot: usize, mut x: f64) -> (f64, Draw) {
        loop {
            if slot == 0 {
                return (far_out(&mut draw).copysign(x), draw);
            }
            let (low, high) = (self.density[slot], self.density[slot + 1]);
            if high + (low - high) * draw.uniform() < density(x) {
                return (x, draw);
            }
            let bits = draw.bits();
            slot = (bits & 0xff) as usize;
            x = signed(bits) * self.edge[slot];
            if x.abs() < self.edge[slot + 1] {
                return (x, draw);
            }
        }
    }
}

/// Beyond [`TAIL`] (Marsaglia 1964).
fn far_out(draw: &mut Draw) -> f64 {
    loop {
        let x = draw.exponential() / TAIL;
        let y = draw.exponential();
        if 2.0 * y >= x * x {
            return TAIL + x;
        }
    }
}

/// The upper 52 bits as a number in [-1, 1): the lowest eight choose the box.
#[inline]
fn signed(bits: u64) -> f64 {
    f64::from_bits((bits >> 12) | 0x4000_0000_0000_0000) - 3.0
}

/// The normal density, without its constant.
fn density(x: f64) -> f64 {
    libm::exp(-0.5 * x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_have_equal_area() {
        let Ziggurat { edge, density } = Ziggurat::shared();
        let area = edge[0] * density[1];
        for i in 1..256 {
            assert!((edge[i] * (density[i + 1] - density[i]) - area).abs() < 1e-14, "box {i}");
        }
        assert_eq!((edge[256], density[256]), (0.0, 1.0));
    }
}
