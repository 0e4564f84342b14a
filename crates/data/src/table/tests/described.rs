//! What a description says, and whether it is so.

use super::super::describe::Description;
use super::*;

#[test]
fn what_was_said_of_the_file_stands_in_the_experiment() {
    let folder = Folder::new();
    let file = folder.file("f.csv", "x,y\n1,a\n2,b\n3,a\n");
    for (encoding, line) in [("latin-1", "encoding = \"latin-1\"\n"), ("utf-8", "encoding = \"utf-8\"\n")] {
        let params = keys(json!({ "file": file, "label": "y", "encoding": encoding, "header": true }));
        let text = Description::of(&params).unwrap().experiment("f", "f.csv", None);
        assert!(text.contains(line) && text.contains("header = true\n"), "{text}");
    }
    let params = keys(json!({ "file": file, "label": "y" }));
    let text = Description::of(&params).unwrap().experiment("f", "f.csv", None);
    assert!(!text.contains("encoding"), "nobody said: {text}");
}

#[test]
fn what_is_to_beat_counts_the_rows_that_are_kept() {
    let folder = Folder::new();
    let text = "who,x,y\nu,,a\nu,,a\nu,,a\nu,,a\nu,1,a\nv,2,b\nv,3,b\nv,4,\n";
    let params = keys(json!({ "file": folder.file("f.csv", text), "label": "y", "client": "who" }));
    let description = Description::of(&params).unwrap();
    // A label is missing, so rows with empty cells are left out.
    assert_eq!((description.rows, description.params.missing), (8, Missing::Skip));
    let outcome = description.outcome.unwrap();
    assert_eq!(outcome.rows, 3);
    assert_eq!(outcome.most_frequent, Some(("b".into(), 2.0 / 3.0)));
    assert_eq!(outcome.rows_per_client, Some((1, 2)));
}
