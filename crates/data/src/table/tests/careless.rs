//! What careless users do, and what they are told.

use std::fmt::Write as _;

use super::*;

#[test]
fn rows_with_empty_cells_are_filled_or_left_out() {
    let folder = Folder::new();
    let file = folder.file("e.csv", "x,c,y\n1,a,0\n,b,1\n3,NA,0\n4,a,\n5,a,1\n");
    let said = refused(json!({ "file": file, "label": "y" }));
    assert_eq!(
        said,
        "file: e.csv, line 5: column `y` is missing, and every row needs it; missing = \"skip\" leaves such rows out"
    );
    let params = read(json!({ "file": file, "label": "y", "missing": "skip" })).unwrap();
    let meta = params.table().unwrap().meta().clone();
    assert_eq!((meta.rows, meta.left_out), (2, [0, 3, 0]));
    let file = folder.file("e.csv", "x,c,y\n1,a,0\n,b,1\n3,NA,0\n4,a,1\n5,a,1\n");
    let params = read(json!({ "file": file, "label": "y", "order": "file" })).unwrap();
    let meta = params.table().unwrap().meta().clone();
    assert_eq!((meta.rows, meta.context.dim()), (5, 5), "x, a, b, empty, 1");
    let (mut world, _) = params.build(5, 1).unwrap();
    let third = 1.0 / 3f64.sqrt();
    let second = offer(world.as_mut(), 2).0[0][..5].to_vec();
    // The mean is 3.25; 1 to 5 become -1 to 1.
    assert!(second.iter().zip([0.125, 0.0, 1.0, 0.0, 1.0]).all(|(a, b)| (a - b * third).abs() < 1e-15));
    let third_row = offer(world.as_mut(), 3).0[0][..5].to_vec();
    assert!(third_row.iter().zip([0.0, 0.0, 0.0, 1.0, 1.0]).all(|(a, b)| (a - b * third).abs() < 1e-15));
}

#[test]
fn labels_that_are_too_many_can_be_fewer() {
    let folder = Folder::new();
    let mut text = "x,z,label\n".to_owned();
    (0..10_000).for_each(|row| writeln!(text, "{},{},{}", row % 13, row % 7, row % 5000).unwrap());
    let file = folder.file("many.csv", &text);
    assert_eq!(
        refused(json!({ "file": file, "label": "label" })),
        "label: column `label` has 5000 different values, and at most 1000 can be arms: labels = 20 keeps the most \
         frequent; numbers on a scale are no labels"
    );
    let few = refused(json!({ "file": file, "label": "label", "labels": 900 }));
    assert!(
        few.starts_with("label: 3 features of the context for each of 900 labels are 2700, and at most 2048")
    );
    let params = read(json!({ "file": file, "label": "label", "labels": 20 })).unwrap();
    let meta = params.table().unwrap().meta().clone();
    assert_eq!((meta.rows, meta.left_out), (40, [0, 0, 9960]));
    assert_eq!((meta.arms.len(), meta.arms[1].as_str()), (20, "1"));
    read(json!({ "file": file, "label": "label", "labels": 900, "arm_features": "shared" })).unwrap();
}

#[test]
fn careless_keys_and_files_are_refused_with_the_remedy() {
    let folder = Folder::new();
    let mut texts = "id,name,label\n".to_owned();
    (0..300).for_each(|row| writeln!(texts, "{row},name {row},{}", row % 3).unwrap());
    let texts = folder.file("texts.csv", &texts);
    let fruit = folder.file("fruit.csv", FRUIT);
    let (items, likes) = (folder.file("items.csv", ITEMS), folder.file("likes.csv", LIKES));
    let folders = std::cell::RefCell::new(Vec::new());
    let file = |text: &str| {
        folders.borrow_mut().push(Folder::new());
        folders.borrow().last().unwrap().file("f.csv", text)
    };
    let arms = |more: Value| {
        let mut table =
            json!({ "file": likes, "form": "arms", "arm": "item", "arms_file": items, "client": "user" });
        table.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        table
    };
    for (table, text) in [
        (
            json!({}),
            "file: must name a CSV or Parquet file; `cahoots data describe FILE` writes an experiment for one",
        ),
        (
            json!({ "file": fruit }),
            "label: must name the column of the right answer (form = \"classification\")",
        ),
        (
            json!({ "file": fruit, "label": "kinds" }),
            "label: fruit.csv: there is no column `kinds`; did you mean `kind`?",
        ),
        (
            json!({ "file": fruit, "label": "kind", "client": "Shop" }),
            "client: fruit.csv: there is no column `Shop`; did you mean `shop`?",
        ),
        (
            json!({ "file": fruit, "label": "kind", "client": "kind" }),
            "client: column `kind` has another role already",
        ),
        (
            json!({ "file": fruit, "label": "kind", "context": ["weight", "kind"] }),
            "context: column `kind` is what is to be found out: a context must not hold it",
        ),
        (
            json!({ "file": fruit, "label": "kind", "context": ["weight", "weight"] }),
            "context: column `weight` is named twice",
        ),
        (
            json!({ "file": fruit, "label": "kind", "categories": ["wieght"] }),
            "categories: fruit.csv: there is no column `wieght`; did you mean `weight`?",
        ),
        (
            json!({ "file": fruit, "label": "kind", "client": "shop", "clients": 3 }),
            "clients: is for tables without a column of clients: leave one of the two out",
        ),
        (
            json!({ "file": fruit, "label": "kind", "pool": 3 }),
            "pool: is for form = \"arms\": leave it out, or change form",
        ),
        (
            json!({ "file": fruit, "form": "logged" }),
            "form: logged decisions show the reward of the arm that was taken and of no other, so a run with another policy would have to invent the rest: `cahoots evaluate` says what it would have earned",
        ),
        (
            json!({ "file": "no.csv", "label": "kind" }),
            "file: cannot read no.csv: No such file or directory (os error 2)",
        ),
        (json!({ "file": file(""), "label": "y" }), "file: f.csv: there is nothing in it"),
        (json!({ "file": file("x,y\n"), "label": "y" }), "file: it has columns and no rows"),
        (
            json!({ "file": file("x,y\n1,a\n2,a\n"), "label": "y" }),
            "label: column `y` is \"a\" in every row: there is nothing to choose between",
        ),
        (
            json!({ "file": file("x,y\n1,a\n2,a\n-inf,b\n"), "label": "y" }),
            "context: column `x` holds a number that is not finite (line 4): mend the cell, leave it empty, or leave the column out",
        ),
        (
            json!({ "file": file("x,y\n1,a\n1e200,b\n"), "label": "y", "scale": "none" }),
            "context: column `x` goes beyond 1e15: scale it, or leave it out",
        ),
        (
            json!({ "file": texts, "label": "label" }),
            "context: column `name` has more than 32 different values: leave it out of context, or raise levels",
        ),
        (
            json!({ "file": texts, "label": "label", "context": ["id"], "categories": ["id"] }),
            "context: column `id` has more than 32 different values: leave it out of context, or raise levels",
        ),
        (
            json!({ "file": fruit, "form": "arms", "arm": "kind" }),
            "arms_file: must name the file of the arms' features (form = \"arms\")",
        ),
        (
            arms(json!({ "arms_file": fruit })),
            "arm_id: fruit.csv: there is no column `item`; there are: shop, weight, colour, kind (arm_id says which column of arms_file names the arm)",
        ),
        (arms(json!({ "pool": 4 })), "pool: there are 3 arms: lower it"),
        (arms(json!({ "pool": 1 })), "pool: must lie between 2 and 1000, not 1"),
        (
            arms(json!({ "offered": "shown", "pool": 2 })),
            "pool: the column `offered` says what is on offer: leave one of the two out",
        ),
        (
            arms(json!({ "reward": "user", "client": "mood" })),
            "file: likes.csv, line 2: column `user` is \"u\", which is no number",
        ),
        (
            arms(json!({ "arms_file": file("item,x\nB,1\nB,2\n") })),
            "arms_file: f.csv, line 3: arm `B` was there before: a row per arm",
        ),
        (
            arms(json!({ "arms_file": file("item,x\nB,1\n") })),
            "arms_file: f.csv has 1 arms: two are needed to choose between",
        ),
        (
            arms(json!({ "arms_file": file("item,x\nA,1\nB,1\n") })),
            "file: likes.csv, line 3: arm `C` is not in arms_file, which must have a row for every arm",
        ),
        (
            arms(json!({ "file": file("item,shown\nA,B C\n"), "offered": "shown", "client": null })),
            "file: f.csv, line 2: the arm that pays is not among those on offer",
        ),
    ] {
        assert_eq!(refused(table), text);
    }
    let mut mixed = "x,label\n".to_owned();
    (0..100).for_each(|row| {
        writeln!(mixed, "{},{}", if row == 50 { "n.a.".into() } else { row.to_string() }, row % 3).unwrap()
    });
    assert_eq!(
        refused(json!({ "file": file(&mixed), "label": "label" })),
        "context: column `x` has more than 32 different values; most may be numbers, but \"n.a.\" (line 52) is none: \
         leave it out of context, or raise levels"
    );
    let few = read(json!({ "file": fruit, "label": "kind" })).unwrap().build(5, 1).err().unwrap().to_string();
    assert_eq!(few, "horizon: the table has 4 rows, and each comes once: lower it");
    assert!(serde_json::from_value::<TableParams>(json!({ "context": 3 })).is_err());
}

#[test]
fn a_file_of_arms_has_limits_too() {
    let folder = Folder::new();
    let likes = folder.file("likes.csv", LIKES);
    let said = |items: &str| {
        let items = folder.file("many.csv", items);
        refused(json!({ "file": likes, "form": "arms", "arm": "item", "arms_file": items, "pool": 2 }))
    };
    let long = "B".repeat(300);
    assert_eq!(
        said(&format!("item,x\nA,1\n{long},2\nC,3\n")),
        "arms_file: many.csv, line 3: 300 letters are no name of a client, a label or an arm"
    );
    let mut many = "item,x\nA,1\nB,2\nC,3\n".to_owned();
    (3..100_001).for_each(|arm| writeln!(many, "arm {arm},{}", arm % 7).unwrap());
    assert_eq!(said(&many), "arms_file: many.csv, line 100002: more than 100000 arms: leave some out");
    // Each is a number: as many features, and the constant.
    let wide = |cell: &dyn Fn(usize) -> String| (0..2048).map(cell).collect::<Vec<_>>().join(",");
    let (names, a, b) = (wide(&|column| format!("n{column}")), wide(&|_| "1".into()), wide(&|_| "2".into()));
    assert_eq!(
        said(&format!("item,{names}\nA,{a}\nB,{b}\nC,{a}\n")),
        "arms_file: 2049 features of an arm, and at most 2048 can be learned from: leave columns out"
    );
}

#[test]
fn letters_are_written_in_the_file_of_arms_as_was_stated() {
    let folder = Folder::new();
    let (likes, items) =
        (folder.file("likes.csv", "item;n\n\u{e9};1\nb;2\n"), folder.0.path().join("items.csv"));
    // Valid UTF-8 as it happens, and two letters of Latin-1 by what was stated.
    std::fs::write(&items, "item,x\n\u{e9},1\nb,2\n").unwrap();
    let table = |encoding: &str| {
        let params = json!({
            "file": likes, "form": "arms", "arm": "item", "arms_file": items, "encoding": encoding,
        });
        read(params)
    };
    let arms = |encoding: &str| table(encoding).unwrap().table().unwrap().meta().arms.clone();
    assert_eq!(arms("utf-8"), ["\u{e9}", "b"]);
    assert_eq!(arms("latin-1"), ["\u{c3}\u{a9}", "b"], "the same in both files");
    std::fs::write(&items, b"item,x\n\xe9,1\nb,2\n").unwrap();
    let said = table("utf-8").unwrap_err();
    assert!(said.starts_with("arms_file: ") && said.contains("bytes that are no UTF-8"), "{said}");
}

#[test]
fn one_client_and_a_client_with_one_row_are_fine() {
    let folder = Folder::new();
    let file = folder.file("f.csv", "who,x,y\na,1,0\na,2,1\na,3,0\n");
    assert_eq!(world(json!({ "file": file, "label": "y", "client": "who" }), 3, 1).0.setting().users, 1);
    let file = folder.file("f.csv", "who,x,y\na,1,0\nb,2,1\na,3,0\n");
    assert_eq!(world(json!({ "file": file, "label": "y", "client": "who" }), 3, 1).0.setting().users, 2);
}
