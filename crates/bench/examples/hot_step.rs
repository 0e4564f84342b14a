//! Prints the table of the hot step.

fn main() {
    let shapes = [(10, 10), (25, 25), (100, 100), (25, 1000)];
    let rounds = std::env::args().nth(1).map_or(200, |n| n.parse().expect("a number of rounds"));
    println!("   d     K  level    kernel ns  faer ns (ratio)  faer, simple (ratio)  nalgebra (ratio)");
    for row in cahoots_bench::hot_step::measure(&shapes, rounds) {
        println!(
            "{:4} {:5}  {:7}  {:9.0}  {:8.0} {:5.2}x  {:12.0} {:6.2}x  {:9.0} {:5.2}x",
            row.dim,
            row.arms,
            row.level,
            row.kernel_ns,
            row.faer_ns,
            row.faer_ratio,
            row.faer_simple_ns,
            row.faer_simple_ratio,
            row.nalgebra_ns,
            row.nalgebra_ratio,
        );
    }
}
