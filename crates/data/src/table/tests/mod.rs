mod careless;
mod described;
mod kept;

use std::fmt::Write as _;
use std::path::PathBuf;

use cahoots_core::{ArmBuffer, ArmIndex, UserId};
use cahoots_sim::arrivals::Arrivals;
use cahoots_sim::environment::Environment;
use cahoots_sim::files::Here;
use cahoots_sim::run::{Scenario, prepare as simulation};
use cahoots_sim::worlds::Worlds;
use serde_json::{Value, json};

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

fn keys(value: Value) -> TableParams {
    serde_json::from_value(value).unwrap()
}

fn read(value: Value) -> Result<TableParams, String> {
    keys(value).read_files(&Here).map_err(|error| error.to_string())
}

/// What `value` is refused for, without the folder.
fn refused(value: Value) -> String {
    let error = read(value).unwrap_err();
    let Some(start) = error.find("/tmp/") else { return error };
    let end = error[start..].find([' ', ':', ',']).map_or(error.len(), |end| start + end);
    let name = error[start..end].rsplit('/').next().unwrap().to_owned();
    format!("{}{name}{}", &error[..start], &error[end..])
}

fn world(value: Value, horizon: u64, seed: u64) -> (Box<dyn World>, Arrivals) {
    read(value).unwrap().build(horizon, seed).unwrap()
}

/// The features on offer at a tick, and what each arm pays.
fn offer(world: &mut dyn World, tick: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut arms = ArmBuffer::default();
    world.offer(tick, UserId(0), &mut arms);
    let features: Vec<Vec<f64>> =
        (0..arms.features.len()).map(|arm| arms.features.row(arm).collect()).collect();
    let count = if world.setting().dim == 0 { arms.plain } else { features.len() };
    let pays = (0..count as u32).map(|arm| {
        let pull = world.pull(tick, UserId(0), &arms, ArmIndex(arm));
        assert_eq!(pull.reward, pull.expected);
        pull.reward
    });
    (features, pays.collect())
}

const FRUIT: &str = "\
shop,weight,colour,kind
north,100,red,apple
south,300,yellow,banana
north,200,green,apple
west,,yellow,pear
";

#[test]
fn every_label_is_an_arm_with_the_context_in_its_block() {
    let folder = Folder::new();
    let file = folder.file("fruit.csv", FRUIT);
    let table = json!({ "file": file, "label": "kind", "client": "shop", "order": "file" });
    let (mut world, mut arrivals) = world(table.clone(), 4, 1);
    // Weight, three colours and the constant for each of three labels.
    let setting = world.setting().clone();
    assert_eq!((setting.users, setting.arms, setting.dim), (3, 3, 15));
    let (mut clients, mut out) = (Vec::new(), Vec::new());
    for tick in 1..=4 {
        arrivals.at(tick, &mut out);
        clients.extend(out.iter().map(|user| user.0));
    }
    assert_eq!(clients, [0, 1, 0, 2], "in the order of their first rows");
    // Two columns and the constant.
    let third = 1.0 / 3f64.sqrt();
    let contexts = [
        [-1.0, 0.0, 1.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, 1.0, 1.0],
        [0.0, 1.0, 0.0, 0.0, 1.0],
        // The mean of what is there is the middle here.
        [0.0, 0.0, 0.0, 1.0, 1.0],
    ];
    let labels = [0, 1, 0, 2];
    for (tick, (context, label)) in (1..).zip(contexts.iter().zip(labels)) {
        let (features, pays) = offer(world.as_mut(), tick);
        for (arm, row) in features.iter().enumerate() {
            for (index, value) in row.iter().enumerate() {
                let expected = if index / 5 == arm { context[index % 5] * third } else { 0.0 };
                assert!((value - expected).abs() < 1e-15, "tick {tick}, arm {arm}: {row:?}");
            }
            assert!(row.iter().map(|x| x * x).sum::<f64>() <= 1.0 + 1e-12);
        }
        assert_eq!(pays, (0..3).map(|arm| f64::from(arm == label)).collect::<Vec<_>>());
    }
    let pull = world.pull(1, UserId(0), &ArmBuffer::default(), ArmIndex(2));
    assert_eq!((pull.reward, pull.best), (0.0, 1.0));
    assert_eq!(world.reward_range(), Some((0.0, 1.0)));

    let mut shared = table.clone();
    shared["arm_features"] = json!("shared");
    let (mut world, _) = self::world(shared, 4, 1);
    let (features, _) = offer(world.as_mut(), 2);
    assert_eq!((features.len(), features[0].len()), (3, 5));
    assert!(features.iter().all(|row| *row == features[0]));
    let mut plain = table;
    plain["arm_features"] = json!("none");
    let (mut world, _) = self::world(plain, 4, 1);
    let setting = world.setting().clone();
    assert_eq!((setting.dim, setting.arms), (0, 3));
    assert_eq!(offer(world.as_mut(), 4).1, [0.0, 0.0, 1.0]);
}

#[test]
fn numbers_are_scaled_as_asked() {
    let folder = Folder::new();
    let file = folder.file("n.csv", "x,y,label\n1,7,a\n3,7,b\n5,7,a\n");
    let first = |scale: &str| {
        let (mut world, _) =
            world(json!({ "file": file, "label": "label", "scale": scale, "order": "file" }), 3, 1);
        offer(world.as_mut(), 1).0[0].clone()
    };
    let half = 0.5f64.sqrt();
    let deviation = (8.0f64 / 3.0).sqrt();
    // A column that is the same everywhere says nothing.
    for (scale, expected) in
        [("unit", [-half, half]), ("standard", [-2.0 / deviation * half, half]), ("none", [1.0, 1.0])]
    {
        let found = first(scale);
        assert_eq!(found.len(), 4, "{scale}: {found:?}");
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{scale}: {found:?}");
        assert_eq!(found[2..], [0.0, 0.0]);
    }
}

#[test]
fn rows_come_once_each_in_an_order_of_the_seed() {
    let folder = Folder::new();
    let mut text = "who,label\n".to_owned();
    (0..100).for_each(|row| writeln!(text, "client {row},{}", row % 2).unwrap());
    let file = folder.file("n.csv", &text);
    let order = |order: &str, seed| {
        let table = json!({ "file": file, "label": "label", "client": "who", "context": [], "order": order });
        let (_, mut arrivals) = world(table, 100, seed);
        let mut out = Vec::new();
        let each = (1..=100).map(|tick| {
            arrivals.at(tick, &mut out);
            out[0].0
        });
        each.collect::<Vec<u32>>()
    };
    let sorted = (0..100).collect::<Vec<_>>();
    assert_eq!((order("file", 1), order("file", 2)), (sorted.clone(), sorted.clone()));
    let (one, two) = (order("shuffled", 1), order("shuffled", 2));
    assert!(one != two && one != sorted && one == order("shuffled", 1));
    let mut back = one;
    back.sort_unstable();
    assert_eq!(back, sorted);
    let table = json!({ "file": file, "label": "label", "context": [], "clients": 7 });
    let (world, mut arrivals) = world(table, 100, 1);
    assert_eq!(world.setting().users, 7);
    let mut out = Vec::new();
    arrivals.at(9, &mut out);
    assert_eq!(out, [UserId(1)], "dealt out in turn");
}

const ITEMS: &str = "item,price,genre\nA,1,x\nB,3,y\nC,2,x\n";
const LIKES: &str = "user,mood,item,stars,shown\nu,0,B,5,A B\nv,1,C,-1,A;B|C\n";

#[test]
fn arms_have_the_features_of_the_second_file() {
    let folder = Folder::new();
    let (file, arms) = (folder.file("likes.csv", LIKES), folder.file("items.csv", ITEMS));
    let table = json!({
        "file": file, "form": "arms", "arm": "item", "arms_file": arms, "client": "user", "order": "file",
    });
    let (mut all, _) = world(table.clone(), 2, 1);
    let setting = all.setting().clone();
    assert_eq!((setting.users, setting.arms, setting.dim), (2, 3, 4));
    let (features, pays) = offer(all.as_mut(), 1);
    let third = 1.0 / 3f64.sqrt();
    let expected = [[-1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]];
    for (row, expected) in features.iter().zip(expected) {
        assert!(row.iter().zip(expected).all(|(a, b)| (a - b * third).abs() < 1e-15), "{row:?}");
    }
    assert_eq!(pays, [0.0, 1.0, 0.0]);

    let mut more = table.clone();
    more["context"] = json!(["mood"]);
    more["reward"] = json!("stars");
    more["offered"] = json!("shown");
    let (mut shown, _) = world(more, 2, 1);
    assert_eq!((shown.setting().arms, shown.setting().dim), (3, 8), "each feature with mood and with 1");
    let (features, pays) = offer(shown.as_mut(), 1);
    assert_eq!((features.len(), pays), (2, vec![0.0, 5.0]), "as many as the row offers");
    // The mood is -1 here, and 1 comes after it; both are divided by the root of 2.
    let expected: Vec<f64> =
        [-1.0, 1.0, 0.0, 1.0].iter().flat_map(|x| [-x, *x]).map(|x| x * third * 0.5f64.sqrt()).collect();
    assert!(features[0].iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-15), "{features:?}");
    assert_eq!(offer(shown.as_mut(), 2).1, [0.0, 0.0, -1.0]);
    let pull = shown.pull(2, UserId(0), &ArmBuffer::default(), ArmIndex(2));
    assert_eq!((pull.reward, pull.best), (-1.0, 0.0), "another would have cost nothing");
    assert_eq!(shown.reward_range(), Some((-1.0, 5.0)));
}

#[test]
fn a_pool_holds_the_arm_that_pays_anywhere_and_others_equally_often() {
    let folder = Folder::new();
    let (mut items, mut likes) = ("item,x\n".to_owned(), "item\n".to_owned());
    (0..6).for_each(|item| writeln!(items, "{item},{}", item * item).unwrap());
    (0..6000).for_each(|_| likes.push_str("2\n"));
    let table = json!({
        "file": folder.file("likes.csv", &likes), "form": "arms", "arm": "item", "pool": 3, "order": "file",
        "arms_file": folder.file("items.csv", &items), "scale": "none",
    });
    let (mut world, _) = world(table, 6000, 1);
    let (mut places, mut others) = ([0.0; 3], [0.0; 6]);
    for tick in 1..=6000 {
        let (features, pays) = offer(world.as_mut(), tick);
        assert_eq!((features.len(), pays.iter().sum::<f64>()), (3, 1.0));
        let place = pays.iter().position(|pay| *pay == 1.0).unwrap();
        places[place] += 1.0;
        let mut items: Vec<usize> = features.iter().map(|row| row[0].sqrt() as usize).collect();
        assert_eq!(items[place], 2);
        items.sort_unstable();
        items.dedup();
        assert_eq!(items.len(), 3);
        items.iter().for_each(|item| others[*item] += 1.0);
    }
    // Binomial, five deviations.
    assert!(places.iter().all(|count| (count - 2000f64).abs() < 5.0 * (6000.0 * 2.0 / 9.0f64).sqrt()));
    assert_eq!(others[2], 6000.0);
    others[2] = 2400.0;
    assert!(
        others.iter().all(|count| (count - 2400f64).abs() < 5.0 * (6000.0 * 0.24f64).sqrt()),
        "{others:?}"
    );
}

#[test]
fn a_table_is_known_by_what_is_in_it_and_not_by_where_it_is() {
    let (here, there) = (Folder::new(), Folder::new());
    let of = |file: String| {
        let environment = Environment::of(&keys(json!({ "file": file, "label": "kind" }))).unwrap();
        let mut worlds = Worlds::ours();
        crate::add_worlds(&mut worlds);
        let read = worlds.read_files(&environment, &Here).unwrap();
        assert_eq!(worlds.complete(&read).unwrap(), read);
        assert!(worlds.bytes(&read).unwrap() >= 65536.0);
        read
    };
    let one = of(here.file("fruit.csv", FRUIT));
    assert_eq!(one, of(there.file("fruit.csv", FRUIT)));
    assert_eq!(one, of(there.file("renamed.txt", FRUIT)), "nor by what it is called");
    assert_ne!(one, of(here.file("fruit.csv", &FRUIT.replace("300", "301"))));
    let hash = one.keys::<TableParams>().unwrap().unwrap().sha256.unwrap();
    let changed =
        refused(json!({ "file": here.0.path().join("fruit.csv"), "label": "kind", "sha256": hash }));
    assert!(changed.starts_with("file: fruit.csv is another file than it was (sha256 "), "{changed}");
    // Not read in this process, nor in any other.
    let error = keys(json!({ "file": "x.csv", "label": "kind", "sha256": "00" })).build(3, 1).err().unwrap();
    assert_eq!(error.to_string(), "file: must be read first: name it in an experiment file");
}

#[test]
fn keys_that_were_read_name_no_file_and_can_be_read_again() {
    let folder = Folder::new();
    let table = |likes: &str, items: &str| {
        json!({
            "file": folder.file(likes, LIKES), "form": "arms", "arm": "item", "arms_file": folder.file(items, ITEMS),
        })
    };
    let read = read(table("likes.csv", "items.csv")).unwrap();
    assert_eq!((read.file.as_str(), &read.arms_file), ("", &None));
    assert_eq!(self::read(table("hearts.csv", "things.csv")).unwrap(), read);
    // Neither file is there any more, and the rows are.
    drop(folder);
    let again = read.clone().read_files(&Here).unwrap();
    assert_eq!(again, read);
    assert_eq!(again.build(2, 1).unwrap().0.setting().arms, 3);
    // Half of it is not enough, nor are hashes that nobody has seen.
    for (arms, sha256) in [(None, read.sha256.clone()), (read.arms_sha256.clone(), Some("00".into()))] {
        let unknown = TableParams { arms_sha256: arms, sha256, ..read.clone() };
        let said = unknown.read_files(&Here).unwrap_err().to_string();
        assert_eq!(said, "file: must be read first: name it in an experiment file");
    }
}

/// Labels that follow from the context, as a line divides the plane, and one in ten that does not.
fn divided(rows: u64) -> String {
    let mut text = "x;z;label\n".to_owned();
    let mut draw = cahoots_sim::draw::Draw::keyed(3, cahoots_sim::draw::Purpose::World, 0, 0);
    for _ in 0..rows {
        let (x, z) = (draw.uniform() * 40.0 - 20.0, draw.uniform());
        let kind = ["left", "middle", "right"][if draw.uniform() < 0.1 {
            draw.below(3) as usize
        } else {
            usize::from(x > -6.0) + usize::from(x > 7.0)
        }];
        writeln!(text, "{x:.3};{z:.3};{kind}").unwrap();
    }
    text
}

#[test]
fn linear_learners_learn_what_a_line_can_tell() {
    let folder = Folder::new();
    let file = folder.file("divided.csv", &divided(6000));
    let environment =
        Environment::of(&keys(json!({ "file": file, "label": "label", "clients": 5 }))).unwrap();
    let mut worlds = Worlds::ours();
    crate::add_worlds(&mut worlds);
    let environment = worlds.read_files(&environment, &Here).unwrap();
    let scenario =
        Scenario { horizon: 6000, environment, network: Default::default(), rewards: Default::default() };
    let rewards: Vec<f64> = (1..=3)
        .map(|seed| {
            let params = json!({ "radius": { "fixed": 0.3 } });
            let mut run = simulation::<cahoots_algorithms::linucb_alone::LinucbShared>(
                &worlds,
                &params,
                &scenario,
                seed,
                Default::default(),
            )
            .unwrap();
            run.run(&mut |_| true).unwrap().reward / 6000.0
        })
        .collect();
    // Guessing gives a third; the line itself 0.9 + 0.1 / 3, of which learning costs a part.
    assert!(rewards.iter().all(|reward| *reward > 0.7), "{rewards:?}");
}

#[test]
fn parquet_and_csv_give_the_same_rows() {
    let folder = Folder::new();
    let csv = folder.file("t.csv", "x,y\n1.5,a\n,b\n-2,a\n");
    let path: PathBuf = folder.0.path().join("t.parquet");
    crate::testing::write_parquet(
        &path,
        &[("x", &[Some("1.5"), None, Some("-2")]), ("y", &[Some("a"), Some("b"), Some("a")])],
    );
    let rows = |file: Value| {
        let params = read(json!({ "file": file, "label": "y" })).unwrap();
        std::fs::read(&params.table().unwrap().cached.path).unwrap()
    };
    assert_eq!(rows(json!(csv)), rows(json!(path)));
}
