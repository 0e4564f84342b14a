//! Who can talk to whom, as a user writes it.

use cahoots_core::{Keys, NodeId, ParamError, ReadFile, Topology};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A graph by name, drawn, or given edge by edge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum GraphShape {
    /// The first client in the middle.
    Star,
    /// Each client with two neighbours.
    Ring,
    /// Everyone with everyone.
    #[default]
    Complete,
    /// Each pair with this probability, drawn again until connected.
    Random(#[schemars(range(min = 0.0, max = 1.0))] f64),
    /// Each client with this many neighbours, drawn.
    Regular(#[schemars(range(min = 1))] u32),
    /// A rectangle with this many columns.
    Grid(#[schemars(range(min = 1))] u32),
    /// A ring of near neighbours whose edges were moved at random.
    SmallWorld {
        /// Neighbours of a client before that: an even number.
        #[schemars(range(min = 2))]
        neighbours: u32,
        /// Probability that an edge is moved.
        #[schemars(range(min = 0.0, max = 1.0))]
        rewire: f64,
    },
    /// Edges, as pairs of client numbers.
    Edges(Vec<[u32; 2]>),
    /// A file of edges: two client numbers per line; what follows a # is left out.
    File(String),
}

/// One component: so many clients on the common topology, or on one of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a component is a number of clients, or { size = 20, topology = \"star\" }"
)]
pub enum ComponentSize {
    /// On the common topology.
    Size(u32),
    /// On its own.
    Own {
        /// Number of clients.
        size: u32,
        /// Their graph.
        topology: GraphShape,
    },
}

impl GraphShape {
    /// Reads the file, if it is one.
    pub(super) fn read_file(self, read: ReadFile<'_>) -> Result<GraphShape, ParamError> {
        let GraphShape::File(file) = self else { return Ok(self) };
        let text = read(&file)
            .map_err(|error| ParamError::new("topology", format!("cannot read {file}: {error}")))?;
        parse(&file, &text).map(GraphShape::Edges)
    }

    /// The graph over `clients` clients; whether it is connected is not looked at where it was given.
    pub(super) fn build(&self, clients: usize, seed: u64) -> Result<Topology, ParamError> {
        let wrong = |problem: String| ParamError::new("topology", problem);
        // A stream of its own: no client draws from the server's key.
        let mut rng = Keys::from_seed(seed).policy(NodeId::SERVER, 0);
        let drawn = |graph: Option<Topology>, what: String| {
            graph.ok_or_else(|| wrong(format!("{what}: no connected graph of {clients} clients was found")))
        };
        match self {
            GraphShape::Star => Ok(Topology::star(clients)),
            GraphShape::Ring => Ok(Topology::ring(clients)),
            GraphShape::Complete => Ok(Topology::complete(clients)),
            GraphShape::Random(p) => {
                if !(0.0..=1.0).contains(p) {
                    return Err(wrong(format!("random must lie between 0 and 1, not {p}")));
                }
                drawn(Topology::random_connected(clients, *p, &mut rng), format!("random = {p}"))
            }
            GraphShape::Regular(degree) => {
                let ends = clients * *degree as usize;
                if *degree as usize >= clients || !ends.is_multiple_of(2) {
                    let problem =
                        format!("regular must be below {clients}, and {clients} times it even, not {degree}");
                    return Err(wrong(problem));
                }
                let graph = Topology::random_regular(clients, *degree as usize, &mut rng);
                drawn(graph, format!("regular = {degree}"))
            }
            GraphShape::Grid(columns) => {
                let columns = *columns as usize;
                if columns == 0 || !clients.is_multiple_of(columns) {
                    return Err(wrong(format!("{clients} clients do not make rows of {columns}")));
                }
                Ok(Topology::grid(clients / columns, columns))
            }
            GraphShape::SmallWorld { neighbours, rewire } => {
                let near = *neighbours as usize;
                if near < 2 || !near.is_multiple_of(2) || near >= clients || !(0.0..=1.0).contains(rewire) {
                    let problem = format!(
                        "small-world needs an even number of neighbours below {clients} and rewire between 0 and 1"
                    );
                    return Err(wrong(problem));
                }
                let graph = Topology::small_world(clients, near, *rewire, &mut rng);
                drawn(graph, format!("small-world of {near} neighbours"))
            }
            GraphShape::Edges(edges) => Topology::from_edges(clients, edges.iter().map(|[a, b]| (*a, *b)))
                .map_err(|error| wrong(error.to_string())),
            GraphShape::File(file) => {
                Err(wrong(format!("{file} is not read here: whoever hands parameters on gives its edges")))
            }
        }
    }

    /// The same, refused where it falls apart.
    pub(super) fn connected(&self, clients: usize, seed: u64) -> Result<Topology, ParamError> {
        let graph = self.build(clients, seed)?;
        graph.connected().map_err(|error| ParamError::new("topology", error.to_string()))
    }
}

fn parse(file: &str, text: &str) -> Result<Vec<[u32; 2]>, ParamError> {
    let edge = |(line, number): (&str, usize)| {
        let line = line.split('#').next().unwrap_or_default();
        let mut ends = line.split([' ', '\t', ',', ';']).filter(|end| !end.is_empty()).peekable();
        ends.peek()?;
        let numbers: Option<Vec<u32>> = ends.map(|end| end.parse().ok()).collect();
        Some(numbers.and_then(|n| <[u32; 2]>::try_from(n).ok()).ok_or_else(|| {
            let problem = format!("line {number} of {file} is not two client numbers: {:?}", line.trim());
            ParamError::new("topology", problem)
        }))
    };
    text.lines().map(str::trim).zip(1..).filter_map(edge).collect()
}

/// Components side by side, of sizes that add up to all clients.
pub(super) fn hybrid(
    common: &GraphShape,
    parts: Option<&[ComponentSize]>,
    clients: usize,
    seed: u64,
) -> Result<Topology, ParamError> {
    let Some(parts) = parts else {
        return match common {
            // What is given edge by edge may have components of its own.
            GraphShape::Edges(_) | GraphShape::File(_) => common.build(clients, seed),
            named => named.connected(clients, seed),
        };
    };
    let wrong = |problem: String| ParamError::new("components", problem);
    let mut graphs = Vec::new();
    for (number, part) in (0..).zip(parts) {
        let (size, graph) = match part {
            ComponentSize::Size(size) => (*size, common),
            ComponentSize::Own { size, topology } => (*size, topology),
        };
        if size == 0 {
            return Err(wrong("a component has at least one client".into()));
        }
        // Components of one size are drawn apart.
        graphs.push(graph.connected(size as usize, seed.wrapping_add(number))?);
    }
    let together: usize = graphs.iter().map(Topology::len).sum();
    if together != clients {
        return Err(wrong(format!("add up to {together} clients, but there are {clients}")));
    }
    Ok(Topology::side_by_side(&graphs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_read_from_text() {
        let text = "# a path\n0 1\n1,2 # and on\n\n 2\t3\n";
        assert_eq!(parse("g.txt", text).unwrap(), [[0, 1], [1, 2], [2, 3]]);
        let error = parse("g.txt", "0 1\n1 x\n").unwrap_err();
        assert_eq!(error.to_string(), "topology: line 2 of g.txt is not two client numbers: \"1 x\"");
    }

    #[test]
    fn a_file_is_read_by_who_brings_a_reader_and_by_nobody_else() {
        let file = GraphShape::File("g.txt".into());
        let read = |path: &str| if path == "g.txt" { Ok("0 1\n".into()) } else { Err("not there".into()) };
        assert_eq!(file.clone().read_file(&read).unwrap(), GraphShape::Edges(vec![[0, 1]]));
        let error = GraphShape::File("h.txt".into()).read_file(&read).unwrap_err();
        assert_eq!(error.to_string(), "topology: cannot read h.txt: not there");
        // This one exists, and is still not opened.
        let error = GraphShape::File("Cargo.toml".into()).build(2, 0).unwrap_err();
        assert!(error.to_string().contains("Cargo.toml is not read here"), "{error}");
    }

    #[test]
    fn a_graph_in_pieces_is_refused_with_its_components() {
        let graph = GraphShape::Edges(vec![[0, 1], [2, 3], [3, 4]]);
        let error = graph.connected(5, 0).unwrap_err();
        assert_eq!(error.to_string(), "topology: the graph falls apart into 2 components: {0, 1} {2, 3, 4}");
    }

    #[test]
    fn components_stand_side_by_side() {
        let own = ComponentSize::Own { size: 3, topology: GraphShape::Ring };
        let graph = hybrid(&GraphShape::Star, Some(&[ComponentSize::Size(4), own]), 7, 0).unwrap();
        let sizes: Vec<usize> = graph.components().iter().map(Vec::len).collect();
        assert_eq!((sizes, graph.edges()), (vec![4, 3], 6));
        let error =
            hybrid(&GraphShape::Star, Some(&[ComponentSize::Size(63), ComponentSize::Size(47)]), 100, 0)
                .unwrap_err();
        assert_eq!(error.to_string(), "components: add up to 110 clients, but there are 100");
    }

    #[test]
    fn every_family_can_be_written() {
        for (text, edges) in [
            ("\"star\"", 11),
            ("\"ring\"", 12),
            ("\"complete\"", 66),
            ("{\"regular\": 3}", 18),
            ("{\"grid\": 4}", 17),
            ("{\"small-world\": {\"neighbours\": 4, \"rewire\": 0.2}}", 24),
            ("{\"edges\": [[0, 1]]}", 1),
        ] {
            let graph: GraphShape = serde_json::from_str(text).unwrap();
            assert_eq!(graph.build(12, 7).unwrap().edges(), edges, "{text}");
        }
        let random: GraphShape = serde_json::from_str("{\"random\": 0.4}").unwrap();
        assert_eq!(random.build(12, 7), random.build(12, 7));
        assert!(GraphShape::Regular(3).build(5, 0).is_err() && GraphShape::Grid(5).build(12, 0).is_err());
    }
}
