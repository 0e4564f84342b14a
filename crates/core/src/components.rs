//! The one search for what hangs together, for every kind of graph.

/// Components in the order of their first nodes, each in order.
pub(crate) fn components<N: IntoIterator<Item = u32>>(
    nodes: usize,
    neighbours: impl Fn(u32) -> N,
) -> Vec<Vec<u32>> {
    let mut seen = vec![false; nodes];
    let mut components = Vec::new();
    for start in 0..nodes as u32 {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        let mut component = vec![start];
        let mut next = 0;
        while let Some(&node) = component.get(next) {
            for other in neighbours(node) {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    component.push(other);
                }
            }
            next += 1;
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}
