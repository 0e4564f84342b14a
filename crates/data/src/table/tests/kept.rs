//! Rows that were written down: whole, or written again.

use super::*;

#[test]
fn rows_that_were_cut_short_or_changed_are_written_again() {
    let folder = Folder::new();
    let table =
        || read(json!({ "file": folder.file("kept.csv", FRUIT), "label": "kind", "levels": 31 })).unwrap();
    let params = table();
    let key = params.key();
    let path = params.table().unwrap().cached.path.clone();
    let whole = std::fs::read(&path).unwrap();
    let open = || Cached::open(&cache::folder(), &key);
    assert!(open().is_some());
    for cut in [0, 7, 20, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(open().is_none(), "{cut}");
    }
    // The version, the last rows and the hash itself.
    for at in [7, whole.len() - 33, whole.len() - 60, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        assert!(open().is_none(), "{at}");
    }
    std::fs::write(&path, &whole).unwrap();
    assert!(open().is_some());
    std::fs::remove_file(&path).unwrap();
    assert!(params.table().is_err());
    table();
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}
