//! How much memory this process takes, where the system says so.

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
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let most = number("/sys/fs/cgroup/memory.max");
    let taken = number("/sys/fs/cgroup/memory.current").unwrap_or_default();
    let allowed = most.map(|most| most.saturating_sub(taken));
    [stated, free, allowed].into_iter().flatten().min()
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
    fn memory_that_is_written_to_is_counted() {
        let held = std::hint::black_box(vec![1u8; 64 << 20]);
        let now = resident_bytes().unwrap();
        assert!(now >= held.len() as u64 && peak_resident_bytes().unwrap() >= now, "{now}");
    }
}
