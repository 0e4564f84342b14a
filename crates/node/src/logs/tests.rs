use std::time::Duration;

use serde_json::Value;

use super::*;

/// What was written, for who wants to read it.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn logged(format: Format, say: impl FnOnce()) -> (Page, Arc<Inner<Page>>) {
    let page = Page::default();
    let lines = Lines::new(format, page.clone());
    let inner = lines.0.clone();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), say);
    (page, inner)
}

/// What a peer might say, to end a line, to begin another, to move the cursor, or to turn the text around.
const WICKED: &str =
    "fine\n2026-01-01T00:00:00.000Z ERROR all is lost\r\u{1b}[2J\u{9b}31m\u{202e}\u{2028}\"quoted\" \\";

#[test]
fn what_others_say_stays_on_the_line_it_is_in() {
    let (page, _) = logged(Format::Text, || {
        tracing::warn!(client = 31, reason = WICKED, "turned away");
        tracing::warn!("{WICKED}");
        tracing::info!(name = %WICKED, plain = "yes", empty = "", "connected");
    });
    let text = page.text();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}' && c != '\u{2028}'),
        "{text}"
    );
    assert!(
        text.lines().next().unwrap().contains("WARN  turned away client=31 reason=\"fine\\n2026"),
        "{text}"
    );
    assert!(text.lines().nth(2).unwrap().ends_with("plain=yes empty=\"\""), "{text}");
}

#[test]
fn every_line_of_json_is_json_and_loses_nothing() {
    let (page, _) = logged(Format::Json, || {
        tracing::warn!(client = 31, reason = WICKED, share = 0.5, not = f64::NAN, here = true, "turned away");
        tracing::error!(message = WICKED);
    });
    let text = page.text();
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}' && c != '\u{2028}'),
        "{text}"
    );
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["level"], &lines[0]["message"]), (&"warn".into(), &"turned away".into()));
    assert_eq!((&lines[0]["client"], &lines[0]["reason"]), (&31.into(), &WICKED.into()));
    assert_eq!(
        (&lines[0]["share"], &lines[0]["not"], &lines[0]["here"]),
        (&0.5.into(), &Value::Null, &true.into())
    );
    assert_eq!(lines[1]["message"], WICKED);
    let time = lines[0]["time"].as_str().unwrap();
    assert!(time.len() == 24 && time.ends_with('Z') && time.starts_with("20"), "{time}");
}

#[test]
fn who_hammers_gets_a_few_lines_and_a_count() {
    let hammer = |times: usize| (0..times).for_each(|n| tracing::warn!(n, "refused"));
    let (page, inner) = logged(Format::Json, || {
        hammer(1000);
        tracing::info!("something else");
    });
    let text = page.text();
    // A slow machine may need more than one second for a thousand of them.
    let said = text.lines().filter(|line| line.contains("\"refused\"")).count();
    assert!((20..1000).contains(&said), "{said} lines");
    assert!(text.contains("something else"), "one kind does not silence another");
    inner.say(inner.limit.over(Instant::now() + Duration::from_secs(2)));
    let text = page.text();
    let more: u64 =
        text.lines().filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["more"].as_u64()).sum();
    assert_eq!(said as u64 + more, 1000, "nothing is lost count of");
    assert!(text.lines().last().unwrap().contains(" more like this"));
    let before = page.text();
    inner.say(inner.limit.over(Instant::now() + Duration::from_secs(9)));
    assert_eq!(page.text(), before, "said once");
}

#[test]
fn a_level_is_ours_and_a_filter_is_anyones() {
    assert_eq!(filter_of("info", false).unwrap().to_string(), "cahoots_node=info,warn");
    assert_eq!(filter_of("DEBUG", false).unwrap().to_string(), "cahoots_node=debug,warn");
    assert_eq!(filter_of("off", false).unwrap().to_string(), "off");
    assert_eq!(filter_of("h2=trace", false).unwrap().to_string(), "h2=trace");
    assert!(filter_of("verbose", false).unwrap_err().contains("is no level"));
    assert!(filter_of("h2=loud", false).is_err());
    assert!("xml".parse::<Format>().unwrap_err().contains("\"json\""));
}
