//! The hot step with criterion: every level of the host beside the references.

use cahoots_bench::hot_step::KernelStep;
use cahoots_bench::problem::{Contestant, Problem};
use cahoots_bench::references::{faer_gemm::FaerGemm, faer_simple::FaerSimple, nalgebra_gemv::NalgebraGemv};
use cahoots_kernel::Level;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};

fn hot_step(criterion: &mut Criterion) {
    for (dim, arms) in [(10, 10), (25, 25), (100, 100), (25, 1000)] {
        let problem = Problem::new(dim, arms, 1);
        let mut group = criterion.benchmark_group(format!("hot step ({dim}, {arms})"));
        for level in Level::available() {
            run(&mut group, &format!("{level:?}"), KernelStep::new(&problem, level));
        }
        run(&mut group, "faer", FaerGemm::new(&problem));
        run(&mut group, "faer, simple", FaerSimple::new(&problem));
        run(&mut group, "nalgebra", NalgebraGemv::new(&problem));
    }
}

fn run(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut contestant: impl Contestant) {
    group.bench_function(name, |bencher| bencher.iter(|| contestant.step(0)));
}

criterion_group!(benches, hot_step);
criterion_main!(benches);
