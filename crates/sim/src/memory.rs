//! How much memory this process takes, where the system says so.

/// Bytes of memory that this process holds now.
pub fn resident_bytes() -> Option<u64> {
    from_status("VmRSS:")
}

/// The most that it ever held.
pub fn peak_resident_bytes() -> Option<u64> {
    from_status("VmHWM:")
}

/// A line of what Linux says of a process, in kilobytes there.
fn from_status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
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
