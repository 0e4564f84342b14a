//! Profile a reference.
use cahoots_bench::problem::*;
use cahoots_bench::references::faer_gemm::FaerGemm;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (d, k): (usize, usize) = (a[1].parse().unwrap(), a[2].parse().unwrap());
    let p = Problem::new(d, k, 1);
    let mut f = FaerGemm::new(&p);
    let mut best = f64::INFINITY;
    for _ in 0..2000 {
        let t = std::time::Instant::now();
        for _ in 0..20 {
            f.step(0);
        }
        best = best.min(t.elapsed().as_nanos() as f64 / 20.0);
    }
    println!("{best}");
}
