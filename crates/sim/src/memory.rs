//! How much memory this process takes, where the system says so.

use std::path::Path;

/// Bytes of memory that this process holds now.
pub fn resident_bytes() -> Option<u64> {
    from_status("VmRSS:")
}

/// The most that it ever held.
pub fn peak_resident_bytes() -> Option<u64> {
    from_status("VmHWM:")
}

/// Names how many bytes may be taken, where that is less than what the system has.
pub const LIMIT: &str = "CAHOOTS_MEMORY";

/// Bytes that can still be taken: what the system has free, or what this process is allowed by its control group or by
/// the variable [`LIMIT`]. `None` where nobody says.
pub fn available_bytes() -> Option<u64> {
    let stated = std::env::var(LIMIT).ok().and_then(|text| text.trim().parse().ok());
    let free =
        std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable:"));
    [stated, free, allowed()].into_iter().flatten().min()
}

/// What the control groups of this process leave it, where there are any: jobs of a cluster and containers have them.
fn allowed() -> Option<u64> {
    let root = Path::new("/sys/fs/cgroup");
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = root.join(own.trim_start_matches('/'));
    own.ancestors().take_while(|group| group.starts_with(root)).filter_map(free_in).min()
}

/// What is left in a control group; none where it sets no limit. What files were read into is given back when needed.
fn free_in(group: &Path) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let statistics = read("memory.stat").unwrap_or_default();
    let cached = ["inactive_file ", "active_file "].into_iter().filter_map(|name| {
        statistics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    });
    let taken = number("memory.current")?.saturating_sub(cached.sum());
    Some(number("memory.max")?.saturating_sub(taken))
}

/// A line of what Linux says of a process, in kilobytes there.
fn from_status(name: &str) -> Option<u64> {
    kilobytes(&std::fs::read_to_string("/proc/self/status").ok()?, name)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_sets_a_limit_is_heeded() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(group.path().join(name), text).unwrap();
        assert_eq!(free_in(group.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        assert_eq!(free_in(group.path()), None, "no limit");
        write("memory.max", "1000\n");
        assert_eq!(free_in(group.path()), Some(300));
        write("memory.stat", "anon 100\ninactive_file 500\nactive_file 50\n");
        assert_eq!(free_in(group.path()), Some(850), "files that were read are no matter");
    }

    #[test]
    fn memory_that_is_written_to_is_counted() {
        let held = std::hint::black_box(vec![1u8; 64 << 20]);
        let now = resident_bytes().unwrap();
        assert!(now >= held.len() as u64 && peak_resident_bytes().unwrap() >= now, "{now}");
    }
}
